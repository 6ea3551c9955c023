"""What the process of the command has of its own: interrupts at any moment, and streams that are closed or full."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from srfix.cli.exit_codes import ExitCode
from srfix.cli.main import main
from srfix.cli.process import Interrupts
from tests.cli.kept_demo import SRFIX, TIMEOUT_S, environment, started
from tests.telling import slow_but

WHEN_IMPORTED = """
import os, signal, sys

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            sys.meta_path.remove(self)
            {act}

sys.meta_path.insert(0, Interrupting())
"""
ONCE = "os.kill(os.getpid(), signal.SIGINT)"
TWICE = """
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except KeyboardInterrupt:
                pass
            os.kill(os.getpid(), signal.SIGINT)
"""
AT_THE_END = "import atexit, os, signal\natexit.register(os.kill, os.getpid(), signal.SIGINT)\n"
IN_A_THREAD_THAT_LASTS = """
import os, signal, threading, time

def last():
    threading.main_thread().join()
    for _ in range(600):  # one that comes just before the main thread waits is seen after that alone
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.1)

threading.Thread(target=last).start()
"""


@pytest.fixture
def with_start(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the installed command, which runs some code of the test's before its own."""

    def run(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "sitecustomize.py").write_text(code)
        path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
        return started(*arguments, env={"PYTHONPATH": path})

    return run


Run = Callable[..., subprocess.CompletedProcess[str]]


class TestAnInterrupt:
    @pytest.mark.parametrize(
        "module",
        slow_but(
            [
                "srfix.cli.exit_codes",
                "srfix.cli.process",
                "srfix.cli.command_line",
                "click",
                "srfix.cli.command_table",
                "srfix.cli.redaction",
                "srfix.cli.commands.diagnose",
                "confluent_kafka",
                "requests",
            ],
            "srfix.cli.process",
            "srfix.cli.commands.diagnose",
        ),
    )
    def test_while_a_module_is_imported(self, with_start: Run, module: str) -> None:
        done = with_start(WHEN_IMPORTED.format(name=module, act=ONCE), "diagnose", "--bootstrap-servers", "127.0.0.1:1")
        assert (done.returncode, done.stdout, done.stderr) == (130, "", "\nStopped; nothing more is done.\n")

    def test_a_second_one_ends_it_at_once(self, with_start: Run) -> None:
        done = with_start(WHEN_IMPORTED.format(name="click", act=TWICE), "explain")
        assert (done.returncode, done.stdout, done.stderr) == (130, "", "")

    @pytest.mark.parametrize("code", [AT_THE_END, IN_A_THREAD_THAT_LASTS])
    def test_while_the_interpreter_ends(self, with_start: Run, code: str) -> None:
        done = with_start(code, "--version")
        assert (done.returncode, done.stderr) == (130, "")
        assert done.stdout.startswith("srfix ")

    def test_that_compiled_code_makes_another_error_of(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def interrupted(*_: object, **__: object) -> None:
            try:
                raise KeyboardInterrupt
            except KeyboardInterrupt as error:
                raise SystemError("returned a result with an exception set") from error

        monkeypatch.setattr("srfix.cli.command_line.cli.main", interrupted)
        assert main(["explain"]) == ExitCode.INTERRUPTED
        assert capsys.readouterr() == ("", "Stopped; nothing more is done.\n")

    def test_no_other_error_is_one(self) -> None:
        error = ValueError("one")
        error.__cause__ = error.__context__ = error
        assert not Interrupts().caused(error)


def shell(command: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", command.replace("srfix", SRFIX, 1)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        env=environment(settings),
    )


full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full is Linux's")


class TestStandardOutput:
    @full
    @pytest.mark.parametrize("unbuffered", ["", "1"])
    @pytest.mark.parametrize(
        "command", slow_but(["--help", "--version", "explain", "explain SRF001 --output json"], "explain")
    )
    def test_that_is_full_is_2_with_a_sentence(self, command: str, unbuffered: str) -> None:
        done = shell(f"srfix {command} > /dev/full", PYTHONUNBUFFERED=unbuffered)
        assert done.returncode == ExitCode.REFUSED
        assert done.stderr.startswith("srfix: Standard output cannot be written (No space left on device): ")
        assert done.stderr.count("\n") == 1

    def test_that_is_closed_is_2_with_a_sentence(self) -> None:
        done = shell("srfix explain >&-")
        assert done.returncode == ExitCode.REFUSED
        assert done.stderr.startswith("srfix: Standard output cannot be written (Bad file descriptor): ")

    def test_of_which_one_line_is_read(self) -> None:
        done = shell("srfix explain --output json | head -1")
        assert (done.stdout, done.stderr) == ("{\n", "")

    @full
    def test_that_is_full_hides_no_error(self) -> None:
        done = shell("srfix explain SRF999 > /dev/full")
        assert done.returncode == ExitCode.REFUSED
        assert done.stderr.startswith("srfix: 'SRF999' is neither")


class TestStandardError:
    @full
    def test_that_is_full_changes_no_outcome(self) -> None:
        done = shell("srfix explain SRF001 2> /dev/full")
        assert (done.returncode, done.stdout[:8]) == (ExitCode.OK, "SRF001: ")
        assert shell("srfix explain SRF999 2> /dev/full").returncode == ExitCode.REFUSED

    def test_that_is_closed_changes_none_either(self) -> None:
        assert shell("srfix explain SRF999 2>&-").returncode == ExitCode.REFUSED

    def test_all_closed(self) -> None:
        assert shell("srfix explain - <&- >&- 2>&-").returncode == ExitCode.REFUSED


def test_python_runs_it_by_the_name_of_the_package() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "srfix", "--version"], capture_output=True, text=True, timeout=TIMEOUT_S, check=True
    )
    assert done.stdout.startswith("srfix ")
    assert done.stderr == ""


@pytest.mark.skipif(sys.platform == "win32", reason="Limits are POSIX's.")
@pytest.mark.parametrize("arguments", [("verify", "plan.json"), ("rollback", "plan.json", "--yes")])
def test_where_no_temporary_directory_can_be_written_to_it_is_no_bug(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    """As on a full disk: a library that is loaded asks for one."""
    command = ["bash", "-c", 'ulimit -f 0; exec "$@"', "bash", str(SRFIX), *arguments]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (ExitCode.REFUSED, False)
