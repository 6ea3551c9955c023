"""srfix as its user runs it, without the second that Python takes to import it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.cli.forked import run_forked

SRFIX: Final = str(Path(sys.executable).with_name("srfix"))
_TIMEOUT_S: Final = 120.0


def run_srfix(*arguments: str, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """The command with these arguments, without a standard input, in an environment.

    :raises subprocess.TimeoutExpired: if it takes two minutes.
    """
    return run_forked([SRFIX, *arguments], stdin="", timeout_s=_TIMEOUT_S, env=env, cwd=None)
