"""The decisions of a write plan, as values, and which of a frame's columns make its rows. Needs no pyspark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import chain
from typing import Final

from srfix.serde.casing import match_fields
from srfix.serde.column_sources.from_spark import SparkSchema
from srfix.serde.columns.types import Columns
from srfix.serde.errors import ColumnError, Reason, UsageError
from srfix.serde.formats.avro import field_names
from srfix.serde.formats.table import Format
from srfix.serde.interface import SerdeContext, Serializer
from srfix.serde.schemas.models import Schema
from srfix.serde.serdes.schema_choices import SettledSchema
from srfix.serde.serializer import FRAMED, SCHEMALESS
from srfix.serde.spark.errors import UNWRITTEN_END
from srfix.serde.spark.frame_types import FrameField, ddl, fields_of, frame_fields, quoted, sql_text, word_of
from srfix.serde.spark.interface import Decisions, reason_columns
from srfix.serde.specs import WriteSpec
from srfix.serde.subjects.names import Role, Subject
from srfix.serde.wire import Framing, SchemaId, frame_guid, prefix_id_bytes, schema_id_header


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteDecisions(Decisions[WriteSpec]):
    """How rows are written: everything of a `WritePlan` except the methods that explain it."""

    format: Format
    framing: Framing = Framing.PREFIX_ID
    """The place of the schema's id or GUID."""
    settled: SettledSchema | None = None
    """The schema in the registry; None for JSON and KAFKA, which have none."""
    subject: Subject | None = None
    """The subject that holds it."""
    is_given: bool = False
    """True if the columns are written under a schema that was not made from them: columns have its fields' exact names,
    and nothing is coerced."""

    @property
    def columns(self) -> Columns | None:
        """The columns of a row: those of this half; None if rows have the schema's fields."""
        return self.spec.columns

    @property
    def cut_times(self) -> bool:
        """True if times finer than the schema's unit are cut; otherwise their rows are bad."""
        return self.spec.cut_times

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
        return SerdeContext(self.topic, self.role, [] if self.framing is Framing.HEADER_GUID else None)


_SINK: Final = ("key", "value", "topic", "partition", "headers")
_SOURCE: Final = (*_SINK, "offset", "timestamp", "timestampType")
_ABOUTS: Final = frozenset(chain(*(astuple(reason_columns(role)) for role in Role)))
"""The columns about tombstones and bad rows, which are never part of a row."""
_PLACES: Final = {"topic": " from topic ", "partition": ", partition ", "offset": ", offset "}
_SHOWN_KEYS: Final = ("string", "byte", "short", "integer", "long")


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameRow:
    fields: tuple[FrameField, ...]
    struct: str | None
    """None if several columns make the row."""
    is_null: str | None
    """Whether the row is null, and would become a tombstone; None if there always is a row."""
    is_marked: str | None
    """Whether the row was a tombstone when it was read; None if the frame has neither mark nor reason."""
    reason: str | None
    place: str
    """In Spark's SQL: its key and origin, as far as the frame has them."""


def frame_row(plan: WriteDecisions, schema: SparkSchema, from_: str | Sequence[str] | None, into: str) -> FrameRow:
    frame = frame_fields(schema)
    by_name = {field.name: field for field in frame}
    if from_ is None and into in by_name and word_of(by_name[into].type) == "struct":
        from_ = into
    if from_ is None:
        return _row(plan, frame, _guessed(plan, frame), None)
    names = (from_,) if isinstance(from_, str) else tuple(from_)
    if missing := [name for name in names if name not in by_name]:
        raise UsageError(
            f"The frame has no column {missing[0]!r} to write; it has {', '.join(by_name)}. Name other columns in from_=."
        )
    if not names:
        raise UsageError("from_= names no column. Name the columns that make the row, or the struct that is the row.")
    if not isinstance(from_, str):
        return _row(plan, frame, tuple(by_name[name] for name in names), None)
    if word_of(by_name[from_].type) != "struct":
        raise UsageError(
            f"The column {from_!r} is {ddl(by_name[from_].type)}, not a struct that could be the row. If it is the row's only "
            f"column, set from_=[{from_!r}]."
        )
    return _row(plan, frame, fields_of(by_name[from_].type), from_)


def _guessed(plan: WriteDecisions, frame: tuple[FrameField, ...]) -> tuple[FrameField, ...]:
    fields = tuple(field for field in frame if field.name not in (*_SOURCE, *_ABOUTS))
    kafka_names = [field.name for field in frame if field.name in _SOURCE]
    if kafka_names and (taken := match_fields(_names(plan), kafka_names, plan.case_rule, where="the frame")):
        raise UsageError(
            f"It is not clear whether {', '.join(map(repr, sorted(taken.values())))} of the frame is Kafka's or a part "
            "of the row. Name the columns that make the row: from_=[…]."
        )
    if not fields:
        raise UsageError("The frame has only Kafka's columns. Name the columns that make the row: from_=[…].")
    return fields


def _names(plan: WriteDecisions) -> Sequence[str]:
    if plan.columns is not None:
        return [column.name for column in plan.columns]
    if plan.format is Format.AVRO and plan.schema is not None and not plan.schema.references:
        return field_names(plan.schema.text)
    return ()


def _row(
    plan: WriteDecisions, frame: tuple[FrameField, ...], fields: tuple[FrameField, ...], struct: str | None
) -> FrameRow:
    is_null = None if struct is None else f"{quoted(struct)} IS NULL"
    # A bare null is a null payload: a null key, or a tombstone if it is the value.
    if not plan.wrapped and plan.role is Role.VALUE and len(fields) == 1:
        name = quoted(fields[0].name)
        is_null = f"{name if struct is None else f'{quoted(struct)}.{name}'} IS NULL"
    if plan.columns is not None:  # `write.jvm` finds rows that Avro would not accept
        columns = [column.name for column in plan.columns]
        matched = match_fields(columns, [field.name for field in fields], plan.case_rule, where="the frame")
        used = set(matched.values())
        if spare := [field.name for field in fields if field.name not in used]:
            raise ColumnError(
                f"The {plan.role.value}s of topic {plan.topic!r} have no column for {', '.join(map(repr, spare))} of the "
                "frame. Drop these columns, or name the columns that make the row in from_=."
            )
    names, types = reason_columns(plan.role), {field.name: word_of(field.type) for field in frame}
    if types.get(names.tombstone, "boolean") != "boolean":
        raise UsageError(
            f"The column {names.tombstone} is {types[names.tombstone]}, not boolean, but srfix marks tombstones with "
            "a column of this name. Rename it."
        )
    marks = []
    if names.tombstone in types:
        marks.append(f"coalesce({quoted(names.tombstone)}, false)")
    if names.reason in types:
        marks.append(f"coalesce({quoted(names.reason)} = {sql_text(Reason.TOMBSTONE.value)}, false)")
    if is_null is None and marks:
        # A flattened struct: a row of nulls with a mark or a reason is still a tombstone or a bad row.
        was_none = [marks[0]] if names.tombstone in types else []
        was_none += [f"{quoted(names.reason)} IS NOT NULL"] if names.reason in types else []
        nulls = " AND ".join(f"{quoted(field.name)} IS NULL" for field in fields)
        is_null = f"(({' OR '.join(was_none)}) AND {nulls})"
    return FrameRow(
        fields=fields,
        struct=struct,
        is_null=is_null,
        is_marked=f"({' OR '.join(marks)})" if marks else None,
        reason=names.reason if names.reason in types else None,
        place=_place(types, plan.role),
    )


def _place(types: Mapping[str, str], role: Role) -> str:
    parts, key = [], types.get("key") if role is Role.VALUE else None
    if key in _SHOWN_KEYS:
        parts.append("concat(', key ', CAST(`key` AS STRING))")
    elif key == "binary":
        # The value is not quoted, because before Spark 4.1 two quotes within a literal are lost.
        parts.append(f"""concat({sql_text(", key X'")}, hex(`key`), {sql_text("'")})""")
    parts += [f"concat('{words}', CAST({quoted(name)} AS STRING))" for name, words in _PLACES.items() if name in types]
    known = ", ".join(f"coalesce({part}, '')" for part in parts)
    return f"concat({known})" if known else "''"


def bad_row_words(plan: WriteDecisions, place: str) -> tuple[str, str]:
    """The SQL before and after the reason why a row cannot be written. `errors` parses the text."""
    front = sql_text(f"srfix: a {plan.role.value} for topic {plan.topic!r}")
    middle = sql_text(f" cannot be written. {Reason.ENCODE_FAILED.value}: ")
    return f"concat({front}, {place}, {middle})", sql_text(UNWRITTEN_END)
