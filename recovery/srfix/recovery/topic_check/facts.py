"""A topic that readers read under a subject, where no store is concerned: what a repair of that subject is for."""

from __future__ import annotations

from dataclasses import dataclass

from srfix.recovery.census.interface import Census
from srfix.recovery.findings import Source
from srfix.recovery.topic_check.question import TopicRead


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicFacts:
    """What was learned of a topic's keys or values."""

    source: Source
    """The topic, and its own subject for the role at hand, by TopicNameStrategy."""
    census: Census
    """The ids in it."""
    read: TopicRead
    """How it is read."""
