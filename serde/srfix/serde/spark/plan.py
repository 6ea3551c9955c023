"""How a topic's payloads become rows: decided once, on the driver, in plain Python.

A plan holds every schema that the payloads are known to carry, under which subject it was found, and which writer field
feeds which column. It is picklable, printable (`explain`), and works without Spark.

The schemas are those of all versions, live and soft-deleted, of the policy's subjects (the topic's own, for `ById` and
for strategies that make subjects of records' names), of `subjects`, and those of `ids`. What is not among them, a GUID in
a header above all, is resolved where it is met.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, get_args

from srfix.serde._column_types import Columns
from srfix.serde._columns_from_spark import SparkSchema
from srfix.serde._framed_deserializer import FramedDeserializer
from srfix.serde._given_columns import given_columns
from srfix.serde._half import Half, half_of
from srfix.serde._plans import decode_plan
from srfix.serde._resolved import ResolvedSchema, SecondAnswered
from srfix.serde.batches import reason_of
from srfix.serde.bounds import PayloadBounds, payload_bounds
from srfix.serde.casing import CaseRule
from srfix.serde.columns import print_columns, spark_schema
from srfix.serde.deserializer import (
    AvroDeserializer,
    JsonDeserializer,
    JsonSchemaDeserializer,
    KafkaDeserializer,
    SchemaDeserializer,
)
from srfix.serde.errors import (
    CasingError,
    ColumnError,
    ImpossibleSchemaIdError,
    NoSubjectError,
    ResolveError,
    SchemaError,
    SrfixError,
    UsageError,
)
from srfix.serde.formats._avro_resolution import ReaderSchema, usable_reader
from srfix.serde.formats._json_schema_documents import reference_name
from srfix.serde.formats.table import Format, check_schema_type, format_of
from srfix.serde.interface import Deserializer
from srfix.serde.resolve import ById, PlannablePolicy, Resolver
from srfix.serde.spark._asked import Asked, PlanRegistry, listed, side_by_side
from srfix.serde.spark._digest import digest_of
from srfix.serde.spark._explain import explanation
from srfix.serde.spark._feeds import Feeds
from srfix.serde.spark._feeds_writers import planned_feeds
from srfix.serde.spark._kept import Kept
from srfix.serde.spark._missing_columns import check_fed
from srfix.serde.spark._newest import newest_half, reader_half
from srfix.serde.spark._planned_resolver import PlannedResolver
from srfix.serde.spark._summary import summary
from srfix.serde.spark._time_columns import check_times
from srfix.serde.spark._words import check_word
from srfix.serde.spark.interface import ListedVersion, MissingColumns, NewestSchema, PlannedRefusal, PlannedSchema
from srfix.serde.subjects import DEFAULT_CONTEXT, Role, Subject, TopicSubject, join_context, split_context
from srfix.serde.wire import SchemaId, given_schema_id

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

__all__ = ["NEWEST", "Newest", "PlanRegistry", "ReadPlan", "newest_columns", "plan_read"]


class Newest:
    """The type of `NEWEST`."""

    def __repr__(self) -> str:
        return "NEWEST"


_DESERIALIZERS: Final[dict[Format | None, type[FramedDeserializer]]] = {
    Format.AVRO: AvroDeserializer,
    Format.JSON_SR: JsonSchemaDeserializer,
    None: SchemaDeserializer,
}
_EMPTY: Final = (('{"type":"record","name":"R","fields":[]}', Format.AVRO), ('{"type":"object"}', Format.JSON_SR))
"""A schema of each format that feeds no column."""
_SCHEMALESS: Final = (Format.JSON, Format.KAFKA)

NEWEST: Final = Newest()
"""The columns that the newest schema has, in its own letters: the highest live version of the subject that writers use.

That is the policy's last one (the second of a `DualSubject`: the source's), else the first of `subjects` that has one.
Decided when the plan is made: a running stream's columns do not change. What no column of Spark's holds is left out and
named (`ReadPlan.newest`): TIME, decimals beyond 38 digits, maps with other keys than strings, types that contain themselves.
Instants in microseconds are TIMESTAMP, and local times TIMESTAMP_NTZ, but under ksqlDB's own case rules.
"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ReadPlan:
    """How payloads are read. Made by `plan_read`.

    Plans are equal if they decide the same (`digest`). Picklable if the policy is; literal secrets refuse to travel.
    """

    topic: str
    """The topic, by which subjects are named."""
    role: Role
    """Keys or values."""
    format: Format | None
    """What bodies are written in; None where each schema's type says it (Avro and JSON_SR in one topic)."""
    columns: Columns
    """What a row has, in this order: the columns of this half."""
    wrapped: bool
    """False if a body is the bare value of the only column."""
    case_rule: CaseRule
    """Which field feeds which column."""
    policy: Resolver | None
    """What is asked for an id that the plan does not hold; None for a format without schemas."""
    subjects: tuple[Subject, ...] = ()
    """The subjects whose versions were listed."""
    listed: tuple[ListedVersion, ...] = ()
    """Their versions, live and soft-deleted."""
    schemas: tuple[PlannedSchema, ...] = ()
    """By ascending id."""
    refusals: tuple[PlannedRefusal, ...] = ()
    """Ids that the policy did not accept, ascending."""
    strict: bool = False
    """True if a row of which any column is not fed is bad; False if one of which none is."""
    newest: NewestSchema | None = None
    """Where the columns are from, if they are `NEWEST`."""
    reader: ReaderSchema | None = None
    """The Avro schema whose aliases and defaults count: the one that was given, or with `NEWEST` the newest, if it has any."""
    bounds: PayloadBounds = field(default_factory=payload_bounds, compare=False)
    """What a payload may take in a worker (`srfix.serde.bounds`): the driver's, when the plan was made."""
    kept: Kept = field(default_factory=Kept, init=False, compare=False)
    """What engines have made of the plan, in this process."""

    def deserializer(self) -> Deserializer:
        """What reads a payload, in this process: rows are dicts of `columns`. Both engines give the same rows."""
        if self.format is Format.JSON:
            return JsonDeserializer(self.columns, case_rule=self.case_rule, wrap=self.wrapped, strict=self.strict)
        if self.format is Format.KAFKA:
            return KafkaDeserializer(self.columns)
        assert self.policy is not None
        found = (schema.resolved for schema in self.schemas)
        resolver = PlannedResolver(self.policy, found, topic=self.topic, role=self.role)
        kind = _DESERIALIZERS[self.format]
        options: dict[str, Any] = {} if self.reader is None else {"reader_schema": self.reader}
        options |= {"case_rule": self.case_rule, "wrap": self.wrapped, "strict": self.strict}
        return kind(resolver, columns=self.columns, **options)

    def spark_schema(self) -> str:
        """The rows' schema in Spark's JSON.

        :raises ColumnError: if Spark has no such type.
        """
        return spark_schema(self.columns)

    @property
    def schema(self) -> StructType:
        """The rows' schema, as Spark's own: what the struct has that a reader makes. Needs pyspark.

        :raises ColumnError: if Spark has no such type.
        """
        from srfix.serde.spark._pyspark.types import struct_type

        return struct_type(self.spark_schema())

    def explain(self, extended: bool = False) -> str:
        """The plan for a person, in at most ten lines: columns, which ids are read, whose rows are bad and why, which
        columns stay null.

        :param extended: True for all of it: which writer field feeds which column, for which id, under which subject; what
            was refused, and what each engine makes of it.
        """
        return explanation(self) if extended else summary(self)

    def refreshed(self, registry: PlanRegistry) -> ReadPlan:
        """The plan with the versions that its subjects have got since; asks for those alone, and again for the ids that
        were refused. Columns stay as they are, `NEWEST` ones too.

        :raises RegistryError: if the registry could not be asked.
        """
        if self.policy is None:
            return self
        return _filled(self, Asked(registry), (refusal.schema_id for refusal in self.refusals))

    @property
    def digest(self) -> str:
        """64 hexadecimal digits: a hash of all that decides how a payload is read, the same in every process."""
        schemas = [
            (
                planned.schema_id,
                planned.resolved.schema,
                [(text, reference_name(text)) for text in planned.resolved.references],
            )
            for planned in self.schemas
        ]
        refusals = [(refusal.schema_id, refusal.reason) for refusal in self.refusals]
        columns = print_columns(self.columns)
        how = (self.topic, self.role, self.format, columns, self.wrapped, self.case_rule, self.strict, self.policy)
        return digest_of((*how, self.reader, schemas, refusals))

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, ReadPlan) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        format_ = "Avro and JSON_SR by schema" if self.format is None else self.format.value
        refused = f", {len(self.refusals)} refused" if self.refusals else ""
        return (
            f"ReadPlan({self.role.value}s of {self.topic!r}, {format_}, {len(self.columns)} columns, "
            f"{len(self.schemas)} schemas{refused})"
        )


def plan_read(
    registry: PlanRegistry | None,
    topic: str,
    columns: Columns | SparkSchema | Newest | None = None,
    *,
    role: Role = Role.VALUE,
    format: Format | None = Format.AVRO,  # noqa: A002 - its name everywhere
    case_rule: CaseRule = CaseRule.UNIQUE,
    wrap: bool | None = None,
    policy: Resolver | None = None,
    subjects: Iterable[str] = (),
    ids: Iterable[int] = (),
    reader_schema: str | ReaderSchema | None = None,
    missing_columns: MissingColumns = "error",
    strict: bool = False,
) -> ReadPlan:
    """Asks the registry for all that the payloads of a topic may carry. Nothing is written: a policy's
    `register_missing` and `on_second` are for ids that the plan does not hold, where they are met. What a second subject
    answered is in the plan (`PlannedSchema.second`).

    :param registry: None is enough for JSON and KAFKA, which have no schemas.
    :param columns: the columns, parsed or in ksqlDB's words; a StructType, or its JSON (its names stay as they are); or
        `NEWEST`. Those marked as KEY make keys, the others values.
    :param format: None takes Avro and JSON_SR, as each schema says.
    :param wrap: False says that bodies are the bare value of the only column. None is ksqlDB's default; with `NEWEST`, as
        the schema is.
    :param policy: which ids are accepted; None is by id alone, in the context that `subjects` name.
    :param subjects: subjects beside the policy's own, whose schemas the payloads may carry.
    :param ids: ids beside those of the subjects.
    :param reader_schema: an Avro schema whose aliases and defaults count, as in Avro's schema resolution; with `NEWEST` they do
        without being asked for, unless the case rule is ksqlDB's own. Where no columns are named, a row has its fields.
    :param missing_columns: what a column, or a field inside one, is that none of the versions feeds: `error`, as one that is
        misspelt would be null in every row; or `null`.
    :param strict: a row is bad (COLUMN_NOT_FED) unless its writer feeds every column and every field inside one. Otherwise a
        column that it does not feed is null; a row of which no column is fed is bad (NOTHING_FED) either way.
    :raises ColumnError: if the columns cannot be used, or the format cannot hold them, or no version feeds one of them; if
        all that feeds a column of days, times or instants are numbers of something else (a local timestamp for a TIMESTAMP).
    :raises UsageError: if a registry or a newest schema is needed, and there is none; if a subject strategy has no subject
        for the topic; if there can be no schema with one of the ids.
    :raises RegistryError: if the registry could not be asked.
    """
    reader = usable_reader(reader_schema, case_rule)
    if columns is None and reader is None:
        raise UsageError("Name the columns of the rows, or say NEWEST: those of the newest schema.")
    if reader is not None and (isinstance(columns, Newest) or format not in (Format.AVRO, None)):
        raise UsageError(
            "reader_schema= is an Avro schema beside which there is none: leave NEWEST out, and read Avro (format)."
        )
    check_word("missing_columns", missing_columns, get_args(MissingColumns))
    if strict and missing_columns == "null":
        raise UsageError(
            "strict=True asks for every column, and missing_columns='null' says that some are not there. Leave one of them out."
        )
    if format in _SCHEMALESS:
        assert columns is not None
        return _schemaless(topic, columns, role=role, format_=format, case_rule=case_rule, wrap=wrap, strict=strict)
    if registry is None:
        raise UsageError("Avro and JSON_SR need a schema registry. Give one, or plan the format JSON or KAFKA.")
    try:
        wanted = tuple(map(given_schema_id, ids))
    except ImpossibleSchemaIdError as error:
        raise UsageError(f"ids: {error.message} Leave it out.") from error
    extra = tuple(map(Subject, subjects))
    policy = ById(registry, context=_context_of(extra)) if policy is None else policy
    asked = Asked(registry)
    own = _own_subjects(policy, topic, role)
    newest: NewestSchema | None = None
    if isinstance(columns, Newest):
        half, newest, reader = newest_half(
            asked, (*own[-1:], *extra), format_=format, role=role, wrap=wrap, case_rule=case_rule
        )
    elif columns is None:
        assert reader is not None
        half = reader_half(reader, role, wrap)
    else:
        half = half_of(given_columns(columns), role, wrap)
    _check_columns(half, format)
    plan = ReadPlan(
        topic=topic,
        role=role,
        format=format,
        columns=half.columns,
        wrapped=half.wrapped,
        case_rule=case_rule,
        policy=policy,
        subjects=tuple(dict.fromkeys((*own, *extra))),
        strict=strict,
        newest=newest,
        reader=reader,
    )
    plan = _filled(plan, asked, wanted)
    check_times(plan.schemas, topic)
    if missing_columns == "error":
        check_fed(plan)
    return plan


def newest_columns(
    registry: PlanRegistry,
    topic: str,
    *,
    role: Role,
    format: Format | None,  # noqa: A002 - its name everywhere
    case_rule: CaseRule,
    wrap: bool | None,
    policy: Resolver,
) -> tuple[Half, NewestSchema, ReaderSchema | None]:
    """The columns that `plan_read` takes for `NEWEST`, whose they are, and the schema itself if its aliases and defaults count:
    two requests, however many versions there are."""
    own = _own_subjects(policy, topic, role)[-1:]
    return newest_half(Asked(registry), own, format_=format, role=role, wrap=wrap, case_rule=case_rule)


def _schemaless(
    topic: str,
    columns: Columns | SparkSchema | Newest,
    *,
    role: Role,
    format_: Format | None,
    case_rule: CaseRule,
    wrap: bool | None,
    strict: bool,
) -> ReadPlan:
    assert format_ is not None
    if isinstance(columns, Newest):
        raise UsageError(f"The format {format_.value} has no schemas, so there is no newest one. Name the columns.")
    half = half_of(given_columns(columns), role, False if format_ is Format.KAFKA else wrap)
    decode_plan(format_, None, half, case_rule)
    return ReadPlan(
        topic=topic,
        role=role,
        format=format_,
        columns=half.columns,
        wrapped=half.wrapped,
        case_rule=case_rule,
        policy=None,
        strict=strict,
    )


def _check_columns(half: Half, format_: Format | None) -> None:
    """What a format cannot hold is said at once, whatever schemas there are."""
    for text, of in _EMPTY:
        if format_ in (of, None):
            decode_plan(of, text, half, CaseRule.EXACT)


def _own_subjects(policy: Resolver, topic: str, role: Role) -> tuple[Subject, ...]:
    own = policy.subjects(topic=topic, role=role) if isinstance(policy, PlannablePolicy) else ()
    context = policy.context if isinstance(policy, ById) else DEFAULT_CONTEXT
    return own or (join_context(context, TopicSubject()(topic, role)),)


def _context_of(subjects: Iterable[Subject]) -> str:
    """The context whose ids the payloads carry.

    :raises UsageError: if the subjects are in several: an id means one schema in each.
    """
    contexts = sorted({split_context(subject)[0] for subject in subjects})
    if len(contexts) > 1:
        raise UsageError(
            f"The subjects are in several registry contexts ({', '.join(contexts)}), each of which has ids of its own. Plan "
            "one context at a time, or pass a policy that says which one is asked: ById(registry, context=…)."
        )
    return contexts[0] if contexts else DEFAULT_CONTEXT


def _filled(plan: ReadPlan, asked: Asked, ids: Iterable[SchemaId]) -> ReadPlan:
    """The plan with all versions of its subjects, and with these ids; what it holds already is kept."""
    versions = tuple(listed(asked, plan.subjects, plan.listed))
    half = Half(columns=plan.columns, wrapped=plan.wrapped)
    schemas = {planned.schema_id: planned for planned in plan.schemas}
    refusals: list[PlannedRefusal] = []
    wanted = sorted({*ids, *(version.schema_id for version in versions)} - schemas.keys())
    if isinstance(plan.policy, PlannablePolicy):
        answers = side_by_side(lambda one: _resolved(plan, asked, one), wanted)
    else:
        answers = [_resolved(plan, asked, one) for one in wanted]
    for schema_id, answer in zip(wanted, answers, strict=True):
        if isinstance(answer, PlannedRefusal):
            refusals.append(answer)
        else:
            schemas[schema_id] = _planned(plan, half, *answer)
    in_order = tuple(schemas[schema_id] for schema_id in sorted(schemas))
    return replace(plan, listed=versions, schemas=in_order, refusals=tuple(refusals))


def _resolved(
    plan: ReadPlan, asked: Asked, schema_id: SchemaId
) -> tuple[ResolvedSchema, SecondAnswered | None] | PlannedRefusal:
    """What the policy says of an id; of a policy of this package's a copy for each id, so that none waits for another."""
    seconds: list[SecondAnswered] = []
    policy = plan.policy
    assert policy is not None
    if isinstance(policy, PlannablePolicy):
        policy = policy.over(asked, on_second=seconds.append)
    try:
        resolved = policy.resolve(schema_id, topic=plan.topic, role=plan.role)
    except (ResolveError, NoSubjectError) as error:
        reason = reason_of(error)
        assert reason is not None
        return PlannedRefusal(schema_id=schema_id, reason=reason, error=error)
    return resolved, seconds[-1] if seconds else None


def _planned(plan: ReadPlan, half: Half, resolved: ResolvedSchema, second: SecondAnswered | None) -> PlannedSchema:
    schema, format_ = resolved.schema, None
    feeds = Feeds(feeds=())
    problem: SrfixError | None
    try:
        format_ = format_of(schema.schema_type)
        if plan.format is not None:
            check_schema_type(schema.schema_type, plan.format)
        decode_plan(format_, schema.text, half, plan.case_rule, resolved.references, reader=plan.reader)
        feeds = planned_feeds(format_, resolved, half, plan.case_rule, strict=plan.strict, reader=plan.reader)
        problem = feeds.problem
    except (SchemaError, CasingError) as error:
        problem = error
    except ColumnError as error:
        error.args = (f"Schema id {resolved.schema_id} of topic {plan.topic!r}: {error.message}",)
        raise
    return PlannedSchema(
        resolved=resolved,
        format=format_,
        feeds=feeds.feeds,
        unused=feeds.unused,
        problem=problem,
        second=second,
    )
