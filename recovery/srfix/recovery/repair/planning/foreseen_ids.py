"""Predicts the id that a registration by text would get, before it is sent. A registry knows a schema by its content:
text, references, metadata and rule set. A schema that is registered under one more subject usually keeps its id. In
these cases it does not (seen on Confluent 7.9.9, 8.2.1 and 8.3.1):

| where | the id |
|---|---|
| the subject's latest version carries metadata, which plain text inherits (`maybePopulateFromPrevious`) | a new one |
| the content has two ids, made through IMPORT | that of the last write, which may be a soft delete |
| the same, and that id's last holder was permanently deleted | a new one, though the other id lives |
| `normalize=true` is in force and rewrites the text | another one |

A registry that keeps texts as they were sent (Redpanda until May 2026) treats the readers' text as another schema if
the producer sent a different text.

`GET /schemas/ids/{id}/versions` lists the holders of the id that a registration of the same content gets, not those of
the requested id (`schemaIdAndSubjects`). This shows the id; 40403 for a known id shows that the id will be a new one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Final

from srfix.recovery.facts.stores import RoleFacts
from srfix.recovery.facts.subject_state import SubjectState, look_up
from srfix.recovery.registry import ReadableRegistry
from srfix.serde.schemas.errors import SchemaNotFoundError, SubjectNotFoundError, VersionNotFoundError
from srfix.serde.schemas.models import Json, Schema, SchemaVersion
from srfix.serde.subjects.names import Subject
from srfix.serde.wire import SchemaId

_GIVES_METADATA = ("defaultMetadata", "overrideMetadata")


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeseenId:
    schema_id: SchemaId | None
    holder: SchemaVersion | None
    reason: str | None = None
    any_id: bool = False
    """True if the failing reader's look-up finds the new version, whatever its id is."""
    is_lost: bool = False
    """True if that look-up would not find the new version, or if srfix does not know whether it would."""
    is_rewritten: bool = False
    """True if the registry rewrites the text, or if srfix does not know that it does not."""


def foresee_id(
    registry: ReadableRegistry,
    schema_id: SchemaId,
    schema: Schema,
    *,
    known_under: Subject,
    in_force: Mapping[str, Json],
) -> ForeseenId:
    """The id that the content gets in this configuration. `known_under` should hold it: the source's own subject."""
    answer = _look_up(registry, known_under, schema)
    current, is_gone = _current(registry, schema_id, known_under)
    holder = answer if current is None else current
    unknown = partial(ForeseenId, schema_id=None, holder=holder)
    if holder is not None and holder.metadata:
        return unknown(
            reason=f"schema id {schema_id} has metadata ({holder.subject} version {holder.version}). To the "
            "registry, the same text without this metadata is another schema",
        )
    if in_force.get("normalize") is True:
        after = after_normalizing(schema)
        if after is not AfterNormalizing.SAME:
            return unknown(
                reason="normalize=true is in force there, so the registry rewrites the text",
                any_id=after is AfterNormalizing.FOUND,
                is_lost=after is AfterNormalizing.LOST,
                is_rewritten=True,
            )
    version = None
    if holder is not None and schema.text != holder.schema.text:
        version = _look_up(registry, holder.subject, schema)
        if version is None:
            return unknown(
                reason="this registry stores texts as they were sent. The failing reader asks for schema id "
                f"{schema_id} with another text, which is another schema to the registry",
                any_id=True,
                is_rewritten=True,
            )
    if is_gone:
        return unknown(
            reason=f"the schema of id {schema_id} also had another id. The last version with that id was "
            "permanently deleted, so the registry now gives the content a new id",
            any_id=True,
        )
    holder = version or holder
    if holder is not None and holder.schema_id != schema_id:
        return ForeseenId(
            schema_id=holder.schema_id,
            holder=holder,
            reason=f"the schema of id {schema_id} also has id {holder.schema_id}, and the registry gives out that id",
        )
    # If the registry keeps the text as it was sent, the answer to a look-up has it (Apicurio).
    has_id = answer is not None and answer.schema_id == schema_id
    return ForeseenId(schema_id=schema_id, holder=answer if has_id else holder)


def fields_in_force(registry: ReadableRegistry, subject: Subject) -> Mapping[str, Json]:
    fields = registry.effective_config(subject).fields
    return {name: value for name, value in fields.items() if name not in ("compatibilityLevel", "alias")}


def inherited_metadata(registry: ReadableRegistry, state: SubjectState, in_force: Mapping[str, Json]) -> str | None:
    """Why a version registered by text would get metadata under a subject, and so another id; None if it would not."""
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
    """Why an exact id through the subject's mode IMPORT would lose something, or is impossible; None if it is possible."""
    deleted = [version.version for version in role.state.versions if version.deleted]
    if deleted:
        return (
            f"{role.subject} has soft-deleted versions ({', '.join(map(str, deleted))}). A registry deletes these "
            "permanently when the subject's mode becomes IMPORT"
        )
    if foreseen.is_rewritten:
        return f"{foreseen.reason}. The registry does this in mode IMPORT, too, but the id belongs to the original text"
    if foreseen.holder is None:
        return "srfix knows no version that has this content under this id"
    if registry.mode() is None:
        return "this registry has no modes"
    return None


def _look_up(registry: ReadableRegistry, subject: Subject, schema: Schema) -> SchemaVersion | None:
    answer = look_up(registry, subject, schema)
    # A subject of the same name in another context has ids of its own.
    is_here = answer is not None and registry.context_of(answer.subject) == registry.context_of(subject)
    return answer if is_here else None


def _current(registry: ReadableRegistry, schema_id: SchemaId, asked_as: Subject) -> tuple[SchemaVersion | None, bool]:
    """A version with the id that this content gets, and whether that id has none any more; neither on Karapace."""
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
"""Keys of types and fields that Avro itself defines; all others are properties."""
_INNER: Final = frozenset({"type", "fields", "items", "values"})


class AfterNormalizing(Enum):
    """What a registry does to a text if `normalize=true` is in force (Confluent 7.1 and later). Seen on 7.9.9 and
    8.3.1: an Avro schema's properties and aliases are sorted, and a look-up by the old text still finds it. A JSON
    Schema's keys are sorted, and a look-up by the old text gives 40403. How a registry rewrites Protobuf is not known.
    """

    SAME = "same"
    """The text stays as it is, and keeps its id."""
    FOUND = "found"
    """The registry rewrites the text, so it gets another id, and a look-up by the old text finds it."""
    LOST = "lost"
    """The registry rewrites the text, and a look-up by the old text does not find it, or may not find it."""


def after_normalizing(schema: Schema) -> AfterNormalizing:
    """What `normalize=true` does to a schema; LOST if its docs or numbers may change (`toNormalizedString`)."""
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
    """A form that is equal for schemas that `normalize=true` makes equal: JSON with sorted keys and aliases."""
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
        return False  # in doubt: it comes first, if the registry's version of Avro knows it
    aliases = [str(alias) for alias in names] if isinstance(names := schema.get("aliases"), list) else []
    return properties == sorted(properties) and aliases == sorted(aliases)


def _changes_values(schema: Json) -> bool:
    """True if an empty doc disappears, or if a whole number as the default of a float or a double may get another text."""
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
    return {
        name: [*sorted(map(str, item))] if name == "aliases" and isinstance(item, list) else _with_sorted_aliases(item)
        for name, item in value.items()
    }
