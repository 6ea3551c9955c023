"""Credentials: basic authentication and bearer tokens, made again for each request."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import NoReturn, TypeAlias
from urllib.parse import quote

from srfix.serde.errors import SecretError, SrfixError, UsageError
from srfix.serde.registry.secret import HIDDEN, Secret, carried


class Credentials:
    """The credentials of one request, which also remove themselves from the answer's text. They are never shown and
    never pickled.

    They are kept with the answer, so that even a rotated token is found in a page that echoes the request.
    """

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
"""Credentials without anything to send or to hide."""


@dataclass(frozen=True, slots=True, repr=False)
class BasicAuth:
    """User name and password for HTTP basic authentication (RFC 7617, UTF-8).

    :raises UsageError: if the user name holds a colon, which RFC 7617 does not allow.
    """

    username: str
    """The user name; Confluent Cloud's API key."""
    password: Secret | Callable[[], str]
    """The password; Confluent Cloud's API secret. Or a function that returns it (for example from a cluster's secret
    scope). It is called for each request, from any thread, so it should cache a slow result."""

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
            return Credentials({"Authorization": f"Bearer {token}", **self._more_headers()}, (token,))
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

    def _more_headers(self) -> dict[str, str]:
        named = {"target-sr-cluster": self.logical_cluster, "Confluent-Identity-Pool-Id": self.identity_pool}
        return {name: value for name, value in named.items() if value is not None}

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
"""The credentials of a client."""
