"""HTTP answers with a limited size (also after decompression) and a limited time, whatever the server sends.

requests and urllib3 only limit the time between two bytes. So this module reads and decompresses bodies itself. It
counts every byte of an answer, including its head, and receives it under the deadline (`_Received`). This covers
endless heads, endless `100 Continue`, chunks, trailers, proxies and TLS. Requests go through `exchange`.
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
"""The encodings that the client asks for; it decompresses no others."""
_PIECE: Final = 64 * 2**10
_SENT_AT_ONCE: Final = 16 * 2**10
_MOST_MEMBERS: Final = 64
_SLACK_S: Final = 0.05
"""A socket's time-out may come earlier than its deadline by this time."""
_FRAMING: Final = 2
"""Bytes on the wire for each received byte of a body; these include chunk sizes and trailers."""
_TOO_MUCH_FRAMING: Final = (
    "its answer is mostly chunk sizes and trailers, more than is allowed for headers, so srfix stopped reading "
    "(http.answer.max.head.bytes)"
)
_GZIP: Final = 16 + zlib.MAX_WBITS


class AnswerBoundError(Exception):
    """An answer that exceeds a limit. The text is short and quotes nothing from the server; the caller adds the URL.

    It is not a subclass of OSError, because urllib3 would treat it as a cut connection, and wrap it.
    """


class _Exchange(threading.local):
    bounds = AnswerBounds()
    allowed_s = bounds.deadline_s
    read_timeout_s = 30.0
    ends = float("inf")
    clock: Callable[[], float]

    def left_s(self, *, slack_s: float = 0.0) -> float:
        left = self.read_timeout_s if self.ends == float("inf") else self.ends - self.clock()
        if left <= slack_s:
            raise AnswerBoundError(
                f"its answer was not complete after {self.allowed_s:g} s, so srfix stopped waiting "
                "(http.answer.deadline.ms)"
            )
        return min(left, self.read_timeout_s)


_current: Final = _Exchange()


class _Received(io.RawIOBase):
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
            _current.left_s(slack_s=_SLACK_S)  # raises the deadline's own error, if the deadline is over
            raise
        self._bytes += received or 0
        return received

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(http.client.HTTPResponse):
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

    def read(self, amt: int | None = None) -> bytes:
        try:
            return super().read(amt)
        except http.client.HTTPException as error:
            if not str(error).startswith("got more than"):
                raise
            raise AnswerBoundError(_TOO_MUCH_FRAMING) from None  # newer versions of Python read at most 100 trailers

    def allow(self, body_bytes: int) -> None:
        """Notes the received bytes of a body, and allows more bytes for its framing and the next piece."""
        self._received.most = 2 * _current.bounds.head_bytes + _FRAMING * (body_bytes + _PIECE)


class _Bounded:
    def send(self, data: Any) -> None:
        if not isinstance(data, bytes):
            super().send(data)  # type: ignore[misc]
            return
        # Sent in pieces, because over TLS the time-out applies to each record separately.
        for start in range(0, len(data), _SENT_AT_ONCE):
            sock = getattr(self, "sock", None)
            if sock is not None:
                sock.settimeout(_current.left_s())
            super().send(data[start : start + _SENT_AT_ONCE])  # type: ignore[misc]


class _Connection(_Bounded, HTTPConnection):
    response_class = _Response


class _TlsConnection(_Bounded, HTTPSConnection):
    response_class = _Response


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _TlsPool(HTTPSConnectionPool):
    ConnectionCls = _TlsConnection


_POOLS: Final = {"http": _Pool, "https": _TlsPool}


class BoundedAdapter(HTTPAdapter):
    """Connections with limited answers. Requests over them must go through `exchange`."""

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
    """Uses nothing from the environment, keeps no cookies, ignores redirects (requests would read their whole body)."""

    def __init__(self) -> None:
        super().__init__()
        self.trust_env = False
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        for scheme in ("http://", "https://"):
            self.mount(scheme, BoundedAdapter())

    def get_redirect_target(self, resp: requests.Response) -> str | None:
        """Always None, because redirects are treated like other answers."""
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
    """Sends a request; the answer's head and its decompressed body. `deadline_s` limits the whole exchange."""
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
            response.raw.close()  # otherwise the rest would be read as the next answer
        response.close()
    return response, body


def check_json_parts(body: bytes, bounds: AnswerBounds) -> None:
    """Checks whether a JSON body may be parsed, because its values take up to twenty times the memory of its text."""
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
    """Decompresses one layer of gzip or deflate, piece by piece, and never more than there is room for."""

    def __init__(self, coding: str) -> None:
        self._is_gzip = coding == "gzip"
        self._stream: Any = None
        self._members = 0

    def __call__(self, piece: bytes, room: int) -> bytes:
        """`room` is at least 1: one byte beyond the limit is enough to see that the body is too large."""
        made = bytearray()
        while len(made) < room:
            if self._stream is None:
                if self._members:  # gzip members may follow one another, with padding after the last one
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
                raise urllib3.exceptions.DecodeError("it does not match its Content-Encoding") from None
            if not self._stream.eof:
                break  # the whole piece is used, or there is no room for more
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
        "its answer is compressed more than once, or by a method other than gzip or deflate (Content-Encoding), although "
        "srfix asked only for these; configure the server, or the proxy before it, to compress with one of them or not at all"
    )


def _window_bits(piece: bytes) -> int:
    """deflate may have zlib's header, as it should (RFC 1950: method 8, a multiple of 31), or none."""
    has_header = len(piece) > 1 and piece[0] & 0x0F == 8 and int.from_bytes(piece[:2], "big") % 31 == 0
    return zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS


def _too_big(bounds: AnswerBounds) -> str:
    return (
        f"its answer has more than {bounds.body_bytes:,} bytes after decompression, so srfix stopped reading "
        "(http.answer.max.bytes)"
    )
