"""The counting of a census in the native kernel, where it is installed: it follows the rules of `counting`, at a third
of the cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from srfix.recovery.census.interface import RoleCensus, Tally, role_census
from srfix.serde.native import kernel
from srfix.serde.subjects.names import Role
from srfix.serde.wire import Headers
from srfix.serde.wire_peek import PeekedId, SchemaIdPeek, peek_headers


@dataclass(slots=True, kw_only=True)
class NativeColumns:
    offsets: Sequence[int]
    keys: list[bytes | None]
    values: list[bytes | None]
    ids: tuple[list[PeekedId], list[PeekedId]] | None
    """The ids and marks of keys and of values; None if the payloads alone show them."""


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

    def __init__(self, restore_limit: int | None) -> None:
        native: Any = kernel()
        self._is_restored = restore_limit is not None
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

    def result(self) -> tuple[int, RoleCensus, RoleCensus]:
        """The number of records, their keys and their values."""
        records, *roles = self._counter.result()
        keys, values = (
            role_census({peeked: Tally(*counts) for peeked, *counts in of_role}, is_restored=self._is_restored)
            for of_role in roles
        )
        return records, keys, values
