"""The writes of a repair: what each expects to find, what it leaves, how it is undone. An action looks only at its own
subject: the states before and now show whether it has happened, so a killed repair can go on.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final, TypeAlias, assert_never

from srfix.recovery.errors import PlanError
from srfix.recovery.facts.subject_state import SubjectState, VersionState, held_version, level_of, read_subject_state
from srfix.recovery.registry import Registry
from srfix.serde.schemas.errors import (
    NoSubjectCompatibilityError,
    NoSubjectModeError,
    SubjectNotFoundError,
    VersionSoftDeletedError,
)
from srfix.serde.schemas.models import Json, Schema
from srfix.serde.subjects.names import Subject
from srfix.serde.wire import SchemaId

_FILLED_IN: Final = "BACKWARD"
"""The level that GET shows for a configuration that has other fields, but no level."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _SubjectAction:
    step: int
    """Its place in the plan, from 1."""
    subject: Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class SetCompatibility(_SubjectAction):
    """Relaxes the compatibility of one subject, so that the registration is not refused."""

    kind: ClassVar[str] = "set-compatibility"
    level: str
    previous: Mapping[str, Json] | None
    inherited: Mapping[str, Json] = field(default_factory=dict)
    """The inherited fields that are in force, except the level, by their REST names. A configuration of the subject's
    own would hide them, and without `normalize` or default metadata the same text can get another id.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Register(_SubjectAction):
    """Registers a schema, which the registry knows already, under one more subject."""

    kind: ClassVar[str] = "register"
    schema_id: SchemaId
    """The id that the registry must answer; with `any_id`, the id that records carry."""
    schema: Schema
    """The schema, as the registry answered it for the id."""
    holders: tuple[Subject, ...]
    """Other subjects that hold the schema. As long as one of them does, an undo does not lose the id."""
    exact: bool = False
    """True if the request names the id, in mode IMPORT: no other id, no inherited metadata, no compatibility check."""
    any_id: bool = False
    """True if any id of this content will do: nobody can know it in advance, and the failing reader asks by content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SoftDelete(_SubjectAction):
    """Soft-deletes the version just registered: the failing reader still finds it, compatibility no longer sees it."""

    kind: ClassVar[str] = "soft-delete"
    schema_id: SchemaId
    registered_by: int | None = None
    """The step that registers the version, if that step accepts any id; None if the id is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteVersion(_SubjectAction):
    """Soft-deletes a version older than the repair. Its id stays readable, and its text gets that id again."""

    kind: ClassVar[str] = "delete-version"
    version: int
    schema_id: SchemaId
    schema: Schema
    holders: tuple[Subject, ...]
    """Other subjects with a live version of this id; empty where srfix saw nothing that uses the id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreCompatibility(_SubjectAction):
    """Puts the subject's own configuration back: deletes it if there was none (40408), otherwise sets the old level."""

    kind: ClassVar[str] = "restore-compatibility"
    previous: Mapping[str, Json] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetMode(_SubjectAction):
    """Gives one subject a mode of its own, whatever is live under it (`force`): IMPORT, for registrations with an id.

    Confluent hard-deletes a subject's soft-deleted versions when it takes IMPORT without force; no plan has this step
    for a subject with such versions.
    """

    kind: ClassVar[str] = "set-mode"
    mode: str
    previous: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreMode(_SubjectAction):
    """Puts the subject's own mode back: by DELETE where there was none (40409), else the mode."""

    kind: ClassVar[str] = "restore-mode"
    previous: str | None


Action: TypeAlias = (
    SetCompatibility | SetMode | Register | SoftDelete | DeleteVersion | RestoreMode | RestoreCompatibility
)


def perform(action: Action, registry: Registry, now: SubjectState) -> Json:
    """Carries the action out and returns the registry's answer; `now` is the subject's state right before it."""
    match action:
        case SetCompatibility():
            registry.set_config(action.subject, relaxed_fields(action))
            return {"compatibility": action.level}
        case SetMode():
            registry.set_mode(action.subject, action.mode, force=True)
            return {"mode": action.mode}
        case RestoreMode():
            restore_mode(registry, action.subject, action.previous)
            return {"mode": action.previous}
        case Register(exact=True):
            return {"id": int(registry.register_with_id(action.subject, action.schema, action.schema_id).schema_id)}
        case Register(any_id=True):
            return {"id": int(_register_any_id(action, registry, now))}
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
        case DeleteVersion():
            registry.delete_version(action.subject, action.version)
            return {"version": action.version}
        case RestoreCompatibility():
            restore_config(registry, action.subject, action.previous)
            return {"compatibility": level_of(action.previous)}
        case _:
            assert_never(action)


def _register_any_id(action: Register, registry: Registry, now: SubjectState) -> SchemaId:
    """Registers the schema, and takes it back if the failing reader's look-up, which is by the text, does not find it."""
    schema_id = registry.register(action.subject, action.schema)
    if held_version(registry, action.subject, action.schema) is not None:
        return schema_id
    ours = [
        version for version in added_versions(now, read_subject_state(registry, action.subject)) if not version.deleted
    ]
    for version in ours:
        if version.schema_id == schema_id:
            registry.delete_version(action.subject, version.version)
            registry.delete_version(action.subject, version.version, permanent=True)
    raise PlanError(
        f"Step {action.step}: the registry registered the schema of id {action.schema_id} under {action.subject} with id "
        f"{schema_id}. But a look-up of that schema by its text does not find it there, so the failing reader would not find "
        "it either. srfix took that version back. Does the registry rewrite schema texts (normalize)?"
    )


def as_it_came(action: Action, before: SubjectState, now: SubjectState, registry: Registry) -> Action:
    """The action, with the registry's id if any will do: its version is found by content, as the reader finds it."""
    if not (isinstance(action, Register) and action.any_id):
        return action
    answer = held_version(registry, action.subject, action.schema)
    added = {(version.version, version.schema_id) for version in added_versions(before, now)}
    if answer is None or (answer.version, answer.schema_id) not in added:
        return action
    return replace(action, schema_id=answer.schema_id, any_id=False)


def with_given_ids(action: Action, ids: Mapping[int, SchemaId]) -> Action:
    """The action with the id that a registration got, where the plan could not know it. `ids` has such ids by step."""
    match action:
        case Register(any_id=True) if action.step in ids:
            return replace(action, schema_id=ids[action.step], any_id=False)
        case SoftDelete(registered_by=int(step)) if step in ids:
            return replace(action, schema_id=ids[step])
        case _:
            return action


def soft_delete(registry: Registry, subject: Subject, version: int) -> None:
    """Soft-deletes a version. It is no error if another instance has already done it."""
    with suppress(VersionSoftDeletedError):
        registry.delete_version(subject, version)


def restore_mode(registry: Registry, subject: Subject, previous: str | None) -> None:
    """Puts a mode back: DELETE where there was none, else the mode. Another instance may have done it already."""
    if previous is None:
        with suppress(SubjectNotFoundError, NoSubjectModeError):
            registry.delete_mode(subject)
    else:
        registry.set_mode(subject, previous)


def restore_config(registry: Registry, subject: Subject, previous: Mapping[str, Json] | None) -> None:
    """Puts a configuration back: DELETE where there was none, else PUT. Another instance may have done it already."""
    if previous is None:
        with suppress(SubjectNotFoundError, NoSubjectCompatibilityError):
            registry.delete_config(subject)
    else:
        registry.set_config(subject, restored_fields(previous))


def restored_fields(previous: Mapping[str, Json] | None) -> dict[str, Json]:
    """The body of PUT /config that puts a configuration back. Beside other fields the level BACKWARD counts as filled
    in by GET (Confluent 7.9.9): a level of the subject's own would hide a later change of the server's."""
    level = level_of(previous)
    is_filled_in = level == _FILLED_IN and previous is not None and len(previous) > 1
    return _fields(previous, None if is_filled_in else level)


def relaxed_fields(action: SetCompatibility) -> dict[str, Json]:
    """The body of PUT /config that sets the level, and all else that was set: AxonOps drops unnamed fields."""
    return _fields({**action.inherited, **(action.previous or {})}, action.level)


def _fields(config: Mapping[str, Json] | None, level: Json) -> dict[str, Json]:
    other_settings = {name: value for name, value in (config or {}).items() if name != "compatibilityLevel"}
    return {**other_settings, "compatibility": level}


def has_happened(action: Action, before: SubjectState, now: SubjectState) -> bool:
    """True if `now` is what the action leaves when it finds `before`."""
    match action:
        case SetCompatibility():
            return (before.versions, _relaxed(action, before), before.mode) == (now.versions, now.config, now.mode)
        case SetMode():
            return (before.versions, before.config, action.mode) == (now.versions, now.config, now.mode)
        case RestoreMode():
            return (before.versions, before.config, action.previous) == (now.versions, now.config, now.mode)
        case Register():
            added = _new_version(before, now)
            is_ours = added is not None and added.schema_id == action.schema_id and not added.deleted
            return is_ours and not action.any_id  # else the action must get the registry's id first (`as_it_came`)
        case SoftDelete():
            version = before.version_of(action.schema_id)
            if version is None:
                return False
            return _is_deleted(version.version, before, now)
        case DeleteVersion():
            return _is_deleted(action.version, before, now)
        case RestoreCompatibility():
            return (before.versions, action.previous, before.mode) == (now.versions, now.config, now.mode)
        case _:
            assert_never(action)


def has_happened_in_part(action: Action, before: SubjectState, now: SubjectState) -> bool:
    """True if the part of the subject that the action writes is as the action leaves it; other parts may have changed."""
    match action:
        case SetCompatibility():
            return now.config == _relaxed(action, before)
        case SetMode():
            return now.mode == action.mode
        case RestoreMode():
            return now.mode == action.previous
        case Register():
            return not action.any_id and any(
                version.schema_id == action.schema_id for version in added_versions(before, now)
            )
        case SoftDelete():
            version = now.version_of(action.schema_id)
            return version is not None and version.deleted
        case DeleteVersion():
            return any(v.version == action.version and v.deleted for v in now.versions)
        case RestoreCompatibility():
            return now.config == action.previous
        case _:
            assert_never(action)


def _is_deleted(number: int, before: SubjectState, now: SubjectState) -> bool:
    """True if one version is soft-deleted now, and nothing else has changed."""
    expected = tuple(
        VersionState(version=v.version, schema_id=v.schema_id, deleted=v.deleted or v.version == number)
        for v in before.versions
    )
    return (expected, before.config, before.mode) == (now.versions, now.config, now.mode)


def added_versions(before: SubjectState, now: SubjectState) -> tuple[VersionState, ...]:
    """The versions that only `now` has, ascending. A version that was soft-deleted meanwhile is not a new one."""
    versions = {(version.version, version.schema_id) for version in before.versions}
    return tuple(version for version in now.versions if (version.version, version.schema_id) not in versions)


def _new_version(before: SubjectState, now: SubjectState) -> VersionState | None:
    """The one added version, perhaps in place of a soft-deleted one of its id, where look-ups miss those; else None."""
    added = [version for version in now.versions if version not in before.versions]
    lost = [version for version in before.versions if version not in now.versions]
    if len(added) != 1 or any(not version.deleted or version.schema_id != added[0].schema_id for version in lost):
        return None
    return added[0] if (before.config, before.mode) == (now.config, now.mode) else None


def _relaxed(action: SetCompatibility, before: SubjectState) -> dict[str, Json]:
    """The subject's own configuration while the level is relaxed, as GET answers it."""
    return {**action.inherited, **(before.config or {}), "compatibilityLevel": action.level}
