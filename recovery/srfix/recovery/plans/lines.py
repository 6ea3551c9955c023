"""The lines of a journal, as far as they are alike for all plans; each kind of journal says of which lines it is."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from srfix.recovery.documents import Instant, Part, Sha256


class Line(Part, tag_field="event", kw_only=True):
    """Something that happened."""

    at: Instant
    """ISO 8601, UTC."""
    chain: Annotated[str, Meta(extra_json_schema={"pattern": "^[0-9a-f]{64}$"})] | UnsetType = UNSET
    """Digest that ties the line to the one before it."""


class Process(Part):
    """Who wrote a line."""

    host: str
    pid: int


class BeginningLine(Line, kw_only=True):
    """The first line: it has the plan."""

    by: Process
    digest: Sha256


class ResumedLine(Line, tag="resumed", kw_only=True):
    """Another process goes on."""

    by: Process


class StepLine(Line, kw_only=True):
    """Something that happened to a step."""

    step: int


class FinishedLine(Line, tag="finished", kw_only=True):
    """The plan was carried out to its end."""


class StoppedLine(Line, tag="stopped", kw_only=True):
    """A run stopped on its way."""

    refused: bool | UnsetType = UNSET
    """True if the step that was begun was refused."""


class RollbackBegunLine(Line, tag="rollback-begun", kw_only=True):
    """What was done is undone from here on."""


class RolledBackLine(Line, tag="rolled-back", kw_only=True):
    """A rollback came to its end."""
