"""The scene of a repair."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.recovery.repair.scene import Scene, staged_scene


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with staged_scene(tmp_path) as staged:
        yield staged
