"""The columns that a plan's rows have: those that were given, or the newest schema's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from srfix.serde.connect.columns import Dropped, Inferred, columns_of
from srfix.serde.connect.schema import ConnectType
from srfix.serde.connect.time_units import reads_units
from srfix.serde.errors import SrfixError, UsageError
from srfix.serde.formats.table import RESOLVING, Format, check_schema_type, format_of, schema_module_of
from srfix.serde.schemas.models import SchemaVersion
from srfix.serde.schemas.references import reference_texts
from srfix.serde.spark.interface import NewestSchema
from srfix.serde.spark.read.plan_registry import Asked
from srfix.serde.specs import ReaderSchema, ReadSpec
from srfix.serde.subjects.names import Role, Subject


def newest_half(
    asked: Asked, subjects: Iterable[Subject], spec: ReadSpec, *, format_: Format | None, role: Role
) -> tuple[ReadSpec, NewestSchema]:
    """The spec with the columns of the highest live version of the first subject that has one, in its own letters; and with the
    schema itself, if it has aliases or defaults, which count then.

    :param spec: what else is said of the rows. ksqlDB's own case rules take instants in microseconds for numbers, as it does;
        `times="integers"` keeps times of day, whose numbers Spark holds; `wrap=None` takes the fields of a record or an
        object, and anything else as the one column ROWKEY or ROWVAL.
    """
    names = tuple(subjects)
    for subject in names:
        found = asked.latest(subject)
        if found is not None:
            try:
                return _half(asked, subject, found, spec, format_, role)
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
    spec: ReadSpec,
    format_: Format | None,
    role: Role,
) -> tuple[ReadSpec, NewestSchema]:
    schema = found.schema
    if format_ is not None:
        check_schema_type(schema.schema_type, format_)
    references = reference_texts(asked, schema, subject=subject)
    in_format = format_of(schema.schema_type)
    half, left_out = _half_of(in_format, schema.text, references, spec, role)
    newest = NewestSchema(subject=subject, version=found.version, schema_id=found.schema_id, dropped=left_out)
    is_reader = reads_units(spec.case_rule) and half.wrapped and in_format is RESOLVING
    reader = ReaderSchema(text=schema.text, references=references) if is_reader else None
    return replace(half, reader_schema=reader), newest


def reader_half(spec: ReadSpec, role: Role) -> ReadSpec:
    """The spec with the columns that the reader's schema has, in its own letters."""
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
    """The spec with the columns, and the fields that are left out."""
    module = schema_module_of(format_)
    connect, dropped = module.as_connect(text, references, by_units=reads_units(spec.case_rule))
    is_record = connect.type is ConnectType.STRUCT and connect.name != module.UNION_NAME
    wrapped = is_record if spec.wrap is None else spec.wrap
    inferred: Inferred = columns_of(
        connect, names="keep", role=role, wrapped=wrapped, for_spark=True, keeps_time=spec.times == "integers"
    )
    half = replace(spec, columns=inferred.columns, wrap=wrapped).half(role)
    return half, (*dropped, *inferred.dropped)
