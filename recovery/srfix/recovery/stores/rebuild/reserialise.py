"""A payload under its writer's schema → the same row under the schema that a named subject holds.

The payload is read into the columns of that schema (a writer's field feeds a column with the same name, in any letter
case) and written under its id. Nothing is ever registered. A payload that already carries the id stays unchanged, byte
for byte.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, TypeAlias

from srfix.recovery.registry import ReadableRegistry
from srfix.serde.casing import CaseRule
from srfix.serde.columns.types import Columns
from srfix.serde.deserializer import SchemaDeserializer
from srfix.serde.errors import ColumnError, SchemaError, UsageError
from srfix.serde.formats.avro import columns_from_avro
from srfix.serde.formats.table import Format, format_of, schema_module_of
from srfix.serde.interface import SerdeContext
from srfix.serde.resolve.policies import ById, Resolver
from srfix.serde.schemas.models import Schema
from srfix.serde.schemas.references import reference_texts
from srfix.serde.serdes.framed_serializer import FramedSerializer
from srfix.serde.serializer import FRAMED
from srfix.serde.subjects.names import Role, Subject
from srfix.serde.subjects.strategies import FixedSubject
from srfix.serde.wire import SchemaId, prefix_id_bytes

Change: TypeAlias = Callable[[bytes], bytes]
"""The serde's bytes of a value → the new bytes for the store. An exception says why that is impossible."""

_TIMES: Final = "integers"
_TOPIC: Final = "the store"


class Reserialiser:
    """Rewrites values under a schema of the reader's subject, by default the latest. Picklable if the registry is."""

    def __init__(
        self,
        registry: ReadableRegistry,
        subject: Subject,
        *,
        version: int | Literal["latest"] = "latest",
        resolver: Resolver | None = None,
        case_rule: CaseRule = CaseRule.UNIQUE,
    ) -> None:
        schema_version = registry.version(subject, version, deleted=version != "latest")
        references = reference_texts(registry, schema_version.schema, subject=subject)
        resolver = resolver or ById(registry, context=registry.context_of(subject))
        self.schema_id: SchemaId = schema_version.schema_id
        self._prefix = prefix_id_bytes(schema_version.schema_id)
        self._read = _reader(resolver, schema_version.schema, references, case_rule)
        self._write = _writer(registry, schema_version.schema, references, subject, schema_version.version)
        self._context = SerdeContext(_TOPIC, Role.VALUE)
        self._made_of = (registry, subject, schema_version.version, resolver, case_rule)

    def __reduce__(self) -> tuple[object, ...]:
        # Another process makes it again, from the version that was the latest here.
        return _made_anew, self._made_of

    def __call__(self, payload: bytes) -> bytes:
        if payload.startswith(self._prefix):
            return payload
        written = self._write(self._read(payload, self._context), self._context)
        if written is None:
            raise UsageError("the whole row is null, and to write null would delete the row")
        return written


def _made_anew(
    registry: ReadableRegistry, subject: Subject, version: int, resolver: Resolver, case_rule: CaseRule
) -> Reserialiser:
    return Reserialiser(registry, subject, version=version, resolver=resolver, case_rule=case_rule)


def _reader(resolver: Resolver, schema: Schema, references: tuple[str, ...], case_rule: CaseRule) -> SchemaDeserializer:
    if schema.schema_type != Format.AVRO.schema_type:
        columns = _columns(schema, references)
        return SchemaDeserializer(resolver, columns=columns, case_rule=case_rule, times=_TIMES)
    try:
        columns = columns_from_avro(schema.text, names="keep", references=references)
    except (ColumnError, SchemaError):  # no record, or a recursive one: Avro's own resolution is used
        from srfix.serde.specs import ReaderSchema

        reader = ReaderSchema(text=schema.text, references=references)
        return SchemaDeserializer(resolver, reader_schema=reader, times=_TIMES)
    return SchemaDeserializer(resolver, columns=columns, case_rule=case_rule, wrap=True, times=_TIMES)


def _columns(schema: Schema, references: tuple[str, ...]) -> Columns:
    """A UsageError if a field has no column, because its values would be lost."""
    infer = schema_module_of(format_of(schema.schema_type)).infer_columns
    inferred = infer(schema.text, names="keep", references=references)
    if inferred.dropped:
        lost = ", ".join(part.path for part in inferred.dropped)
        raise UsageError(f"srfix cannot write rows under this schema: no column type holds its fields {lost}.")
    return inferred.columns


def _writer(
    registry: ReadableRegistry, schema: Schema, references: tuple[str, ...], subject: Subject, version: int
) -> FramedSerializer:
    format_ = format_of(schema.schema_type)
    # The rows have columns for a Protobuf schema's oneofs, so the writer needs the columns, too.
    columns = _columns(schema, references) if format_ is Format.PROTOBUF else None
    subjects = FixedSubject(value=subject)
    return FRAMED[format_](
        registry, columns, version=version, subjects=subjects, register=False, case_rule=CaseRule.EXACT, times=_TIMES
    )
