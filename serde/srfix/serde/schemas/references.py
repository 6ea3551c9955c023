"""The schemas that a schema refers to, in the order in which they have to be registered."""

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

    def version(self, subject: str, version: int | Literal["latest"], *, deleted: bool = False) -> SchemaVersion:
        """A version of a subject."""


_REFERS_BY_NAME = ("JSON", "PROTOBUF")
"""The schema types whose texts refer to others by the references' names, not by what is in the others."""
_LATEST = -1
"""The version of a reference to whatever is the latest (Confluent)."""


class ReferenceText(str):
    """The text of a schema that is referred to, which knows by what name."""

    __slots__ = ("name",)
    name: str

    def __new__(cls, text: str, *, name: str) -> ReferenceText:
        """A text and the reference's name, as the schema that refers to it has it."""
        made = super().__new__(cls, text)
        made.name = name
        return made

    def __reduce__(self) -> tuple[object, ...]:
        return partial(ReferenceText, name=self.name), (str(self),)


def reference_name(text: str) -> str | None:
    """The name by which a text is referred to; None where only the text itself tells it."""
    return text.name if isinstance(text, ReferenceText) else None


def schema_references(registry: SchemaVersions, schema: Schema, *, subject: str = "") -> Iterator[SchemaVersion]:
    """The versions that a schema refers to, directly or not, each once, and none before those that it refers to itself.

    `subject` is the schema's own: in a context, references without one are to the same context. Soft-deleted versions
    are found too. References that go in a circle (no registry makes them) are followed once round.
    """
    return (version for _, version, is_first in _followed(registry, schema, subject) if is_first)


def named_references(
    registry: SchemaVersions, schema: Schema, *, subject: str = ""
) -> Iterator[tuple[str, SchemaVersion]]:
    """The same, each with the name by which it is referred to: once for each name, where there are several."""
    return ((name, version) for name, version, _ in _followed(registry, schema, subject))


def reference_texts(registry: SchemaVersions, schema: Schema, *, subject: str = "") -> tuple[str, ...]:
    """The texts that a schema refers to, as the formats take them (`references=`); without references nothing is asked.

    JSON and Protobuf schemas refer to others by the references' names, not by what is in their texts: those are
    `ReferenceText`s.
    """
    if schema.schema_type in _REFERS_BY_NAME:
        named = named_references(registry, schema, subject=subject)
        return tuple(ReferenceText(version.schema.text, name=name) for name, version in named)
    return tuple(version.schema.text for version in schema_references(registry, schema, subject=subject))


def _followed(registry: SchemaVersions, schema: Schema, subject: str) -> Iterator[tuple[str, SchemaVersion, bool]]:
    """Name, version, and whether the version comes for the first time."""
    reached: dict[tuple[str, int], tuple[SchemaVersion, set[str]]] = {}
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
        open_.append(((reference.name, version), iter(version.schema.references), target))
