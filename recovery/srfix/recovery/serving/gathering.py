"""Answers a question from the members that have its partitions: here, or forwarded; another member is asked if one fails."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import AsyncGenerator, Awaitable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from http import HTTPStatus
from typing import Final, TypeVar

import httpx
import msgspec
from anyio.to_thread import run_sync
from prometheus_client import Histogram

from srfix.recovery.errors import ServingError
from srfix.recovery.serving.liveness import PartitionRead
from srfix.recovery.serving.node import Freshness, Node, NotChosen
from srfix.recovery.serving.partition import ServedPartition
from srfix.recovery.serving.questions import Piece, Question, Served
from srfix.serde.errors import SrfixError, UsageError

_Answer = TypeVar("_Answer")
FORWARD_PATH: Final = "/pieces"
_TRY_S: Final = 0.75
"""How long to wait for a member while another one could be asked."""
_CONNECT_S: Final = 0.5
_REACH_S: Final = 0.01
_MOST_ITERATORS: Final = 32
"""How many questions that are not short a member answers at a time."""
_MOST_NUMBER: Final = 1 << 31
_MOST_OFFSET: Final = 1 << 63
_NOT_HELD: Final = "it does not hold the partition"
_ADDED: Final = "the topic got it after `srfix serve` was started: restart all members"
_FILLING: Final = "it is still being filled, so that rows may be missing"
_MIXED: Final = "it has not yet read what came after its head start"
_TIME_IS_OVER: Final = "the time is over; ask for fewer rows, or give a longer `timeout`"
_BUCKETS: Final = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.125, 0.25, 0.5, 1, 2, 5, 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question, with the bounds of its answer; also as one member sends it to another, which answers from what it holds
    itself, in lines of `Piece`."""

    store: str
    question: Question
    freshness: Freshness
    deadline: float
    """By `time.monotonic`; between members, the seconds left."""
    partitions: Sequence[int] = ()
    """The partitions that another member is asked for."""

    @property
    def left_s(self) -> float:
        return max(self.deadline - time.monotonic(), 0.0)


@dataclass(slots=True)
class Gathered:
    """What is known at the end of an answer."""

    reads: dict[int, PartitionRead] = field(default_factory=dict)
    failed: list[NotChosen] = field(default_factory=list)
    count: int = 0
    """The number of rows."""
    is_cut: bool = False
    """True if the limit was reached."""


class Gathering:
    def __init__(self, node: Node, client: httpx.AsyncClient) -> None:
        self._node = node
        self._client = client
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
        store = self._node.stores[asked.store]
        home = asked.question.partitions(store.spec.partitions, store.partitioner)
        others = sorted(set(range(store.spec.partitions)).difference(home))
        for numbers in (home, others):
            async with aclosing(self._pieces(asked, gathered, numbers)) as pieces:
                async for piece in pieces:
                    gathered.count += piece.count
                    yield piece
            if gathered.count or gathered.failed or not others or not await run_sync(self._has_strays, store):
                break
        if not gathered.count:
            added = self._node.followers[asked.store].added
            gathered.failed += (NotChosen(partition=number, member=None, reason=_ADDED) for number in added)

    def _has_strays(self, store: Served) -> bool:
        held = [part for part in self._node.parts() if part.served is store.spec]
        return any(part.has_strays(store.partitioner) for part in held)

    async def _pieces(self, asked: Asked, gathered: Gathered, partitions: Iterable[int]) -> AsyncGenerator[Piece]:
        store = self._node.stores[asked.store]
        waiting = {number: self._node.candidates(store, number, asked.freshness) for number in partitions}
        begun: set[int] = set()
        while waiting:
            groups: dict[str, list[int]] = {}
            for number, (candidates, refused) in [*waiting.items()]:
                if number in begun:  # another member would give its first rows once more
                    candidates.clear()
                elif candidates and asked.left_s <= 0:
                    candidates.clear()
                    refused.append(NotChosen(partition=number, member=None, reason="the time is over"))
                if candidates:
                    groups.setdefault(candidates[0].address, []).append(number)
                else:
                    gathered.failed += refused
                    del waiting[number]
            for address, numbers in groups.items():
                unanswered, began_s = set(numbers), time.monotonic()
                has_others = all(len(waiting[number][0]) > 1 for number in numbers)
                answer = self.here if address == self._node.address else partial(self._there, address)
                async with aclosing(answer(replace(asked, partitions=numbers), has_others=has_others)) as pieces:
                    async for piece in pieces:
                        number = piece.partition
                        if number not in unanswered:
                            continue
                        if piece.done or piece.problem is not None:
                            unanswered.remove(number)
                        if piece.problem is not None:
                            candidates, refused = waiting[number]
                            refused.append(NotChosen(partition=number, member=address, reason=piece.problem))
                            del candidates[0]
                            continue
                        if piece.count:
                            begun.add(number)
                        if piece.read is not None:
                            gathered.reads[number] = piece.read
                        yield piece
                        if piece.done:
                            del waiting[number]
                if asked.question.keys is not None:
                    where = "here" if address == self._node.address else "forwarded"
                    self.seconds.labels(where).observe(time.monotonic() - began_s)

    async def _there(self, address: str, asked: Asked, *, has_others: bool) -> AsyncGenerator[Piece]:
        """What another member answers; a piece that is `done` may be followed by others."""
        left_s, problem = asked.left_s, "it did not answer"
        request = self._client.build_request(
            "POST",
            self._node.url(address, FORWARD_PATH),
            content=msgspec.json.encode(replace(asked, deadline=left_s)),
            timeout=httpx.Timeout(left_s, connect=min(left_s, _CONNECT_S)),
        )
        try:
            response = await self._soon(self._client.send(request, stream=True), asked, address, has_others=has_others)
            async with aclosing(response):
                if response.status_code == HTTPStatus.OK:
                    lines = response.aiter_lines()
                    while line := await self._soon(anext(lines, None), asked, address, has_others=has_others):
                        yield msgspec.json.decode(line, type=Piece)
                        has_others = False
                else:
                    problem = f"it answered {response.status_code}"
        except Exception as error:  # noqa: BLE001  (a client's race with a member that dies may be any)
            problem = f"it did not answer ({type(error).__name__})"
        for number in asked.partitions:
            yield Piece(partition=number, problem=problem)

    async def _soon(self, answer: Awaitable[_Answer], asked: Asked, address: str, *, has_others: bool) -> _Answer:
        """
        :param has_others: True if another member could be asked.
        :raises TimeoutError: if the time is over, the member died, or another one could be asked and nothing came of late.
        """
        coming = asyncio.ensure_future(answer)
        try:
            while not (await asyncio.wait((coming,), timeout=min(asked.left_s, _TRY_S)))[0]:
                if has_others or asked.left_s <= 0 or not self._node.liveness.is_alive(address):
                    raise TimeoutError
        finally:
            if not coming.done():
                coming.cancel()
                await asyncio.wait((coming,))
        return coming.result()

    async def here(self, asked: Asked, *, has_others: bool = False) -> AsyncGenerator[Piece]:
        """The rows of partitions that this member holds.

        :param has_others: True if another member could be asked: it waits only a moment for `min_position`.
        """
        for number in asked.partitions:
            try:
                async with aclosing(self._held(asked, number, has_others=has_others)) as pieces:
                    async for piece in pieces:
                        yield piece
            except SrfixError as error:
                yield Piece(partition=number, problem=error.message.rstrip("."))

    async def _held(self, asked: Asked, number: int, *, has_others: bool) -> AsyncGenerator[Piece]:
        """
        :raises SrfixError: if the partition cannot be read (on).
        """
        node, store = self._node, self._node.stores[asked.store]
        part = node.part(store.name, number)
        if part is None or part.progress.is_mixed:
            raise ServingError(_NOT_HELD if part is None else _MIXED)
        wanted = asked.freshness.min_offsets.get(number, 0)
        until_s = min(asked.deadline, time.monotonic() + _TRY_S) if has_others else asked.deadline
        while part.offset < wanted and time.monotonic() < until_s:
            await asyncio.sleep(_REACH_S)
        too_old = asked.freshness.problem(part.lag)
        if too_old is None and part.offset < wanted:
            too_old = f"it has read up to offset {part.offset:,}, and {wanted:,} is wanted"
        if too_old is not None:
            raise ServingError(too_old)
        one_is_all = asked.question.keys is not None and not store.spec.store.kind.is_segmented
        offset, is_whole = part.offset, part.is_filled
        async with aclosing(self._chunks(store, part, asked.question)) as pieces:
            async for piece in pieces:
                if piece.offset < offset:
                    raise ServingError(_FILLING)  # its rows were removed meanwhile
                is_whole = is_whole or (one_is_all and bool(piece.count))
                is_last, piece.done = piece.done, piece.done and is_whole
                lag = msgspec.structs.replace(part.lag, current=piece.offset)  # it may have gone on since
                piece.read = PartitionRead.at(number, node.address, node.role(store, number, node.address), lag)
                yield piece
                if is_last and not is_whole:
                    raise ServingError(_FILLING)
                if not is_last and asked.left_s <= 0:
                    raise ServingError(_TIME_IS_OVER)

    async def _chunks(self, store: Served, part: ServedPartition, question: Question) -> AsyncGenerator[Piece]:
        """At once if that waits for nothing, else some rows at a time."""
        piece = store.read_now(part, question)
        if piece is not None:
            yield piece
            return
        if self.iterators >= _MOST_ITERATORS:
            raise ServingError(f"it is answering {self.iterators} long questions; ask again later")
        self.iterators += 1
        try:
            chunks = store.chunks(part, question)
            while (piece := await run_sync(next, chunks, None)) is not None:
                yield piece
        finally:
            self.iterators -= 1


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
