"""Whether a group is a Kafka Streams application: what a person handed over, and the signs that Kafka Streams leaves.

| sign | where |
|---|---|
| base64 with magic byte 1 or 2 beside a committed offset | `TopicPartitionMetadata`, 2.4 and later; a dead group keeps it |
| assignor `stream` | a running application |
| client id `…-StreamThread-<n>-consumer` | a running application |
| internal topics with a generated number, repartition and subscription topics | whose names begin with the group's |

Up to 2.3 nothing stands beside the offsets: a stopped application of that age looks like a plain consumer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from srfix.recovery.advice.streams_generation import from_commit_metadata
from srfix.recovery.evidence import rules
from srfix.recovery.facts.survey import Survey
from srfix.recovery.findings import Evidence
from srfix.recovery.ids_in_words import counted
from srfix.recovery.internal_topics import InternalTopicKind, ksqldb_query, parse, recognise
from srfix.serde.errors import ClusterError
from srfix.serde.subjects.names import Topic

_STREAM_THREAD: Final = re.compile(r".+-StreamThread-\d+(?:-.+)?", re.DOTALL)
_NUMBERED: Final = re.compile(r"(?:KSTREAM|KTABLE|COGROUPKSTREAM)-.+-\d{10}(?:-store|-topic)?", re.DOTALL)
_STREAMS_ASSIGNOR: Final = "stream"


class Applications:
    """Which names are those of applications, asked once each; one by one where the cluster does not list all of its groups."""

    def __init__(
        self, survey: Survey, listed: Iterable[str], supplied_names: Iterable[str], *, is_listed_in_part: bool = False
    ) -> None:
        self._survey = survey
        self._listed = frozenset(listed)
        self._is_listed_in_part = is_listed_in_part
        self._supplied = dict.fromkeys(supplied_names, "named by the person")
        for name in survey.supplied.applications:
            self._supplied.setdefault(name, "named by what you gave: a state directory, a topology or ksqlDB")
        self._evidence: dict[str, tuple[Evidence, ...]] = {}
        self.refused: dict[str, ClusterError] = {}
        """The groups whose offsets this user may not ask for, and why."""

    def evidence(self, name: str) -> tuple[Evidence, ...]:
        """What speaks for and against an application of that name; nothing where there is no such group."""
        if name not in self._evidence:
            self._evidence[name] = tuple(self._gather(name))
        return self._evidence[name]

    def is_group(self, name: str) -> bool:
        """True if the cluster lists such a group, or it has committed offsets, or members where groups are not listed."""
        return (
            name in self._listed
            or bool(self._commits(name))
            or (self._is_listed_in_part and bool(self._survey.group_state(name).members))
        )

    def others_read(self, topic: Topic, name: str) -> bool:
        """True if another application than that has committed offsets on a topic, or may have read it: not all groups are
        listed, one may not be asked, or one has committed nothing at all, as with global tables alone.
        """
        other_groups = self._listed - {name}
        self._survey.ask_commits(sorted(other_groups))
        reading = [other for other in other_groups if not self._commits(other) or self.has_read(other, topic)]
        unknown = self._is_listed_in_part or not other_groups.isdisjoint(self.refused)
        return unknown or any(not sign.against for other in reading for sign in self.evidence(other))

    def has_read(self, name: str, topic: Topic) -> bool:
        """True if a group has committed an offset on a topic."""
        return any(read == topic for read, _partition in self._survey.commits(name))

    def commits_as_streams(self, name: str) -> bool:
        """True if what stands beside a group's offsets is Kafka Streams' (2.4 on); nothing else is asked of the group."""
        generation = from_commit_metadata(self._survey.commit_metadata(name).values())
        return generation is not None and generation.oldest is not None

    def is_plain(self, name: str) -> bool:
        """True if a group has members, and nothing but what plain consumers show."""
        return any(piece.kind == rules.PLAIN_GROUP.kind for piece in self.evidence(name))

    def of_name(self, changelog: Topic, name: str) -> Iterator[Evidence]:
        """What a changelog's name says for and against an application: a ksqlDB query's id ends where it ends; and internal
        topics that have the application's name in common with it, and no more, are of one application with it.
        """
        query = ksqldb_query(changelog)
        if query is not None and query.application != name:
            yield rules.OTHER_QUERY.of_application(name, f"the name is that of ksqlDB's query {query.query_id}")
        if self.evidence(name) or not self.is_group(name):
            return
        internal = self._internal_topic(name, changelog)
        if internal is not None:
            yield rules.INTERNAL_TOPICS.of_application(name, f"group {name} exists, and so does topic {internal}")

    def left_by(self, changelog: Topic, name: str) -> Iterator[Evidence]:
        """Internal topics of an application that has no group: it may have expired, or the topics are another one's."""
        internal = None if self.is_group(name) else self._internal_topic(name, changelog)
        if internal is not None:
            yield rules.LEFT_TOPICS.of_application(name, f"there is no group {name}, but topic {internal}")

    def of_store(self, name: str, store: str) -> Iterator[Evidence]:
        """What was handed over of an application says against a store of that name. In-memory stores leave nothing on disk."""
        names = {
            on_disk.name for on_disk in self._survey.supplied.stores_on_disk() if on_disk.prefix == name
        } | self._survey.supplied.stores_of_topologies(name)
        if names and store not in names:
            yield rules.NOT_THERE.of_application(
                name,
                f"what was handed over of application {name} has {counted(len(names), 'store')}, and none is called {store}",
            )

    def _gather(self, name: str) -> Iterator[Evidence]:
        if name in self._supplied:
            yield rules.GIVEN.of_application(name, self._supplied[name])
        if not self.is_group(name):
            return
        signs = tuple(self._signs(name))
        if signs:
            yield rules.STREAMS_GROUP.of_application(name, f"group {name}: {'; '.join(signs)}")
            return
        state = self._survey.group_state(name)
        if state.members and state.client_ids:
            yield rules.PLAIN_GROUP.of_application(
                name,
                f"group {name} has {counted(state.members, 'member')} with assignor {state.assignor or 'none'}, such as client "
                f"{state.client_ids[0]!r}",
            )

    def _signs(self, name: str) -> Iterator[str]:
        with suppress(ClusterError):
            if self.commits_as_streams(name):
                yield "its committed offsets have metadata, as Kafka Streams writes it"
        state = self._survey.group_state(name)
        if state.assignor == _STREAMS_ASSIGNOR:
            yield "its members use the assignor of Kafka Streams"
        elif any(map(_STREAM_THREAD.fullmatch, state.client_ids)):
            yield "its members are stream threads"

    def _internal_topic(self, name: str, changelog: Topic) -> Topic | None:
        internal = self._survey.once(("internal",), lambda: tuple(filter(recognise, self._survey.topics())))
        for topic in internal:
            parsed = parse(topic, application=name)
            if parsed is None:
                continue
            if _NUMBERED.fullmatch(parsed.name):
                return topic
            if parsed.kind is not InternalTopicKind.CHANGELOG and _in_common(topic, changelog) == name:
                return topic
        return None

    def _commits(self, name: str) -> bool:
        try:
            return bool(self._survey.commits(name))
        except ClusterError as error:  # one group that may not be asked hides no other one
            self.refused[name] = error
            return False


def _in_common(first: str, second: str) -> str:
    """The parts between hyphens with which both names begin."""
    common: list[str] = []
    for one, other in zip(first.split("-"), second.split("-"), strict=False):
        if one != other:
            break
        common.append(one)
    return "-".join(common)
