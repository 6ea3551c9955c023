"""How a topic's payloads become rows, decided once, on the driver, in plain Python: a plan holds every known schema of
the payloads, its subject, and the writer field for each column. The schemas are those of all versions, live and
soft-deleted, of the policy's subjects and of `subjects`, and those of `ids`. Others, above all a GUID in a header, are
resolved when they occur.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, cast, get_args

from srfix.serde.arguments import flag, flag_or_none, member, type_words, word
from srfix.serde.casing import CaseRule
from srfix.serde.column_sources.given import GivenColumns, given_columns
from srfix.serde.columns.times import Times, given_times
from srfix.serde.connect.columns import Dropped, Inferred, columns_of
from srfix.serde.connect.schema import ConnectType
from srfix.serde.connect.time_units import reads_units
from srfix.serde.errors import ImpossibleSchemaIdError, SrfixError, UsageError
from srfix.serde.formats.table import (
    RESOLVING,
    SCHEMA_FORMATS,
    Format,
    check_schema_type,
    format_of,
    schema_module_of,
    usable_delimiter,
)
from srfix.serde.html import preformatted
from srfix.serde.registries.given import AnyClient, given_registry
from srfix.serde.resolve.policies import ById, PlannablePolicy, Resolver
from srfix.serde.schemas.references import reference_texts
from srfix.serde.serdes.plans import decode_plan, usable_reader
from srfix.serde.spark.interface import MissingColumns, NewestSchema
from srfix.serde.spark.read.decisions import PlanLookups, PlanRegistry, ReadDecisions
from srfix.serde.spark.read.explain import explanation, summary
from srfix.serde.spark.read.filling import check_fed, check_readable, check_times, filled
from srfix.serde.specs import NullableRepresentation, ReaderSchema, ReadSpec, given_representation
from srfix.serde.subjects.names import DEFAULT_CONTEXT, Role, Subject, join_context, split_context
from srfix.serde.subjects.strategies import TopicSubject
from srfix.serde.wire import given_schema_id


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class ReadPlan(ReadDecisions):
    """How payloads are read. Made by `plan_read`.

    Plans are equal if their decisions are the same (`digest`). A plan can be pickled if its policy can; literal secrets
    cannot be pickled.
    """

    def _repr_html_(self) -> str:
        return preformatted(self.explain())

    def explain(self, extended: bool = False) -> str:
        """The plan as a text of at most ten lines: the columns, the ids that are read, the ids whose rows are bad and
        why, and the columns that stay null.

        :param extended: True for the whole plan: the writer field for each column, for each id and subject; the refused
            ids; and the result of each engine.
        """
        return explanation(self) if extended else summary(self)

    def refreshed(self, registry: PlanRegistry | AnyClient) -> ReadPlan:
        """The plan with the new versions of its subjects. srfix requests only the new versions, and the refused ids
        again. Columns stay the same, also `NEWEST` ones.

        :raises ColumnError: if a version feeds a column in other units, as in `plan_read`.
        :raises RegistryError: if the registry could not be asked.
        """
        if self.policy is None:
            return self
        lookups = PlanLookups(cast("PlanRegistry", given_registry(registry)[0]))
        plan = filled(self, lookups, (refusal.schema_id for refusal in self.refusals))
        check_times(plan.schemas, plan.topic)
        return plan


def newest_half(
    lookups: PlanLookups, subjects: Iterable[Subject], spec: ReadSpec, *, format_: Format | None, role: Role
) -> tuple[ReadSpec, NewestSchema]:
    """The spec with the columns of the highest live version of the first subject that has one, in its own letter case;
    if that schema has aliases or defaults, they count, and the spec also has the schema. `wrap=None` uses the fields of
    a record or an object; any other type becomes the column ROWKEY or ROWVAL."""
    names = tuple(subjects)
    for subject in names:
        version = lookups.latest(subject)
        if version is not None:
            schema = version.schema
            try:
                if format_ is not None:
                    check_schema_type(schema.schema_type, format_)
                references = reference_texts(lookups, schema, subject=subject)
                in_format = format_of(schema.schema_type)
                half, dropped = _half_of(in_format, schema.text, references, spec, role)
                is_reader = reads_units(spec.case_rule) and in_format is RESOLVING
                reader = ReaderSchema(text=schema.text, references=references) if is_reader else None
                newest = NewestSchema(
                    subject=subject, version=version.version, schema_id=version.schema_id, dropped=dropped
                )
                return replace(half, reader_schema=reader), newest
            except SrfixError as error:
                error.args = (
                    f"The newest schema, version {version.version} of {subject!r} (id {version.schema_id}), gives no "
                    f"columns: {error.message}",
                )
                raise
    none = f"{' and '.join(map(repr, names))} {'has' if len(names) == 1 else 'have'} no live version"
    raise UsageError(
        f"There is no newest schema to take the columns from: {none if names else 'no subject is asked'}. Name the "
        "columns, or the subject that holds the schema (subjects=…)."
    )


def reader_half(spec: ReadSpec, role: Role) -> ReadSpec:
    reader = spec.reader_schema
    assert reader is not None
    try:
        half, _ = _half_of(RESOLVING, reader.text, reader.references, spec, role)
    except SrfixError as error:
        error.args = (f"reader_schema gives no columns: {error.message}",)
        raise
    return half


def _half_of(
    format_: Format, text: str, references: tuple[str, ...], spec: ReadSpec, role: Role
) -> tuple[ReadSpec, tuple[Dropped, ...]]:
    module = schema_module_of(format_)
    connect, dropped = module.as_connect(text, references, by_units=reads_units(spec.case_rule))
    is_record = connect.type is ConnectType.STRUCT and connect.name != module.UNION_NAME
    wrapped = is_record if spec.wrap is None else spec.wrap
    inferred: Inferred = columns_of(
        connect, names="keep", role=role, wrapped=wrapped, for_spark=True, keeps_time=spec.times == "integers"
    )
    half = replace(spec, columns=inferred.columns, wrap=wrapped).half(role, format_.wraps)
    return half, (*dropped, *inferred.dropped)


class Newest:
    def __repr__(self) -> str:
        return "NEWEST"


NEWEST: Final = Newest()
"""The columns of the newest schema, in its own letter case. The newest schema is the highest live version of the
subject that writers use: the policy's last subject (for a `DualSubject` the second one, the source's), otherwise the
first of `subjects` that has a live version. This is decided when the plan is made, so a running stream's columns do not
change. Fields that Spark cannot hold are left out and named (`ReadPlan.newest`): TIME (except with `times="integers"`),
decimals beyond 38 digits, maps with other keys than strings, and types that contain themselves. Instants in
microseconds are TIMESTAMP, and local times are TIMESTAMP_NTZ, except under ksqlDB's own case rules.
"""


def plan_read(
    registry: PlanRegistry | AnyClient | None,
    topic: str,
    columns: GivenColumns | Newest | None = None,
    *,
    role: Role = Role.VALUE,
    format: Format | str | None = Format.AVRO,  # noqa: A002 - its name everywhere
    case_rule: CaseRule = CaseRule.UNIQUE,
    wrap: bool | None = None,
    policy: Resolver | None = None,
    subjects: Iterable[str] = (),
    ids: Iterable[int] = (),
    reader_schema: str | ReaderSchema | None = None,
    reader_version: int | None = None,
    reader_id: int | None = None,
    missing_columns: MissingColumns = "error",
    strict: bool = False,
    times: Times = "datetimes",
    delimiter: str | None = None,
    nullable_representation: NullableRepresentation | None = None,
) -> ReadPlan:
    """Asks the registry for all schemas that the payloads of a topic may carry. Nothing is written: a policy's
    `register_missing` and `on_second` apply only later, to ids that the plan does not have. The answers of a second
    subject are in the plan (`PlannedSchema.second`).

    :param registry: may be None for a format without schemas, such as JSON or KAFKA.
    :param columns: the columns, parsed or as a text in ksqlDB's notation; a StructType, or its JSON (its names stay
        unchanged); or `NEWEST`. Columns marked as KEY belong to keys, the others to values.
    :param format: the format, or its word, such as `"protobuf"`; None to accept Avro, JSON_SR and Protobuf, by each
        schema's type.
    :param wrap: False if bodies are the bare value of the only column; None for ksqlDB's default. With `NEWEST`, the
        schema decides.
    :param policy: decides which ids are accepted; None to accept every id that the registry knows, in the context of
        `subjects`.
    :param subjects: more subjects, besides the policy's own, whose schemas the payloads may carry.
    :param ids: more ids, besides those of the subjects.
    :param reader_schema: an Avro schema whose aliases, defaults and promotions count, as in Avro's schema resolution.
        With `NEWEST`, the aliases, defaults and promotions of the newest schema count automatically, unless the case
        rule is ksqlDB's own. If no columns are named, a row has this schema's fields.
    :param reader_version: the version of the reader's schema under the topic's own subject.
    :param reader_id: the id of the reader's schema in the registry.
    :param missing_columns: the handling of a column, or an inner field, that no version feeds: `error`, because a
        misspelt column would be null in every row; or `null`. With `error`, a plan is also refused if no row of any
        version could be read.
    :param strict: with True, a row is bad (COLUMN_NOT_FED) unless its writer feeds every column and every inner field.
        With False, an unfed column is null. If no column is fed, the row is bad (NOTHING_FED), also with False. One
        exception: under ksqlDB's case rules with False, the row then has only nulls, as in ksqlDB.
    :param times: with `"integers"`, DATE becomes int, and TIME and TIMESTAMP become long: the integer in the record, in
        the unit that the writer's schema declares. A column is never fed in several units.
    :param delimiter: DELIMITED: the separator between fields, like ksqlDB's VALUE_DELIMITER; None for a comma.
    :param nullable_representation: PROTOBUF_NOSR: how a null differs from a default value (`srfix.serde.specs`).
    :raises ColumnError: if the columns cannot be used, or the format cannot hold them, or no version feeds one of them;
        if a column of days, times or instants would only get numbers of another kind (a local timestamp for a
        TIMESTAMP).
    :raises UsageError: if a registry or a newest schema is needed but missing; if a subject strategy has no subject for
        the topic; if one of the ids is impossible.
    :raises RegistryError: if the registry could not be asked.
    """
    if not isinstance(topic, str) or not topic:
        raise UsageError(
            f"topic is {repr(topic) if isinstance(topic, str) else type_words(topic)}; it must be a topic's name."
        )
    registry = None if registry is None else cast("PlanRegistry", given_registry(registry)[0])
    if format is not None:
        format = member("format", Format, format)  # noqa: A001
    role, case_rule = member("role", Role, role), member("case_rule", CaseRule, case_rule)
    if isinstance(subjects, str):
        raise UsageError(f"subjects is of the type str; it must be a list of subjects: [{subjects!r}].")
    reader, times = usable_reader(reader_schema, case_rule), given_times(times)
    has_reader = _is_one_given(reader_schema=reader_schema, reader_version=reader_version, reader_id=reader_id)
    if columns is None and not has_reader:
        raise UsageError("Name the columns of the rows, or pass NEWEST for those of the newest schema.")
    if has_reader and (isinstance(columns, Newest) or format not in (RESOLVING, None)):
        raise UsageError(
            "A reader's schema (reader_schema=, reader_version=, reader_id=) is an Avro schema and defines the "
            "columns itself: leave out NEWEST, and any format but Avro."
        )
    word("missing_columns", missing_columns, get_args(MissingColumns))
    if strict and missing_columns == "null":
        raise UsageError(
            "strict=True requires every column, but missing_columns='null' allows missing columns. Leave out one of the two."
        )
    spec = ReadSpec(
        wrap=flag_or_none("wrap", wrap),
        case_rule=case_rule,
        strict=flag("strict", strict),
        times=times,
        reader_schema=reader,
        delimiter=usable_delimiter(delimiter, format),
        nullable_representation=given_representation(
            nullable_representation, is_protobuf=format is Format.PROTOBUF_NOSR
        ),
    )
    if format is not None and format not in SCHEMA_FORMATS:
        assert columns is not None
        return _schemaless(topic, columns, spec, role=role, format_=format)
    if registry is None:
        raise UsageError("Avro and JSON_SR need a schema registry. Give one, or plan a format that has no schemas.")
    try:
        wanted = tuple(map(given_schema_id, ids))
    except ImpossibleSchemaIdError as error:
        raise UsageError(f"ids: {error.message} Leave it out.") from error
    extra = tuple(map(Subject, subjects))
    policy = ById(registry, context=_context_of(extra)) if policy is None else policy
    lookups = PlanLookups(registry)
    own_subjects = _own_subjects(policy, topic, role)
    newest: NewestSchema | None = None
    if reader_version is not None or reader_id is not None:
        registered = _registered_reader(lookups, own_subjects[-1], version=reader_version, schema_id=reader_id)
        spec = replace(spec, reader_schema=usable_reader(registered, case_rule))
    if isinstance(columns, Newest):
        spec, newest = newest_half(lookups, (*own_subjects[-1:], *extra), spec, format_=format, role=role)
    elif columns is None:
        spec = reader_half(spec, role)
    else:
        spec = replace(spec, columns=given_columns(columns)).half(role, None if format is None else format.wraps)
    _check_columns(spec, format)
    plan = ReadPlan(
        topic=topic,
        role=role,
        format=format,
        spec=spec,
        policy=policy,
        subjects=tuple(dict.fromkeys((*own_subjects, *extra))),
        newest=newest,
    )
    plan = filled(plan, lookups, wanted)
    check_times(plan.schemas, topic)
    if missing_columns == "error":
        check_fed(plan)
        check_readable(plan)
    return plan


def newest_columns(
    registry: PlanRegistry | AnyClient,
    topic: str,
    spec: ReadSpec,
    *,
    role: Role,
    format: Format | None,  # noqa: A002 - its name everywhere
    policy: Resolver,
) -> tuple[ReadSpec, NewestSchema]:
    """The columns of `NEWEST`, in two requests, however many versions there are."""
    own_subjects = _own_subjects(policy, topic, role)[-1:]
    lookups = PlanLookups(cast("PlanRegistry", given_registry(registry)[0]))
    return newest_half(lookups, own_subjects, spec, format_=format, role=role)


def _is_one_given(**arguments: object) -> bool:
    names = [f"{name}=" for name, value in arguments.items() if value is not None]
    if len(names) > 1:
        raise UsageError(f"{' and '.join(names)} each give the reader's schema. Give only one of them.")
    return bool(names)


def _registered_reader(
    lookups: PlanLookups, subject: Subject, *, version: int | None, schema_id: int | None
) -> ReaderSchema:
    if version is not None:
        schema = lookups.version(subject, version).schema
    else:
        assert schema_id is not None
        schema = lookups.schema_by_id(given_schema_id(schema_id), subject=subject).schema
    check_schema_type(schema.schema_type, RESOLVING)
    return ReaderSchema(text=schema.text, references=reference_texts(lookups, schema, subject=subject))


def _schemaless(topic: str, columns: GivenColumns | Newest, spec: ReadSpec, *, role: Role, format_: Format) -> ReadPlan:
    if isinstance(columns, Newest):
        raise UsageError(f"The format {format_.value} has no schemas, so there is no newest one. Name the columns.")
    half = format_.settled(replace(spec, columns=given_columns(columns))).half(role, format_.wraps)
    decode_plan(format_, None, half)
    return ReadPlan(topic=topic, role=role, format=format_, spec=half, policy=None)


def _check_columns(spec: ReadSpec, format_: Format | None) -> None:
    """Columns that a format cannot hold raise an error at once, whatever schemas there are."""
    spec = ReadSpec(columns=spec.columns, wrap=spec.wrap, case_rule=CaseRule.EXACT)
    for schema_format in SCHEMA_FORMATS:
        if format_ is schema_format or (format_ is None and schema_format.is_installed):
            decode_plan(schema_format, schema_module_of(schema_format).EMPTY_SCHEMA, spec)


def _own_subjects(policy: Resolver, topic: str, role: Role) -> tuple[Subject, ...]:
    subjects = policy.subjects(topic=topic, role=role) if isinstance(policy, PlannablePolicy) else ()
    context = policy.context if isinstance(policy, ById) else DEFAULT_CONTEXT
    return subjects or (join_context(context, TopicSubject()(topic, role)),)


def _context_of(subjects: Iterable[Subject]) -> str:
    contexts = sorted({split_context(subject)[0] for subject in subjects})
    if len(contexts) > 1:
        raise UsageError(
            f"The subjects are in several registry contexts ({', '.join(contexts)}), and each context has its own "
            "ids. Plan one context at a time, or pass a policy that names the context: ById(registry, context=…)."
        )
    return contexts[0] if contexts else DEFAULT_CONTEXT
