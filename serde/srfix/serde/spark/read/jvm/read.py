"""The jvm engine's plan, in plain Python: the instructions for Spark's own Avro, for each shape of writer schemas.

A payload and the five bytes `AFTER` it are read as one record:

| bytes | meaning |
|---|---|
| the payload | 5 bytes of framing, which are skipped, then the row's fields |
| `AFTER` | a long, which is `MARKED` |

`from_avro` itself notices neither surplus nor missing bytes, but then it reads another number, or none. If it gives up,
all fields are null. A row of few fields is no record of its own within that record, because Spark allocates each nested
record anew, but the outermost only once.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal

from srfix.serde.bounds import AVRO_JVM_ITEMS, AVRO_JVM_TEXT_BYTES
from srfix.serde.errors import ColumnError, EngineRefusedError, Reason, SrfixError
from srfix.serde.formats.avro import projection
from srfix.serde.formats.table import Format, check_schema_type
from srfix.serde.spark.interface import PlannedSchema
from srfix.serde.spark.read.decisions import ReadDecisions
from srfix.serde.spark.read.jvm.leaves import Fix, OfFields
from srfix.serde.spark.read.jvm.projection import (
    OUR_PREFIX,
    Json,
    Schemas,
    Unrepresentable,
    names_in_spark,
    schemas,
)
from srfix.serde.spark.releases import arrow_or
from srfix.serde.wire import PREFIX_ID_SIZE, SchemaId

MAX_SHAPES: Final = 30
"""With more branches than about this number, Spark's generated code becomes too large and slow."""

_SHOWN_IDS: Final = 5
_FRAMING: Final[Json] = {
    "name": f"{OUR_PREFIX}_framing",
    "type": {"type": "fixed", "name": "f", "size": PREFIX_ID_SIZE},
}
ROW: Final = f"{OUR_PREFIX}_row"
_FIELD: Final = 2
_ROOM: Final = 56
"""If `_FIELD` times the columns plus the shapes is more than this, the row stays a record of its own (`ROW`): the code that
makes a row of separate fields would make the query's method larger than HotSpot compiles (`_pyspark.jvm.Payload`)."""
MARK: Final = f"{OUR_PREFIX}_mark"
_MARK: Final[Json] = {"name": MARK, "type": "long"}
AFTER: Final = bytes.fromhex("f2 e3 d1 c5 2a")
"""The bytes after a payload, a long as Avro writes it. The first byte occurs nowhere else in it, so a few surplus bytes
cannot look like it. No byte is zero, because a number that takes more bytes than necessary ends with zero."""
MARKED: Final = 5_710_166_265
"""The number that these bytes are."""

UNSEEN: Final = (
    "Why a body cannot be read: the reason is DECODE_FAILED, even if the arrow engine gives another (TRUNCATED, "
    "TRAILING_BYTES, OVERFLOW, …).",
    "Why a row is bad, if it has a string that is not UTF-8, or a date or timestamp outside of the years 1 to 9999: the "
    "reason is only DECODE_FAILED.",
    "Why one body cannot be read, if no row of its schema can be read: the row then has the reason of the schema.",
    "A boolean with another byte than 0 and 1: the jvm engine reads it as false.",
    "An int, or the number of a union's branch, with more than 32 bits: it is cut, or the body cannot be read. A "
    "number in more bytes than Avro allows (five for an int, ten for a long) cannot be read either, although the "
    "deserializer reads it.",
    "An error within a field that no column reads, if the field's end can be found. In arrays and maps of "
    "such a field, the jvm engine trusts the block sizes, but the deserializer reads the items.",
    "A string that is not UTF-8 in a map entry, if a later entry with the same key replaces this entry.",
    "A null key in a map, which the deserializer reads: the row is bad, because Spark's maps cannot have a null key.",
    f"Bytes left over that begin with {AFTER.hex(' ')}.",
    "A schema GUID (in front of the body, or in a record header): the jvm engine treats a row without an id as bad, unless "
    "the arrow engine reads the rows that the jvm engine does not know.",
    f"A length beyond its limit: in a session of start_session, a string or bytes of more than {AVRO_JVM_TEXT_BYTES} "
    f"bytes, or an array or map of more than {AVRO_JVM_ITEMS} items, makes a bad row. In a session without limits, a "
    "value that claims 2³⁰ bytes or items uses up the memory and crashes the executor, so auto does not choose this "
    "engine there.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JvmShape:
    """Writer schemas that are read in the same way."""

    schema_ids: tuple[SchemaId, ...] = ()
    writer_schema: str
    reader_schema: str
    fix: Fix | None
    skips_items: bool
    """True if Spark's Avro skips an array or a map of the writer."""
    is_exact: bool
    """Otherwise it reads the row only by position."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JvmVerdict:
    """Schemas none of whose rows can be read."""

    schema_ids: tuple[SchemaId, ...] = ()
    reason: Reason
    message: str
    is_refusal: bool
    """True if the policy did not accept the id when the plan was made: another engine asks again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JvmRead:
    """Picklable."""

    row_schema: str
    names: tuple[str, ...]
    """Of what Spark's Avro gives: the row's fields, or `ROW` if they are many; then `MARK`."""
    shapes: tuple[JvmShape, ...]
    verdicts: tuple[JvmVerdict, ...]
    left: tuple[SchemaId, ...] = ()
    """Ids of shapes beyond `MAX_SHAPES`, ascending; another engine reads them."""

    @property
    def is_wide(self) -> bool:
        """True if the row is a record of its own."""
        return self.names[0] == ROW

    @property
    def left_over(self) -> str:
        ids = ", ".join(map(str, self.left[:_SHOWN_IDS])) + (", …" if len(self.left) > _SHOWN_IDS else "")
        return (
            f"{len(self.left)} schemas ({ids}) have shapes beyond the {MAX_SHAPES} that Spark compiles well, so only "
            "the arrow engine reads them"
        )

    @property
    def shape_ids(self) -> tuple[SchemaId, ...]:
        return tuple(sorted(one for shape in self.shapes for one in shape.schema_ids))

    @property
    def schema_ids(self) -> tuple[SchemaId, ...]:
        final = (verdict.schema_ids for verdict in self.verdicts if not verdict.is_refusal)
        return tuple(sorted(one for ids in (self.shape_ids, *final) for one in ids))


def jvm_read(plan: ReadDecisions) -> JvmRead:
    """How Spark's own Avro gives the rows of `plan.deserializer()`: the `MAX_SHAPES` shapes with the most schemas."""
    made = plan.kept.made = plan.kept.made or _made(plan)
    if isinstance(made, JvmRead):
        return made
    assert isinstance(made, tuple)
    raise EngineRefusedError(
        "The jvm engine cannot read this plan exactly as the deserializer does:\n"
        + "\n".join(f"- {reason}" for reason in made)
        + "\n"
        + arrow_or("Declare other column types.", advice="Use the arrow engine, or declare other column types."),
        reasons=made,
    )


def _made(plan: ReadDecisions) -> JvmRead | tuple[str, ...]:
    reasons: list[str] = []
    row_schema = ""
    if plan.format is not None and plan.format is not Format.AVRO:
        reasons.append(f"The jvm engine reads only Avro, but the plan's format is {plan.format.name}.")
    try:
        row_schema = plan.spark_schema()
    except ColumnError as error:
        reasons.append(error.message)
    # Grouped by fix as well as by text: Spark reads TIME and INT in the same way, but they need different fixes.
    shapes: dict[JvmShape, tuple[Schemas, list[SchemaId]]] = {}
    verdicts: dict[JvmVerdict, list[SchemaId]] = {}
    for refused in plan.refusals:
        verdict = JvmVerdict(reason=refused.reason, message=str(refused.error), is_refusal=True)
        verdicts.setdefault(verdict, []).append(refused.schema_id)
    for schema in () if reasons else plan.schemas:
        try:
            outcome = _planned(plan, schema)
        except Unrepresentable as error:
            reasons += (f"Schema id {schema.schema_id}: {reason}." for reason in error.reasons)
            continue
        if isinstance(outcome, SrfixError):
            reason = outcome.row_reason
            assert reason is not None
            verdict = JvmVerdict(reason=reason, message=str(outcome), is_refusal=False)
            verdicts.setdefault(verdict, []).append(schema.schema_id)
        else:
            shape = JvmShape(
                writer_schema=_text(_fields(outcome.writer)),
                reader_schema=_text(_fields(outcome.reader)),
                fix=outcome.fix,
                skips_items=outcome.skips_items,
                is_exact=outcome.is_exact,
            )
            shapes.setdefault(shape, (outcome, []))[1].append(schema.schema_id)
    if reasons:
        return tuple(reasons)
    by_size = sorted(shapes, key=lambda shape: (len(shapes[shape][1]), shapes[shape][1][-1]), reverse=True)
    left = tuple(sorted(one for shape in by_size[MAX_SHAPES:] for one in shapes[shape][1]))
    read = set(by_size[:MAX_SHAPES])
    is_wide = _FIELD * len(plan.columns) + len(read) > _ROOM
    return JvmRead(
        row_schema=row_schema,
        names=(*([ROW] if is_wide else names_in_spark([column.name for column in plan.columns])), MARK),
        shapes=tuple(_framed(shape, *of, is_wide=is_wide) for shape, of in shapes.items() if shape in read),
        left=left,
        verdicts=tuple(replace(verdict, schema_ids=tuple(ids)) for verdict, ids in verdicts.items()),
    )


def _planned(plan: ReadDecisions, planned: PlannedSchema) -> Schemas | SrfixError:
    if planned.problem is not None:
        return planned.problem
    schema, references = planned.resolved.schema, planned.resolved.references
    try:
        if plan.format is not None:
            check_schema_type(schema.schema_type, plan.format)
        elif planned.format is not Format.AVRO:
            raise Unrepresentable("its format is not Avro, but the jvm engine reads only Avro")
        return schemas(projection(schema.text, plan.spec, references))
    except SrfixError as error:
        if error.row_reason is None:
            raise Unrepresentable(str(error).rstrip(".")) from error
        return error


def _framed(shape: JvmShape, row: Schemas, schema_ids: Iterable[SchemaId], *, is_wide: bool) -> JvmShape:
    writer, reader = ([{"name": ROW, "type": each}] if is_wide else _fields(each) for each in (row.writer, row.reader))
    return replace(
        shape,
        schema_ids=tuple(schema_ids),
        writer_schema=_text([_FRAMING, *writer, _MARK]),
        reader_schema=_text([*reader, _MARK]),
        fix=OfFields(fields=((ROW, row.fix),)) if is_wide and row.fix else row.fix,
    )


def _fields(row: Json) -> list[Json]:
    assert isinstance(row, dict)
    fields: list[Json] = row["fields"]
    return fields


def _text(fields: list[Json]) -> str:
    return json.dumps({"type": "record", "name": "r", "fields": fields}, separators=(",", ":"))


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineChoice:
    """An engine, and the reason for the choice. Its text has both."""

    engine: Literal["arrow", "jvm"]
    fallback: bool
    """True if the arrow engine reads the payloads that the jvm engine's plan does not know: later schema ids, GUIDs."""
    why: str
    """The reason, as a sentence."""
    read: JvmRead | None = None
    """The instructions for Spark's Avro; None for the arrow engine."""

    def __str__(self) -> str:
        beside = " with arrow for unknown ids" if self.fallback else ""
        return f"engine {self.engine}{beside}: {self.why}"
