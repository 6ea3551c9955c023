"""Batches of records as columns, with the schema id of each key and value: what the counting works on.

Column by column, because a loop over records in Python costs several times as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from srfix.serde.subjects.names import Role
from srfix.serde.wire import Headers
from srfix.serde.wire_peek import NO_PAYLOAD, PeekedId, SchemaIdPeek, peek_headers


@dataclass(frozen=True, slots=True, kw_only=True)
class Alike:
    """What the records of a batch have in common, the usual thing: it spares a list of ids per column."""

    key_id: PeekedId
    """The id or mark of every key; no key is null."""
    value_id: PeekedId
    """The id or mark of every value but the tombstones."""
    tombstones: list[int]
    """The indexes of the tombstones; never all of them."""


@dataclass(slots=True, kw_only=True)
class Columns:
    """Records of one or more partitions, in the order of their offsets per partition; columns of one length."""

    offsets: Sequence[int]
    keys: list[bytes | None]
    key_ids: list[PeekedId]
    """The id or mark of each key; empty where they are alike."""
    value_ids: list[PeekedId]
    """The id or mark of each value; empty where they are alike."""
    alike: Alike | None = None
    """What they have in common; None if that is nothing, or they are of several partitions."""

    def part(self, start: int, stop: int) -> Columns:
        """Some of the records, not as alike ones."""
        key_ids, value_ids = self.key_ids, self.value_ids
        if self.alike is not None:
            key_ids = [self.alike.key_id] * len(self.keys)
            value_ids = [self.alike.value_id] * len(self.keys)
            for index in self.alike.tombstones:
                value_ids[index] = NO_PAYLOAD
        return Columns(
            offsets=self.offsets[start:stop],
            keys=self.keys[start:stop],
            key_ids=key_ids[start:stop],
            value_ids=value_ids[start:stop],
        )


class ColumnReader:
    """Turns batches of records into columns. It remembers beginnings of payloads: one for a whole topic."""

    def __init__(self) -> None:
        self._peek_keys = SchemaIdPeek()
        self._peek_values = SchemaIdPeek()

    def __call__(
        self,
        *,
        offsets: Sequence[int],
        keys: list[bytes | None],
        values: list[bytes | None],
        headers: Sequence[Headers] | None = None,
        one_partition: bool = False,
    ) -> Columns:
        """Columns of one length; `headers` is None where no record has any."""
        if one_partition and headers is None:
            alike = self._alike(keys, values)
            if alike is not None:
                return Columns(offsets=offsets, keys=keys, key_ids=[], value_ids=[], alike=alike)
        key_ids = self._peek_keys(keys)
        value_ids = self._peek_values(values)
        if headers is not None:
            key_ids = peek_headers(headers, key_ids, Role.KEY)
            value_ids = peek_headers(headers, value_ids, Role.VALUE)
        return Columns(offsets=offsets, keys=keys, key_ids=key_ids, value_ids=value_ids)

    def _alike(self, keys: list[bytes | None], values: list[bytes | None]) -> Alike | None:
        try:
            key_id = self._peek_keys.alike(cast("list[bytes]", keys))
        except TypeError:  # a null key
            return None
        if key_id is None:
            return None
        tombstones: list[int] = []
        try:
            value_id = self._peek_values.alike(cast("list[bytes]", values))
        except TypeError:
            tombstones = [index for index, value in enumerate(values) if value is None]
            value_id = self._peek_values.alike([value for value in values if value is not None])
        if value_id is None:
            return None
        return Alike(key_id=key_id, value_id=value_id, tombstones=tombstones)
