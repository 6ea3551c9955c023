"""What a plan holds and what its engines share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from srfix.serde._resolved import ResolvedSchema
from srfix.serde.batches import Reason
from srfix.serde.errors import SrfixError
from srfix.serde.formats.table import Format
from srfix.serde.subjects import Role
from srfix.serde.wire import SchemaId

__all__ = [
    "ENGINES",
    "Engine",
    "Feed",
    "OnBadRow",
    "PlannedRefusal",
    "PlannedSchema",
    "ReasonColumns",
    "reason_columns",
]

Engine: TypeAlias = Literal["auto", "arrow", "jvm"]
"""What decodes: the serde in Arrow batches on the executors, or Spark's own Avro in the JVM; `auto` picks."""
ENGINES: Final = ("auto", "arrow", "jvm")

OnBadRow: TypeAlias = Literal["fail", "quarantine", "null"]
"""What a row that cannot be read does: fail the job, saying its topic, partition and offset; stay, with a null in place of
the row and its reason, message and bytes in columns of their own; or be null, and counted only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """Which writer field a column, or a field inside one, is fed by."""

    column: str
    """The column's path, `ADDRESS->CITY`."""
    field: str | None
    """The writer field's path, in the writer's letters; None if no field feeds it: it is null."""
    detail: str | None = None
    """What happens on the way, if anything does: `int to BIGINT`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSchema:
    """A writer schema that payloads may carry, and how it is read."""

    resolved: ResolvedSchema
    """The schema, what it refers to, and the subject that answered. It has an id."""
    format: Format
    """Avro or JSON_SR."""
    feeds: tuple[Feed, ...] = ()
    """Every column, in order, with those inside STRUCTs."""
    problem: SrfixError | None = None
    """Why no row of this schema can be read into the columns (letter case undecided, say); None if one can."""

    @property
    def schema_id(self) -> SchemaId:
        """The id."""
        assert self.resolved.schema_id is not None
        return self.resolved.schema_id


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRefusal:
    """A schema id that the policy did not accept when the plan was made. Where the arrow engine meets it, it asks again."""

    schema_id: SchemaId
    """The id."""
    reason: Reason
    """UNKNOWN_ID or NOT_UNDER_SUBJECT."""
    error: SrfixError
    """The policy's error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonColumns:
    """What the columns about bad rows are called, in frames."""

    reason: str
    """A `Reason`'s word (TOMBSTONE too); null where there is a row."""
    message: str
    """The error's words; null where there is none."""
    payload: str
    """The bytes of a bad row as they came; null where there is a row, or a tombstone."""


def reason_columns(role: Role) -> ReasonColumns:
    """`_srfix_reason` and so on for values, `_srfix_key_reason` and so on for keys."""
    front = "_srfix_key" if role is Role.KEY else "_srfix"
    return ReasonColumns(reason=f"{front}_reason", message=f"{front}_message", payload=f"{front}_payload")
