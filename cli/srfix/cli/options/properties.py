"""Reading `key=value`: one at a time, or a file of them. A value is never repeated in a message."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from srfix.serde import bounds
from srfix.serde.errors import UsageError
from srfix.serde.files import read_file

_NAME: Final = re.compile(r"[A-Za-z][\w.-]*", re.ASCII)
"""Anything else, a blank or a colon in it, say, is a name and a part of a value."""


def parse_property(text: str, *, option: str) -> tuple[str, str]:
    """Key and value of `key=value`; the value may hold more `=`.

    :raises UsageError: if there is no `=`, or no key before it.
    """
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        # The text is not shown: it may be a secret alone.
        raise UsageError(f"{option} takes key=value, one word; what was given has no key or no '='.")
    if not _NAME.fullmatch(key.strip()):
        raise UsageError(
            f"{option} takes key=value, one word; what stands before the first '=' is no name of a property, and is not shown."
        )
    return key.strip(), value.strip()


def read_properties(path: str) -> dict[str, str]:
    """A `client.properties` file: a property a line, `#` or `!` before comments, `\\` where one goes on.

    A backslash elsewhere is a backslash, as librdkafka's tools read it.

    :raises UsageError: if the file cannot be read, or a line is not `key=value`.
    """
    try:
        text = read_file(path, most_bytes=bounds.MOST_SETTINGS_BYTES).decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"The properties file {path!r} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError:
        raise UsageError(f"The properties file {path!r} is not UTF-8 text.") from None
    properties: dict[str, str] = {}
    for number, line in _logical_lines(text):
        key, separator, value = line.partition("=")
        if not separator:
            key, separator, value = line.partition(":")
        if not separator or not _NAME.fullmatch(key.strip()):
            raise UsageError(f"Line {number} of the properties file {path!r} is not key=value.")
        properties[key.strip()] = value.strip()
    return properties


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    started, pending = 0, ""
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        if not pending and (not line or line[0] in "#!"):
            continue
        started = started if pending else number
        if line.endswith("\\"):
            pending += line[:-1].rstrip() + " "
            continue
        yield started, pending + line
        pending = ""
    if pending:
        yield started, pending.strip()
