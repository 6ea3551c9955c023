"""What a schema registry answers, as frozen values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from srfix.serde.subjects.names import Subject, same_subject
from srfix.serde.wire import SchemaId

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaReference:
    """A name that a schema uses and another subject's version defines."""

    name: str
    """The name as the schema text uses it."""
    subject: str
    """The subject that defines it."""
    version: int
    """That subject's version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """A schema as it is sent to a registry."""

    text: str
    """The schema text, as it is sent or was answered: never re-serialised."""
    schema_type: str = "AVRO"
    """AVRO, JSON or PROTOBUF."""
    references: tuple[SchemaReference, ...] = ()
    """What the text refers to."""
    rule_set: Mapping[str, Json] | None = field(default=None, compare=False)
    """The rules that came with it (Confluent 7.4 on), by their REST names; None if it has none. Never sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredSchema:
    """A schema and the id that a registry knows it by."""

    schema_id: SchemaId
    """The id that payloads carry."""
    schema: Schema
    """The schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaVersion:
    """One version of a subject."""

    subject: Subject
    """The subject that the answer names: with contexts or an alias, not always the one that was asked."""
    version: int
    """The version's number, from 1."""
    schema_id: SchemaId
    """The id of its schema."""
    schema: Schema
    """Its schema."""
    metadata: Mapping[str, Json] | None = field(default=None, hash=False)
    """Its metadata (Confluent 7.4 on), own or inherited: `{"properties": {…}, "tags": {…}}`; None if it has none."""
    guid: str | None = field(default=None, compare=False)
    """The id of its content in every context (Confluent 8.0 on); None where the registry does not say."""
    written_ms: int | None = field(default=None, compare=False)
    """When the registry last wrote it, a soft delete included, in milliseconds since 1970 (`ts`, Confluent 8.0 on); None
    where the registry does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectVersion:
    """A subject and one of its version numbers."""

    subject: Subject
    """The subject."""
    version: int
    """The version's number, from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """What a registry answers to a registration."""

    schema_id: SchemaId
    """The id that it gave: compare it with the one that was meant."""
    version: int | None
    """The version's number; None where the registry does not say (Confluent before 8.0: only with metadata or a version
    of one's own)."""
    guid: str | None
    """The id of the content in every context (Confluent 8.0 on); None where the registry does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectConfig:
    """A subject's own configuration, field by field as the registry answered it."""

    fields: Mapping[str, Json] = field(default_factory=dict)
    """The fields by their REST names; a level stands under `compatibilityLevel`, as GET answers."""

    @property
    def compatibility(self) -> str | None:
        """The compatibility level; None if the answer has none."""
        level = self.fields.get("compatibilityLevel")
        return level if isinstance(level, str) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompatibilityCheck:
    """The registry's word on whether it would take a schema."""

    is_compatible: bool
    """True if it would."""
    messages: tuple[str, ...] = ()
    """Its reasons, where it gives any."""


def answered_elsewhere(subject: str, answer: SchemaVersion) -> bool:
    """True if another subject than the one that was asked has answered.

    Confluent looks an unqualified subject up in its other contexts too (7.0 on), and follows a subject's `alias`
    (`AbstractSchemaRegistry.lookUpSchemaUnderSubject`). The failing reader is content with such an answer; the subject
    itself holds nothing.
    """
    return not same_subject(subject, answer.subject)


def same_content(left: Schema, right: Schema) -> bool:
    """True if two schemas differ in nothing but blanks and the order of keys.

    Registries answer a text otherwise than it was sent: compact (Confluent, Apicurio for ids), with sorted keys (Karapace).
    Which differences make another id is theirs to say: Apicurio gives one for a blank.
    """
    same = (left.schema_type, left.references) == (right.schema_type, right.references)
    return same and (left.text == right.text or _document(left.text) == _document(right.text))


def _document(text: str) -> Json:
    try:
        document: Json = json.loads(text)
    except (ValueError, RecursionError):  # Protobuf, or what nests too deep to be compared
        return text
    return document
