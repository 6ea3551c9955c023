"""What a member tells of itself and of the others: each thing once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from srfix.recovery.serving.node import Node
from srfix.recovery.serving.rounds import Rounds
from tests.recovery.serving.members import node_of


def _refused(_request: httpx.Request) -> httpx.Response:
    return httpx.Response(401)


def _unreachable(_request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("no route")


def notes(node: Node, answer: Callable[[httpx.Request], httpx.Response], *, lines: int) -> list[str]:
    """The notes until there are so many, and half a second later; each was told once."""
    told: list[str] = []

    async def go() -> list[str]:
        async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
            rounds = Rounds(node, client, told.append)
            async with rounds.going():
                until_s = time.monotonic() + 10
                while len(rounds.notes) < lines:
                    assert time.monotonic() < until_s, told
                    await asyncio.sleep(0.01)
                await asyncio.sleep(0.5)
            assert [line for line in told if not line.startswith("Caught up")] == [*rounds.notes]
            return [*rounds.notes]

    return asyncio.run(go())


@pytest.mark.parametrize(("answer", "why"), [(_refused, "it answers 401"), (_unreachable, "ConnectError no route")])
def test_a_member_that_takes_no_heartbeats_is_told_once(
    tmp_path: Path, answer: Callable[[httpx.Request], httpx.Response], why: str
) -> None:
    assert notes(node_of(tmp_path, ["other:1"]), answer, lines=1) == [
        f"The member other:1 does not take this member's heartbeats ({why}). If it runs, turn on TLS for all "
        "members or for none, and give each the --advertise by which the others reach it."
    ]


def test_notes_and_problems_of_partitions_are_told_once(tmp_path: Path) -> None:
    node = node_of(tmp_path)
    (part,) = node.parts()
    part.notes.append("a note")
    part.problem = "a problem."
    assert notes(node, _refused, lines=2) == ["users: a note.", "Partition 0 of users: a problem."]


@pytest.mark.parametrize(("end", "left"), [(None, "an unknown number of records to go"), (7, "7 records to go")])
def test_what_is_left_is_told_as_far_as_the_ends_are_known(tmp_path: Path, end: int | None, left: str) -> None:
    node, told = node_of(tmp_path), list[str]()
    (part,) = node.parts()
    part.end = None
    if end is not None:
        part.see_end(part.offset + end)
    asyncio.run(Rounds(node, httpx.AsyncClient(), told.append)._tell_progress())
    assert left in "".join(told)
