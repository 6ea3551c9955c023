"""A schema as the user gives it, and as a registry knows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, cast, runtime_checkable
from uuid import UUID

from srfix.serde.errors import SchemaError, UsageError
from srfix.serde.registry.models import Json, Schema, SchemaReference, SchemaVersion

__all__ = ["AnySchema", "ConfluentSchema", "GivenSchema", "KnownSchema", "given_schema", "schema_from"]


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
class GivenSchema:
    """A schema that is to be registered or looked up."""

    schema: Schema
    """The schema."""
    metadata: Mapping[str, Json] | None = None
    """Its metadata, as the REST interface has it; None for none."""
    original: object = None
    """confluent_kafka's object, if it came as one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSchema:
    """What a registry says of a schema."""

    schema: Schema
    """The schema, with its rules."""
    schema_id: int | None = None
    """Its id; None if it was asked by GUID."""
    guid: UUID | None = None
    """Its GUID; None where the registry does not say."""
    version: int | None = None
    """Its number under the subject that was asked; None where none was, or the registry does not say."""
    original: object = None
    """confluent_kafka's object, if it came as one."""

    @classmethod
    def of(cls, found: SchemaVersion) -> KnownSchema:
        """A version of a subject."""
        return cls(
            schema=found.schema,
            schema_id=found.schema_id,
            guid=None if found.guid is None else UUID(found.guid),
            version=found.version,
        )

    @property
    def given(self) -> GivenSchema:
        """The same, to be looked up."""
        return GivenSchema(schema=self.schema, original=self.original)


def given_schema(value: AnySchema, schema_type: str, prepare: Callable[[str], str]) -> GivenSchema | None:
    """The schema that a constructor was given; None for None.

    :param prepare: what is done to a plain text before it is sent.
    :raises UsageError: if it is no schema.
    :raises SchemaError: if it has no text.
    """
    if value is None:
        return None
    if isinstance(value, str):
        return GivenSchema(schema=Schema(text=prepare(value), schema_type=schema_type))
    if isinstance(value, Schema):
        return GivenSchema(schema=value)
    if isinstance(value, ConfluentSchema):
        metadata = _plain(value.metadata)
        return GivenSchema(schema=schema_from(value), metadata=metadata, original=value)
    raise UsageError(
        f"schema_str is of the type {type(value).__name__}; it must be a text, a Schema of confluent_kafka or of "
        "srfix.serde.registry, or None."
    )


def schema_from(value: ConfluentSchema) -> Schema:
    """confluent_kafka's schema as ours.

    :raises SchemaError: if it has no text, or a reference lacks name, subject or version.
    """
    if value.schema_str is None:
        raise SchemaError("The Schema has no schema_str. Give it the schema's text.")
    return Schema(
        text=value.schema_str,
        schema_type=value.schema_type or "AVRO",
        references=tuple(_reference(part) for part in cast("Sequence[object]", value.references or ())),
        rule_set=_plain(value.rule_set),
    )


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
