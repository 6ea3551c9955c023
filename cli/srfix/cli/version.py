"""The version of a distribution, and the address of the documentation. Importing `importlib.metadata` takes long."""

from __future__ import annotations

from typing import Final

SITE: Final = "https://srfix.github.io/srfix/"
"""The address of the documentation: `site_url` of its build."""


def version(distribution: str) -> str:
    from importlib.metadata import version as version_of

    return version_of(distribution)
