"""Bytes → JSON values, like Jackson.

`parse` is fast: numbers with a fraction or an exponent are doubles. `parse_exact` keeps all their digits
(`decimal.Decimal`), like the engine's mapper (`KsqlJsonDeserializer`: USE_BIG_DECIMAL_FOR_FLOATS and exact
BigDecimals). Integers of any size are exact in both. If a key occurs twice, the last value counts, in the place of the
first (Jackson's `ObjectNode`).

| body | Jackson 2.10 to 2.16 | here |
|---|---|---|
| a byte order mark, UTF-16, UTF-32 | read | read |
| NaN, Infinity, comments, single quotes, leading zeros, trailing commas | refused | refused |
| anything except white space after the value | ignored | `TrailingBytesError`: the body is corrupt |
| half a surrogate pair, over-long UTF-8 | read | refused: the text could not be written again |
| deeper than about 1,000 levels | refused since 2.15 | refused by Python 3.11, by 3.13 beyond about 10,000 |
| numbers of more than 1,000 characters | refused since 2.15 | refused beyond 4,300, except fractions in `parse` |

No message quotes the body, because it may hold personal data.
"""

from __future__ import annotations

import codecs
import decimal
import json
from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from srfix.serde.bounds import payload_bounds
from srfix.serde.errors import DecodeError, PayloadBoundError, TrailingBytesError, TruncatedBodyError
from srfix.serde.printable import counted

JsonValue: TypeAlias = "dict[str, JsonValue] | list[JsonValue] | str | bool | int | float | decimal.Decimal | None"
"""A JSON value. `parse_exact` gives no floats, `parse` gives no Decimals."""

_Decode: TypeAlias = Callable[[bytes], JsonValue]

# msgspec is as fast as orjson (which reads integers beyond 64 bits as doubles), and with the hook 3.5 times as fast as
# json.loads.
_quick: Final[_Decode] = msgspec.json.Decoder().decode
_exact: Final[_Decode] = msgspec.json.Decoder(float_hook=decimal.Decimal).decode


def _bounded(text: str) -> decimal.Decimal:
    most = payload_bounds().number_characters
    if len(text) > most:
        raise PayloadBoundError(
            f"A number of the JSON has {len(text):,} characters; srfix reads at most {most:,}. It is hostile or "
            "corrupt, or you must raise the limit (srfix.serde.bounds: number_characters).",
            bound="number_characters",
        )
    return decimal.Decimal(text)


_exact_bounded: Final[_Decode] = msgspec.json.Decoder(float_hook=_bounded).decode
_FAILURES: Final = (ValueError, ArithmeticError, RecursionError)
_BYTE_ORDER_MARKS: Final = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def parse(payload: bytes, body_offset: int = 0) -> JsonValue:
    body = payload[body_offset:] if body_offset else payload
    try:
        return _quick(body)
    except _FAILURES as error:
        return _again(body, _quick, error)


def parse_exact(body: bytes) -> JsonValue:
    """The value; fractions are Decimals, with all their digits and their exponent."""
    # A short body has no long number, and a hook in C is faster.
    decode = _exact if len(body) <= payload_bounds().number_characters else _exact_bounded
    try:
        return decode(body)
    except _FAILURES as error:
        return _again(body, decode, error)


def _again(body: bytes, decode: _Decode, error: Exception) -> JsonValue:
    """Parses the body in another encoding, or raises the error with the reason."""
    if not body.startswith(_BYTE_ORDER_MARKS) and b"\0" not in body[:4]:
        raise _refusal(body, error) from error
    try:
        # Half surrogate pairs fail here, as in UTF-8.
        body = body.decode(json.detect_encoding(body)).encode()
        return decode(body)
    except _FAILURES as second:
        raise _refusal(body, second) from second


def _refusal(body: bytes, error: Exception) -> DecodeError:
    beyond = error.__cause__
    if isinstance(beyond, PayloadBoundError):
        # A new error, because the old one would become its own cause.
        return PayloadBoundError(beyond.message, bound=beyond.bound)
    size = f"a body of {counted(len(body), 'byte')}"
    if isinstance(error, UnicodeError) or "UTF-8" in str(error):  # msgspec uses the latter word since 0.23
        return DecodeError(
            f"The body is not UTF-8, nor UTF-16 or UTF-32 ({size}). It is corrupt, or its producer does not write JSON."
        )
    match error:
        case RecursionError():
            return DecodeError(
                f"The JSON nests too deep ({size}), deeper than even Jackson can read. It is hostile or corrupt."
            )
        case ArithmeticError() | msgspec.ValidationError():
            return DecodeError(f"A number of the JSON is too large for any type ({size}).")
    if _is_half_a_pair(body):
        return DecodeError(
            f"A string of the JSON holds half a surrogate pair as an escape ({size}), so the string could not be "
            "written again."
        )
    words = str(error)
    if "truncated" in words:
        what = "ends too early" if body.strip() else "is empty"
        return TruncatedBodyError(f"The JSON {what} ({size}). It was cut off, or its producer does not write JSON.")
    if "trailing characters" in words:
        return TrailingBytesError(
            f"There is more text after the JSON value ({size}): the body is corrupt, or holds several values."
        )
    return DecodeError(f"The body is not JSON ({words}; {size}). It is corrupt, or its producer does not write JSON.")


def _is_half_a_pair(body: bytes) -> bool:
    try:
        # The standard library accepts half a pair, so a body that it accepts here has one.
        json.loads(body, parse_constant=_refuse, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse(constant: str) -> None:
    raise ValueError(constant)
