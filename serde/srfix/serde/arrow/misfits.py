"""Which values of a row Arrow cannot hold, and why: looked for where Arrow refused one, or where
the deserializer does not vouch for its rows."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Iterator, Sequence
from typing import Final, assert_never

from srfix.serde.columns.types import Array, Columns, ColumnType, Decimal, Map, ScalarType, Struct, type_name
from srfix.serde.errors import CoercionError, DecodeError, IncompatibleTypeError, OutOfRangeError
from srfix.serde.java_ints import INT_MAX, LONG_MAX

_SHOWN_FIELDS: Final = 10
_PYTHON: Final[dict[ScalarType, type]] = {
    ScalarType.BOOLEAN: bool,
    ScalarType.INTEGER: int,
    ScalarType.BIGINT: int,
    ScalarType.DOUBLE: float,
    ScalarType.STRING: str,
    ScalarType.BYTES: bytes,
    ScalarType.DATE: datetime.date,
    ScalarType.TIME: datetime.time,
    ScalarType.TIMESTAMP: datetime.datetime,
    ScalarType.TIMESTAMP_NTZ: datetime.datetime,
}
_BOUNDS: Final = {ScalarType.INTEGER: INT_MAX + 1, ScalarType.BIGINT: LONG_MAX + 1}


def misfits(columns: Columns, row: object, path: str = "") -> Iterator[DecodeError]:
    """What a row of those columns holds that does not fit them, each with its path."""
    if not isinstance(row, dict):
        yield _wrong_type(Struct(columns), row, path)
        return
    for column in columns:
        if column.name in row:
            yield from _misfits(column.type, row[column.name], f"{path}->{column.name}")
        else:
            yield IncompatibleTypeError(
                f"the row has no field {column.name!r}, of {', '.join(map(repr, row))[:200]}",
                path=f"{path}->{column.name}",
                writer_type="absent",
                column_type=type_name(column.type),
            )


def row_error(found: Sequence[DecodeError]) -> DecodeError:
    """One error for a row: of the first finding's class, and naming all."""
    first = found[0]
    sentences = "; ".join(str(error) for error in found[:_SHOWN_FIELDS])
    more = f"; and {len(found) - _SHOWN_FIELDS} more" if len(found) > _SHOWN_FIELDS else ""
    return type(first)(f"The row does not fit its Arrow columns: {sentences}{more}.", **vars(first))


def _misfits(type_: ColumnType, value: object, path: str) -> Iterator[DecodeError]:
    if value is None:
        return
    match type_:
        case ScalarType():
            yield from _scalar(type_, value, path)
        case Decimal():
            yield from _decimal(type_, value, path)
        case Array(items):
            if not isinstance(value, list):
                yield _wrong_type(type_, value, path)
                return
            for item in value:
                yield from _misfits(items, item, f"{path}->ARRAY")
        case Map(values, keys):
            if not isinstance(value, dict):
                yield _wrong_type(type_, value, path)
                return
            for key, item in value.items():
                if key is None:
                    yield _misfit(CoercionError, type_, path, "has an entry without a key, which no Arrow map holds")
                yield from _misfits(keys, key, f"{path}->MAP_KEY")
                yield from _misfits(values, item, f"{path}->MAP_VAL")
        case Struct(fields):
            yield from misfits(fields, value, path)
        case _:
            assert_never(type_)


def _scalar(type_: ScalarType, value: object, path: str) -> Iterator[DecodeError]:
    # A bool is an int to Python, and a datetime a date; here they are neither.
    if not isinstance(value, _PYTHON[type_]) or (
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
            yield _misfit(CoercionError, type_, path, f"is {value}, an instant: {type_.value} has no time zone")
    elif isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            yield _misfit(CoercionError, type_, path, "is a time without zone, which is no instant")
            return
        try:
            value.astimezone(datetime.UTC)
        except OverflowError:
            yield _misfit(OutOfRangeError, type_, path, f"is {value}, in UTC beyond the years 1 to 9999")
    elif value.tzinfo is not None:
        yield _misfit(CoercionError, type_, path, f"is {value}: {type_.value} has no time zone")


def _decimal(type_: Decimal, value: object, path: str) -> Iterator[DecodeError]:
    if not isinstance(value, decimal.Decimal):
        yield _wrong_type(type_, value, path)
        return
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        yield _misfit(CoercionError, type_, path, f"is {value}, which is no number")
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
        f"{path or 'the row'} is of the type {kind}, which cannot feed the column type {type_name(type_)}",
        path=path,
        writer_type=kind,
        column_type=type_name(type_),
    )


def _misfit(kind: type[DecodeError], type_: ColumnType, path: str, sentence: str) -> DecodeError:
    return kind(f"{path} {sentence}", path=path, column_type=type_name(type_))
