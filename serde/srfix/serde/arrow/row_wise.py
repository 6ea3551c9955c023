"""Payloads → Arrow through Python rows: with every deserializer, and for payloads that a faster way did not read."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Final, cast

from srfix.serde.arrow.types import arrow_schema, one_array, pyarrow
from srfix.serde.batches.rows import chunks_of_rows
from srfix.serde.columns.types import (
    PYTHON_TYPES,
    Array,
    Columns,
    ColumnType,
    Decimal,
    Map,
    ScalarType,
    Struct,
    type_name,
)
from srfix.serde.engine import DecodedBatch
from srfix.serde.errors import CoercionError, DecodeError, IncompatibleTypeError, OutOfRangeError, Reason
from srfix.serde.interface import BadRow, Context, Contexts, Deserializer, Payloads, Row, Value
from srfix.serde.java_ints import INT_MAX, LONG_MAX
from srfix.serde.printable import path_words
from srfix.serde.subjects.names import Role

if TYPE_CHECKING:
    import pyarrow as pa


_SHOWN_FIELDS: Final = 10
_BOUNDS: Final = {ScalarType.INTEGER: INT_MAX + 1, ScalarType.BIGINT: LONG_MAX + 1}


def misfits(columns: Columns, row: object, path: str = "") -> Iterator[DecodeError]:
    if not isinstance(row, dict):
        yield _wrong_type(Struct(columns), row, path)
        return
    for column in columns:
        if column.name in row:
            yield from _misfits(column.type, row[column.name], f"{path}->{column.name}")
        else:
            yield IncompatibleTypeError(
                f"the row has no field {column.name!r}; it has {', '.join(map(repr, row))[:200] or 'no field'}",
                path=f"{path}->{column.name}",
                writer_type="absent",
                column_type=type_name(column.type),
            )


def row_error(errors: Sequence[DecodeError]) -> DecodeError:
    """It has the class of the row's first error, and names all of them."""
    first = errors[0]
    sentences = "; ".join(str(error) for error in errors[:_SHOWN_FIELDS])
    more = f"; and {len(errors) - _SHOWN_FIELDS} more" if len(errors) > _SHOWN_FIELDS else ""
    return type(first)(f"The row does not fit its Arrow columns: {sentences}{more}.", **vars(first))


def _misfits(type_: ColumnType, value: object, path: str) -> Iterator[DecodeError]:
    match type_, value:
        case _, None:
            return
        case ScalarType() as scalar, _:
            yield from _scalar(scalar, value, path)
        case Decimal() as exact, decimal.Decimal() as number:
            yield from _decimal(exact, number, path)
        case Array(items), list(members):
            for item in members:
                yield from _misfits(items, item, f"{path}->ARRAY")
        case Map(values, keys), dict(entries):
            for key, item in entries.items():
                if key is None:
                    yield _misfit(CoercionError, type_, path, "has an entry without a key, which no Arrow map holds")
                yield from _misfits(keys, key, f"{path}->MAP_KEY")
                yield from _misfits(values, item, f"{path}->MAP_VAL")
        case Struct(fields), _:
            yield from misfits(fields, value, path)
        case _:
            yield _wrong_type(type_, value, path)


def _scalar(type_: ScalarType, value: object, path: str) -> Iterator[DecodeError]:
    # For Python a bool is an int, and a datetime is a date. Here they do not count as such.
    if not isinstance(value, PYTHON_TYPES[type_]) or (
        isinstance(value, bool | datetime.datetime)
        and type_ not in (ScalarType.BOOLEAN, ScalarType.TIMESTAMP, ScalarType.TIMESTAMP_NTZ)
    ):
        yield _wrong_type(type_, value, path)
    elif isinstance(value, int) and type_ in _BOUNDS and not -_BOUNDS[type_] <= value < _BOUNDS[type_]:
        yield _misfit(OutOfRangeError, type_, path, f"is {value}, beyond what {type_.value} holds")
    elif isinstance(value, str) and not _is_utf8(value):
        yield _misfit(CoercionError, type_, path, "holds half of a surrogate pair, which is no Unicode text")
    elif isinstance(value, datetime.datetime | datetime.time):
        yield from _time(type_, value, path)


def _time(type_: ScalarType, value: datetime.datetime | datetime.time, path: str) -> Iterator[DecodeError]:
    if type_ is ScalarType.TIMESTAMP_NTZ:
        if value.tzinfo is not None:
            yield _misfit(CoercionError, type_, path, f"is {value}, an instant, but {type_.value} has no time zone")
    elif isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            yield _misfit(CoercionError, type_, path, "is a time without a zone, so it is not an instant")
            return
        try:
            value.astimezone(datetime.UTC)
        except OverflowError:
            yield _misfit(OutOfRangeError, type_, path, f"is {value}, which is outside of the years 1 to 9999 in UTC")
    elif value.tzinfo is not None:
        yield _misfit(CoercionError, type_, path, f"is {value}, but {type_.value} has no time zone")


def _decimal(type_: Decimal, value: decimal.Decimal, path: str) -> Iterator[DecodeError]:
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        yield _misfit(CoercionError, type_, path, f"is {value}, which is not a number")
        return
    zeros = len(digits) - len("".join(map(str, digits)).rstrip("0"))
    if -exponent - zeros > type_.scale and any(digits):
        yield _misfit(
            OutOfRangeError, type_, path, f"is {value}, which {type_name(type_)} cannot hold without rounding"
        )
    elif value.adjusted() >= type_.precision - type_.scale and any(digits):
        yield _misfit(OutOfRangeError, type_, path, f"is {value}, beyond what {type_name(type_)} holds")


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _wrong_type(type_: ColumnType, value: object, path: str) -> IncompatibleTypeError:
    kind = type(value).__name__
    return IncompatibleTypeError(
        f"{path_words(path, 'the row')} is of the type {kind}, which cannot feed the column type {type_name(type_)}",
        path=path,
        writer_type=kind,
        column_type=type_name(type_),
    )


def _misfit(kind: type[DecodeError], type_: ColumnType, path: str, sentence: str) -> DecodeError:
    return kind(f"{path_words(path)} {sentence}", path=path, column_type=type_name(type_))


REFUSED: Final = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""The exceptions of pyarrow for a value that does not fit its type. pyarrow's own errors are subclasses of these."""
_declared: Final = attrgetter("name", "type")
_schema_of: Final = lru_cache(maxsize=64)(arrow_schema)


def vouched_columns(deserializer: object, role: Role) -> Columns | None:
    columns_of: Callable[[Role], Columns | None] | None = getattr(deserializer, "columns_of", None)
    return None if columns_of is None else columns_of(role)


class RowWise:
    """The `BatchDecode` that works with every deserializer: rows first, some at a time, then columns."""

    def __init__(self, deserializer: Deserializer, columns: Columns, role: Role) -> None:
        """:raises ColumnError: if Arrow cannot hold a column."""
        self._deserializer = deserializer
        # A deserializer with `columns_of` gives dicts of exactly these columns, in this order, with values of their
        # types.
        vouched = vouched_columns(deserializer, role)
        self.is_vouched_for = vouched is not None and [*map(_declared, vouched)] == [*map(_declared, columns)]
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
        """The columns of rows that are neither bad nor tombstones; None if one of them is. For trusted rows this costs
        nothing: a bad row or a tombstone is not a dict, so pyarrow refuses it."""
        if self.is_vouched_for:
            with suppress(*REFUSED):
                return self._transposed(cast("list[Row]", rows))
        return None

    def _arrays(
        self, read: list[Value | BadRow], payloads: Payloads, start: int
    ) -> tuple[list[pa.Array], list[BadRow]]:
        """The columns of some rows, and the bad rows among them."""
        bad = {row.position: row for row in read if isinstance(row, BadRow)}
        if self.is_vouched_for:
            with suppress(*REFUSED):
                return self._transposed(self._filled(read, start, bad)), list(bad.values())
        for position, row in enumerate(read, start):
            if row is not None and position not in bad and (errors := self._errors(row)):
                error, payload = row_error(errors), payload_at(payloads, position)
                reason = error.row_reason or Reason.DECODE_FAILED
                bad[position] = BadRow(position=position, reason=reason, error=error, payload=payload)
        return self._transposed(self._filled(read, start, bad)), [bad[position] for position in sorted(bad)]

    def _filled(self, read: list[Value | BadRow], start: int, bad: Collection[int]) -> list[Row]:
        """The rows. Tombstones and bad rows have nulls in all columns."""
        return [
            self._nothing if row is None or position in bad else cast("Row", row)
            for position, row in enumerate(read, start)
        ]

    def _errors(self, row: Value | BadRow) -> list[DecodeError]:
        """The reasons why Arrow cannot hold the row."""
        pa = pyarrow()
        errors = list(misfits(self._columns, row))
        if errors:
            return errors
        try:
            for value, field in zip(self._values(cast("Row", row)), self.schema, strict=True):
                pa.array([value], field.type, from_pandas=False)
        except REFUSED as error:
            return [CoercionError(f"pyarrow refuses one of its values ({error})", path="", column_type="")]
        return []

    def _transposed(self, rows: list[Row]) -> list[pa.Array]:
        pa = pyarrow()
        # One list of all values with a slice for each column is the fastest way through Python's dicts.
        values = list(chain.from_iterable(map(self._values, rows)))
        count = len(self._types)
        if len(values) != count * len(rows):
            raise ValueError("a row has other columns")  # `_errors` finds this and has a better message
        return [pa.array(values[number::count], type_, from_pandas=False) for number, type_ in enumerate(self._types)]


def payload_at(payloads: Payloads, position: int) -> bytes | None:
    if isinstance(payloads, Sequence):
        return payloads[position]
    payload: bytes | None = payloads[position].as_py()
    return payload


def with_odd_rows(
    columns: Sequence[pa.Array], odd: Sequence[int], payloads: Payloads, ctx: Context, row_wise: RowWise
) -> DecodedBatch:
    """The values of the odd rows, which are null so far, come from the row-wise reader."""
    pa = pyarrow()
    schema = row_wise.schema
    rows = pa.RecordBatch.from_arrays(list(columns), schema=schema)
    if not odd:
        return DecodedBatch(rows=rows, bad=(), tombstones=())
    some = [payloads[position] for position in odd] if isinstance(payloads, Sequence) else payloads.take(pa.array(odd))
    read = row_wise(some, ctx)
    if len(read.bad) + len(read.tombstones) < len(odd):
        places = list(range(len(payloads)))
        for number, position in enumerate(odd, len(payloads)):
            places[position] = number
        both = [
            one_array([column, part], f"the column {field.name!r}").take(pa.array(places))
            for column, part, field in zip(rows.columns, read.rows.columns, schema, strict=True)
        ]
        rows = pa.RecordBatch.from_arrays(both, schema=schema)
    return DecodedBatch(
        rows=rows,
        bad=tuple(replace(row, position=odd[row.position]) for row in read.bad),
        tombstones=tuple(odd[position] for position in read.tombstones),
    )
