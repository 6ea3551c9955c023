"""Who may ask, and how much: authentication, sizes, and connections that say nothing."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from starlette.exceptions import HTTPException

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BODY: Final = 64 << 10
_OPEN: Final = frozenset({"/healthz", "/readyz"})
"""Probes ask without credentials; the answers hold nothing."""
_FIRST_REQUEST_S: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """What a request must show: a bearer token, or a user and a password."""

    token: str | None = field(default=None, repr=False)
    user: str | None = None
    password: str | None = field(default=None, repr=False)

    @property
    def header(self) -> str | None:
        """The Authorization header of a member that asks another one."""
        if self.token is not None:
            return f"Bearer {self.token}"
        if self.user is not None:
            return "Basic " + base64.b64encode(f"{self.user}:{self.password or ''}".encode()).decode()
        return None

    def accepts(self, header: str) -> bool:
        expected = self.header
        if expected is None:
            return True
        kind, _, rest = header.partition(" ")
        wanted_kind, _, wanted = expected.partition(" ")
        if kind.lower() != wanted_kind.lower():
            return False
        if kind.lower() == "basic":
            try:
                return hmac.compare_digest(base64.b64decode(rest, validate=True), base64.b64decode(wanted))
            except (binascii.Error, ValueError):
                return False
        return hmac.compare_digest(rest.strip().encode(), wanted.encode())


class Guard:
    """ASGI middleware: answers 401 itself, and reads no more of a request than it may have."""

    def __init__(self, app: ASGIApp, credentials: Credentials, refuse: Callable[[int, str], ASGIApp]) -> None:
        self._app = app
        self._credentials = credentials
        self._refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        if scope["path"] not in _OPEN and not self._credentials.accepts(headers.get(b"authorization", "")):
            await self._refuse(401, "This server asks for credentials (Authorization).")(scope, receive, send)
            return
        taken = 0

        async def bounded() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > MOST_BODY:
                raise HTTPException(413, f"A request has at most {MOST_BODY:,} bytes.")
            return message

        await self._app(scope, bounded, send)


def impatient(protocol: type[Any]) -> type[Any]:
    """uvicorn's protocol, which waits for ever for the first request of a connection, with a limit."""

    class Impatient(protocol):  # type: ignore[misc]
        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self._first = asyncio.get_running_loop().call_later(_FIRST_REQUEST_S, self._give_up)

        def _give_up(self) -> None:
            if self.cycle is None:
                self.transport.close()

    return Impatient
