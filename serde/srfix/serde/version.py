"""The installed version of srfix."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("srfix")
except PackageNotFoundError:  # imported from the zip for Spark's workers, which has no metadata
    __version__ = "0+unknown"
