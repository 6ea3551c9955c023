"""Arrow → payloads by rows of Python in between: the way that works with every serializer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from srfix.serde.arrow.pyarrow_or_error import one_array, pyarrow
from srfix.serde.arrow.values import Read, TimeUnit, struct_reader
from srfix.serde.batches.rows import ROWS_AT_A_TIME, reason_of, without_frames
from srfix.serde.engine import EncodedBatch
from srfix.serde.errors import EncodeError, SrfixError
from srfix.serde.formats.rows.value_check import Misfit, encode_error
from srfix.serde.interface import BadRow, Context, Contexts, Serializer
from srfix.serde.subjects.names import Role, role_of

if TYPE_CHECKING:
    import pyarrow as pa


class EncodeRowWise:
    """The `BatchEncode` that works with every serializer: rows first, some at a time, then payloads."""

    def __init__(self, serializer: Serializer, time_unit: TimeUnit) -> None:
        self._serializer = serializer
        self._time_unit: TimeUnit = time_unit

    def reader(self, rows: pa.StructArray) -> Read:
        """What reads such rows.

        :raises ColumnError: if a field's type is one that no column has, or two fields have the same name.
        """
        return struct_reader(list(rows.type), "", self._time_unit)

    def __call__(
        self, rows: pa.StructArray, ctx: Contexts, /, *, tombstones: pa.BooleanArray | None, until_bad: bool
    ) -> EncodedBatch:
        pa = pyarrow()
        payloads: list[bytes | None] = []
        positions: list[int] = []
        bad: list[BadRow] = []
        contexts = ctx if isinstance(ctx, Sequence) else [ctx] * len(rows)
        is_tombstone = [False] * len(rows) if tombstones is None else tombstones.to_pylist()
        for position, row in enumerate(_rows(rows, self.reader(rows))):
            try:
                payload = None if is_tombstone[position] else _payload(row, self._serializer, contexts[position])
            except SrfixError as error:
                reason = reason_of(error)
                if reason is None:
                    raise
                bad.append(BadRow(position=position, reason=reason, error=without_frames(error)))
                if until_bad:
                    break
            else:
                payloads.append(payload)
                positions.append(position)
        written = one_array([pa.array(payloads, pa.binary())], "the payloads")
        return EncodedBatch(payloads=written, positions=pa.array(positions, pa.int64()), bad=tuple(bad))


def _rows(rows: pa.StructArray, read: Read) -> Iterator[object]:
    """The rows; for one that cannot be read, its `Misfit`."""
    for start in range(0, len(rows), ROWS_AT_A_TIME):
        some = rows.slice(start, ROWS_AT_A_TIME)
        try:
            yield from read(some)
        except Misfit:
            for number in range(len(some)):
                yield _row(some.slice(number, 1), read)


def _row(one: pa.StructArray, read: Read) -> object:
    try:
        (row,) = read(one)
    except Misfit as misfit:
        return misfit
    return row


def _payload(row: object, serializer: Serializer, ctx: Context) -> bytes | None:
    if isinstance(row, Misfit):
        raise encode_error(row) from row.group()
    if row is None:
        raise EncodeError(
            "The row is null, and not said to be a tombstone. Say so in tombstones=, or leave the row out: written, it "
            "would delete its key."
        )
    payload = serializer(row, ctx)
    if payload is None and role_of(ctx.field) is Role.VALUE:
        raise EncodeError(
            "The serializer gives no payload for the row, and it is not said to be a tombstone. Say so in tombstones=, "
            "or leave the row out: written, it would delete its key."
        )
    return payload
