"""Who may ask, and how much: authentication, sizes, and clients that are slow on purpose."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from collections.abc import AsyncGenerator, Callable, Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import StreamingResponse
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from srfix.serde.casing import is_same

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BODY: Final = 64 << 10
_MOST_BETWEEN_MEMBERS: Final = 4 << 20
"""A report has an entry for each partition, and a forwarded question may have many keys."""
_MOST_HEAD: Final = 64 << 10
_OPEN: Final = frozenset({"/healthz", "/readyz"})
"""Probes ask without credentials; the answers hold nothing."""
_HEAD_S: Final = 10.0
_BODY_S: Final = 10.0
_GRACE_S: Final = 2.0
_HTTP2: Final = b"PRI"


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a request must show."""

    header: str | None = field(default=None, repr=False)
    """Its Authorization header, also between members; None if nobody is asked for one."""

    def accepts(self, header: str) -> bool:
        expected = self.header
        if expected is None:
            return True
        kind, _, rest = header.partition(" ")
        wanted_kind, _, wanted = expected.partition(" ")
        return is_same(kind, wanted_kind) and hmac.compare_digest(rest.strip().encode(), wanted.encode())

    def signing(self, group: str) -> Callable[[str], str]:
        """Makes what a member of a group writes behind its address, so that the others send credentials to no other address;
        empty without credentials. The key is dear to make: whoever sees the group could guess a short password."""
        if self.header is None:
            return lambda _address: ""
        key = hashlib.scrypt(self.header.encode(), salt=f"srfix serve {group}".encode(), n=1 << 14, r=8, p=5)
        return lambda address: "-" + hashlib.blake2b(address.encode(), key=key, digest_size=16).hexdigest()


class Guard:
    """ASGI middleware: answers 401 itself, and reads no more of a request, and no longer, than it may take.

    :param members_paths: the paths on which only other members ask.
    """

    def __init__(
        self,
        app: ASGIApp,
        credentials: Credentials,
        refuse: Callable[[int, str], ASGIApp],
        *,
        members_paths: Collection[str] = (),
    ) -> None:
        self._app = app
        self._credentials = credentials
        self._refuse = refuse
        self._members_paths = members_paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path, given = scope["path"], Headers(scope=scope).get("authorization", "")
        if path not in _OPEN and not self._credentials.accepts(given):
            says = "does not take these credentials" if given else "asks for credentials"
            await self._refuse(401, f"This server {says} (Authorization).")(scope, receive, send)
            return
        most = _MOST_BETWEEN_MEMBERS if path in self._members_paths else MOST_BODY
        taken, is_over, until_s = 0, False, asyncio.get_running_loop().time() + _BODY_S

        async def bounded() -> Message:
            nonlocal taken, is_over
            if is_over:  # what comes now is that the client goes away
                return await receive()
            try:
                async with asyncio.timeout_at(until_s):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408, f"A request must be complete within {_BODY_S:.0f} seconds.") from None
            taken += len(message.get("body", b""))
            is_over = not message.get("more_body", False)
            if taken > most:
                raise HTTPException(413, f"A request has at most {most:,} bytes.")
            return message

        await self._app(scope, bounded, send)


class Streamed(StreamingResponse):
    """An answer that ends, and what it is made from, when the client goes away, or takes longer than it may."""

    def __init__(self, body: AsyncGenerator[bytes], *, media_type: str, most_s: float) -> None:
        super().__init__(body, media_type=media_type)
        self._body = body
        self._most_s = most_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            async with asyncio.timeout(self._most_s + _GRACE_S):
                await super().__call__(scope, receive, send)
        except TimeoutError:
            pass  # the server closes the connection of an answer that is not complete
        finally:
            await self._body.aclose()


class Impatient(HttpToolsProtocol):
    """uvicorn's protocol, which takes any amount of headers for any time, with limits."""

    alpn_protocols: ClassVar = ["h2", "http/1.1"]
    """What uvicorn offers with TLS."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()

    def _await_head(self) -> None:
        self._head_bytes = 0
        self._giving_up = self.loop.call_later(_HEAD_S, self.transport.close)

    def on_message_begin(self) -> None:
        if self._giving_up.cancelled():
            self._await_head()
        super().on_message_begin()

    def data_received(self, data: bytes) -> None:
        if self.cycle is None and not self._head_bytes and data.startswith(_HTTP2):
            self._become_http2(data)
            return
        super().data_received(data)
        if not self._giving_up.cancelled():  # all of it belonged to headers that have not ended
            self._head_bytes += len(data)
            if self._head_bytes > _MOST_HEAD:
                self.transport.close()

    def _become_http2(self, data: bytes) -> None:
        from srfix.recovery.serving.http2 import Http2  # for the few who speak it

        self._giving_up.cancel()
        self.connections.discard(self)
        http2 = Http2(self.config, self.server_state, self.app_state, self.loop)
        http2.connection_made(self.transport)
        http2.data_received(data)

    def on_headers_complete(self) -> None:
        self._giving_up.cancel()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._giving_up.cancel()
        super().connection_lost(exc)
