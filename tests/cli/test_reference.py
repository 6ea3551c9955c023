"""The reference and the man pages, made from the commands, and what shells complete."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from parts.reference import markdown, write_man_pages
from srfix.cli.command_table import every_command
from srfix.cli.documents import DOCUMENTS
from srfix.recovery.explain.catalogue import CATALOGUE
from tests.cli.bash_tab import BashAtTerminal, bash_at_terminal
from tests.cli.kept_demo import SRFIX, TIMEOUT_S, environment
from tests.telling import slow_but

MAN = Path(__file__).parents[2] / "cli" / "man"


class TestReference:
    def test_it_has_every_command_with_its_options(self) -> None:
        text = markdown()
        assert [line[9:] for line in text.splitlines() if line.startswith("## srfix ")] == list(every_command())
        assert "```text\nsrfix apply [OPTIONS] PLAN\n```" in text
        assert "- `--registry URL[,URL]`: The schema registry. Environment: `SRFIX_REGISTRY`.\n" in text
        assert " Default: `litter`." in text

    @pytest.mark.slow
    def test_the_module_writes_it_into_a_directory(self, tmp_path: Path) -> None:
        command = [sys.executable, "-m", "parts.reference", "markdown", str(tmp_path / "new")]
        subprocess.run(command, timeout=TIMEOUT_S, check=True, env=environment())
        assert (tmp_path / "new" / "commands.md").read_text() == markdown()


class TestManPages:
    def test_those_of_the_wheel_are_those_of_the_commands(self, tmp_path: Path) -> None:
        """Here the words of all help are pinned."""
        write_man_pages(tmp_path)
        made = {path.name: path.read_text() for path in tmp_path.iterdir()}
        assert made.keys() == {"srfix.1", *(f"srfix-{name.replace(' ', '-')}.1" for name in every_command())}
        kept = {path.name: path.read_text() for path in MAN.iterdir()}
        assert made == kept, "run make reference"


class TestShellCompletion:
    @pytest.mark.parametrize("shell", slow_but(["bash", "zsh", "fish"], "bash"))
    def test_it_prints_a_script(self, shell: str) -> None:
        done = subprocess.run(
            [SRFIX, "--shell-completion", shell], capture_output=True, text=True, timeout=TIMEOUT_S, check=True
        )
        assert "_SRFIX_COMPLETE" in done.stdout
        assert done.stderr == ""


@pytest.fixture(scope="module")
def bash(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BashAtTerminal]:
    directory = tmp_path_factory.mktemp("typed")
    for name in ("plan one.json", "stack.txt", "schema.avsc"):
        (directory / name).write_text("")
    (directory / "state dir").mkdir()
    with bash_at_terminal(directory) as bash:
        yield bash


class TestTab:
    @pytest.mark.parametrize(
        ("typed", "offered"),
        slow_but(
            [
                ("srfix d", "diagnose decode doctor demo"),
                ("srfix schema-of ", " ".join(document.name for document in DOCUMENTS)),
                ("srfix explain ", " ".join(known.code for known in CATALOGUE)),
                ("srfix explain srf00", " ".join(known.code for known in CATALOGUE[:9])),
                ("srfix diagnose --output ", "table json markdown html junit"),
                ("srfix diagnose --engine=", "local spark"),
                ("srfix diagnose --fail-on breaks", "breaks-on-restore breaks-on-upgrade"),
                ("srfix decode users --case-rule ", "unique exact ksqldb ksqldb-2020"),
                ("srfix apply ", "plan one.json schema.avsc stack.txt state dir/"),
            ],
            ("srfix d", "diagnose decode doctor demo"),
            in_parts=True,
        ),
    )
    def test_several_are_offered(self, bash: BashAtTerminal, typed: str, offered: str) -> None:
        assert sorted(bash.press_tab(typed)[1]) == sorted(offered.split())

    @pytest.mark.parametrize(
        ("typed", "line"),
        slow_but(
            [
                ("srfix --shell", "srfix --shell-completion "),
                ("srfix diagnose --fail-", "srfix diagnose --fail-on "),
                ("srfix schema-of dia", "srfix schema-of diagnosis "),
                ("srfix explain SRF", "srfix explain SRF0"),
                ("srfix explain srf012", "srfix explain SRF012 "),
                ("srfix explain st", "srfix explain sta"),
                ("srfix explain stac", "srfix explain stack.txt "),
                ("srfix diagnose --output=js", "srfix diagnose --output=json "),
                (
                    "srfix diagnose --registry http://h:8081 --engine s",
                    "srfix diagnose --registry http://h:8081 --engine spark ",
                ),
                ("srfix apply pl", "srfix apply plan\\ one.json "),
                ("srfix apply -X 'a=b c' pl", "srfix apply -X 'a=b c' plan\\ one.json "),
                ("srfix apply -X client.id=b 'pl", "srfix apply -X client.id=b 'plan one.json' "),
                ("srfix apply 'plan ", "srfix apply 'plan one.json' "),
                ("srfix apply plan\\ ", "srfix apply plan\\ one.json "),
                ("srfix diagnose --config=pl", "srfix diagnose --config=plan\\ one.json "),
                ("srfix diagnose --write-baseline sc", "srfix diagnose --write-baseline schema.avsc "),
                ("srfix diagnose --state-dir s", "srfix diagnose --state-dir state\\ dir/"),
                ("true; A=b srfix schema-of dia", "true; A=b srfix schema-of diagnosis "),
            ],
            ("srfix explain stac", "srfix explain stack.txt "),
            ("srfix apply 'plan ", "srfix apply 'plan one.json' "),
            in_parts=True,
        ),
    )
    def test_the_only_one_is_typed(self, bash: BashAtTerminal, typed: str, line: str) -> None:
        assert bash.press_tab(typed)[0] == line
