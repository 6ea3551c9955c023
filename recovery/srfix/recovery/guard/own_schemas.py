"""What an application has registered itself, and the source topic's own subject lacks."""

from __future__ import annotations

from srfix.recovery.guard.looking import RoleKnown
from srfix.serde.subjects.names import Role


def has_nothing_of_its_own(known: RoleKnown | None, role: Role) -> bool:
    """True if what stands under the phantom subject shows that the application writes no schema of its own."""
    return known is not None and not known.own and (bool(known.phantom.versions) or role is Role.KEY)
