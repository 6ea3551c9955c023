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

Numbers are narrowed, and texts parsed, like in Java:

| engine | number | text |
|---|---|---|
| `JsonSerdeUtils.toInteger` | `JsonNode.intValue`: cut to whole, low 32 bits | `Integer.parseInt` |
| `JsonSerdeUtils.toLong` | `JsonNode.asLong`: cut to whole, low 64 bits | `Long.parseLong` |
| `JsonSerdeUtils.toDouble` | `JsonNode.doubleValue`: nearest, or infinite | `Double.parseDouble` |
| `KsqlJsonDeserializer.enforceValidBytes` | `JsonNode.decimalValue` | `new BigDecimal(text)` |

Only `Double.parseDouble` trims blanks; it also accepts NaN, Infinity, hexadecimal, and a suffix (`1.5d`).
"""

from __future__ import annotations

import binascii
import datetime
import decimal
import re
from collections.abc import Callable
from typing import Final, TypeAlias

from srfix.serde.bounds import payload_bounds
from srfix.serde.columns.types import ColumnType, Decimal, ScalarType
from srfix.serde.connect.coercions import DAY_MS, EPOCH, EPOCH_DAY, NOT_FITTING, DecimalFit, decimal_fit
from srfix.serde.connect.java_text import compact_text, decimal_text
from srfix.serde.errors import CoercionError, OutOfRangeError
from srfix.serde.interface import Value
from srfix.serde.java_ints import INT_MAX, INT_MIN, LONG_MAX, LONG_MIN

Convert: TypeAlias = Callable[[object], Value]


class _Missing:
    """Jackson's MissingNode: the value of an empty body."""


MISSING: Final = _Missing()
"""The value of an empty body."""

_INT_BITS: Final = 32
_LONG_BITS: Final = 64
_MAX_DIGITS: Final = 1000
"""The most digits of a whole number: Jackson's `StreamReadConstraints` since 2.15."""
_MAX_BITS: Final = 3322
_MAX_EXPONENT: Final = INT_MAX
"""The range of a BigDecimal's scale, which is an int."""

# Java accepts the digits of any script, but only in the Basic Multilingual Plane, because it looks at chars.
_INTEGER: Final = re.compile(r"[+-]?\d+")
# Possessive quantifiers: with backtracking, a long run of digits would take quadratic time.
_DECIMAL: Final = re.compile(r"[+-]?(?:\d++\.?+\d*+|\.\d++)(?:[eE][+-]?\d++)?")
_DOUBLE: Final = re.compile(
    r"[+-]?(?:NaN|Infinity|0[xX](?:[\da-fA-F]++\.?+[\da-fA-F]*+|\.[\da-fA-F]++)[pP][+-]?\d++[fFdD]?"
    r"|(?P<decimal>(?:\d++\.?+\d*+|\.\d++)(?:[eE][+-]?\d++)?)[fFdD]?)",
    re.ASCII,
)
_TRIMMED: Final = "".join(map(chr, range(0x21)))
_MILLISECOND: Final = datetime.timedelta(milliseconds=1)
# Groups of four with white space between them. Groups after a padded group are still read.
_BASE64: Final = re.compile(
    r"(?:[\x00-\x20]*+(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==))*+[\x00-\x20]*+"
)
_BASE64_RUN: Final = re.compile(r"[A-Za-z0-9+/]+={0,2}")


class Misread(Exception):
    """A value that does not feed its column. It never leaves the decoder, which adds the path."""

    def __init__(
        self, value: object, type_: ColumnType, sentence: str = "", *, kind: type[CoercionError] = CoercionError
    ) -> None:
        super().__init__(sentence)
        self.value = value
        self.type = type_
        self.sentence = sentence
        """What is wrong with a node of the right kind."""
        self.kind = kind if sentence else None
        """The error to raise; None for a node of the wrong kind."""
        self.path = ""
        """The path from here. Every container puts its own part before it."""


def scalar_reader(type_: ScalarType | Decimal) -> Convert:
    if isinstance(type_, Decimal):
        return _decimal_reader(type_)
    return _READERS[type_]


def exact_type(type_: ColumnType) -> type | None:
    """The Python type whose values feed the column unchanged; None if each value must be checked."""
    return {ScalarType.STRING: str, ScalarType.BOOLEAN: bool}.get(type_) if isinstance(type_, ScalarType) else None


def integer_of_number(number: int | decimal.Decimal, bits: int) -> int:
    """The number without its fraction, cut to its low bits."""
    if isinstance(number, decimal.Decimal):
        number = _whole_part(number)
    elif number.bit_length() > _MAX_BITS:
        raise ValueError
    half = 1 << (bits - 1)
    return ((number + half) & ((1 << bits) - 1)) - half


def _whole_part(number: decimal.Decimal) -> int:
    magnitude = number.adjusted()
    if magnitude < 0 or not number:
        return 0
    if magnitude > _MAX_DIGITS:
        exponent = number.as_tuple().exponent
        if isinstance(exponent, int) and _LONG_BITS <= exponent <= _MAX_EXPONENT:
            return 0  # divisible by 2^64, and too long to compute
        raise ValueError
    return int(number)


def _integer_of_text(text: str, bits: int) -> int:
    """`Integer.parseInt`, `Long.parseLong`."""
    if len(text) > payload_bounds().text_number_characters or not _INTEGER.fullmatch(text) or not _is_of_bmp(text):
        raise ValueError
    number = int(text)
    if number.bit_length() >= bits and number != -(1 << (bits - 1)):
        raise ValueError
    return number


def double_of_number(number: float | decimal.Decimal) -> float:
    """The nearest double; infinite beyond the greatest. Never a negative zero: a BigDecimal has none."""
    try:
        return float(number) + 0.0
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def _double_of_text(text: str) -> float:
    """`Double.parseDouble`."""
    text = text.strip(_TRIMMED)
    match = _DOUBLE.fullmatch(text) if len(text) <= payload_bounds().text_number_characters else None
    if match is None:
        raise ValueError
    if match["decimal"] is not None:
        return float(text.rstrip("fFdD"))
    if "x" not in text and "X" not in text:
        return float(text)
    try:
        return float.fromhex(text.rstrip("fFdD") if "p" in text or "P" in text else text)
    except OverflowError:
        return float("-inf") if text.startswith("-") else float("inf")


def _decimal_of_text(text: str) -> decimal.Decimal:
    """`new BigDecimal(text)`."""
    if len(text) > payload_bounds().text_number_characters or not _DECIMAL.fullmatch(text) or not _is_of_bmp(text):
        raise ValueError
    try:
        return decimal.Decimal(text)
    except decimal.InvalidOperation as error:
        raise ValueError from error


def _is_of_bmp(text: str) -> bool:
    return text.isascii() or max(text) < "\U00010000"


def _boolean(value: object) -> Value:
    if type(value) is bool:
        return value
    raise Misread(value, ScalarType.BOOLEAN)


def _integer(value: object) -> Value:
    if type(value) is int and INT_MIN <= value <= INT_MAX:
        return value
    return _whole(value, ScalarType.INTEGER, _INT_BITS)


def _bigint(value: object) -> Value:
    if type(value) is int and LONG_MIN <= value <= LONG_MAX:
        return value
    return _whole(value, ScalarType.BIGINT, _LONG_BITS)


def _whole(value: object, type_: ScalarType, bits: int) -> int:
    try:
        if isinstance(value, str):
            return _integer_of_text(value, bits)
        if isinstance(value, int | decimal.Decimal) and not isinstance(value, bool):
            return integer_of_number(value, bits)
    except ValueError:
        raise Misread(value, type_, "is not a number that fits") from None
    raise Misread(value, type_)


def _double(value: object) -> Value:
    kind = type(value)
    if kind is float:
        return value + 0.0  # type: ignore[operator]  # a BigDecimal has no negative zero
    if kind is decimal.Decimal or kind is int:
        return double_of_number(value)  # type: ignore[arg-type]  # it is a number
    if isinstance(value, str):
        try:
            return _double_of_text(value)
        except ValueError:
            raise Misread(value, ScalarType.DOUBLE, "is not a number") from None
    raise Misread(value, ScalarType.DOUBLE)


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
                raise Misread(value, ScalarType.STRING) from None
        case list():
            return f"[{', '.join(['null' if item is None else _text(item) for item in value])}]"
        case _Missing():
            return ""  # MissingNode.asText
    raise Misread(value, ScalarType.STRING)


def _date(value: object) -> Value:
    days = value if type(value) is int and LONG_MIN <= value <= LONG_MAX else _whole(value, ScalarType.DATE, _LONG_BITS)
    try:
        return datetime.date.fromordinal(EPOCH_DAY + days)
    except (ValueError, OverflowError):
        raise Misread(value, ScalarType.DATE, _far(days, "day"), kind=OutOfRangeError) from None


def _time(value: object) -> Value:
    milliseconds = _whole(value, ScalarType.TIME, _LONG_BITS)
    if not 0 <= milliseconds <= DAY_MS:
        raise Misread(
            value,
            ScalarType.TIME,
            f"is {milliseconds}, not a number of milliseconds from 0 to 86400000 (times='integers' reads it as a "
            "number)",
        )
    if milliseconds == DAY_MS:
        # The engine accepts the end of the day. Python has no such time, and 00:00 would be another value.
        raise Misread(
            value,
            ScalarType.TIME,
            "is the end of the day, 24:00, which Python cannot hold (times='integers' can)",
            kind=OutOfRangeError,
        )
    seconds, rest = divmod(milliseconds, 1000)
    minutes, second = divmod(seconds, 60)
    return datetime.time(minutes // 60, minutes % 60, second, rest * 1000)


def _timestamp(value: object) -> Value:
    milliseconds = value if type(value) is int and LONG_MIN <= value <= LONG_MAX else None
    if milliseconds is None:
        milliseconds = _whole(value, ScalarType.TIMESTAMP, _LONG_BITS)
    try:
        return EPOCH + milliseconds * _MILLISECOND
    except OverflowError:
        raise Misread(value, ScalarType.TIMESTAMP, _far(milliseconds, "time"), kind=OutOfRangeError) from None


def _far(number: int, what: str) -> str:
    """A number of days or milliseconds is not personal data."""
    return (
        f"is {number}, which is not a {what} of the years 1 to 9999, Python's range (times='integers' reads it as a "
        "number)"
    )


def _bytes(value: object) -> Value:
    if not isinstance(value, str):
        raise Misread(value, ScalarType.BYTES)
    try:
        return base64_bytes(value)
    except ValueError:
        raise Misread(value, ScalarType.BYTES, "is not base64") from None


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
                number = _decimal_of_text(value)
            except ValueError:
                raise Misread(value, type_, "is not a number") from None
        else:
            raise Misread(value, type_)
        try:
            fitted = number.quantize(unit, None, exact)
        except NOT_FITTING:
            raise Misread(value, type_, _why_not(number, fit), kind=OutOfRangeError) from None
        return fitted if fitted else fitted.copy_abs()

    return convert


def _why_not(number: decimal.Decimal, fit: DecimalFit) -> str:
    if fit.is_within(number):
        return f"cannot be fitted without rounding ({decimal_text(number)[:60]})"
    return f"must be less than {decimal_text(fit.bound)} in size ({decimal_text(number)[:60]})"


_READERS: Final[dict[ScalarType, Convert]] = {
    ScalarType.BOOLEAN: _boolean,
    ScalarType.INTEGER: _integer,
    ScalarType.BIGINT: _bigint,
    ScalarType.DOUBLE: _double,
    ScalarType.STRING: _text,
    ScalarType.BYTES: _bytes,
    ScalarType.DATE: _date,
    ScalarType.TIME: _time,
    ScalarType.TIMESTAMP: _timestamp,
}
