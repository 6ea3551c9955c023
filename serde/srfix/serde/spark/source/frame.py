"""The columns of a frame of `format("srfix")`: a row's columns, the reason for a missing row, and the record's own
columns; and the plan that turns payloads into its rows."""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from dataclasses import field as default_field
from enum import Enum
from typing import TYPE_CHECKING, Final, cast

from srfix.serde.arrow.types import reason_fields
from srfix.serde.casing import declared_name
from srfix.serde.column_sources.from_spark import columns_from_spark, spark_schema
from srfix.serde.columns.half import half_of
from srfix.serde.columns.times import Times, with_times
from srfix.serde.columns.types import Columns
from srfix.serde.errors import SecretError, UsageError
from srfix.serde.formats.table import SCHEMA_FORMATS
from srfix.serde.properties.registry import open_registry
from srfix.serde.resolve.policies import ById, DualSubject, Resolver, UnderOneSubject
from srfix.serde.schemas.references import reference_texts
from srfix.serde.spark.frame_types import FrameField, FrameType, ddl, fields_of, frame_fields, struct_of
from srfix.serde.spark.read.plan import ReadPlan, newest_columns, plan_read
from srfix.serde.spark.source.names import Policy, Tombstones, in_options_words
from srfix.serde.spark.source.options import RECORD, SourceOptions
from srfix.serde.specs import ReaderSchema, ReadSpec
from srfix.serde.subjects.strategies import FixedSubject, TopicSubject

if TYPE_CHECKING:
    from srfix.serde.registry.client import RegistryClient
    from srfix.serde.subjects.names import SubjectStrategy

_NEWEST: Final = "srfix.newest"


class FieldKind(Enum):
    ROW = "row"
    REASON = "reason"
    MESSAGE = "message"
    PAYLOAD = "payload"
    METADATA = "metadata"


_REASON_TYPES: Final[Mapping[FieldKind, FrameType]] = {
    FieldKind.REASON: "string",
    FieldKind.MESSAGE: "string",
    FieldKind.PAYLOAD: "binary",
}


def _types(columns: Columns) -> dict[str, FrameType]:
    return {field.name: field.type for field in frame_fields(spark_schema(columns))}


_METADATA_TYPES: Final = _types(RECORD)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFrameField:
    name: str
    kind: FieldKind
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFrame:
    fields: tuple[SourceFrameField, ...]
    columns: Columns
    """The columns for decoded rows; none for raw records."""
    wrap: bool | None = None
    """Only if the columns do not show it, because some were left out."""
    newest: Mapping[str, tuple[str, int]] = default_field(default_factory=dict, hash=False)
    """Topic → subject and id of the newest schema whose columns these are, if its aliases and defaults count."""


def frame_of(options: SourceOptions, schema: Mapping[str, object] | None = None) -> SourceFrame:
    """The fields of the frame. The user's schema, in Spark's JSON form, chooses and orders them."""
    if options.format is None:
        return SourceFrame(fields=_records(options), columns=()) if schema is None else _chosen_raw(schema)
    wrap = options.format.wraps if options.wrap is None else options.wrap
    declared = None if options.columns is None else half_of(options.columns, options.role, wrap)
    if schema is None:
        if declared is None:
            raise UsageError(
                'The columns of the rows are not known. Give .option("columns", "ID BIGINT, NAME STRING"), or '
                ".schema(…)."
            )
        columns = declared.columns
        rows = [SourceFrameField(name=column.name, kind=FieldKind.ROW, source=column.name) for column in columns]
        fields = (*rows, *_about(options, columns), *_records(options))
        return _distinct(SourceFrame(fields=fields, columns=columns, wrap=declared.wrapped, newest=options.newest))
    frame = _chosen(options, schema)
    if declared is None:
        return replace(frame, newest=_newest_of(schema))
    types = {column.name: column.type for column in declared.columns}
    for column in frame.columns:
        if types.get(column.name) != column.type:
            raise UsageError(
                f"The option columns has no column {column.name!r} of the type that the schema gives this column. Leave "
                "out the option, or make both agree (also in letter case)."
            )
    return replace(frame, wrap=declared.wrapped)


def spark_json(frame: SourceFrame) -> str:
    rows = _types(frame.columns) if frame.columns else {}
    noted = json.dumps(dict(sorted(frame.newest.items())))
    fields = [
        {
            "name": one.name,
            "type": _type_of(one, rows),
            "nullable": True,
            "metadata": {_NEWEST: noted} if frame.newest and one.kind is FieldKind.ROW else {},
        }
        for one in frame.fields
    ]
    return json.dumps({"type": "struct", "fields": fields}, ensure_ascii=False)


def _newest_of(schema: Mapping[str, object]) -> Mapping[str, tuple[str, int]]:
    """They count if all columns name the same. Those of a printed schema name none, as if the user had chosen them."""
    noted = {
        str(cast("Mapping[str, object]", one.get("metadata") or {}).get(_NEWEST, ""))
        for one in cast("Sequence[Mapping[str, object]]", schema["fields"])
    } - {""}
    if len(noted) != 1:
        return {}
    by_topic: dict[str, list[object]] = json.loads(noted.pop())
    return {topic: (str(subject), int(str(schema_id))) for topic, (subject, schema_id) in by_topic.items()}


def _type_of(field: SourceFrameField, rows: Mapping[str, FrameType]) -> FrameType:
    if field.kind is FieldKind.METADATA:
        return _METADATA_TYPES[field.source]
    return rows[field.source] if field.kind is FieldKind.ROW else _REASON_TYPES[field.kind]


def _about(options: SourceOptions, columns: Columns) -> tuple[SourceFrameField, ...]:
    names = zip(_REASON_TYPES, astuple(reason_fields(columns)), strict=True)
    fields = tuple(SourceFrameField(name=name, kind=kind) for kind, name in names)
    return fields if options.on_error == "quarantine" else fields[:1]


def _records(options: SourceOptions) -> tuple[SourceFrameField, ...]:
    return tuple(
        SourceFrameField(name=f"{options.metadata_prefix}{name}", kind=FieldKind.METADATA, source=name)
        for name in options.metadata or ()
    )


def _chosen_raw(schema: Mapping[str, object]) -> SourceFrame:
    fields = _given_fields(schema)
    for field in fields:
        if not _is_records(field):
            raise UsageError(
                f"The schema's field {field.name!r} ({_named(field.type)}) is not a column of a raw record. Its columns "
                f"are {', '.join(f'{column} {_named(kind)}' for column, kind in _METADATA_TYPES.items())}."
            )
    raw = (SourceFrameField(name=field.name, kind=FieldKind.METADATA, source=field.name) for field in fields)
    return SourceFrame(fields=tuple(raw), columns=())


def _chosen(options: SourceOptions, schema: Mapping[str, object]) -> SourceFrame:
    schema_fields = _given_fields(schema)
    records = {field.name: field for field in _records(options)}
    # The names of the reason columns depend on the other columns; for a given schema, the plain names are used.
    abouts = {field.name: field for field in _about(options, ())}
    rows = [field for field in schema_fields if field.name not in records and field.name not in abouts]
    for name in [field.name for field in rows if options.metadata is None and _is_records(field)]:
        raise UsageError(
            f"The schema's field {name!r} may be the record's {name} or a field of its row. If it is the record's, "
            f'set .option("metadata", "{name}"). If it is the row\'s, set .option("metadata", "none").'
        )
    columns = _columns(rows)
    by_name = {field.name: field for field in (*abouts.values(), *records.values())}
    for field in schema_fields:
        if field.name in by_name and ddl(field.type) != ddl(wanted := _type_of(by_name[field.name], {})):
            raise UsageError(f"The schema's field {field.name!r} is {_named(field.type)}; it must be {_named(wanted)}.")
    fields = tuple(
        by_name.get(name) or SourceFrameField(name=name, kind=FieldKind.ROW, source=name)
        for name in (field.name for field in schema_fields)
    )
    frame = _distinct(SourceFrame(fields=fields, columns=columns))
    if not any(field.kind is FieldKind.REASON for field in fields) and not (
        options.on_error == "fail" and options.tombstones is Tombstones.DROP
    ):
        raise UsageError(
            f"The schema lacks the column {reason_fields(columns).reason} STRING. Only that column shows whether a row "
            "of nulls is a tombstone or a bad row. Add it, or set on.error=fail and tombstones=drop."
        )
    return frame


def _is_records(field: FrameField) -> bool:
    return field.name in _METADATA_TYPES and ddl(field.type) == ddl(_METADATA_TYPES[field.name])


def _columns(rows: Sequence[FrameField]) -> Columns:
    if not rows:
        raise UsageError(
            "No column of the schema is left for the rows, because all are metadata or reasons. Name a column of the rows, or "
            "read format=raw, which decodes nothing."
        )
    columns = columns_from_spark(struct_of(rows), names="keep")
    exact = _types(columns)
    for field in rows:
        if ddl(field.type) != ddl(exact[field.name]):
            raise UsageError(
                f"The schema's column {field.name!r} is {_named(field.type)}, but rows do not have this type; they "
                f"have {_named(exact[field.name])}. Read that type and cast it."
            )
    return columns


def _given_fields(schema: Mapping[str, object]) -> tuple[FrameField, ...]:
    for field in cast("Sequence[Mapping[str, object]]", schema["fields"]):
        if field["nullable"] is False:
            raise UsageError(
                f"The schema's field {field['name']!r} is NOT NULL, but every field of the frame may be null, for "
                "example in a tombstone. Declare it nullable."
            )
    return fields_of(schema)


def _distinct(frame: SourceFrame) -> SourceFrame:
    rows = {declared_name(field.name) for field in frame.fields if field.kind is FieldKind.ROW}
    for field in frame.fields:
        # Spark does not distinguish names by letter case.
        if field.kind is not FieldKind.ROW and declared_name(field.name) in rows:
            raise UsageError(
                f"Two columns have the name {field.name!r} (ignoring case): the row's and the record's. Set a prefix, "
                'for example .option("metadata.prefix", "_record_"), or leave the record\'s column out of metadata.'
            )
    return frame


def _named(type_: FrameType) -> str:
    return type_ if isinstance(type_, str) else str(type_["type"])


def registry_of(options: SourceOptions) -> RegistryClient | None:
    if not options.registry.urls:
        return None
    client = open_registry(options.registry, options.registry.urls, kafka=options.kafka)
    try:
        pickle.dumps(client)
    except SecretError as error:
        raise SecretError(
            f"{error.message} As an option: registry.basic.auth.user.info=USER:env:NAME, or "
            "registry.bearer.auth.token=file:PATH; the workers read it for themselves. A client certificate in a "
            "Java key store cannot be sent to the workers either: give it as PEM files, "
            "registry.ssl.certificate.location and registry.ssl.key.location."
        ) from None
    return client


def with_columns(options: SourceOptions) -> SourceOptions:
    registry = registry_of(options)  # first: it refuses a literal password
    if options.columns is not None or options.format not in SCHEMA_FORMATS:
        return options
    assert registry is not None  # source_options has checked this
    half, newest = newest_columns(
        registry,
        options.required_topic(),
        ReadSpec(case_rule=options.case_rule, wrap=options.wrap, times=options.times),
        role=options.role,
        format=options.format,
        policy=_policy(options, registry),
    )
    columns = half.known_columns
    # The reader gets only the frame's columns, and uses ksqlDB's default.
    if options.wrap is None and half_of(columns, options.role, options.format.wraps).wrapped != half.wrapped:
        raise UsageError(
            f"The newest schema for the {options.role.value}s of topic {options.topic!r} has one column, "
            f'{columns[0].name}. Set .option("wrap", "{"true" if half.wrapped else "false"}").'
        )
    is_reader = half.reader_schema is not None and options.reader_schema is None
    place = (newest.subject, newest.schema_id)
    return replace(
        options,
        columns=with_times(columns, options.times),
        newest={options.required_topic(): place} if is_reader else {},
    )


def plan_of(options: SourceOptions, frame: SourceFrame) -> ReadPlan | None:
    if options.format is None:
        return None
    registry = registry_of(options) if options.format in SCHEMA_FORMATS else None
    with in_options_words():
        return plan_read(
            registry,
            options.required_topic(),
            frame.columns,
            role=options.role,
            format=options.format,
            case_rule=options.case_rule,
            wrap=options.wrap if frame.wrap is None else frame.wrap,
            policy=None if registry is None else _policy(options, registry),
            reader_schema=_reader(options, frame, registry),
            missing_columns=options.missing_columns,
            strict=options.strict,
            times=cast("Times", options.times),
            delimiter=options.delimiter,
        )


def _reader(options: SourceOptions, frame: SourceFrame, registry: RegistryClient | None) -> str | ReaderSchema | None:
    newest = frame.newest.get(options.topic or "")
    if options.reader_schema is not None or registry is None or newest is None:
        return options.reader_schema
    subject, schema_id = newest
    schema = registry.schema_by_id(schema_id, subject=subject).schema
    return ReaderSchema(text=schema.text, references=reference_texts(registry, schema, subject=subject))


def _policy(options: SourceOptions, registry: RegistryClient) -> Resolver:
    match options.policy:
        case Policy.BY_ID:
            return ById(registry)
        case Policy.ONE_SUBJECT:
            return UnderOneSubject(registry, fixed_subject(options))
        case Policy.DUAL_SUBJECT:
            first, second = (FixedSubject(key=one, value=one) for one in options.subjects)
            return DualSubject(registry, first=first, second=second)


def fixed_subject(options: SourceOptions) -> SubjectStrategy:
    if not options.subjects:
        return TopicSubject()
    (subject,) = options.subjects
    return FixedSubject(key=subject, value=subject)
