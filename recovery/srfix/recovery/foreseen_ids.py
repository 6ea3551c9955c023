"""Which id a registration by its text would give, before it is sent.

A registry knows a schema by its content: text, references, metadata and rule set. Registered again under one more
subject it usually keeps its id. Seen on Confluent 7.9.9 and 8.2.1 that it does not: where the subject's latest version
carries metadata, which plain text inherits (`AbstractSchemaRegistry.maybePopulateFromPrevious`); and where the content
has two ids, made through IMPORT: then the newest is given out.
"""

from __future__ import annotations

from dataclasses import dataclass

from srfix.recovery.stores import RoleFacts
from srfix.recovery.subject_state import SubjectState
from srfix.serde.registry import RegistryClient
from srfix.serde.registry.errors import SchemaNotFoundError, SubjectNotFoundError, VersionNotFoundError
from srfix.serde.registry.models import Schema, SchemaVersion
from srfix.serde.subjects import Subject
from srfix.serde.wire import SchemaId

__all__ = ["ForeseenId", "foresee_id", "inherited_metadata", "obstacle_to_exact_ids"]

_GIVES_METADATA = ("defaultMetadata", "overrideMetadata")
"""Fields of a configuration that put metadata into every new version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeseenId:
    """What the registry would answer to a registration by text alone."""

    schema_id: SchemaId | None
    """The id; None if nobody can know it before."""
    holder: SchemaVersion | None
    """The version by which the registry knows the content under that id, if one was found."""
    reason: str | None = None
    """Why it is not the records' id; None if it is."""


def foresee_id(registry: RegistryClient, schema_id: SchemaId, schema: Schema, *, known_under: Subject) -> ForeseenId:
    """Which id the content has, whatever the subject that it is registered under adds to it.

    :param known_under: a subject that ought to hold it: the source's own.
    :raises RegistryError: if the registry does not answer.
    """
    answer = _look_up(registry, known_under, schema)
    if answer is None:
        answer = _twin(registry, schema_id, known_under)
    if answer is None:
        return ForeseenId(schema_id=schema_id, holder=None)
    if answer.metadata:
        return ForeseenId(
            schema_id=None,
            holder=answer,
            reason=f"schema id {schema_id} carries metadata ({answer.subject} version {answer.version}), which belongs to its "
            "identity, so its text alone is another schema to the registry",
        )
    if answer.schema_id != schema_id:
        return ForeseenId(
            schema_id=answer.schema_id,
            holder=answer,
            reason=f"the registry knows the schema of id {schema_id} as id {answer.schema_id} too, and gives that one out",
        )
    return ForeseenId(schema_id=schema_id, holder=answer)


def inherited_metadata(registry: RegistryClient, state: SubjectState) -> str | None:
    """Why a version registered by text would get metadata, and so another id, under a subject; None if it would not.

    :raises RegistryError: if the registry does not answer.
    """
    if state.live:
        latest = registry.version(state.subject, state.live[-1].version)
        if latest.metadata:
            return f"version {latest.version}, its latest, carries metadata, which a new version inherits"
    for whose, fields in (("its own", state.config), ("the registry's", _global_config(registry))):
        names = [name for name in _GIVES_METADATA if fields and fields.get(name)]
        if names:
            return f"{whose} configuration gives every new version metadata ({', '.join(names)})"
    return None


def obstacle_to_exact_ids(registry: RegistryClient, role: RoleFacts, foreseen: ForeseenId) -> str | None:
    """Why an exact id through the subject's mode IMPORT would lose something, or is not to be had; None if it is.

    :raises RegistryError: if the registry does not answer.
    """
    deleted = [version.version for version in role.state.versions if version.deleted]
    if deleted:
        return (
            f"{role.subject} has soft-deleted versions ({', '.join(map(str, deleted))}), which a registry deletes for good "
            "when it takes IMPORT"
        )
    if foreseen.holder is None or foreseen.reason is not None:
        return "the content is not known to lead to this id alone, and look-ups under other subjects could fail for it"
    if registry.mode() is None:
        return "this registry has no modes"
    return None


def _global_config(registry: RegistryClient) -> dict[str, object]:
    config = registry.config()
    return {} if config is None else dict(config.fields)


def _look_up(registry: RegistryClient, subject: Subject, schema: Schema) -> SchemaVersion | None:
    try:
        return registry.lookup(subject, schema, deleted=True)
    except (SubjectNotFoundError, SchemaNotFoundError):
        return None


def _twin(registry: RegistryClient, schema_id: SchemaId, asked_as: Subject) -> SchemaVersion | None:
    """A version with the content of an id, preferably one under another id; None if the registry tells of none."""
    try:
        versions = registry.versions_of_id(schema_id, deleted=True, subject=asked_as) or ()
    except SchemaNotFoundError:
        return None
    same = None
    for each in versions:
        try:
            found = registry.version(each.subject, each.version, deleted=True)
        except (SubjectNotFoundError, VersionNotFoundError):
            continue
        if found.schema_id != schema_id:
            return found
        same = same or found
    return same
