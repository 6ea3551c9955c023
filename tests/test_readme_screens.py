"""The screens and the stack trace that pages show are those of the commands."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from srfix.fixtures.damage import phantom_subject_lacks_writer_id as damage
from tests.cli.kept_demo import SRFIX, environment, srfix, staged_parts
from tests.cli.on_terminal import on_terminal
from tests.pages import BLOCKS, block_that_begins

TRACE = block_that_begins("org.apache.kafka.connect.errors")


def screen(command: str) -> list[str]:
    """What pages show of a command: all the same."""
    [text] = {block.text for block in BLOCKS if block.text.startswith(f"$ {command}\n")}
    return text.splitlines()[1:]


def test_the_first_screen_is_what_diagnose_prints_at_80_columns() -> None:
    with staged_parts() as parts:
        shown = on_terminal("diagnose", env=parts.environment).text
    assert screen("srfix diagnose") == shown.splitlines()


def test_the_question_is_what_apply_asks(tmp_path: Path) -> None:
    with staged_parts() as parts:
        assert parts.srfix("plan", "-o", "plan.json", cwd=tmp_path).returncode == 0
        shown = on_terminal("apply", "plan.json", env=parts.environment, cwd=tmp_path, typed="n\n").text
        shown = shown.replace(parts.registry.url, "http://registry:8081")
    assert screen("srfix apply plan.json") == shown.splitlines()


def test_the_stack_trace_leads_to_a_command_that_runs_and_finds_it(tmp_path: Path) -> None:
    with staged_parts() as parts:
        explained = srfix("explain", "-", env=parts.environment, stdin=TRACE)
        assert explained.returncode == 0
        [command] = re.findall(r"^  (srfix diagnose .*)$", explained.stdout, re.MULTILINE)
        path = f"{Path(SRFIX).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["sh", "-c", command],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            env=environment({"PATH": path, **parts.environment}),
            cwd=tmp_path,
        )
    assert done.returncode == 1, done.stderr
    assert f"\nSRF001, broken: {damage.APPLICATION} / {damage.STORE}\n" in done.stdout


def test_without_an_environment_it_says_what_to_set_first() -> None:
    explained = srfix("explain", "-", stdin=TRACE)
    first, command = re.findall(r"^  ((?:export|srfix diagnose) .*)$", explained.stdout, re.MULTILINE)
    assert first == "export SRFIX_BOOTSTRAP_SERVERS=HOST:9092 SRFIX_REGISTRY=http://REGISTRY:8081"
    assert command.startswith(f"srfix diagnose --application {damage.APPLICATION} --store {damage.STORE}")
