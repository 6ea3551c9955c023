"""Which id a registration by its text would give, before it is sent.

A registry knows a schema by its content: text, references, metadata and rule set. Registered again under one more
subject it usually keeps its id. Seen on Confluent 7.9.9, 8.2.1 and 8.3.1 that it does not:

| where | the id |
|---|---|
| the subject's latest version carries metadata, which plain text inherits (`maybePopulateFromPrevious`) | a new one |
| the content has two ids, made through IMPORT | that of the last write, be it a soft delete |
| so, and that id's last holder was deleted for good | a new one, though the other id lives |
| `normalize=true` is in force and writes the text anew | another one |

A registry that keeps texts as they were sent (Redpanda until May 2026) takes the text that readers ask by for another schema
where the producer wrote it otherwise.

`GET /schemas/ids/{id}/versions` lists the holders of the id that a registration of the same content gets, and not those of
the id that was asked for (`schemaIdAndSubjects`): that tells which one it is, and 40403 for an id that is known tells
that it will be a new one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from srfix.recovery.facts.stores import RoleFacts
from srfix.recovery.facts.subject_state import SubjectState, look_up
from srfix.recovery.registry import ReadableRegistry
from srfix.serde.schemas.errors import SchemaNotFoundError, SubjectNotFoundError, VersionNotFoundError
from srfix.serde.schemas.models import Json, Schema, SchemaVersion
from srfix.serde.subjects.names import Subject
from srfix.serde.wire import SchemaId

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
    any_id: bool = False
    """True if the failing reader's look-up finds what is registered, whatever id it gets."""
    is_lost: bool = False
    """True if that look-up would not find what is registered, or nobody can tell whether it would."""
    is_rewritten: bool = False
    """True if the registry writes the text anew, or nobody can tell that it does not."""


def foresee_id(
    registry: ReadableRegistry,
    schema_id: SchemaId,
    schema: Schema,
    *,
    known_under: Subject,
    in_force: Mapping[str, Json],
) -> ForeseenId:
    """Which id the content gets, whatever the subject that it is registered under adds to it.

    `known_under` is a subject that ought to hold it, the source's own; `in_force` the configuration that holds for the one
    that gets it.
    """
    answer = _look_up(registry, known_under, schema)
    current, is_gone = _current(registry, schema_id, known_under)
    holder = answer if current is None else current
    if holder is not None and holder.metadata:
        return ForeseenId(
            schema_id=None,
            holder=holder,
            reason=f"schema id {schema_id} has metadata ({holder.subject} version {holder.version}). To the "
            "registry, the same text without this metadata is another schema",
        )
    if in_force.get("normalize") is True:
        after = after_normalizing(schema)
        if after is not AfterNormalizing.SAME:
            return ForeseenId(
                schema_id=None,
                holder=holder,
                reason="normalize=true is in force there, so the registry rewrites the text",
                any_id=after is AfterNormalizing.FOUND,
                is_lost=after is AfterNormalizing.LOST,
                is_rewritten=True,
            )
    version = None
    if holder is not None and schema.text != holder.schema.text:
        version = _look_up(registry, holder.subject, schema)
        if version is None:
            return ForeseenId(
                schema_id=None,
                holder=holder,
                reason="this registry stores texts as they were sent. The failing reader asks for schema id "
                f"{schema_id} with another text, which is another schema to the registry",
                any_id=True,
                is_rewritten=True,
            )
    if is_gone:
        return ForeseenId(
            schema_id=None,
            holder=answer,
            reason=f"the schema of id {schema_id} also had another id. The last version with that id was "
            "permanently deleted, so the registry now gives the content a new id",
            any_id=True,
        )
    if version is not None:
        holder = version
    if holder is not None and holder.schema_id != schema_id:
        return ForeseenId(
            schema_id=holder.schema_id,
            holder=holder,
            reason=f"the schema of id {schema_id} also has id {holder.schema_id}, and the registry gives out that id",
        )
    # The answer to a look-up has the text as it was sent where the registry keeps that (Apicurio).
    has_id = answer is not None and answer.schema_id == schema_id
    return ForeseenId(schema_id=schema_id, holder=answer if has_id else holder)


def fields_in_force(registry: ReadableRegistry, subject: Subject) -> Mapping[str, Json]:
    """The fields but the level of the configuration that holds for a subject, its own or an inherited one."""
    fields = registry.effective_config(subject).fields
    return {name: value for name, value in fields.items() if name not in ("compatibilityLevel", "alias")}


def inherited_metadata(registry: ReadableRegistry, state: SubjectState, in_force: Mapping[str, Json]) -> str | None:
    """Why a version registered by text would get metadata, and so another id, under a subject; None if it would not."""
    if state.live:
        latest = registry.version(state.subject, state.live[-1].version)
        if latest.metadata:
            return f"its latest version, {latest.version}, has metadata, and a new version inherits it"
    names = [name for name in _GIVES_METADATA if in_force.get(name)]
    if not names:
        return None
    whose = "its own" if state.config else "the registry's"
    return f"{whose} configuration gives every new version metadata ({', '.join(names)})"


def obstacle_to_exact_ids(registry: ReadableRegistry, role: RoleFacts, foreseen: ForeseenId) -> str | None:
    """Why an exact id through the subject's mode IMPORT would lose something, or is not to be had; None if it is."""
    deleted = [version.version for version in role.state.versions if version.deleted]
    if deleted:
        return (
            f"{role.subject} has soft-deleted versions ({', '.join(map(str, deleted))}). A registry deletes these "
            "permanently when the subject's mode becomes IMPORT"
        )
    if foreseen.is_rewritten:
        return f"{foreseen.reason}. That is so in mode IMPORT, too, but the id belongs to the original text"
    if foreseen.holder is None:
        return "srfix knows no version that has this content under this id"
    if registry.mode() is None:
        return "this registry has no modes"
    return None


def _look_up(registry: ReadableRegistry, subject: Subject, schema: Schema) -> SchemaVersion | None:
    answer = look_up(registry, subject, schema)
    # A namesake in another context has ids of its own.
    is_here = answer is not None and registry.context_of(answer.subject) == registry.context_of(subject)
    return answer if is_here else None


def _current(registry: ReadableRegistry, schema_id: SchemaId, asked_as: Subject) -> tuple[SchemaVersion | None, bool]:
    """A version with the id that a registration of an id's content gets, and whether that id has no version any more.

    Neither where the registry does not tell (Karapace).
    """
    try:
        versions = registry.versions_of_id(schema_id, deleted=True, subject=asked_as) or ()
    except SchemaNotFoundError:
        return None, True
    for version in versions:
        try:
            return registry.version(version.subject, version.version, deleted=True), False
        except (SubjectNotFoundError, VersionNotFoundError):
            continue
    return None, False


_OF_AVRO: Final = frozenset(
    {
        *("type", "name", "namespace", "doc", "fields", "items", "values", "size", "symbols", "aliases"),
        *("default", "order"),
    }
)
"""What Avro itself knows of types and fields; all else are properties."""
_INNER: Final = frozenset({"type", "fields", "items", "values"})
"""Where further types stand, and not values."""


class AfterNormalizing(Enum):
    """What becomes of a text that a registry has answered, where `normalize=true` is in force (Confluent 7.1 on).

    Seen on 7.9.9 and 8.3.1: an Avro schema's properties and aliases are sorted, and a look-up by the text as it was finds it
    all the same; a JSON Schema's keys are sorted, and a look-up by the text as it was is 40403. How Protobuf is written anew is
    not known here.
    """

    SAME = "same"
    """It stays as it is, and keeps its id."""
    FOUND = "found"
    """It is written anew, so that its id is another one, and a look-up by the old text finds it."""
    LOST = "lost"
    """It is written anew, and a look-up by the old text does not find it, or nobody can tell."""


def after_normalizing(schema: Schema) -> AfterNormalizing:
    """What `normalize=true` makes of a schema. In doubt an Avro text does not stay the same, and is LOST where its docs or
    numbers may change, which look-ups compare (`AvroSchemaUtils.toNormalizedString`)."""
    if schema.schema_type not in ("AVRO", "JSON"):
        return AfterNormalizing.LOST
    try:
        document: Json = json.loads(schema.text)
    except (ValueError, RecursionError):
        return AfterNormalizing.LOST
    if schema.schema_type == "JSON":
        return AfterNormalizing.SAME if _is_sorted(document) else AfterNormalizing.LOST
    if _changes_values(document):
        return AfterNormalizing.LOST
    return AfterNormalizing.SAME if _is_normalized_avro(document) else AfterNormalizing.FOUND


def content_key(schema: Schema) -> str:
    """Equal for schemas that `normalize=true` makes one of: JSON with sorted keys and aliases."""
    try:
        document = _with_sorted_aliases(json.loads(schema.text))
    except (ValueError, RecursionError):
        return f"{schema.schema_type} {schema.references} {schema.text}"
    return f"{schema.schema_type} {schema.references} {json.dumps(document, sort_keys=True)}"


def _is_sorted(value: Json) -> bool:
    if isinstance(value, dict):
        return [*value] == sorted(value) and all(map(_is_sorted, value.values()))
    return all(map(_is_sorted, value)) if isinstance(value, list) else True


def _is_normalized_avro(schema: Json) -> bool:
    if isinstance(schema, list):
        return all(map(_is_normalized_avro, schema))
    if not isinstance(schema, dict):
        return True
    return _has_sorted_properties(schema) and all(
        _is_normalized_avro(value) if name in _INNER else _is_sorted(value) for name, value in schema.items()
    )


def _has_sorted_properties(schema: Mapping[str, Json]) -> bool:
    properties = [name for name in schema if name not in _OF_AVRO]
    if "logicalType" in properties and len(properties) > 1:
        return False  # in doubt: it stands first, if the registry's Avro knows it
    aliases = [str(alias) for alias in names] if isinstance(names := schema.get("aliases"), list) else []
    return properties == sorted(properties) and aliases == sorted(aliases)


def _changes_values(schema: Json) -> bool:
    """True if an empty doc goes, or a whole number may become another text as the default of a float or a double."""
    if isinstance(schema, list):
        return any(map(_changes_values, schema))
    if not isinstance(schema, dict):
        return False
    if schema.get("doc") == "" or (_holds_a_number(schema.get("default")) and _mentions_floats(schema.get("type"))):
        return True
    return any(_changes_values(value) for name, value in schema.items() if name in _INNER)


def _holds_a_number(value: Json) -> bool:
    if isinstance(value, dict | list):
        return any(map(_holds_a_number, value.values() if isinstance(value, dict) else value))
    return isinstance(value, int | float) and not isinstance(value, bool)


def _mentions_floats(schema: Json) -> bool:
    if isinstance(schema, dict | list):
        return any(map(_mentions_floats, schema.values() if isinstance(schema, dict) else schema))
    return schema in ("float", "double")


def _with_sorted_aliases(value: Json) -> Json:
    if isinstance(value, list):
        return [_with_sorted_aliases(item) for item in value]
    if not isinstance(value, dict):
        return value
    sorted_: dict[str, Json] = {}
    for name, item in value.items():
        if name == "aliases" and isinstance(item, list):
            sorted_[name] = [*sorted(map(str, item))]
        else:
            sorted_[name] = _with_sorted_aliases(item)
    return sorted_
