"""Payloads that were typed or piped in, decoded: `srfix decode --payload`."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable, Iterable, Iterator

from srfix.cli.output.speaking import say, show_json
from srfix.serde.batches.rows import reason_of
from srfix.serde.errors import SrfixError, UsageError
from srfix.serde.formats.table import Format
from srfix.serde.interface import Value
from srfix.serde.json_values import to_json


def payload_bytes(given: Iterable[str], format_: Format | None) -> Iterator[bytes | None]:
    """Each payload: `hex:…`, `base64:…`, `text:…`, `null`, or as is: text in json, hexadecimal in other formats; `-` is
    stdin, one a line.

    :raises UsageError: if one is none of these.
    """
    for text in given:
        if text == "-":
            yield from (_bytes(line.rstrip("\r\n"), format_) for line in sys.stdin if line.strip())
        else:
            yield _bytes(text, format_)


def _bytes(text: str, format_: Format | None) -> bytes | None:
    kind, colon, rest = text.partition(":")
    if not colon or kind not in ("hex", "base64", "text"):
        if text == "null" and format_ is not Format.JSON:
            return None
        kind, rest = ("text" if format_ is Format.JSON else "hex"), text
    try:
        match kind:
            case "text":
                return rest.encode()
            case "base64":
                return base64.b64decode(rest, validate=True)
            case _:
                return bytes.fromhex(rest.removeprefix("0x"))
    except ValueError as error:
        raise UsageError(
            f"The payload {text!r} is not {'hexadecimal' if kind == 'hex' else 'base64'} ({error}). "
            "Write hex:…, base64:… or text:… before it."
        ) from error


def write_decoded(payloads: Iterable[bytes | None], read: Callable[[bytes | None], Value]) -> tuple[int, int]:
    """Writes the row of each payload as JSON, a line each; what cannot be decoded is a line on stderr. How many there
    were, and how many failed."""
    count = failed = 0
    for payload in payloads:
        count += 1
        try:
            line = json.dumps(to_json(read(payload)), ensure_ascii=False, allow_nan=False)
        except SrfixError as error:
            if reason_of(error) is None:
                raise
            failed += 1
            say(f"{type(error).__name__}: {error.message}", err=True)
        else:
            show_json(line)
    return count, failed


def not_decoded(failed: int) -> str:
    """What stands behind a number of rows for those that could not be decoded: nothing where all could."""
    return f", {failed:,} of them not decoded" if failed else ""
