"""The internal schema under the phantom subject is a projection of its source's: the field names tell which.

A candidate is every topic that the application's group reads. Where none of these has a subject of its own, or the group
reads none (its offsets expired), it is every topic that has one: a global table's topic is committed by nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from srfix.recovery.findings import Evidence, Weight
from srfix.recovery.internal_topics import parse
from srfix.recovery.stores import SuspectStore
from srfix.recovery.survey import Survey
from srfix.serde.casing import CaseRule, match_fields
from srfix.serde.errors import AccessDeniedError, AmbiguousFieldError, SchemaError
from srfix.serde.formats.avro import field_names
from srfix.serde.registry.models import SchemaVersion
from srfix.serde.subjects import Role, Topic

__all__ = ["KIND", "compare", "gather"]

KIND = "schema-similarity"


def gather(store: SuspectStore, survey: Survey) -> Iterator[Evidence]:
    """Yields strong evidence where every field of the internal schema is one of the source's, ignoring case."""
    yield from compare(store, survey, _topics(store, survey))


def compare(store: SuspectStore, survey: Survey, topics: Iterable[Topic]) -> Iterator[Evidence]:
    """What `gather` yields, of these topics, by name."""
    internal = survey.latest(store.subject(Role.VALUE))
    names = _names(internal)
    if internal is None or not names:
        return
    for topic in sorted(topics):
        writer = survey.latest(store.source_subject(topic, Role.VALUE))
        if writer is None:
            continue
        shared = _shared(names, _names(writer))
        if shared == len(names):
            yield Evidence(
                kind=KIND,
                topic=topic,
                weight=Weight.STRONG,
                detail=f"all {len(names)} fields of the schema under {store.subject(Role.VALUE)} are fields of "
                f"{writer.subject} version {writer.version}, ignoring case",
            )
        elif 2 * shared >= len(names):
            yield Evidence(
                kind=KIND,
                topic=topic,
                weight=Weight.WEAK,
                detail=f"{shared} of the {len(names)} fields of the schema under {store.subject(Role.VALUE)} are "
                f"fields of {writer.subject} version {writer.version}, ignoring case",
            )


def _topics(store: SuspectStore, survey: Survey) -> tuple[Topic, ...]:
    try:
        read = {topic for topic, _partition in survey.commits(store.application)}
    except AccessDeniedError:  # a global store is examined all the same
        read = set()
    subjects = frozenset(survey.subjects())

    def has_subject(topic: Topic) -> bool:
        return store.source_subject(topic, Role.VALUE) in subjects

    chosen = read if any(map(has_subject, read)) else set(filter(has_subject, survey.topics()))
    return tuple(topic for topic in chosen if parse(topic, application=store.application) is None)


def _shared(columns: tuple[str, ...], fields: tuple[str, ...]) -> int:
    try:
        return len(match_fields(columns, fields, CaseRule.UNIQUE, where="the writer schema"))
    except AmbiguousFieldError:  # an engine's own case rule may still decide; the exact names are what is certain
        return len(match_fields(columns, fields, CaseRule.EXACT, where="the writer schema"))


def _names(version: SchemaVersion | None) -> tuple[str, ...]:
    if version is None or version.schema.schema_type != "AVRO":
        return ()
    try:
        return field_names(version.schema.text)
    except SchemaError:  # not a record: there are no fields to compare
        return ()
