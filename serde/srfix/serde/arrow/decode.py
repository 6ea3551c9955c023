"""Payloads → Arrow, one typed column for each column."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from srfix.serde._column_types import Columns
from srfix.serde.arrow._misfits import misfits, row_error
from srfix.serde.arrow._pyarrow import pyarrow
from srfix.serde.arrow.types import arrow_schema
from srfix.serde.batches import (
    BadRow,
    Contexts,
    Deserialize,
    OnError,
    Payloads,
    Reason,
    deserialize_many,
    error_at,
    reason_of,
)
from srfix.serde.engine import BatchDecode, DecodedBatch
from srfix.serde.errors import CoercionError, DecodeError, UsageError
from srfix.serde.interface import Row, Value

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["BatchEngine", "RowWise", "to_arrow"]

BatchEngine: TypeAlias = Callable[[Deserialize, Columns], BatchDecode]
"""Makes what decodes batches, for a deserializer and the columns of its rows."""

_ROWS_AT_A_TIME: Final = 1000
"""More dicts than that, and Python's garbage collector walks them again and again."""
_REFUSED: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What pyarrow raises for a value that its type does not hold: its own errors are among these."""


def to_arrow(
    payloads: Payloads,
    ctx: Contexts,
    deserializer: Deserialize,
    *,
    columns: Columns | None = None,
    on_error: OnError = "fail",
    with_reason: bool = False,
    engine: BatchEngine | None = None,
) -> pa.RecordBatch:
    """The rows of framed payloads as one batch, of `arrow_schema(columns, on_error=…, with_reason=…)`.

    A tombstone is null in every column. With `on_error="quarantine"` a row that cannot be read is null in every column
    too, and three columns behind the others say of it: why (a `Reason`'s word; TOMBSTONE for tombstones), the error's
    words, and the bytes as they came (`reason_fields` has their names). With `with_reason` the first of them is there
    under `on_error="fail"` also, so that tombstones can be told from rows of nulls.

    Rows come from the deserializer, whose columns they have. For a deserializer that declares none (`columns=…`
    names them then) each row is checked against them first, which is slow: nothing is converted or guessed.

    :raises UsageError: if neither the deserializer nor the caller says the columns; if payloads are no bytes; if there
        are several contexts and not as many as payloads; if a column's values are more than one Arrow array can hold;
        if pyarrow is not installed.
    :raises ColumnError: if Arrow cannot hold a column.
    :raises RegistryError: if the registry could not be asked, whatever `on_error` says.
    :raises SrfixError: what the deserializer raises, with the row's position, unless in quarantine.
    """
    declared: Columns | None = getattr(deserializer, "columns", None)
    columns = declared if columns is None else columns
    if columns is None:
        raise UsageError("The deserializer has no columns. Make it with columns=…, or pass them here (columns=…).")
    payloads = _of_binary(payloads)
    decoded = (engine or RowWise)(deserializer, columns)(payloads, ctx)
    if on_error == "fail" and decoded.bad:
        first = decoded.bad[0]
        raise error_at(first.error, first.position) from first.error
    if on_error == "fail" and not with_reason:
        return decoded.rows
    pa = pyarrow()
    about = _about(payloads, decoded.bad, with_details=on_error == "quarantine")
    schema = arrow_schema(columns, on_error=on_error, with_reason=with_reason)
    return pa.RecordBatch.from_arrays([*decoded.rows.columns, *about], schema=schema)


def _of_binary(payloads: Payloads) -> Payloads:
    pa = pyarrow()
    if not isinstance(payloads, pa.Array | pa.ChunkedArray):
        return payloads
    types, type_ = pa.types, payloads.type
    if types.is_dictionary(type_):
        return _of_binary(payloads.cast(type_.value_type))
    if types.is_binary(type_) or types.is_large_binary(type_) or types.is_fixed_size_binary(type_):
        return payloads
    if types.is_null(type_) or types.is_binary_view(type_):
        return payloads.cast(pa.binary())
    raise UsageError(f"Payloads are bytes; these are of the Arrow type {type_}. Pass the binary column.")


def _about(payloads: Payloads, bad: tuple[BadRow, ...], *, with_details: bool) -> list[pa.Array]:
    pa = pyarrow()
    reasons: list[str | None] = [None] * len(payloads)
    for position in _tombstones(payloads):
        reasons[position] = Reason.TOMBSTONE.value
    for row in bad:
        reasons[row.position] = row.reason.value
    if not with_details:
        return [pa.array(reasons, pa.string())]
    messages: list[str | None] = [None] * len(reasons)
    originals: list[bytes | None] = [None] * len(reasons)
    for row in bad:
        messages[row.position], originals[row.position] = _printable(row.error.message), row.payload
    return [
        pa.array(reasons, pa.string()),
        pa.array(messages, pa.string()),
        _one_array([pa.array(originals, pa.binary())], "the bad rows' payloads"),
    ]


def _printable(message: str) -> str:
    # An error may quote half of a surrogate pair, which no Arrow string holds.
    return message.encode(errors="backslashreplace").decode()


def _tombstones(payloads: Payloads) -> Iterable[int]:
    if isinstance(payloads, Sequence):
        return (position for position, payload in enumerate(payloads) if payload is None)
    if not payloads.null_count:
        return ()
    return (position for position, is_null in enumerate(payloads.is_null().to_pylist()) if is_null)


class RowWise:
    """The `BatchDecode` that works with every deserializer: rows first, some at a time, then columns."""

    def __init__(self, deserializer: Deserialize, columns: Columns) -> None:
        """:raises ColumnError: if Arrow cannot hold a column."""
        self._deserializer = deserializer
        # Such a deserializer gives dicts of exactly these columns, in this order, with values of their types.
        self._is_vouched_for = getattr(deserializer, "columns", None) == columns
        self._columns = columns
        self._schema: pa.Schema = _schema_of(columns)
        names = [column.name for column in columns]
        self._nothing: Row = dict.fromkeys(names)
        self._values: Callable[[Row], Iterable[Value]]
        if self._is_vouched_for:
            self._values = dict.values
        else:
            self._values = itemgetter(*names) if len(names) > 1 else lambda row: (row[names[0]],)

    def __call__(self, payloads: Payloads, ctx: Contexts, /) -> DecodedBatch:
        """See `BatchDecode`."""
        pa = pyarrow()
        read = deserialize_many(payloads, ctx, self._deserializer, on_error="quarantine")
        parts = [[pa.array([], field.type)] for field in self._schema]
        bad: list[BadRow] = []
        for start in range(0, len(payloads), _ROWS_AT_A_TIME):
            arrays = self._arrays(list(islice(read, _ROWS_AT_A_TIME)), payloads, start, bad)
            parts = [[*part, array] for part, array in zip(parts, arrays, strict=True)]
        arrays = [
            _one_array(part[1:] or part, f"the column {field.name!r}")
            for field, part in zip(self._schema, parts, strict=True)
        ]
        return DecodedBatch(rows=pa.RecordBatch.from_arrays(arrays, schema=self._schema), bad=tuple(bad))

    def _arrays(self, read: list[Value | BadRow], payloads: Payloads, start: int, bad: list[BadRow]) -> list[pa.Array]:
        """The columns of some rows; finds bad ones, and puts all of them behind `bad`."""
        found = {row.position: row for row in read if type(row) is BadRow}
        if not self._is_vouched_for:
            for position, row in enumerate(read, start):
                if row is not None and position not in found and (errors := list(misfits(self._columns, row))):
                    found[position] = _bad_row(errors, position, payloads)
        rows = self._with_nothing(read, start, found) if found or None in read else cast("list[Row]", read)
        try:
            arrays = self._transposed(rows)
        except _REFUSED:
            for number in self._refused(rows):
                errors = list(misfits(self._columns, rows[number])) or [_unexplained()]
                found[start + number] = _bad_row(errors, start + number, payloads)
            arrays = self._transposed(self._with_nothing(rows, start, found))
        bad += [found[position] for position in sorted(found)]
        return arrays

    def _transposed(self, rows: list[Row]) -> list[pa.Array]:
        pa = pyarrow()
        return [
            pa.array(values, field.type, from_pandas=False)
            for values, field in zip(zip(*map(self._values, rows), strict=True), self._schema, strict=True)
        ]

    def _with_nothing(self, rows: Sequence[Value | BadRow], start: int, bad: dict[int, BadRow]) -> list[Row]:
        return [
            self._nothing if row is None or position in bad else cast("Row", row)
            for position, row in enumerate(rows, start)
        ]

    def _refused(self, rows: list[Row]) -> Iterator[int]:
        """The rows that hold a value which Arrow does not take."""
        pa = pyarrow()
        for number, row in enumerate(rows):
            try:
                for value, field in zip(self._values(row), self._schema, strict=True):
                    pa.array([value], field.type, from_pandas=False)
            except _REFUSED:
                yield number


def _bad_row(errors: Sequence[DecodeError], position: int, payloads: Payloads) -> BadRow:
    error = row_error(errors)
    payload = payloads[position] if isinstance(payloads, Sequence) else payloads[position].as_py()
    return BadRow(position=position, reason=reason_of(error) or Reason.DECODE_FAILED, error=error, payload=payload)


def _unexplained() -> DecodeError:
    return CoercionError("pyarrow refuses a value of it", path="", column_type="")


def _one_array(parts: Sequence[pa.Array], what: str) -> pa.Array:
    pa = pyarrow()
    try:
        array = parts[0] if len(parts) == 1 else pa.concat_arrays(parts)
    except (pa.ArrowInvalid, TypeError) as error:
        array, reason = None, error
    else:
        reason = None
    if not isinstance(array, pa.Array):
        raise UsageError(
            f"In this batch {what} would have more than the 2 GiB that one Arrow array can hold. Make batches smaller."
        ) from reason
    return array


@lru_cache(maxsize=64)
def _schema_of(columns: Columns) -> pa.Schema:
    return arrow_schema(columns)
