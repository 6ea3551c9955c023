"""The results of a verification, and how much was looked at, by subject."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from msgspec import field

from srfix.recovery.documents import Count, Part
from srfix.serde.subjects.names import Subject
from srfix.serde.wire import SchemaId


@dataclass(frozen=True, slots=True, kw_only=True)
class _SubjectEvent:
    subject: Subject
    what: str
    schema_id: SchemaId | None = None
    rows: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmed(_SubjectEvent):
    """Something that holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem(_SubjectEvent):
    keys_miss: bool = False
    """True if the rows can be read, but look-ups by key miss them; no registration repairs that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotLookedAt(_SubjectEvent):
    """A check that srfix could not make: neither confirmed nor a problem, but the verification is not complete."""


Event = Confirmed | Problem | NotLookedAt


class VerifiedSubject(Part):
    """The results of a subject."""

    subject: str
    ids: Count = field(name="ids_asked")
    rows: Count = field(name="rows_read")
    confirmed: Count
    problems: Count
    not_looked_at: Count


def tally(events: Iterable[Event]) -> list[VerifiedSubject]:
    by_subject: dict[Subject, list[Event]] = {}
    for event in events:
        by_subject.setdefault(event.subject, []).append(event)
    return [
        VerifiedSubject(
            subject=subject,
            ids=len({event.schema_id for event in events_of_subject} - {None}),
            rows=sum(event.rows for event in events_of_subject),
            confirmed=sum(isinstance(event, Confirmed) for event in events_of_subject),
            problems=sum(isinstance(event, Problem) for event in events_of_subject),
            not_looked_at=sum(isinstance(event, NotLookedAt) for event in events_of_subject),
        )
        for subject, events_of_subject in by_subject.items()
    ]
