"""The bytes of a payload that a user typed.

It may be `hex:…`, `base64:…`, `text:…` and `null`; anything else is text in json and delimited, and hexadecimal in other
formats. For keys see `srfix.recovery.typed_keys`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from srfix.recovery.ids_in_words import enumerated
from srfix.recovery.typed_keys import PREFIXES
from srfix.serde.errors import UsageError
from srfix.serde.formats.table import Format

_OF_PAYLOADS: Final = ("hex", "base64", "text")
_LIKE_A_PREFIX: Final = re.compile(r"([A-Za-z][A-Za-z0-9_-]*):")
_LIKE_SHOWN_BYTES: Final = re.compile(r"0x(?:[0-9a-fA-F]{2})+")
"""The form in which srfix prints bytes that are no text."""


def taken_as_text(*typed: str | None) -> list[str]:
    """A sentence for each key that looks like bytes, but that srfix took as text: `0x…`, or a prefix that it does not know."""
    lines = []
    for text in typed:
        match = None if text is None else _LIKE_A_PREFIX.match(text)
        if text is not None and match is not None and match[1] not in PREFIXES:
            lines.append(
                f"srfix took {text!r} as a text, {match[0]} included. The known prefixes are "
                f"{enumerated(f'{name}:' for name in PREFIXES)}."
            )
        if text is not None and _LIKE_SHOWN_BYTES.fullmatch(text):
            lines.append(f"srfix took {text!r} as a text. For the bytes, write hex:{text}.")
    return lines


def payload_bytes(texts: Iterable[str], format_: Format | None) -> Iterator[tuple[str, bytes | UsageError | None]]:
    """The place and the bytes of each typed payload; `-` reads stdin, one payload on each line. For a line that is no
    payload, its error takes the place of the bytes."""
    for text in texts:
        if text != "-":
            yield "", _bytes(text, format_)
            continue
        for number, line in enumerate(stdin_lines(), 1):
            try:
                payload: bytes | UsageError | None = _bytes(line, format_)
            except UsageError as error:
                payload = error
            yield f"Line {number}: ", payload


def stdin_lines() -> Iterator[str]:
    """The lines of stdin without their ends. Bytes that are not UTF-8 become surrogates, as in arguments."""
    return (line.rstrip(b"\r\n").decode("utf-8", "surrogateescape") for line in sys.stdin.buffer)


def readable_text(payload: bytes, format_: Format) -> str:
    """The text that `payload_bytes` reads as these bytes. It has a prefix only if it needs one."""
    text = payload.decode("utf-8", "replace")
    for form in (text, f"text:{text}"):
        with suppress(UsageError):
            if _bytes(form, format_) == payload:
                return form
    return f"hex:{payload.hex()}"


def _advice(text: str, kind: str) -> str:
    """What to write instead. If the payload has a prefix, the advice does not ask for that prefix."""
    if not text.startswith(f"{kind}:"):
        return "Write hex:…, base64:… or text:… before it."
    if kind == "hex":
        return "After hex: write hexadecimal digits, two for each byte. For other bytes use base64:… or text:…."
    return "For other bytes use hex:… or text:…."


def _bytes(text: str, format_: Format | None) -> bytes | None:
    kind, colon, rest = text.partition(":")
    if not colon or kind not in _OF_PAYLOADS:
        if text == "null" and format_ is not Format.JSON:
            return None
        kind, rest = ("text" if format_ is not None and format_.is_text else "hex"), text
    try:
        return PREFIXES[kind][1](rest)
    except ValueError as error:
        raise UsageError(
            f"The payload {text!r} is not {'hexadecimal' if kind == 'hex' else 'base64'} ({error}). {_advice(text, kind)}"
        ) from error
