"""Members without a log and without a group: their rows, positions and neighbours are what a test says."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from pathlib import Path

import httpx

from srfix.recovery.facts.decoding import RecordDecoder
from srfix.recovery.serving.following import Place
from srfix.recovery.serving.gathering import Asked, Gathered, Gathering
from srfix.recovery.serving.liveness import PartitionLag
from srfix.recovery.serving.membership import Members, Membership
from srfix.recovery.serving.node import Freshness, Node
from srfix.recovery.serving.partition import ServedPartition, ServedStore
from srfix.recovery.serving.questions import Piece, Question, Served
from srfix.recovery.serving.starting import rocks_in
from srfix.recovery.state.writing.kinds import WrittenKind
from srfix.recovery.state.writing.stores import StoreToWrite
from tests.recovery.serving.records import TOPIC, Record

OWN = "own:1"


class Neighbours(Membership):
    """A group as a test says it is."""

    def __init__(self, addresses: Iterable[str], active: dict[Place, str]) -> None:
        super().__init__(OWN)
        self._addresses, self.active = frozenset(addresses), active

    def members(self) -> Members:
        return Members(addresses=self._addresses, active=self.active)


class NoLog:
    added = range(0)

    def __init__(self, served: ServedStore) -> None: ...

    def follow(self, partitions: Iterable[ServedPartition]) -> None: ...

    def look(self) -> None: ...

    def close(self) -> None: ...


def served(partitions: int = 1, kind: WrittenKind = WrittenKind.TIMESTAMPED_KV) -> Served:
    spec = ServedStore(
        application="shop", store=StoreToWrite(name="users", kind=kind), topic=TOPIC, partitions=partitions
    )
    return Served(spec=spec, decoder=RecordDecoder(None, roles=()))  # type: ignore[arg-type]


def node_of(
    folder: Path,
    others: Sequence[str] = (),
    *,
    partitions: int = 1,
    standbys: int = 1,
    active: str = OWN,
    end: int | None = None,
    values: Sequence[bytes] = (),
) -> Node:
    """A member that holds all partitions; in each, the key `k` was written with these values, one after the other."""
    neighbours = Neighbours((OWN, *others), {(TOPIC, number): active for number in range(partitions)})
    node = Node(
        {"users": served(partitions)},
        address=OWN,
        membership=neighbours,
        make_follower=NoLog,  # type: ignore[arg-type]
        make_database=rocks_in(folder),
        standbys=standbys,
    )
    node.settle()
    for part in node.parts():
        write(part, values)
        part.see_end(part.offset if end is None else end)
    return node


def write(part: ServedPartition, values: Iterable[bytes], key: bytes = b"k") -> None:
    for value in values:
        part.apply([Record(part.offset, key, value)])  # type: ignore[list-item]


def report(node: Node, address: str, current: int, end: int | None = None, *, numbers: Iterable[int] = (0,)) -> None:
    """Another member lives, and says how far it is."""
    node.liveness.beat(address)
    lag = PartitionLag(current=current, end=end or current, lag_ms=0, is_caught_up=current == (end or current))
    node.liveness.report(address, {"users": dict.fromkeys(numbers, lag)})


Answer = Callable[[httpx.Request], AsyncIterator[bytes]]
"""A member's answer to a question, line by line."""


class Wire(httpx.AsyncBaseTransport):
    """The other members, by address; one without an answer refuses to connect."""

    def __init__(self, answers: dict[str, Answer]) -> None:
        self.answers = answers
        self.asked: list[str] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        address = f"{request.url.host}:{request.url.port}"
        self.asked.append(address)
        if address not in self.answers:
            raise httpx.ConnectError("refused")
        return httpx.Response(200, stream=_Lines(self.answers[address](request)))


class _Lines(httpx.AsyncByteStream):
    def __init__(self, lines: AsyncIterator[bytes]) -> None:
        self._lines = lines

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for line in self._lines:
            yield line


def ask(
    node: Node,
    answers: dict[str, Answer],
    question: Question | None = None,
    *,
    freshness: Freshness | None = None,
    timeout_s: float = 5,
) -> tuple[list[Piece], Gathered, list[str]]:
    """The pieces, what is known at the end, and which other members were asked."""
    wire, gathered = Wire(answers), Gathered()

    async def gather() -> list[Piece]:
        async with httpx.AsyncClient(transport=wire) as client:
            gathering = Gathering(node, client)
            asked = Asked(
                store="users",
                question=question or Question(keys=(b"k",)),
                freshness=freshness or Freshness(),
                deadline=time.monotonic() + timeout_s,
            )
            return [piece async for piece in gathering.pieces(asked, gathered)]

    return asyncio.run(gather()), gathered, wire.asked
