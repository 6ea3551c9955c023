"""What a plan costs the registry: writes, versions and ids."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from srfix.recovery.actions.actions import Action, Register
from srfix.recovery.documents import Count
from srfix.recovery.ids_in_words import counted


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """What carrying out a plan takes from a registry."""

    writes: Count
    """Requests that write, one for each step."""
    versions: Count
    """Versions that are registered. Soft-deleted ones count too: a registry's limit of schemas counts them (ksql#7690)."""
    new_ids: Count
    """Ids at most that the registry may give out anew; all others exist already."""
    held: int | None = msgspec.field(name="versions_held", default=None)
    """Versions in the whole registry when it was planned, soft-deleted ones too; None if they were not counted."""
    limit: int | None = msgspec.field(name="version_limit", default=None)
    """The most that the registry takes, as the person said; None if nobody said."""

    @property
    def in_words(self) -> str:
        """`6 writes, 2 versions (10,125 of at most 20,000 then, soft-deleted ones too), no new id`."""
        room = ""
        if self.held is not None:
            of_limit = "" if self.limit is None else f" of at most {self.limit:,}"
            room = f" ({self.held + self.versions:,}{of_limit} in the registry then, soft-deleted ones too)"
        ids = f"{counted(self.new_ids, 'new id')} at most" if self.new_ids else "no new id"
        return f"{counted(self.writes, 'write')}, {counted(self.versions, 'version')}{room}, {ids}"

    @property
    def exceeds(self) -> bool:
        """True if the registry would hold more versions than it takes."""
        return self.held is not None and self.limit is not None and self.held + self.versions > self.limit


def cost_of(actions: Iterable[Action], *, held: int | None = None, limit: int | None = None) -> Cost:
    """The cost of these steps.

    :param held: the versions that the whole registry holds, where they were counted.
    :param limit: the most that it takes, where somebody said so.
    """
    steps = tuple(actions)
    registered = [action for action in steps if isinstance(action, Register)]
    return Cost(
        writes=len(steps),
        versions=len(registered),
        new_ids=sum(action.any_id for action in registered),
        held=held,
        limit=limit,
    )
