"""How rows become a topic's payloads. This is decided once, on the driver, in plain Python: a plan's schema is registered
under its subject before any job starts, so no worker ever asks the registry."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, cast

from srfix.serde.arguments import flag, flag_or_none, member
from srfix.serde.casing import CaseRule
from srfix.serde.column_sources.from_spark import SparkSchema
from srfix.serde.column_sources.given import GivenColumns, given_columns
from srfix.serde.columns.text import print_columns, print_type
from srfix.serde.columns.times import WrittenTimes, given_written_times
from srfix.serde.connect.columns import NameRule
from srfix.serde.connect.generations import Generation, WrittenBy
from srfix.serde.errors import ColumnError, EngineRefusedError, RegistryError, UsageError
from srfix.serde.formats.avro import load
from srfix.serde.formats.avro.write.trees import under_existing, unwritable
from srfix.serde.formats.avro.writer_type import AvroType
from srfix.serde.formats.table import Format, record_name, usable_delimiter
from srfix.serde.html import preformatted
from srfix.serde.interface import SchemaLookup, SchemaRegistrar
from srfix.serde.printable import path_words
from srfix.serde.registries.given import AnyClient, given_registry
from srfix.serde.schemas.models import Schema
from srfix.serde.serdes.framed_serializer import TOPIC_SUBJECT, FramedSerializer
from srfix.serde.serializer import FRAMED
from srfix.serde.spark.interface import first_ones, short_text
from srfix.serde.spark.read.decisions import PlanLookups, PlanRegistry
from srfix.serde.spark.read.plan import Newest, newest_half
from srfix.serde.spark.write.decisions import FrameRow, WriteDecisions, frame_row
from srfix.serde.spark.write.jvm import jvm_write, write_feeds
from srfix.serde.specs import NullableRepresentation, ReadSpec, WriteSpec, given_representation
from srfix.serde.subjects.names import Role, Subject, SubjectStrategy
from srfix.serde.subjects.strategies import subject_of
from srfix.serde.wire import Framing

_FEEDS: Final = 6


def _entries(
    plan: WriteDecisions, frame: SparkSchema | None, from_: str | Sequence[str] | None
) -> Iterator[tuple[str, str]]:
    """The lines of `WritePlan.explain()` after the first."""
    if plan.settled is not None:
        yield "schema", f"id {plan.settled.published.schema_id}, under subject {plan.subject!r}"
        yield "framing", plan.framing.value
    if plan.columns is None:
        yield "columns", "the schema's fields, with their exact names" if plan.settled else "any"
    else:
        bare = "" if plan.wrapped else "; a body is its bare value"
        yield "columns", f"{print_columns(plan.columns)}{bare}"
        yield "case rule", plan.case_rule.value
    if plan.times == "integers":
        yield "times", "given as the integers to write"
    elif plan.cut_times:
        yield "times", "cut if they are finer than the schema's unit"
    elif plan.schema is not None and '"timestamp-millis"' in plan.schema.text:
        way_out = "" if plan.columns is None or plan.is_given else "times='micros' keeps it, "
        yield "times", f"in whole milliseconds: a finer time cannot be written ({way_out}cut_times=True cuts it)"
    if frame is None:
        yield "engines", "decided with the frame: explain(df.schema)"
        return
    row = frame_row(plan, frame, from_, plan.role.value)
    feeds = write_feeds(plan, row)
    if renamed := [f"{feed.column} \u2190 {feed.field}" for feed in feeds if feed.field not in (None, feed.column)]:
        yield "renamed", first_ones(renamed, _FEEDS)
    if missing := [feed.column for feed in feeds if feed.field is None]:
        yield "not there", first_ones(missing, _FEEDS)
    yield "engine", _engine(plan, row)


def _engine(plan: WriteDecisions, row: FrameRow) -> str:
    try:
        jvm_write(plan, row)
    except ColumnError as error:
        return f"none. {error.message}"
    except EngineRefusedError as error:
        return f"arrow; jvm cannot be used: {'; '.join(error.reasons)}"
    return "jvm, every cast is exact"


def _lines(plan: WriteDecisions, frame: SparkSchema | None, from_: str | Sequence[str] | None) -> Iterator[str]:
    """The lines of `WritePlan.explain(extended=True)` after the first."""
    if plan.settled is not None:
        published = plan.settled.published
        guid = "" if published.guid is None else f", GUID {published.guid}"
        yield f"  schema id {published.schema_id}{guid}, under subject {plan.subject!r}, in the framing {plan.framing.value!r}:"
        yield f"    {plan.settled.schema.text}"
    if plan.columns is None:
        yield "  rows: the schema's fields, with their exact names" if plan.settled else "  rows: any"
    else:
        bare = "" if plan.wrapped else "; a body is its bare value"
        yield f"  columns, matched by the case rule {plan.case_rule.value!r}{bare}:"
        yield from (f"    {column.name} {print_type(column.type)}" for column in plan.columns)
    if frame is None:
        return
    yield "  of the frame:"
    row = frame_row(plan, frame, from_, plan.role.value)
    if row.struct is not None:
        yield f"    the row is the struct {row.struct!r}"
    for feed in write_feeds(plan, row):
        yield f"    {feed.column} \u2190 {feed.detail if feed.field is None else f'{feed.field} {feed.detail}'}"
    yield f"  engine: {_engine(plan, row)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WritePlan(WriteDecisions):
    """How rows are written. Made by `plan_write`."""

    def _repr_html_(self) -> str:
        return preformatted(self.explain())

    def explain(
        self, frame: SparkSchema | None = None, *, from_: str | Sequence[str] | None = None, extended: bool = False
    ) -> str:
        """The plan in words, in at most ten lines.

        :param frame: a frame's schema; the text then also says which columns have another name in the frame, which
            columns the frame lacks, and which engine writes the frame.
        :param extended: True for the whole plan: the schema's text, each column, and what feeds it.
        :param from_: as in `to_registry`.
        :raises CasingError: if letter case makes the match between frame and plan ambiguous.
        :raises UsageError: if it is not clear which of the frame's columns make the row.
        """
        head = f"The {self.role.value}s of topic {self.topic!r}, written in {self.format.name}"
        if extended:
            return "\n".join((head, *_lines(self, frame, from_)))
        return short_text(head, _entries(self, frame, from_))


def plan_write(
    registry: SchemaRegistrar | SchemaLookup | AnyClient | None,
    topic: str,
    columns: GivenColumns | None = None,
    *,
    role: Role = Role.VALUE,
    format: Format | str = Format.AVRO,  # noqa: A002 - its name everywhere
    subjects: SubjectStrategy = TOPIC_SUBJECT,
    case_rule: CaseRule = CaseRule.UNIQUE,
    names: NameRule = "upper",
    wrap: bool | None = None,
    schema: str | Schema | Newest | None = None,
    schema_id: int | None = None,
    version: int | Literal["latest"] | None = None,
    register: bool = True,
    full_name: str | None = None,
    generation: Generation = Generation.UP_TO_0_28,
    written_by: WrittenBy = WrittenBy.SERIALIZER,
    normalize: bool = False,
    schema_id_framing: Framing = Framing.PREFIX_ID,
    validate: bool = False,
    cut_times: bool = False,
    times: WrittenTimes = "datetimes",
    delimiter: str | None = None,
    nullable_representation: NullableRepresentation | None = None,
) -> WritePlan:
    """Decides the schema for rows, and registers it: when this returns, the subject holds the schema.

    :param registry: None for a format without schemas, such as JSON or KAFKA.
    :param columns: the columns: SQL text, its parsed form, or a frame's schema (a StructType). None with `schema`; None also
        with `schema_id` or `version`, if rows have the schema's field names.
    :param format: the format, or its word, such as `"protobuf"`.
    :param subjects: the strategy for the schema's subject.
    :param case_rule: the rule that matches the names in a row to the columns.
    :param names: how a frame's names become columns: in upper case, like unquoted names in SQL, or unchanged.
    :param wrap: whether a single column is wrapped in a record; None for ksqlDB's default, which does not wrap a key's
        column.
    :param schema: the exact schema to write under: the text, or a schema with references; or `NEWEST`, for rows that
        were read with `NEWEST`: their columns are written under the subject's newest schema.
    :param schema_id: the id of a schema to write under. The schema must exist, and the subject must hold it.
    :param version: the version of the subject to write under.
    :param register: False if the subject must already hold the schema; then nothing is registered.
    :param full_name: Avro: the internal schema's record name with its namespace.
    :param generation: the ksqlDB version whose internal schema is used.
    :param written_by: which of ksqlDB's two writers made the schema.
    :param normalize: True to let the registry normalise what it registers or looks up.
    :param schema_id_framing: the place of the schema's id or GUID.
    :param validate: JSON_SR: True to check every body against the schema.
    :param cut_times: True to cut times that are finer than the written unit (milliseconds, unless the schema says
        otherwise); otherwise a row with such a time cannot be written.
    :param times: with `"integers"`, a DATE, TIME or TIMESTAMP is given as the integer for the record (see `plan_read`).
        With `"micros"`, the columns' own Avro schema has `time-micros` and `timestamp-micros`, so it holds every time of
        a frame. srfix reads them as TIME and TIMESTAMP; ksqlDB and Connect read numbers.
    :param delimiter: DELIMITED: the separator between fields, like ksqlDB's VALUE_DELIMITER; None for a comma.
    :param nullable_representation: Protobuf: how a null differs from 0 and from an empty text: `"optional"` or
        `"wrapper"`. With None such a null is lost, as in ksqlDB.
    :raises ColumnError: if the columns cannot be used, or the format cannot hold them; then nothing is registered.
    :raises SchemaError: if the given text is not a schema of the format, or columns and schema do not match.
    :raises RegistryError: if the registry could not be asked, or did not accept the schema (`IncompatibleSchemaError`).
    :raises ResolveError: if `register` is False and the registry does not have the schema.
    :raises UsageError: if the schema is not defined, or defined twice; or if an option does not apply to the format.
    """
    format, role = member("format", Format, format), member("role", Role, role)  # noqa: A001
    representation = given_representation(
        nullable_representation, is_protobuf=format in (Format.PROTOBUF, Format.PROTOBUF_NOSR)
    )
    if (validate and format is not Format.JSON_SR) or (
        full_name is not None and format not in (Format.AVRO, Format.PROTOBUF)
    ):
        raise UsageError(
            f"validate= is for JSON_SR, and full_name= for AVRO and PROTOBUF, but the {role.value}s are to be written in "
            f"{format.name}."
        )
    declared = None if columns is None else given_columns(columns, names=names)
    exists = schema_id is not None or version is not None
    has_own_schema = format is Format.AVRO and declared is not None and not exists
    case_rule = member("case_rule", CaseRule, case_rule)
    times = given_written_times(times, has_own_schema=has_own_schema)
    cut_times, validate = flag("cut_times", cut_times), flag("validate", validate)
    spec = WriteSpec(
        columns=declared,
        wrap=flag_or_none("wrap", wrap),
        case_rule=case_rule,
        cut_times=cut_times,
        times=times,
        delimiter=usable_delimiter(delimiter, format),
        nullable_representation=representation,
    )
    half = format.settled(spec).half(role, format.wraps)
    if format not in FRAMED:
        schema_options = {"schema=": schema, "schema_id=": schema_id, "version=": version}
        given = [name for name, value in schema_options.items() if value is not None]
        given += [] if schema_id_framing is Framing.PREFIX_ID else ["schema_id_framing="]
        if given:
            named = ", ".join(given)
            raise UsageError(f"{format.name} has no schemas, so {named} cannot be used. Leave it out, or use AVRO.")
        if format.needs_columns and declared is None:
            raise UsageError(f"{format.word} has neither names nor types: give the columns.")
        plan = WritePlan(topic=topic, role=role, format=format, spec=half)
        plan.serializer()  # columns that the format cannot hold raise an error now
        return plan
    if registry is None:
        raise UsageError(f"{format.name} is written under a schema of a registry, so give a RegistryClient.")
    serializer: FramedSerializer
    kind = FRAMED[format]
    common: dict[str, Any] = {
        "subjects": subjects,
        "register": register,
        "normalize": normalize,
        "schema_id_framing": schema_id_framing,
    }
    if schema is not None:
        if declared is not None or exists:
            raise UsageError("schema= already defines the fields, so give no columns, schema_id or version with it.")
        if full_name is not None or representation is not None:
            raise UsageError(
                "schema= already says how rows are written, so leave out full_name and nullable_representation."
            )
    if isinstance(schema, Newest):
        spec, version = _newest(registry, subjects(topic, role), spec, format, role)
        half, schema, declared, exists = spec, None, spec.columns, True
    if schema is not None:
        # A missing method of the registry raises an error when it is called.
        options = WriteSpec(validate=validate, cut_times=cut_times, times=times).options()
        serializer = kind.for_schema(registry, schema, **common, **options)
    else:
        spec = replace(spec, full_name=full_name, validate=validate, generation=generation, written_by=written_by)
        serializer = kind(registry, schema_id=schema_id, version=version, **common, **spec.options())
    try:
        settled = serializer.settle(topic, role)
    except RegistryError as error:
        error.add_note(f"No job was started, so nothing was written to the topic {topic!r}.")
        raise
    if exists and declared is not None and format is Format.AVRO:
        tree = under_existing(AvroType(load(settled.schema.text, settled.references)), half)
        if wrong := list(unwritable(tree)):
            raise ColumnError(
                f"The {role.value}s of topic {topic!r} cannot be written under schema id {settled.published.schema_id}: "
                f"{'; '.join(wrong)}. Declare other columns, or leave these out."
            )
    return WritePlan(
        topic=topic,
        role=role,
        format=format,
        spec=replace(half, case_rule=CaseRule.EXACT) if declared is None else half,
        framing=schema_id_framing,
        settled=settled,
        subject=subject_of(subjects, topic, role, lambda: record_name(settled.schema, settled.references)),
        is_given=exists and declared is not None,
    )


def _newest(
    registry: SchemaRegistrar | SchemaLookup | AnyClient,
    subject: Subject,
    spec: WriteSpec,
    format: Format,  # noqa: A002 - its name everywhere
    role: Role,
) -> tuple[WriteSpec, int]:
    """The columns of `NEWEST` as a spec, and the version of their schema."""
    lookups = PlanLookups(cast("PlanRegistry", given_registry(registry)[0]))
    reads = ReadSpec(wrap=spec.wrap, case_rule=spec.case_rule, times=spec.times)
    read, newest = newest_half(lookups, (subject,), reads, format_=format, role=role)
    if newest.dropped:
        left_out = "; ".join(f"{path_words(field.path)}: {field.reason}" for field in newest.dropped)
        raise ColumnError(
            f"NEWEST leaves out fields of version {newest.version} of {subject!r}, which rows could not keep: {left_out}. "
            f"To write the other fields, pass their columns and version={newest.version}."
        )
    return replace(spec, columns=read.columns, wrap=read.wrap), newest.version
