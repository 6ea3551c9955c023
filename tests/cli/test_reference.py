"""The reference and the man pages, made from the commands, and what shells complete."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from srfix.cli.command_table import COMMANDS
from srfix.cli.reference import markdown
from tests.cli.kept_demo import SRFIX, TIMEOUT_S, environment

MAN = Path(__file__).parents[2] / "cli" / "man"


class TestReference:
    def test_it_has_every_command_with_its_options(self) -> None:
        text = markdown()
        assert [line[9:] for line in text.splitlines() if line.startswith("## srfix ")] == list(COMMANDS)
        assert "```text\nsrfix apply [OPTIONS] PLAN\n```" in text
        assert "- `--registry URL[,URL]`: The schema registry. Environment: `SRFIX_REGISTRY`.\n" in text
        assert " Default: `litter`." in text

    def test_the_module_writes_it_into_a_directory(self, tmp_path: Path) -> None:
        write("markdown", tmp_path / "new")
        assert (tmp_path / "new" / "commands.md").read_text() == markdown()


class TestManPages:
    def test_those_of_the_wheel_are_those_of_the_commands(self, tmp_path: Path) -> None:
        write("man", tmp_path)
        made = {path.name: path.read_text() for path in tmp_path.iterdir()}
        assert made.keys() == {"srfix.1", *(f"srfix-{name}.1" for name in COMMANDS)}
        kept = {path.name: path.read_text() for path in MAN.iterdir()}
        assert made == kept, "run make reference"


def write(kind: str, directory: Path) -> None:
    command = [sys.executable, "-m", "srfix.cli.reference", kind, str(directory)]
    subprocess.run(command, timeout=TIMEOUT_S, check=True, env=environment())


def completed(*words: str) -> list[str]:
    """What bash offers for the last of the words, by the script that it was given."""
    script = (
        'eval "$("$0" --shell-completion bash)"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
        '_srfix_completion "$0"; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", script, SRFIX, *words],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=True,
        env=environment(),
    )
    assert done.stderr == ""
    return done.stdout.split()


class TestShellCompletion:
    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_it_prints_a_script(self, shell: str) -> None:
        done = subprocess.run(
            [SRFIX, "--shell-completion", shell], capture_output=True, text=True, timeout=TIMEOUT_S, check=True
        )
        assert "_SRFIX_COMPLETE" in done.stdout
        assert done.stderr == ""

    def test_commands_options_and_choices(self) -> None:
        assert completed("srfix", "d") == ["diagnose", "decode", "doctor", "demo"]
        assert completed("srfix", "diagnose", "--fail") == ["--fail-on"]
        assert completed("srfix", "diagnose", "--fail-on", "breaks") == ["breaks-on-restore", "breaks-on-upgrade"]
        assert completed("srfix", "--shell") == ["--shell-completion"]

    @pytest.mark.parametrize(
        ("words", "kind"),
        [
            (("apply", "pl"), "file"),
            (("diagnose", "--config", "pl"), "file"),
            (("diagnose", "--write-baseline", "pl"), "file"),
            (("diagnose", "--state-dir", "pl"), "dir"),
        ],
    )
    def test_names_of_files_and_directories_are_left_to_the_shell(self, words: tuple[str, ...], kind: str) -> None:
        asked = {
            "COMP_WORDS": " ".join(("srfix", *words)),
            "COMP_CWORD": str(len(words)),
            "_SRFIX_COMPLETE": "bash_complete",
        }
        done = subprocess.run(
            [SRFIX], capture_output=True, text=True, timeout=TIMEOUT_S, check=True, env=environment(asked)
        )
        assert done.stdout == f"{kind},pl\n"
