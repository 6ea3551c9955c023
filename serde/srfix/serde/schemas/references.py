"""The schemas to which a schema refers, in the order in which they must be registered."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Literal, Protocol

from srfix.serde import bounds
from srfix.serde.errors import SchemaError
from srfix.serde.schemas.models import Schema, SchemaReference, SchemaVersion
from srfix.serde.subjects.names import within_context_of


class SchemaVersions(Protocol):
    """A registry that gives versions of subjects; `RegistryClient` is one."""

    def version(self, subject: str, version: int | Literal["latest"], *, deleted: bool = False) -> SchemaVersion: ...


_REFERS_BY_NAME = ("JSON", "PROTOBUF")
"""The schema types whose texts use the references' names, and not names defined in the referenced texts."""
_LATEST = -1
"""The version number of a reference to the latest version (Confluent)."""


class ReferenceText(str):
    """The text of a referenced schema, together with the reference's name. Two with different names are not equal, so
    that each has its own entry in a cache."""

    __slots__ = ("name",)
    name: str

    def __new__(cls, text: str, *, name: str) -> ReferenceText:
        made = super().__new__(cls, text)
        made.name = name
        return made

    def __reduce__(self) -> tuple[object, ...]:
        return partial(ReferenceText, name=self.name), (str(self),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ReferenceText) and (str(self), self.name) == (str(other), other.name)

    __hash__ = str.__hash__


def reference_name(text: str) -> str | None:
    """The name by which a text is referenced; None if only the text itself defines it."""
    return text.name if isinstance(text, ReferenceText) else None


def schema_references(registry: SchemaVersions, schema: Schema, *, subject: str = "") -> Iterator[SchemaVersion]:
    """The direct and indirect references of a schema, each once and after its own, also soft-deleted versions."""
    return (version for _, version, is_first in _followed(registry, schema, subject) if is_first)


def named_references(
    registry: SchemaVersions, schema: Schema, *, subject: str = ""
) -> Iterator[tuple[str, SchemaVersion]]:
    """The same, each with its reference name; if a version has several names, once for each name."""
    return ((name, version) for name, version, _ in _followed(registry, schema, subject))


def reference_texts(registry: SchemaVersions, schema: Schema, *, subject: str = "") -> tuple[str, ...]:
    """The texts of a schema's references for `references=`; for JSON and Protobuf with names (`ReferenceText`)."""
    if schema.schema_type in _REFERS_BY_NAME:
        named = named_references(registry, schema, subject=subject)
        return tuple(ReferenceText(version.schema.text, name=name) for name, version in named)
    return tuple(version.schema.text for version in schema_references(registry, schema, subject=subject))


def _followed(registry: SchemaVersions, schema: Schema, subject: str) -> Iterator[tuple[str, SchemaVersion, bool]]:
    """Name, version, and whether this is the version's first occurrence."""
    reached: dict[tuple[str, int], tuple[SchemaVersion, set[str]]] = {}
    # An explicit stack, because a chain of references may be longer than Python's stack.
    open_: list[tuple[tuple[str, SchemaVersion] | None, Iterator[SchemaReference], str]] = [
        (None, iter(schema.references), subject)
    ]
    links = len(schema.references)
    while open_:
        if links > bounds.REFERENCE_LINKS:
            raise SchemaError(
                f"The schema and the versions that it refers to have more than {bounds.REFERENCE_LINKS:,} references "
                "altogether; srfix does not follow them (srfix.serde.bounds.REFERENCE_LINKS)."
            )
        named, waiting, parent = open_[-1]
        reference = next(waiting, None)
        if reference is None:
            open_.pop()
            if named is not None:
                yield *named, True
            continue
        target = within_context_of(parent, reference.subject)
        earlier = reached.get((target, reference.version))
        if earlier is not None:
            version, names = earlier
            if reference.name not in names:
                names.add(reference.name)
                yield reference.name, version, False
            continue
        if len(reached) == bounds.REFERENCES:
            raise SchemaError(
                f"The schema refers to more than {bounds.REFERENCES:,} versions, directly or indirectly; srfix does "
                "not fetch the rest (srfix.serde.bounds.REFERENCES)."
            )
        number: int | Literal["latest"] = "latest" if reference.version == _LATEST else reference.version
        version = registry.version(target, number, deleted=number != "latest")
        reached[target, reference.version] = version, {reference.name}
        links += len(version.schema.references)
        open_.append(((reference.name, version), iter(version.schema.references), target))
