"""The schema registry as recovery needs it, for reading and writing. `srfix.serde.RegistryClient` implements it.
Another registry is a class with these methods, which answers like Confluent's, with the models of
`srfix.serde.schemas.models`, and raises the errors of `srfix.serde.schemas.errors`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, Protocol, TypeAlias, cast

from srfix.serde.errors import UsageError
from srfix.serde.interface import SchemaLookup, SchemaRegistrar
from srfix.serde.registries.given import AnyClient, whole_registry
from srfix.serde.schemas.models import (
    CompatibilityCheck,
    Json,
    Registration,
    Schema,
    SchemaVersion,
    SubjectConfig,
    SubjectVersion,
)
from srfix.serde.subjects.names import Subject
from srfix.serde.wire import SchemaId


class ReadableRegistry(SchemaLookup, Protocol):
    """The questions of diagnosis, plan and verification; none of them writes. `deleted` includes soft-deleted subjects
    and versions.
    """

    @property
    def url(self) -> str:
        """The registry's URL, without secrets; a plan contains it."""

    def context_of(self, subject: str) -> str:
        """The context that a subject is in; `.` is the default one."""

    def forget_unknown_ids(self) -> None:
        """Forgets unknown ids, so that the next read of such an id asks again."""

    def gives_id_to(self, subject: str, schema_id: int) -> bool:
        """Whether the registry returns the schema of an id to a reader that names this subject."""

    def subjects(self, *, deleted: bool = False) -> tuple[Subject, ...]:
        """All subjects of all contexts."""

    def versions(self, subject: str, *, deleted: bool = False) -> tuple[int, ...]:
        """A subject's version numbers.

        :raises SubjectNotFoundError: if there are none.
        """

    def schemas(self, *, deleted: bool = False, latest_only: bool = False) -> Iterator[SchemaVersion]:
        """Every version of every subject.

        :raises EndpointNotSupportedError: if the registry has no such listing; then srfix asks for each subject.
        """

    def referenced_by(self, subject: str, version: int | Literal["latest"]) -> tuple[SchemaId, ...]:
        """The ids of the live schemas that refer to a version."""

    def subjects_of_id(self, schema_id: int, *, deleted: bool = False) -> tuple[Subject, ...] | None:
        """Subjects that seem to hold an id, only as a hint; None if the registry does not say."""

    def versions_of_id(
        self, schema_id: int, *, deleted: bool = False, subject: str | None = None
    ) -> tuple[SubjectVersion, ...] | None:
        """Subjects and versions that seem to hold an id, only as a hint; None if the registry does not say. `subject`
        selects the context.
        """

    def check_compatibility(
        self, subject: str, schema: Schema, *, version: int | Literal["latest"] | None = "latest"
    ) -> CompatibilityCheck:
        """Whether the registry would accept a schema, compared with one version or (with None) with all versions."""

    def config(self, subject: str | None = None) -> SubjectConfig | None:
        """A subject's own configuration, or None; without a subject, the global configuration."""

    def effective_config(self, subject: str) -> SubjectConfig:
        """The configuration in force for a subject, all fields."""

    def effective_compatibility(self, subject: str) -> str:
        """The compatibility level in force for a subject."""

    def level_may_be_inherited(self, subject: str) -> bool:
        """True if the registry does not show whether a subject's level is its own."""

    def mode(self, subject: str | None = None) -> str | None:
        """A subject's own mode, or None; without a subject, the global mode, or None if the registry has no modes."""

    def effective_mode(self, subject: str) -> str | None:
        """The mode in force for a subject; None if the registry has no modes."""

    def is_redpanda(self) -> bool:
        """Whether this is Redpanda's registry."""


class Registry(ReadableRegistry, SchemaRegistrar, Protocol):
    """The writes of a repair and of its undo. Each call may be repeated after an attempt whose outcome is unknown."""

    def register_with_id(self, subject: str, schema: Schema, schema_id: int) -> Registration:
        """Registers a schema under a subject in mode IMPORT, with this id."""

    def delete_version(self, subject: str, version: int, *, permanent: bool = False) -> None:
        """Soft-deletes a version; with `permanent`, deletes a soft-deleted version permanently."""

    def set_config(self, subject: str, fields: Mapping[str, Json]) -> None:
        """Merges fields into a subject's own configuration."""

    def delete_config(self, subject: str) -> None:
        """Removes a subject's own configuration, all fields of it."""

    def set_mode(self, subject: str, mode: str, *, force: bool = False) -> None:
        """Gives a subject a mode of its own."""

    def delete_mode(self, subject: str) -> None:
        """Removes a subject's own mode."""


GivenRegistry: TypeAlias = "Registry | AnyClient"
"""A registry in any accepted form; `srfix.serde.registries` lists the forms."""


def usable(client: object) -> Registry:
    """A registry with all of these methods; confluent_kafka's client answers from its cache, so srfix's replaces it."""
    registry: Any = whole_registry(client)
    missing = [name for name in _ASKED if not callable(getattr(registry, name, None))]
    if missing:
        raise UsageError(
            f"registry is of the type {type(registry).__name__}, which cannot {missing[0]}(). Pass a "
            "srfix.serde.RegistryClient, or the registry's URL."
        )
    return cast("Registry", registry)


_ASKED: Final = ("schema_by_id", "lookup", "subjects", "versions", "forget_unknown_ids")
