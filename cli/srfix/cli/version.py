"""The version of a distribution. What tells it takes long to import, and is asked last."""

from __future__ import annotations


def version(distribution: str) -> str:
    """As in the metadata that was installed."""
    from importlib.metadata import version as version_of

    return version_of(distribution)
