"""The document of what `srfix apply` did."""

from __future__ import annotations

from typing import Literal

from srfix.recovery.actions.document import ActionPart
from srfix.recovery.documents import Sha256, VersionedDocument


class AppliedStep(ActionPart, kw_only=True):
    """A step that this run did or found done."""

    outcome: Literal["done", "found done"]


class AppliedDocument(VersionedDocument, tag="srfix.applied/1"):
    """What `srfix apply` did."""

    digest: Sha256
    """The plan's."""
    registry: str
    journal: str
    steps: list[AppliedStep]
    """Those that this run did or found done."""
    left: list[int]
    """Steps of the plan that --only left for later."""
    next: list[str]
    """What to do now."""
