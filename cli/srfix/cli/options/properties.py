"""Reading `key=value`. A value is never repeated in a message."""

from __future__ import annotations

import re
from typing import Final

from srfix.serde.errors import UsageError

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
