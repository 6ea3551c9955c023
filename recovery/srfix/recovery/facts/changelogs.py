"""The ids in existing changelog topics, if a schema registry serializer wrote their keys or values. Nothing in a
changelog says whether it did. Longs, timestamps and Kafka Streams' own wrappers begin like framed payloads. So such ids
count only if the changelog has a subject, or if the values that srfix peeked at leave hardly a doubt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from srfix.recovery.census.interface import Census
from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.facts.survey import Survey
from srfix.recovery.internal_topics import (
    InternalTopicKind,
    application_prefixes,
    parse,
    recognise,
)
from srfix.serde.subjects.names import DEFAULT_CONTEXT, Role, Subject, Topic, join_context, split_context, subject_for
from srfix.serde.wire import SchemaId
from srfix.serde.wire_peek import SchemaIdPeek, peek_headers

_BUFFER_HEADER: Final = "v"
"""The header of a suppression buffer's records (`InMemoryTimeOrderedKeyValueChangeBuffer`)."""
_ENOUGH: Final = 3
"""How many values there must be, all of them framed, if no subject says what they are."""
_LONG: Final = 8
_MILLISECONDS: Final = range(978_307_200_000, 4_102_444_800_000)
"""The years 2001 to 2099: payloads that begin with such a long all seem to be framed under the same id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LostIds:
    """The ids in the keys or the values of a changelog that the registry has lost."""

    role: Role
    subject: Subject
    """The changelog's own subject for that role, in the context that was asked first."""
    has_subject: bool
    """False if no subject says that these are a schema registry serializer's."""
    schema_ids: tuple[SchemaId, ...]
    """The ids that a restore loads and the registry does not know, ascending."""
    registered_ids: tuple[SchemaId, ...]
    """The ids under the subject, with those of soft-deleted versions, ascending."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangelogFacts:
    """A changelog topic with ids that the registry does not know."""

    topic: Topic
    application: str
    """The living application with the longest name that the topic's name allows."""
    store: str
    other_splits: tuple[str, ...] = ()
    """Other stores that the topic's name allows, as `application/store`."""
    census: Census
    """The census of the topic up to its end, as a restore reads it."""
    lost: tuple[LostIds, ...]
    """By role."""


def real_changelogs(survey: Survey, *, application: str | None, store: str | None) -> tuple[Topic, ...]:
    return tuple(
        topic
        for topic in sorted(survey.topics())
        if recognise(topic) is InternalTopicKind.CHANGELOG
        and any(_is_of(topic, name, store) for name in application_prefixes(topic) if application in (None, name))
    )


def contexts_of(survey: Survey) -> tuple[str, ...]:
    """The registry contexts that have subjects, soft-deleted ones too, by name."""
    return tuple(sorted({split_context(subject)[0] for subject in survey.subjects()}))


def registry_roles(survey: Survey, topic: Topic, contexts: Iterable[str]) -> Iterator[tuple[Role, tuple[str, ...]]]:
    """The roles that a registry serializer wrote, each with the contexts of its subject; none `is_in_own_format`."""
    records = survey.sample(topic)
    if any(name == _BUFFER_HEADER for record in records for name, _value in record.headers):
        return
    for role in Role:
        name = subject_for(topic, role)
        holding = tuple(context for context in contexts if survey.has_subject(join_context(context, name)))
        if holding or (role is Role.VALUE and _look_framed(records)):
            yield role, holding


def unknown_ids(survey: Survey, ids: Iterable[SchemaId], contexts: Iterable[str]) -> tuple[SchemaId, ...]:
    """The ids that none of these contexts knows; without contexts, that of the registry's URL is asked."""
    contexts_asked = tuple(contexts) or (DEFAULT_CONTEXT,)
    return tuple(
        schema_id
        for schema_id in sorted(ids)
        if all(survey.schema_of_id(schema_id, context) is None for context in contexts_asked)
    )


def _look_framed(records: Iterable[RawRecord]) -> bool:
    """True if a schema registry serializer wrote values without a subject, beyond reasonable doubt."""
    pairs = [(record.value, list(record.headers)) for record in records if record.value is not None]
    values = [value for value, _headers in pairs]
    if len(values) < _ENOUGH or all(len(value) == _LONG for value in values):
        return False
    longs = [int.from_bytes(value[:_LONG], "big") for value in values if len(value) >= _LONG]
    if longs and all(number in _MILLISECONDS for number in longs):
        return False
    peeked = peek_headers([headers for _value, headers in pairs], SchemaIdPeek()(values), Role.VALUE)
    return min(peeked) >= 0 and len(set(peeked)) <= max(1, len(values) // 3)


def _is_of(topic: Topic, application: str, store: str | None) -> bool:
    parsed = parse(topic, application=application)
    return parsed is not None and store in (None, parsed.store)
