"""The state of a subject, in a form that can be compared, written down and compared again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

import msgspec
from msgspec import UNSET, UnsetType

from srfix.recovery.documents import Id, Part, json_of
from srfix.recovery.errors import PlanError
from srfix.recovery.registry import ReadableRegistry
from srfix.serde.schemas.errors import (
    SchemaNotFoundError,
    SubjectNotFoundError,
    VersionNotFoundError,
    VersionSoftDeletedError,
)
from srfix.serde.schemas.models import Json, Schema, SchemaVersion, answered_elsewhere
from srfix.serde.subjects.names import Subject
from srfix.serde.wire import SchemaId, given_schema_id


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class VersionState:
    version: int
    schema_id: SchemaId
    deleted: bool
    written_ms: int | None = field(default=None, compare=False)
    """When the registry last wrote it, in milliseconds since 1970; None if the registry does not say. If a version was
    permanently deleted and registered again under the same number and id, only this differs.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectState:
    subject: Subject
    versions: tuple[VersionState, ...]
    """With soft-deleted versions, ascending; empty if the subject does not exist."""
    config: Mapping[str, Json] | None
    """Its own configuration as GET answers it; None if it has none (40408)."""
    mode: str | None

    @property
    def schema_ids(self) -> tuple[SchemaId, ...]:
        """The ids of all versions, soft-deleted ones too, ascending and without repetition."""
        return tuple(sorted({version.schema_id for version in self.versions}))

    @property
    def live(self) -> tuple[VersionState, ...]:
        return tuple(version for version in self.versions if not version.deleted)

    @property
    def level(self) -> Json:
        return level_of(self.config)

    @property
    def versions_in_words(self) -> str:
        """`version 1 = id 3 (soft-deleted), version 2 = id 5`, or that there is none."""
        named = (
            f"version {v.version} = id {v.schema_id}{' (soft-deleted)' if v.deleted else ''}" for v in self.versions
        )
        return ", ".join(named) or "no version"

    def version_of(self, schema_id: int) -> VersionState | None:
        """The highest version that holds an id; None if none does."""
        return max((v for v in self.versions if v.schema_id == schema_id), default=None)


def version_numbers(registry: ReadableRegistry, subject: str, *, deleted: bool = False) -> tuple[int, ...]:
    try:
        return registry.versions(subject, deleted=deleted)
    except SubjectNotFoundError:
        return ()


def version_at(registry: ReadableRegistry, subject: str, number: int, *, deleted: bool = False) -> SchemaVersion | None:
    """A version of a subject; None if it was hard-deleted while we asked."""
    try:
        return registry.version(subject, number, deleted=deleted)
    except (SubjectNotFoundError, VersionNotFoundError):
        return None


def look_up(registry: ReadableRegistry, subject: str, schema: Schema) -> SchemaVersion | None:
    """The answer to a look-up by content, like the failing reader's; it may name another subject, unlike the next."""
    try:
        return registry.lookup(subject, schema, deleted=True)
    except (SubjectNotFoundError, SchemaNotFoundError):
        return None


def held_version(registry: ReadableRegistry, subject: str, schema: Schema) -> SchemaVersion | None:
    """The version under which the subject itself holds this content, even a soft-deleted one; None if it does not."""
    version = look_up(registry, subject, schema)
    return None if version is None or answered_elsewhere(subject, version) else version


def level_of(config: Mapping[str, Json] | None) -> Json:
    return None if config is None else config.get("compatibilityLevel")


def read_subject_state(registry: ReadableRegistry, subject: Subject) -> SubjectState:
    every = version_numbers(registry, subject, deleted=True)
    versions = (len(every) == 1 and _only_live(registry, subject, every[0])) or _versions(registry, subject, every)
    config = registry.config(subject)
    return SubjectState(
        subject=subject,
        versions=tuple(sorted(versions)),
        config=None if config is None else dict(config.fields),
        mode=registry.mode(subject),
    )


def _only_live(registry: ReadableRegistry, subject: Subject, number: int) -> list[VersionState]:
    """A subject's only version, by one request, as most subjects have one; empty if it is soft-deleted."""
    try:
        answer = registry.version(subject, number)
    except (SubjectNotFoundError, VersionNotFoundError, VersionSoftDeletedError):
        return []
    return [_state_of(answer, deleted=False)]


def _versions(registry: ReadableRegistry, subject: Subject, every: Iterable[int]) -> Iterator[VersionState]:
    live = frozenset(version_numbers(registry, subject)) if every else frozenset()  # none if all are soft-deleted
    for number in every:
        answer = version_at(registry, subject, number, deleted=True)
        if answer is not None:
            yield _state_of(answer, deleted=number not in live)


def _state_of(answer: SchemaVersion, *, deleted: bool) -> VersionState:
    return VersionState(
        version=answer.version, schema_id=answer.schema_id, deleted=deleted, written_ms=answer.written_ms
    )


class VersionPart(Part):
    """One version of a subject."""

    version: int
    schema_id: Id = msgspec.field(name="id")
    deleted: bool
    written_ms: int | UnsetType = UNSET
    """When the registry last wrote it, in milliseconds since 1970; left out if the registry does not say."""


class SubjectPart(Part):
    """The state of a subject."""

    subject: str
    versions: list[VersionPart]
    config: dict[str, object] | None
    """Its own configuration; null if it has none."""
    mode: str | None
    """Its own mode; null if it has none."""


def subject_part(state: SubjectState) -> SubjectPart:
    versions = [
        VersionPart.of(version, written_ms=UNSET if version.written_ms is None else version.written_ms)
        for version in sorted(state.versions)
    ]
    return SubjectPart.of(state, versions=versions)


def subject_state_document(state: SubjectState) -> Json:
    return json_of(subject_part(state))


def subject_state_of(part: SubjectPart) -> SubjectState:
    versions = tuple(sorted(map(_version, part.versions)))
    config = cast("dict[str, Json] | None", part.config)
    return SubjectState(subject=Subject(part.subject), versions=versions, config=config, mode=part.mode)


def subject_state_from(document: Json) -> SubjectState:
    try:
        return subject_state_of(msgspec.convert(document, SubjectPart))
    except ValueError as error:
        raise PlanError(f"The state of a subject cannot be read from {document!r}: {error}.") from error


def _version(part: VersionPart) -> VersionState:
    return VersionState(
        version=part.version,
        schema_id=given_schema_id(part.schema_id),
        deleted=part.deleted,
        written_ms=None if part.written_ms is UNSET else part.written_ms,
    )


def difference(expected: SubjectState, state: SubjectState) -> str:
    parts = []
    if expected.versions != state.versions:
        parts.append(f"it holds {state.versions_in_words}, but srfix expected {expected.versions_in_words}")
    if expected.config != state.config:
        parts.append(
            f"its own configuration is {_config_in_words(state.config)}, but srfix expected "
            f"{'none' if expected.config is None else _config_in_words(expected.config)}"
        )
    if expected.mode != state.mode:
        parts.append(f"its own mode is {state.mode or 'not set'}, but srfix expected {expected.mode or 'none'}")
    return f"{expected.subject}: {', and '.join(parts)}" if parts else f"{expected.subject}: nothing changed"


def _config_in_words(config: Mapping[str, object] | None) -> str:
    return "not set" if config is None else ", ".join(f"{name}={value}" for name, value in sorted(config.items()))
