"""What a member does again and again: it settles what it holds, and tells the others that it lives and how far it is."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from math import inf
from typing import Final

import anyio
import httpx
import msgspec
from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response

from srfix.recovery import clock
from srfix.recovery.documents import Part
from srfix.recovery.serving.liveness import LAG_EVERY_MS, SEND_MS, Lags
from srfix.recovery.serving.node import Node
from srfix.serde.errors import SrfixError
from srfix.serde.printable import counted

HEARTBEAT_PATH: Final = "/heartbeat"
LAG_PATH: Final = "/lag"
IN_GROUP: Final = "taking part in the group"
_SETTLE_S: Final = 0.25
_LOOK_S: Final = 0.5
_TIMEOUT_S: Final = 0.5
_TELL_S: Final = 5.0
_MOST_NOTES: Final = 100
_DONE: Final = Response(b"{}", media_type="application/json")


class _Heartbeat(Part):
    host: str = msgspec.field(name="hostInfo")
    timestamp: int


class _LagReport(Part):
    member: str
    lags: Lags


class Rounds:
    """
    :param tell: called with notes, and with a line of progress until the partitions are caught up.
    """

    def __init__(self, node: Node, client: httpx.AsyncClient, tell: Callable[[str], None]) -> None:
        self._node = node
        self._client = client
        self._tell = tell
        self._told: tuple[float, int] | None = (time.monotonic(), 0)
        """When progress was told, and how many records had been applied; None if all was caught up."""
        self._sending: set[str] = set()
        self.notes: deque[str] = deque(maxlen=_MOST_NOTES)
        self.problems: dict[str, str] = {}
        """What kept a round from its work, by the round."""

    @asynccontextmanager
    async def going(self) -> AsyncIterator[None]:
        # Not with the threads that answer: either might have to wait for the others.
        in_thread = partial(run_sync, limiter=anyio.CapacityLimiter(inf))
        async with anyio.create_task_group() as self._tasks:
            start = self._tasks.start_soon
            start(self._every, _LOOK_S, IN_GROUP, partial(in_thread, self._node.membership.look))
            start(self._every, _SETTLE_S, "settling", partial(in_thread, self._node.settle))
            for name, follower in self._node.followers.items():
                start(self._every, _LOOK_S, f"asking how far to read {name}", partial(in_thread, follower.look))
            start(self._every, _SETTLE_S, "notes", self._tell_notes)
            start(self._every, SEND_MS / 1000, "heartbeats", self._send_heartbeats)
            start(self._every, LAG_EVERY_MS / 1000, "lags", self._send_lags)
            start(self._every, _TELL_S, "progress", self._tell_progress)
            try:
                yield
            finally:
                self._node.end()
                self._tasks.cancel_scope.cancel()

    async def _every(self, seconds: float, name: str, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            began_s = time.monotonic()
            try:
                await work()
                self.problems.pop(name, None)
            except SrfixError as error:
                self.problems[name] = error.message
            except Exception as error:  # noqa: BLE001  (of whatever kind: the rounds must go on)
                self.problems[name] = f"{name}: {type(error).__name__}: {error}"
            await anyio.sleep(max(seconds - (time.monotonic() - began_s), 0.01))

    async def _tell_notes(self) -> None:
        for part in self._node.parts():
            while part.notes:
                self._note(f"{part.served.name}: {part.notes.pop(0)}.")
        for problem in (*self.problems.values(), *self._node.problems()):
            self._note(problem)

    def _note(self, text: str) -> None:
        """Keeps a line, and tells it if it is new."""
        if text not in self.notes:
            self.notes.append(text)
            self._tell(text)

    async def _send_heartbeats(self) -> None:
        self._send(HEARTBEAT_PATH, _Heartbeat(host=self._node.address, timestamp=clock.now_ms()))

    async def _send_lags(self) -> None:
        self._send(LAG_PATH, _LagReport(member=self._node.address, lags=self._node.own_lags()))

    async def _tell_progress(self) -> None:
        parts = self._node.parts()
        if self._told is None or not parts:
            return
        behind = [lag for part in parts if (lag := part.lag).records != 0 or part.progress.is_mixed]
        now_s, applied = time.monotonic(), sum(part.applied for part in parts)
        rate = (applied - self._told[1]) / max(now_s - self._told[0], _TELL_S)
        if not behind:
            self._tell(f"Caught up: {counted(len(parts), 'partition')}, {counted(applied, 'record')} read.")
            self._told = None
            return
        if applied == self._told[1] > 0:
            return  # it stands still: `problems` say why
        known = [lag.records for lag in behind if lag.records is not None]
        is_known = len(known) == len(behind)
        left = counted(sum(known), "record") if is_known else "an unknown number of records"
        eta = f", about {sum(known) / rate:,.0f} s" if rate and is_known else ""
        self._tell(
            f"{len(parts) - len(behind)} of {counted(len(parts), 'partition')} caught up; {left} to go, "
            f"{rate:,.0f} a second{eta}."
        )
        self._told = (now_s, applied)

    def _send(self, path: str, document: Part) -> None:
        """To each other member, without waiting: one that does not answer must not hold up what the others get."""
        body = msgspec.json.encode(document)
        for address in self._node.membership.members().addresses - {self._node.address}:
            url = self._node.url(address, path)
            if url not in self._sending:
                self._sending.add(url)
                self._tasks.start_soon(self._post, address, url, body)

    async def _post(self, address: str, url: str, body: bytes) -> None:
        try:
            response = await self._client.post(url, content=body, timeout=_TIMEOUT_S)
            why = None if response.is_success else f"it answers {response.status_code}"
        except Exception as error:  # noqa: BLE001  (of whatever kind: that member will be found dead)
            why = f"{type(error).__name__} {error}".strip()
        self._sending.discard(url)
        if why is not None:
            self._note(
                f"The member {address} does not take this member's heartbeats ({why}). If it runs, turn on TLS for "
                "all members or for none, and give each the --advertise by which the others reach it."
            )

    async def heartbeat(self, request: Request) -> Response:
        self._node.liveness.beat(msgspec.json.decode(await request.body(), type=_Heartbeat).host)
        return _DONE

    async def lag(self, request: Request) -> Response:
        report = msgspec.json.decode(await request.body(), type=_LagReport)
        self._node.liveness.report(report.member, report.lags)
        return _DONE
