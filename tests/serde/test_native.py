"""Which engine reads and writes rows, and how a person says so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from srfix.serde import native

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


NONE = "raise ModuleNotFoundError('none', name='srfix_kernel')\n"
"""As if none were installed."""


def installed(at: Path, kernel: str) -> Path:
    (at / "srfix_kernel.py").write_text(kernel)
    return at


def test_python_turns_the_kernel_off() -> None:
    assert ask("python") == (0, "False Python (SRFIX_ENGINE=python)")


@pytest.mark.parametrize(
    ("kernel", "engine", "why"),
    [
        (NONE, None, "srfix-kernel is not installed"),
        pytest.param(NONE, "", "srfix-kernel is not installed", marks=pytest.mark.slow),
        pytest.param(NONE, "spark", "srfix-kernel is not installed", marks=pytest.mark.slow),
        ("__version__ = '99.0.0'\n", None, "srfix-kernel 99.0.0 is installed, but this srfix needs 0.1.0"),
        ("raise ImportError('no such symbol')\n", None, "srfix-kernel cannot be loaded: no such symbol"),
    ],
)
def test_without_a_kernel_that_fits_python_does_the_work(
    tmp_path: Path, kernel: str, engine: str | None, why: str
) -> None:
    assert ask(engine, at=installed(tmp_path, kernel)) == (0, f"False Python ({why})")


def test_who_demands_the_kernel_is_told_why_there_is_none(tmp_path: Path) -> None:
    code, said = ask("native", at=installed(tmp_path, NONE))
    assert code == 1
    assert "SRFIX_ENGINE is set to native, but srfix-kernel is not installed. Install srfix-kernel 0.1.0" in said


def test_another_word_is_refused_by_the_command_too() -> None:
    command = "import sys; from srfix.cli.main import main; sys.argv[1:] = ['--version']; sys.exit(main())"
    code, said = ask("rust", code=command)
    assert (code, "SRFIX_ENGINE is 'rust'; it must be native or python" in said) == (2, True)


def test_the_versions_of_both_distributions_are_one() -> None:
    root = Path(__file__).parents[2]
    assert f'\nversion = "{native._VERSION}"\n' in (root / "serde/kernel/Cargo.toml").read_text()
    assert f'\nnative = ["srfix-kernel=={native._VERSION}"]\n' in (root / "pyproject.toml").read_text()
