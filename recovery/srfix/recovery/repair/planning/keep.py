"""What becomes of the versions that a repair registers."""

from __future__ import annotations

from enum import Enum


class Keep(Enum):
    """Whether a registered version stays live."""

    AUTO = "auto"
    """Live where no schema that may follow the owner's own is refused for its sake, soft-deleted otherwise."""
    LIVE = "live"
    """Live: it becomes the subject's latest, and the application's next schema is checked against it."""
    SOFT_DELETED = "soft-deleted"
    """Soft-deleted at once: the failing reader still finds it, compatibility does not see it."""
