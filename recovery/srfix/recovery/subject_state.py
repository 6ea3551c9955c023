"""What stands under a subject, in a form that can be compared, written down and compared again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from srfix.serde.errors import PlanError
from srfix.serde.registry import RegistryClient
from srfix.serde.registry.errors import SubjectNotFoundError, VersionNotFoundError, VersionSoftDeletedError
from srfix.serde.registry.models import Json
from srfix.serde.subjects import Subject
from srfix.serde.wire import SchemaId, given_schema_id

__all__ = [
    "SubjectState",
    "VersionState",
    "difference",
    "read_subject_state",
    "subject_state_document",
    "subject_state_from",
]


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class VersionState:
    """One version of a subject."""

    version: int
    """Its number."""
    schema_id: SchemaId
    """The id of its schema."""
    deleted: bool
    """True if it is soft-deleted."""
    written_ms: int | None = field(default=None, compare=False)
    """When the registry last wrote it, in milliseconds since 1970; None where it does not say. A version that was deleted for
    good and registered again under the same number and id differs in this alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectState:
    """A subject's versions, own configuration and own mode."""

    subject: Subject
    """The subject."""
    versions: tuple[VersionState, ...]
    """Soft-deleted ones too, ascending; empty if the subject does not exist."""
    config: Mapping[str, Json] | None
    """Its own configuration as GET answers it; None if it has none (40408)."""
    mode: str | None
    """Its own mode; None if it has none (40409)."""

    @property
    def schema_ids(self) -> tuple[SchemaId, ...]:
        """The ids of all versions, soft-deleted ones too, ascending and without repetition."""
        return tuple(sorted({version.schema_id for version in self.versions}))

    @property
    def live(self) -> tuple[VersionState, ...]:
        """The versions that are not soft-deleted."""
        return tuple(version for version in self.versions if not version.deleted)

    def version_of(self, schema_id: int) -> VersionState | None:
        """The highest version that holds an id; None if none does."""
        return max((v for v in self.versions if v.schema_id == schema_id), default=None)


def read_subject_state(registry: RegistryClient, subject: Subject) -> SubjectState:
    """Asks the registry for all of it. Read-only.

    :raises RegistryError: if the registry does not answer.
    """
    try:
        every = registry.versions(subject, deleted=True)
    except SubjectNotFoundError:
        every = ()
    versions = (len(every) == 1 and _only_live(registry, subject, every[0])) or _versions(registry, subject, every)
    config = registry.config(subject)
    return SubjectState(
        subject=subject,
        versions=tuple(sorted(versions)),
        config=None if config is None else dict(config.fields),
        mode=registry.mode(subject),
    )


def _only_live(registry: RegistryClient, subject: Subject, number: int) -> list[VersionState]:
    """A subject's only version by one request, as most have one and it is live; nothing if it is soft-deleted."""
    try:
        answer = registry.version(subject, number)
    except (SubjectNotFoundError, VersionNotFoundError, VersionSoftDeletedError):
        return []
    return [VersionState(version=number, schema_id=answer.schema_id, deleted=False, written_ms=answer.written_ms)]


def _versions(registry: RegistryClient, subject: Subject, every: Iterable[int]) -> list[VersionState]:
    try:
        live = frozenset(registry.versions(subject)) if every else frozenset()
    except SubjectNotFoundError:  # every version is soft-deleted
        live = frozenset()
    versions = []
    for number in every:
        try:
            answer = registry.version(subject, number, deleted=True)
        except (SubjectNotFoundError, VersionNotFoundError):  # hard-deleted while we asked
            continue
        versions.append(
            VersionState(
                version=number, schema_id=answer.schema_id, deleted=number not in live, written_ms=answer.written_ms
            )
        )
    return versions


def subject_state_document(state: SubjectState) -> dict[str, Json]:
    """The state as it stands in plans and journals."""
    return {
        "subject": state.subject,
        "versions": [_version_document(version) for version in sorted(state.versions)],
        "config": None if state.config is None else dict(state.config),
        "mode": state.mode,
    }


def subject_state_from(document: Json) -> SubjectState:
    """Reads what `subject_state_document` wrote.

    :raises PlanError: if it is something else.
    """
    try:
        match document:
            case {
                "subject": str(subject),
                "versions": list(versions),
                "config": config,
                "mode": (None | str()) as mode,
            }:
                return SubjectState(
                    subject=Subject(subject),
                    versions=tuple(sorted(_version(version) for version in versions)),
                    config=config if isinstance(config, dict) else None,
                    mode=mode,
                )
    except (KeyError, TypeError, ValueError) as error:
        raise PlanError(f"The state of a subject cannot be read from {document!r}: {error}.") from error
    raise PlanError(f"The state of a subject cannot be read from {document!r}.")


def _version_document(state: VersionState) -> Json:
    document: dict[str, Json] = {"version": state.version, "id": int(state.schema_id), "deleted": state.deleted}
    return document if state.written_ms is None else {**document, "written_ms": state.written_ms}


def _version(document: Json) -> VersionState:
    match document:
        case {"version": int(version), "id": int(schema_id), "deleted": bool(deleted), **more}:
            written_ms = more.get("written_ms")
            return VersionState(
                version=version,
                schema_id=given_schema_id(schema_id),
                deleted=deleted,
                written_ms=written_ms if isinstance(written_ms, int) else None,
            )
    raise ValueError(f"{document!r} is not a version")


def difference(expected: SubjectState, found: SubjectState) -> str:
    """In words, what is not as expected."""
    parts = []
    if expected.versions != found.versions:
        parts.append(f"it holds {_versions_in_words(found)} where {_versions_in_words(expected)} was expected")
    if expected.config != found.config:
        parts.append(
            f"its own configuration is {_config_in_words(found.config)} where {_config_in_words(expected.config)} was expected"
        )
    if expected.mode != found.mode:
        parts.append(f"its own mode is {found.mode or 'not set'} where {expected.mode or 'not set'} was expected")
    return f"{expected.subject}: {', and '.join(parts)}" if parts else f"{expected.subject}: nothing changed"


def _versions_in_words(state: SubjectState) -> str:
    return (
        ", ".join(
            f"version {v.version} = id {v.schema_id}{' (soft-deleted)' if v.deleted else ''}" for v in state.versions
        )
        or "no version"
    )


def _config_in_words(config: Mapping[str, object] | None) -> str:
    return "not set" if config is None else ", ".join(f"{name}={value}" for name, value in sorted(config.items()))
