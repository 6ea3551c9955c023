"""The actions of a plan in words and as JSON (`srfix.plan/1`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from srfix.recovery.actions import (
    Action,
    Register,
    RestoreCompatibility,
    RestoreMode,
    SetCompatibility,
    SetMode,
    SoftDelete,
    level_of,
)
from srfix.serde.errors import ImpossibleSchemaIdError, PlanError
from srfix.serde.registry.models import Json, Schema, SchemaReference
from srfix.serde.subjects import Subject
from srfix.serde.wire import SchemaId, given_schema_id

__all__ = ["action_document", "action_from", "describe"]


def describe(action: Action) -> str:
    """The action in words, without its subject: that stands above them."""
    match action:
        case SetCompatibility():
            return f"set the compatibility to {action.level}{_keeping(action.inherited)}"
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
        case RestoreCompatibility(previous=None):
            return "delete the compatibility again: the subject had none of its own"
        case RestoreCompatibility():
            return f"set the compatibility back to {level_of(action.previous)}"
        case _:
            assert_never(action)


def _keeping(inherited: Mapping[str, Json]) -> str:
    """The fields in force that go along, for a configuration of the subject's own hides them."""
    return f", keeping {' and '.join(sorted(inherited))} as in force now" if inherited else ""


def _undo(action: Action) -> str:
    match action:
        case SetCompatibility(previous=None):
            return "delete the configuration: the subject had none of its own"
        case SetCompatibility():
            return f"set the compatibility to {level_of(action.previous)}"
        case Register():
            return "soft, then hard delete of that version, unless it is the last holder of the id"
        case SetMode(previous=None):
            return "delete the mode: the subject had none of its own"
        case SetMode():
            return f"set the mode to {action.previous}"
        case SoftDelete() | RestoreCompatibility():
            return "nothing of its own: the undo of the registration and of set-compatibility covers it"
        case RestoreMode():
            return "nothing of its own: the undo of set-mode covers it"
        case _:
            assert_never(action)


def action_document(action: Action) -> dict[str, Json]:
    """The action as it stands in a plan: what it does, expects to find and to leave, and its undo."""
    document: dict[str, Json] = {"step": action.step, "kind": action.kind, "subject": action.subject}
    match action:
        case SetCompatibility():
            document |= {
                "level": action.level,
                "expects": {"config": _optional(action.previous)},
                "leaves": {"compatibility": action.level},
            }
            if action.inherited:
                document["inherited"] = dict(action.inherited)
        case Register():
            document |= {
                "schema_id": int(action.schema_id),
                "schema_type": action.schema.schema_type,
                "schema_text": action.schema.text,
                "references": [
                    {"name": r.name, "subject": r.subject, "version": r.version} for r in action.schema.references
                ],
                "holders": list(action.holders),
                "exact": action.exact,
                "expects": {"registered": False},
                "leaves": {"registered": True, "id": None if action.any_id else int(action.schema_id)},
            }
            if action.any_id:
                document["any_id"] = True
        case SetMode():
            document |= {
                "mode": action.mode,
                "expects": {"mode": action.previous},
                "leaves": {"mode": action.mode},
            }
        case RestoreMode():
            document |= {
                "previous": action.previous,
                "expects": {"mode": "IMPORT"},
                "leaves": {"mode": action.previous},
            }
        case SoftDelete():
            document |= {
                "schema_id": int(action.schema_id),
                "expects": {"deleted": False},
                "leaves": {"deleted": True},
            }
            if action.registered_by is not None:
                document["registered_by"] = action.registered_by
        case RestoreCompatibility():
            document |= {
                "previous": _optional(action.previous),
                "expects": {"compatibility": "NONE"},
                "leaves": {"config": _optional(action.previous)},
            }
        case _:
            assert_never(action)
    return document | {"words": describe(action), "undo": _undo(action)}


def action_from(document: Json) -> Action:
    """Reads what `action_document` wrote.

    :raises PlanError: if it is something else.
    """
    match document:
        case {
            "step": int(step),
            "kind": "set-compatibility",
            "subject": str(subject),
            "level": str(level),
            "expects": {"config": previous},
            **rest,
        }:
            return SetCompatibility(
                step=step,
                subject=Subject(subject),
                level=level,
                previous=_config(previous),
                inherited=_fields(rest.get("inherited")),
            )
        case {
            "step": int(step),
            "kind": "register",
            "subject": str(subject),
            "schema_id": int(schema_id),
            "schema_type": str(schema_type),
            "schema_text": str(text),
            "references": list(references),
            "holders": list(holders),
            **rest,
        }:
            return Register(
                step=step,
                subject=Subject(subject),
                schema_id=_schema_id(schema_id),
                schema=Schema(
                    text=text,
                    schema_type=schema_type,
                    references=tuple(_reference(reference) for reference in references),
                ),
                holders=tuple(Subject(str(holder)) for holder in holders),
                exact=rest.get("exact") is True,
                any_id=rest.get("any_id") is True,
            )
        case {"step": int(step), "kind": "soft-delete", "subject": str(subject), "schema_id": int(schema_id), **rest}:
            by = rest.get("registered_by")
            return SoftDelete(
                step=step,
                subject=Subject(subject),
                schema_id=_schema_id(schema_id),
                registered_by=by if isinstance(by, int) else None,
            )
        case {
            "step": int(step),
            "kind": "restore-compatibility",
            "subject": str(subject),
            "previous": previous,
        }:
            return RestoreCompatibility(step=step, subject=Subject(subject), previous=_config(previous))
        case {
            "step": int(step),
            "kind": "set-mode",
            "subject": str(subject),
            "mode": str(mode),
            "expects": {"mode": (None | str()) as previous_mode},
        }:
            return SetMode(step=step, subject=Subject(subject), mode=mode, previous=previous_mode)
        case {
            "step": int(step),
            "kind": "restore-mode",
            "subject": str(subject),
            "previous": (None | str()) as previous_mode,
        }:
            return RestoreMode(step=step, subject=Subject(subject), previous=previous_mode)
    raise PlanError(f"This version of srfix does not know the action {document!r}.")


def _schema_id(given: int) -> SchemaId:
    try:
        return given_schema_id(given)
    except ImpossibleSchemaIdError as error:
        raise PlanError(f"An action names what is no schema's id: {error.message} Plan again.") from error


def _reference(document: Json) -> SchemaReference:
    match document:
        case {"name": str(name), "subject": str(subject), "version": int(version)}:
            return SchemaReference(name=name, subject=subject, version=version)
    raise PlanError(f"{document!r} is not a schema reference.")


def _config(document: Json) -> dict[str, Json] | None:
    return document if isinstance(document, dict) else None


def _fields(document: object) -> dict[str, Json]:
    return {str(name): value for name, value in document.items()} if isinstance(document, dict) else {}


def _optional(config: Mapping[str, Json] | None) -> Json:
    return None if config is None else dict(config)
