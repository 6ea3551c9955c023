"""Every answer of the registry comes at the edge of the client's patience: the repair is done, or can be gone on with."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import pytest

from srfix.fixtures.registry import CutBefore, Fault, FixtureRegistry
from srfix.fixtures.registry.intercept import Answer
from srfix.recovery.actions import perform
from srfix.recovery.apply import AppliedInPartError, StepFound, apply_plan, settle_in_flight
from srfix.recovery.journal import read_journal
from srfix.recovery.plan_file import Plan, load_plan
from srfix.recovery.rollback import roll_back
from srfix.serde.errors import PlanError, RegistryError
from srfix.serde.registry import RegistryClient, RetryPolicy
from srfix.serde.registry.models import Json
from tests.cli.kept_demo import Parts, srfix, wait_for
from tests.cli.test_kill import WRITES

PATIENCE_S = 0.05
"""The client's read time-out, where it runs in this process."""


class EdgyRegistry(FixtureRegistry):
    """Lets the requests that `picks` chooses wait, before they take effect or before they are answered."""

    def __init__(self, picks: Callable[[int], tuple[Literal["before", "after"], float] | None]) -> None:
        super().__init__()
        self._picks = picks
        self._number = 0
        self._numbering = threading.Lock()

    def wait_until_idle(self) -> None:
        """Returns when every request that has come in has been carried out."""
        wait_for(lambda: len(self.requests) == self._number)

    def _answer(
        self,
        method: str,
        target: str,
        body: bytes,
        authorization: str | None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer | None:
        with self._numbering:
            self._number += 1
            moment, delay_s = self._picks(self._number) or ("after", 0.0)
        if moment == "before" and delay_s:
            self._stopping.wait(delay_s)
        answer = super()._answer(method, target, body, authorization, headers)
        if moment == "after" and delay_s:
            self._stopping.wait(delay_s)
        return answer


@pytest.fixture(scope="module")
def plan_path(shared_parts: Parts, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plan for the staged damage."""
    path = tmp_path_factory.mktemp("plan") / "p.json"
    assert shared_parts.srfix("plan", "-o", path).returncode == 0
    return path


@pytest.fixture
def plan(plan_path: Path) -> Plan:
    return load_plan(plan_path)


def seeded(copy: FixtureRegistry, original: FixtureRegistry) -> FixtureRegistry:
    """`copy`, not started yet, with what the other holds."""
    subjects = original.dump()["subjects"]
    assert isinstance(subjects, dict)
    versions = [
        (version["id"], subject, version["schema"])
        for subject, held in subjects.items()
        if isinstance(held, list)
        for version in held
        if isinstance(version, dict)
    ]
    for _id, subject, text in sorted(versions, key=str):
        copy.seed(subject, str(text))
    assert copy.dump() == original.dump()
    return copy


def client(registry: FixtureRegistry, *, attempts: int, patience_s: float = PATIENCE_S) -> RegistryClient:
    """One that waits no longer between its attempts than it must."""
    retry = RetryPolicy(max_attempts=attempts, sleep=lambda _seconds: None)
    return RegistryClient(registry.url, read_timeout_s=patience_s, retry=retry)


def clock() -> str:
    return "2020-06-16T03:00:00+00:00"


@pytest.fixture(scope="module")
def undisturbed(
    shared_parts: Parts, plan_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Json], int]:
    """The registry after one undisturbed run, and how many requests that took."""
    journal = tmp_path_factory.mktemp("undisturbed") / "journal"
    with seeded(FixtureRegistry(), shared_parts.registry) as registry, RegistryClient(registry.url) as patient:
        list(apply_plan(load_plan(plan_path), patient, journal, clock=clock))
        return registry.dump(), len(registry.requests)


def until_done(run: Callable[[], object], *, most: int) -> list[str]:
    """Runs it until it gets through, and answers what it said each time that it did not."""
    said: list[str] = []
    while len(said) < most:
        try:
            run()
        except (PlanError, RegistryError) as error:
            said.append(str(error))
            continue
        return said
    pytest.fail(f"not done after {most} runs: {said}")


@pytest.fixture(params=range(2))
def picks(request: pytest.FixtureRequest) -> Callable[[int], tuple[Literal["before", "after"], float]]:
    """Every answer close to the end of the patience, on this side or that."""
    chance = random.Random(request.param)

    def pick(_number: int) -> tuple[Literal["before", "after"], float]:
        return chance.choice(("before", "after")), PATIENCE_S * chance.uniform(0.7, 1.1)

    return pick


class TestEveryAnswerAtTheEdge:
    def test_a_repair_is_done_in_the_end_and_so_is_its_rollback(
        self,
        shared_parts: Parts,
        plan: Plan,
        undisturbed: tuple[dict[str, Json], int],
        tmp_path: Path,
        picks: Callable[[int], tuple[Literal["before", "after"], float]],
    ) -> None:
        journal = tmp_path / "journal"
        with seeded(EdgyRegistry(picks), shared_parts.registry) as registry:
            before = registry.dump()
            with client(registry, attempts=3) as hasty:
                until_done(lambda: list(apply_plan(plan, hasty, journal, clock=clock)), most=60)
                assert registry.dump() == undisturbed[0]
                assert read_journal(journal).finished
                until_done(lambda: list(roll_back(journal, hasty, clock=clock)), most=60)
                assert registry.dump() == before


class TestOneAnswerBehindTheEdge:
    @pytest.mark.parametrize("moment", ["before", "after"])
    def test_whichever_it_is_the_same_plan_completes_the_repair(
        self,
        shared_parts: Parts,
        plan: Plan,
        undisturbed: tuple[dict[str, Json], int],
        tmp_path: Path,
        moment: Literal["before", "after"],
    ) -> None:
        repaired, requests = undisturbed
        assert requests > 30
        stopped: list[str] = []
        for number in range(1, requests + 1):
            journal = tmp_path / f"journal-{number}"

            def pick(asked: int, late: int = number) -> tuple[Literal["before", "after"], float] | None:
                return (moment, 1.5 * PATIENCE_S) if asked == late else None

            registry = EdgyRegistry(pick)
            with seeded(registry, shared_parts.registry):
                before = registry.dump()
                with client(registry, attempts=1) as hasty:
                    try:
                        list(apply_plan(plan, hasty, journal, clock=clock))
                    except (PlanError, RegistryError) as error:
                        stopped.append(str(error))
                # What was given up on is carried out first; what happens otherwise the classes below show.
                registry.wait_until_idle()
                if not journal.exists():
                    assert registry.dump() == before, number
                with client(registry, attempts=1, patience_s=10) as patient:
                    list(apply_plan(plan, patient, journal, clock=clock))
                assert registry.dump() == repaired, (number, stopped[-1:])
        assert len(stopped) > requests / 2  # on a busy machine some get through all the same


class TestAWriteThatArrivesAfterAll:
    @pytest.mark.parametrize("step", range(1, 7))
    def test_between_the_two_looks_of_the_next_run_is_no_change_by_others(
        self,
        shared_parts: Parts,
        plan: Plan,
        undisturbed: tuple[dict[str, Json], int],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        step: int,
    ) -> None:
        journal = tmp_path / "journal"
        action = next(action for action in plan.actions if action.step == step)
        method, path, call = WRITES[step - 1]
        with seeded(FixtureRegistry(), shared_parts.registry) as registry, client(registry, attempts=1) as hasty:
            with (
                registry.intercept(Fault(method=method, path=path, calls=(call,), action=CutBefore())),
                pytest.raises(AppliedInPartError),
            ):
                list(apply_plan(plan, hasty, journal, clock=clock))
            before = read_journal(journal).before[step]

            def looks(*arguments: Any) -> int | None:
                found = settle_in_flight(*arguments)
                monkeypatch.setattr("srfix.recovery.apply.settle_in_flight", settle_in_flight)
                perform(action, hasty, before)  # now it takes effect
                return found

            monkeypatch.setattr("srfix.recovery.apply.settle_in_flight", looks)
            events = list(apply_plan(plan, hasty, journal, clock=clock))
            assert events[0] == StepFound(action=action)
            assert registry.dump() == undisturbed[0]


class TestAWriteThatArrivesAfterTheRepairIsOver:
    def test_leaves_the_level_none_which_verify_sees(
        self,
        shared_parts: Parts,
        plan_path: Path,
        undisturbed: tuple[dict[str, Json], int],
        tmp_path: Path,
    ) -> None:
        """No client can call a request back: the first PUT is given up on, sent again, and carried out much later."""
        (tmp_path / "p.json").write_text(plan_path.read_text())
        with seeded(FixtureRegistry(), shared_parts.registry) as registry:
            to = ("--registry", registry.url, "-R", "http.read.timeout.ms=500", "-R", "max.retries=0")
            fault = Fault(method="PUT", path="/config/", times=1, delay_s=8.0)
            with registry.intercept(fault):
                assert srfix("apply", "p.json", "--yes", *to, cwd=tmp_path).returncode == 3
                assert srfix("apply", "p.json", "--yes", *to, cwd=tmp_path).returncode == 0
            assert registry.dump() == undisturbed[0]
            writes = registry.writes
            wait_for(lambda: registry.writes == writes + 1)
            assert registry.dump() != undisturbed[0]
            seen = shared_parts.srfix("verify", "p.json", *to, cwd=tmp_path)
        assert seen.returncode == 1, seen.stderr
        words = " ".join(seen.stdout.split())
        assert "its configuration is compatibilityLevel=NONE where none of its own stood before the repair" in words


class TestTheCommand:
    @pytest.mark.parametrize("late_by_ms", [-30, 30])
    def test_says_that_it_was_not_answered_in_time_and_goes_on(
        self,
        shared_parts: Parts,
        plan_path: Path,
        undisturbed: tuple[dict[str, Json], int],
        tmp_path: Path,
        late_by_ms: int,
    ) -> None:
        (tmp_path / "p.json").write_text(plan_path.read_text())
        hasty = ("-R", "http.read.timeout.ms=400", "-R", "max.retries=0")
        with seeded(FixtureRegistry(), shared_parts.registry) as registry:
            registry.intercept(Fault(writes_only=True, delay_s=(400 + late_by_ms) / 1000))
            for _run in range(13):
                done = srfix("apply", "p.json", "--yes", "--registry", registry.url, *hasty, cwd=tmp_path)
                if done.returncode == 0:
                    break
                assert (done.returncode, "run the same srfix apply again" in done.stderr) == (3, True), done.stderr
                assert "no answer within 0.4 s" in done.stderr
            else:
                pytest.fail("never done")
            assert registry.dump() == undisturbed[0]
            told = (tmp_path / "p.json.journal.jsonl").read_text().splitlines()
            assert json.loads(told[-1])["event"] == "finished"
