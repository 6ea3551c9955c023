"""The wall clock jumps back and forth: no repair, rollback, deadline or wait depends on it."""

from __future__ import annotations

import ast
import json
import random
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery import CensusRequest, LocalCensus, Plan, load_plan
from srfix.recovery.repair.apply import apply_plan
from srfix.recovery.repair.journal import REPAIR_JOURNALS
from srfix.recovery.repair.rollback import roll_back
from srfix.serde import RegistryClient, Topic
from tests.cli.kept_demo import Parts
from tests.recovery.staging import killed_at

ROOT = Path(__file__).parents[2]
WALL_CLOCK = {
    ("time", "time"),
    ("time", "time_ns"),
    ("time", "localtime"),
    ("time", "gmtime"),
    ("time", "ctime"),
    ("datetime", "now"),
    ("datetime", "utcnow"),
    ("datetime", "today"),
    ("date", "today"),
    ("os.path", "getmtime"),
}
"""What tells the time of day, or orders by it."""
SEAMS = {
    "recovery/srfix/recovery/clock.py": "what is written into plans, journals and reports, and the age of records",
    "cli/srfix/cli/metrics/standing.py": "when was last looked, in Prometheus's metrics",
    "serde/srfix/serde/registry/probe.py": "compared with the clocks of registries",
    "serde/srfix/serde/registry/http/retry.py": "a Retry-After date in an answer without a Date",
}
"""The only modules that look at it, each once, and what for."""


def looks(path: Path) -> Iterator[str]:
    """Where a module looks at the wall clock."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Attribute(value=ast.Attribute(attr=owner) | ast.Name(id=owner), attr=name):
                if (owner, name) in WALL_CLOCK or name == "st_mtime":
                    yield f"{owner}.{name}"
            case ast.ImportFrom(module="time", names=names):
                yield from (f"time.{name.name}" for name in names if ("time", name.name) in WALL_CLOCK)


class TestTheWallClock:
    def test_is_looked_at_in_few_places_and_nowhere_to_measure(self) -> None:
        found = {
            str(path.relative_to(ROOT)): places
            for room in ("serde", "recovery", "cli", "fixtures")
            for path in sorted((ROOT / room / "srfix").rglob("*.py"))
            if (places := list(looks(path)))
        }
        assert {path: len(places) for path, places in found.items()} == dict.fromkeys(SEAMS, 1), found


class Jumping:
    """A wall clock that is set to any time within some years, back or forth, whenever it is looked at."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)

    def seconds(self) -> float:
        return 1_600_000_000 + self._chance.uniform(-1e8, 1e8)

    def text(self) -> str:
        return (datetime(2020, 6, 16, tzinfo=UTC) + timedelta(seconds=self._chance.uniform(-1e8, 1e8))).isoformat()


@pytest.fixture(params=range(3))
def jumping(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Jumping:
    """That clock, in place of this process's."""
    clock = Jumping(request.param)
    monkeypatch.setattr(time, "time", clock.seconds)
    return clock


@pytest.fixture
def plan(shared_parts: Parts, tmp_path: Path) -> Plan:
    """A plan whose maker's clock was a long way ahead."""
    assert shared_parts.srfix("plan", "-o", tmp_path / "p.json").returncode == 0
    return replace(load_plan(tmp_path / "p.json"), created_at="2099-01-01T00:00:00+00:00")


class TestClockMoved:
    @pytest.mark.slow
    def test_between_runs_a_repair_is_resumed_and_rolled_back_all_the_same(
        self, jumping: Jumping, plan: Plan, registry: FixtureRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        journal = tmp_path / "journal"
        before = registry.dump()
        with RegistryClient(registry.url) as client:
            for moment in ("before write", "after write") * len(plan.actions):
                with killed_at(monkeypatch, moment, 1):
                    list(apply_plan(plan, client, journal, clock=jumping.text))
            list(apply_plan(plan, client, journal, clock=jumping.text))
            assert REPAIR_JOURNALS.read(journal).finished
            told = [json.loads(line)["at"] for line in journal.read_text().splitlines()]
            assert told != sorted(told)
            with killed_at(monkeypatch, "after write", 2):
                list(roll_back(journal, client, clock=jumping.text))
            list(roll_back(journal, client, clock=jumping.text))
        assert REPAIR_JOURNALS.read(journal).rolled_back
        assert registry.dump() == before

    def test_during_a_census_its_deadline_stays_where_it_is(self, jumping: Jumping, shared_parts: Parts) -> None:
        assert jumping.seconds() != jumping.seconds()
        engine = LocalCensus({"bootstrap.servers": shared_parts.broker.bootstrap_servers})
        request = CensusRequest(topic=Topic("users"), partitions=(0, 1, 2), committed=None)
        whole = engine.count(replace(request, deadline_s=60.0))
        assert not any(partition.stopped_early for partition in whole.partitions)
        hurried = engine.count(replace(request, deadline_s=1e-6))
        assert all(partition.stopped_early for partition in hurried.partitions)
