"""Where a schema stands in a registry, and whether a subject would take it. Asked only, nothing is registered."""

from __future__ import annotations

import json
from dataclasses import dataclass

from srfix.recovery.holders import Holder
from srfix.recovery.internal_topics import recognise
from srfix.recovery.refusals import WRITABLE_MODES
from srfix.serde.printable import foreign
from srfix.serde.registry import RegistryClient
from srfix.serde.registry.errors import (
    EndpointNotSupportedError,
    InvalidSchemaError,
    SchemaNotFoundError,
    SubjectNotFoundError,
    VersionNotFoundError,
)
from srfix.serde.registry.models import Json, Schema, SchemaVersion, answered_elsewhere
from srfix.serde.subjects import Subject, split_subject
from srfix.serde.wire import SchemaId

__all__ = ["Acceptance", "Standing", "acceptance_of", "standing_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a schema stands."""

    holders: tuple[Holder, ...]
    """The versions that hold its content, by subject and version."""
    is_complete: bool
    """True if the registry's full listing was looked through; False if only changelog-like subjects were asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """Whether a subject would take a schema."""

    subject: Subject
    """The subject."""
    is_accepted: bool
    """True if a registration would succeed, as far as the registry tells without one."""
    registered_id: SchemaId | None
    """The id under which the subject holds it already; None if it does not."""
    level: str
    """The compatibility level that holds for the subject."""
    mode: str | None
    """The mode that holds for it; None where the registry has no modes."""
    reasons: tuple[str, ...]
    """Why not, in the registry's words."""


_MOST_ASKED = 200
"""Subjects that are asked one by one where the registry has no full listing."""


def standing_of(registry: RegistryClient, schema: Schema) -> Standing:
    """Every version with this content, soft-deleted ones too.

    The listing's texts are compared as JSON: registries answer them with other blanks (and Karapace with other order of
    keys) than they were sent. What looks the same is then looked up by content, for the registry decides.

    :raises RegistryError: if the registry does not answer.
    """
    wanted = _canonical(schema.text)
    try:
        same = {
            found.subject
            for found in registry.schemas(deleted=True)
            if found.schema.schema_type == schema.schema_type and _canonical(found.schema.text) == wanted
        }
        is_complete = True
    except EndpointNotSupportedError:
        internal = [s for s in registry.subjects(deleted=True) if (t := split_subject(s)) and recognise(t[0])]
        same, is_complete = set(internal[:_MOST_ASKED]), False
    holders = []
    for subject in sorted(same):
        version = _held(registry, subject, schema)
        if version is not None:
            holders.append(
                Holder(
                    subject=subject,
                    version=version.version,
                    schema_id=version.schema_id,
                    deleted=not _is_live(registry, subject, version.version),
                )
            )
    return Standing(holders=tuple(holders), is_complete=is_complete)


def acceptance_of(registry: RegistryClient, subject: str, schema: Schema) -> Acceptance:
    """Whether a subject would take a schema, by its mode and by the registry's compatibility check.

    Without a live version there is nothing to compare with; content that the subject holds live is always taken (as it
    is, without a new version).

    :raises RegistryError: if the registry does not answer.
    """
    held = _held(registry, subject, schema)
    if held is not None and not _is_live(registry, subject, held.version):
        held = None
    level = registry.effective_compatibility(subject)
    mode = registry.effective_mode(subject)
    reasons: tuple[str, ...] = ()
    if held is None:
        if mode is not None and mode not in WRITABLE_MODES:
            reasons = (f"The mode is {mode}: nothing new is taken (42205).",)
        else:
            reasons = _incompatibilities(registry, subject, schema, level)
    return Acceptance(
        subject=Subject(subject),
        is_accepted=not reasons,
        registered_id=None if held is None else held.schema_id,
        level=level,
        mode=mode,
        reasons=reasons,
    )


def _incompatibilities(registry: RegistryClient, subject: str, schema: Schema, level: str) -> tuple[str, ...]:
    try:
        answer = registry.check_compatibility(
            subject, schema, version=None if level.endswith("_TRANSITIVE") else "latest"
        )
    except (SubjectNotFoundError, VersionNotFoundError):
        return ()
    except InvalidSchemaError as error:
        return (f"The registry takes it for no schema (42201): {foreign(error.registry_message)}",)
    if answer.is_compatible:
        return ()
    return tuple(map(foreign, answer.messages)) or (
        f"It is not {level} compatible (409); the registry gives no reason.",
    )


def _held(registry: RegistryClient, subject: str, schema: Schema) -> SchemaVersion | None:
    try:
        found = registry.lookup(subject, schema, deleted=True)
    except (SubjectNotFoundError, SchemaNotFoundError):
        return None
    return None if answered_elsewhere(subject, found) else found


def _is_live(registry: RegistryClient, subject: str, version: int) -> bool:
    try:
        return version in registry.versions(subject)
    except SubjectNotFoundError:
        return False


def _canonical(text: str) -> Json:
    try:
        document: Json = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return document
