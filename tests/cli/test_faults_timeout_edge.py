"""Answers of the registry come when the client has given up on them: the repair is done, or can be gone on with.

No test hangs on how fast the machine is: a late answer is one that the registry holds back until the client has given up on
it, and on any other the client waits for a minute.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from srfix.fixtures.registry.http.intercept import Answer, CutBefore, Fault
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery import AppliedInPartError, load_plan
from srfix.recovery.actions.actions import perform
from srfix.recovery.repair.apply import StepFound, apply_plan, settle_in_flight
from srfix.recovery.repair.journal import REPAIR_JOURNALS
from srfix.serde import RegistryClient, RetryPolicy
from srfix.serde.schemas.models import Json
from tests.cli.kept_demo import Parts, registry_like, srfix, wait_for
from tests.cli.test_kill import WRITES
from tests.telling import slow_but

PATIENT_S = 60.0


class HeldRegistry(FixtureRegistry):
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


def client(registry: FixtureRegistry, *, attempts: int) -> RegistryClient:
    """One that waits no longer between its attempts than it must."""
    retry = RetryPolicy(max_attempts=attempts, sleep=lambda _seconds: None)
    return RegistryClient(registry.url, read_timeout_s=PATIENT_S, retry=retry)


def clock() -> str:
    return "2020-06-16T03:00:00+00:00"


class TestAWriteThatArrivesAfterAll:
    @pytest.mark.parametrize("step", slow_but(range(1, 7), 3))
    def test_between_the_two_looks_of_the_next_run_is_no_change_by_others(
        self,
        registry: FixtureRegistry,
        directory: Path,
        repaired: dict[str, Json],
        monkeypatch: pytest.MonkeyPatch,
        step: int,
    ) -> None:
        plan, journal = load_plan(directory / "p.json"), directory / "journal"
        action = next(action for action in plan.actions if action.step == step)
        method, path, call = WRITES[step - 1]
        with client(registry, attempts=1) as hasty:
            with (
                registry.intercept(Fault(method=method, path=path, calls=(call,), action=CutBefore())),
                pytest.raises(AppliedInPartError),
            ):
                list(apply_plan(plan, hasty, journal, clock=clock))
            before = REPAIR_JOURNALS.read(journal).before[step]

            def looks(*arguments: Any) -> int | None:
                found = settle_in_flight(*arguments)
                monkeypatch.setattr("srfix.recovery.repair.apply.settle_in_flight", settle_in_flight)
                perform(action, hasty, before)  # now it takes effect
                return found

            monkeypatch.setattr("srfix.recovery.repair.apply.settle_in_flight", looks)
            events = list(apply_plan(plan, hasty, journal, clock=clock))
            assert events[0] == StepFound(action=action)
            assert registry.dump() == repaired


@pytest.mark.slow
class TestAWriteThatArrivesAfterTheRepairIsOver:
    def test_leaves_the_level_none_which_verify_sees(
        self,
        shared_parts: Parts,
        directory: Path,
        repaired: dict[str, Json],
    ) -> None:
        """No client can call a request back: the first PUT is given up on, sent again, and carried out much later."""
        held = HeldRegistry("PUT", "/config/")
        with registry_like(shared_parts.registry, held) as registry:
            to = ("--registry", registry.url, "-R", "max.retries=0")
            hasty = ("-R", "http.read.timeout.ms=2000")
            assert srfix("apply", "p.json", "--yes", *to, *hasty, cwd=directory).returncode == 3
            assert srfix("apply", "p.json", "--yes", *to, cwd=directory).returncode == 0
            assert registry.dump() == repaired
            writes = registry.writes
            held.released.set()
            wait_for(lambda: registry.writes == writes + 1)
            assert registry.dump() != repaired
            seen = shared_parts.srfix("verify", "p.json", *to, cwd=directory)
        assert seen.returncode == 1, seen.stderr
        words = " ".join(seen.stdout.split())
        assert "its configuration is compatibilityLevel=NONE; before the repair it was none of its own" in words
