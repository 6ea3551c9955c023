"""`kill -9` at any instant: nothing that looks usable is left, or the whole; another run leaves the whole."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

ROOT: Final = Path(__file__).parents[4]
STEP: Final = int(os.environ.get("SRFIX_KILL_STEP", "90"))
"""1 kills at every instant, which takes minutes."""


@pytest.mark.slow
@pytest.mark.parametrize("what", ["rebuild", "rewrite", "migrate"])
def test_a_directory_is_whole_or_not_there(tmp_path: Path, what: str) -> None:
    command = (sys.executable, "-m", "tests.recovery.stores.rebuild.killed_everywhere", what, str(tmp_path), str(STEP))
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1200, check=False)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["instants"] > 200
    assert found["whole"] > 0
