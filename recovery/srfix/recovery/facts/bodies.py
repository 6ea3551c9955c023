"""Whether the rows that a restore loads decode with the writer schema of their id. The registry is asked only by id, so
a body that does not fit is not confused with a schema that some subject lacks.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from srfix.recovery.census.interface import Census, CensusProgress, IdCount
from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.cluster.log_reader import GaveUp
from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.facts.decoding import Deserializer, RecordDecoder, key_deserializer
from srfix.recovery.registry import ReadableRegistry
from srfix.serde.errors import DecodeError, ResolveError, SrfixError, TrailingBytesError
from srfix.serde.subjects.names import DEFAULT_CONTEXT, Role
from srfix.serde.windowed import WindowKind
from srfix.serde.wire import SchemaId

if TYPE_CHECKING:
    from srfix.serde.resolve.policies import Resolver

_MOST: Final = 512
"""How many records of one topic and role are decoded if only the newest are: eight ids in 64 partitions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UndecodableRows:
    partition: int
    schema_id: SchemaId
    keys: int
    """Live keys with such a body, among those whose record srfix tried to decode."""
    first_offset: int
    last_offset: int
    reason: str
    is_only_too_long: bool
    """True if each of them decodes, but with bytes left over, which Java's decoder ignores after the last field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bodies:
    undecodable: tuple[UndecodableRows, ...]
    """By partition and id."""
    decoded: int
    live_keys: int
    """Live keys that carry an id which the registry knows, as the census counted them."""
    newest_only: bool
    """True if only the newest live record of each (id, partition) was to be decoded."""
    left_out: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """True if every live record that carries an id was decoded."""
        return self.decoded >= self.live_keys and not self.left_out


def newest_bodies(
    cluster: Cluster,
    registry: ReadableRegistry,
    census: Census,
    roles: Iterable[Role],
    *,
    window: WindowKind | None = None,
    context: str = DEFAULT_CONTEXT,
    deadline_s: float | None = None,
) -> Mapping[Role, Bodies]:
    """Decodes the newest live record of each (id, partition) until the deadline: quick, and no proof for older ones."""
    bodies = {}
    began = time.monotonic()
    for role in roles:
        judge = _Judge(registry, (role,), window, context)
        of_role = _RoleTally()
        places, beyond = newest_live(cluster, census, role, most=_MOST)
        if beyond:
            of_role.left_out[
                f"{beyond} more schema ids and partitions: srfix looks at no more than {_MOST} records"
            ] = None
        for number, place in enumerate(places):
            if deadline_s is not None and time.monotonic() - began >= deadline_s:
                of_role.left_out[
                    f"{len(places) - number} of {len(places)} schema ids and partitions: the deadline of {deadline_s:g} s "
                    "(--deadline) was reached"
                ] = None
                break
            if place.record is None:
                where = f"partition {place.partition} offset {place.offset}"
                of_role.left_out[f"{where}: compaction has removed this record since srfix counted it"] = None
                continue
            of_role.take(place.partition, judge(census.topic, place.record, role, of_role.left_out))
        bodies[role] = of_role.bodies(census, role, judge.unknown, newest_only=True)
    return bodies


def whole_bodies(
    cluster: Cluster,
    registry: ReadableRegistry,
    census: Census,
    roles: Iterable[Role],
    *,
    window: WindowKind | None = None,
    raw_key_ids: Container[SchemaId] = frozenset(),
    context: str = DEFAULT_CONTEXT,
    deadline_s: float | None = None,
    on_progress: Callable[[CensusProgress], None] | None = None,
) -> Mapping[Role, Bodies]:
    """Decodes every record that a restore loads, in one more read; the latest of each key counts, as in the census."""
    bodies = {role: _RoleTally() for role in roles}
    if not bodies:
        return {}
    judge = _Judge(registry, tuple(bodies), window, context, raw_key_ids)
    began, done = time.monotonic(), 0
    give_up_at = None if deadline_s is None else began + deadline_s
    total = sum(max(0, (partition.restore_limit or 0) - partition.start_offset) for partition in census.partitions)
    for partition in census.partitions:
        next_offset, limit = partition.start_offset, partition.restore_limit
        if limit is None or limit <= next_offset:
            continue
        # per role and key: None if its latest record decodes, else what is wrong with the record
        latest: dict[Role, dict[bytes, _Wrong | None]] = {role: {} for role in bodies}
        records = cluster.read(
            census.topic, partition.partition, next_offset, limit, give_up_at=give_up_at, isolation=census.isolation
        )
        try:
            for record in records:
                done += 1
                if record.key is not None:
                    for role, keys in latest.items():
                        keys.pop(record.key, None)
                        if record.value is not None:
                            for wrong in judge(census.topic, record, role, bodies[role].left_out):
                                keys[record.key] = wrong
                next_offset = record.offset + 1
                if on_progress is not None and done % 500 == 0:
                    on_progress(
                        CensusProgress(
                            topic=census.topic,
                            records_done=done,
                            records_total=total,
                            elapsed_s=time.monotonic() - began,
                            deadline_s=deadline_s,
                        )
                    )
        except GaveUp:
            where = f"partition {partition.partition}, offsets {next_offset} to {limit - 1}"
            for of_role in bodies.values():
                of_role.left_out[f"{where}: the deadline of {deadline_s:g} s (--deadline) was reached"] = None
        for role, keys in latest.items():
            bodies[role].take(partition.partition, keys.values())
    return {role: of_role.bodies(census, role, judge.unknown, newest_only=False) for role, of_role in bodies.items()}


@dataclass(frozen=True, slots=True)
class _Wrong:
    schema_id: SchemaId
    offset: int
    error: DecodeError


class _Judge:
    """Decodes one record's key or value: what is wrong, or None; nothing if srfix did not try (`left_out` says why)."""

    def __init__(
        self,
        registry: ReadableRegistry,
        roles: Iterable[Role],
        window: WindowKind | None,
        context: str,
        raw_key_ids: Container[SchemaId] = frozenset(),
    ) -> None:
        from srfix.serde.deserializer import SchemaDeserializer
        from srfix.serde.resolve.policies import ById

        def make(resolver: Resolver, role: Role) -> Deserializer:
            return key_deserializer(resolver, window) if role is Role.KEY else SchemaDeserializer(resolver)

        by_id = ById(registry, context=context)
        self._decoders = {role: RecordDecoder(by_id, roles=(role,), make=make) for role in roles}
        self._raw_key_ids = raw_key_ids
        self.unknown: set[SchemaId] = set()

    def __call__(
        self, topic: str, record: RawRecord, role: Role, left_out: dict[str, None]
    ) -> tuple[()] | tuple[_Wrong | None]:
        (decoded,) = self._decoders[role].decode(topic, (record,))
        part = decoded.key if role is Role.KEY else decoded.value
        if part.schema_id is None:
            return ()  # not framed by an id: the census counts it
        if role is Role.KEY and part.schema_id in self._raw_key_ids:
            return ()
        if isinstance(part.error, ResolveError):
            self.unknown.add(part.schema_id)  # SRF011 reports it
            return ()
        if part.error is None or self._is_of_raw_bytes(part.schema_id, role):
            return (None,)
        if isinstance(part.error, DecodeError):
            return (_Wrong(part.schema_id, record.offset, part.error),)
        left_out[f"schema id {part.schema_id}: {_plainly(part.error)}"] = None
        return ()

    def _is_of_raw_bytes(self, schema_id: SchemaId, role: Role) -> bool:
        """True for the id of the schema `bytes`, whose values Java's serializer writes without their length; False if the
        error came before the schema was asked for."""
        schema = self._decoders[role].schema(schema_id, role)
        return schema is not None and schema.schema_type == "AVRO" and _is_bytes(schema.text)


@lru_cache(maxsize=16)
def _is_bytes(schema_text: str) -> bool:
    try:
        schema = json.loads(schema_text)
    except (ValueError, RecursionError):
        return False
    return "bytes" in (schema, schema.get("type") if isinstance(schema, dict) else None)


def _plainly(error: SrfixError) -> str:
    """The message without the deserializer's first words, which say which payload it is."""
    cause = error.__cause__
    return (cause if isinstance(cause, SrfixError) else error).message


class _RoleTally:
    def __init__(self) -> None:
        self.left_out: dict[str, None] = {}
        self._decoded = 0
        self._undecodable: list[UndecodableRows] = []

    def take(self, partition: int, verdicts: Collection[_Wrong | None]) -> None:
        """Counts live keys of a partition: None for each that decodes. Each id of a partition comes in one call."""
        self._decoded += len(verdicts)
        by_id: defaultdict[SchemaId, list[_Wrong]] = defaultdict(list)
        for wrong in sorted(filter(None, verdicts), key=lambda wrong: wrong.offset):
            by_id[wrong.schema_id].append(wrong)
        self._undecodable += (
            UndecodableRows(
                partition=partition,
                schema_id=schema_id,
                keys=len(of_id),
                first_offset=of_id[0].offset,
                last_offset=of_id[-1].offset,
                reason=_plainly(of_id[0].error),
                is_only_too_long=all(isinstance(wrong.error, TrailingBytesError) for wrong in of_id),
            )
            for schema_id, of_id in by_id.items()
        )

    def bodies(self, census: Census, role: Role, unknown: set[SchemaId], *, newest_only: bool) -> Bodies:
        """Live keys of ids that the registry does not know are not counted."""
        counts = (count for partition in census.partitions for count in partition.of(role).ids)
        return Bodies(
            undecodable=tuple(sorted(self._undecodable, key=lambda rows: (rows.partition, rows.schema_id))),
            decoded=self._decoded,
            live_keys=sum(count.live_keys or 0 for count in counts if count.schema_id not in unknown),
            newest_only=newest_only,
            left_out=tuple(self.left_out),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveRecord:
    partition: int
    count: IdCount
    offset: int
    record: RawRecord | None
    """The record; None if it was compacted away since it was counted."""


def newest_live(
    cluster: Cluster, census: Census, role: Role, *, most: int | None = None
) -> tuple[tuple[LiveRecord, ...], int]:
    """The newest live record of each (id, partition), and how many `most` left out; each id once before twice."""
    by_id: defaultdict[SchemaId, list[tuple[int, IdCount, int]]] = defaultdict(list)
    for partition in census.partitions:
        for count in partition.of(role).ids:
            if count.live_offset is not None:
                by_id[count.schema_id].append((partition.partition, count, count.live_offset))
    ranked = sorted(
        ((rank, place) for places in by_id.values() for rank, place in enumerate(places)),
        key=lambda ranked: (ranked[0], ranked[1][1].schema_id),
    )
    chosen = sorted((place for _rank, place in ranked[:most]), key=lambda place: (place[0], place[1].schema_id))
    records = dict(cluster.records_at(census.topic, {(p, offset) for p, _count, offset in chosen})) if chosen else {}
    return (
        tuple(
            LiveRecord(partition=p, count=count, offset=offset, record=records[p, offset])
            for p, count, offset in chosen
        ),
        len(ranked) - len(chosen),
    )
