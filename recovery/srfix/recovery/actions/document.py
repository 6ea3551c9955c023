"""The actions of a plan in words and as JSON (`srfix.plan/1`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, assert_never

import msgspec
from msgspec import UNSET, UnsetType

from srfix.recovery.actions.actions import (
    Action,
    DeleteVersion,
    Register,
    RestoreCompatibility,
    RestoreMode,
    SetCompatibility,
    SetMode,
    SoftDelete,
)
from srfix.recovery.documents import Id, Part
from srfix.recovery.errors import PlanError
from srfix.recovery.facts.subject_state import level_of
from srfix.serde.errors import ImpossibleSchemaIdError
from srfix.serde.schemas.models import Json, Schema, SchemaReference
from srfix.serde.subjects.names import Subject
from srfix.serde.wire import SchemaId, given_schema_id


def describe(action: Action) -> str:
    """The action in words, without its subject, which stands above them."""
    match action:
        case SetCompatibility():
            return f"set the compatibility to {action.level}{keeping(action.inherited)}"
        case SetMode():
            return f"set the mode to {action.mode}"
        case RestoreMode(previous=None):
            return "delete the mode again: the subject had none of its own"
        case RestoreMode():
            return f"set the mode back to {action.previous}"
        case Register(exact=True):
            return f"register schema id {action.schema_id} with exactly this id"
        case Register(any_id=True):
            return f"register the schema of id {action.schema_id}, under whichever id the registry gives it"
        case Register():
            return f"register schema id {action.schema_id}"
        case SoftDelete(registered_by=int()):
            return "soft-delete that version (the failing reader, which asks by content, still finds it)"
        case SoftDelete():
            return f"soft-delete that version (the failing reader still finds id {action.schema_id})"
        case DeleteVersion():
            return (
                f"soft-delete version {action.version} (schema id {action.schema_id}, which stays readable by its id)"
            )
        case RestoreCompatibility(previous=None):
            return "remove the subject's own compatibility: it had none before"
        case RestoreCompatibility():
            return f"set the compatibility back to {level_of(action.previous)}"
        case _:
            assert_never(action)


def why_nothing_is_undone(action: Action) -> str:
    """Why a rollback finds nothing to undo for a step that was carried out."""
    match action:
        case SoftDelete():
            return "undone when srfix deleted the registered version"
        case RestoreCompatibility() | RestoreMode():
            return "this step itself restored the old value"
        case SetCompatibility() | SetMode():
            return "the repair itself has reset this already"
        case Register():
            return "the registered version is already gone"
        case DeleteVersion():
            return "the version is live again"
        case _:
            assert_never(action)


def keeping(inherited: Mapping[str, Json]) -> str:
    """The inherited fields that the step sets too, because a configuration of the subject's own hides them."""
    verb = "is" if len(inherited) == 1 else "are"
    return f", and keep the {' and '.join(sorted(inherited))} that {verb} in force now" if inherited else ""


def _undo(action: Action) -> str:
    match action:
        case SetCompatibility(previous=None):
            return "delete the configuration: the subject had none of its own"
        case SetCompatibility():
            return f"set the compatibility to {level_of(action.previous)}"
        case Register():
            return "soft-delete that version, then delete it permanently, unless it is the last version with the id"
        case DeleteVersion():
            return "register its schema again, which gives the same id under the next version number"
        case SetMode(previous=None):
            return "delete the mode: the subject had none of its own"
        case SetMode():
            return f"set the mode to {action.previous}"
        case SoftDelete() | RestoreCompatibility():
            return "nothing: the undo of the registration and of set-compatibility covers this step, too"
        case RestoreMode():
            return "nothing: the undo of set-mode covers this step, too"
        case _:
            assert_never(action)


class ActionPart(Part, kw_only=True):
    """A step of a plan."""

    step: Annotated[int, msgspec.Meta(extra_json_schema={"minimum": 1})]
    kind: Literal[
        "set-compatibility",
        "register",
        "soft-delete",
        "restore-compatibility",
        "set-mode",
        "restore-mode",
        "delete-version",
    ]
    subject: str
    level: str | UnsetType = UNSET
    """set-compatibility"""
    mode: str | UnsetType = UNSET
    """set-mode"""
    previous: object | UnsetType = UNSET
    """restore-…: the value that is put back; null if the subject had none of its own"""
    version: int | UnsetType = UNSET
    """delete-version: its number"""
    schema_id: Id | UnsetType = UNSET
    """register, soft-delete, delete-version"""
    schema_type: str | UnsetType = UNSET
    schema_text: str | UnsetType = UNSET
    references: list[SchemaReference] | UnsetType = UNSET
    holders: list[str] | UnsetType = UNSET
    """register, delete-version: who holds the id now"""
    exact: bool | UnsetType = UNSET
    """register: the request names the id"""
    expects: dict[str, object]
    """The state that the step expects."""
    leaves: dict[str, object]
    """The state that the step leaves."""
    inherited: dict[str, object] | UnsetType = UNSET
    """set-compatibility: inherited fields that the step sets too"""
    any_id: bool | UnsetType = UNSET
    """register: the registry gives an id"""
    registered_by: int | UnsetType = UNSET
    """soft-delete: the step that registers the version"""
    words: str
    undo: str


def action_part(action: Action) -> ActionPart:
    return ActionPart.of(
        step=action.step,
        kind=action.kind,
        subject=action.subject,
        words=describe(action),
        undo=_undo(action),
        **_own_fields(action),
    )


def _own_fields(action: Action) -> dict[str, object]:
    match action:
        case SetCompatibility():
            return {
                "level": action.level,
                "expects": {"config": _optional(action.previous)},
                "leaves": {"compatibility": action.level},
                "inherited": dict(action.inherited) or UNSET,
            }
        case Register():
            return {
                "schema_id": action.schema_id,
                **_schema(action.schema),
                "holders": action.holders,
                "exact": action.exact,
                "expects": {"registered": False},
                "leaves": {"registered": True, "id": None if action.any_id else action.schema_id},
                "any_id": action.any_id or UNSET,
            }
        case SetMode():
            return {"mode": action.mode, "expects": {"mode": action.previous}, "leaves": {"mode": action.mode}}
        case RestoreMode():
            return {"previous": action.previous, "expects": {"mode": "IMPORT"}, "leaves": {"mode": action.previous}}
        case SoftDelete():
            return {
                "schema_id": action.schema_id,
                "expects": {"deleted": False},
                "leaves": {"deleted": True},
                "registered_by": UNSET if action.registered_by is None else action.registered_by,
            }
        case DeleteVersion():
            return {
                "version": action.version,
                "schema_id": action.schema_id,
                **_schema(action.schema),
                "holders": action.holders,
                "expects": {"deleted": False},
                "leaves": {"deleted": True},
            }
        case RestoreCompatibility():
            previous = _optional(action.previous)
            return {"previous": previous, "expects": {"compatibility": "NONE"}, "leaves": {"config": previous}}
        case _:
            assert_never(action)


def _schema(schema: Schema) -> dict[str, object]:
    return {"schema_type": schema.schema_type, "schema_text": schema.text, "references": schema.references}


def action_from(document: Json) -> Action:
    match document:
        case {"step": int(step), "kind": str(kind), "subject": str(subject)} if isinstance(document, dict):
            action = _action(kind, document, step, Subject(subject))
            if action is not None:
                return action
    raise PlanError(f"This version of srfix does not know the action {document!r}.")


def _action(kind: str, document: Mapping[str, Json], step: int, subject: Subject) -> Action | None:
    match kind, document:
        case "set-compatibility", {"level": str(level), "expects": {"config": previous}}:
            inherited = _config(document.get("inherited")) or {}
            return SetCompatibility(
                step=step, subject=subject, level=level, previous=_config(previous), inherited=inherited
            )
        case "soft-delete", {"schema_id": int(schema_id)}:
            by = document.get("registered_by")
            by = by if isinstance(by, int) else None
            return SoftDelete(step=step, subject=subject, schema_id=_schema_id(schema_id), registered_by=by)
        case "register" | "delete-version", {
            "schema_id": int(schema_id),
            "schema_type": str(schema_type),
            "schema_text": str(text),
            "references": list(references),
            "holders": list(names),
        }:
            schema = Schema(text=text, schema_type=schema_type, references=tuple(map(_reference, references)))
            holders = tuple(Subject(str(name)) for name in names)
            number, version = _schema_id(schema_id), document.get("version")
            if kind == "register":
                return Register(
                    step=step,
                    subject=subject,
                    schema_id=number,
                    schema=schema,
                    holders=holders,
                    exact=document.get("exact") is True,
                    any_id=document.get("any_id") is True,
                )
            if isinstance(version, int):
                return DeleteVersion(
                    step=step, subject=subject, version=version, schema_id=number, schema=schema, holders=holders
                )
        case "restore-compatibility", {"previous": previous}:
            return RestoreCompatibility(step=step, subject=subject, previous=_config(previous))
        case "set-mode", {"mode": str(mode), "expects": {"mode": (None | str()) as previous_mode}}:
            return SetMode(step=step, subject=subject, mode=mode, previous=previous_mode)
        case "restore-mode", {"previous": (None | str()) as previous_mode}:
            return RestoreMode(step=step, subject=subject, previous=previous_mode)
    return None


def _schema_id(schema_id: int) -> SchemaId:
    try:
        return given_schema_id(schema_id)
    except ImpossibleSchemaIdError as error:
        raise PlanError(f"An action has an invalid schema id: {error.message} Plan again.") from error


def _reference(document: Json) -> SchemaReference:
    match document:
        case {"name": str(name), "subject": str(subject), "version": int(version)}:
            return SchemaReference(name=name, subject=subject, version=version)
    raise PlanError(f"{document!r} is not a schema reference.")


def _config(document: Json) -> dict[str, Json] | None:
    return document if isinstance(document, dict) else None


def _optional(config: Mapping[str, Json] | None) -> Json:
    return None if config is None else dict(config)
