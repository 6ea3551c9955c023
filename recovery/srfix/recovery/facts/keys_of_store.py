"""What the keys of a store's source topic are. If a census peeked ids in them, a few keys are read like a deserializer: by
the schema whose id they seem to name. A census only peeks, and the eight bytes of a BIGINT begin like a framed key.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from srfix.recovery.census.interface import Census
from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.facts.decoding import OneSchema, key_deserializer, window_of
from srfix.recovery.facts.key_role import KeyReading, KeyRole, KeySample, KeyStanding, SampledKey, key_role
from srfix.recovery.facts.stores import SuspectStore
from srfix.recovery.facts.subject_state import SubjectState
from srfix.recovery.facts.survey import Survey
from srfix.serde.errors import DecodeError, ResolveError
from srfix.serde.interface import ABOUT_A_PAYLOAD, SerdeContext
from srfix.serde.resolve.policies import ById, Resolver
from srfix.serde.schemas.references import reference_texts
from srfix.serde.subjects.names import Role, Topic
from srfix.serde.windowed import WindowKind
from srfix.serde.wire import SchemaId, is_schema_id, schema_id_of
from srfix.serde.wire_peek import SchemaIdPeek, peek_headers


def keys_of_store(
    survey: Survey, store: SuspectStore, topic: Topic, census: Census, phantoms: Mapping[Role, SubjectState]
) -> KeyRole:
    phantom, subject = phantoms[Role.KEY], store.source_subject(topic, Role.KEY)
    nothing = SubjectState(subject=subject, versions=(), config=None, mode=None)
    if not phantom.versions and phantoms[Role.VALUE].versions:
        # Rows were put, and no key schema was registered: the key serde asks no registry.
        return KeyRole(standing=KeyStanding.RAW, census=census, source=nothing)
    if not census.ids(Role.KEY):
        return key_role(census, phantom, nothing, KeySample(keys=(), window=None))
    source = survey.subject_state(subject) if survey.has_subject(subject) else nothing
    return keys_under(survey, census, phantom, source, context=store.context)


def keys_under(survey: Survey, census: Census, phantom: SubjectState, source: SubjectState, *, context: str) -> KeyRole:
    sample = sample_keys(
        survey.cluster,
        census,
        ById(survey.registry, context=context),
        _newest_schemas(survey, (phantom, source)),
        more=not (phantom.versions or source.versions),
    )
    return key_role(census, phantom, source, sample)


def _newest_schemas(survey: Survey, states: Iterable[SubjectState]) -> Iterator[OneSchema]:
    for state in states:
        if state.versions:
            newest = max(state.live or state.versions)
            version = survey.registry.version(state.subject, newest.version, deleted=True)
            references = reference_texts(survey.registry, version.schema, subject=state.subject)
            yield OneSchema(version.schema, references)


_MOST_PLACES: Final = 64
"""For how many (id, partition) pairs the newest key is read; BIGINT keys seem to have thousands of ids."""
_MORE: Final = 7
"""How many offsets before the newest key of an id are read, too, in one partition of each id."""
_MOST_MORE: Final = 8


def sample_keys(
    cluster: Cluster, census: Census, resolver: Resolver, under_subject: Iterable[OneSchema], *, more: bool
) -> KeySample:
    """Reads the newest key of each id, and some before it if one does not decode, or `more` are wanted."""
    reader = _Reader(census.topic, resolver)
    records = _records(cluster, census, _newest(census))
    if more or any(reader.outcome(record.key or b"", None) is not KeyReading.DECODES for record in records):
        records = [*records, *_records(cluster, census, _before(census))]
    keys = {(record.partition, record.key): record for record in records if record.key is not None}
    window = window_of([key for _partition, key in keys], lambda key: reader.outcome(key, None) is KeyReading.DECODES)
    outcomes = {place: reader.outcome(place[1], window) for place in keys}
    if any(outcome in _NOT_PROVEN for outcome in outcomes.values()):
        as_if = [_Reader(census.topic, schema) for schema in under_subject]
        for place, outcome in outcomes.items():
            if outcome in _NOT_PROVEN and any(r.outcome(place[1], window) is KeyReading.DECODES for r in as_if):
                outcomes[place] = KeyReading.FITS_SUBJECT
    return KeySample(
        keys=tuple(
            SampledKey(
                partition=partition,
                offset=record.offset,
                schema_id=schema_id_of(key),
                size=len(key),
                outcome=outcomes[partition, key],
            )
            for (partition, key), record in sorted(keys.items(), key=lambda item: (item[0][0], item[1].offset))
        ),
        window=window,
    )


_NOT_PROVEN: Final = frozenset({KeyReading.MISFIT, KeyReading.UNKNOWN_ID})


def _newest(census: Census) -> Iterator[tuple[int, int]]:
    """The place of the newest key of each (id, partition); each id in one partition comes before any id in a second one."""
    places: defaultdict[SchemaId, list[tuple[int, int]]] = defaultdict(list)
    for partition in census.partitions:
        for count in partition.keys.ids:
            newest = count.last_offset if count.live_offset is None else count.live_offset
            places[count.schema_id].append((partition.partition, newest))
    ranked = sorted((rank, schema_id, place) for schema_id, of_id in places.items() for rank, place in enumerate(of_id))
    return (place for _rank, _schema_id, place in ranked[:_MOST_PLACES])


def _before(census: Census) -> Iterator[tuple[int, int]]:
    """The offsets before the newest key of each id, in the partition where most records carry it."""
    best: dict[SchemaId, tuple[int, int, int, int]] = {}
    for partition in census.partitions:
        for count in partition.keys.ids:
            newest = count.last_offset if count.live_offset is None else count.live_offset
            best[count.schema_id] = max(
                best.get(count.schema_id, (0, 0, 0, 0)),
                (count.records, partition.partition, newest, count.first_offset),
            )
    for _records, partition_number, newest, first in sorted(best.values(), reverse=True)[:_MOST_MORE]:
        for offset in range(newest - 1, max(first, newest - 1 - _MORE) - 1, -1):
            yield partition_number, offset


def _records(cluster: Cluster, census: Census, places: Iterable[tuple[int, int]]) -> list[RawRecord]:
    """The records at these places whose key begins like a framed key, as in the census."""
    wanted = set(places)
    records = (
        [record for _place, record in cluster.records_at(census.topic, wanted) if record is not None] if wanted else []
    )
    peeked = SchemaIdPeek()([record.key for record in records])
    ids = peek_headers([record.headers for record in records], peeked, Role.KEY)
    return [record for record, schema_id in zip(records, ids, strict=True) if is_schema_id(schema_id)]


class _Reader:
    """Reads keys of one topic through one resolver. An id that is not known is asked for once."""

    def __init__(self, topic: str, resolver: Resolver) -> None:
        self._context = SerdeContext(topic, Role.KEY)
        self._deserializers = {kind: key_deserializer(resolver, kind) for kind in (None, *WindowKind)}
        self._unknown: set[SchemaId] = set()

    def outcome(self, key: bytes, window: WindowKind | None) -> KeyReading:
        if schema_id_of(key) in self._unknown:
            return KeyReading.UNKNOWN_ID
        try:
            self._deserializers[window](key, self._context)
        except ResolveError:
            self._unknown.add(schema_id_of(key))
            return KeyReading.UNKNOWN_ID
        except DecodeError:
            return KeyReading.MISFIT
        except ABOUT_A_PAYLOAD:
            return KeyReading.NOT_READ
        return KeyReading.DECODES
