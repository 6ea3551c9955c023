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
from srfix.serde.printable import path_words

Read: TypeAlias = Callable[[Any], Value]
"""The runtime's value → the column's value."""
_GREGORIAN: Final = (1582, 10, 15)
_FIRST_DAY: Final = datetime.date(*_GREGORIAN)
"""The first day on which Java uses the Gregorian calendar. google.type.Date uses the Gregorian calendar for all days."""
_LAST_JULIAN: Final = (1582, 10, 4)
_GREGORIAN_DAY_1: Final = _FIRST_DAY.toordinal() - EPOCH_DAY
_JULIAN_DAY_1: Final = -719_164
"""0001-01-01 of the Julian calendar. Java writes days before it without their era, so they would become other days."""
_DAY_2000: Final = 10_957
"""2000-01-01 in days since 1970. In both calendars, the leap years of the years from 2000 on are those of a whole cycle."""
_CALENDARS: Final = {True: (4, 1_461, 13), False: (400, 146_097, 0)}
"""Whether a day is Julian → the calendar's cycle, in years and days, and its delay behind Python's calendar in 2000."""
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
            raise DecodeError(f"The decimal at {path_words(path)} has an impossible precision, {precision}.")
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
            f"The decimal at {path_words(path)} has more digits than its own precision, {precision}. The producer is wrong, "
            "and ksqlDB would round the number."
        )
    rounded = int(decimal.Context(prec=precision, rounding=decimal.ROUND_HALF_UP).plus(unscaled))
    return rounded.to_bytes(len(value) + 1, "big", signed=True)


def days_of(year: int, month: int, day: int, where: str, is_exact: bool) -> int:
    """The days since 1970-01-01 (as in a `GregorianCalendar` that is not lenient)."""
    shown, is_julian = f"{year}-{month:02}-{day:02}", (year, month, day) < _GREGORIAN
    if is_julian and is_exact:
        raise _no_time(shown, where, f"before {_FIRST_DAY}, and ksqlDB would read it as another day")
    years, days, delay = _CALENDARS[is_julian]
    cycle, place = divmod(year, years)
    try:
        day_of_cycle = datetime.date(2000 + place, month, day).toordinal() - EPOCH_DAY
    except ValueError:
        day_of_cycle = None
    if day_of_cycle is None or year < 1 or _LAST_JULIAN < (year, month, day) < _GREGORIAN:
        raise _no_time(shown, where, "not a day of the calendar")
    return day_of_cycle + delay + days * (cycle - 2000 // years)


def _date_of(days: int) -> dict[str, int]:
    """The inverse of `days_of`."""
    years, length, delay = _CALENDARS[days < _GREGORIAN_DAY_1]
    cycles, day_of_cycle = divmod(days - delay - _DAY_2000, length)
    date = datetime.date.fromordinal(EPOCH_DAY + _DAY_2000 + day_of_cycle)
    return {"year": date.year + years * cycles, "month": date.month, "day": date.day}


def nanos_of_day(message: Any, where: str) -> int:
    hours, minutes, seconds, nanos = message.hours, message.minutes, message.seconds, message.nanos
    if 0 <= hours < 24 and 0 <= minutes < 60 and 0 <= seconds < 60 and 0 <= nanos < NANOS:
        return ((hours * 60 + minutes) * 60 + seconds) * NANOS + nanos  # type: ignore[no-any-return]
    raise _no_time(f"{hours}:{minutes}:{seconds} and {nanos} ns", where, "not a time of day")


def nanos_since(message: Any, where: str) -> int:
    seconds, nanos = message.seconds, message.nanos
    is_second = _FIRST_SECOND <= seconds <= _LAST_SECOND
    if is_second and 0 <= nanos < NANOS:
        return seconds * NANOS + nanos  # type: ignore[no-any-return]
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
    return OutOfRangeError(f"The value {shown} at {path_words(where)} is {why}.", path=where, column_type="")


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
    is_date = column is ScalarType.DATE
    if is_date and not is_exact:
        write = partial(_date, has_julian=True)
    if not of_integers:
        return write

    def convert(value: object) -> object:
        if not isinstance(value, int) or isinstance(value, bool):
            raise Misfit.needs("an integer", value)
        is_julian = not is_exact and _JULIAN_DAY_1 <= value < _GREGORIAN_DAY_1
        if is_date and (is_julian or DAYS[1] < value <= INT_MAX):  # Java and a message also have days that Python lacks
            return _date_of(value)
        try:
            return write(of_integer(value))
        except (ValueError, OverflowError):
            raise Misfit.needs("an integer that is a date or time", value) from None

    return convert


def _date(day: object, *, has_julian: bool = False) -> object:
    if not isinstance(day, datetime.date) or isinstance(day, datetime.datetime):
        raise Misfit.needs("a date", day)
    if day >= _FIRST_DAY:
        return {"year": day.year, "month": day.month, "day": day.day}
    if has_julian:
        return _date_of(day.toordinal() - EPOCH_DAY)
    raise Misfit.needs(f"a date from {_FIRST_DAY} on, because Java reads earlier dates as other days", day)


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
