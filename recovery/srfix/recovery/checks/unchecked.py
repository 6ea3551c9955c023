"""Finding codes that are explained and that no check looks for yet: a row becomes a module once one does."""

from __future__ import annotations

from typing import Final

from srfix.recovery.checks.interface import CatalogueEntry

UNCHECKED: Final[tuple[CatalogueEntry, ...]] = ()
"""In the order of their codes."""
