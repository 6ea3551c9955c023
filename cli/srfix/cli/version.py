"""The version of a distribution, and where srfix is documented. What tells a version takes long to import."""

from __future__ import annotations

from typing import Final

SITE: Final = "https://srfix.github.io/srfix/"
"""The documentation: `site_url` of its build."""


def version(distribution: str) -> str:
    """As in the metadata that was installed."""
    from importlib.metadata import version as version_of

    return version_of(distribution)
