"""The answers of a schema registry as frozen values."""

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
    """A name that a schema uses, and that another subject's version defines."""

    name: str
    """The name as the schema text uses it."""
    subject: str
    """The subject that defines the name."""
    version: int
    """That subject's version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """A schema in the form in which it is sent to a registry."""

    text: str
    """The schema text as it was sent or received. srfix never re-serialises it."""
    schema_type: str = "AVRO"
    """AVRO, JSON or PROTOBUF."""
    references: tuple[SchemaReference, ...] = ()
    """The references of the text."""
    rule_set: Mapping[str, Json] | None = field(default=None, compare=False)
    """The rules that came with the schema (Confluent since 7.4), by their REST names; None if there were none. They are
    never sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredSchema:
    """A schema and its id in a registry."""

    schema_id: SchemaId
    """The id that payloads carry."""
    schema: Schema
    """The schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaVersion:
    """One version of a subject."""

    subject: Subject
    """The subject in the answer. With contexts or an alias, it may differ from the requested subject."""
    version: int
    """The version's number, from 1."""
    schema_id: SchemaId
    """The id of its schema."""
    schema: Schema
    """Its schema."""
    metadata: Mapping[str, Json] | None = field(default=None, hash=False)
    """Its metadata (Confluent since 7.4), own or inherited: `{"properties": {…}, "tags": {…}}`; None if it has none."""
    guid: str | None = field(default=None, compare=False)
    """The id of its content in every context (Confluent since 8.0); None if the registry gives none."""
    written_ms: int | None = field(default=None, compare=False)
    """The time when the registry last wrote it (a soft delete counts), in milliseconds since 1970 (`ts`, Confluent
    since 8.0); None if the registry gives none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectVersion:
    """A subject and one of its version numbers."""

    subject: Subject
    """The subject."""
    version: int
    """The version's number, from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """A registry's answer to a registration."""

    schema_id: SchemaId
    """The id in the answer: compare it with the expected id."""
    version: int | None
    """The version's number; None if the registry gives none (Confluent before 8.0 gives it only with metadata or a
    requested version)."""
    guid: str | None
    """The id of the content in every context (Confluent since 8.0); None if the registry gives none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectConfig:
    """A subject's own configuration, with the fields of the registry's answer."""

    fields: Mapping[str, Json] = field(default_factory=dict)
    """The fields by their REST names; the level's name is `compatibilityLevel`, as in GET's answer."""

    @property
    def compatibility(self) -> str | None:
        """The compatibility level; None if the answer has none."""
        level = self.fields.get("compatibilityLevel")
        return level if isinstance(level, str) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompatibilityCheck:
    """The registry's answer to the question whether it would accept a schema."""

    is_compatible: bool
    """True if the registry would accept the schema."""
    messages: tuple[str, ...] = ()
    """The registry's reasons, if it gives any."""


def answered_elsewhere(subject: str, answer: SchemaVersion) -> bool:
    """True if the answer names another subject than the request.

    Confluent also looks up an unqualified subject in its other contexts (since 7.0), and follows a subject's `alias`
    (`AbstractSchemaRegistry.lookUpSchemaUnderSubject`). The failing reader accepts such an answer, although the subject
    itself does not hold the schema.
    """
    return not same_subject(subject, answer.subject)


def same_content(left: Schema, right: Schema) -> bool:
    """True if two schemas differ only in blanks and the order of keys.

    Registries change a text: they make it compact (Confluent, Apicurio for ids), or sort its keys (Karapace). Each
    registry decides which differences give another id: for Apicurio, a blank is enough.
    """
    same = (left.schema_type, left.references) == (right.schema_type, right.references)
    return same and (left.text == right.text or as_document(left.text) == as_document(right.text))


def as_document(text: str) -> Json:
    """What a text says as JSON; a text that is none, as Protobuf, is itself."""
    try:
        document: Json = json.loads(text)
    except (ValueError, RecursionError):  # Protobuf, or a text that nests too deep to be compared
        return text
    return document
