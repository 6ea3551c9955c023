"""What a write plan decides, as values: what explains or translates a plan is given these."""

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
    """How rows are written: all of a `WritePlan` but what explains it."""

    topic: str
    """The topic, by which the subject was named."""
    role: Role
    """Keys or values."""
    format: Format
    """What bodies are written in."""
    spec: WriteSpec
    """How rows are written: the columns of this half, and how a row's names are matched to them."""
    framing: Framing = Framing.PREFIX_ID
    """Where the schema's id or GUID stands."""
    settled: SettledSchema | None = None
    """The schema, as the registry knows it; None for JSON and KAFKA, which have none."""
    subject: Subject | None = None
    """The subject that holds it."""
    is_given: bool = False
    """True if the columns are written under a schema that was not made of them: names are exact, nothing is coerced."""

    @property
    def columns(self) -> Columns | None:
        """What a row has: the columns of this half; None if it has what the schema has."""
        return self.spec.columns

    @property
    def wrapped(self) -> bool:
        """False if a body is the bare value of the only column."""
        return self.spec.wrapped

    @property
    def case_rule(self) -> CaseRule:
        """How a row's names are matched to the columns."""
        return self.spec.case_rule

    @property
    def cut_times(self) -> bool:
        """True if times finer than the schema's are cut; they are bad rows otherwise."""
        return self.spec.cut_times

    @property
    def times(self) -> Times:
        """`"integers"` if a DATE, TIME or TIMESTAMP of a row is the integer that is written."""
        return self.spec.times

    @property
    def schema(self) -> Schema | None:
        """What is written under; None for formats without schemas."""
        return None if self.settled is None else self.settled.schema

    @property
    def schema_id(self) -> SchemaId | None:
        """The schema's id; None for formats without schemas."""
        return None if self.settled is None else self.settled.published.schema_id

    @property
    def prefix(self) -> bytes:
        """The bytes before every body; none where the format has no framing, or a header carries the GUID."""
        if self.settled is None or self.framing is Framing.HEADER_GUID:
            return b""
        published = self.settled.published
        if self.framing is Framing.PREFIX_ID:
            return prefix_id_bytes(published.schema_id)
        assert published.guid is not None
        return frame_guid(published.guid)

    @property
    def record_header(self) -> tuple[str, bytes] | None:
        """The Kafka header that every record carries, by name and value, in the framing HEADER_GUID; None in the others."""
        if self.settled is None or self.framing is not Framing.HEADER_GUID:
            return None
        assert self.settled.published.guid is not None
        return schema_id_header(self.role), frame_guid(self.settled.published.guid, self.format.before_body)

    def serializer(self) -> Serializer:
        """What writes a row, in this process, without asking the registry. Both engines write the same bytes."""
        if self.settled is not None:
            return FRAMED[self.format].settled(self.settled, self.framing)
        return SCHEMALESS[self.format].of_spec(self.spec)

    def context(self) -> SerdeContext:
        """What the serializer is called with, beside a row."""
        return SerdeContext(self.topic, self.role, [] if self.framing is Framing.HEADER_GUID else None)
