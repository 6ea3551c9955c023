"""The command as a shell sees it: exit codes, what goes to which stream, what is imported, what is hidden."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from srfix.cli.command_table import COMMANDS, CommandEntry
from srfix.cli.exit_codes import ExitCode
from srfix.cli.main import main
from srfix.cli.options.connecting import connection_options
from srfix.cli.redaction import Redactor
from srfix.recovery.errors import PlanError
from srfix.serde.errors import UsageError
from tests.cli.kept_demo import SRFIX, TIMEOUT_S, started
from tests.telling import slow_but


class TestTheInstalledCommand:
    def test_its_version_is_a_line_on_stdout(self) -> None:
        done = started("--version")
        assert (done.returncode, done.stderr) == (ExitCode.OK, "")
        assert re.fullmatch(r"srfix 0\.[^,]+, serde engine: (srfix-kernel [\d.]+|Python \(.+\))\n", done.stdout)

    @pytest.mark.parametrize(
        "arguments",
        slow_but(
            [(), ("nonsense",), ("explain", "--nonsense"), ("explain", "a", "b"), ("explain", "SRF999")],
            (),
            ("explain", "SRF999"),
        ),
    )
    def test_a_usage_error_exits_with_2_and_leaves_stdout_empty(self, arguments: tuple[str, ...]) -> None:
        done = started(*arguments)
        assert (done.returncode, done.stdout) == (ExitCode.REFUSED, "")
        assert done.stderr
        assert "Traceback" not in done.stderr

    @pytest.mark.parametrize("unbuffered", slow_but(["", "1"], ""))
    @pytest.mark.parametrize(
        "arguments", [["explain", "SRF001", "--output", "json"], ["explain", "--output", "json"], ["--help"]]
    )
    def test_a_reader_that_stops_reading_is_no_finding_and_no_traceback(
        self, arguments: list[str], unbuffered: str
    ) -> None:
        with subprocess.Popen(
            [SRFIX, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.close()
            said = process.stderr.read()
            assert process.wait(TIMEOUT_S) == ExitCode.PIPE_CLOSED
        assert said == ""

    @pytest.mark.slow
    @pytest.mark.parametrize("output", ["table", "json", "markdown", "html"])
    def test_a_terminal_that_knows_only_ascii_is_no_crash(self, output: str) -> None:
        done = started("explain", "SRF001", "--output", output, env={"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
        assert done.returncode == ExitCode.OK
        assert done.stdout.isascii()

    def test_without_a_terminal_no_line_is_folded_or_coloured(self) -> None:
        done = started("explain", env={"COLUMNS": "40", "FORCE_COLOR": ""})
        row = next(line for line in done.stdout.splitlines() if "SRF001" in line)
        assert row.rstrip().endswith("its schema ids are not registered under the phantom subject")
        assert "\x1b" not in done.stdout


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., object]], None]:
    """Puts a function into the command table under the name `act`."""

    def register(act: Callable[..., object]) -> None:
        module = types.ModuleType("srfix_test_commands")
        module.act = click.command("act")(act)  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setitem(COMMANDS, "act", CommandEntry(f"{module.__name__}:act", "Act."))

    return register


Register = Callable[[Callable[..., object]], None]


@pytest.mark.core
class TestMain:
    @pytest.mark.parametrize("code", list(ExitCode))
    def test_what_a_command_returns_is_the_exit_code(self, command: Register, code: ExitCode) -> None:
        command(lambda: code)
        assert main(["act"]) == code

    def test_the_streams_of_a_caller_stay_as_they_are(self, command: Register, monkeypatch: pytest.MonkeyPatch) -> None:
        stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="strict")
        monkeypatch.setattr(sys, "stdout", stream)
        command(lambda: None)
        assert main(["act"]) == ExitCode.OK
        assert stream.errors == "strict"

    @pytest.mark.parametrize(
        ("error", "code", "says"),
        [
            (PlanError("The plan was edited."), ExitCode.REFUSED, "srfix: The plan was edited.\n"),
            (
                ExceptionGroup("many", [PlanError("One."), ExceptionGroup("more", [UsageError("Two.")])]),
                ExitCode.REFUSED,
                "srfix: One.\nsrfix: Two.\n",
            ),
            (ExceptionGroup("many", [PlanError("One."), KeyError("two")]), ExitCode.BUG, None),
        ],
        ids=["ours", "a group of ours", "a group with a foreign one"],
    )
    def test_each_error_of_ours_is_a_sentence_and_a_foreign_one_a_bug(
        self, command: Register, capsys: pytest.CaptureFixture[str], error: Exception, code: ExitCode, says: str | None
    ) -> None:
        def act() -> None:
            raise error

        command(act)
        assert main(["act"]) == code
        assert says is None or capsys.readouterr() == ("", says)

    def test_a_question_that_is_declined_is_130(
        self, command: Register, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr("builtins.input", lambda *_: "n")
        monkeypatch.setattr("click.termui.visible_prompt_func", lambda *_: "n")
        command(lambda: click.confirm("Go on?", abort=True, err=True))
        assert main(["act"]) == ExitCode.INTERRUPTED
        assert capsys.readouterr().out == ""

    def test_a_bug_shows_its_traceback_and_asks_to_file_it(
        self, command: Register, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def act() -> None:
            raise ZeroDivisionError("by nought")

        command(act)
        assert main(["act"]) == ExitCode.BUG
        out, err = capsys.readouterr()
        assert out == ""
        assert "ZeroDivisionError: by nought" in err
        assert "This is a bug of srfix (ZeroDivisionError)" in err
        assert "Then report the bug" in err

    def test_help_does_not_import_the_commands(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setitem(COMMANDS, "ghost", CommandEntry("no.such.module:ghost", "Not there."))
        assert main(["--help"]) == ExitCode.OK
        assert "ghost" in capsys.readouterr().out


SECRET = "hunter2-hunter2"


class TestSecretsAreNeverShown:
    @pytest.mark.parametrize(
        "arguments",
        [
            ["act", "-X", f"sasl.password={SECRET}"],
            ["act", "-X", "sasl.password", "=", SECRET],
            ["act", "-X", f"sasl.jaas.config=Plain password={SECRET};"],
            ["act", "-R", f"basic.auth.user.info=me:{SECRET}"],
            ["act", "-R", f"bearer.auth.token={SECRET}"],
            ["act", "--registry", f"http://me:{SECRET}@sr:8081"],
            ["act", "-X", "sasl.password=env:THE_SECRET"],
            ["act", "-R", "basic.auth.user.info=me:env:THE_SECRET"],
        ],
    )
    @pytest.mark.parametrize("outcome", ["bug", "error", "help"])
    def test_whatever_goes_wrong(
        self,
        command: Register,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
        arguments: list[str],
        outcome: str,
    ) -> None:
        monkeypatch.setenv("THE_SECRET", SECRET)

        @connection_options
        def act(connection: object) -> None:
            kind = RuntimeError if outcome == "bug" else PlanError
            raise kind(f"{connection!r} {SECRET} http://me:{SECRET}@sr:8081")

        command(act)
        code = main([*arguments, "--help"] if outcome == "help" else arguments)
        out, err = capsys.readouterr()
        assert SECRET not in out + err
        if outcome == "help":
            assert code in {ExitCode.OK, ExitCode.REFUSED}
        else:
            assert code in {ExitCode.REFUSED, ExitCode.BUG}
            assert err

    def test_a_secret_in_a_configuration_file_or_the_environment_is_hidden_too(
        self,
        command: Register,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
        tmp_path: Path,
    ) -> None:
        config = tmp_path / "srfix.toml"
        config.write_text(f'[kafka]\n"sasl.password" = "{SECRET}"\n', encoding="utf-8")
        monkeypatch.setenv("SRFIX_REGISTRY_PROPERTIES", "basic.auth.user.info=me:other-secret")

        @connection_options
        def act(connection: object) -> None:
            raise RuntimeError(f"{connection!r} {SECRET} other-secret")

        command(act)
        assert main(["act", "--config", str(config)]) == ExitCode.BUG
        err = capsys.readouterr().err
        assert SECRET not in err
        assert "other-secret" not in err
        assert "***" in err


@pytest.mark.core
class TestRedactor:
    def test_a_reference_is_shown_and_what_it_stands_for_is_not(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        file = tmp_path / "secret"
        file.write_text("from-the-file\n", encoding="utf-8")
        monkeypatch.setenv("NAME", "from-the-environment")
        redactor = Redactor()
        redactor.note("env:NAME")
        redactor.note(f"me:file:{file}")
        redactor.note("file:/no/such/file")
        assert redactor.scrub("env:NAME from-the-environment from-the-file") == "env:NAME *** ***"

    def test_ordinary_properties_are_left_alone(self) -> None:
        redactor = Redactor()
        redactor.note_properties(["security.protocol=SASL_SSL", "client.id=srfix-one"])
        assert redactor.scrub("SASL_SSL srfix-one") == "SASL_SSL srfix-one"

    def test_a_password_in_a_url_is_hidden_without_being_known(self) -> None:
        assert Redactor().scrub("at https://key:pass@sr:8081/x?y=@") == "at https://***@sr:8081/x?y=@"
