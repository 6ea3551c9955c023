"""Hints at the store's reader, at the version of Kafka Streams, and at whether the application runs. They count where
the person did not say: a person's `--reader` and `--streams-version` win over every hint.

The version of Kafka Streams, as far as its traces show it: its metadata beside committed offsets, and its files.

| trace | Streams |
|---|---|
| committed offsets with nothing beside them | up to 2.3 (or they were set by a tool) |
| `SubscriptionInfo` of the members of a group that runs | `_SUBSCRIPTIONS`: 2.6.1 to 2.7 are alike |
| base64 with magic byte 1 (`TopicPartitionMetadata`) | 2.4 to 3.2 |
| magic byte 2 | 3.3 and later |
| `kafka-streams-process-metadata` | 2.6.2 and later |
| `.lock` in a task's directory | up to 2.8, or left over from then |
| `<store>.position` | 3.2 to 4.2 |
| column family `offsets` | 4.3 and later |
| options of a store that RocksDB 6 or later wrote | 3.0 and later |
| those of all stores, that RocksDB 5.18.3 or older wrote | up to 2.5 |

A file that is missing on disk says nothing, because a copy can lose files whose names begin with a dot.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, TypeAlias

from srfix.recovery.facts.isolation import RestoreIsolation
from srfix.recovery.facts.reader import CheckContext, Circumstances, KnownStore, Reader, StreamsVersion, range_in_words
from srfix.recovery.facts.stores import MARKS_OF_CONNECT, SuspectStore, marks_in
from srfix.recovery.facts.survey import Survey
from srfix.recovery.findings import Observation, Weight
from srfix.recovery.internal_topics import ksqldb_query
from srfix.recovery.ksqldb.models import is_at_least
from srfix.serde.errors import ClusterError
from srfix.serde.printable import counted
from srfix.serde.subjects.names import Role, Subject, Topic

if TYPE_CHECKING:
    from srfix.recovery.state.directory import Traces

_MAGIC_AND_TIMESTAMP: Final = 12
"""The 9 bytes that every version writes first, in base64. What follows them may not be metadata at all (see `Commit`)."""

_LATEST: Final = (StreamsVersion(3, 2), None)
_SUBSCRIPTIONS: Final[Mapping[int, tuple[StreamsVersion, StreamsVersion | None]]] = {
    3: (StreamsVersion(2, 0), StreamsVersion(2, 0)),
    4: (StreamsVersion(2, 1), StreamsVersion(2, 3)),
    5: (StreamsVersion(2, 4), StreamsVersion(2, 4)),
    6: (StreamsVersion(2, 5), StreamsVersion(2, 5)),
    7: (StreamsVersion(2, 6), StreamsVersion(2, 6)),
    8: (StreamsVersion(2, 6), StreamsVersion(2, 7)),
    9: (StreamsVersion(2, 8), StreamsVersion(2, 8)),
    10: (StreamsVersion(3, 0), StreamsVersion(3, 1)),
}
_TRACES: Final = (
    ("has_offsets_column_families", StreamsVersion(4, 3), None, "the stores in {} have a column family named offsets"),
    ("has_position_files", StreamsVersion(3, 2), StreamsVersion(4, 2), "there are .position files in {}"),
    ("has_rocksdb_6", StreamsVersion(3, 0), None, "RocksDB 6 or later opened the stores in {} last"),
    ("has_rocksdb_5_18_3", None, StreamsVersion(2, 5), "RocksDB 5.18.3 or older opened the stores in {} last"),
    ("has_process_metadata", StreamsVersion(2, 6), None, "there is a kafka-streams-process-metadata in {}"),
    ("has_task_locks", None, StreamsVersion(2, 8), "the tasks in {} have .lock files, new or left over"),
)
"""A trace of a state directory, the oldest and the newest version that it shows, and the sentence about a path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationHint:
    """A range of Kafka Streams versions, both ends inclusive."""

    oldest: StreamsVersion | None
    newest: StreamsVersion | None
    detail: str
    weight: Weight = Weight.STRONG
    """Weak ones are shown, and change nothing."""

    def __str__(self) -> str:
        return str(range_in_words(self.oldest, self.newest))


def from_commit_metadata(texts: Iterable[str]) -> GenerationHint | None:
    """The version by the newest metadata beside a group's committed offsets; None if it is not of Kafka Streams."""
    magics = {_magic(text) for text in texts}
    if 2 in magics:
        detail = "its committed offsets have metadata with magic byte 2"
        return GenerationHint(oldest=StreamsVersion(3, 3), newest=None, detail=detail)
    if 1 in magics:
        detail = "its committed offsets have metadata with magic byte 1"
        return GenerationHint(oldest=StreamsVersion(2, 4), newest=StreamsVersion(3, 2), detail=detail)
    if magics == {0}:
        detail = "its committed offsets have no metadata (offsets that a tool has set have none, either)"
        return GenerationHint(oldest=None, newest=StreamsVersion(2, 3), detail=detail, weight=Weight.WEAK)
    return None


def _magic(text: str) -> int | None:
    """0 for no metadata; None for metadata that Kafka Streams does not write."""
    if not text:
        return 0
    try:
        decoded = base64.b64decode(text[:_MAGIC_AND_TIMESTAMP], validate=True)
    except (binascii.Error, ValueError):
        return None
    return decoded[0] if len(decoded) == 9 and decoded[0] in (1, 2) else None


def from_subscriptions(versions: Iterable[int]) -> GenerationHint | None:
    """The version by a group's members (`SubscriptionInfo.latestSupportedVersion`), which an upgrade mixes."""
    in_order = sorted(set(versions))
    if not in_order or in_order[0] < min(_SUBSCRIPTIONS):
        return None
    oldest, newest = _SUBSCRIPTIONS.get(in_order[0], _LATEST)[0], _SUBSCRIPTIONS.get(in_order[-1], _LATEST)[1]
    detail = f"its members join with version {' and '.join(map(str, in_order))} of SubscriptionInfo"
    return GenerationHint(oldest=oldest, newest=newest, detail=detail)


def from_traces(traces: Traces, *, path: str) -> Iterator[GenerationHint]:
    for sign, oldest, newest, detail in _TRACES:
        if getattr(traces, sign):
            yield GenerationHint(oldest=oldest, newest=newest, detail=detail.format(path))


def decisive_version(hints: Iterable[GenerationHint]) -> StreamsVersion | None:
    """One possible version, if all possible versions agree on whether KAFKA-10179 is fixed; else None."""
    oldest, newest = version_range(hints)
    if oldest is not None and oldest.asks_the_source_subject:
        return oldest
    return newest if newest is not None and not newest.asks_the_source_subject else None


def version_range(hints: Iterable[GenerationHint]) -> tuple[StreamsVersion | None, StreamsVersion | None]:
    """The possible range, by strong hints; lower bounds win, as an upgraded directory keeps files of older versions."""
    strong = [hint for hint in hints if hint.weight is not Weight.WEAK]
    oldest = max((hint.oldest for hint in strong if hint.oldest is not None), default=None)
    newest = min((hint.newest for hint in strong if hint.newest is not None), default=None)
    return oldest, None if newest is not None and oldest is not None and newest < oldest else newest


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderHint:
    reader: Reader
    weight: Weight
    """Weak ones are shown, and change nothing."""
    detail: str


Hint: TypeAlias = ReaderHint | GenerationHint | RestoreIsolation | Observation
"""A `RestoreIsolation` is a hint only if somebody writes in transactions; an `Observation` changes nothing."""


def gather_hints(store: SuspectStore, survey: Survey, topic: Topic | None = None) -> tuple[Hint, ...]:
    """All hints on a store and its application; without the topic, a comparison of schemas gives only weak ones."""
    isolation = survey.restore_isolation(store.application)
    return (
        *_reader_hints(store, survey, topic),
        *_generation_hints(store, survey),
        *_liveness_hints(store, survey),
        *(() if isolation.detail is None else (isolation,)),
    )


def with_hints(context: CheckContext, hints: Iterable[Hint]) -> CheckContext:
    """The context with what the hints say without doubt; ksqlDB's version is stronger than the look of a schema."""
    of_all = tuple(hints)
    if context.reader is Reader.UNKNOWN:
        for weight in (Weight.CONCLUSIVE, Weight.STRONG):
            readers = {hint.reader for hint in of_all if isinstance(hint, ReaderHint) and hint.weight is weight}
            if len(readers) == 1:
                context = replace(context, reader=readers.pop())
                break
            if readers:
                break
    if context.streams_version is None:
        version = decisive_version(hint for hint in of_all if isinstance(hint, GenerationHint))
        context = replace(context, streams_version=version)
    return context


def circumstances_of(
    application: str, stores: Iterable[KnownStore], context: CheckContext, hints: Iterable[Hint], survey: Survey
) -> Circumstances:
    of_all = tuple(hints)
    oldest = newest = context.streams_version
    if context.streams_version is None:
        oldest, newest = version_range(hint for hint in of_all if isinstance(hint, GenerationHint))
    named = ksqldb_query(application)
    queries = tuple(survey.supplied.queries(application))
    return Circumstances(
        application=application,
        stores=tuple(sorted(stores, key=lambda store: store.name)),
        reader=with_hints(context, of_all).reader,
        oldest=oldest,
        newest=newest,
        query=next((query.query_id for _answers, query in queries), None if named is None else named.query_id),
        query_state=next((query.state for _answers, query in queries if query.state is not None), None),
        ksqldb_version=next(
            (answers.server.version for answers, _query in queries if answers.server is not None), None
        ),
    ).with_group(survey.group_state(application))


def observations(hints: Iterable[Hint]) -> tuple[Observation, ...]:
    return tuple(map(_observation, hints))


def _observation(hint: Hint) -> Observation:
    match hint:
        case ReaderHint():
            return Observation(kind="reader", says=hint.reader.value, weight=hint.weight, detail=hint.detail)
        case GenerationHint():
            return Observation(kind="streams-version", says=str(hint), weight=hint.weight, detail=hint.detail)
        case Observation():
            return hint
        case RestoreIsolation():
            weight = hint.weight or Weight.WEAK
            return Observation(kind="isolation", says=hint.isolation.value, weight=weight, detail=hint.detail or "")


def _reader_hints(store: SuspectStore, survey: Survey, topic: Topic | None) -> Iterator[ReaderHint]:
    for answers, query in survey.supplied.queries(store.application):
        reader_and_why = None if answers.server is None else _of_ksqldb(answers.server.version)
        if reader_and_why is not None:
            reader, why = reader_and_why
            detail = f"query {query.query_id} runs on ksqlDB {answers.server.version if answers.server else ''}: {why}"
            yield ReaderHint(reader=reader, weight=Weight.CONCLUSIVE, detail=detail)
    for role in (Role.VALUE, Role.KEY):
        subject = store.subject(role)
        latest = survey.latest(subject) if subject in survey.subjects() else None
        if latest is None:
            continue
        where = f"the schema under {subject}, version {latest.version},"
        marks = marks_in(latest.schema.text)
        is_compared = False
        if marks:
            source = None if topic is None else store.source_subject(topic, role)
            marks, is_compared = _beyond_source(marks, source, survey)
        if marks & MARKS_OF_CONNECT:
            detail = f"{where} has the marks of Connect's converter, which looks up versions under the subject"
            if not is_compared:
                detail += "; the marks may come from the source's schema, which srfix cannot compare"
            weight = Weight.STRONG if is_compared else Weight.WEAK
            yield ReaderHint(reader=Reader.CONNECT, weight=weight, detail=detail)
        elif marks:
            detail = f"{where} has avro.java.string, as in generated classes; their readers usually look up only the id"
            yield ReaderHint(reader=Reader.PLAIN, weight=Weight.WEAK, detail=detail)


def _beyond_source(marks: frozenset[str], source: Subject | None, survey: Survey) -> tuple[frozenset[str], bool]:
    """The marks that no version of the source's subject has (a copy proves nothing), and whether there was one."""
    if source is None or not survey.has_subject(source):
        return marks, False
    registry = survey.registry
    for number in sorted(registry.versions(source, deleted=True), reverse=True):
        marks -= marks_in(registry.version(source, number, deleted=True).schema.text)
        if not marks:
            break
    return marks, True


def _of_ksqldb(version: str) -> tuple[Reader, str] | None:
    """The reader of an engine of that version, and why. None if the text is no version."""
    can_fall_back = is_at_least(version, ksqldb=(0, 10, 2), platform=(6, 0, 0))
    if can_fall_back is None:
        return None
    if is_at_least(version, ksqldb=(0, 11, 0), platform=(6, 1, 0)):
        return (
            Reader.DUAL,
            "it asks the source's subject if the changelog's subject does not have the id (ksql pull 5823)",
        )
    if can_fall_back:
        return (
            Reader.CONNECT,
            "it falls back to a second topic name, but on Kafka Streams 2.6 that is the changelog's name again",
        )
    return Reader.CONNECT, "it looks up versions under the changelog's subject"


def _generation_hints(store: SuspectStore, survey: Survey) -> Iterator[GenerationHint]:
    for state in survey.supplied.state:
        if state.application == store.application:
            yield from from_traces(state.traces, path=state.path)
    try:
        metadata = survey.commit_metadata(store.application)
    except ClusterError:  # reported by the code that asks for the offsets themselves
        return
    hint = from_commit_metadata(metadata.values())
    if hint is not None:
        yield hint
    if (hint is None or decisive_version([hint]) is None) and survey.group_state(store.application).members:
        hint = from_subscriptions(survey.subscriptions(store.application))
        if hint is not None:
            yield hint


def _liveness_hints(store: SuspectStore, survey: Survey) -> Iterator[Observation]:
    state = survey.group_state(store.application)
    if state.members is None or state.state is None:
        return
    detail = (
        f"its group has {counted(state.members, 'member')}: the application runs, or tries to run"
        if state.members
        else "its group has no members: the application is stopped, or its threads have died"
    )
    yield Observation(kind="group-state", says=state.state, weight=Weight.STRONG, detail=detail)
