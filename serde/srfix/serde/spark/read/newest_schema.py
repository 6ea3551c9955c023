"""The columns that a plan's rows have: those that were given, or the newest schema's."""

from __future__ import annotations

from collections.abc import Iterable

from srfix.serde.casing import CaseRule
from srfix.serde.columns.half import Half, half_of
from srfix.serde.columns.times import Times
from srfix.serde.connect.columns import Dropped, Inferred, columns_of
from srfix.serde.connect.schema import ConnectField, ConnectSchema, ConnectType, struct
from srfix.serde.connect.time_units import reads_units
from srfix.serde.errors import SchemaError, SrfixError, UsageError
from srfix.serde.formats.avro import connect as _avro_connect
from srfix.serde.formats.avro import load
from srfix.serde.formats.avro.read.resolution import ReaderSchema, has_hints
from srfix.serde.formats.json_schema import connect as _json_schema_connect
from srfix.serde.formats.table import Format, check_schema_type, format_of
from srfix.serde.schemas.models import SchemaVersion
from srfix.serde.schemas.references import reference_texts
from srfix.serde.spark.interface import NewestSchema
from srfix.serde.spark.read.plan_registry import Asked
from srfix.serde.subjects.names import Role, Subject

_UNIONS = (_avro_connect.UNION_NAME, _json_schema_connect.UNION_NAME)


def newest_half(
    asked: Asked,
    subjects: Iterable[Subject],
    *,
    format_: Format | None,
    role: Role,
    wrap: bool | None,
    case_rule: CaseRule,
    times: Times,
) -> tuple[Half, NewestSchema, ReaderSchema | None]:
    """The columns of the highest live version of the first subject that has one, in its own letters; and the schema itself,
    if it has aliases or defaults, which count then.

    :param case_rule: ksqlDB's own take instants in microseconds for numbers, as it does.
    :param times: `"integers"` keeps times of day, whose numbers Spark holds.
    :param wrap: None takes the fields of a record or an object, and anything else as the one column ROWKEY or ROWVAL.
    :raises UsageError: if no subject has a live version.
    :raises SchemaError: if it is of another format.
    :raises ColumnError: if no columns can be made of it.
    """
    names = tuple(subjects)
    for subject in names:
        found = asked.latest(subject)
        if found is not None:
            try:
                return _half(asked, subject, found, format_, role, wrap, case_rule, times)
            except SrfixError as error:
                error.args = (
                    f"The newest schema, version {found.version} of {subject!r} (id {found.schema_id}), gives no "
                    f"columns: {error.message}",
                )
                raise
    raise UsageError(
        f"There is no newest schema to take the columns from: {_none_in(names)}. Name the columns, or the subject "
        "that holds the schema (subjects=…)."
    )


def _none_in(names: tuple[str, ...]) -> str:
    if not names:
        return "no subject is asked"
    return f"{' and '.join(map(repr, names))} {'has' if len(names) == 1 else 'have'} no live version"


def _half(
    asked: Asked,
    subject: Subject,
    found: SchemaVersion,
    format_: Format | None,
    role: Role,
    wrap: bool | None,
    case_rule: CaseRule,
    times: Times,
) -> tuple[Half, NewestSchema, ReaderSchema | None]:
    schema = found.schema
    if format_ is not None:
        check_schema_type(schema.schema_type, format_)
    references = reference_texts(asked, schema, subject=subject)
    in_format = format_of(schema.schema_type)
    half, left_out = _half_of(in_format, schema.text, references, role, wrap, case_rule, times)
    newest = NewestSchema(subject=subject, version=found.version, schema_id=found.schema_id, dropped=left_out)
    is_reader = (
        in_format is Format.AVRO
        and reads_units(case_rule)
        and half.wrapped
        and has_hints(load(schema.text, references))
    )
    return half, newest, ReaderSchema(text=schema.text, references=references) if is_reader else None


def reader_half(reader: ReaderSchema, role: Role, wrap: bool | None, times: Times) -> Half:
    """The columns that a reader's schema has, in its own letters.

    :raises ColumnError: if no columns can be made of it.
    """
    try:
        half, _ = _half_of(Format.AVRO, reader.text, reader.references, role, wrap, CaseRule.EXACT, times)
    except SrfixError as error:
        error.args = (f"reader_schema gives no columns: {error.message}",)
        raise
    return half


def _half_of(
    format_: Format,
    text: str,
    references: tuple[str, ...],
    role: Role,
    wrap: bool | None,
    case_rule: CaseRule,
    times: Times,
) -> tuple[Half, tuple[Dropped, ...]]:
    """The columns, and the fields that are left out."""
    connect, dropped = _connect_schema(format_, text, references, by_units=reads_units(case_rule))
    wrapped = _is_record(connect) if wrap is None else wrap
    inferred: Inferred = columns_of(
        connect, names="keep", role=role, wrapped=wrapped, for_spark=True, keeps_time=times == "integers"
    )
    return half_of(inferred.columns, role, wrapped), (*dropped, *inferred.dropped)


def _connect_schema(
    format_: Format, text: str, references: tuple[str, ...], *, by_units: bool
) -> tuple[ConnectSchema, tuple[Dropped, ...]]:
    """The schema, and the fields that Connect refuses: a null by itself, two branches of one name."""
    if format_ is not Format.AVRO:
        return _json_schema_connect.connect_schema(text, references), ()
    root = load(text, references)
    try:
        return _avro_connect.to_connect(root, by_units=by_units), ()
    except SchemaError:
        if root.kind != "record":
            raise
    fields: list[ConnectField] = []
    dropped: list[Dropped] = []
    for part in root.fields:
        try:
            fields.append(ConnectField(part.name, _avro_connect.to_connect(part.node, by_units=by_units)))
        except SchemaError as error:
            dropped.append(Dropped(f"->{part.name}", error.message.rstrip(".")))
    return struct(fields, name=root.name), tuple(dropped)


def _is_record(schema: ConnectSchema) -> bool:
    return schema.type is ConnectType.STRUCT and schema.name not in _UNIONS
