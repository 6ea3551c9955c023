"""`srfix apply` killed for real while each of its writes is under way, stopped in part, and run twice at once."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from srfix.fixtures.registry.http.intercept import Answer, CutBefore, Fault
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.schemas.models import Json
from tests.cli.kept_demo import SRFIX, TIMEOUT_S, environment, srfix, wait_for
from tests.telling import slow_but

WRITES = (
    ("PUT", "/config/", 1),
    ("POST", "/versions$", 1),
    ("DELETE", "/versions/", 1),
    ("POST", "/versions$", 2),
    ("DELETE", "/versions/", 2),
    ("DELETE", "/config/", 1),
)
"""Method, path, and which of its like: the plan's six writes in order."""
LAST_STEP = "remove the subject's own compatibility: it had none before"
REFUSED = Answer(status=422, body=json.dumps({"error_code": 42205, "message": "Subject is in read-only mode"}))


def apply(directory: Path, registry: FixtureRegistry, *more: str) -> subprocess.CompletedProcess[str]:
    return srfix("apply", "p.json", "--yes", "--registry", registry.url, *more, cwd=directory)


def rollback(directory: Path, registry: FixtureRegistry) -> subprocess.CompletedProcess[str]:
    return srfix("rollback", "p.json.journal.jsonl", "--yes", "--registry", registry.url, cwd=directory)


@contextmanager
def applying(directory: Path, registry: FixtureRegistry) -> Iterator[subprocess.Popen[str]]:
    """A run that goes on beside the test; killed at the end if it still does."""
    with subprocess.Popen(
        [SRFIX, "apply", "p.json", "--yes", "--registry", registry.url],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=directory,
        env=environment(),
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def journal(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (directory / "p.json.journal.jsonl").read_text().splitlines()]


class TestKilled:
    @pytest.mark.slow
    def test_at_every_write_before_and_after_it_takes_effect_it_is_taken_up_again(
        self, directory: Path, registry: FixtureRegistry, repaired: dict[str, Json]
    ) -> None:
        """One repair, killed twelve times: each run takes up the step in flight and dies at the next point."""
        for step, (method, path, _call) in enumerate(WRITES, start=1):
            self.dies(
                directory, registry, Fault(method=method, path=path, times=1, delay_s=TIMEOUT_S, action=CutBefore())
            )
            self.is_in_flight(directory, step)
            self.dies_unanswered(directory, registry, Fault(method=method, path=path, times=1, delay_s=0.3))
            self.is_in_flight(directory, step)
        done = apply(directory, registry)
        assert done.returncode == 0, done.stderr
        assert done.stderr == f"Step {len(WRITES)} was already done: {LAST_STEP}.\n"
        assert registry.dump() == repaired
        assert journal(directory)[-1]["event"] == "finished"

    @pytest.mark.parametrize("step", slow_but([2, 5], 2))
    def test_once_before_a_write_takes_effect(
        self, directory: Path, registry: FixtureRegistry, repaired: dict[str, Json], step: int
    ) -> None:
        method, path, call = WRITES[step - 1]
        fault = Fault(method=method, path=path, calls=(call,), delay_s=TIMEOUT_S, action=CutBefore())
        self.dies(directory, registry, fault)
        self.is_in_flight(directory, step)
        assert apply(directory, registry).returncode == 0
        assert registry.dump() == repaired

    def dies(self, directory: Path, registry: FixtureRegistry, fault: Fault) -> None:
        """Killed while a write is on its way that will be lost."""
        with registry.intercept(fault) as met, applying(directory, registry) as process:
            wait_for(lambda: met.hits == 1)
            process.kill()
            assert process.wait(TIMEOUT_S) == -signal.SIGKILL

    def dies_unanswered(self, directory: Path, registry: FixtureRegistry, fault: Fault) -> None:
        """Killed after a write took effect and before its answer is seen."""
        registry.forget_requests()
        with registry.intercept(fault) as met, applying(directory, registry) as process:
            wait_for(lambda: met.hits == 1)
            process.send_signal(signal.SIGSTOP)  # it will not see the answer
            wait_for(lambda: registry.writes == 1)
            process.kill()
            assert process.wait(TIMEOUT_S) == -signal.SIGKILL

    def is_in_flight(self, directory: Path, step: int) -> None:
        last = journal(directory)[-1]
        assert (last["event"], last["step"]) == ("before", step)


class TestStoppedInPart:
    def test_a_refusal_on_the_way_is_3_and_the_same_command_goes_on(
        self, directory: Path, registry: FixtureRegistry, repaired: dict[str, Json]
    ) -> None:
        with registry.intercept(Fault(method="DELETE", path="/versions/", action=REFUSED)):
            done = apply(directory, registry, "--output", "json")
        assert done.returncode == 3
        assert [step["step"] for step in json.loads(done.stdout)["steps"]] == [1, 2]
        assert done.stderr.splitlines()[:2] == [
            "Step 1 of 6: set the compatibility to NONE.",
            "Step 2 of 6: register schema id 1.",
        ]
        assert "The repair stopped after 2 of 6 steps; the journal p.json.journal.jsonl names the steps." in done.stderr
        assert done.stderr.endswith("run the same srfix apply again, or undo these steps with srfix rollback.\n")
        assert apply(directory, registry).returncode == 0
        assert registry.dump() == repaired

    def test_a_rollback_that_is_refused_on_the_way_is_3_and_can_be_run_again(
        self, directory: Path, registry: FixtureRegistry
    ) -> None:
        before = registry.dump()
        assert apply(directory, registry).returncode == 0
        with registry.intercept(Fault(method="DELETE", path="/versions/2", action=REFUSED)):
            stopped = rollback(directory, registry)
        assert stopped.returncode == 3
        assert stopped.stderr.endswith("Remove the cause and run the same srfix rollback again.\n")
        half = apply(directory, registry)
        assert half.returncode == 2
        assert "was rolled back in part. Run srfix rollback again to finish that." in half.stderr
        assert rollback(directory, registry).returncode == 0
        assert registry.dump() == before

    @pytest.mark.slow
    def test_an_interrupt_on_the_way_is_130_and_the_same_command_goes_on(
        self, directory: Path, registry: FixtureRegistry, repaired: dict[str, Json]
    ) -> None:
        fault = Fault(method="POST", path="/versions$", calls=(1,), delay_s=TIMEOUT_S, action=CutBefore())
        with registry.intercept(fault) as met, applying(directory, registry) as process:
            wait_for(lambda: met.hits == 1)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=TIMEOUT_S)
        assert (process.returncode, out) == (130, "")
        assert "The journal p.json.journal.jsonl says which steps are done. Run the same srfix apply again" in err
        assert apply(directory, registry).returncode == 0
        assert registry.dump() == repaired


@pytest.mark.slow
class TestTwoAtOnce:
    def test_the_second_is_refused_and_the_first_is_not_disturbed(
        self, directory: Path, registry: FixtureRegistry, repaired: dict[str, Json]
    ) -> None:
        with (
            registry.intercept(Fault(method="PUT", path="/config/", delay_s=3.0)) as met,
            applying(directory, registry) as first,
        ):
            wait_for(lambda: met.hits == 1)
            second = apply(directory, registry)
            undoing = rollback(directory, registry)
            assert first.wait(TIMEOUT_S) == 0
        for refused in (second, undoing):
            assert (refused.returncode, refused.stdout) == (2, "")
            assert refused.stderr == (
                f"srfix: The journal p.json.journal.jsonl is in use: process {first.pid} on {socket.gethostname()} (since "
                f"{journal(directory)[0]['at']}) is applying this plan or rolling it back. Wait until it has finished.\n"
            )
        assert registry.dump() == repaired
