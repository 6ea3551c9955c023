"""Java's text of numbers, for STRING columns that accept any scalar, and for JSON like Jackson's.

Doubles and floats are written like `Double.toString` and `Float.toString` since JDK 19 (JDK-4511638): the shortest
decimal, with at least two digits, that reads back as the same number. Up to JDK 18 some texts are a digit longer than
necessary (1.6509204097989539E268 for 1.650920409798954E268; among common sizes, this affects only floats, and doubles
beyond 2^53). It is the same number; the text depends on the Java version of the engine.

JSON's strings have the escapes of Jackson's generators: the short escapes, `\\u001F` with upper-case digits for other
control characters, and otherwise only `"` and `\\`. Jackson's byte generator writes characters beyond U+FFFF as two
escapes; its text generator writes them unchanged.
"""

from __future__ import annotations

import decimal
import re
import struct
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Final, NoReturn, TypeAlias

_Quote: TypeAlias = Callable[[str], str]

# A separate context, because the caller's context may write a small "e", or trap harmless signals.
_EXACT: Final = decimal.Context(prec=decimal.MAX_PREC, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, capitals=1)
_FLOAT: Final = struct.Struct(">f")
_FLOAT_BITS: Final = struct.Struct(">I")
_FLOAT_DIGITS: Final = 9
"""This number of digits distinguishes any two floats."""
_PLAIN_FROM, _PLAIN_BELOW = -3, 7
"""Java writes numbers from 1E-3 to below 1E7 without an exponent."""
_SHORT: Final = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_SPECIAL: Final = re.compile(r'[\x00-\x1f"\\]')
_SPECIAL_IN_BYTES: Final = re.compile(r'[\x00-\x1f"\\\U00010000-\U0010ffff]')


def double_text(value: float) -> str:
    """`String.valueOf(double)`: `1.0`, `1.0E10`, `4.9E-324`, `NaN`, `-Infinity`."""
    if value != value or value in (float("inf"), float("-inf")):
        return _not_finite(value)
    mantissa, _, exponent = f"{value!r}".partition("e")
    if not exponent and 1e-3 <= abs(value) < 1e7:
        return mantissa  # Python and Java write the same text here
    sign, digits, power = decimal.Decimal(value if not value else repr(value)).as_tuple()
    shortest = "".join(map(str, digits)).rstrip("0")
    if len(shortest) == 1:
        two = f"{abs(value):.1e}"
        if float(two) == abs(value):
            return _laid_out(sign, two[0] + two[2], int(two[4:]))
    assert isinstance(power, int)
    return _laid_out(sign, shortest, len(digits) + power - 1)


def float_text(value: float) -> str:
    """`String.valueOf(float)` of a 32-bit float: `0.1`, although its value as a double is 0.10000000149011612."""
    if value != value or value in (float("inf"), float("-inf")):
        return _not_finite(value)
    if not value:
        return "-0.0" if str(value).startswith("-") else "0.0"
    size = abs(value)
    exact = Fraction(size)
    low, high, ends_count = _reads_back(size)
    magnitude = int(f"{size:e}".partition("e")[2])
    for count in range(2, _FLOAT_DIGITS + 1):
        # The rounded decimal may lie outside of the narrower half of the interval, and its neighbour inside.
        unit = Fraction(10) ** (magnitude - count + 1)
        floor = exact // unit
        near = [number for number in (floor, floor + 1) if _within(number * unit, low, high, ends_count)]
        if near:
            best = min(near, key=lambda number: (abs(number * unit - exact), number % 2))
            digits = str(best)
            return _laid_out(value < 0, digits.rstrip("0"), magnitude + len(digits) - count)
    raise AssertionError(f"{_FLOAT_DIGITS} digits tell any two floats apart, but not {value!r}")


def decimal_text(value: decimal.Decimal) -> str:
    """`BigDecimal.toString` of a finite number: `42.000`, `1E+3`, `1E-7`. It has no negative zero."""
    return _EXACT.to_sci_string(value if value else value.copy_abs())


def plain_decimal_text(value: decimal.Decimal) -> str:
    """`BigDecimal.toPlainString` of a finite number. A large exponent gives a long text: limit it first."""
    if not value:
        value = value.copy_abs()
        exponent = value.as_tuple().exponent
        if isinstance(exponent, int) and exponent > 0:
            return "0"
    return format(value, "f")


def no_constant(word: str) -> NoReturn:
    """For `json.loads`, which takes NaN and the infinities; JSON has no such numbers, so Jackson refuses them."""
    raise ValueError(f"{word} is not JSON")


def _not_finite(value: float) -> str:
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


def _laid_out(negative: bool | int, digits: str, power: int) -> str:
    """The digits of d.ddd times 10^power in Java's layout."""
    sign = "-" if negative else ""
    if not digits:
        return f"{sign}0.0"
    if not _PLAIN_FROM <= power < _PLAIN_BELOW:
        return f"{sign}{digits[0]}.{digits[1:] or '0'}E{power}"
    if power < 0:
        return f"{sign}0.{'0' * (-power - 1)}{digits}"
    whole = digits.ljust(power + 1, "0")
    return f"{sign}{whole[: power + 1]}.{whole[power + 1 :] or '0'}"


def _reads_back(size: float) -> tuple[Fraction, Fraction, bool]:
    """The decimals that are read as this float, half way to its neighbours; and whether the ends are such decimals."""
    (bits,) = _FLOAT_BITS.unpack(_FLOAT.pack(size))
    below = _float_of(bits - 1)
    exact = Fraction(size)
    # There is no float after the greatest one, so the step is that before it.
    above = _float_of(bits + 1) if bits + 1 < 0x7F800000 else exact + (exact - below)
    return (exact + below) / 2, (exact + above) / 2, bits % 2 == 0


def _float_of(bits: int) -> Fraction:
    (value,) = _FLOAT.unpack(_FLOAT_BITS.pack(bits))
    return Fraction(value)


def _within(number: Fraction, low: Fraction, high: Fraction, ends_count: bool) -> bool:
    return low <= number <= high if ends_count else low < number < high


class Raw:
    """Text that is already JSON: a number whose digits must be kept."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def _no_double(value: float) -> str:
    raise TypeError("its digits would be lost")


def compact_text(value: object, double: Callable[[float], str] = _no_double) -> str:
    """`ObjectMapper.writeValueAsString` after `treeToValue`: an exact value, numbers in BigDecimal's form."""
    parts: list[str] = []
    _write(value, parts, partial(_quoted, _SPECIAL), double)
    return "".join(parts)


def java_json(value: object) -> str:
    """The same, but with doubles (`Double.toString`)."""
    return compact_text(value, _double)


def compact_bytes(value: object) -> bytes:
    """The bytes of a value (`ObjectMapper.writeValueAsBytes`); a `Raw` is written as its text."""
    parts: list[str] = []
    _write(value, parts, partial(_quoted, _SPECIAL_IN_BYTES), _double)
    return "".join(parts).encode()


def _write(value: object, parts: list[str], quote: _Quote, double: Callable[[float], str]) -> None:
    match value:
        case None:
            parts.append("null")
        case bool():
            parts.append("true" if value else "false")
        case str():
            parts.append(quote(value))
        case int():
            parts.append(int.__str__(value))
        case float():
            parts.append(double(value))
        case decimal.Decimal() if value.is_finite():
            parts.append(decimal_text(value))
        case Mapping():
            mark = "{"
            for key, inner in value.items():
                if not isinstance(key, str):
                    raise TypeError(f"a key of an object must be a string, not {type(key).__name__}")
                parts.append(f"{mark}{quote(key)}:")
                _write(inner, parts, quote, double)
                mark = ","
            parts.append("{}" if mark == "{" else "}")
        case list() | tuple():
            mark = "["
            for inner in value:
                parts.append(mark)
                _write(inner, parts, quote, double)
                mark = ","
            parts.append("[]" if mark == "[" else "]")
        case Raw():
            parts.append(value.text)
        case _:
            raise TypeError(f"{type(value).__name__} has no JSON form")


def _double(value: float) -> str:
    text = double_text(value)
    # Jackson's QUOTE_NON_NUMERIC_NUMBERS: NaN and the infinities are strings.
    return text if text[-1].isdigit() else f'"{text}"'


def _quoted(special: re.Pattern[str], text: str) -> str:
    return f'"{special.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    short = _SHORT.get(character)
    if short is not None:
        return short
    units = character.encode("utf-16-be")
    return "".join(f"\\u{int.from_bytes(units[at : at + 2], 'big'):04X}" for at in range(0, len(units), 2))
