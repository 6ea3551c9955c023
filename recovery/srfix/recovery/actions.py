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
from srfix.serde.registry.models import Json, Schema
from srfix.serde.subjects import Subject
from srfix.serde.wire import SchemaId

__all__ = [
    "Action",
    "Register",
    "RestoreCompatibility",
    "RestoreMode",
    "SetCompatibility",
    "SetMode",
    "SoftDelete",
    "added_versions",
    "has_happened",
    "has_happened_in_part",
    "level_of",
    "perform",
    "relaxed_fields",
    "restore_config",
    "restore_mode",
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
    exact: bool = False
    """True if the id is sent along, which takes the subject's mode IMPORT: there the registry gives out no other one,
    inherits no metadata and checks no compatibility."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class SetMode:
    """Gives one subject a mode of its own, whatever is live under it (`force`): IMPORT, for registrations with an id.

    Confluent hard-deletes a subject's soft-deleted versions when it takes IMPORT without force; no plan has this step
    for a subject that has any.
    """

    kind: ClassVar[str] = "set-mode"

    step: int
    """Its place in the plan, from 1."""
    subject: Subject
    """The subject."""
    mode: str
    """The mode to set."""
    previous: str | None
    """The subject's own mode before; None if it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreMode:
    """Puts the subject's own mode back: by DELETE where there was none (40409), else the mode."""

    kind: ClassVar[str] = "restore-mode"

    step: int
    """Its place in the plan, from 1."""
    subject: Subject
    """The subject."""
    previous: str | None
    """The mode to put back; None if there was none."""


Action: TypeAlias = SetCompatibility | SetMode | Register | SoftDelete | RestoreMode | RestoreCompatibility


def perform(action: Action, registry: RegistryClient, now: SubjectState) -> Json:
    """Does it, and answers what the registry said.

    :param now: the subject's state right before.
    :raises RegistryError: if the registry refuses or does not answer.
    """
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
            return {"compatibility": level_of(action.previous)}
        case _:
            assert_never(action)


def restore_mode(registry: RegistryClient, subject: Subject, previous: str | None) -> None:
    """Puts a mode back: DELETE where there was none, else the mode.

    :raises RegistryError: if the registry refuses or does not answer.
    """
    if previous is None:
        registry.delete_mode(subject)
    else:
        registry.set_mode(subject, previous)


def restore_config(registry: RegistryClient, subject: Subject, previous: Mapping[str, Json] | None) -> None:
    """Puts a configuration back: DELETE where there was none, else PUT with all that there was.

    :raises RegistryError: if the registry refuses or does not answer.
    """
    if previous is None:
        registry.delete_config(subject)
    else:
        registry.set_config(subject, restored_fields(previous))


def restored_fields(previous: Mapping[str, Json] | None) -> dict[str, Json]:
    """What PUT /config needs to put a configuration back: null for a level that was not the subject's own."""
    return _fields(previous, level_of(previous))


def relaxed_fields(action: SetCompatibility) -> dict[str, Json]:
    """What PUT /config needs to set the level and keep the rest: Confluent merges, AxonOps drops what is not named."""
    return _fields(action.previous, action.level)


def _fields(config: Mapping[str, Json] | None, level: Json) -> dict[str, Json]:
    others = {name: value for name, value in (config or {}).items() if name != "compatibilityLevel"}
    return {**others, "compatibility": level}


def has_happened(action: Action, before: SubjectState, now: SubjectState) -> bool:
    """True if `now` is what the action leaves when it finds `before`."""
    match action:
        case SetCompatibility():
            return _with_level(before, action.level) == _comparable(now)
        case SetMode():
            return (before.versions, before.config, action.mode) == (now.versions, now.config, now.mode)
        case RestoreMode():
            return (before.versions, before.config, action.previous) == (now.versions, now.config, now.mode)
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
        case SetMode():
            return now.mode == action.mode
        case RestoreMode():
            return now.mode == action.previous
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


def level_of(config: Mapping[str, Json] | None) -> Json:
    """The compatibility level in a configuration as GET answers it; None if there is none."""
    return None if config is None else config.get("compatibilityLevel")


def _comparable(state: SubjectState) -> tuple[object, object, object]:
    return state.versions, None if state.config is None else dict(state.config), state.mode


def _with_level(state: SubjectState, level: str) -> tuple[object, object, object]:
    return state.versions, {**(state.config or {}), "compatibilityLevel": level}, state.mode
