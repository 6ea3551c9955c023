"""The writes of a repair: what each expects to find, what it leaves, how it is undone.

An action never looks at more than its own subject. Whether it has happened is told from two states of that subject,
the one before (from the journal or the plan) and the one now, so that a repair that was killed at any instant can be
taken up again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeAlias, assert_never

from srfix.recovery.subject_state import SubjectState, VersionState
from srfix.serde.errors import PlanError
from srfix.serde.registry import RegistryClient
from srfix.serde.registry.models import Json, Schema, SchemaReference
from srfix.serde.subjects import Subject
from srfix.serde.wire import SchemaId

__all__ = [
    "Action",
    "Register",
    "RestoreCompatibility",
    "SetCompatibility",
    "SoftDelete",
    "action_document",
    "action_from",
    "added_versions",
    "describe",
    "has_happened",
    "has_happened_in_part",
    "perform",
    "restore_config",
    "restored_fields",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetCompatibility:
    """Relaxes the compatibility of one subject, so that the registration is not refused."""

    kind: ClassVar[str] = "set-compatibility"

    step: int
    """Its place in the plan, from 1."""
    subject: Subject
    """The subject."""
    level: str
    """The level to set."""
    previous: Mapping[str, Json] | None
    """The subject's own configuration before; None if it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Register:
    """Registers a schema, which the registry knows already, under one more subject."""

    kind: ClassVar[str] = "register"

    step: int
    """Its place in the plan, from 1."""
    subject: Subject
    """The subject."""
    schema_id: SchemaId
    """The id that must come back."""
    schema: Schema
    """The schema, as the registry answered it for the id."""
    holders: tuple[Subject, ...]
    """Other subjects that hold the schema: while one does, undoing this takes the id from nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftDelete:
    """Soft-deletes the version just registered: the failing reader still finds it, compatibility no longer sees it."""

    kind: ClassVar[str] = "soft-delete"

    step: int
    """Its place in the plan, from 1."""
    subject: Subject
    """The subject."""
    schema_id: SchemaId
    """The id whose version is deleted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreCompatibility:
    """Puts the subject's own configuration back: by DELETE where there was none (40408), else the level."""

    kind: ClassVar[str] = "restore-compatibility"

    step: int
    """Its place in the plan, from 1."""
    subject: Subject
    """The subject."""
    previous: Mapping[str, Json] | None
    """The configuration to put back; None if there was none."""


Action: TypeAlias = SetCompatibility | Register | SoftDelete | RestoreCompatibility


def perform(action: Action, registry: RegistryClient, now: SubjectState) -> Json:
    """Does it, and answers what the registry said.

    :param now: the subject's state right before.
    :raises RegistryError: if the registry refuses or does not answer.
    """
    match action:
        case SetCompatibility():
            registry.set_config(action.subject, {"compatibility": action.level})
            return {"compatibility": action.level}
        case Register():
            return {"id": int(registry.register(action.subject, action.schema))}
        case SoftDelete():
            version = now.version_of(action.schema_id)
            if version is None:
                raise PlanError(
                    f"Step {action.step}: subject {action.subject} holds no version with schema id {action.schema_id} "
                    "any more; somebody deleted it. Plan again."
                )
            registry.delete_version(action.subject, version.version)
            return {"version": version.version}
        case RestoreCompatibility():
            restore_config(registry, action.subject, action.previous)
            return {"compatibility": _level(action.previous)}
        case _:
            assert_never(action)


def restore_config(registry: RegistryClient, subject: Subject, previous: Mapping[str, Json] | None) -> None:
    """Puts a configuration back: DELETE where there was none, else the level alone (PUT merges).

    :raises RegistryError: if the registry refuses or does not answer.
    """
    if previous is None:
        registry.delete_config(subject)
    else:
        registry.set_config(subject, restored_fields(previous))


def restored_fields(previous: Mapping[str, Json] | None) -> dict[str, Json]:
    """What PUT /config needs to put a level back; the other fields were never touched, for PUT merges."""
    return {"compatibility": _level(previous)}


def has_happened(action: Action, before: SubjectState, now: SubjectState) -> bool:
    """True if `now` is what the action leaves when it finds `before`."""
    match action:
        case SetCompatibility():
            return _with_level(before, action.level) == _comparable(now)
        case Register():
            added = _new_version(before, now)
            return added is not None and added.schema_id == action.schema_id and not added.deleted
        case SoftDelete():
            version = before.version_of(action.schema_id)
            if version is None:
                return False
            expected = tuple(
                VersionState(version=v.version, schema_id=v.schema_id, deleted=v.deleted or v == version)
                for v in before.versions
            )
            return (expected, before.config, before.mode) == (now.versions, now.config, now.mode)
        case RestoreCompatibility():
            return (before.versions, action.previous, before.mode) == (now.versions, now.config, now.mode)
        case _:
            assert_never(action)


def has_happened_in_part(action: Action, before: SubjectState, now: SubjectState) -> bool:
    """True if the part of the subject that the action writes is as it leaves it, whatever others did to the rest."""
    match action:
        case SetCompatibility():
            return now.config == {**(before.config or {}), "compatibilityLevel": action.level}
        case Register():
            return any(version.schema_id == action.schema_id for version in added_versions(before, now))
        case SoftDelete():
            version = now.version_of(action.schema_id)
            return version is not None and version.deleted
        case RestoreCompatibility():
            return now.config == action.previous
        case _:
            assert_never(action)


def added_versions(before: SubjectState, now: SubjectState) -> tuple[VersionState, ...]:
    """The versions, ascending, that `now` has and `before` has not; one soft-deleted meanwhile is no new one."""
    known = {(version.version, version.schema_id) for version in before.versions}
    return tuple(version for version in now.versions if (version.version, version.schema_id) not in known)


def _new_version(before: SubjectState, now: SubjectState) -> VersionState | None:
    """The one version by which `now` is more than `before`; None if they differ in any other way, or not at all."""
    added = [version for version in now.versions if version not in before.versions]
    if len(added) != 1 or len(now.versions) != len(before.versions) + 1:
        return None
    return added[0] if (before.config, before.mode) == (now.config, now.mode) else None


def describe(action: Action) -> str:
    """The action in words, without its subject: that stands above them."""
    match action:
        case SetCompatibility():
            return f"set the compatibility to {action.level}"
        case Register():
            return f"register schema id {action.schema_id}"
        case SoftDelete():
            return f"soft-delete that version (the failing reader still finds id {action.schema_id})"
        case RestoreCompatibility(previous=None):
            return "delete the compatibility again: the subject had none of its own"
        case RestoreCompatibility():
            return f"set the compatibility back to {_level(action.previous)}"
        case _:
            assert_never(action)


def _undo(action: Action) -> str:
    match action:
        case SetCompatibility(previous=None):
            return "delete the configuration: the subject had none of its own"
        case SetCompatibility():
            return f"set the compatibility to {_level(action.previous)}"
        case Register():
            return "soft, then hard delete of that version, unless it is the last holder of the id"
        case SoftDelete() | RestoreCompatibility():
            return "nothing of its own: the undo of the registration and of set-compatibility covers it"
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
        case Register():
            document |= {
                "schema_id": int(action.schema_id),
                "schema_type": action.schema.schema_type,
                "schema_text": action.schema.text,
                "references": [
                    {"name": r.name, "subject": r.subject, "version": r.version} for r in action.schema.references
                ],
                "holders": list(action.holders),
                "expects": {"registered": False},
                "leaves": {"registered": True, "id": int(action.schema_id)},
            }
        case SoftDelete():
            document |= {
                "schema_id": int(action.schema_id),
                "expects": {"deleted": False},
                "leaves": {"deleted": True},
            }
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
        }:
            return SetCompatibility(step=step, subject=Subject(subject), level=level, previous=_config(previous))
        case {
            "step": int(step),
            "kind": "register",
            "subject": str(subject),
            "schema_id": int(schema_id),
            "schema_type": str(schema_type),
            "schema_text": str(text),
            "references": list(references),
            "holders": list(holders),
        }:
            return Register(
                step=step,
                subject=Subject(subject),
                schema_id=SchemaId(schema_id),
                schema=Schema(
                    text=text,
                    schema_type=schema_type,
                    references=tuple(_reference(reference) for reference in references),
                ),
                holders=tuple(Subject(str(holder)) for holder in holders),
            )
        case {"step": int(step), "kind": "soft-delete", "subject": str(subject), "schema_id": int(schema_id)}:
            return SoftDelete(step=step, subject=Subject(subject), schema_id=SchemaId(schema_id))
        case {
            "step": int(step),
            "kind": "restore-compatibility",
            "subject": str(subject),
            "previous": previous,
        }:
            return RestoreCompatibility(step=step, subject=Subject(subject), previous=_config(previous))
    raise PlanError(f"This version of srfix does not know the action {document!r}.")


def _reference(document: Json) -> SchemaReference:
    match document:
        case {"name": str(name), "subject": str(subject), "version": int(version)}:
            return SchemaReference(name=name, subject=subject, version=version)
    raise PlanError(f"{document!r} is not a schema reference.")


def _config(document: Json) -> dict[str, Json] | None:
    return document if isinstance(document, dict) else None


def _optional(config: Mapping[str, Json] | None) -> Json:
    return None if config is None else dict(config)


def _level(config: Mapping[str, Json] | None) -> Json:
    return None if config is None else config.get("compatibilityLevel")


def _comparable(state: SubjectState) -> tuple[object, object, object]:
    return state.versions, None if state.config is None else dict(state.config), state.mode


def _with_level(state: SubjectState, level: str) -> tuple[object, object, object]:
    return state.versions, {**(state.config or {}), "compatibilityLevel": level}, state.mode
