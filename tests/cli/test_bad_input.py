"""What bad input gets: a clear sentence, the right exit code, and nothing written."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
from pathlib import Path

import pytest

from srfix.fixtures.registry.http.intercept import CutBefore, Fault
from tests.cli.kept_demo import SRFIX, TIMEOUT_S, Parts, environment, srfix, wait_for

SECRET = "hunter22-and-more"


def sentence(done: subprocess.CompletedProcess[str], code: int = 2) -> str:
    """What was said instead of a report."""
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert "Traceback" not in done.stderr
    told = re.sub(r"^(Waiting for .*\n)*", "", done.stderr)  # what took long was said to
    assert told.startswith("srfix: ")
    assert told.count("\n") == 1
    return told.removeprefix("srfix: ").rstrip("\n")


@pytest.fixture
def plan(plan: str, tmp_path: Path) -> Path:
    """A plan for the staged damage."""
    path = tmp_path / "p.json"
    path.write_text(plan)
    return path


class TestWhatCannotBeReached:
    @pytest.mark.slow
    @pytest.mark.parametrize("command", ["apply", "rollback", "verify"])
    def test_an_unreachable_registry_changes_nothing_half_way(self, parts: Parts, plan: Path, command: str) -> None:
        if command == "rollback":
            with parts.registry.intercept(Fault(method="POST", path="/versions$", action=CutBefore())):
                assert parts.srfix("apply", plan, "--yes").returncode == 3
        done = srfix(
            command,
            plan,
            *(["--yes"] if command != "verify" else []),
            "--registry",
            "http://127.0.0.1:1",
            "-R",
            "max.retries=0",
        )
        assert "127.0.0.1:1: connection refused" in sentence(done)
        if command == "rollback":
            assert parts.srfix("rollback", plan, "--yes").returncode == 0

    def test_wrong_kafka_credentials(self, parts: Parts) -> None:
        done = parts.srfix(
            "diagnose",
            *("-X", "security.protocol=SASL_PLAINTEXT", "-X", "sasl.mechanism=PLAIN"),
            *("-X", "sasl.username=ada", "-X", f"sasl.password={SECRET}"),
        )
        said = sentence(done)
        assert re.match(r"Authentication failed at the Kafka cluster at 127\.0\.0\.1:\d+ ", said)
        assert said.endswith("Check security.protocol, sasl.mechanism and the credentials.")
        assert SECRET not in said


class TestWhatIsNotThere:
    def test_a_source_for_a_store_that_is_not_examined_is_said(self, parts: Parts) -> None:
        store = parts.staged.store
        done = parts.srfix("diagnose", "--source", f"{store}x={parts.staged.source_topic}")
        assert done.returncode == 1
        assert f"no store of that name was examined. Did you mean '{store}'?\n" in done.stderr


class TestAnswers:
    @pytest.mark.parametrize("answer", ["n\n", pytest.param("\x04", marks=pytest.mark.slow)], ids=["no", "end of file"])
    def test_apply_at_a_terminal_declined(self, parts: Parts, plan: Path, answer: str) -> None:
        code, out, err = at_a_terminal(answer, "apply", plan)
        assert (code, out.strip()) == (130, "")
        assert f"Carry out these 6 steps on {parts.registry.url}? [y/N]: " in err
        assert parts.registry.writes == 0
        assert not plan.with_name("p.json.journal.jsonl").exists()

    def test_rollback_without_a_terminal_takes_yes(self, parts: Parts, plan: Path) -> None:
        assert parts.srfix("apply", plan, "--yes").returncode == 0
        parts.registry.forget_requests()
        said = sentence(parts.srfix("rollback", plan))
        assert said.startswith("srfix rollback asks before it writes, but there is no terminal to answer at. ")
        assert said.endswith("Pass --yes to undo the repair without being asked. Nothing was written.")
        assert parts.registry.writes == 0
        assert parts.srfix("rollback", plan, env={"SRFIX_YES": "1"}).returncode == 0
        again = parts.srfix("rollback", plan)  # it writes nothing: there is nothing to ask
        assert (again.returncode, again.stdout) == (0, "This plan was already rolled back; this run wrote nothing.\n")

    @pytest.mark.slow
    def test_an_interrupt_while_the_cluster_and_the_registry_are_read(self, parts: Parts) -> None:
        # Should the census be over before the signal comes, the look-up after it waits.
        slow = Fault(method="POST", delay_s=TIMEOUT_S, action=CutBefore())
        fetch = 1  # Kafka's ApiKey
        fetches = parts.broker.requests()[fetch]
        with (
            parts.registry.intercept(slow),
            subprocess.Popen(
                [SRFIX, "diagnose", "--output", "json"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=environment(parts.environment),
            ) as process,
        ):
            wait_for(lambda: parts.broker.requests()[fetch] > fetches)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=TIMEOUT_S)
        assert (process.returncode, out, err.strip()) == (130, "", "Stopped; nothing more is done.")


def at_a_terminal(answer: str, *arguments: str | Path) -> tuple[int, str, str]:
    """Runs the command with a terminal as standard input, on which a person types the answer."""
    terminal, other_end = pty.openpty()
    try:
        with subprocess.Popen(
            [SRFIX, *map(str, arguments)],
            stdin=other_end,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(),
        ) as process:
            os.write(terminal, answer.encode())
            out, err = process.communicate(timeout=TIMEOUT_S)
        return process.returncode, out, err
    finally:
        os.close(terminal)
        os.close(other_end)
