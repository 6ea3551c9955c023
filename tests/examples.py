"""How many examples a test draws that needs other numbers than the profiles of `tests/conftest.py` have."""

from __future__ import annotations

from typing import Final

from hypothesis import settings

IS_EVERYTHING: Final = settings.get_current_profile_name() == "everything"
"""Whether all there is runs, with new examples (`make everything`)."""


def examples(everything: int) -> int:
    """So many under the profile `everything`, else a tenth of them."""
    return everything if IS_EVERYTHING else everything // 10
