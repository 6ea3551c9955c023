"""Which engine reads and writes rows, and how a person says so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from srfix.serde import native
from srfix.serde.errors import UsageError

ASK = "from srfix.serde import native; print(native.kernel() is not None, native.engine_in_words())"


def ask(engine: str | None, *, at: Path | None = None, code: str = ASK) -> tuple[int, str]:
    """In a process of its own, for an engine is chosen once.

    :param at: where modules are looked for first.
    """
    environment = {name: value for name, value in os.environ.items() if name != native.ENGINE_VARIABLE}
    if engine is not None:
        environment[native.ENGINE_VARIABLE] = engine
    if at is not None:
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, (str(at), environment.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, (done.stdout or done.stderr.splitlines()[-1]).strip()


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A kernel of another version."""
    (tmp_path / "srfix_kernel.py").write_text("__version__ = '99.0.0'\n")
    return tmp_path


@pytest.fixture
def none(tmp_path: Path) -> Path:
    """As if none were installed."""
    (tmp_path / "srfix_kernel.py").write_text("raise ModuleNotFoundError('none', name='srfix_kernel')\n")
    return tmp_path


def test_python_turns_the_kernel_off() -> None:
    assert ask("python") == (0, "False Python (SRFIX_ENGINE=python)")


@pytest.mark.parametrize("engine", [None, "", "local", "spark"])
def test_without_a_kernel_python_does_the_work(none: Path, engine: str | None) -> None:
    assert ask(engine, at=none) == (0, "False Python (srfix-kernel is not installed)")


def test_a_kernel_of_another_version_is_left_alone_and_named(other: Path) -> None:
    assert ask(None, at=other) == (0, "False Python (srfix-kernel 99.0.0 is installed, and this srfix needs 0.1.0)")


def test_a_kernel_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    (tmp_path / "srfix_kernel.py").write_text("raise ImportError('no such symbol')\n")
    assert ask(None, at=tmp_path) == (0, "False Python (srfix-kernel cannot be loaded: no such symbol)")


def test_who_demands_the_kernel_is_told_why_there_is_none(none: Path) -> None:
    code, said = ask("native", at=none)
    assert code == 1
    assert said.endswith(
        "SRFIX_ENGINE is native, and srfix-kernel is not installed. Install srfix-kernel 0.1.0, or leave it unset."
    )


def test_another_word_is_refused_by_the_command_too() -> None:
    code, said = ask("rust")
    assert (code, said.partition(": ")[2]) == (1, "SRFIX_ENGINE is 'rust'; it is native or python, or not set.")
    code, said = ask(
        "rust", code="import sys; from srfix.cli.main import main; sys.argv[1:] = ['--version']; sys.exit(main())"
    )
    assert (code, said) == (2, "srfix: SRFIX_ENGINE is 'rust'; it is native or python, or not set.")


def test_the_versions_of_both_distributions_are_one() -> None:
    root = Path(__file__).parents[2]
    assert f'\nversion = "{native._VERSION}"\n' in (root / "serde/kernel/Cargo.toml").read_text()
    assert f'\nnative = ["srfix-kernel=={native._VERSION}"]\n' in (root / "pyproject.toml").read_text()


@pytest.mark.skipif(native.kernel() is None, reason="the kernel is not there")
def test_what_is_no_decoder_of_the_kernels_is_none() -> None:
    assert native.native_decoder_of(print) is None


def test_an_error_of_the_engine_is_one_of_usage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(native.ENGINE_VARIABLE, "x")
    with pytest.raises(UsageError, match="SRFIX_ENGINE is 'x'"):
        native.kernel.__wrapped__()
