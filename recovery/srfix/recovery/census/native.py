"""The counting of a census in the native kernel, where it is installed: the rules of `counting`, a third of its cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from srfix.recovery.census.interface import IdCount, PartitionCensus, RoleCensus
from srfix.serde.native import kernel
from srfix.serde.subjects.names import Role
from srfix.serde.wire import Headers
from srfix.serde.wire_peek import BY_GUID, NO_PAYLOAD, UNFRAMED, PeekedId, SchemaIdPeek, peek_headers


class _Told(NamedTuple):
    """What the kernel counted of one id or mark."""

    of: PeekedId
    records: int
    live_keys: int
    pending_keys: int
    first: int
    last: int
    live_offset: int | None


@dataclass(slots=True, kw_only=True)
class NativeColumns:
    offsets: Sequence[int]
    keys: list[bytes | None]
    values: list[bytes | None]
    ids: tuple[list[PeekedId], list[PeekedId]] | None
    """The ids and marks of keys and of values; None where the payloads alone tell."""


class NativeReader:
    """Turns batches of records into columns, as `ColumnReader` does."""

    def __call__(
        self,
        *,
        offsets: Sequence[int],
        keys: list[bytes | None],
        values: list[bytes | None],
        headers: Sequence[Headers] | None = None,
        one_partition: bool = False,
    ) -> NativeColumns:
        """Columns of one length; `headers` is None where no record has any."""
        if headers is None:
            return NativeColumns(offsets=offsets, keys=keys, values=values, ids=None)
        ids = (
            peek_headers(headers, SchemaIdPeek()(keys), Role.KEY),
            peek_headers(headers, SchemaIdPeek()(values), Role.VALUE),
        )
        return NativeColumns(offsets=offsets, keys=keys, values=values, ids=ids)


class NativeCounter:
    """Counts one partition's records, as `PartitionCounter` does."""

    def __init__(self, *, restore_limit: int | None) -> None:
        native: Any = kernel()
        self._limit = restore_limit
        self._counter = native.PartitionCounter(restore_limit)

    def add(self, records: NativeColumns, start: int, stop: int) -> None:
        offsets = records.offsets
        key_ids, value_ids = records.ids or (None, None)
        self._counter.add(
            offsets[0] if offsets else 0,
            None if isinstance(offsets, range) else offsets,
            records.keys,
            records.values,
            key_ids,
            value_ids,
            start,
            stop,
        )

    def result(
        self,
        *,
        partition: int,
        start_offset: int,
        end_offset: int,
        committed_offset: int | None,
        stopped_early: str | None = None,
    ) -> PartitionCensus:
        records, keys, values = self._counter.result()
        return PartitionCensus(
            partition=partition,
            start_offset=start_offset,
            end_offset=end_offset,
            committed_offset=committed_offset,
            restore_limit=self._limit,
            records=records,
            keys=self._role([_Told(*told) for told in keys]),
            values=self._role([_Told(*told) for told in values]),
            stopped_early=stopped_early,
        )

    def _role(self, counts: list[_Told]) -> RoleCensus:
        is_restored = self._limit is not None
        marks = {told.of: told for told in counts if told.of < 0}
        unframed = marks.get(UNFRAMED)
        live_unframed = unframed.live_keys if unframed else 0
        return RoleCensus(
            ids=tuple(
                IdCount(
                    schema_id=told.of,
                    records=told.records,
                    live_keys=told.live_keys if is_restored else None,
                    pending_keys=told.pending_keys,
                    first_offset=told.first,
                    last_offset=told.last,
                    live_offset=told.live_offset,
                )
                for told in sorted(counts)
                if told.of >= 0
            ),
            guids=marks[BY_GUID].records if BY_GUID in marks else 0,
            unframed=unframed.records if unframed else 0,
            nulls=marks[NO_PAYLOAD].records if NO_PAYLOAD in marks else 0,
            first_unframed_offset=unframed.first if unframed else None,
            live_unframed_keys=live_unframed if is_restored else None,
        )
