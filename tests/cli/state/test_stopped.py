"""`srfix state rebuild` and `migrate` ended by signals while they write: nothing half-written stays, and what stays is said."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from srfix.fixtures.registry.http.intercept import CutBefore, Fault
from tests.cli.kept_demo import SRFIX, TIMEOUT_S, Parts, environment, wait_for

pytestmark = pytest.mark.slow


@pytest.fixture
def written(parts: Parts, tmp_path: Path) -> Path:
    """A directory to migrate."""
    done = subprocess.run(rebuild(parts, tmp_path / "old"), env=environment(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return tmp_path / "old"


def rebuild(parts: Parts, folder: Path, *more: str) -> list[str]:
    staged = parts.staged
    return [
        *(SRFIX, "state", "rebuild", "--from-topic", staged.source_topic, "--until", "committed"),
        *("--application", staged.application, "--store", staged.store, "--subtopology", "0"),
        *("--kind", "timestamped-kv", "--streams-version", "2.6.3", "--out", str(folder)),
        *("--bootstrap-servers", parts.broker.bootstrap_servers, "--registry", parts.registry.url),
        *more,
    ]


def migrate(parts: Parts, source: Path, folder: Path, *more: str) -> list[str]:
    return [
        *(SRFIX, "state", "migrate", str(source), "--store", parts.staged.store, "--streams-version", "2.6.3"),
        *("--out", str(folder), "--registry", parts.registry.url, *more),
    ]


@contextmanager
def writing(command: list[str], parts: Parts, unfinished: Path) -> Iterator[subprocess.Popen[str]]:
    """A run that writes rows anew, and waits for the registry: what it has written is there."""
    parts.registry.forget_requests()
    fault = Fault(method="GET", path="/schemas/ids/", times=1, delay_s=TIMEOUT_S, action=CutBefore())
    with (
        parts.registry.intercept(fault) as met,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
        ) as process,
    ):
        try:
            wait_for(lambda: met.hits == 1 or process.poll() is not None)
            assert unfinished.is_dir()
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("what", ["rebuild", "migrate"])
def test_a_signal_leaves_nothing_and_says_so(
    what: str, number: signal.Signals, parts: Parts, written: Path, tmp_path: Path
) -> None:
    folder, anew = tmp_path / "new", ("--subject", parts.staged.phantom_subject)
    command = rebuild(parts, folder, *anew) if what == "rebuild" else migrate(parts, written, folder, *anew)
    with writing(command, parts, unfinished_of(folder, parts)) as process:
        process.send_signal(number)
        _out, errors = process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == 130, errors
    assert not folder.exists()
    assert f"None of the unfinished files of {folder / parts.staged.application} are left" in errors
    assert errors.endswith("Stopped; nothing more is done.\n")


def test_what_kill_leaves_is_thrown_away_by_the_next_run_which_says_so(parts: Parts, tmp_path: Path) -> None:
    folder, anew = tmp_path / "new", ("--subject", parts.staged.phantom_subject, "--output", "json")
    unfinished = unfinished_of(folder, parts)
    with writing(rebuild(parts, folder, *anew), parts, unfinished) as process:
        process.kill()
        assert process.wait(TIMEOUT_S) == -signal.SIGKILL
    assert unfinished.is_dir()
    again = subprocess.run(
        rebuild(parts, folder, *anew), env=environment(), capture_output=True, text=True, check=False
    )
    assert again.returncode == 0, again.stderr
    assert "An earlier run was killed before it finished" in " ".join(json.loads(again.stdout)["notes"])
    assert not unfinished.exists()
    assert (folder / parts.staged.application).is_dir()


def unfinished_of(folder: Path, parts: Parts) -> Path:
    return folder / f".{parts.staged.application}.srfix-unfinished"
