"""`${provider:path:key}` in values, as Kafka's `ConfigTransformer` resolves it: files, folders and the environment.

| class (of `org.apache.kafka.common.config.provider`) | `${file:/run/kafka.properties:password}` gives |
|---|---|
| `FileConfigProvider` | that property of that file |
| `DirectoryConfigProvider` | the content of the file `key` in the folder `path` |
| `EnvVarConfigProvider` | the environment variable: `${env:PASSWORD}` |

Names are those that `config.providers` gives them. What a value resolves to is not looked at again.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Final

from srfix.serde import bounds
from srfix.serde.errors import UsageError
from srfix.serde.files import read_file
from srfix.serde.properties.java.file import read_properties_file
from srfix.serde.property_names import shown

_PACKAGE: Final = "org.apache.kafka.common.config.provider."
_WORD: Final = re.compile(r"[A-Za-z][\w-]*", re.ASCII)


def resolve_references(name: str, value: str, properties: Mapping[str, str]) -> str:
    """The value with its references resolved.

    :param properties: the file's, which name the providers.
    """

    pieces: list[str] = []
    end = 0
    # As Kafka's pattern \$\{([^}]*?):(([^}]*?):)?([^}]*?)\} matches, which takes cubic time.
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
            f"{named} names no provider of config.providers. Write the value itself, or env:NAME or file:PATH."
        )
    match properties.get(f"config.providers.{provider}.class", "").removeprefix(_PACKAGE):
        case "FileConfigProvider":
            values = read_properties_file(path, encoding="utf-8").values
            if key not in values:
                raise UsageError(f"the file {path!r} holds no such property.")
            return values[key]
        case "DirectoryConfigProvider":
            try:
                return read_file(os.path.join(path, key), most_bytes=bounds.MOST_SECRET_BYTES).decode("utf-8")
            except OSError as error:
                raise UsageError(f"the folder {path!r} gives it not: {error.strerror}.") from None
            except UnicodeDecodeError:
                pass
            raise UsageError(f"the folder {path!r} gives it not: it is no UTF-8 text.")
        case "EnvVarConfigProvider":
            if path or key not in os.environ:
                raise UsageError(f"{named} names no environment variable that is set here.")
            return os.environ[key]
        case _:
            raise UsageError(
                f"{named} is of a provider that srfix does not know: it resolves those of Kafka for files, folders and the "
                "environment. Give the property by itself: -X NAME=env:VARIABLE, or file:PATH."
            )
