"""The messages that Connect treats as one value: confluent.type.Decimal, google.type.Date, google.type.TimeOfDay and
google.protobuf.Timestamp. Reading gives Connect's number (as in Java, unless it `is_exact`), writing the runtime's
form."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias, cast

from srfix.serde.bounds import payload_bounds
from srfix.serde.columns.types import ColumnType, Decimal, ScalarType
from srfix.serde.connect.coercions import DAYS, EPOCH, EPOCH_DAY, MICROSECONDS
from srfix.serde.connect.time_units import NANOS
from srfix.serde.errors import DecodeError, OutOfRangeError, SchemaError
from srfix.serde.formats.avro import AvroNode
from srfix.serde.formats.avro.read.finish import decimal_of_bytes, decimal_of_unscaled
from srfix.serde.formats.avro.write.scalars import scalar
from srfix.serde.formats.rows.value_check import Convert, Misfit
from srfix.serde.interface import Value
from srfix.serde.java_ints import INT_MAX

Read: TypeAlias = Callable[[Any], Value]
"""The runtime's value → the column's value."""
_GREGORIAN: Final = (1582, 10, 15)
_FIRST_DAY: Final = datetime.date(*_GREGORIAN)
"""The first day on which Java uses the Gregorian calendar. google.type.Date uses the Gregorian calendar for all days."""
_LAST_JULIAN: Final = (1582, 10, 4)
_GREGORIAN_DAY_1: Final = -141_427
"""1582-10-15, in days since 1970."""
_JULIAN_DAY_1: Final = -719_164
"""0001-01-01 of the Julian calendar. Java writes days before it without their era, so they would become other days."""
_CYCLE: Final = 146_097
"""The days of 400 years in the Gregorian calendar."""
_MILLI: Final = 1_000_000
_MICRO: Final = 1_000
_FIRST_SECOND, _LAST_SECOND = (instant // 1_000_000 for instant in MICROSECONDS)
_DIGITS_PER_BYTE: Final = 2.41
"""log₁₀ 256, rounded up."""


def decimal_reader(column: Decimal, path: str, is_exact: bool) -> Read:
    usual, of_bytes = column.scale, decimal_of_bytes(column.scale, column, path)

    def read(message: Any) -> Value:
        scale: int = message.scale
        try:
            convert = of_bytes if scale == usual else decimal_of_bytes(scale, column, path)
        except SchemaError as error:  # in Avro the scale is in the schema, but here it is in the payload
            raise DecodeError(str(error)) from error
        value: bytes = message.value
        precision: int = message.precision
        if precision >> 31:  # Java has a negative number, which it refuses
            raise DecodeError(f"The decimal at {path or 'the root'} has an impossible precision, {precision}.")
        if 0 < precision < len(value) * _DIGITS_PER_BYTE:
            value = _with_digits(value, precision, path, is_exact)
        return cast("Value", convert(value))

    return read


def _with_digits(value: bytes, precision: int, path: str, is_exact: bool) -> bytes:
    """An unscaled number, rounded to the message's own precision as Java rounds it (`MathContext`)."""
    unscaled = decimal_of_unscaled(value, 0, payload_bounds().decimal_bytes, path)
    if unscaled.adjusted() < precision:
        return value
    if is_exact:
        raise DecodeError(
            f"The decimal at {path or 'the root'} has more digits than its own precision, {precision}. The producer is wrong, "
            "and ksqlDB would round the number."
        )
    rounded = int(decimal.Context(prec=precision, rounding=decimal.ROUND_HALF_UP).plus(unscaled))
    return rounded.to_bytes(len(value) + 1, "big", signed=True)


def days_of(year: int, month: int, day: int, where: str, is_exact: bool) -> int:
    """The days since 1970-01-01 (as in a `GregorianCalendar` that is not lenient)."""
    shown, is_julian = f"{year}-{month:02}-{day:02}", (year, month, day) < _GREGORIAN
    if is_julian and is_exact:
        raise _no_time(shown, where, f"before {_FIRST_DAY}, and ksqlDB would read it as another day")
    is_leap = year % 4 == 0 and (is_julian or year % 100 != 0 or year % 400 == 0)
    most = 0 if not 1 <= month <= 12 else 28 + is_leap if month == 2 else 30 + ((month + month // 8) % 2)
    if not (year >= 1 and 1 <= day <= most) or _LAST_JULIAN < (year, month, day) < _GREGORIAN:
        raise _no_time(shown, where, "not a day of the calendar")
    # Years are counted from March, so that a leap day is the last day of its year.
    years, months = (year, month - 3) if month > 2 else (year - 1, month + 9)
    days = 365 * years + years // 4 + (153 * months + 2) // 5 + day
    return days - 719_471 if is_julian else days - years // 100 + years // 400 - 719_469


def nanos_of_day(message: Any, where: str) -> int:
    hours, minutes, seconds, nanos = message.hours, message.minutes, message.seconds, message.nanos
    if 0 <= hours < 24 and 0 <= minutes < 60 and 0 <= seconds < 60 and 0 <= nanos < NANOS:
        return ((hours * 60 + minutes) * 60 + seconds) * NANOS + nanos  # type: ignore[no-any-return]
    raise _no_time(f"{hours}:{minutes}:{seconds} and {nanos} ns", where, "not a time of day")


def nanos_since(message: Any, where: str) -> int:
    seconds, nanos = message.seconds, message.nanos
    if _FIRST_SECOND <= seconds <= _LAST_SECOND and 0 <= nanos < NANOS:
        return seconds * NANOS + nanos  # type: ignore[no-any-return]
    is_second = _FIRST_SECOND <= seconds <= _LAST_SECOND
    why = "not an instant" + (": nanoseconds must be from 0 to 999999999" if is_second else " of the years 1 to 9999")
    raise _no_time(f"{seconds} s and {nanos} ns", where, why)


def of_nanos(nanos: int, where: str, in_nanos: bool, is_exact: bool) -> int:
    """Milliseconds, or nanoseconds for a TIME or TIMESTAMP column."""
    if is_exact and nanos % (_MICRO if in_nanos else _MILLI):
        a_time = (
            "microseconds, but a TIME or TIMESTAMP" if in_nanos else "milliseconds, but a time read as a number or text"
        )
        advice = "To read the whole value, leave out the columns; case_rule='ksqldb' cuts it to milliseconds"
        raise _no_time(f"{nanos} ns", where, f"finer than {a_time} has nothing finer. {advice}")
    return nanos if in_nanos else nanos // _MILLI


def _no_time(shown: str, where: str, why: str) -> OutOfRangeError:
    return OutOfRangeError(f"The value {shown} at {where} is {why}.", path=where, column_type="")


def decimal_writer(column: Decimal) -> Convert:
    """`DecimalUtils.fromBigDecimal` for a number with the column's scale."""
    scale = column.scale
    unscaled = scalar(AvroNode(kind="bytes", logical="decimal", precision=column.precision, scale=scale)).fast

    def convert(value: object) -> object:
        written = cast("bytes", unscaled(value))
        # Not by the int's text: Python makes none of more than 4,300 digits.
        digits = decimal.Decimal(int.from_bytes(written, "big", signed=True)).adjusted() + 1
        return {"value": written, "precision": digits, "scale": scale}

    return convert


def time_writer(column: ColumnType, *, of_integers: bool, is_exact: bool) -> Convert | None:
    """The writer of a day or time, or of its integer: days since 1970, milliseconds of the day or since 1970; None for any
    other column. Days before 1582-10-15 are written as in Java, unless it `is_exact`."""
    if column not in _TIMES:
        return None
    write, of_integer = _TIMES[column]
    has_julian = column is ScalarType.DATE and not is_exact
    if not of_integers:
        return partial(_date, has_julian=True) if has_julian else write

    def convert(value: object) -> object:
        if not isinstance(value, int) or isinstance(value, bool):
            raise Misfit.needs("an integer", value)
        if has_julian and _JULIAN_DAY_1 <= value < _GREGORIAN_DAY_1:
            return _julian(value)
        if column is ScalarType.DATE and DAYS[1] < value <= INT_MAX:  # Java and a message also have later days
            cycles, day = divmod(value, _CYCLE)
            date = cast("dict[str, int]", write(of_integer(day)))
            return date | {"year": date["year"] + 400 * cycles}
        try:
            return write(of_integer(value))
        except (ValueError, OverflowError):
            raise Misfit.needs("an integer that is a date or time", value) from None

    return convert


def _date(day: object, *, has_julian: bool = False) -> object:
    if not isinstance(day, datetime.date) or isinstance(day, datetime.datetime):
        raise Misfit.needs("a date", day)
    if day < _FIRST_DAY:
        if has_julian:
            return _julian(day.toordinal() - EPOCH_DAY)
        raise Misfit.needs(f"a date from {_FIRST_DAY} on, because Java reads earlier dates as other days", day)
    return {"year": day.year, "month": day.month, "day": day.day}


def _julian(days: int) -> object:
    """The inverse of `days_of` before 1582-10-15."""
    days += 719_470
    years = (4 * days + 3) // 1461
    days -= 1461 * years // 4
    months = (5 * days + 2) // 153
    year, month = (years, months + 3) if months < 10 else (years + 1, months - 9)
    return {"year": year, "month": month, "day": days - (153 * months + 2) // 5 + 1}


def _time(time: object) -> object:
    if not isinstance(time, datetime.time) or time.tzinfo is not None:
        raise Misfit.needs("a time without zone", time)
    return {"hours": time.hour, "minutes": time.minute, "seconds": time.second, "nanos": time.microsecond * 1000}


def _timestamp(instant: object) -> object:
    if not isinstance(instant, datetime.datetime) or instant.tzinfo is None:
        raise Misfit.needs("a datetime with a time zone", instant)
    since = instant - EPOCH  # its microseconds are never negative
    return {"seconds": since.days * 86_400 + since.seconds, "nanos": since.microseconds * 1000}


_TIMES: Final[dict[ColumnType, tuple[Convert, Callable[[int], object]]]] = {
    ScalarType.DATE: (_date, lambda days: datetime.date.fromordinal(days + EPOCH_DAY)),
    ScalarType.TIME: (
        _time,
        lambda millis: datetime.time(
            millis // 3_600_000, millis // 60_000 % 60, millis // 1000 % 60, millis % 1000 * 1000
        ),
    ),
    ScalarType.TIMESTAMP: (_timestamp, lambda millis: EPOCH + datetime.timedelta(milliseconds=millis)),
}
