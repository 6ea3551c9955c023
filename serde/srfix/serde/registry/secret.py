"""Secrets and references to secrets, and the credentials made of them: basic authentication and bearer tokens. A
reference is read, and credentials are made, again for each use."""

from __future__ import annotations

import os
import pickle
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from typing import Final, NoReturn, TypeAlias
from urllib.parse import quote

from srfix.serde import bounds
from srfix.serde.errors import SecretError, SrfixError, UsageError
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

    `env:NAME` is the environment variable NAME; `file:PATH` is the content of a file without its last line break; any
    other text is the secret itself. A reference is read again at each use, so a rotated secret is used. A reference can
    be pickled, because the other process reads its own environment or file. A literal cannot be pickled, except by
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
    """A pickle with literal secrets, for a job's tasks on the driver's own workers. Neither store it nor show it."""
    token = _travels.set(True)
    try:
        return pickle.dumps(thing)
    finally:
        _travels.reset(token)


def carried(secret: Secret | Callable[[], str], ask: Callable[[], str]) -> Secret | Callable[[], str]:
    """The picklable form of a secret. Within `pickled_with_secrets`, a function that other processes cannot import (a
    lambda, a notebook's function, a bound method) is called now, and its result is sent; others are sent by name."""
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


class Credentials:
    """The credentials of one request, never shown or pickled; kept with the answer, to hide even a rotated token."""

    __slots__ = ("_headers", "_secrets")

    def __init__(self, headers: Mapping[str, str], secrets: Iterable[str]) -> None:
        """`secrets` are all forms in which the secrets may come back, except the percent-encoded form."""
        self._headers = dict(headers)
        self._secrets = {form for secret in secrets if secret for form in (secret, _percent_encoded(secret))}

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers to send. Keep them out of variables that a traceback could show."""
        return self._headers

    def scrub(self, text: str) -> str:
        """A foreign text (for example a proxy's page that echoes the request) without the secrets."""
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, HIDDEN)
        return text

    def without_headers(self, *more: Credentials) -> Credentials:
        """These credentials together with others, only for scrubbing."""
        return Credentials({}, {secret for one in (self, *more) for secret in one._secrets})

    def __repr__(self) -> str:
        return f"Credentials({HIDDEN})"

    def __reduce__(self) -> NoReturn:
        raise SecretError(
            "srfix does not pickle credentials, because they would be sent to other processes unencrypted."
        )


def _percent_encoded(secret: str) -> str:
    # The environment's undecodable bytes become surrogates, and an encoding error would hold the whole secret.
    return quote(secret, safe="", errors="surrogateescape")


NO_CREDENTIALS = Credentials({}, ())


@dataclass(frozen=True, slots=True, repr=False)
class BasicAuth:
    """User name and password for HTTP basic authentication (RFC 7617, UTF-8).

    :raises UsageError: if the user name holds a colon, which RFC 7617 does not allow.
    """

    username: str
    """The user name; Confluent Cloud's API key."""
    password: Secret | Callable[[], str]
    """The password; Confluent Cloud's API secret. Or a function that returns the password (for example from a cluster's
    secret scope). The function is called for each request, from any thread, so it should cache a slow result."""

    def __post_init__(self) -> None:
        if ":" in self.username:
            raise UsageError("A user name for basic authentication cannot hold a colon (RFC 7617).")

    @classmethod
    def parse(cls, text: str) -> BasicAuth:
        """Reads `USER:PASSWORD`, Confluent's `basic.auth.user.info`; PASSWORD may be `env:NAME` or `file:PATH`.

        :raises UsageError: if there is no colon.
        """
        username, colon, password = text.partition(":")
        if not colon:
            # The text is not shown, because it may be only the password.
            raise UsageError(
                "Credentials must be USER:PASSWORD, but this text has no colon. The password may be env:NAME or "
                "file:PATH."
            )
        return cls(username, Secret.parse(password))

    def header(self) -> str:
        """The value of the Authorization header. Keep it out of variables that a traceback could show.

        :raises SecretError: if the password cannot be read.
        """
        return self.credentials().headers["Authorization"]

    def credentials(self, *, header: str = "Authorization") -> Credentials:
        """The credentials for one request. The password is read now. A proxy's credentials go into another header.

        :raises SecretError: if the password cannot be read.
        """
        password = self._current()
        token = b64encode(f"{self.username}:{password}".encode(errors="surrogateescape")).decode("ascii")
        return Credentials({header: f"Basic {token}"}, (password, token))

    def _current(self) -> str:
        if isinstance(self.password, Secret):
            return self.password.reveal()
        password = _call_secret(self.password, "The registry's password")
        if isinstance(password, str):
            return password
        kind = type(password).__name__
        del password  # deleted, because a traceback shows the variables of this frame
        raise SecretError(
            f"The registry's password from {_origin(self.password)} cannot be used: it is a {kind}, not a text. Check where "
            "it comes from."
        )

    def __repr__(self) -> str:
        password = repr(self.password) if isinstance(self.password, Secret) else _origin(self.password)
        return f"BasicAuth(username={self.username!r}, password={password})"

    def __getstate__(self) -> list[object]:
        return [self.username, carried(self.password, self._current)]


@dataclass(frozen=True, slots=True, repr=False)
class BearerAuth:
    """A bearer token (RFC 6750). It is read again for each request, so that a rotated token is used.

    It can be pickled if its token can: a `Secret` that is a reference, or a module-level function.
    """

    token: Secret | Callable[[], str]
    """The token, or a function that returns it. The function is called for each request, from any thread, so it should
    cache a slow result."""
    logical_cluster: str | None = None
    """Confluent Cloud's registry, `lsrc-…`: the header `target-sr-cluster`; None to send none."""
    identity_pool: str | None = None
    """Confluent Cloud's identity pool, `pool-…`: the header `Confluent-Identity-Pool-Id`; None to send none."""

    def credentials(self) -> Credentials:
        """The credentials for one request.

        :raises SecretError: if the token is not available, or no header can carry it.
        """
        token = self._current()
        if not isinstance(token, str):
            problem = f"it is a {type(token).__name__}, not a text"
        elif not token:
            problem = "it is empty"
        elif not all("!" <= character <= "~" for character in token):
            problem = "it contains blanks, line breaks or characters beyond ASCII, which a header cannot carry"
        else:
            named = {"target-sr-cluster": self.logical_cluster, "Confluent-Identity-Pool-Id": self.identity_pool}
            more = {name: value for name, value in named.items() if value is not None}
            return Credentials({"Authorization": f"Bearer {token}", **more}, (token,))
        del token  # deleted, because a traceback shows the variables of this frame
        raise SecretError(
            f"The bearer token from {_origin(self.token)} cannot be used: {problem}. Check where it comes from."
        )

    def _current(self) -> str:
        if isinstance(self.token, Secret):
            return self.token.reveal()
        return _call_secret(self.token, "The bearer token")

    def __getstate__(self) -> list[object]:
        return [carried(self.token, self._current), self.logical_cluster, self.identity_pool]

    def __repr__(self) -> str:
        more = f"logical_cluster={self.logical_cluster!r}, identity_pool={self.identity_pool!r}"
        return f"BearerAuth({_origin(self.token)}, {more})"


def _call_secret(function: Callable[[], str], what: str) -> str:
    try:
        return function()
    except SrfixError:
        raise
    except Exception as error:  # noqa: BLE001  (whatever a foreign function raises; its text may hold the secret)
        kind = type(error).__name__
    origin = _origin(function)
    # A traceback shows the variables of this frame, and a functools.partial its arguments.
    del function
    # Raised outside of the handler: the other error would be its context, and its frames and text may hold secrets.
    raise SecretError(f"{what} is not available: {origin} raised {kind}. Call it by itself to see the whole error.")


def _origin(secret: Secret | Callable[[], str]) -> str:
    if isinstance(secret, Secret):
        return str(secret)
    # The repr is not used, because a functools.partial shows its arguments.
    return str(getattr(secret, "__qualname__", type(secret).__name__))


Auth: TypeAlias = BasicAuth | BearerAuth
