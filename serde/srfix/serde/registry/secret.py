"""Secrets and references to secrets. A reference is read at the moment of its use."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from contextvars import ContextVar
from enum import Enum
from typing import Final

from srfix.serde import bounds
from srfix.serde.errors import SecretError, UsageError
from srfix.serde.files import read_file

HIDDEN = "***"
"""The replacement for a secret in a text."""

_travels: Final[ContextVar[bool]] = ContextVar("srfix_secrets_travel", default=False)


class _Source(Enum):
    ENVIRONMENT = "env:"
    FILE = "file:"
    LITERAL = ""


class Secret:
    """A secret, or a reference to it. It is never shown, and a literal secret is never sent to other processes.

    `env:NAME` is the environment variable NAME; `file:PATH` the content of a file without its last line break; any
    other text is the secret itself. A reference is read again at each use, so a rotated secret is used. It can be
    pickled: the other process reads its own environment or file. A literal cannot be pickled, except by
    `pickled_with_secrets`.
    """

    # Not a dataclass, because dataclasses.asdict, pytest and rich would read its fields and show the secret.
    __slots__ = ("_source", "_text")

    def __init__(self, literal: str) -> None:
        self._source = _Source.LITERAL
        self._text = literal

    @classmethod
    def parse(cls, text: str) -> Secret:
        """Reads `env:NAME`, `file:PATH` or a literal.

        :raises UsageError: if a reference names nothing.
        """
        for source in (_Source.ENVIRONMENT, _Source.FILE):
            if text.startswith(source.value):
                secret = cls(text.removeprefix(source.value))
                secret._source = source
                if not secret._text:
                    raise UsageError(f"The secret {source.value!r} names nothing: write env:NAME or file:PATH.")
                return secret
        return cls(text)

    def reveal(self) -> str:
        """The secret itself, read now.

        :raises SecretError: if the environment variable is not set, or the file cannot be read as UTF-8 text.
        """
        if self._source is _Source.LITERAL:
            return self._text
        if self._source is _Source.ENVIRONMENT:
            value = os.environ.get(self._text)
            if value is None:
                raise SecretError(
                    f"The secret {self} cannot be read: the environment variable {self._text} is not set. "
                    "Set it in the environment of this process."
                )
            return value
        try:
            content = read_file(self._text, most_bytes=bounds.MOST_SECRET_BYTES).decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        else:
            return content.removesuffix("\n").removesuffix("\r")
        # Raised outside of the handler, because the decoding error would be its context and carries the file's bytes.
        raise SecretError(f"The secret {self} cannot be read: {reason}. Check the path and its permissions.")

    def __str__(self) -> str:
        return HIDDEN if self._source is _Source.LITERAL else f"{self._source.value}{self._text}"

    def __repr__(self) -> str:
        return f"Secret({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return (self._source, self._text) == (other._source, other._text)

    def __hash__(self) -> int:
        return hash((self._source, self._text))

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: object) -> Secret:
        return self

    def __reduce__(self) -> tuple[type[Secret] | object, tuple[str]]:
        if self._source is _Source.LITERAL:
            if _travels.get():
                return Secret, (self._text,)
            raise SecretError(
                "srfix does not pickle a literal secret, because it would be sent to other processes unencrypted. "
                "Give it as env:NAME or file:PATH, which each process reads for itself."
            )
        return Secret.parse, (str(self),)


def pickled_with_secrets(thing: object) -> bytes:
    """A pickle that contains literal secrets, and secrets from functions (`carried`), unencrypted: for a job's tasks,
    which a driver sends to its own workers. Neither store it nor show it."""
    token = _travels.set(True)
    try:
        return pickle.dumps(thing)
    finally:
        _travels.reset(token)


def carried(secret: Secret | Callable[[], str], ask: Callable[[], str]) -> Secret | Callable[[], str]:
    """The picklable form of a secret, or of a function that gives one. Within `pickled_with_secrets`, a function that
    other processes cannot import (a lambda, a notebook's function, a bound method of an object that cannot be pickled)
    is called now, and its result is sent. A function that they can import is sent by name, and called there."""
    if isinstance(secret, Secret) or not _travels.get() or _is_importable(secret):
        return secret
    return Secret(ask())


def _is_importable(function: Callable[[], str]) -> bool:
    try:
        return b"__main__" not in pickle.dumps(function)
    except Exception:  # noqa: BLE001  (whatever a foreign object raises when it is pickled)
        return False


def revealed(value: str) -> str:
    """A property's value. `env:NAME` and `file:PATH` are read now; any other value is returned unchanged."""
    return Secret.parse(value).reveal()
