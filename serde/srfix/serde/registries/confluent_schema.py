"""confluent_kafka's `Schema` as ours, and back. Nothing here imports confluent_kafka, except to make its objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Protocol, TypeAlias, cast, runtime_checkable

from srfix.serde.errors import SchemaError, UsageError
from srfix.serde.schemas.models import Json, Schema, SchemaReference


@runtime_checkable
class ConfluentSchema(Protocol):
    """confluent_kafka's `Schema`, as far as it is read."""

    @property
    def schema_str(self) -> str | None: ...
    @property
    def schema_type(self) -> str | None: ...
    @property
    def references(self) -> object: ...
    @property
    def metadata(self) -> object: ...
    @property
    def rule_set(self) -> object: ...


AnySchema: TypeAlias = "str | Schema | ConfluentSchema | None"
"""What the constructors take as `schema_str`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TheirSchema(Schema):
    """A schema that came as confluent_kafka's: its client is given the same object back, with rules and metadata."""

    original: ConfluentSchema = field(compare=False)


def given_schema(value: AnySchema, schema_type: str, prepare: Callable[[str], str]) -> Schema | None:
    """The schema that a constructor was given; None for None.

    :param prepare: what is done to a plain text before it is sent.
    """
    if isinstance(value, Schema | None):
        return value
    if isinstance(value, str):
        return Schema(text=prepare(value), schema_type=schema_type)
    if isinstance(value, ConfluentSchema):
        return schema_from(value)
    raise UsageError(
        f"schema_str is of the type {type(value).__name__}; it must be a text, a Schema of confluent_kafka or of "
        "srfix.serde, or None."
    )


def schema_from(value: ConfluentSchema) -> TheirSchema:
    """confluent_kafka's schema as ours."""
    if value.schema_str is None:
        raise SchemaError("The Schema has no schema_str. Give it the schema's text.")
    return TheirSchema(
        text=value.schema_str,
        schema_type=value.schema_type or "AVRO",
        references=tuple(_reference(part) for part in cast("Sequence[object]", value.references or ())),
        rule_set=_plain(value.rule_set),
        original=value,
    )


def metadata_of(schema: Schema) -> Mapping[str, Json] | None:
    """The metadata to register a schema with, as the REST interface has it; None for none."""
    return _plain(schema.original.metadata) if isinstance(schema, TheirSchema) else None


def _reference(part: object) -> SchemaReference:
    name, subject, version = (getattr(part, key, None) for key in ("name", "subject", "version"))
    if not isinstance(name, str) or not isinstance(subject, str) or not isinstance(version, int):
        raise SchemaError(f"A reference needs name, subject and version; one has {name!r}, {subject!r}, {version!r}.")
    return SchemaReference(name=name, subject=subject, version=version)


def _plain(value: object) -> Mapping[str, Json] | None:
    """confluent_kafka's attrs object in REST's names."""
    if value is None or isinstance(value, Mapping):
        return value
    return cast("Callable[[], dict[str, Json]]", value.to_dict)()  # type: ignore[attr-defined]


def confluent_schema(schema: Schema) -> object:
    """The schema as confluent_kafka's own: its client keeps them as keys."""
    if isinstance(schema, TheirSchema):
        return schema.original
    module = import_module("confluent_kafka.schema_registry")
    references = [
        module.SchemaReference(name=part.name, subject=part.subject, version=part.version) for part in schema.references
    ]
    return module.Schema(schema.text, schema.schema_type, references)
