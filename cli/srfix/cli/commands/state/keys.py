"""The bytes of a key that was typed.

| typed | bytes |
|---|---|
| `hex:…`, `base64:…` | these |
| `int:…`, `long:…`, `double:…` | as Kafka's serializers of these names write a number: 4, 8 and 8 bytes, big-endian |
| `text:…` | what follows, in UTF-8 |
| anything else | the whole of it, in UTF-8: a key such as `user:42` needs no prefix |
"""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Callable
from typing import Any, Final

from srfix.recovery.ids_in_words import enumerated
from srfix.serde.errors import UsageError

_NUMBERS: Final = {"int": ">i", "long": ">q", "double": ">d"}
_TAKES: Final = {
    "hex": "hexadecimal digits, two for each byte",
    "base64": "base64, filled up with = to a multiple of four characters",
    "int": "a whole number of 32 bits",
    "long": "a whole number of 64 bits",
    "double": "a number",
    "text": "text in UTF-8",
}


def key_bytes(text: str) -> bytes:
    """The bytes of a key as it was typed: `hex:…`, `base64:…`, `int:…`, `long:…`, `double:…`, `text:…`; else UTF-8 text.

    :raises UsageError: if what stands behind the colon is no such thing.
    """
    kind, colon, rest = text.partition(":")
    read: dict[str, Callable[[str], bytes]] = {
        "hex": lambda given: bytes.fromhex(given.removeprefix("0x")),
        "base64": lambda given: base64.b64decode(given, validate=True),
        "text": str.encode,
        **{name: _number(name) for name in _NUMBERS},
    }
    if not colon or kind not in read:
        return text.encode("utf-8", "surrogateescape")
    try:
        return read[kind](rest)
    except (ValueError, struct.error):
        raise UsageError(
            f"{text!r} is no key: {kind}: takes {_TAKES[kind]}. A key that begins so itself is written text:{text}."
        ) from None


def _number(kind: str) -> Callable[[str], bytes]:
    read: type[Any] = float if kind == "double" else int
    return lambda given: struct.pack(_NUMBERS[kind], read(given))


_LIKE_A_PREFIX: Final = re.compile(r"([A-Za-z][A-Za-z0-9_-]*):")


def taken_as_text(*typed: str | None) -> list[str]:
    """A sentence for each key that begins like a prefix and with none of them: it was taken as text, from its first letter."""
    told = []
    for text in typed:
        found = None if text is None else _LIKE_A_PREFIX.match(text)
        if text is not None and found is not None and found[1] not in _TAKES:
            told.append(
                f"{text!r} was taken as text, {found[0]} with it: the prefixes are {enumerated(f'{name}:' for name in _TAKES)}."
            )
    return told
