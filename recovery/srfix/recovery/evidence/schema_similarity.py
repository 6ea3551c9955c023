"""The internal schema under the phantom subject is a projection of its source's schema, so its field names show the
source. Every topic with a subject is compared, even if no group reads it, because nobody commits a global table's
topic. If a topic has no comparable subject (none by TopicNameStrategy, or another schema type), the ids in its records
are compared; for a store without such a schema, the ids in its rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Final

from srfix.recovery.errors import StateDirectoryError
from srfix.recovery.evidence import rules
from srfix.recovery.evidence.application import Applications
from srfix.recovery.evidence.comparing import (
    FITS,
    NOBODYS,
    Comparison,
    Internal,
    Writer,
    compare_schemas,
    internal_of,
    name_of_record,
    of_version,
    record_of,
    writer_of,
)
from srfix.recovery.evidence.names_and_offsets import read_topics
from srfix.recovery.facts.rows_on_disk import places_of
from srfix.recovery.facts.stores import SuspectStore
from srfix.recovery.facts.survey import Survey
from srfix.recovery.findings import Evidence
from srfix.recovery.ids_in_words import enumerated, named_ids
from srfix.recovery.internal_topics import InternalTopicKind, application_prefixes, is_internal, parse, recognise
from srfix.serde.errors import ClusterError
from srfix.serde.printable import counted
from srfix.serde.schemas.errors import SchemaNotFoundError
from srfix.serde.schemas.models import Schema
from srfix.serde.subjects.names import Role, Subject, Topic, join_context, split_context, split_subject
from srfix.serde.wire import SchemaId
from srfix.serde.wire_peek import SchemaIdPeek

KIND = rules.ALL_FIELDS.kind

_EXACT: Final = (FITS, True)
_MOST_ROWS: Final = 100
_MOST_OLDER: Final = 20
"""For how many topics without commits older versions are compared."""


def gather(store: SuspectStore, survey: Survey) -> Iterator[Evidence]:
    internal = internal_of(store, survey)
    if internal is None:
        return

    def has_subject(topic: Topic) -> bool:
        return survey.has_subject(store.source_subject(topic, internal.role))

    listed = _candidates(store, survey, has_subject, ("has subject", internal.role))
    bare = _candidates(store, survey, lambda topic: not has_subject(topic), ("has no subject", internal.role))
    yield from compare(store, survey, listed)
    yield from _by_record_names(bare, internal, store, survey)


def is_comparable(store: SuspectStore, survey: Survey) -> bool:
    return internal_of(store, survey) is not None


def compare(store: SuspectStore, survey: Survey, topics: Iterable[Topic]) -> Iterator[Evidence]:
    """Evidence from the topics' subjects, by topic. Older versions count, too: the source may have changed since."""
    internal = internal_of(store, survey)
    if internal is None:
        return
    every = tuple(topics)
    index = survey.once(
        ("index", store.context, internal.role, every), lambda: _index(store, every, internal.role, survey)
    )
    read = read_topics(store, survey)
    near = index.near(internal) | {topic for topic in read if topic in index.writers}
    near |= frozenset(islice((topic for topic in index.writers if topic not in near), _MOST_OLDER))
    compared = {topic: compare_schemas(topic, internal, index.writers[topic]) for topic in sorted(near)}
    best = (*_EXACT, record_of(internal.writer.schema) is not None)
    short = [topic for topic, comparison in compared.items() if comparison.rank < best]
    short.sort(key=lambda topic: (topic not in read, compared[topic].rank >= _EXACT, -compared[topic].fit))
    older = short[: _MOST_OLDER + sum(topic in read for topic in short)]
    for topic in older:
        for version in survey.versions(store.source_subject(topic, internal.role)):
            comparison = compare_schemas(topic, internal, of_version(version, survey))
            if comparison.rank > compared[topic].rank:
                compared[topic] = comparison
    alike = [topic for topic, comparison in compared.items() if comparison.is_same_record]
    for topic in _with_fewer_records(store, alike, survey):
        pieces = (piece for piece in compared[topic].pieces if piece.kind != rules.SAME_RECORD.kind)
        compared[topic] = replace(compared[topic], is_same_record=False, pieces=tuple(pieces))
    for comparison in compared.values():
        yield from comparison.pieces


def _with_fewer_records(store: SuspectStore, topics: Collection[Topic], survey: Survey) -> Iterator[Topic]:
    """The topics that share fewer record names with the store's versions, whose latest may be a repair's copy."""
    if len(topics) < 2:
        return
    own = {record_of(version.schema) for version in survey.versions(store.subject(Role.VALUE))} - {None}
    if len(own) < 2:
        return
    shared = {
        topic: len(
            own & {record_of(version.schema) for version in survey.versions(store.source_subject(topic, Role.VALUE))}
        )
        for topic in topics
    }
    most = max(shared.values())
    yield from (topic for topic, count in shared.items() if count < most)


def against(store: SuspectStore, topics: Iterable[Topic], survey: Survey) -> Iterator[Evidence]:
    internal = internal_of(store, survey)
    if internal is None or internal.role is Role.KEY:
        return
    read = read_topics(store, survey)
    for topic in topics:
        subject = store.source_subject(topic, Role.VALUE)
        if survey.has_subject(subject) and (topic in read or _is_nobodys_own(topic)):
            latest = survey.latest(subject)
            comparison = (
                Comparison() if latest is None else compare_schemas(topic, internal, of_version(latest, survey))
            )
            if comparison.fit == 0:
                yield from comparison.pieces


def _by_record_names(
    topics: Collection[Topic], internal: Internal, store: SuspectStore, survey: Survey
) -> Iterator[Evidence]:
    """The best fit of each topic's TopicRecordNameStrategy subjects, which end in their record's name, if one fits."""
    if internal.role is not Role.VALUE:
        return
    best: dict[Topic, Comparison] = {}
    subjects = survey.once(("by record", store.context), lambda: _topic_record_subjects(store.context, survey))
    for topic, subject in sorted((name, subject) for name in topics for subject in subjects.get(name, ())):
        latest = survey.latest(subject)
        if latest is None or f"{topic}-{name_of_record(latest.schema)}" != split_context(subject)[1]:
            continue
        for version in survey.versions(subject):
            comparison = compare_schemas(topic, internal, of_version(version, survey))
            if topic not in best or comparison.rank > best[topic].rank:
                best[topic] = comparison
    for comparison in best.values():
        if comparison.fit == FITS:
            yield from comparison.pieces


def _topic_record_subjects(context: str, survey: Survey) -> Mapping[Topic, list[Subject]]:
    """For each existing topic, the subjects that may be named after it and a record."""
    by_topic: defaultdict[Topic, list[Subject]] = defaultdict(list)
    for subject in survey.subjects():
        of_context, name = split_context(subject)
        if of_context != context or split_subject(name) is not None:
            continue
        for at, letter in enumerate(name):
            if letter == "-" and (topic := Topic(name[:at])) in survey.topics():
                by_topic[topic].append(subject)
    return by_topic


def topics_without_subject(store: SuspectStore, survey: Survey) -> tuple[Topic, ...]:
    """Topics that may be a source and whose subject cannot be compared with the schema of the store's values, by name."""
    internal = internal_of(store, survey)
    if internal is None or internal.role is not Role.VALUE:
        return ()

    def tells_nothing(topic: Topic) -> bool:
        subject = store.source_subject(topic, Role.VALUE)
        latest = survey.latest(subject) if survey.has_subject(subject) else None
        return latest is None or not of_version(latest, survey).names

    return _candidates(store, survey, tells_nothing, ("tells nothing",))


def topics_of_readers_schemas(store: SuspectStore, survey: Survey) -> tuple[Topic, ...]:
    """Topics whose subject may hold only what readers registered there (Kafka Streams from 2.7 on registers its internal
    schemas under the source's subject), while the producers name theirs by the record; none if nobody does that."""

    def is_readers(topic: Topic) -> bool:
        subject = store.source_subject(topic, Role.VALUE)
        latest = survey.latest(subject) if survey.has_subject(subject) else None
        return latest is not None and name_of_record(latest.schema) in NOBODYS

    if all(split_subject(split_context(subject)[1]) is not None for subject in survey.subjects()):
        return ()
    return _candidates(store, survey, is_readers, ("readers' schemas",))


def compare_by_ids(store: SuspectStore, survey: Survey, topics: Collection[Topic]) -> Iterator[Evidence]:
    """Evidence from the ids in some topics' records, by topic: the best fit of each counts. An empty topic gives none."""
    internal = internal_of(store, survey)
    if internal is None or internal.role is not Role.VALUE:
        return
    for topic in sorted(topics):
        peeked = survey.peek(topic)
        if peeked.looked_at and not peeked.schema_ids and not peeked.guids:
            if not survey.has_subject(store.source_subject(topic, Role.VALUE)):
                yield rules.NO_IDS.of_topic(
                    topic,
                    f"the topic has no subject; srfix looked at {counted(peeked.looked_at, 'value')} and found no "
                    "schema id",
                )
            continue
        best = Comparison()
        schemas = {
            i: schema for i in peeked.schema_ids if (schema := survey.schema_of_id(i, store.context)) is not None
        }
        of_records = survey.once(("by record", store.context), lambda: _topic_record_subjects(store.context, survey))
        if peeked.schema_ids and not schemas and topic in read_topics(store, survey) and topic not in of_records:
            yield rules.LOST_IDS.of_topic(
                topic,
                f"it has no subject, and the registry knows no schema id in its records ({enumerated(peeked.schema_ids)})",
            )
        for schema_id, schema in schemas.items():
            where = f"schema id {schema_id}, found in its records"
            for writer in (writer_of(schema, where), *_others_of_record(topic, schema, store, survey)):
                comparison = compare_schemas(topic, internal, writer)
                if not best.pieces or comparison.rank > best.rank:
                    best = comparison
        yield from best.pieces


def _others_of_record(topic: Topic, schema: Schema, store: SuspectStore, survey: Survey) -> Iterator[Writer]:
    """The versions under a record's own subjects (RecordNameStrategy, TopicRecordNameStrategy), older ones too."""
    name = name_of_record(schema)
    if name is None:
        return
    for subject in (name, f"{topic}-{name}"):
        of_context = join_context(store.context, subject)
        if survey.has_subject(of_context):
            for version in survey.versions(of_context):
                yield of_version(version, survey)


def unlisted_topics(survey: Survey, context: str) -> tuple[Topic, ...]:
    """Topics that have a value subject, are no application's, and are not listed: gone, elsewhere, or hidden."""

    def unlisted() -> tuple[Topic, ...]:
        return tuple(t for t in value_topics(survey, context) if t not in survey.topics() and recognise(t) is None)

    return survey.once(("unlisted topics", context), unlisted)


def value_topics(survey: Survey, context: str) -> Iterator[Topic]:
    """The topics, existing or not, after which a subject of values in this context is named."""
    for subject in survey.subjects():
        of_context, name = split_context(subject)
        split = split_subject(name)
        if split is not None and of_context == context and split[1] is Role.VALUE:
            yield split[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Index:
    """An index of the latest schemas of some topics, to find those that have a field in common with a store's schema."""

    writers: Mapping[Topic, Writer]
    """By name; topics whose schemas have no names to compare come last."""
    by_name: Mapping[str, Collection[Topic]]
    """The topics by the folded name of each of their fields."""

    def near(self, internal: Internal) -> frozenset[Topic]:
        """The topics with a common field; for keys all topics, because every topic's keys are compared."""
        if internal.role is Role.KEY:
            return frozenset(self.writers)
        return frozenset(topic for name in internal.writer.folded for topic in self.by_name.get(name, ()))


def _index(store: SuspectStore, topics: Iterable[Topic], role: Role, survey: Survey) -> _Index:
    latest = {topic: survey.latest(store.source_subject(topic, role)) for topic in sorted(topics)}
    writers = {topic: of_version(version, survey) for topic, version in latest.items() if version is not None}
    by_name: defaultdict[str, list[Topic]] = defaultdict(list)
    for topic, writer in writers.items():
        for name in writer.folded:
            by_name[name].append(topic)
    ordered = sorted(writers.items(), key=lambda item: not item[1].names)
    return _Index(writers=dict(ordered), by_name=by_name)


def _candidates(
    store: SuspectStore, survey: Survey, fits: Callable[[Topic], bool], kind: tuple[object, ...]
) -> tuple[Topic, ...]:
    """Topics that may be a source and fit; an internal name only if this application reads it, or nobody has it."""

    def fitting() -> tuple[Topic, ...]:
        return tuple(topic for topic in survey.topics() if _is_nobodys_own(topic) and fits(topic))

    def unowned() -> tuple[Topic, ...]:
        return tuple(topic for topic in survey.topics() if fits(topic) and _is_unowned(topic, survey))

    candidates = survey.once((*kind, store.context), fitting)
    read = (topic for topic in read_topics(store, survey) if topic in survey.topics() and not _is_nobodys_own(topic))
    # A topic with the name of this application's changelog is not one of its sources, unless the application reads it.
    of_nobody = survey.once((*kind, store.context, "unowned"), unowned)
    other_topics = (topic for topic in of_nobody if parse(topic, application=store.application) is None)
    return tuple(sorted({*candidates, *other_topics, *filter(fits, read)}))


def _is_nobodys_own(topic: Topic) -> bool:
    return recognise(topic) is None and not is_internal(topic)


def _is_unowned(topic: Topic, survey: Survey) -> bool:
    """True for the name of an internal topic whose application does not exist, or is a plain consumer."""
    groups = survey.once(("groups",), survey.cluster.groups)
    among = survey.once(("owners",), lambda: Applications(survey, groups, ()))
    prefixes = application_prefixes(topic)
    named = [name for name in prefixes if not among.is_listed_whole or name in among.listed]
    survey.ask_commits(named)
    return bool(prefixes) and not any(_is_owner(name, topic, among) for name in named)


def _is_owner(name: str, topic: Topic, among: Applications) -> bool:
    """True if a group may be an application that made the topic; its offsets are known, its members are asked for."""
    with suppress(ClusterError):
        if recognise(topic) is InternalTopicKind.CHANGELOG and among.has_read(name, topic):
            return False
        if among.commits_as_streams(name):
            return True
    return among.is_group(name) and not among.is_plain(name)


def by_row_ids(store: SuspectStore, survey: Survey) -> Iterator[Evidence]:
    """Yields a piece per topic whose subject holds the ids in the rows on disk, for a store that left no schema to compare.
    It is on Kafka Streams 2.7 or later, or before its first put: its rows carry ids of the source topic's own subject.
    """
    if is_comparable(store, survey):
        return
    ids = _ids_on_disk(store, survey)
    for topic, subject in sorted(_topics_holding(ids, store, survey).items()) if ids else ():
        yield rules.ROW_IDS.of_topic(topic, f"rows on disk carry {named_ids(sorted(ids))}, which {subject} holds")


def _ids_on_disk(store: SuspectStore, survey: Survey) -> frozenset[SchemaId]:
    from srfix.recovery.state.directory import StoreKind
    from srfix.recovery.state.reading.database import some_rows

    ids: set[int] = set()
    for place in places_of(survey.supplied.state, store):
        if place.store.kind is StoreKind.KEY_VALUE:
            try:
                rows = some_rows(Path(place.store.path), most=_MOST_ROWS)
            except StateDirectoryError:  # reported by the code that reads the rows themselves
                continue
            ids.update(SchemaIdPeek()([row.payload for row in rows.values()]))
    return frozenset(SchemaId(schema_id) for schema_id in ids if schema_id >= 0)


def _topics_holding(ids: frozenset[SchemaId], store: SuspectStore, survey: Survey) -> dict[Topic, Subject]:
    """The topics whose subject holds all these ids, of those that the group reads or the registry names."""
    likely = {store.source_subject(topic, Role.VALUE) for topic in read_topics(store, survey)}
    with suppress(SchemaNotFoundError):
        likely.update(survey.registry.subjects_of_id(min(ids), deleted=True) or ())
    subjects: dict[Topic, Subject] = {}
    for subject in sorted(filter(survey.has_subject, likely)):
        split = split_subject(split_context(subject)[1])
        is_of_values = split is not None and split[1] is Role.VALUE and split[0] in survey.topics()
        if split is not None and is_of_values and ids <= survey.ids_under(subject, deleted=True):
            subjects[split[0]] = subject
    return subjects
