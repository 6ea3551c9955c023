"""A hash of a value's structure that is the same in every process.

Pickled bytes are not: they hold which parts are one object. So a value is taken apart as pickle would take it, into plain
parts, and those are hashed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from enum import Enum

from srfix.serde.errors import SecretError

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def digest_of(value: object) -> str:
    """SHA-256, as 64 hexadecimal digits. Literal secrets, which do not travel, are left out."""
    made = hashlib.sha256()
    for part in _parts(value, ()):
        # Lengths keep the parts apart.
        encoded = part.encode("utf-8", "surrogatepass")
        made.update(f"{len(encoded)}:".encode())
        made.update(encoded)
    return made.hexdigest()


def _parts(value: object, within: tuple[int, ...]) -> Iterator[str]:
    if id(value) in within:
        yield f"above {len(within) - within.index(id(value))}"
        return
    within = (*within, id(value))
    match value:
        case Enum():
            yield f"{_name(type(value))}.{value.name}"
        case None | bool() | int() | float() | bytes():
            yield repr(value)
        case str() if type(value) is str:
            yield "text"
            yield value
        case tuple() | list():
            yield f"{type(value).__name__} {len(value)}"
            for item in value:
                yield from _parts(item, within)
        case dict():
            yield f"dict {len(value)}"
            for key, item in value.items():
                yield from _parts(key, within)
                yield from _parts(item, within)
        case set() | frozenset():
            yield f"set {len(value)}"
            yield from sorted(digest_of(item) for item in value)
        case type():
            yield _name(value)
        case _ if is_dataclass(value) and not isinstance(value, type):
            yield _name(type(value))
            for part in fields(value):
                yield part.name
                yield from _parts(getattr(value, part.name), within)
        case _ if isinstance(value, Callable) and hasattr(value, "__qualname__"):  # type: ignore[arg-type]
            yield _name(value)
        case _:
            yield from _object(value, within)


def _object(value: object, within: tuple[int, ...]) -> Iterator[str]:
    try:
        reduced = value.__reduce_ex__(4)
    except SecretError:
        yield "secret"
        return
    except TypeError:
        # Nothing that travels: a lock, a connection.
        yield _ADDRESS.sub("", repr(value))
        return
    yield _name(type(value))
    yield from _parts(reduced, within)


def _name(kind: object) -> str:
    return f"{getattr(kind, '__module__', '')}.{getattr(kind, '__qualname__', '')}"
