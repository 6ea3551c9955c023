"""The internal schema under the phantom subject is a projection of its source's: the field names tell which.

Every topic that has a subject is compared, whoever reads it: a global table's topic is committed by nobody. One whose
subject cannot be compared (none by TopicNameStrategy, another schema type) is compared by the ids in its records.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from srfix.recovery.evidence import rules
from srfix.recovery.evidence.committed_offsets import read_topics
from srfix.recovery.evidence.field_types import can_feed, field_types
from srfix.recovery.facts import Survey, SuspectStore
from srfix.recovery.findings import Evidence
from srfix.recovery.ids_in_words import enumerated
from srfix.recovery.internal_topics import is_internal, recognise
from srfix.serde.casing import CaseRule, match_fields
from srfix.serde.errors import AmbiguousFieldError, SchemaError
from srfix.serde.formats.table import record_name
from srfix.serde.registry import Schema, SchemaVersion
from srfix.serde.subjects import Role, Subject, Topic, join_context, split_context, split_subject

KIND = rules.ALL_FIELDS.kind

_FITS: Final = 2
_EXACT: Final = (_FITS, True)
_MOST_OLDER: Final = 20
"""Topics that nobody committed whose older versions are compared."""
_NOBODYS: Final = frozenset(
    {"io.confluent.ksql.avro_schemas.KsqlDataSourceSchema", "KsqlDataSourceSchema", "ConnectDefault"}
)
"""Record names that Connect and ksqlDB give to any record."""


def gather(store: SuspectStore, survey: Survey) -> Iterator[Evidence]:
    """Yields what the subjects of all topics say that exist, the application's own internal ones left out."""
    internal = _internal(store, survey)
    if internal is None:
        return
    topics = set(_candidates(store, survey))
    listed = {topic for topic in topics if survey.has_subject(store.source_subject(topic, internal.role))}
    yield from compare(store, survey, listed)
    yield from _by_record_names(topics - listed, internal, store, survey)


def is_comparable(store: SuspectStore, survey: Survey) -> bool:
    """True if the store left a schema whose fields can be compared."""
    return _internal(store, survey) is not None


def compare(store: SuspectStore, survey: Survey, topics: Iterable[Topic]) -> Iterator[Evidence]:
    """What the subjects of these topics say, by name; nothing of one whose subject cannot be compared.

    Older versions count too, for a store may have been made when the source had another schema: of the topics that the
    application reads, and of the others that come nearest.
    """
    internal = _internal(store, survey)
    if internal is None:
        return
    found: dict[Topic, tuple[Evidence, ...]] = {}
    for topic in sorted(topics):
        latest = survey.latest(store.source_subject(topic, internal.role))
        if latest is not None:
            found[topic] = tuple(_compared(topic, internal, latest.schema, _version(latest)))
    read = read_topics(store, survey)
    short = [topic for topic, pieces in found.items() if _rank(pieces) != _EXACT]
    older = [topic for topic in short if topic in read]
    others = sorted((topic for topic in short if topic not in read), key=lambda topic: -_fit(found[topic]))
    older += others[:_MOST_OLDER]
    for topic in older:
        for version in survey.versions(store.source_subject(topic, internal.role)):
            pieces = tuple(_compared(topic, internal, version.schema, _version(version)))
            if _rank(pieces) > _rank(found[topic]):
                found[topic] = pieces
    for pieces in found.values():
        yield from pieces


def _by_record_names(
    topics: Collection[Topic], internal: _Internal, store: SuspectStore, survey: Survey
) -> Iterator[Evidence]:
    """What subjects of topic and record name say (TopicRecordNameStrategy) of topics that have none of their own, by topic:
    the best fit of each, where it fits; what does not is left to the ids in the records. Such a subject is one whose record
    is called as the rest of its name.
    """
    if internal.role is not Role.VALUE:
        return
    best: dict[Topic, tuple[Evidence, ...]] = {}
    for topic, subject in sorted(_topic_record_subjects(topics, store, survey)):
        latest = survey.latest(subject)
        if latest is None or f"{topic}-{_record_name(latest.schema)}" != split_context(subject)[1]:
            continue
        for version in survey.versions(subject):
            pieces = tuple(_compared(topic, internal, version.schema, _version(version)))
            if topic not in best or _rank(pieces) > _rank(best[topic]):
                best[topic] = pieces
    for pieces in best.values():
        if _fit(pieces) == _FITS:
            yield from pieces


def _topic_record_subjects(
    topics: Collection[Topic], store: SuspectStore, survey: Survey
) -> Iterator[tuple[Topic, Subject]]:
    for subject in survey.subjects():
        context, name = split_context(subject)
        if context != store.context or split_subject(name) is not None:
            continue
        for at, letter in enumerate(name):
            if letter == "-" and name[:at] in topics:
                yield Topic(name[:at]), subject


def _version(version: SchemaVersion) -> str:
    return f"{version.subject} version {version.version}"


def topics_without_subject(store: SuspectStore, survey: Survey) -> tuple[Topic, ...]:
    """Topics that may be a source and whose subject cannot be compared with the schema of the store's values, by name."""
    internal = _internal(store, survey)
    if internal is None or internal.role is not Role.VALUE:
        return ()
    return tuple(
        topic
        for topic in _candidates(store, survey)
        if not survey.has_subject(subject := store.source_subject(topic, Role.VALUE))
        or (latest := survey.latest(subject)) is None
        or not _names(latest.schema)
    )


def compare_by_ids(store: SuspectStore, survey: Survey, topics: Collection[Topic]) -> Iterator[Evidence]:
    """What the ids in some topics' records say, by topic: the best fit of each counts. An empty topic says nothing."""
    internal = _internal(store, survey)
    if internal is None or internal.role is not Role.VALUE:
        return
    for topic in sorted(topics):
        peeked = survey.peek(topic)
        if peeked.looked_at and not peeked.schema_ids and not peeked.guids:
            if not survey.has_subject(store.source_subject(topic, Role.VALUE)):
                yield rules.NO_IDS.of_topic(
                    topic,
                    f"none of the {peeked.looked_at} values looked at in it carries a schema id, and it has no subject",
                )
            continue
        best: tuple[Evidence, ...] = ()
        known = {i: schema for i in peeked.schema_ids if (schema := survey.schema_of_id(i, store.context)) is not None}
        if peeked.schema_ids and not known and topic in read_topics(store, survey):
            yield rules.LOST_IDS.of_topic(
                topic,
                f"it has no subject, and the registry knows no schema id in its records ({enumerated(peeked.schema_ids)})",
            )
        for schema_id, schema in known.items():
            where = f"schema id {schema_id}, found in its records"
            every = [(schema, where), *_others_of_record(topic, schema, store, survey)]
            for writer, of_it in every:
                found = tuple(_compared(topic, internal, writer, of_it))
                if not best or _rank(found) > _rank(best):
                    best = found
        yield from best


def _others_of_record(
    topic: Topic, schema: Schema, store: SuspectStore, survey: Survey
) -> Iterator[tuple[Schema, str]]:
    """The versions under the subjects that RecordNameStrategy and TopicRecordNameStrategy give to a record: the store may
    have been made when its rows had another one.
    """
    name = _record_name(schema)
    if name is None:
        return
    for subject in (name, f"{topic}-{name}"):
        of_context = join_context(store.context, subject)
        if survey.has_subject(of_context):
            for version in survey.versions(of_context):
                yield version.schema, f"{of_context} version {version.version}"


def _fit(pieces: Iterable[Evidence]) -> int:
    """How well a topic fits: 2 if all fields do, 1 if some, 0 if none, -1 if it was not compared."""
    order = (rules.NO_FIELD, rules.SOME_FIELDS, rules.ALL_FIELDS)
    return max(
        (
            rank
            for piece in pieces
            for rank, rule in enumerate(order)
            if (piece.kind, piece.weight) == (rule.kind, rule.weight)
        ),
        default=-1,
    )


def _rank(pieces: Iterable[Evidence]) -> tuple[int, bool]:
    """How well it fits, and whether it has no other field."""
    every = tuple(pieces)
    return _fit(every), any(piece.kind == rules.SAME_FIELDS.kind for piece in every)


def unlisted_topics(survey: Survey, context: str) -> Iterator[Topic]:
    """Topics that have a subject for their values, are no application's own, and are not listed: gone, of another cluster,
    or hidden.
    """
    topics = survey.topics()
    for subject in survey.subjects():
        of_context, name = split_context(subject)
        split = split_subject(name)
        if split is None or of_context != context:
            continue
        topic, role = split
        if role is Role.VALUE and topic not in topics and recognise(topic) is None:
            yield topic


@dataclass(frozen=True, slots=True, kw_only=True)
class _Internal:
    """The schema that the store's serde registered."""

    role: Role
    """Of its values; of its keys where the values' cannot be compared."""
    schema: Schema


def _internal(store: SuspectStore, survey: Survey) -> _Internal | None:
    for role in (Role.VALUE, Role.KEY):
        subject = store.subject(role)
        latest = survey.latest(subject) if survey.has_subject(subject) else None
        if latest is not None and _names(latest.schema):
            return _Internal(role=role, schema=latest.schema)
    return None


def _candidates(store: SuspectStore, survey: Survey) -> Iterator[Topic]:
    """Topics that may be a source. One that is named as an application's own is only where this application reads it."""
    read = read_topics(store, survey)
    for topic in survey.topics():
        if topic in read or (recognise(topic) is None and not is_internal(topic)):
            yield topic


def _compared(topic: Topic, internal: _Internal, writer: Schema, where: str) -> Iterator[Evidence]:
    names, fields = _names(internal.schema), _names(writer)
    if not names or not fields:
        return
    named, shared = _shared(internal.schema, writer)
    if internal.role is Role.KEY:  # many keys have the same one field: that says little
        rule = rules.KEY_FIELDS if shared == len(names) else rules.OTHER_KEY_FIELDS
        yield rule.of_topic(
            topic, f"{shared} of the {len(names)} fields of the store's key schema are fields of {where}"
        )
        return
    if named == 0:
        yield rules.NO_FIELD.of_topic(topic, f"none of the {len(names)} fields of the store's schema is one of {where}")
        return
    if shared < len(names):
        some = f"{shared} of the {len(names)} fields of the store's schema are fields of {where}, ignoring case, and of a type"
        some += " that can feed them"
        yield rules.SOME_FIELDS.of_topic(topic, some)
    else:
        every = f"all {len(names)} fields of the store's schema are fields of {where}, ignoring case"
        yield rules.ALL_FIELDS.of_topic(topic, every)
        if len(fields) == len(names):
            yield rules.SAME_FIELDS.of_topic(topic, f"{where} has no other field")
    own = _record(internal.schema)
    if own is not None and own == _record(writer):
        yield rules.SAME_RECORD.of_topic(topic, f"the record of {where} is called {own}, as the store's is")


def _shared(internal: Schema, writer: Schema) -> tuple[int, int]:
    """How many of the store's fields have the name of one of the writer's, and how many of them that one can feed."""
    columns, fields = _names(internal), _names(writer)
    try:
        fed = match_fields(columns, fields, CaseRule.UNIQUE, where="the writer schema")
    except AmbiguousFieldError:  # the engine's rule takes the last of several
        fed = match_fields(columns, fields, CaseRule.KSQLDB_2020, where="the writer schema")
    types, others = field_types(internal), field_types(writer)
    return len(fed), sum(can_feed(others.get(field), types.get(column)) for column, field in fed.items())


def _names(schema: Schema) -> tuple[str, ...]:
    """The names of the fields; none where there are none to compare."""
    from srfix.serde.formats.avro import field_names

    if schema.schema_type == "JSON":
        return _properties(schema.text)
    if schema.schema_type != "AVRO":
        return ()
    try:
        return field_names(schema.text)
    except SchemaError:  # not a record
        return ()


def _properties(text: str) -> tuple[str, ...]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return ()
    properties = document.get("properties") if isinstance(document, dict) else None
    return tuple(map(str, properties)) if isinstance(properties, dict) else ()


def _record(schema: Schema) -> str | None:
    name = _record_name(schema)
    return None if name in _NOBODYS else name


def _record_name(schema: Schema) -> str | None:
    try:
        return record_name(schema)
    except SchemaError:  # it refers to others: its name is not worth following them
        return None
