"""Answers a question from the members that have its partitions: here, or forwarded; another member is asked if one fails."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Final

import httpx
import msgspec
from anyio.to_thread import run_sync
from prometheus_client import Histogram

from srfix.recovery.documents import Count, Part
from srfix.recovery.serving.liveness import PartitionLag
from srfix.recovery.serving.node import Freshness, Node, NotChosen, lag_of
from srfix.recovery.serving.questions import Question, ReadRows, Served
from srfix.serde.errors import SrfixError, UsageError

FORWARD_PATH: Final = "/pieces"
_TRY_S: Final = 0.75
"""How long to wait for a member while another one could be asked."""
_CONNECT_S: Final = 0.5
_REACH_S: Final = 0.01
_MOST_ITERATORS: Final = 32
_MOST_NUMBER: Final = 1 << 31
_MOST_OFFSET: Final = 1 << 63
_NOT_HELD: Final = "it does not hold the partition"
_FILLING: Final = "it is still being filled, so that rows may be missing"
_MIXED: Final = "it has not yet read what came after its head start"
_BUCKETS: Final = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.125, 0.25, 0.5, 1, 2, 5, 10)


class PartitionRead(Part, kw_only=True):
    """How far the rows of a partition are, and who has, or read, them."""

    partition: Count
    member: str
    role: str
    """active or standby."""
    offset: Count
    """Every record of the log before this offset is in the rows."""
    end: Count | None
    """The end of the log that the member has seen, or the offset up to which it reads."""
    lag: Count | None
    """The number of offsets between the two."""
    lag_ms: Count | None
    """The age of the last record that it read while there are later ones, in milliseconds; else 0."""

    @classmethod
    def at(cls, number: int, member: str, role: str, lag: PartitionLag) -> PartitionRead:
        offset, records = lag.current, lag.records
        return cls(
            partition=number, member=member, role=role, offset=offset, end=lag.end, lag=records, lag_ms=lag.lag_ms
        )


class Piece(Part, kw_only=True):
    """Some rows of a partition; the last piece of a partition is `done`."""

    partition: int
    read: PartitionRead | None = None
    """None if there is a problem."""
    rows: list[msgspec.Raw] = msgspec.field(default_factory=list)
    count: int = 0
    done: bool = False
    problem: str | None = None
    """Why the partition could not be read (on)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question, with the bounds of its answer."""

    store: Served
    question: Question
    freshness: Freshness
    deadline: float
    """By `time.monotonic`."""
    counts: bool = False
    """True to count the rows, and read none."""
    is_raw: bool = False
    """True for the bytes of the values, not decoded."""

    @property
    def left_s(self) -> float:
        return max(self.deadline - time.monotonic(), 0.0)


class Forward(Part, kw_only=True):
    """A question as one member sends it to another, which answers from what it holds itself, in lines of `Piece`."""

    store: str
    question: Question
    freshness: Freshness
    partitions: list[int]
    counts: bool
    is_raw: bool
    timeout_s: float


@dataclass(slots=True)
class Gathered:
    """What is known at the end of an answer."""

    reads: dict[int, PartitionRead] = field(default_factory=dict)
    failed: list[NotChosen] = field(default_factory=list)
    count: int | None = None
    """The number of rows, of a question that counts."""
    is_cut: bool = False
    """True if the limit was reached."""


class Gathering:
    """
    :param scheme: of the other members: http or https.
    :param most_iterators: how many questions that are not short this member answers at a time.
    """

    def __init__(
        self, node: Node, client: httpx.AsyncClient, *, scheme: str, most_iterators: int = _MOST_ITERATORS
    ) -> None:
        self._node = node
        self._client = client
        self._scheme = scheme
        self._most_iterators = most_iterators
        self.iterators = 0
        self.seconds = Histogram(
            "srfix_serve_read_seconds",
            "How long questions for keys took, here or by another member.",
            ("where",),
            registry=None,
            buckets=_BUCKETS,
        )

    async def pieces(self, asked: Asked, gathered: Gathered) -> AsyncGenerator[Piece]:
        """The rows, partition by partition. What could not be read is in `gathered.failed` at the end. A key that is not
        where the partitioner says is sought in all partitions if a sample of the keys does not fit the partitioner."""
        store, has_rows = asked.store, False
        home = asked.question.partitions(store.spec.partitions, store.partitioner)
        async with aclosing(self._pieces(asked, gathered, home)) as pieces:
            async for piece in pieces:
                has_rows = has_rows or bool(piece.rows or piece.count)
                yield piece
        others = set(range(store.spec.partitions)).difference(home)
        if has_rows or gathered.failed or not others:
            return
        if await run_sync(self._has_strays, store):
            async with aclosing(self._pieces(asked, gathered, sorted(others))) as pieces:
                async for piece in pieces:
                    yield piece

    def _has_strays(self, store: Served) -> bool:
        held = [part for part in self._node.parts() if part.served is store.spec]
        return any(part.has_strays(store.partitioner) for part in held)

    async def _pieces(self, asked: Asked, gathered: Gathered, partitions: Sequence[int]) -> AsyncGenerator[Piece]:
        store = asked.store
        waiting = {number: self._node.candidates(store, number, asked.freshness) for number in partitions}
        begun: set[int] = set()

        def fail(number: int, address: str, problem: str) -> None:
            candidates, refused = waiting[number]
            refused.append(NotChosen(partition=number, member=address, reason=problem))
            del candidates[0]
            if number in begun:  # another member would give its first rows once more
                gathered.failed += refused
                del waiting[number]

        while waiting:
            groups: dict[str, list[int]] = {}
            for number, (candidates, refused) in [*waiting.items()]:
                if not candidates or asked.left_s <= 0:
                    if candidates:
                        refused.append(NotChosen(partition=number, member=None, reason="the time is over"))
                    gathered.failed += refused
                    del waiting[number]
                else:
                    groups.setdefault(candidates[0].address, []).append(number)
            for address, numbers in groups.items():
                others = all(len(waiting[number][0]) > 1 for number in numbers)
                unanswered = set(numbers)
                began_s = time.monotonic()
                async with aclosing(self._from(asked, address, numbers, has_others=others)) as pieces:
                    async for piece in pieces:
                        number = piece.partition
                        if number not in unanswered:
                            continue
                        if piece.problem is not None:
                            unanswered.remove(number)
                            fail(number, address, piece.problem)
                            continue
                        if piece.rows:
                            begun.add(number)
                        if piece.read is not None:
                            gathered.reads[number] = piece.read
                        yield piece
                        if piece.done:
                            unanswered.remove(number)
                            del waiting[number]
                if asked.question.keys is not None:
                    where = "here" if address == self._node.address else "forwarded"
                    self.seconds.labels(where).observe(time.monotonic() - began_s)
                for number in sorted(unanswered):
                    fail(number, address, "it did not answer")

    async def _from(
        self, asked: Asked, address: str, numbers: Sequence[int], *, has_others: bool
    ) -> AsyncGenerator[Piece]:
        if address == self._node.address:
            for number in numbers:
                async with aclosing(self.here(asked, number, has_others=has_others)) as pieces:
                    async for piece in pieces:
                        yield piece
            return
        forward = Forward(
            store=asked.store.name,
            question=asked.question,
            freshness=asked.freshness,
            partitions=list(numbers),
            counts=asked.counts,
            is_raw=asked.is_raw,
            timeout_s=asked.left_s,
        )
        request = self._client.build_request(
            "POST",
            f"{self._scheme}://{address}{FORWARD_PATH}",
            content=msgspec.json.encode(forward),
            timeout=httpx.Timeout(asked.left_s, connect=min(asked.left_s, _CONNECT_S)),
        )
        problem = "it did not answer"
        try:
            patience_s = min(asked.left_s, _TRY_S) if has_others else asked.left_s
            response = await asyncio.wait_for(self._client.send(request, stream=True), patience_s)
            async with aclosing(response):
                if response.status_code == HTTPStatus.OK:
                    async with aclosing(self._lines(response, asked, address, has_others=has_others)) as lines:
                        async for line in lines:
                            yield msgspec.json.decode(line, type=Piece)
                    return
                problem = f"it answered {response.status_code}"
        except Exception as error:  # noqa: BLE001  (a client's race with a member that dies may be any)
            problem = f"it did not answer ({type(error).__name__})"
        for number in numbers:
            yield _problem(number, problem)

    async def _lines(
        self, response: httpx.Response, asked: Asked, address: str, *, has_others: bool
    ) -> AsyncGenerator[str]:
        """
        :raises TimeoutError: if the time is over, the member died, or another one could be asked and nothing came of late.
        """
        lines, is_first = response.aiter_lines(), True
        while True:
            coming = asyncio.ensure_future(anext(lines, None))
            try:
                while not (await asyncio.wait((coming,), timeout=min(asked.left_s, _TRY_S)))[0]:
                    is_dead = not self._node.liveness.is_alive(address)
                    if is_dead or (has_others and is_first) or asked.left_s <= 0:
                        raise TimeoutError
            finally:
                if not coming.done():
                    coming.cancel()
                    await asyncio.wait((coming,))
            line = coming.result()
            if line is None:
                return
            yield line
            is_first = False

    async def here(self, asked: Asked, number: int, *, has_others: bool = False) -> AsyncGenerator[Piece]:
        """The rows of a partition that this member holds.

        :param has_others: True if another member could be asked: it waits only a moment for `min_position`.
        """
        store, node = asked.store, self._node
        part = node.part(store.name, number)
        if part is None or part.progress.is_mixed:
            yield _problem(number, _NOT_HELD if part is None else _MIXED)
            return
        wanted = asked.freshness.min_offsets.get(number, 0)
        until_s = min(asked.deadline, time.monotonic() + _TRY_S) if has_others else asked.deadline
        while part.offset < wanted and time.monotonic() < until_s:
            await asyncio.sleep(_REACH_S)
        too_old = asked.freshness.problem(number, lag_of(part))
        if too_old is not None:
            yield _problem(number, too_old)
            return

        def piece(chunk: ReadRows) -> Piece:
            role = node.role(store, number, node.address)
            lag = msgspec.structs.replace(lag_of(part), current=chunk.offset)  # it may have gone on since
            read = PartitionRead.at(number, node.address, role, lag)
            return Piece(partition=number, read=read, rows=chunk.rows, count=chunk.count, done=chunk.is_last)

        try:
            is_filled = part.is_filled
            read = None if asked.counts else store.read_now(part, asked.question, is_raw=asked.is_raw)
            if read is not None:
                yield piece(read) if read.rows or is_filled else _problem(number, _FILLING)
                return
            if self.iterators >= self._most_iterators:
                yield _problem(number, f"it is answering {self.iterators} long questions; ask again later")
                return
            self.iterators += 1
            try:
                chunks = store.chunks(part, asked.question, counts=asked.counts, is_raw=asked.is_raw)
                is_whole = is_filled
                while (chunk := await run_sync(next, chunks, None)) is not None:
                    is_whole = is_whole or (asked.question.keys is not None and bool(chunk.count))
                    if chunk.is_last and not is_whole:
                        yield piece(replace(chunk, is_last=False))
                        yield _problem(number, _FILLING)
                        return
                    yield piece(chunk)
                    if asked.left_s <= 0 and not chunk.is_last:
                        yield _problem(number, "the time is over; ask for fewer rows, or give a longer `timeout`")
                        return
            finally:
                self.iterators -= 1
        except SrfixError as error:
            yield _problem(number, error.message.rstrip("."))


def _problem(number: int, problem: str) -> Piece:
    return Piece(partition=number, problem=problem, done=True)


def token_of(topic: str, offsets: Mapping[int, int]) -> str:
    """The position of an answer as a text for `min_position`."""
    text = topic + "/" + ",".join(f"{number}:{offset}" for number, offset in sorted(offsets.items()))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def offsets_of(token: str, topic: str) -> dict[int, int]:
    """:raises UsageError: if the token is none, or is of another topic."""
    try:
        text = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode()
        of_topic, _, pairs = text.rpartition("/")
        offsets = {int(number): int(offset) for number, _, offset in (pair.partition(":") for pair in pairs.split(","))}
    except ValueError:
        offsets = {-1: -1}
    if not all(0 <= number < _MOST_NUMBER and 0 <= offset < _MOST_OFFSET for number, offset in offsets.items()):
        raise UsageError("min_position is not the `position` of an earlier answer.")
    if of_topic != topic:
        raise UsageError(f"min_position is of the topic {of_topic!r}, and the store is made of {topic!r}.")
    return offsets
