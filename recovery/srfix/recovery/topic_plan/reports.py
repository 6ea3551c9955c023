"""What came of a step."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StepReport:
    """What one run did for a step."""

    written: int = 0
    """Records that were written now."""
    stood: int = 0
    """Planned records that an earlier run had written."""
    left: int = 0
    """Keys that were left, for somebody has written them since."""
    put_back: int = 0
    """Records of others that were overtaken, and written again behind."""
