"""The schemas that a schema refers to, by the names that it has for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, TypeAlias

from srfix.serde.confluent._registry import Registry
from srfix.serde.errors import ResolveError, UsageError
from srfix.serde.registry.errors import SubjectNotFoundError, VersionNotFoundError
from srfix.serde.registry.models import Schema
from srfix.serde.subjects import within_context_of

__all__ = ["References", "references_of"]

References: TypeAlias = tuple[tuple[str, str], ...]
"""Name and text, directly or not, none before those that it refers to itself."""

_LATEST: Final = -1
"""The version of a reference to whatever is the latest (Confluent)."""
_MAX_CHAIN: Final = 200


def references_of(registry: Registry | None, schema: Schema, subject: str | None) -> References:
    """What a schema refers to. Without references, nothing is asked.

    :raises ResolveError: if the registry does not have one of them, or they go in a circle.
    :raises UsageError: if there is no registry to ask.
    """
    if not schema.references:
        return ()
    if registry is None:
        raise UsageError("The schema has references, which only a registry can resolve: pass a schema_registry_client.")
    try:
        return tuple(dict.fromkeys(_walk(registry, schema, subject or "", set(), 0)))
    except (SubjectNotFoundError, VersionNotFoundError) as error:
        raise ResolveError(
            f"A schema is referred to that the registry does not have: {error} Register that one again, under the version "
            "that is named."
        ) from error


def _walk(
    registry: Registry, schema: Schema, parent: str, seen: set[tuple[str, int, str]], depth: int
) -> Iterator[tuple[str, str]]:
    if depth > _MAX_CHAIN:
        raise ResolveError(f"The references of a schema lead over more than {_MAX_CHAIN} others.")
    for reference in schema.references:
        target = within_context_of(parent, reference.subject)
        step = (target, reference.version, reference.name)
        if step in seen:
            continue
        seen.add(step)
        number: int | Literal["latest"] = "latest" if reference.version == _LATEST else reference.version
        found = registry.version(target, number, deleted=number != "latest").schema
        yield from _walk(registry, found, target, seen, depth + 1)
        yield reference.name, found.text
