"""The bytes of a key that a person typed.

| typed | bytes |
|---|---|
| `hex:…`, `base64:…` | these |
| `int:…`, `long:…`, `double:…` | the number as Kafka's serializers with these names write it: 4, 8 and 8 bytes, big-endian |
| `text:…` | the text after the prefix, in UTF-8 |
| anything else | the whole text in UTF-8: a key such as `user:42` needs no prefix |
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable, Mapping
from typing import Final, cast

from srfix.serde.errors import UsageError
from srfix.serde.schemas.models import Json

PREFIXES: Final[Mapping[str, tuple[str, Callable[[str], bytes]]]] = {
    "hex": ("hexadecimal digits, two for each byte", lambda text: bytes.fromhex(text.removeprefix("0x"))),
    "base64": (
        "base64, filled up with = to a multiple of four characters",
        lambda text: base64.b64decode(text, validate=True),
    ),
    "int": ("a whole number of 32 bits", lambda text: struct.pack(">i", int(text))),
    "long": ("a whole number of 64 bits", lambda text: struct.pack(">q", int(text))),
    "double": ("a number", lambda text: struct.pack(">d", float(text))),
    "text": ("text in UTF-8", lambda text: text.encode("utf-8", "surrogateescape")),
}
"""What stands after each prefix, and what reads it."""


def has_prefix(text: str) -> bool:
    """True for `hex:…` and the other forms of bytes."""
    kind, colon, _rest = text.partition(":")
    return bool(colon) and kind in PREFIXES


def key_bytes(text: str) -> bytes:
    kind, colon, rest = text.partition(":")
    if not colon or kind not in PREFIXES:
        return text.encode("utf-8", "surrogateescape")
    expected, read = PREFIXES[kind]
    try:
        return read(rest)
    except (ValueError, struct.error):
        raise UsageError(
            f'{text!r} is not a valid key. After the prefix "{kind}:", srfix expects {expected}. If the key is a '
            f"text that begins with {kind}:, write text:{text}."
        ) from None


def json_of_key(text: str) -> Json:
    """The key as JSON; None if it is none."""
    try:
        return cast("Json", json.loads(text))
    except (ValueError, RecursionError):
        return None
