"""The schemas that a schema refers to, in the order in which they have to be registered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, Protocol

from srfix.serde.registry.models import Schema, SchemaReference, SchemaVersion
from srfix.serde.subjects import within_context_of

__all__ = ["SchemaVersions", "named_references", "schema_references"]


class SchemaVersions(Protocol):
    """A registry that gives versions of subjects; `RegistryClient` is one."""

    def version(self, subject: str, version: int | Literal["latest"], *, deleted: bool = False) -> SchemaVersion:
        """A version of a subject."""


_LATEST = -1
"""The version of a reference to whatever is the latest (Confluent)."""


def schema_references(registry: SchemaVersions, schema: Schema, *, subject: str = "") -> Iterator[SchemaVersion]:
    """The versions that a schema refers to, directly or not, each once, and none before those that it refers to itself.

    `subject` is the schema's own: in a context, references without one are to the same context. Soft-deleted versions
    are found too. References that go in a circle (no registry makes them) are followed once round.

    :raises SubjectNotFoundError: if a subject that is referred to does not exist.
    :raises VersionNotFoundError: if it has no such version.
    """
    return (version for _, version in named_references(registry, schema, subject=subject))


def named_references(
    registry: SchemaVersions, schema: Schema, *, subject: str = ""
) -> Iterator[tuple[str, SchemaVersion]]:
    """The same, each with the name by which it is referred to; the first one, if there are several.

    :raises SubjectNotFoundError: if a subject that is referred to does not exist.
    :raises VersionNotFoundError: if it has no such version.
    """
    reached: set[tuple[str, int]] = set()
    # A stack of our own: a chain of references may be longer than Python's.
    open_: list[tuple[tuple[str, SchemaVersion] | None, Iterator[SchemaReference], str]] = [
        (None, iter(schema.references), subject)
    ]
    while open_:
        named, waiting, parent = open_[-1]
        reference = next(waiting, None)
        if reference is None:
            open_.pop()
            if named is not None:
                yield named
            continue
        target = within_context_of(parent, reference.subject)
        if (target, reference.version) in reached:
            continue
        reached.add((target, reference.version))
        number: int | Literal["latest"] = "latest" if reference.version == _LATEST else reference.version
        found = registry.version(target, number, deleted=number != "latest")
        open_.append(((reference.name, found), iter(found.schema.references), target))
