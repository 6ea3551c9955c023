"""How bad a finding is. It is separate from the findings, because options need it before anything is loaded."""

from __future__ import annotations

from enum import Enum


class Severity(Enum):
    """How bad it is, worst first."""

    BROKEN = "broken"
    BREAKS_ON_RESTORE = "breaks on restore"
    BREAKS_ON_UPGRADE = "breaks on upgrade"
    SILENT = "silent wrong results"
    LITTER = "litter"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return list(Severity).index(self)

    def is_at_least(self, other: Severity) -> bool:
        """True if it is as bad as the other, or worse."""
        return self.rank <= other.rank
