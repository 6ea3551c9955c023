"""A command that is forked off behaves as one that is started."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from srfix.cli.command_table import every_command
from tests.cli.forked import run_forked
from tests.cli.kept_demo import SRFIX, environment, srfix, started
from tests.telling import slow_but


def told(done: subprocess.CompletedProcess[str]) -> tuple[int, str, str]:
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["explain", "SRF001"],
        ["no-such"],
        *slow_but([["--version"], [], *([*name.split(), "--help"] for name in every_command())]),
    ],
)
def test_it_says_and_returns_the_same(arguments: list[str]) -> None:
    assert told(srfix(*arguments)) == told(started(*arguments))


def test_it_reads_what_is_piped_in() -> None:
    text = "org.apache.kafka.common.errors.SerializationException: " + "x" * 200_000
    assert told(srfix("explain", "-", stdin=text)) == told(started("explain", "-", stdin=text))


def test_it_has_an_environment_and_a_folder_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "srfix.toml").write_text("no TOML")
    for env in ({"SRFIX_REGISTRY": "not a URL"}, {}):
        arguments = ("subjects", "--config", "srfix.toml")
        assert told(srfix(*arguments, env=env, cwd=tmp_path)) == told(started(*arguments, env=env, cwd=tmp_path))


def test_it_is_killed_when_its_time_is_over() -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        run_forked([SRFIX, "demo", "--keep"], stdin="", timeout_s=0.5, env=environment(), cwd=None)
