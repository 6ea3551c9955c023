"""A Python that has what this environment has, but for some packages: what a cluster's workers may be."""

from __future__ import annotations

import sys
import sysconfig
import venv
from collections.abc import Collection
from pathlib import Path
from typing import Final

SRFIX: Final = ("srfix", "_srfix", "pyspark_srfix")
"""What is of srfix in an environment, however it was installed."""


def python_without(folder: Path, names: Collection[str]) -> str:
    """Makes the environment: no copies, links. The path of its Python."""
    venv.EnvBuilder(symlinks=True, with_pip=False).create(folder)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = folder / "lib" / version / "site-packages"
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if path.name.split(".")[0].split("-")[0] not in names:
            (packages / path.name).symlink_to(path)
    return str(folder / "bin" / "python")
