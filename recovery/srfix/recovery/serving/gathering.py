"""Answers a question from the members that have its partitions: here, or forwarded; another member is asked if one fails."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from srfix.recovery.documents import Count, Part
from srfix.recovery.serving.node import Candidate, Freshness, Node, NotChosen
from srfix.recovery.serving.partition import ServedPartition
from srfix.recovery.serving.questions import Question, ReadRows, Served
from srfix.serde.errors import SrfixError, UsageError

if TYPE_CHECKING:
    import httpx

FORWARD_PATH: Final = "/pieces"
_TRY_S: Final = 0.75
"""How long to wait for a member while another one could be asked."""
_REACH_S: Final = 0.01

_T = TypeVar("_T")


class Piece(Part, kw_only=True):
    """Some rows of a partition; the last piece of a partition is `done`."""

    partition: int
    member: str
    role: str
    offset: int
    end: int | None
    lag_ms: int | None
    rows: list[msgspec.Raw] = msgspec.field(default_factory=list)
    count: int = 0
    done: bool = False
    problem: str | None = None
    """Why the partition could not be read (on)."""


class PartitionRead(Part, kw_only=True):
    """How far the rows of a partition are, and who read them."""

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

    def note(self, piece: Piece) -> None:
        lag = None if piece.end is None else max(piece.end - piece.offset, 0)
        before = self.reads.get(piece.partition)
        offset = piece.offset if before is None else max(before.offset, piece.offset)
        self.reads[piece.partition] = PartitionRead.of(piece, offset=offset, lag=lag)


class Gathering:
    """:param scheme: of the other members: http or https."""

    def __init__(self, node: Node, client: httpx.AsyncClient, *, scheme: str) -> None:
        self._node = node
        self._client = client
        self._scheme = scheme
        self.forwarded = 0

    async def pieces(self, asked: Asked, gathered: Gathered) -> AsyncGenerator[Piece]:
        """The rows, partition by partition. What could not be read is in `gathered.failed` at the end."""
        store = asked.store
        waiting = {
            number: self._node.candidates(store, number, asked.freshness)
            for number in asked.question.partitions(store.spec.partitions, store.partitioner)
        }
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
                begun: set[int] = set()
                async with aclosing(self._from(asked, address, numbers, has_others=others)) as pieces:
                    async for piece in pieces:
                        number = piece.partition
                        if number not in waiting:
                            continue
                        if piece.problem is not None:
                            self._failed(waiting, gathered, number, address, piece.problem, begun)
                            continue
                        if piece.rows:
                            begun.add(number)
                        gathered.note(piece)
                        yield piece
                        if piece.done:
                            del waiting[number]
                for number in [number for number in numbers if number in waiting and waiting[number][0]]:
                    if waiting[number][0][0].address == address:
                        self._failed(waiting, gathered, number, address, "it did not answer", begun)

    @staticmethod
    def _failed(
        waiting: dict[int, tuple[list[Candidate], list[NotChosen]]],
        gathered: Gathered,
        number: int,
        address: str,
        problem: str,
        begun: set[int],
    ) -> None:
        candidates, refused = waiting[number]
        refused.append(NotChosen(partition=number, member=address, reason=problem))
        del candidates[0]
        if number in begun:  # another member would give its first rows once more
            gathered.failed += refused
            del waiting[number]

    async def _from(
        self, asked: Asked, address: str, numbers: Sequence[int], *, has_others: bool
    ) -> AsyncGenerator[Piece]:
        if address == self._node.address:
            for number in numbers:
                async for piece in self.here(asked, number):
                    yield piece
            return
        import httpx

        self.forwarded += 1
        forward = Forward(
            store=asked.store.name,
            question=asked.question,
            freshness=asked.freshness,
            partitions=list(numbers),
            counts=asked.counts,
            is_raw=asked.is_raw,
            timeout_s=asked.left_s,
        )
        timeout = min(asked.left_s, _TRY_S) if has_others else asked.left_s
        try:
            async with self._client.stream(
                "POST",
                f"{self._scheme}://{address}{FORWARD_PATH}",
                content=msgspec.json.encode(forward),
                timeout=timeout,
            ) as response:
                if response.status_code != 200:
                    await response.aread()
                    problem = f"it answered {response.status_code}"
                    for number in numbers:
                        yield self._problem(number, problem)
                    return
                async for line in response.aiter_lines():
                    yield msgspec.json.decode(line, type=Piece)
        except (httpx.HTTPError, msgspec.MsgspecError) as error:
            for number in numbers:
                yield self._problem(number, f"it did not answer ({type(error).__name__})")

    def _problem(self, number: int, problem: str) -> Piece:
        return Piece(partition=number, member="", role="", offset=0, end=None, lag_ms=None, problem=problem, done=True)

    async def here(self, asked: Asked, number: int) -> AsyncGenerator[Piece]:
        store, node = asked.store, self._node
        part = node.part(store.name, number)
        if part is None:
            yield self._problem(number, "it does not hold the partition")
            return
        wanted = (asked.freshness.min_offsets or {}).get(number, 0)
        while part.offset < wanted and asked.left_s > 0:
            await asyncio.sleep(_REACH_S)
        too_old = asked.freshness.problem(number, node.lag(node.address, store, number))
        if too_old is not None:
            yield self._problem(number, too_old)
            return

        def piece(offset: int, rows: list[msgspec.Raw], *, done: bool, count: int = 0) -> Piece:
            return Piece(
                partition=number,
                member=node.address,
                role=node.role(store, number, node.address),
                offset=offset,
                end=part.end,
                lag_ms=part.lag_ms,
                rows=rows,
                done=done,
                count=count,
            )

        try:
            if asked.counts:
                offset = part.offset
                count = await self._threaded(lambda: store.count(part, asked.question))
                yield piece(offset, [], done=True, count=count)
            elif asked.question.keys is not None:
                read = store.read(part, asked.question)
                yield piece(read.offset, _texts(asked, read), done=True)
            else:
                async for offset, texts in self._chunks(store, part, asked):
                    yield piece(offset, texts, done=False)
                yield piece(part.offset, [], done=True)
        except SrfixError as error:
            yield self._problem(number, error.message.rstrip("."))

    async def _chunks(
        self, store: Served, part: ServedPartition, asked: Asked
    ) -> AsyncIterator[tuple[int, list[msgspec.Raw]]]:
        chunks = store.chunks(part, asked.question)

        def next_chunk() -> tuple[int, list[msgspec.Raw]] | None:
            chunk = next(chunks, None)
            if chunk is None:
                return None
            return chunk.offset, _texts(asked, chunk)

        try:
            while (texts := await self._threaded(next_chunk)) is not None:
                yield texts
                if asked.left_s <= 0:
                    raise UsageError("the time is over; ask for fewer rows, or give a longer `timeout`")
        finally:
            await self._threaded(lambda: _close(chunks))

    async def _threaded(self, work: Callable[[], _T]) -> _T:
        import anyio.to_thread

        return await anyio.to_thread.run_sync(work)


def _texts(asked: Asked, read: ReadRows) -> list[msgspec.Raw]:
    return [msgspec.Raw(asked.store.document(row, is_raw=asked.is_raw).encode()) for row in read.rows]


def _close(chunks: Iterator[object]) -> None:
    close = getattr(chunks, "close", None)
    if close is not None:
        close()


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
        raise UsageError("min_position is not the `position` of an earlier answer.") from None
    if of_topic != topic:
        raise UsageError(f"min_position is of the topic {of_topic!r}, and the store is made of {topic!r}.")
    return offsets
