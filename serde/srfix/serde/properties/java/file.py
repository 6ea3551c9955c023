"""Reads a `.properties` file like `java.util.Properties` (continued lines, escapes, and `=`, `:` or a blank as the
separator), and resolves the references in its values.

The bytes are ISO 8859-1, as in `Properties.load(InputStream)`, with which Kafka's clients, Connect and ksqlDB read
their files: an ä in UTF-8 is two characters, also for the application, which logs in with them. Kafka's
`FileConfigProvider` reads UTF-8.

There are two differences: a line without a value is refused unless its name is known, because it may be a secret that
lost its name; and a byte order mark is skipped.

`${provider:path:key}` in a value is resolved like in Kafka's `ConfigTransformer`; references in the result are not
resolved. Provider names are those that `config.providers` gives to the classes (of
`org.apache.kafka.common.config.provider`):

| class | `${file:/run/kafka.properties:password}` gives |
|---|---|
| `FileConfigProvider` | that property of that file |
| `DirectoryConfigProvider` | the content of the file `key` in the folder `path` |
| `EnvVarConfigProvider` | the environment variable: `${env:PASSWORD}` |
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Literal

from srfix.serde import bounds
from srfix.serde.errors import UsageError
from srfix.serde.files import read_file
from srfix.serde.property_names import is_known, shown

_NAME: Final = re.compile(r"[A-Za-z][\w.-]*", re.ASCII)
"""A property's name. Text of another form is not shown: it may be a name together with a part of a value."""
_MOST_CONTINUED_LINES: Final = 1_000
_MOST_CONTINUED_CHARACTERS: Final = 65_536
"""The most lines of one property: javaproperties 0.8 searches the whole property again for each further line."""
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_NO_TEXT: Final = re.compile(r"[\0-\x08\x0e-\x1a\x1c-\x1e]")


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertiesFile:
    """The content of a file. Its repr shows no value."""

    values: Mapping[str, str] = field(repr=False)
    """Name → value; if a name occurs twice, the last value."""
    in_utf_8: tuple[str, ...]
    """The names whose lines are not ASCII and look like UTF-8, but were read as ISO 8859-1."""


def read_properties_file(path: str, *, encoding: Literal["iso-8859-1", "utf-8"] = "iso-8859-1") -> PropertiesFile:
    """The properties of a file. `encoding` is ISO 8859-1 like for a Java stream, or UTF-8 like for a Java reader."""
    import javaproperties

    try:
        content = read_file(path, most_bytes=bounds.MOST_SETTINGS_BYTES)
    except OSError as error:
        raise UsageError(f"The properties file {path!r} cannot be read: {error.strerror}.") from error
    text: str | None = None
    with suppress(UnicodeDecodeError):  # raised outside of it, because the other error holds the content
        text = content.removeprefix(codecs.BOM_UTF8).decode(encoding)
    if text is None:
        raise UsageError(
            f"The properties file {path!r} is not UTF-8, as Kafka's FileConfigProvider requires. Save it as UTF-8."
        )
    if _NO_TEXT.search(text):
        raise UsageError(f"The properties file {path!r} is not text. Write name=value, one on each line.")
    _refuse_endless(text, path)
    with suppress(javaproperties.InvalidUEscapeError):
        return _properties(text, path, is_latin=encoding == "iso-8859-1")
    # Raised outside of the handler, because the other error would be its context and holds the escape.
    raise UsageError(f"The properties file {path!r} has a \\u without four hexadecimal digits after it.")


def _refuse_endless(text: str, path: str) -> None:
    lines, characters = 0, 0
    for number, line in enumerate(_LINE_END.split(text), start=1):
        lines, characters = lines + 1, characters + len(line)
        if (len(line) - len(line.rstrip("\\"))) % 2 == 0:  # otherwise the last backslash continues the line
            lines, characters = 0, 0
        elif lines > _MOST_CONTINUED_LINES or characters > _MOST_CONTINUED_CHARACTERS:
            raise UsageError(
                f"Line {number} of the properties file {path!r} belongs to a property of more than {_MOST_CONTINUED_LINES:,} "
                f"lines or {_MOST_CONTINUED_CHARACTERS:,} characters. Join the lines of this property."
            )


def _properties(text: str, path: str, *, is_latin: bool) -> PropertiesFile:
    import javaproperties

    properties: dict[str, str] = {}
    in_utf_8: dict[str, bool] = {}
    line = 1
    for element in javaproperties.parse(text):
        if isinstance(element, javaproperties.KeyValue):
            # A value is meant to be empty if the line has a separator, or its name is known.
            is_whole = element.value or is_known(element.key) or element.source.strip().endswith(("=", ":"))
            if not _NAME.fullmatch(element.key) or not is_whole:
                raise UsageError(f"Line {line} of the properties file {path!r} is not key=value.")
            properties[element.key] = element.value
            in_utf_8[element.key] = is_latin and _looks_like_utf_8(element.source)
        line += len(_LINE_END.findall(element.source))
    return PropertiesFile(values=properties, in_utf_8=tuple(name for name, looks in in_utf_8.items() if looks))


def _looks_like_utf_8(latin: str) -> bool:
    with suppress(UnicodeDecodeError):
        return not latin.isascii() and bool(latin.encode("iso-8859-1").decode("utf-8"))
    return False


_PACKAGE: Final = "org.apache.kafka.common.config.provider."
_WORD: Final = re.compile(r"[A-Za-z][\w-]*", re.ASCII)


def resolve_references(name: str, value: str, properties: Mapping[str, str]) -> str:
    """The value with its references resolved. `properties` are the file's properties, which name the providers."""
    pieces: list[str] = []
    end = 0
    # Matches like Kafka's pattern \$\{([^}]*?):(([^}]*?):)?([^}]*?)\}, which would take cubic time.
    while (begin := value.find("${", end)) >= 0 and (close := value.find("}", begin)) >= 0:
        parts = value[begin + 2 : close].split(":", 2)
        pieces.append(value[end:begin])
        if len(parts) == 1:
            pieces.append(value[begin : close + 1])
        else:
            pieces.append(_of_one(name, parts[0], "" if len(parts) == 2 else parts[1], parts[-1], properties))
        end = close + 1
    return "".join([*pieces, value[end:]])


def _of_one(name: str, provider: str, path: str, key: str, properties: Mapping[str, str]) -> str:
    try:
        return _resolved(provider, path, key, properties)
    except UsageError as error:
        why = error.message
    raise UsageError(f"The reference ${{…}} in the value of {shown(name)} cannot be resolved: {why}")


def _resolved(provider: str, path: str, key: str, properties: Mapping[str, str]) -> str:
    named = f"${{{provider}:…}}" if _WORD.fullmatch(provider) else "it"
    if provider not in (name.strip() for name in properties.get("config.providers", "").split(",")):
        raise UsageError(
            f"{named} uses a provider that is not in config.providers. Write the value itself, or env:NAME or "
            "file:PATH."
        )
    match properties.get(f"config.providers.{provider}.class", "").removeprefix(_PACKAGE):
        case "FileConfigProvider":
            values = read_properties_file(path, encoding="utf-8").values
            if key not in values:
                raise UsageError(f"the file {path!r} has no such property.")
            return values[key]
        case "DirectoryConfigProvider":
            try:
                return read_file(os.path.join(path, key), most_bytes=bounds.MOST_SECRET_BYTES).decode("utf-8")
            except OSError as error:
                raise UsageError(f"the folder {path!r} does not provide it: {error.strerror}.") from None
            except UnicodeDecodeError:
                pass
            raise UsageError(f"the folder {path!r} does not provide it: it is not UTF-8 text.")
        case "EnvVarConfigProvider":
            if path or key not in os.environ:
                raise UsageError(f"{named} names an environment variable that is not set here.")
            return os.environ[key]
        case _:
            raise UsageError(
                f"{named} uses a provider that srfix does not know. srfix knows Kafka's providers for files, folders "
                "and the environment. Set the property separately: -X NAME=env:VARIABLE, or file:PATH."
            )
