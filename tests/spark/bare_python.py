"""A Python that has what this environment has, but for some packages: what a cluster's workers may be."""

from __future__ import annotations

import sys
import sysconfig
import venv
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final

SRFIX: Final = ("srfix", "_srfix", "pyspark_srfix")
"""What is of srfix in an environment, however it was installed."""


LEAST: Final = ("fastavro", "pyarrow", "requests", *("certifi", "charset_normalizer", "idna", "urllib3"))
"""What a worker needs beside the zip and Spark's own Python files; the last four come with requests."""


def python_without(folder: Path, names: Collection[str]) -> str:
    """Makes the environment: no copies, links. The path of its Python."""
    return _python(folder, lambda name: name not in names)


def python_with(folder: Path, names: Collection[str]) -> str:
    """The same of an environment that has these packages alone."""
    return _python(folder, lambda name: name in names)


def _python(folder: Path, is_there: Callable[[str], bool]) -> str:
    venv.EnvBuilder(symlinks=True, with_pip=False).create(folder)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = folder / "lib" / version / "site-packages"
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if is_there(path.name.split(".")[0].split("-")[0]):
            (packages / path.name).symlink_to(path)
    return str(folder / "bin" / "python")
