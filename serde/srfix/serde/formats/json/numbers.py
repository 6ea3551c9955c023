"""Reads numbers from JSON like Java: JSON numbers are narrowed, texts are parsed.

| engine | number | text |
|---|---|---|
| `JsonSerdeUtils.toInteger` | `JsonNode.intValue`: cut to whole, low 32 bits | `Integer.parseInt` |
| `JsonSerdeUtils.toLong` | `JsonNode.asLong`: cut to whole, low 64 bits | `Long.parseLong` |
| `JsonSerdeUtils.toDouble` | `JsonNode.doubleValue`: nearest, or infinite | `Double.parseDouble` |
| `KsqlJsonDeserializer.enforceValidBytes` | `JsonNode.decimalValue` | `new BigDecimal(text)` |

Only `Double.parseDouble` trims blanks; it also accepts NaN, Infinity, hexadecimal, and a suffix (`1.5d`).
"""

from __future__ import annotations

import decimal
import re
from typing import Final

from srfix.serde.bounds import payload_bounds
from srfix.serde.java_ints import INT_MAX

INT_BITS: Final = 32
"""Bits of an int."""
LONG_BITS: Final = 64
"""Bits of a long."""

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


def integer_of_number(number: int | decimal.Decimal, bits: int) -> int:
    """The number without its fraction, cut to its low bits."""
    if isinstance(number, decimal.Decimal):
        number = _whole(number)
    elif number.bit_length() > _MAX_BITS:
        raise ValueError
    half = 1 << (bits - 1)
    return ((number + half) & ((1 << bits) - 1)) - half


def _whole(number: decimal.Decimal) -> int:
    magnitude = number.adjusted()
    if magnitude < 0 or not number:
        return 0
    if magnitude > _MAX_DIGITS:
        exponent = number.as_tuple().exponent
        if isinstance(exponent, int) and LONG_BITS <= exponent <= _MAX_EXPONENT:
            return 0  # divisible by 2^64, and too long to compute
        raise ValueError
    return int(number)


def integer_of_text(text: str, bits: int) -> int:
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


def double_of_text(text: str) -> float:
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


def decimal_of_text(text: str) -> decimal.Decimal:
    """`new BigDecimal(text)`."""
    if len(text) > payload_bounds().text_number_characters or not _DECIMAL.fullmatch(text) or not _is_of_bmp(text):
        raise ValueError
    try:
        return decimal.Decimal(text)
    except decimal.InvalidOperation as error:
        raise ValueError from error


def _is_of_bmp(text: str) -> bool:
    return text.isascii() or max(text) < "\U00010000"
