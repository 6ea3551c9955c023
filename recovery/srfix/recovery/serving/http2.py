"""HTTP/2, which is all that ksqlDB's Java client speaks: h2 reads and writes the frames, uvicorn does the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import DataReceived, Event, RequestReceived, StreamEnded, StreamReset
from h2.exceptions import ProtocolError
from uvicorn.protocols.http.flow_control import service_unavailable
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

if TYPE_CHECKING:
    from starlette.types import Message

_ANSWER_S: Final = 65.0
"""Longer than any answer takes, if the client reads it."""
_TOGETHER: Final = 8 << 10
_MOST_UNANSWERED: Final = 700
"""How many frames and KiB a client may send from one part of an answer to the next, whatever they are. By itself h2 takes
requests back without end, and buffers frames of 16 MiB."""


class Http2(HttpToolsProtocol):
    """A connection on which HTTP/2 has begun; with its requests it counts as one of HTTP/1.1."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        transport.set_protocol(self)
        self._frames = H2Connection(H2Configuration(client_side=False, header_encoding=None))
        self._streams: dict[int, asyncio.Queue[Message]] = {}
        """What was received of each request, for its answer."""
        self._may_send = asyncio.Event()
        """Set when the client takes more, or a stream was closed."""
        self._unanswered = 0
        self._frames.initiate_connection()
        self._await_request()

    def _await_request(self) -> None:
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.shutdown)

    def data_received(self, data: bytes) -> None:
        try:
            for start in range(0, len(data), _TOGETHER):
                self._take(data[start : start + _TOGETHER])
        except ProtocolError:
            self._hang_up()
        self._flush()

    def _take(self, data: bytes) -> None:
        """:raises ProtocolError: if it breaks the rules, or is too much."""
        events = self._frames.receive_data(data)
        self._unanswered += len(events) + (len(data) >> 10)
        if self._unanswered > _MOST_UNANSWERED:
            raise ProtocolError
        for event in events:
            self._take_event(event)

    def _take_event(self, event: Event) -> None:
        match event:
            case RequestReceived():
                self._begin(event.stream_id, event.headers)
            case DataReceived() if event.stream_id in self._streams:
                self._frames.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                message = {"type": "http.request", "body": event.data, "more_body": True}
                self._streams[event.stream_id].put_nowait(message)
            case StreamEnded() if event.stream_id in self._streams:
                self._streams[event.stream_id].put_nowait({"type": "http.request", "more_body": False})
            case StreamReset():
                self._close(event.stream_id)
            case _:
                self._may_send.set()  # a window may be wider

    def _begin(self, number: int, headers: list[tuple[bytes, bytes]]) -> None:
        fields = dict(headers)
        path, _, query = fields.get(b":path", b"").partition(b"?")
        self.on_message_begin()  # makes the scope
        self.scope |= {
            "http_version": "2",
            "method": fields[b":method"].decode("latin-1"),
            "path": unquote(path.decode("latin-1")),
            "raw_path": path,
            "query_string": query,
        }
        named = [(b"host" if name == b":authority" else name, value) for name, value in headers]
        self.headers += [(name, value) for name, value in named if not name.startswith(b":")]
        busy = max(len(self.connections), len(self.tasks))
        app: Any = service_unavailable if busy >= (self.limit_concurrency or inf) else self.app
        self._unset_keepalive_if_required()
        received = self._streams[number] = asyncio.Queue()
        send = partial(self._send, number, self.scope["method"] != "HEAD")
        task = self.loop.create_task(self._answer(number, partial(app, self.scope, received.get, send)))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def _answer(self, number: int, answer: Callable[[], Awaitable[None]]) -> None:
        with suppress(TimeoutError):
            try:
                async with asyncio.timeout(_ANSWER_S):
                    await answer()
            finally:
                self._close(number, ErrorCodes.INTERNAL_ERROR)

    async def _send(self, number: int, has_body: bool, message: Message) -> None:
        with suppress(ProtocolError):  # the stream was closed
            if message["type"] == "http.response.start":
                status = (b":status", str(message["status"]).encode())
                self._frames.send_headers(number, [status, *self.server_state.default_headers, *message["headers"]])
            else:
                await self._send_body(number, message.get("body", b"") if has_body else b"")
                if not message.get("more_body", False):
                    self._frames.end_stream(number)
                    self._close(number)
            self._unanswered = 0
            self._flush()

    async def _send_body(self, number: int, body: bytes) -> None:
        sent = 0
        while sent < len(body) and number in self._streams:
            room = min(self._frames.local_flow_control_window(number), self._frames.max_outbound_frame_size)
            if room > 0:
                self._frames.send_data(number, body[sent : sent + room])
                self._flush()
                self._unanswered, sent = 0, sent + room
                await self.flow.drain()
            else:
                self._may_send.clear()
                await self._may_send.wait()

    def _close(self, number: int, why: ErrorCodes = ErrorCodes.NO_ERROR) -> None:
        """Ends a stream, for a side that has not ended it."""
        with suppress(ProtocolError):  # both have
            self._frames.reset_stream(number, why)
        if number in self._streams:
            self._streams.pop(number).put_nowait({"type": "http.disconnect"})
            self._may_send.set()
            if not self._streams:
                self._await_request()
        self._flush()

    def _flush(self) -> None:
        if (data := self._frames.data_to_send()) and not self.transport.is_closing():
            self.transport.write(data)

    def shutdown(self) -> None:
        self.timeout_keep_alive = 0
        if not self._streams:
            self._hang_up()

    def _hang_up(self) -> None:
        self._frames.close_connection()
        self._flush()
        self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        for number in [*self._streams]:
            self._close(number)
        super().connection_lost(exc)
        self._unset_keepalive_if_required()
