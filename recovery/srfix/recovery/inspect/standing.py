"""The subjects and versions of a registry that hold a schema, and whether a subject would accept it. Asks only."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec import field

from srfix.recovery.documents import Id, Part, VersionedDocument
from srfix.recovery.facts.refusals import WRITABLE_MODES, Holder
from srfix.recovery.facts.subject_state import held_version, version_numbers
from srfix.recovery.internal_topics import recognise
from srfix.recovery.registry import ReadableRegistry
from srfix.serde.printable import foreign
from srfix.serde.schemas.errors import (
    EndpointNotSupportedError,
    InvalidSchemaError,
    SubjectNotFoundError,
    VersionNotFoundError,
)
from srfix.serde.schemas.models import Schema, as_document
from srfix.serde.subjects.names import Role, split_subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    holders: tuple[Holder, ...]
    is_complete: bool
    """True if the registry's full listing was looked through; False if only changelog-like subjects were asked."""


class DroppedField(Part):
    """A field that no column holds."""

    path: str
    reason: str


class RegisteredVersion(Part):
    """A version with the schema."""

    subject: str
    version: int
    schema_id: Id = field(name="id")
    deleted: bool


class SubjectAcceptance(Part):
    """Whether --subject would accept it."""

    subject: str
    is_accepted: bool = field(name="accepted")
    registered_id: Id | None
    """The id under which the subject already holds it."""
    level: str | None = field(name="compatibility")
    mode: str | None
    reasons: list[str]


class SchemaDocument(VersionedDocument, tag="srfix.schema/1"):
    """The internal schema of columns: `srfix schema`."""

    columns: str
    """The columns in ksqlDB's notation."""
    dropped: list[DroppedField]
    format: str
    role: Role
    wrapped: bool
    text: str
    """The schema."""
    avro: str | None
    """The same, if the schema is Avro."""
    request: dict[str, object]
    """The body of the request that would register it."""
    registered: list[RegisteredVersion] | None
    """The versions with this schema; null without a registry."""
    registered_is_complete: bool | None
    acceptance: SubjectAcceptance | None
    """Whether --subject would accept it."""


_MOST_ASKED = 200
"""How many subjects are asked one by one if the registry has no full listing."""


def standing_of(registry: ReadableRegistry, schema: Schema) -> Standing:
    """Every version with this content. Compared as JSON, as registries change blanks or order; a look-up decides."""
    wanted = as_document(schema.text)
    try:
        same = {
            schema_version.subject
            for schema_version in registry.schemas(deleted=True)
            if schema_version.schema.schema_type == schema.schema_type
            and as_document(schema_version.schema.text) == wanted
        }
        is_complete = True
    except EndpointNotSupportedError:
        internal = [s for s in registry.subjects(deleted=True) if (t := split_subject(s)) and recognise(t[0])]
        same, is_complete = set(internal[:_MOST_ASKED]), False
    holders = []
    for subject in sorted(same):
        version = held_version(registry, subject, schema)
        if version is not None:
            holders.append(
                Holder(
                    subject=subject,
                    version=version.version,
                    schema_id=version.schema_id,
                    deleted=version.version not in version_numbers(registry, subject),
                )
            )
    return Standing(holders=tuple(holders), is_complete=is_complete)


def acceptance_of(registry: ReadableRegistry, subject: str, schema: Schema) -> SubjectAcceptance:
    """Whether a subject would accept a schema, by its mode and the compatibility check; always what it holds live."""
    version = held_version(registry, subject, schema)
    if version is not None and version.version not in version_numbers(registry, subject):
        version = None
    level = registry.effective_compatibility(subject)
    mode = registry.effective_mode(subject)
    reasons: tuple[str, ...] = ()
    if version is None:
        if mode is not None and mode not in WRITABLE_MODES:
            reasons = (f"The mode is {mode}: the registry accepts nothing new (42205).",)
        else:
            reasons = _incompatibilities(registry, subject, schema, level)
    return SubjectAcceptance(
        subject=subject,
        is_accepted=not reasons,
        registered_id=None if version is None else version.schema_id,
        level=level,
        mode=mode,
        reasons=list(reasons),
    )


def _incompatibilities(registry: ReadableRegistry, subject: str, schema: Schema, level: str) -> tuple[str, ...]:
    try:
        answer = registry.check_compatibility(
            subject, schema, version=None if level.endswith("_TRANSITIVE") else "latest"
        )
    except (SubjectNotFoundError, VersionNotFoundError):
        return ()
    except InvalidSchemaError as error:
        return (f"The registry does not accept it as a schema (42201): {foreign(error.registry_message)}",)
    if answer.is_compatible:
        return ()
    return tuple(map(foreign, answer.messages)) or (
        f"The schema is not {level} compatible (409); the registry gives no reason.",
    )
