"""Answers from several members, of which some are dead, slow, behind, or break off."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from dataclasses import replace
from pathlib import Path

import httpx
import msgspec
import pytest

from srfix.recovery.serving.gathering import offsets_of, token_of
from srfix.recovery.serving.liveness import PartitionLag, PartitionRead
from srfix.recovery.serving.node import Freshness, Node
from srfix.recovery.serving.questions import Piece, Question
from srfix.serde.errors import UsageError
from tests.recovery.serving.members import OWN, ask, node_of, report, write

EVERYTHING = Question()


def _line(value: str, *, number: int = 0, offset: int = 9, done: bool = True, problem: str | None = None) -> bytes:
    rows = [] if problem else [msgspec.Raw(msgspec.json.encode(value))]
    lag = PartitionLag(current=offset, end=offset, lag_ms=0, is_caught_up=True)
    piece = Piece(
        partition=number,
        read=None if problem else PartitionRead.at(number, "b:1", "active", lag),
        rows=rows,
        count=len(rows),
        done=done,
        problem=problem,
    )
    return msgspec.json.encode(piece) + b"\n"


async def _answers(_request: httpx.Request) -> AsyncIterator[bytes]:
    yield _line("from b")


async def _is_silent(_request: httpx.Request) -> AsyncIterator[bytes]:
    await asyncio.sleep(60)
    yield b""


async def _breaks_off(_request: httpx.Request) -> AsyncIterator[bytes]:
    yield _line("the first of b", done=False)
    raise httpx.ReadError("gone")


async def _ends_early(_request: httpx.Request) -> AsyncIterator[bytes]:
    yield _line("the first of b", done=False)


async def _talks_nonsense(_request: httpx.Request) -> AsyncIterator[bytes]:
    yield b"<html>\n"


async def _is_behind(_request: httpx.Request) -> AsyncIterator[bytes]:
    yield _line("", problem="it has read up to offset 3, and 8 is wanted")


async def _refuses_and_breaks_off(_request: httpx.Request) -> AsyncIterator[bytes]:
    yield _line("", problem="it does not hold the partition")
    raise httpx.ReadError("gone")


@pytest.fixture
def node(tmp_path: Path) -> Node:
    """It is a standby of what b:1 has."""
    node = node_of(tmp_path, ["b:1"], active="b:1", values=[b"own"])
    report(node, "b:1", 9)
    return node


def _rows(pieces: list[Piece]) -> str:
    return " ".join(bytes(row).decode() for piece in pieces for row in piece.rows)


def test_a_member_that_refuses_and_then_dies_is_passed_over_once(node: Node) -> None:
    pieces, gathered, _ = ask(node, {"b:1": _refuses_and_breaks_off})
    assert _rows(pieces) == _rows(ask(node, {})[0]) != ""
    assert not gathered.failed


def test_the_active_member_is_asked(node: Node) -> None:
    pieces, gathered, asked = ask(node, {"b:1": _answers})
    assert (_rows(pieces), asked) == ('"from b"', ["b:1"])
    assert (gathered.reads[0].member, gathered.reads[0].offset, gathered.failed) == ("b:1", 9, [])


@pytest.mark.parametrize(
    "answer", [None, _is_silent, _talks_nonsense, _is_behind], ids=["dead", "silent", "html", "behind"]
)
@pytest.mark.parametrize("question", [None, EVERYTHING], ids=["a key", "all rows"])
def test_another_member_answers_in_the_same_request(node: Node, answer: object, question: Question | None) -> None:
    began_s = time.monotonic()
    pieces, gathered, _ = ask(node, {} if answer is None else {"b:1": answer}, question)  # type: ignore[dict-item]
    assert "b3du" in _rows(pieces)
    assert time.monotonic() - began_s < 3
    assert (gathered.reads[0].member, gathered.reads[0].role, gathered.failed) == (OWN, "standby", [])


@pytest.mark.parametrize("answer", [_breaks_off, _ends_early])
def test_rows_are_not_given_twice_when_a_member_breaks_off(node: Node, answer: object) -> None:
    pieces, gathered, _ = ask(node, {"b:1": answer}, EVERYTHING)  # type: ignore[dict-item]
    assert _rows(pieces) == '"the first of b"'
    (failed,) = gathered.failed
    assert (failed.member, failed.partition) == ("b:1", 0)
    assert failed.reason.startswith("it did not answer")


def test_nor_are_they_counted_twice(node: Node) -> None:
    async def counts_some(_request: httpx.Request) -> AsyncIterator[bytes]:
        yield msgspec.json.encode(Piece(partition=0, count=3, done=False)) + b"\n"

    _, gathered, _ = ask(node, {"b:1": counts_some}, replace(EVERYTHING, counts=True))
    assert (gathered.count, [failed.member for failed in gathered.failed]) == (3, ["b:1"])


def test_a_member_that_dies_while_it_answers_is_not_waited_for(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    async def stops(_request: httpx.Request) -> AsyncIterator[bytes]:
        yield _line("the first of b", done=False)
        monkeypatch.setattr(node.liveness, "is_alive", lambda _address: False)
        await asyncio.sleep(60)

    began_s = time.monotonic()
    _, gathered, _ = ask(node, {"b:1": stops}, EVERYTHING, timeout_s=20)
    assert time.monotonic() - began_s < 5
    assert gathered.failed[0].member == "b:1"


def test_one_that_is_slow_is_waited_for_if_nobody_else_can_answer(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    async def is_slow(_request: httpx.Request) -> AsyncIterator[bytes]:
        await asyncio.sleep(1.2)
        yield _line("late")

    monkeypatch.setattr(node.liveness, "is_alive", lambda _address: True)
    pieces, _, _ = ask(node, {"b:1": is_slow}, freshness=Freshness(reads_standbys=False))
    assert _rows(pieces) == '"late"'


def test_all_that_failed_is_said(node: Node) -> None:
    pieces, gathered, _ = ask(node, {"b:1": _is_behind}, freshness=Freshness(min_offsets={0: 8}), timeout_s=1)
    assert pieces == []
    reasons = {failed.member: failed.reason for failed in gathered.failed}
    assert reasons == {
        "b:1": "it has read up to offset 3, and 8 is wanted",
        OWN: "it has read up to offset 1, and 8 is wanted",
    }


def test_a_member_that_must_wait_for_a_position_leaves_time_for_another(tmp_path: Path) -> None:
    node = node_of(tmp_path, ["b:1"], values=[b"own"])
    report(node, "b:1", 1)
    pieces, gathered, _ = ask(node, {"b:1": _answers}, freshness=Freshness(min_offsets={0: 9}), timeout_s=5)
    assert (_rows(pieces), gathered.failed) == ('"from b"', [])


@pytest.mark.parametrize("key", [b"k", b"no such"])
def test_rows_that_were_removed_meanwhile_are_not_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: bytes
) -> None:
    node = node_of(tmp_path, values=[b"1"])
    (part,) = node.parts()
    look_up = part.look_up

    def removed_before(keys: Iterable[bytes]) -> object:
        part.start_anew("its topic was deleted and made again")
        return look_up(keys)

    monkeypatch.setattr(part, "look_up", removed_before)
    pieces, gathered, _ = ask(node, {}, Question(keys=(key,)))
    assert pieces == []
    assert "still being filled" in gathered.failed[0].reason


def test_a_long_answer_is_as_the_rows_were_when_it_began(tmp_path: Path) -> None:
    node = node_of(tmp_path)
    (part,) = node.parts()
    for number in range(1_200):
        write(part, [b"old"], b"%04d" % number)
    store, before = node.stores["users"], part.offset
    chunks = store.chunks(part, Question(is_raw=True))
    first = next(chunks)
    write(part, [b"new"], b"0900")
    write(part, [b"new"], b"9999")
    rows = [*first.rows, *(row for chunk in chunks for row in chunk.rows)]
    assert {msgspec.json.decode(row, type=bytes) for row in rows} == {b"old"}
    assert (len(rows), first.offset, part.offset) == (1_200, before, before + 2)


def test_a_partition_may_be_closed_while_it_is_read(tmp_path: Path) -> None:
    node = node_of(tmp_path)
    (part,) = node.parts()
    for number in range(700):
        write(part, [b"v"], b"%04d" % number)
    store = node.stores["users"]
    chunks = store.chunks(part, EVERYTHING)
    next(chunks)
    node.close()
    assert sum(len(chunk.rows) for chunk in chunks) == 200
    assert store.read_now(part, Question(keys=(b"0001",))) is None, "that it has no row would be wrong"
    pieces, gathered, _ = ask(node, {}, Question(keys=(b"0001",)))
    assert pieces == []
    assert gathered.failed[0].reason == "this member has given up partition 0"


def test_bytes_are_read_without_a_decoder(tmp_path: Path) -> None:
    node = node_of(tmp_path, values=[b"1"])
    store = replace(node.stores["users"], decoder=None)  # type: ignore[arg-type]
    read = store.read_now(node.parts()[0], Question(keys=(b"k",), is_raw=True))
    assert read is not None
    assert [bytes(row) for row in read.rows] == [b'"MQ=="']


def test_a_row_that_has_not_the_form_of_its_kind_is_a_problem(tmp_path: Path) -> None:
    node = node_of(tmp_path, values=[b"1"])
    (part,) = node.parts()
    part.database.commit({0: {b"k": b"short"}}, msgspec.json.encode(part.progress))
    _pieces, gathered, _asked = ask(node, {})
    assert [failed.reason for failed in gathered.failed] == [
        "partition 0 of users: a value has 5 bytes, but its timestamp alone needs 8"
    ]


def test_long_questions_are_bounded_in_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("srfix.recovery.serving.gathering._MOST_ITERATORS", 2)
    node = node_of(tmp_path, values=[b"1"])
    gathered = ask(node, {}, EVERYTHING)[1]
    assert gathered.failed == []

    async def three() -> list[Piece]:
        from srfix.recovery.serving.gathering import Asked, Gathering

        gathering = Gathering(node, httpx.AsyncClient())
        asked = Asked(
            store="users",
            question=EVERYTHING,
            freshness=Freshness(),
            deadline=time.monotonic() + 5,
            partitions=[0],
        )
        open_ones = [gathering.here(asked) for _ in range(3)]
        firsts = [await anext(one) for one in open_ones]
        for one in open_ones:
            await one.aclose()
        assert gathering.iterators == 0
        return firsts

    firsts = asyncio.run(three())
    assert [piece.problem for piece in firsts] == [None, None, "it is answering 2 long questions; ask again later"]


def test_a_count_stops_when_its_time_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("srfix.recovery.serving.questions._COUNTED", 1)
    node = node_of(tmp_path)
    for number in range(3_000):
        write(node.parts()[0], [b"v"], b"%04d" % number)
    _, gathered, _ = ask(node, {}, Question(counts=True), timeout_s=0.05)
    assert "the time is over" in gathered.failed[0].reason


class TestPosition:
    def test_it_comes_back(self) -> None:
        assert offsets_of(token_of("a/b", {3: 7, 0: 2**62}), "a/b") == {3: 7, 0: 2**62}

    @pytest.mark.parametrize(
        "token",
        ["", "%%", "ä", "YQ", token_of("t", {0: -1}), token_of("t", {-1: 5}), token_of("t", {0: 10**30}), "A" * 60_000],
    )
    def test_nonsense_is_refused(self, token: str) -> None:
        with pytest.raises(UsageError, match="min_position is not"):
            offsets_of(token, "t")

    def test_one_of_another_topic_is_refused(self) -> None:
        with pytest.raises(UsageError, match="of the topic 'u'"):
            offsets_of(token_of("u", {0: 1}), "t")
