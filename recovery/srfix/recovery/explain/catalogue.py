"""What each finding code means: the table behind `srfix explain`.

The codes are stable. A code whose `checked_since` is None is explained, but not looked for yet.
"""

from __future__ import annotations

import re
from typing import Final

from srfix.recovery.checks import CHECKS, UNCHECKED, CatalogueEntry

CATALOGUE: Final[tuple[CatalogueEntry, ...]] = tuple(
    sorted((*(check.entry for check in CHECKS), *UNCHECKED), key=lambda known: known.code)
)
"""Every code, in order."""

_CODE = re.compile(r"(?i)srf(\d{3})")
_BY_CODE = {known.code: known for known in CATALOGUE}


def entry(code: str) -> CatalogueEntry | None:
    """The entry of a code, in whatever letter case it was typed; None if there is no such code."""
    match = _CODE.fullmatch(code.strip())
    return None if match is None else _BY_CODE.get(f"SRF{match[1]}")
