"""Answers of the registry come when the client has given up on them: the repair is done, or can be gone on with.

No test hangs on how fast the machine is: a late answer is one that the registry holds back until the client has given up on
it, and on any other the client waits for a minute.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Literal, TypeAlias
from unittest.mock import patch

import pytest
from requests import PreparedRequest, Response

from srfix.fixtures.registry.http.intercept import Answer, CutBefore, Fault
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery.actions.actions import perform
from srfix.recovery.errors import AppliedInPartError, PlanError
from srfix.recovery.repair.apply import StepFound, apply_plan, settle_in_flight
from srfix.recovery.repair.journal import read_journal
from srfix.recovery.repair.plan_file import Plan, load_plan
from srfix.serde.errors import RegistryError
from srfix.serde.registry.client import RegistryClient
from srfix.serde.registry.http.retry import RetryPolicy
from srfix.serde.registry.http.session import RegistrySession
from srfix.serde.registry.models import Json
from tests.cli.kept_demo import Parts, srfix, wait_for
from tests.cli.test_kill import WRITES

Moment: TypeAlias = Literal["before", "after"]
"""Whether a late answer is held back before the request takes effect, or after it has."""
Picks: TypeAlias = Callable[[int], Moment | None]
"""From a request's number, from 1, to how its answer is late; None if it is not."""

PATIENT_S = 60.0
HASTY_S = 0.05
"""The client's read time-out for an answer that comes, and for one that is held back until then."""
_HEADER = "Srfix-Test-Late"


class EdgyRegistry(FixtureRegistry):
    """Holds back what a `HastySession` asks late for until that has given up, before it takes effect or after."""

    def __init__(self) -> None:
        super().__init__()
        self._number = 0
        self._numbering = threading.Lock()
        # Made by who asks, before it asks: of two threads that look for one at once, each would make its own.
        self.given_up: dict[str, threading.Event] = {}
        """By the number of a request, set when its client waits no longer."""
        self.carried_out: dict[str, threading.Event] = {}
        """By the number of a late request, set when it has taken effect and its answer is ready."""

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
        number, _, moment = (headers or {}).get(_HEADER, "").partition(" ")
        if moment == "before":
            self.given_up[number].wait(PATIENT_S)
        answer = super()._answer(method, target, body, authorization, headers)
        if moment == "after":
            self.given_up[number].wait(PATIENT_S)
        if moment:
            self.carried_out[number].set()
        return answer


class HeldRegistry(EdgyRegistry):
    """Holds the first request of a kind back before it takes effect, until the test lets go of it."""

    def __init__(self, method: str, path: str) -> None:
        super().__init__()
        self._kind: tuple[str, str] | None = method, path
        self.released = threading.Event()

    def _answer(
        self,
        method: str,
        target: str,
        body: bytes,
        authorization: str | None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer | None:
        if self._kind is not None and method == self._kind[0] and self._kind[1] in target:
            self._kind = None
            self.released.wait(PATIENT_S)
        return super()._answer(method, target, body, authorization, headers)

    def close(self) -> None:
        """As the others; lets go first."""
        self.released.set()
        super().close()


class HastySession(RegistrySession):
    """Asks for late answers, and gives up on them at once; waits for all others.

    What was given up on is carried out before anything else is asked; what happens otherwise the classes below show.
    """

    picks: Picks
    registry: EdgyRegistry
    numbers: Iterator[int]

    def send(self, request: PreparedRequest, **options: Any) -> Response:
        """The answer, if it is not late."""
        number = next(self.numbers)
        moment = self.picks(number)
        if moment is None:
            return super().send(request, **options)
        self.registry.given_up[str(number)], self.registry.carried_out[str(number)] = (
            threading.Event(),
            threading.Event(),
        )
        request.headers[_HEADER] = f"{number} {moment}"
        try:
            return super().send(request, **{**options, "timeout": (PATIENT_S, HASTY_S)})
        finally:
            self.registry.given_up[str(number)].set()
            assert self.registry.carried_out[str(number)].wait(PATIENT_S)


@contextmanager
def edgy(registry: EdgyRegistry, picks: Picks, *, attempts: int) -> Iterator[RegistryClient]:
    """A client to which some answers come too late."""
    kind = type("Hasty", (HastySession,), {"picks": staticmethod(picks), "registry": registry, "numbers": count(1)})
    with (
        patch("srfix.serde.registry.http.transport.RegistrySession", kind),
        client(registry, attempts=attempts) as hasty,
    ):
        yield hasty


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


def client(registry: FixtureRegistry, *, attempts: int) -> RegistryClient:
    """One that waits no longer between its attempts than it must."""
    retry = RetryPolicy(max_attempts=attempts, sleep=lambda _seconds: None)
    return RegistryClient(registry.url, read_timeout_s=PATIENT_S, retry=retry)


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


@pytest.mark.slow
class TestOneAnswerBehindTheEdge:
    @pytest.mark.parametrize("moment", ["before", "after"])
    def test_whichever_it_is_the_same_plan_completes_the_repair(
        self,
        shared_parts: Parts,
        plan: Plan,
        undisturbed: tuple[dict[str, Json], int],
        tmp_path: Path,
        moment: Moment,
    ) -> None:
        repaired, requests = undisturbed
        assert requests > 30
        stopped: list[str] = []
        for number in range(1, requests + 1):
            journal = tmp_path / f"journal-{number}"

            def pick(asked: int, late: int = number) -> Moment | None:
                return moment if asked == late else None

            registry = EdgyRegistry()
            with seeded(registry, shared_parts.registry):
                before = registry.dump()
                with edgy(registry, pick, attempts=1) as hasty:
                    try:
                        list(apply_plan(plan, hasty, journal, clock=clock))
                    except (PlanError, RegistryError) as error:
                        stopped.append(str(error))
                if not journal.exists():
                    assert registry.dump() == before, number
                with client(registry, attempts=1) as patient:
                    list(apply_plan(plan, patient, journal, clock=clock))
                assert registry.dump() == repaired, (number, stopped[-1:])
        assert len(stopped) > 0.8 * requests  # what is asked for a hint alone stops nothing


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
                monkeypatch.setattr("srfix.recovery.repair.apply.settle_in_flight", settle_in_flight)
                perform(action, hasty, before)  # now it takes effect
                return found

            monkeypatch.setattr("srfix.recovery.repair.apply.settle_in_flight", looks)
            events = list(apply_plan(plan, hasty, journal, clock=clock))
            assert events[0] == StepFound(action=action)
            assert registry.dump() == undisturbed[0]


@pytest.mark.slow
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
        held = HeldRegistry("PUT", "/config/")
        with seeded(held, shared_parts.registry) as registry:
            to = ("--registry", registry.url, "-R", "max.retries=0")
            hasty = ("-R", "http.read.timeout.ms=2000")
            assert srfix("apply", "p.json", "--yes", *to, *hasty, cwd=tmp_path).returncode == 3
            assert srfix("apply", "p.json", "--yes", *to, cwd=tmp_path).returncode == 0
            assert registry.dump() == undisturbed[0]
            writes = registry.writes
            held.released.set()
            wait_for(lambda: registry.writes == writes + 1)
            assert registry.dump() != undisturbed[0]
            seen = shared_parts.srfix("verify", "p.json", *to, cwd=tmp_path)
        assert seen.returncode == 1, seen.stderr
        words = " ".join(seen.stdout.split())
        assert "its configuration is compatibilityLevel=NONE where none of its own stood before the repair" in words
