"""What recovery asks of a schema registry, and writes to it. `srfix.serde.RegistryClient` is one.

Another registry is a class with these methods. It answers as Confluent's does, with the models of
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
    """What diagnosis, plan and verification ask: nothing here writes. `deleted` asks for what is soft-deleted too."""

    @property
    def url(self) -> str:
        """Where it is, without secrets: a plan names it."""

    def context_of(self, subject: str) -> str:
        """The context that a subject is in; `.` is the default one."""

    def forget_unknown_ids(self) -> None:
        """Lets the next read of an id that was unknown ask again."""

    def gives_id_to(self, subject: str, schema_id: int) -> bool:
        """Whether it answers for an id to a reader that names its subject."""

    def subjects(self, *, deleted: bool = False) -> tuple[Subject, ...]:
        """All subjects of all contexts."""

    def versions(self, subject: str, *, deleted: bool = False) -> tuple[int, ...]:
        """A subject's version numbers.

        :raises SubjectNotFoundError: if there are none.
        """

    def schemas(self, *, deleted: bool = False, latest_only: bool = False) -> Iterator[SchemaVersion]:
        """Every version of every subject.

        :raises EndpointNotSupportedError: if it lists none: the subjects are asked one by one then.
        """

    def referenced_by(self, subject: str, version: int | Literal["latest"]) -> tuple[SchemaId, ...]:
        """The ids of the live schemas that refer to a version."""

    def subjects_of_id(self, schema_id: int, *, deleted: bool = False) -> tuple[Subject, ...] | None:
        """Subjects that seem to hold an id, a hint; None where it does not say."""

    def versions_of_id(
        self, schema_id: int, *, deleted: bool = False, subject: str | None = None
    ) -> tuple[SubjectVersion, ...] | None:
        """Subjects and versions that seem to hold an id, a hint; None where it does not say. `subject` picks the context."""

    def check_compatibility(
        self, subject: str, schema: Schema, *, version: int | Literal["latest"] | None = "latest"
    ) -> CompatibilityCheck:
        """Whether it would take a schema, against a version, or with None against all."""

    def config(self, subject: str | None = None) -> SubjectConfig | None:
        """A subject's own configuration, None if it has none; without a subject, the global one."""

    def effective_config(self, subject: str) -> SubjectConfig:
        """The configuration that holds for a subject, all fields."""

    def effective_compatibility(self, subject: str) -> str:
        """The compatibility level that holds for a subject."""

    def level_may_be_inherited(self, subject: str) -> bool:
        """True if it cannot be told whether a subject's level is its own."""

    def mode(self, subject: str | None = None) -> str | None:
        """A subject's own mode, None if it has none; without a subject, the global one, None if it has no modes."""

    def effective_mode(self, subject: str) -> str | None:
        """The mode that holds for a subject; None if it has no modes."""

    def is_redpanda(self) -> bool:
        """Whether it is Redpanda's."""


class Registry(ReadableRegistry, SchemaRegistrar, Protocol):
    """What a repair and its undo write. Each call may be repeated after an attempt whose outcome is unknown."""

    def register_with_id(self, subject: str, schema: Schema, schema_id: int) -> Registration:
        """Registers a schema under a subject in mode IMPORT, with this id."""

    def delete_version(self, subject: str, version: int, *, permanent: bool = False) -> None:
        """Deletes a version softly, or, `permanent`, a softly deleted one for good."""

    def set_config(self, subject: str, fields: Mapping[str, Json]) -> None:
        """Merges fields into a subject's own configuration."""

    def delete_config(self, subject: str) -> None:
        """Removes a subject's own configuration, all fields of it."""

    def set_mode(self, subject: str, mode: str, *, force: bool = False) -> None:
        """Gives a subject a mode of its own."""

    def delete_mode(self, subject: str) -> None:
        """Removes a subject's own mode."""


GivenRegistry: TypeAlias = "Registry | AnyClient"
"""A registry in each of the forms in which it may be given: `srfix.serde.registries` lists them."""


def usable(client: object) -> Registry:
    """A registry that answers all that is asked here: a URL, a configuration and confluent_kafka's client become a client of
    srfix's own, for confluent_kafka's answers a registration from what it has read.
    """
    registry: Any = whole_registry(client)
    missing = [name for name in _ASKED if not callable(getattr(registry, name, None))]
    if missing:
        raise UsageError(
            f"registry is of the type {type(registry).__name__}, which cannot {missing[0]}(). Pass a "
            "srfix.serde.RegistryClient, or the registry's URL."
        )
    return cast("Registry", registry)


_ASKED: Final = ("schema_by_id", "lookup", "subjects", "versions", "forget_unknown_ids")
