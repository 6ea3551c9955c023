"""The values of a plan that its engines share, and how a plan becomes a text of a few lines."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from textwrap import shorten
from typing import Final, Generic, Literal, TypeAlias, TypeVar

from srfix.serde.casing import CaseRule
from srfix.serde.columns.times import WrittenTimes
from srfix.serde.connect.columns import Dropped
from srfix.serde.errors import Reason, SrfixError
from srfix.serde.formats.table import Format
from srfix.serde.resolve.resolved import ResolvedSchema, SecondAnswered
from srfix.serde.specs import RowSpec
from srfix.serde.subjects.names import Role, Subject
from srfix.serde.wire import SchemaId

LOG: Final = logging.getLogger("srfix.serde.spark")

Engine: TypeAlias = Literal["auto", "arrow", "jvm"]
"""The decoder: the serde on Arrow batches on the executors, or Spark's own Avro in the JVM; `auto` chooses."""
UnknownIds: TypeAlias = Literal["resolve", "fail"]
"""With `resolve`, a Python stage looks the id up (it costs as much as decoding, even if empty); with `fail`, the row is bad."""

MissingColumns: TypeAlias = Literal["error", "null"]
"""The handling of a column that no version feeds: an error when the read is planned, or null in every row."""

OnBadRow: TypeAlias = Literal["fail", "quarantine", "null"]
"""The handling of a row that cannot be read: it fails the job, with its topic, partition and offset; or it stays, with
null instead of the row, and its reason, message and bytes in separate columns; or it is null, and only counted."""


_Spec = TypeVar("_Spec", bound=RowSpec)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Decisions(Generic[_Spec]):
    """What plans to read and to write decide alike."""

    topic: str
    """The topic after which subjects are named."""
    role: Role
    """Keys or values."""
    spec: _Spec
    """How bodies are read or written: the columns of this half as declared, and how names are matched to them."""

    @property
    def wrapped(self) -> bool:
        """False if a body is the bare value of the only column."""
        return self.spec.wrapped

    @property
    def case_rule(self) -> CaseRule:
        """The rule that decides which field feeds which column, or which column a row's name means."""
        return self.spec.case_rule

    @property
    def times(self) -> WrittenTimes:
        """`"integers"` if a DATE, TIME or TIMESTAMP is the integer in the record; `"micros"` only if it is written."""
        return self.spec.times


@dataclass(frozen=True, slots=True, kw_only=True)
class Feed:
    """The writer field that feeds a column, or a field within a column."""

    column: str
    """The column's path: `ADDRESS->CITY`; `LINES->ARRAY->SKU` inside the items of an array, `M->MAP_VAL->X` inside the
    values of a map."""
    field: str | None
    """The writer field's path, in the writer's letters; empty for a whole bare body; None if no field feeds the column.
    The column is then null, or `default`, and its inner fields are not listed."""
    detail: str | None = None
    """The conversion, if there is one: `int to BIGINT`."""
    refusal: str | None = None
    """Why the writer's type cannot feed the column, so that rows with this type are bad; None if it can feed it."""
    default: str | None = None
    """If no field feeds the column: the default of the reader's schema, in JSON; None if it has none."""
    other_time: str | None = None
    """The column's type, if the column refuses the writer's kind of days, times or instants (`TimeUnitError`)."""
    numbers: str | None = None
    """The unit of the writer's days, times or instants, if the column keeps the written numbers: `an instant in
    microseconds`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedVersion:
    """A version of a requested subject, live or soft-deleted."""

    subject: Subject
    version: int
    schema_id: SchemaId


@dataclass(frozen=True, slots=True, kw_only=True)
class NewestSchema:
    """The schema from which the columns were taken."""

    subject: Subject
    version: int
    schema_id: SchemaId
    dropped: tuple[Dropped, ...]
    """The fields that are left out, because no column type can hold them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSchema:
    """A writer schema of possible payloads, and how it is read."""

    resolved: ResolvedSchema
    """The schema, its references, its id, and the subject that answered."""
    format: Format | None
    """Avro, JSON_SR or Protobuf, by the schema's type; None if srfix has no serde for the type (`problem` then says so)."""
    feeds: tuple[Feed, ...] = ()
    """Every column in order, each with its inner fields; empty if the schema itself has a `problem`."""
    unused: tuple[str, ...] = ()
    """The writer fields that feed no column, by path."""
    problem: SrfixError | None = field(default=None, compare=False)
    """Why no row of this schema can be read into the columns (for example, because of ambiguous letter case); None if
    rows can be read. Its rows are bad rows with this reason (`SrfixError.row_reason`)."""
    second: SecondAnswered | None = field(default=None, compare=False)
    """Set if only the second subject holds the schema; `first_error` is the error of a reader that asks only the first."""

    @property
    def schema_id(self) -> SchemaId:
        assert self.resolved.schema_id is not None
        return self.resolved.schema_id


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRefusal:
    """A schema id that the policy did not accept when the plan was made. If the arrow engine meets the id, srfix asks
    the policy again."""

    schema_id: SchemaId
    reason: Reason
    """UNKNOWN_ID or NOT_UNDER_SUBJECT."""
    error: SrfixError = field(compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonColumns:
    """The names of the columns about tombstones and bad rows in frames."""

    tombstone: str
    """True for a tombstone, false for everything else. Every frame that was read has this column. Only with this mark
    can a null row be written as a tombstone."""

    reason: str
    """A `Reason`'s word (also TOMBSTONE); null for a good row."""
    message: str
    """The error's message; null if there is no error."""
    payload: str
    """The original bytes of a bad row; null for a good row or a tombstone."""


def reason_columns(role: Role) -> ReasonColumns:
    """`_srfix_reason` and so on for values, `_srfix_key_reason` and so on for keys."""
    front = "_srfix_key" if role is Role.KEY else "_srfix"
    return ReasonColumns(**{one.name: f"{front}_{one.name}" for one in fields(ReasonColumns)})


WIDTH: Final = 120
LABEL: Final = 14
"""The characters before a text: two blanks, its label, two blanks."""


def short_text(head: str, entries: Iterable[tuple[str, str]]) -> str:
    """A line of at most 120 characters for each label and its text; the last line says how to get the whole text."""
    lines = [f"  {label:<{LABEL - 4}}  {shorten(text, WIDTH - LABEL, placeholder=' …')}" for label, text in entries]
    return "\n".join((head, *lines, "All of it: explain(extended=True)"))


def first_ones(words: Iterable[str], most: int) -> str:
    all_words = list(words)
    more = f" and {len(all_words) - most:,} more" if len(all_words) > most else ""
    return f"{', '.join(all_words[:most])}{more}"
