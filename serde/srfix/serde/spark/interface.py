"""The values that a plan holds and that its engines share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from srfix.serde.connect.columns import Dropped
from srfix.serde.errors import Reason, SrfixError, UsageError
from srfix.serde.formats.table import Format
from srfix.serde.resolve.resolved import ResolvedSchema, SecondAnswered
from srfix.serde.subjects.names import Role, Subject
from srfix.serde.wire import SchemaId

Engine: TypeAlias = Literal["auto", "arrow", "jvm"]
"""What decodes: the serde in Arrow batches on the executors, or Spark's own Avro in the JVM; `auto` picks."""
ENGINES: Final = ("auto", "arrow", "jvm")
UnknownIds: TypeAlias = Literal["resolve", "fail"]
"""What becomes of a schema id that the plan does not know, where the JVM decodes: a stage of Python looks it up (`resolve`), or
the row is bad, UNKNOWN_ID (`fail`), and no such stage is there: an empty one costs about as much as the decoding."""

MissingColumns: TypeAlias = Literal["error", "null"]
"""What a column that no version feeds is: an error when a read is planned; or null in every row."""

OnBadRow: TypeAlias = Literal["fail", "quarantine", "null"]
"""What a row that cannot be read does: fail the job, saying its topic, partition and offset; stay, with a null in place of
the row and its reason, message and bytes in columns of their own; or be null, and counted only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """Which writer field a column, or a field inside one, is fed by."""

    column: str
    """The column's path: `ADDRESS->CITY`; `LINES->ARRAY->SKU` inside the items of an array, `M->MAP_VAL->X` inside the
    values of a map."""
    field: str | None
    """The writer field's path, in the writer's letters; empty if it is the whole of a bare body; None if no field feeds the
    column: it is null then, or `default`, and what is inside it is not listed."""
    detail: str | None = None
    """What happens on the way, if anything does: `int to BIGINT`."""
    refusal: str | None = None
    """Why a row that holds this is bad: the writer's type does not feed the column; None if it does."""
    default: str | None = None
    """Where no field feeds the column: the default of the reader's schema, in JSON; None if it has none."""
    other_time: str | None = None
    """The column's type, if the writer's numbers are refused as no such day, time or instant (`TimeUnitError`)."""
    numbers: str | None = None
    """Which days, times or instants the writer's numbers are, where the column takes them as they were written:
    `an instant in microseconds`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedVersion:
    """A version of a subject that was asked, live or soft-deleted."""

    subject: Subject
    """The subject, as it was asked."""
    version: int
    """The version's number."""
    schema_id: SchemaId
    """The id of its schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewestSchema:
    """The schema that the columns were taken from."""

    subject: Subject
    """The subject."""
    version: int
    """The version's number."""
    schema_id: SchemaId
    """The id."""
    dropped: tuple[Dropped, ...]
    """The fields that no column type holds, and that are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSchema:
    """A writer schema that payloads may carry, and how it is read."""

    resolved: ResolvedSchema
    """The schema, what it refers to, and the subject that answered. It has an id."""
    format: Format | None
    """Avro or JSON_SR, by the schema's type; None for a type that there is no serde for, which is its `problem`."""
    feeds: tuple[Feed, ...] = ()
    """Every column, in order, each with those inside it; empty if there is a `problem` with the schema as such."""
    unused: tuple[str, ...] = ()
    """The writer fields that feed no column, by path."""
    problem: SrfixError | None = field(default=None, compare=False)
    """Why no row of this schema can be read into the columns (letter case undecided, say); None if one can. Its rows are
    bad rows for this reason (`batches.reason_of`)."""
    second: SecondAnswered | None = field(default=None, compare=False)
    """What a first subject's readers fail with, where the second one answered."""

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
    error: SrfixError = field(compare=False)
    """The policy's error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonColumns:
    """What the columns about tombstones and bad rows are called, in frames."""

    tombstone: str
    """True for a tombstone, false for everything else; in every frame that was read. The mark by which a null row may be
    written as a tombstone."""

    reason: str
    """A `Reason`'s word (TOMBSTONE too); null where there is a row."""
    message: str
    """The error's words; null where there is none."""
    payload: str
    """The bytes of a bad row as they came; null where there is a row, or a tombstone."""


def reason_columns(role: Role) -> ReasonColumns:
    """`_srfix_reason` and so on for values, `_srfix_key_reason` and so on for keys."""
    front = "_srfix_key" if role is Role.KEY else "_srfix"
    return ReasonColumns(
        tombstone=f"{front}_tombstone",
        reason=f"{front}_reason",
        message=f"{front}_message",
        payload=f"{front}_payload",
    )


def check_word(name: str, value: str, words: tuple[str, ...]) -> None:
    if value not in words:
        raise UsageError(f"{name}={value!r} must be one of {', '.join(words)}.")
