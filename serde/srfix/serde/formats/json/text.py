"""JSON values → compact JSON text, like Jackson's.

Strings have the escapes of Jackson's generators: the short escapes, `\\u001F` with upper-case digits for other control
characters, and otherwise only `"` and `\\`. Jackson's byte generator writes characters beyond U+FFFF as two escapes; its
text generator writes them unchanged.
"""

from __future__ import annotations

import decimal
import re
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from srfix.serde.connect.java_text import decimal_text, double_text

_Quote: TypeAlias = Callable[[str], str]

_SHORT: Final = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_SPECIAL: Final = re.compile(r'[\x00-\x1f"\\]')
_SPECIAL_IN_BYTES: Final = re.compile(r'[\x00-\x1f"\\\U00010000-\U0010ffff]')


class Raw:
    """Text that is already JSON: a number whose digits must be kept."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def compact_text(value: object) -> str:
    """`ObjectMapper.writeValueAsString` after `treeToValue`: an exact value, numbers in BigDecimal's form."""
    parts: list[str] = []
    _write(value, parts, _quoted, _no_double)
    return "".join(parts)


def compact_bytes(value: object) -> bytes:
    """The bytes of a value (`ObjectMapper.writeValueAsBytes`); a `Raw` is written as its text."""
    parts: list[str] = []
    _write(value, parts, _quoted_in_bytes, _double)
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


def _no_double(value: float) -> str:
    raise TypeError("its digits would be lost")


def _double(value: float) -> str:
    text = double_text(value)
    # Jackson's QUOTE_NON_NUMERIC_NUMBERS: NaN and the infinities are strings.
    return text if text[-1].isdigit() else f'"{text}"'


def _quoted(text: str) -> str:
    return f'"{_SPECIAL.sub(_escape, text)}"'


def _quoted_in_bytes(text: str) -> str:
    return f'"{_SPECIAL_IN_BYTES.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    short = _SHORT.get(character)
    if short is not None:
        return short
    units = character.encode("utf-16-be")
    return "".join(f"\\u{int.from_bytes(units[at : at + 2], 'big'):04X}" for at in range(0, len(units), 2))
