"""What must be proven before advice that deletes or rewrites rows is given."""

from __future__ import annotations

from typing import Final

from srfix.recovery.evidence import committed_offsets
from srfix.recovery.findings import Weight
from srfix.recovery.stores import RoleFacts, StoreFacts
from srfix.serde.subjects import Role

__all__ = ["is_certain_role", "is_proven_source"]

_COMMITS: Final = committed_offsets.KIND


def is_proven_source(facts: StoreFacts) -> bool:
    """True if the source topic is conclusive, or strong by more than a commit: any consumer commits."""
    source = facts.source
    return source is not None and any(
        piece.topic == source.topic
        and (piece.weight is Weight.CONCLUSIVE or (piece.weight is Weight.STRONG and piece.kind != _COMMITS))
        for piece in facts.evidence
    )


def is_certain_role(facts: StoreFacts, role: RoleFacts) -> bool:
    """True if no doubt is left that the store's serde of this role is a schema registry's: the phantom subject stands, and
    the keys that were read are what it holds.
    """
    if not role.state.versions:
        return False
    return role.role is Role.VALUE or (facts.keys is not None and facts.keys.is_certain)
