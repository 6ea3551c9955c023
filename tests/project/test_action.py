"""The GitHub Action: its own scripts, run as GitHub runs them, on the incident."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from srfix.cli.commands.diagnose import diagnose
from srfix.fixtures.damage import phantom_subject_lacks_writer_id as damage
from tests.cli.kept_demo import SRFIX, environment, staged_parts

ROOT: Final = Path(__file__).parents[2]
ACTION: Final[dict[str, Any]] = yaml.safe_load((ROOT / ".github/actions/srfix/action.yml").read_text(encoding="utf-8"))
INPUT: Final = re.compile(r"\$\{\{ inputs\.([\w-]+) \}\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a step left."""

    code: int
    log: str
    outputs: Mapping[str, str]
    summary: str


def step_called(name: str) -> dict[str, Any]:
    (found,) = (step for step in ACTION["runs"]["steps"] if step.get("name") == name)
    return dict(found)


def run(folder: Path, inputs: Mapping[str, str], *, srfix: str = SRFIX, env: Mapping[str, str] | None = None) -> Ran:
    """Runs the step that runs srfix, with GitHub's shell, files and variables.

    :param srfix: the command that the step before has installed.
    """
    assert set(inputs) <= set(ACTION["inputs"])
    bin_ = folder / "srfix-action" / "bin"
    bin_.mkdir(parents=True)
    (bin_ / "srfix").symlink_to(srfix)
    step = step_called("Run srfix")
    script, output, summary = folder / "step.sh", folder / "output", folder / "summary"
    script.write_text(step["run"], encoding="utf-8")
    output.touch()
    summary.touch()
    given = {name: inputs.get(name, declared.get("default", "")) for name, declared in ACTION["inputs"].items()}
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", script],
        env={
            **environment(env),
            **{name: INPUT.sub(lambda match: given[match[1]], value) for name, value in step["env"].items()},
            "RUNNER_TEMP": str(folder),
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(summary),
        },
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    told = dict(line.split("=", 1) for line in output.read_text(encoding="utf-8").splitlines())
    return Ran(
        code=done.returncode, log=done.stdout + done.stderr, outputs=told, summary=summary.read_text(encoding="utf-8")
    )


def recorder(folder: Path, body: str = "") -> str:
    """A command that writes down its arguments, in place of srfix."""
    path = folder / "recorder"
    kept = repr(str(folder / "arguments"))
    lines = [f"#!{sys.executable}", "import json, sys", f"open({kept}, 'w').write(json.dumps(sys.argv[1:]))", body]
    path.write_text("\n".join(lines), encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_it_finds_the_incident_shows_it_in_the_summary_and_fails(tmp_path: Path) -> None:
    with staged_parts() as parts:
        where = parts.environment
        ran = run(
            tmp_path,
            {"bootstrap-servers": where["SRFIX_BOOTSTRAP_SERVERS"], "registry": where["SRFIX_REGISTRY"]},
        )
        assert parts.registry.writes == 0
    assert ran.code == 1
    assert ran.outputs["exit-code"] == "1"
    assert "SRF001" in ran.summary
    assert damage.APPLICATION in ran.summary
    assert Path(ran.outputs["report"]).read_text(encoding="utf-8") == ran.summary


@pytest.mark.slow
def test_what_could_not_look_fails_with_its_own_code(tmp_path: Path) -> None:
    ran = run(tmp_path, {"registry": "http://127.0.0.1:1"})
    assert (ran.code, ran.outputs["exit-code"]) == (2, "2")
    assert "--bootstrap-servers" in ran.log


def test_its_inputs_become_the_commands_options_each_a_word_of_its_own(tmp_path: Path) -> None:
    inputs = {
        "registry": "http://registry:8081",
        "fail-on": "breaks-on-restore",
        "baseline": "known $(touch hurt).json",
        "kafka-config": "kafka.properties",
        "config": "srfix.toml",
        "arguments": "--quiet\n--ignore\nold-*\n",
    }
    ran = run(tmp_path, inputs, srfix=recorder(tmp_path))
    assert ran.code == 0, ran.log
    assert json.loads((tmp_path / "arguments").read_text(encoding="utf-8")) == [
        *(
            "diagnose",
            "--output",
            "markdown",
            "--registry",
            "http://registry:8081",
            "--kafka-config",
            "kafka.properties",
        ),
        *("--config", "srfix.toml", "--fail-on", "breaks-on-restore", "--baseline", "known $(touch hurt).json"),
        *("--quiet", "--ignore", "old-*"),
    ]
    assert not (tmp_path / "hurt").exists()


@pytest.mark.parametrize("arguments", ["apply\nplan.json", pytest.param("--yes\nrollback", marks=pytest.mark.slow)])
def test_it_runs_nothing_that_writes(arguments: str, tmp_path: Path) -> None:
    ran = run(tmp_path, {"arguments": arguments})
    assert ran.code == 2
    assert "Usage: srfix diagnose " in ran.log


def test_each_option_that_it_gives_is_one_of_the_command() -> None:
    given = set(re.findall(r"(?m)^(?:add|arguments=.*) (--[a-z-]+)", step_called("Run srfix")["run"]))
    assert (
        {"--output", "--fail-on", "--baseline", "--config"}
        <= given
        <= {opt for param in diagnose.params for opt in param.opts}
    )


def test_a_quiet_run_has_a_summary_all_the_same(tmp_path: Path) -> None:
    ran = run(tmp_path, {"arguments": "--quiet"}, srfix=recorder(tmp_path))
    assert ran.code == 0
    assert ran.summary == "srfix diagnose found nothing that fails the job. With --quiet it then prints no report.\n"


def test_no_input_is_a_secret() -> None:
    assert not [name for name in ACTION["inputs"] if re.search("pass|secret|token|key|credential", name)]


@pytest.mark.parametrize(("version", "wanted"), [("", "/actions/../../.."), ("1.2.3", "srfix==1.2.3")])
def test_it_installs_what_it_is_a_part_of_or_the_version_that_was_asked_for(
    version: str, wanted: str, tmp_path: Path
) -> None:
    """With a Python that writes down what it is asked for; the venv is what `python -m venv` would leave."""
    bin_ = tmp_path / "srfix-action" / "bin"
    bin_.mkdir(parents=True)
    python = bin_ / "python"
    python.write_text(f'#!/bin/sh\nprintf "%s\\n" "$*" >> {shlex.quote(str(tmp_path / "asked"))}\n', encoding="utf-8")
    python.chmod(0o755)
    script = tmp_path / "step.sh"
    script.write_text(step_called("Install srfix")["run"], encoding="utf-8")
    told = {"PYTHON": str(python), "VERSION": version, "GITHUB_ACTION_PATH": "/actions", "RUNNER_TEMP": str(tmp_path)}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
    subprocess.run(command, env={**os.environ, **told}, check=True, timeout=60)
    asked = (tmp_path / "asked").read_text(encoding="utf-8").splitlines()
    assert asked[0] == f"-m venv {tmp_path}/srfix-action"
    assert asked[1].startswith("-m pip install ")
    assert asked[1].endswith(f" {wanted}")
