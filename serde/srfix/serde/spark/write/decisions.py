"""The decisions of a write plan, as values. Code that explains or translates a plan gets these values."""

from __future__ import annotations

from dataclasses import dataclass

from srfix.serde.casing import CaseRule
from srfix.serde.columns.times import Times
from srfix.serde.columns.types import Columns
from srfix.serde.formats.table import Format
from srfix.serde.interface import SerdeContext, Serializer
from srfix.serde.schemas.models import Schema
from srfix.serde.serdes.schema_choices import SettledSchema
from srfix.serde.serializer import FRAMED, SCHEMALESS
from srfix.serde.specs import WriteSpec
from srfix.serde.subjects.names import Role, Subject
from srfix.serde.wire import Framing, SchemaId, frame_guid, prefix_id_bytes, schema_id_header


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteDecisions:
    """How rows are written: everything of a `WritePlan` except the methods that explain it."""

    topic: str
    """The topic after which the subject was named."""
    role: Role
    """Keys or values."""
    format: Format
    """The format of bodies."""
    spec: WriteSpec
    """How rows are written: the columns of this half, and how a row's names are matched to them."""
    framing: Framing = Framing.PREFIX_ID
    """The place of the schema's id or GUID."""
    settled: SettledSchema | None = None
    """The schema in the registry; None for JSON and KAFKA, which have none."""
    subject: Subject | None = None
    """The subject that holds it."""
    is_given: bool = False
    """True if the columns are written under a schema that was not made from them: names must match exactly, and nothing
    is coerced."""

    @property
    def columns(self) -> Columns | None:
        """The columns of a row: those of this half; None if rows have the schema's fields."""
        return self.spec.columns

    @property
    def wrapped(self) -> bool:
        """False if a body is the bare value of the only column."""
        return self.spec.wrapped

    @property
    def case_rule(self) -> CaseRule:
        """The rule that matches a row's names to the columns."""
        return self.spec.case_rule

    @property
    def cut_times(self) -> bool:
        """True if times finer than the schema's unit are cut; otherwise their rows are bad."""
        return self.spec.cut_times

    @property
    def times(self) -> Times:
        """`"integers"` if a DATE, TIME or TIMESTAMP of a row is the integer to write."""
        return self.spec.times

    @property
    def schema(self) -> Schema | None:
        """The schema to write under; None for formats without schemas."""
        return None if self.settled is None else self.settled.schema

    @property
    def schema_id(self) -> SchemaId | None:
        """The schema's id; None for formats without schemas."""
        return None if self.settled is None else self.settled.published.schema_id

    @property
    def prefix(self) -> bytes:
        """The bytes before every body; empty if the format has no framing, or a header carries the GUID."""
        if self.settled is None or self.framing is Framing.HEADER_GUID:
            return b""
        published = self.settled.published
        if self.framing is Framing.PREFIX_ID:
            return prefix_id_bytes(published.schema_id)
        assert published.guid is not None
        return frame_guid(published.guid)

    @property
    def record_header(self) -> tuple[str, bytes] | None:
        """In the framing HEADER_GUID, the name and value of the Kafka header on every record; None in other
        framings."""
        if self.settled is None or self.framing is not Framing.HEADER_GUID:
            return None
        assert self.settled.published.guid is not None
        return schema_id_header(self.role), frame_guid(self.settled.published.guid, self.format.before_body)

    def serializer(self) -> Serializer:
        """The serializer for rows in this process, which asks the registry nothing. Both engines write the same
        bytes."""
        if self.settled is not None:
            return FRAMED[self.format].settled(self.settled, self.framing)
        return SCHEMALESS[self.format].of_spec(self.spec)

    def context(self) -> SerdeContext:
        """The context for the serializer's calls."""
        return SerdeContext(self.topic, self.role, [] if self.framing is Framing.HEADER_GUID else None)
