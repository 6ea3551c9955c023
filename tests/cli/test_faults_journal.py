"""The journal's disk is full, for real (RLIMIT_FSIZE), or the plan is refused: what is left can always be gone on with."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.schemas.models import Json
from tests.cli.forked import Limits, run_forked
from tests.cli.kept_demo import SRFIX, TIMEOUT_S, environment, srfix


def run(
    command: str, directory: Path, registry: FixtureRegistry, *, room: int | None = None
) -> subprocess.CompletedProcess[str]:
    """`srfix apply` or `rollback`, where no file may grow beyond `room` bytes."""
    arguments = ["p.json" if command == "apply" else "p.json.journal.jsonl", "--yes"]
    return run_forked(
        [SRFIX, command, *arguments, "--registry", registry.url],
        stdin="",
        timeout_s=TIMEOUT_S,
        env=environment(),
        cwd=directory,
        limits=Limits(file_bytes=room),
    )


def journal(directory: Path) -> Path:
    return directory / "p.json.journal.jsonl"


def whole_lines(directory: Path) -> list[dict[str, Any]]:
    """What can be read of the journal: all but a line that was cut off."""
    content = journal(directory).read_bytes()
    return [json.loads(line) for line in content[: content.rfind(b"\n") + 1].splitlines()]


NO_ROOM = (
    "The journal p.json.journal.jsonl cannot be written (File too large). srfix changes nothing that it cannot record "
    "there first. Make room, or name another file with --journal, and run the same command again."
)


class TestNoRoomForTheJournal:
    def test_before_the_first_line_nothing_is_written_and_nothing_left(
        self, directory: Path, registry: FixtureRegistry, repaired: dict[str, Json]
    ) -> None:
        before = registry.dump()
        done = run("apply", directory, registry, room=100)
        assert (done.returncode, done.stdout, done.stderr) == (2, "", f"srfix: {NO_ROOM}\n")
        assert (registry.writes, registry.dump()) == (0, before)
        assert not journal(directory).exists()
        assert run("apply", directory, registry).returncode == 0
        assert registry.dump() == repaired

    @pytest.mark.slow
    def test_wherever_it_ends_the_repair_stops_and_goes_on_when_there_is_more(
        self, directory: Path, registry: FixtureRegistry, repaired: dict[str, Json]
    ) -> None:
        """One repair, given a little more room each time: it stops in the middle of ever later lines."""
        before = registry.dump()
        steps: list[int] = []
        room = 1_000
        while (done := run("apply", directory, registry, room=room)).returncode != 0:
            assert NO_ROOM in done.stderr
            assert done.returncode == (2 if registry.dump() == before else 3)
            if journal(directory).exists():
                steps.append(max((line["step"] for line in whole_lines(directory) if "step" in line), default=0))
            room += 700
            assert room < 100_000
        assert registry.dump() == repaired
        assert whole_lines(directory)[-1]["event"] == "finished"
        assert steps == sorted(steps)
        assert len(set(steps)) > 4

    def test_a_rollback_stops_and_goes_on_likewise(self, directory: Path, registry: FixtureRegistry) -> None:
        before = registry.dump()
        assert run("apply", directory, registry).returncode == 0
        repaired = registry.dump()
        stopped = []
        room = journal(directory).stat().st_size + 50
        while (done := run("rollback", directory, registry, room=room)).returncode != 0:
            assert NO_ROOM in done.stderr
            stopped.append(done.returncode)
            assert registry.dump() == repaired or done.returncode == 3
            room += 330  # more than the line by which each run says that it goes on
            assert room < 100_000
        assert registry.dump() == before
        assert {2, 3} == set(stopped)


class TestARefusedPlan:
    def test_leaves_no_journal_behind(self, directory: Path, registry: FixtureRegistry) -> None:
        registry.seed("_confluent-ksql-default_query_CSAS_J_0-KafkaTopic_Right-Reduce-changelog-value", '"string"')
        done = run("apply", directory, registry)
        assert done.returncode == 2
        assert "The registry has changed since the plan was made" in done.stderr
        assert [path.name for path in directory.iterdir()] == ["p.json"]

    @pytest.mark.parametrize("place", ["/dev/null", "/dev/full"])
    def test_a_journal_that_cannot_be_read_back_is_refused(
        self, directory: Path, registry: FixtureRegistry, place: str
    ) -> None:
        done = srfix("apply", "p.json", "--yes", "--registry", registry.url, "--journal", place, cwd=directory)
        assert (done.returncode, registry.writes) == (2, 0)
        assert done.stderr == (
            f"srfix: The journal {place} is not a regular file, so srfix could not read it back. Name a file.\n"
        )
