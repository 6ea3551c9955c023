"""Payloads → Arrow by rows in between: the way that works with every deserializer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Final, cast

from srfix.serde.arrow.misfits import misfits, row_error
from srfix.serde.arrow.one_array import one_array
from srfix.serde.arrow.pyarrow_or_error import pyarrow
from srfix.serde.arrow.types import arrow_schema
from srfix.serde.batches.rows import chunks_of_rows, reason_of
from srfix.serde.columns.types import Columns
from srfix.serde.engine import DecodedBatch
from srfix.serde.errors import CoercionError, DecodeError, Reason
from srfix.serde.interface import BadRow, Contexts, Deserializer, Payloads, Row, Value
from srfix.serde.subjects.names import Role

if TYPE_CHECKING:
    import pyarrow as pa

REFUSED: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What pyarrow raises for a value that its type does not hold: its own errors are among these."""


def vouched_columns(deserializer: object, role: Role) -> Columns | None:
    """The columns that a deserializer vouches for."""
    columns_of: Callable[[Role], Columns | None] | None = getattr(deserializer, "columns_of", None)
    return None if columns_of is None else columns_of(role)


def _same(one: Columns, other: Columns) -> bool:
    return [(column.name, column.type) for column in one] == [(column.name, column.type) for column in other]


class RowWise:
    """The `BatchDecode` that works with every deserializer: rows first, some at a time, then columns."""

    def __init__(self, deserializer: Deserializer, columns: Columns, role: Role) -> None:
        """:raises ColumnError: if Arrow cannot hold a column."""
        self._deserializer = deserializer
        # Such a deserializer gives dicts of exactly these columns, in this order, with values of their types.
        vouched = vouched_columns(deserializer, role)
        self.is_vouched_for = vouched is not None and _same(vouched, columns)
        self._columns = columns
        self.schema: pa.Schema = _schema_of(columns)
        self._types = [field.type for field in self.schema]
        names = [column.name for column in columns]
        self._nothing: Row = dict.fromkeys(names)
        self._values: Callable[[Row], Iterable[Value]]
        if self.is_vouched_for:
            self._values = dict.values
        else:
            self._values = itemgetter(*names) if len(names) > 1 else lambda row: (row[names[0]],)

    def __call__(self, payloads: Payloads, ctx: Contexts, /) -> DecodedBatch:
        pa = pyarrow()
        parts: list[list[object]] = [[] for _ in self._types]
        bad: list[BadRow] = []
        tombstones: list[int] = []
        start = 0
        for rows in chunks_of_rows(payloads, ctx, self._deserializer):
            arrays = self._good(rows)
            if arrays is None:
                arrays, worse = self._arrays(rows, payloads, start)
                bad += worse
                tombstones += (position for position, row in enumerate(rows, start) if row is None)
            for part, array in zip(parts, arrays, strict=True):
                part.append(array)
            start += len(rows)
        arrays = [
            one_array(part or [pa.array([], field.type)], f"the column {field.name!r}")
            for field, part in zip(self.schema, parts, strict=True)
        ]
        return DecodedBatch(
            rows=pa.RecordBatch.from_arrays(arrays, schema=self.schema), bad=tuple(bad), tombstones=tuple(tombstones)
        )

    def _good(self, rows: list[Value | BadRow]) -> list[pa.Array] | None:
        """The columns of rows that are neither bad nor tombstones; None if they are not such. Of rows that are vouched
        for it is found out at no cost: others are no dicts, and refused."""
        if self.is_vouched_for:
            with suppress(*REFUSED):
                return self._transposed(cast("list[Row]", rows))
        return None

    def _arrays(
        self, read: list[Value | BadRow], payloads: Payloads, start: int
    ) -> tuple[list[pa.Array], list[BadRow]]:
        """The columns of some rows, and the bad ones among them."""
        bad = {row.position: row for row in read if isinstance(row, BadRow)}
        if self.is_vouched_for:
            with suppress(*REFUSED):
                return self._transposed(self._filled(read, start, bad)), list(bad.values())
        for position, row in enumerate(read, start):
            if row is not None and position not in bad and (errors := self._errors(row)):
                bad[position] = _bad_row(errors, position, payloads)
        return self._transposed(self._filled(read, start, bad)), [bad[position] for position in sorted(bad)]

    def _filled(self, read: list[Value | BadRow], start: int, bad: Collection[int]) -> list[Row]:
        """The rows, with nulls in all columns for tombstones and bad ones."""
        return [
            self._nothing if row is None or position in bad else cast("Row", row)
            for position, row in enumerate(read, start)
        ]

    def _errors(self, row: Value | BadRow) -> list[DecodeError]:
        """Why Arrow cannot hold the row."""
        pa = pyarrow()
        errors = list(misfits(self._columns, row))
        if errors:
            return errors
        try:
            for value, field in zip(self._values(cast("Row", row)), self.schema, strict=True):
                pa.array([value], field.type, from_pandas=False)
        except REFUSED as error:
            return [CoercionError(f"pyarrow refuses a value of it ({error})", path="", column_type="")]
        return []

    def _transposed(self, rows: list[Row]) -> list[pa.Array]:
        pa = pyarrow()
        # One list of all values and a slice for each column: no other way through Python's dicts is as quick.
        values = list(chain.from_iterable(map(self._values, rows)))
        count = len(self._types)
        if len(values) != count * len(rows):
            raise ValueError("a row has other columns")  # `_errors` finds it and says it better
        return [pa.array(values[number::count], type_, from_pandas=False) for number, type_ in enumerate(self._types)]


def _bad_row(errors: Sequence[DecodeError], position: int, payloads: Payloads) -> BadRow:
    error = row_error(errors)
    return BadRow(
        position=position,
        reason=reason_of(error) or Reason.DECODE_FAILED,
        error=error,
        payload=payload_at(payloads, position),
    )


def payload_at(payloads: Payloads, position: int) -> bytes | None:
    """One of the payloads, as Python's bytes."""
    if isinstance(payloads, Sequence):
        return payloads[position]
    payload: bytes | None = payloads[position].as_py()
    return payload


@lru_cache(maxsize=64)
def _schema_of(columns: Columns) -> pa.Schema:
    return arrow_schema(columns)
