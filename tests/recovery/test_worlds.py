"""srfix over generated worlds of which the truth is known: never wrong about a source, no clean bill that nobody earned.

A world is made from its truth outwards (`generated`), what a restore then does to its reader comes from the facts alone
(`restoring`), and what srfix says and does is held against both (`judging`). `SRFIX_WORLDS` says how many worlds,
`SRFIX_SEED` which; `make fuzz` takes others each time.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, seed, settings

from srfix.fixtures.registry.http.server import FixtureRegistry
from tests.examples import IS_EVERYTHING
from tests.recovery.worlds.generated import worlds
from tests.recovery.worlds.judging import PROPERTIES, is_a_trap, judge
from tests.recovery.worlds.smallest import smallest
from tests.recovery.worlds.world import World

WORLDS = int(os.environ.get("SRFIX_WORLDS", "500" if IS_EVERYTHING else "100"))
"""How many worlds are judged, in all; a soak takes as many as it has time for."""
A_SHARD = 500
"""How many of them one test judges: tests run side by side."""
UNDECIDED = 0.02
"""The share of the stores whose source a person would name that srfix may leave undecided."""
TRAPS = 0.04
"""The share of the worlds that may mislead even a careful person: of more, the person would be a poor measure. Three in a
hundred are global tables beside a topic of the same columns that the group has committed.
"""
A_CLUSTER = 5
"""So many more in one shard: hypothesis varies a world that it has drawn, and what is left open comes in clusters."""


@pytest.fixture(scope="module")
def running() -> Iterator[FixtureRegistry]:
    with FixtureRegistry() as registry:
        yield registry


@dataclass
class Tally:
    """What came of many worlds."""

    judged: int = 0
    traps: int = 0
    decidable: int = 0
    undecided: int = 0
    reached: Counter[str] = field(default_factory=Counter)
    breaks: dict[str, list[World]] = field(default_factory=lambda: defaultdict(list))
    """Per property the worlds that break it."""

    def __str__(self) -> str:
        reached = ", ".join(f"{count} {what}" for what, count in sorted(self.reached.items()))
        undecided = f"{self.undecided} of {self.decidable} decidable stores left undecided"
        return f"{self.judged} worlds and {self.traps} traps ({reached}); {undecided}"


class TestOverGeneratedWorlds:
    @pytest.mark.parametrize("shard", range(max(1, WORLDS // A_SHARD)))
    def test_what_srfix_says_and_does_is_true(
        self,
        running: FixtureRegistry,
        shard: int,
        subtests: pytest.Subtests,
        record_property: Callable[[str, object], None],
    ) -> None:
        first = int(os.environ.get("SRFIX_SEED", "0"))
        tally = _judge_all(running, first + shard)
        record_property("worlds", str(tally))
        print(f"SRFIX_SEED={first}: {tally}")
        for sentence in PROPERTIES:
            with subtests.test(sentence):
                assert not tally.breaks[sentence], _told(tally, sentence, running, first)
        with subtests.test("nearly every source that a person would name is named"):
            assert tally.undecided <= UNDECIDED * tally.decidable + A_CLUSTER, str(tally)
        with subtests.test("a careful person is rarely wrong"):
            assert tally.traps <= TRAPS * (tally.judged + tally.traps) + A_CLUSTER, str(tally)


def _judge_all(running: FixtureRegistry, number: int) -> Tally:
    tally = Tally()

    @seed(number)
    @settings(max_examples=min(WORLDS, A_SHARD), database=None, suppress_health_check=list(HealthCheck))
    @given(world=worlds())
    def run(world: World) -> None:
        if is_a_trap(world):
            tally.traps += 1
            return
        judgement = judge(world, running)
        tally.judged += 1
        tally.decidable += judgement.decidable
        tally.undecided += judgement.undecided
        tally.reached.update([*judgement.reached, *judgement.codes])
        for sentence in {sentence for sentence, _ in judgement.wrong}:
            tally.breaks[sentence].append(world)

    run()
    return tally


def _told(tally: Tally, sentence: str, running: FixtureRegistry, first: int) -> str:
    """The smallest of the worlds that break a property, made smaller still, and what breaks it there."""
    worst = tally.breaks[sentence]
    world = smallest(
        min(worst, key=lambda world: len(repr(world))), lambda world: bool(_broken(world, sentence, running))
    )
    wrong = "\n".join(_broken(world, sentence, running))
    return f"{len(worst)} of {tally.judged} worlds (SRFIX_SEED={first}):\n{wrong}{world!r}"


def _broken(world: World, sentence: str, running: FixtureRegistry) -> list[str]:
    if is_a_trap(world):
        return []
    return [what for broken, what in judge(world, running).wrong if broken == sentence]
