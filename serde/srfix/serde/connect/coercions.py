"""Which writer's Connect types feed a column, and how: ksqlDB's `ConnectDataTranslator`, for Avro and JSON_SR.

| column | Connect type | accepted writer types |
|---|---|---|
| BOOLEAN | boolean | boolean |
| INTEGER, DATE, TIME | int32 | int8, int16, int32 |
| BIGINT, TIMESTAMP | int64 | int8, int16, int32, int64 |
| DOUBLE | float64 | float32, float64 |
| STRING | string | int8 … int64, float32, float64, boolean, string |
| BYTES, DECIMAL | bytes | bytes |
| ARRAY, MAP, STRUCT | array, map, struct | the same |

If units are read (`connect.time_units`), the writer's schema gives the unit of days, times of day and instants. Under
ksqlDB's own case rules, a TIME or TIMESTAMP treats any number as milliseconds, as below.

`validateSchema` compares only types, before it looks whether the value is null: this is `refusal`. `coercion` then
converts a value that is not null. A writer's Date, Time or Timestamp is first reduced to its number
(`maybeConvertLogicalType`), so each of them can feed a BIGINT, a STRING, or a column of one of the other two types. A
coercion gets that number:

| writer | value |
|---|---|
| int8 … int64, Date, Time, Timestamp | int: the number, days, milliseconds of the day, milliseconds since 1970 |
| float32, float64 | float (a float32 is widened without change, as in Java) |
| boolean, string, bytes | bool, str, bytes |
| Decimal | decimal.Decimal |
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from enum import Enum
from typing import Final, NamedTuple, TypeAlias, cast

from srfix.serde.columns.times import READ_AS_INTEGERS
from srfix.serde.columns.types import MAX_DIGITS, ColumnType, Decimal, ScalarType, type_name
from srfix.serde.connect.java_text import double_text, float_text, plain_decimal_text
from srfix.serde.connect.schema import DECIMAL_NAME, TIME_NAME, ConnectType, connect_type_of
from srfix.serde.errors import IncompatibleTypeError, OutOfRangeError
from srfix.serde.interface import Value
from srfix.serde.printable import path_words, shortened

NOT_FITTING: Final = (decimal.Inexact, decimal.InvalidOperation)
"""The exception of `quantize` for a number that does not fit."""


class DecimalFit(NamedTuple):
    """`number.quantize(unit, None, exact)` fits a number, or raises `NOT_FITTING`; a call would cost double."""

    unit: decimal.Decimal
    """The number with 1 at the last digit."""
    exact: decimal.Context
    """A context that is wide enough for every fitting number, and at most `MAX_DIGITS` wide."""
    low: decimal.Decimal
    """The value of -`bound`, stored because the minus operator would use the caller's context."""
    bound: decimal.Decimal
    """The smallest number with too many digits before the point."""

    def is_within(self, number: decimal.Decimal) -> bool:
        """False if the number has too many digits before the point."""
        return self.low < number < self.bound


def decimal_fit(precision: int, scale: int) -> DecimalFit:
    """For DECIMAL(precision, scale), like `DecimalUtil.ensureFit`, which never rounds: 1.50 fits DECIMAL(2, 1)."""
    bound = decimal.Decimal((0, (1,), precision - scale))
    exact = decimal.Context(
        prec=min(max(precision, 1), MAX_DIGITS),
        Emax=decimal.MAX_EMAX,
        Emin=decimal.MIN_EMIN,
        traps=list(NOT_FITTING),
    )
    return DecimalFit(decimal.Decimal((0, (1,), -scale)), exact, bound.copy_negate(), bound)


Coerce: TypeAlias = Callable[[Value], Value]
"""A writer's value that is not null → the column's value. Raises a DecodeError if the value does not fit."""

_INT32: Final = frozenset({ConnectType.INT8, ConnectType.INT16, ConnectType.INT32})
_INT64: Final = _INT32 | {ConnectType.INT64}
_FLOAT64: Final = frozenset({ConnectType.FLOAT32, ConnectType.FLOAT64})
_ACCEPTED: Final = {
    ConnectType.INT32: _INT32,
    ConnectType.INT64: _INT64,
    ConnectType.FLOAT64: _FLOAT64,
    ConnectType.STRING: _INT64 | _FLOAT64 | {ConnectType.BOOLEAN, ConnectType.STRING},
}

EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
EPOCH_DAY: Final = EPOCH.toordinal()
DAYS: Final = (1 - EPOCH_DAY, datetime.date.max.toordinal() - EPOCH_DAY)
"""The days that Python can hold, 0001-01-01 to 9999-12-31, as numbers of days since 1970; both are included."""
MICROSECONDS: Final = (DAYS[0] * 86_400_000_000, (DAYS[1] + 1) * 86_400_000_000 - 1)
"""The same for instants, in microseconds."""
_MICROSECOND: Final = datetime.timedelta(microseconds=1)
UNITS: Final = {1_000: "milliseconds", 1_000_000: "microseconds", 1_000_000_000: "nanoseconds"}
"""Units per second → the unit's name."""
_DAY_S: Final = 86_400
DAY_MS: Final = 86_400_000
_SHOWN_CHARACTERS: Final = 60
_OTHER_TIME: Final = "the writer's type is Time, which is 0 to 86400000 milliseconds"
_NO_TIME: Final = f"{_OTHER_TIME}. {READ_AS_INTEGERS}"


def refusal(writer: ConnectType, column: ColumnType, path: str) -> IncompatibleTypeError | None:
    """Why a column refuses values of that type, null or not; None if it accepts them (`validateSchema`)."""
    wanted = connect_type_of(column)
    return None if writer in _ACCEPTED.get(wanted, {wanted}) else incompatible(writer.word, column, path)


def incompatible(writer: str, column: ColumnType, path: str) -> IncompatibleTypeError:
    wanted = connect_type_of(column).word
    return IncompatibleTypeError(
        f"At {path_words(path)}, a column of the type {type_name(column)} cannot read the writer's type {writer} as "
        f"type {wanted}. Declare a column type that can read it, or leave the column out.",
        path=path,
        writer_type=writer,
        column_type=wanted,
    )


class Coercion(Enum):
    """The ways to convert a writer's value that is not null to a column's value."""

    SAME = "same"
    """No conversion: the value is the column's value. The column's number may have more bits."""
    TEXT = "text"
    """Java's text of the value."""
    DATE = "date"
    """Days since 1970."""
    TIME = "time"
    """A time of day, in the writer's unit."""
    TIMESTAMP = "timestamp"
    """An instant since 1970, in the writer's unit."""
    TIMESTAMP_NTZ = "timestamp_ntz"
    """A local time of a clock without a zone, since 1970, in the writer's unit."""
    DECIMAL = "decimal"
    """A decimal of the column's scale, never rounded."""


def coercion_of(writer: ConnectType, column: ScalarType | Decimal) -> Coercion:
    if isinstance(column, Decimal):
        return Coercion.DECIMAL
    if column is ScalarType.STRING and writer is not ConnectType.STRING:
        return Coercion.TEXT
    return Coercion.__members__.get(column.name, Coercion.SAME)  # those of times have the columns' names


def coercion(
    writer: ConnectType, name: str | None, column: ScalarType | Decimal, path: str, *, per_second: int = 1_000
) -> Coerce | None:
    """A writer's value that is not null → the column's; None if they are the same. `name` is the Connect schema's."""
    if refusal_of_values(writer, name, column, path) is not None:

        def refuse(_: Value) -> Value:
            raise incompatible(ConnectType.BYTES.word, column, path)

        return refuse
    coerce = _coerce(writer, column, path, per_second)
    # `Time.toLogical` and `Time.fromLogical` have checked a Time before ksqlDB sees it.
    is_time = name == TIME_NAME and writer is ConnectType.INT32
    return _within_a_day(coerce, column, path) if is_time else coerce


def _coerce(writer: ConnectType, column: ScalarType | Decimal, path: str, per_second: int) -> Coerce | None:
    if isinstance(column, Decimal):
        return ensure_fit(column, path)
    match coercion_of(writer, column):
        case Coercion.TEXT:
            return _TEXTS.get(writer, str)
        case Coercion.DATE:
            return _to_date(path)
        case Coercion.TIME:
            return _to_time(path, per_second)
        case Coercion.TIMESTAMP:
            return _to_timestamp(path, per_second, column, EPOCH)
        case Coercion.TIMESTAMP_NTZ:
            return _to_timestamp(path, per_second, column, EPOCH.replace(tzinfo=None))
        case _:
            return None


_TEXTS: Final = {
    ConnectType.BOOLEAN: lambda value: "true" if value else "false",
    ConnectType.FLOAT32: cast("Coerce", float_text),
    ConnectType.FLOAT64: cast("Coerce", double_text),
}


def _misfit(value: object, what: str, column: ScalarType | Decimal, path: str) -> OutOfRangeError:
    return _not_fitting(shortened(str(value), _SHOWN_CHARACTERS), what, column, path)


def _not_fitting(shown: str, what: str, column: ScalarType | Decimal, path: str) -> OutOfRangeError:
    return OutOfRangeError(
        f"The value {shown} at {path_words(path)} does not fit the column type {type_name(column)}: {what}.",
        path=path,
        column_type=type_name(column),
    )


def overflow(unscaled: int, scale: int, column: Decimal, path: str) -> OutOfRangeError:
    """The error of `ensure_fit` for an unscaled number; if it is too long to read, with its size."""
    if unscaled.bit_length() > 4 * _SHOWN_CHARACTERS:
        shown = f"of about {unscaled.bit_length() * 3 // 10 - scale} digits"
    else:
        shown = plain_decimal_text(decimal.Decimal(unscaled).scaleb(-scale))
    return _not_fitting(shown, _overflowing(column), column, path)


def _overflowing(column: Decimal) -> str:
    return (
        f"numeric field overflow, a field with precision {column.precision} and scale {column.scale} must have an "
        f"absolute value less than 10^{column.precision - column.scale}"
    )


def _shown_decimal(number: decimal.Decimal) -> str:
    exponent = number.as_tuple().exponent
    return plain_decimal_text(number) if abs(int(exponent)) <= _SHOWN_CHARACTERS else str(number)


def _within_a_day(to_column: Coerce | None, column: ScalarType | Decimal, path: str) -> Coerce:
    def coerce(value: Value) -> Value:
        # 24:00 is allowed, because Connect's limit is inclusive.
        if not 0 <= cast("int", value) <= DAY_MS:
            raise _misfit(value, _NO_TIME if column is ScalarType.TIME else _OTHER_TIME, column, path)
        return value if to_column is None else to_column(value)

    return coerce


def _to_date(path: str) -> Coerce:
    def coerce(value: Value) -> Value:
        try:
            return datetime.date.fromordinal(cast("int", value) + EPOCH_DAY)
        except (ValueError, OverflowError) as error:
            what = (
                "this number of days since 1970-01-01 is outside of the years 1 to 9999, the range of Python's "
                f"date. {READ_AS_INTEGERS}"
            )
            raise _misfit(value, what, ScalarType.DATE, path) from error

    return coerce


def _to_time(path: str, per_second: int) -> Coerce:
    unit, a_day = UNITS[per_second], _DAY_S * per_second
    micros = _to_micros(ScalarType.TIME, path, per_second)

    def coerce(value: Value) -> Value:
        number = cast("int", value)
        if not 0 <= number < a_day:
            what = f"Python's time holds only the {unit} 0 to {a_day - 1} of a day. {READ_AS_INTEGERS}"
            raise _misfit(value, what, ScalarType.TIME, path)
        seconds, micro = divmod(micros(number), 1_000_000)
        minutes, seconds = divmod(seconds, 60)
        hours, minutes = divmod(minutes, 60)
        return datetime.time(hours, minutes, seconds, micro)

    return coerce


def _to_timestamp(path: str, per_second: int, column: ScalarType, epoch: datetime.datetime) -> Coerce:
    unit, duration = UNITS[per_second], _MICROSECOND * max(1, 1_000_000 // per_second)
    micros = _to_micros(column, path, per_second) if per_second > 1_000_000 else None

    def coerce(value: Value) -> Value:
        try:
            number = value if micros is None else micros(value)  # type: ignore[arg-type]  # an int, as below
            return epoch + number * duration  # type: ignore[operator]  # a cast would cost as much as the sum
        except OverflowError as error:
            what = (
                f"this number of {unit} since 1970 is outside of the years 1 to 9999, the range of Python's "
                f"datetime. {READ_AS_INTEGERS}"
            )
            raise _misfit(value, what, column, path) from error

    return coerce


def _to_micros(column: ScalarType, path: str, per_second: int) -> Callable[[int], int]:
    """Converts to whole microseconds, because times and timestamps hold no fractions of them."""
    if per_second <= 1_000_000:
        factor = 1_000_000 // per_second
        return lambda number: number * factor
    finer = per_second // 1_000_000

    def micros(number: int) -> int:
        whole, rest = divmod(number, finer)
        if rest:
            what = (
                f"it is not a whole number of microseconds, and {column.value} has nothing finer. To read the number, "
                "declare the column as BIGINT"
            )
            raise _misfit(number, what, column, path)
        return whole

    return micros


def refusal_of_values(
    writer: ConnectType, name: str | None, column: ScalarType | Decimal, path: str
) -> IncompatibleTypeError | None:
    """Why a column that accepts the type (`refusal`) accepts null but no other value; None if it accepts values."""
    # For `validateSchema` both are bytes. `Struct.put` refuses an object of the other class, but accepts null.
    is_other = writer is ConnectType.BYTES and (name == DECIMAL_NAME) is not isinstance(column, Decimal)
    return incompatible(ConnectType.BYTES.word, column, path) if is_other else None


def ensure_fit(column: Decimal, path: str) -> Coerce:
    """`DecimalUtil.ensureFit`: a decimal of exactly the column's scale, never rounded; trailing zeros do not count."""
    unit, exact, low, bound = decimal_fit(column.precision, column.scale)

    def coerce(value: Value) -> Value:
        number = cast("decimal.Decimal", value)
        if not low < number < bound:
            raise _misfit(_shown_decimal(number), _overflowing(column), column, path)
        if number.same_quantum(unit):
            return number
        try:
            return number.quantize(unit, None, exact)
        except NOT_FITTING as error:
            digits, exponent = number.as_tuple()[1:]
            what = f"it cannot be held without rounding; that needs the precision {len(digits)} and the scale {-int(exponent)}"
            raise _misfit(_shown_decimal(number), what, column, path) from error

    return coerce
