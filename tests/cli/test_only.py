"""`srfix apply --only`: a part of a plan, the rest of it later, and one rollback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.eight_stores import World, application, eight_stores
from tests.cli.forked import run_forked

SRFIX = str(Path(sys.executable).with_name("srfix"))


@pytest.fixture
def world() -> Iterator[World]:
    with eight_stores() as made:
        yield made


def srfix(world: World, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return run_forked(
        [SRFIX, *map(str, arguments)], stdin="", timeout_s=120, env={**os.environ, **world.environment}, cwd=None
    )


@pytest.mark.slow
def test_a_part_is_applied_verified_followed_by_the_rest_and_rolled_back(world: World, tmp_path: Path) -> None:
    plan, before = tmp_path / "plan.json", world.registry.dump()
    assert srfix(world, "plan", "-o", plan).returncode == 0
    steps = json.loads(plan.read_text())["actions"]
    others = [action["step"] for action in steps if action["subject"] != world.phantoms[3]]
    part = srfix(world, "apply", plan, "--yes", "--only", application(3), "--output", "json")
    assert part.returncode == 0, part.stderr
    document = json.loads(part.stdout)
    assert {step["subject"] for step in document["steps"]} == {world.phantoms[3]}
    assert document["left"] == others
    assert srfix(world, "verify", plan, "--only", application(3)).returncode == 0
    assert srfix(world, "verify", plan).returncode == 1
    rest = srfix(world, "apply", plan, "--yes")
    assert rest.returncode == 0, rest.stderr
    assert srfix(world, "diagnose").returncode == 0
    assert srfix(world, "rollback", f"{plan}.journal.jsonl", "--yes").returncode == 0
    assert world.registry.dump() == before
