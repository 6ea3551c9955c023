"""Whoever followed a repair's progress stopped reading: the repair goes on."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.kept_demo import SRFIX, Parts, environment, registry_like


def run_deaf(*arguments: str | Path, cwd: Path, both: bool) -> int:
    """The command with nobody at the other end of its standard error (and output)."""
    ours, theirs = os.pipe()
    os.close(ours)
    try:
        return subprocess.run(
            [SRFIX, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=theirs if both else subprocess.DEVNULL,
            stderr=theirs,
            env=environment(None),
            cwd=cwd,
            timeout=120,
            check=False,
        ).returncode
    finally:
        os.close(theirs)


@pytest.mark.slow
@pytest.mark.parametrize("both", [False, True])
def test_a_repair_and_its_rollback_come_to_their_end(parts: Parts, tmp_path: Path, both: bool) -> None:
    assert parts.srfix("plan", "-o", tmp_path / "p.json").returncode == 0
    with registry_like(parts.registry) as registry:
        before = registry.dump()
        to = ("--registry", registry.url)
        run_deaf("apply", "p.json", "--yes", *to, cwd=tmp_path, both=both)
        assert '"event": "finished"' in (tmp_path / "p.json.journal.jsonl").read_text().splitlines()[-1]
        assert registry.dump() != before
        assert registry.dump()["configs"] == before["configs"]
        run_deaf("rollback", "p.json", "--yes", *to, cwd=tmp_path, both=both)
        assert registry.dump() == before
