"""A `.properties` file, read as `java.util.Properties` reads it: continued lines, escapes, `=`, `:` or a blank between.

Two differences: a line without any value is refused unless its name is known, for it may be a secret that lost its name; and
UTF-8 is read as such, which Java reads as ISO 8859-1.
"""

from __future__ import annotations

import re
from typing import Final

import javaproperties

from srfix.serde import bounds
from srfix.serde.errors import UsageError
from srfix.serde.files import read_file
from srfix.serde.property_names import is_known

_NAME: Final = re.compile(r"[A-Za-z][\w.-]*", re.ASCII)
"""Anything else is a name and a part of a value."""
_NO_TEXT: Final = re.compile(r"[\0-\x08\x0e-\x1a\x1c-\x1e]")


def read_properties_file(path: str) -> dict[str, str]:
    """Name → value; of a name that stands there twice, the last.

    UTF-8, or ISO 8859-1 (Java's) where it is not that.

    :raises UsageError: if the file cannot be read, is no text, or a line is no property. No content is shown.
    """
    try:
        content = read_file(path, most_bytes=bounds.MOST_SETTINGS_BYTES)
    except OSError as error:
        raise UsageError(f"The properties file {path!r} cannot be read: {error.strerror}.") from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("iso-8859-1")
    if _NO_TEXT.search(text):
        raise UsageError(f"The properties file {path!r} is no text. It takes name=value, one to a line.")
    try:
        return _properties(text, path)
    except javaproperties.InvalidUEscapeError:
        pass
    # Raised out here: the other error has the escape as its context.
    raise UsageError(f"The properties file {path!r} holds a \\u that four hexadecimal digits do not follow.")


def _properties(text: str, path: str) -> dict[str, str]:
    properties: dict[str, str] = {}
    line = 1
    for element in javaproperties.parse(text):
        if isinstance(element, javaproperties.KeyValue):
            if not _NAME.fullmatch(element.key) or (not element.value and not _is_whole(element)):
                raise UsageError(f"Line {line} of the properties file {path!r} is not key=value.")
            properties[element.key] = element.value
        line += len(re.findall(r"\r\n|\r|\n", element.source))
    return properties


def _is_whole(element: javaproperties.KeyValue) -> bool:
    """True if an empty value is meant, by a separator or a name that is one."""
    return is_known(element.key) or element.source.strip().endswith(("=", ":"))
