"""Answers over HTTP that end: bounded in size, after decompression too, and in time, whatever the server sends.

requests and urllib3 know a time-out between two bytes, and no other bound. So bodies are read and decompressed here, and
every byte of an answer, its head included, is received under the deadline and counted (`_Received`): that holds for heads
without end, `100 Continue` without end, chunks, trailers, proxies and TLS alike.

The registry's client and ksqlDB's send by `exchange`; nothing else here talks to a server.
"""

from __future__ import annotations

import http.client
import io
import socket
import threading
import time
import zlib
from collections.abc import Callable
from http.cookiejar import DefaultCookiePolicy
from typing import Any, Final, cast

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from srfix.serde.bounds import AnswerBounds

ACCEPT_ENCODING: Final = "gzip, deflate"
"""What the client asks for, and all that it decompresses."""
_PIECE: Final = 64 * 2**10
_SENT_AT_ONCE: Final = 16 * 2**10
_MOST_MEMBERS: Final = 64
_SLACK_S: Final = 0.05
"""A socket's time-out may come this much before the deadline that it was set for."""
_FRAMING: Final = 2
"""Bytes on the wire for each of a body that has come: chunk sizes and trailers count there."""
_TOO_MUCH_FRAMING: Final = (
    "its answer is mostly chunk sizes and trailers, beyond the room that headers have, and was not read on "
    "(http.answer.max.head.bytes)"
)
_GZIP: Final = 16 + zlib.MAX_WBITS


class AnswerBoundError(Exception):
    """An answer beyond a bound. Its text is a few words without what the server sent; the caller says of which URL.

    No subclass of OSError: urllib3 would take it for a connection that was cut, and wrap it.
    """


class _Exchange(threading.local):
    """What bounds the answer that this thread waits for."""

    bounds = AnswerBounds()
    allowed_s = bounds.deadline_s
    read_timeout_s = 30.0
    ends = float("inf")
    clock: Callable[[], float]

    def left_s(self, *, slack_s: float = 0.0) -> float:
        """Seconds for the next receive or send."""
        left = self.read_timeout_s if self.ends == float("inf") else self.ends - self.clock()
        if left <= slack_s:
            raise AnswerBoundError(
                f"its answer was not complete after {self.allowed_s:g} s, so srfix stopped waiting "
                "(http.answer.deadline.ms)"
            )
        return min(left, self.read_timeout_s)


_current: Final = _Exchange()


class _Received(io.RawIOBase):
    """What comes from a socket, under the deadline, and counted."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._raw = sock.makefile("rb", buffering=0)
        self._bytes = 0
        self.most = _current.bounds.head_bytes
        self.beyond = (
            f"its answer has more than {self.most:,} bytes of headers, so srfix stopped reading "
            "(http.answer.max.head.bytes)"
        )

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = _current.left_s()
        if self._bytes > self.most:
            raise AnswerBoundError(self.beyond)
        self._socket.settimeout(left)
        try:
            received = self._raw.readinto(buffer)
        except TimeoutError:
            _current.left_s(slack_s=_SLACK_S)  # the deadline's own words, if it was that
            raise
        self._bytes += received or 0
        return received

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(http.client.HTTPResponse):
    """Reads its head and body from `_Received`."""

    def __init__(self, sock: socket.socket, *arguments: Any, **more: Any) -> None:
        super().__init__(sock, *arguments, **more)
        self.fp.close()
        self._received = _Received(sock)
        self.fp = io.BufferedReader(self._received)

    def begin(self) -> None:
        try:
            super().begin()
        except http.client.LineTooLong:
            raise AnswerBoundError(
                "its answer has a header of more than 65,536 bytes, which Python does not read"
            ) from None
        except http.client.HTTPException as error:
            if not str(error).startswith("got more than"):
                raise
            raise AnswerBoundError("its answer has more than 100 headers, which Python does not read") from None
        self._received.beyond = _TOO_MUCH_FRAMING
        self.allow(0)

    def allow(self, body_bytes: int) -> None:
        """As much of a body has come; allows for its framing, and for the next piece."""
        self._received.most = 2 * _current.bounds.head_bytes + _FRAMING * (body_bytes + _PIECE)


class _Bounded:
    """What both kinds of connections share."""

    def send(self, data: Any) -> None:
        if not isinstance(data, bytes):
            super().send(data)  # type: ignore[misc]
            return
        # In pieces: over TLS the time-out holds for each record by itself.
        for start in range(0, len(data), _SENT_AT_ONCE):
            sock = getattr(self, "sock", None)
            if sock is not None:
                sock.settimeout(_current.left_s())
            super().send(data[start : start + _SENT_AT_ONCE])  # type: ignore[misc]


class _Connection(_Bounded, HTTPConnection):
    """http."""

    response_class = _Response


class _TlsConnection(_Bounded, HTTPSConnection):
    """https."""

    response_class = _Response


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _TlsConnection


_POOLS: Final = {"http": _Pool, "https": _TlsPool}


class BoundedAdapter(HTTPAdapter):
    """Connections whose answers end. What is sent over them must go by `exchange`."""

    def send(self, request: requests.PreparedRequest, *arguments: Any, **options: Any) -> requests.Response:
        _current.read_timeout_s = options["timeout"][1]
        return super().send(request, *arguments, **options)

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **pool: Any) -> None:
        super().init_poolmanager(connections, maxsize, block, **pool)
        self.poolmanager.pool_classes_by_scheme = _POOLS

    def proxy_manager_for(self, proxy: str, **pool: Any) -> Any:
        manager = super().proxy_manager_for(proxy, **pool)
        manager.pool_classes_by_scheme = _POOLS
        return manager


class BoundedSession(requests.Session):
    """Nothing from the environment, no cookies kept, and no redirect looked into: requests would read its whole body."""

    def __init__(self) -> None:
        super().__init__()
        self.trust_env = False
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        for scheme in ("http://", "https://"):
            self.mount(scheme, BoundedAdapter())

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        """None: redirects are answers like any others here."""
        return None


def exchange(
    session: BoundedSession,
    prepared: requests.PreparedRequest,
    *,
    bounds: AnswerBounds,
    connect_timeout_s: float,
    read_timeout_s: float,
    deadline_s: float | None = None,
    clock: Callable[[], float] = time.monotonic,
    **more: Any,
) -> tuple[requests.Response, bytes]:
    """Sends a request; the answer's head, and its body, decompressed. The connection is free for the next one then.
    `deadline_s` are seconds for the whole, where that is less than the bounds say. `more` is what
    `requests.Session.send` takes besides: `verify`, `proxies`."""
    _current.bounds, _current.clock = bounds, clock
    allowed_s = bounds.deadline_s if deadline_s is None else min(bounds.deadline_s, deadline_s)
    _current.allowed_s, _current.ends = allowed_s, clock() + allowed_s
    prepared.headers["Accept-Encoding"] = ACCEPT_ENCODING
    timeout = (min(connect_timeout_s, allowed_s), min(read_timeout_s, allowed_s))
    response = session.send(prepared, timeout=timeout, stream=True, allow_redirects=False, **more)
    is_read = False
    try:
        body = _body(response, bounds)
        is_read = True
    finally:
        if not is_read:
            response.raw.close()  # what is left would be taken for the next answer
        response.close()
    return response, body


def check_json_parts(body: bytes, bounds: AnswerBounds) -> None:
    """Whether a JSON body may be parsed: its values take up to twenty times the room of their text."""
    if len(body) <= bounds.json_parts:
        return
    parts = body.count(b",") + body.count(b"[") + body.count(b"{")
    if parts > bounds.json_parts:
        raise AnswerBoundError(
            f"its answer has {parts:,} parts (commas and opening brackets), more than the allowed "
            f"{bounds.json_parts:,}, so srfix does not parse it (http.answer.max.parts)"
        )


def _body(response: requests.Response, bounds: AnswerBounds) -> bytes:
    raw: urllib3.HTTPResponse = response.raw
    decompress = _decompressor(response.headers.get("Content-Encoding", ""))
    announced = response.headers.get("Content-Length", "")
    if announced.isdecimal() and len(announced) < 20 and int(announced) > bounds.body_bytes:
        raise AnswerBoundError(_too_big(bounds))
    body, came = bytearray(), 0
    while piece := raw.read(_PIECE, decode_content=False):
        came += len(piece)
        cast("_Response", raw._original_response).allow(came)
        body += piece if decompress is None else decompress(piece, bounds.body_bytes + 1 - len(body))
        if len(body) > bounds.body_bytes:
            raise AnswerBoundError(_too_big(bounds))
    if decompress is not None:
        decompress.finish()
    return bytes(body)


class _Decompressor:
    """One layer of gzip or deflate, a piece at a time, never more of it than there is room for."""

    def __init__(self, coding: str) -> None:
        self._is_gzip = coding == "gzip"
        self._stream: Any = None
        self._members = 0

    def __call__(self, piece: bytes, room: int) -> bytes:
        """`room` is at least 1: one byte more than may come is enough to see that it is too much."""
        made = bytearray()
        while len(made) < room:
            if self._stream is None:
                if self._members:  # gzip's may follow one another, and padding the last one
                    piece = piece.lstrip(b"\0") if self._is_gzip else b""
                if not piece:
                    break
                self._members += 1
                if self._members > _MOST_MEMBERS:
                    raise urllib3.exceptions.DecodeError("too many members")
                self._stream = zlib.decompressobj(_GZIP if self._is_gzip else _window_bits(piece))
            try:
                made += self._stream.decompress(piece, room - len(made))
            except zlib.error:
                raise urllib3.exceptions.DecodeError("not what its Content-Encoding says") from None
            if not self._stream.eof:
                break  # all of the piece is used, or there is no room for more
            piece, self._stream = self._stream.unused_data, None
        return bytes(made)

    def finish(self) -> None:
        """:raises urllib3.exceptions.DecodeError: if the stream was cut off."""
        if self._stream is not None:
            raise urllib3.exceptions.DecodeError("it ends in the middle")


def _decompressor(content_encoding: str) -> _Decompressor | None:
    codings = [coding.strip().lower() for coding in content_encoding.split(",")]
    codings = ["gzip" if coding == "x-gzip" else coding for coding in codings if coding not in ("", "identity")]
    if not codings:
        return None
    if len(codings) == 1 and codings[0] in ("gzip", "deflate"):
        return _Decompressor(codings[0])
    raise AnswerBoundError(
        f"its answer is compressed in {len(codings)} layers, or not with gzip or deflate, as srfix asked "
        "(Content-Encoding); configure the server, or the proxy before it, to compress once or not at all"
    )


def _window_bits(piece: bytes) -> int:
    """deflate comes with zlib's header, as it should (RFC 1950: method 8, a multiple of 31), or bare."""
    has_header = len(piece) > 1 and piece[0] & 0x0F == 8 and int.from_bytes(piece[:2], "big") % 31 == 0
    return zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS


def _too_big(bounds: AnswerBounds) -> str:
    return f"its answer has more than {bounds.body_bytes:,} bytes, decompressed, and was not read on (http.answer.max.bytes)"
