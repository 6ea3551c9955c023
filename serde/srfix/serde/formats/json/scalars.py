"""One JSON value → one value of a column without parts, like `JsonSerdeUtils` and `KsqlJsonDeserializer`.

| column | JSON |
|---|---|
| BOOLEAN | a boolean |
| INTEGER, BIGINT, DOUBLE | a number, narrowed like in Java; a string with a number |
| STRING | a scalar's text; an object's JSON, compact; `[a, b]` for an array, its items as STRING, null as `null` |
| DATE | days since the epoch, as BIGINT |
| TIME | milliseconds of the day, as BIGINT, 0 to 86400000 |
| TIMESTAMP | milliseconds since the epoch, as BIGINT |
| DECIMAL | a number, or a string with a number; it must fit without rounding (`DecimalUtil.ensureFit`) |
| BYTES | a string of base64 (Jackson's MIME-NO-LINEFEEDS) |

A function here gets a value that is not null. It raises `Misread` if the engine refuses the value, or if it is a double
whose exact digits may matter: the caller then parses the body again, exactly.
"""

from __future__ import annotations

import binascii
import datetime
import decimal
import re
from collections.abc import Callable
from typing import Final, TypeAlias

from srfix.serde.columns.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    ColumnType,
    Decimal,
    ScalarType,
)
from srfix.serde.connect.coercions import NOT_FITTING, DecimalFit, decimal_fit
from srfix.serde.connect.java_text import decimal_text
from srfix.serde.errors import CoercionError, OutOfRangeError
from srfix.serde.formats.json.numbers import (
    INT_BITS,
    LONG_BITS,
    decimal_of_text,
    double_of_number,
    double_of_text,
    integer_of_number,
    integer_of_text,
)
from srfix.serde.formats.json.text import compact_text
from srfix.serde.interface import Value
from srfix.serde.java_ints import INT_MAX, INT_MIN, LONG_MAX, LONG_MIN

Convert: TypeAlias = Callable[[object], Value]


class _Missing:
    """Jackson's MissingNode: the value of an empty body."""


MISSING: Final = _Missing()
"""The value of an empty body."""

_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MILLISECOND: Final = datetime.timedelta(milliseconds=1)
_EPOCH_DAY: Final = datetime.date(1970, 1, 1).toordinal()
_DAY_MS: Final = 86_400_000
# Groups of four with white space between them. Groups after a padded group are still read.
_BASE64: Final = re.compile(
    r"(?:[\x00-\x20]*+(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==))*+[\x00-\x20]*+"
)
_BASE64_RUN: Final = re.compile(r"[A-Za-z0-9+/]+={0,2}")


class Misread(Exception):
    """A value that does not feed its column. It never leaves the decoder, which adds the path."""

    def __init__(
        self, value: object, type_: ColumnType, *, kind: type[CoercionError] | None, sentence: str = ""
    ) -> None:
        super().__init__(sentence)
        self.value = value
        self.type = type_
        self.kind = kind
        """The error to raise; None for a node of the wrong type."""
        self.sentence = sentence
        self.path = ""
        """The path from here. Every container puts its own part before it."""

    @classmethod
    def wrong_type(cls, value: object, type_: ColumnType) -> Misread:
        """A node of a kind that cannot feed the column's type."""
        return cls(value, type_, kind=None)

    @classmethod
    def bad_value(cls, value: object, type_: ColumnType, sentence: str) -> Misread:
        """A node of the right kind whose value does not fit."""
        return cls(value, type_, kind=CoercionError, sentence=sentence)

    @classmethod
    def out_of_range(cls, value: object, type_: ColumnType, sentence: str) -> Misread:
        """A value that is out of range."""
        return cls(value, type_, kind=OutOfRangeError, sentence=sentence)


def scalar_reader(type_: ScalarType | Decimal) -> Convert:
    """The reader of values for a column without parts."""
    if isinstance(type_, Decimal):
        return _decimal_reader(type_)
    return _READERS[type_]


def exact_type(type_: ColumnType) -> type | None:
    """The Python type whose values feed the column unchanged; None if each value must be checked."""
    return {STRING: str, BOOLEAN: bool}.get(type_) if isinstance(type_, ScalarType) else None


def _boolean(value: object) -> Value:
    if type(value) is bool:
        return value
    raise Misread.wrong_type(value, BOOLEAN)


def _integer(value: object) -> Value:
    if type(value) is int and INT_MIN <= value <= INT_MAX:
        return value
    return _whole(value, INTEGER, INT_BITS)


def _bigint(value: object) -> Value:
    if type(value) is int and LONG_MIN <= value <= LONG_MAX:
        return value
    return _whole(value, BIGINT, LONG_BITS)


def _whole(value: object, type_: ScalarType, bits: int) -> int:
    try:
        if isinstance(value, str):
            return integer_of_text(value, bits)
        if isinstance(value, int | decimal.Decimal) and not isinstance(value, bool):
            return integer_of_number(value, bits)
    except ValueError:
        raise Misread.bad_value(value, type_, "is not a number that fits") from None
    raise Misread.wrong_type(value, type_)


def _double(value: object) -> Value:
    kind = type(value)
    if kind is float:
        return value + 0.0  # type: ignore[operator]  # a BigDecimal has no negative zero
    if kind is decimal.Decimal or kind is int:
        return double_of_number(value)  # type: ignore[arg-type]  # it is a number
    if isinstance(value, str):
        try:
            return double_of_text(value)
        except ValueError:
            raise Misread.bad_value(value, DOUBLE, "is not a number") from None
    raise Misread.wrong_type(value, DOUBLE)


def _text(value: object) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case decimal.Decimal():
            return decimal_text(value)
        case dict():
            try:
                return compact_text(value)
            except TypeError:
                raise Misread.wrong_type(value, STRING) from None
        case list():
            return f"[{', '.join(['null' if item is None else _text(item) for item in value])}]"
        case _Missing():
            return ""  # MissingNode.asText
    raise Misread.wrong_type(value, STRING)


def _date(value: object) -> Value:
    days = value if type(value) is int and LONG_MIN <= value <= LONG_MAX else _whole(value, DATE, LONG_BITS)
    try:
        return datetime.date.fromordinal(_EPOCH_DAY + days)
    except (ValueError, OverflowError):
        raise Misread.out_of_range(value, DATE, _far(days, "day")) from None


def _time(value: object) -> Value:
    milliseconds = _whole(value, TIME, LONG_BITS)
    if not 0 <= milliseconds <= _DAY_MS:
        raise Misread.bad_value(
            value,
            TIME,
            f"is {milliseconds}, not a number of milliseconds from 0 to 86400000 (times='integers' reads it as a "
            "number)",
        )
    if milliseconds == _DAY_MS:
        # The engine accepts the end of the day. Python has no such time, and 00:00 would be another value.
        raise Misread.out_of_range(
            value, TIME, "is the end of the day, 24:00, which Python cannot hold (times='integers' can)"
        )
    seconds, rest = divmod(milliseconds, 1000)
    minutes, second = divmod(seconds, 60)
    return datetime.time(minutes // 60, minutes % 60, second, rest * 1000)


def _timestamp(value: object) -> Value:
    milliseconds = value if type(value) is int and LONG_MIN <= value <= LONG_MAX else None
    if milliseconds is None:
        milliseconds = _whole(value, TIMESTAMP, LONG_BITS)
    try:
        return _EPOCH + milliseconds * _MILLISECOND
    except OverflowError:
        raise Misread.out_of_range(value, TIMESTAMP, _far(milliseconds, "time")) from None


def _far(number: int, what: str) -> str:
    """A number of days or milliseconds is not personal data."""
    return (
        f"is {number}, which is not a {what} of the years 1 to 9999, Python's range (times='integers' reads it as a "
        "number)"
    )


def _bytes(value: object) -> Value:
    if not isinstance(value, str):
        raise Misread.wrong_type(value, BYTES)
    try:
        return base64_bytes(value)
    except ValueError:
        raise Misread.bad_value(value, BYTES, "is not base64") from None


def base64_bytes(text: str) -> bytes:
    """Jackson's `binaryValue`: spaces between groups of four, and several runs with their own padding, are allowed."""
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except ValueError:  # Jackson may still accept a text that is not strict base64
        if not _BASE64.fullmatch(text):
            raise
        return b"".join(map(binascii.a2b_base64, _BASE64_RUN.findall(text)))


def _decimal_reader(type_: Decimal) -> Convert:
    fit = decimal_fit(type_.precision, type_.scale)
    unit, exact = fit.unit, fit.exact

    def convert(value: object) -> Value:
        number: decimal.Decimal
        if type(value) is decimal.Decimal:
            number = value
        elif isinstance(value, int) and not isinstance(value, bool):
            number = decimal.Decimal(value)
        elif isinstance(value, str):
            try:
                number = decimal_of_text(value)
            except ValueError:
                raise Misread.bad_value(value, type_, "is not a number") from None
        else:
            raise Misread.wrong_type(value, type_)
        try:
            fitted = number.quantize(unit, None, exact)
        except NOT_FITTING:
            raise Misread.out_of_range(value, type_, _why_not(number, fit)) from None
        return fitted if fitted else fitted.copy_abs()

    return convert


def _why_not(number: decimal.Decimal, fit: DecimalFit) -> str:
    if fit.is_within(number):
        return f"cannot be fitted without rounding ({decimal_text(number)[:60]})"
    return f"must be less than {decimal_text(fit.bound)} in size ({decimal_text(number)[:60]})"


_READERS: Final[dict[ScalarType, Convert]] = {
    BOOLEAN: _boolean,
    INTEGER: _integer,
    BIGINT: _bigint,
    DOUBLE: _double,
    STRING: _text,
    BYTES: _bytes,
    DATE: _date,
    TIME: _time,
    TIMESTAMP: _timestamp,
}
