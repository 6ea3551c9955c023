"""The schemas that a schema refers to, by the names that it has for them."""

from __future__ import annotations

from typing import TypeAlias

from srfix.serde.confluent._registry import Registry
from srfix.serde.errors import ResolveError, SchemaError, UsageError
from srfix.serde.registry.errors import SubjectNotFoundError, VersionNotFoundError
from srfix.serde.registry.models import Schema
from srfix.serde.registry.references import named_references

__all__ = ["References", "references_of"]

References: TypeAlias = tuple[tuple[str, str], ...]
"""Name and text, directly or not, none before those that it refers to itself."""


def references_of(registry: Registry | None, schema: Schema, subject: str | None) -> References:
    """What a schema refers to. Without references, nothing is asked.

    :raises ResolveError: if the registry does not have one of them.
    :raises UsageError: if there is no registry to ask.
    """
    if not schema.references:
        return ()
    if registry is None:
        raise UsageError("The schema has references, which only a registry can resolve: pass a schema_registry_client.")
    try:
        named = named_references(registry, schema, subject=subject or "")
        return tuple(dict.fromkeys((name, found.schema.text) for name, found in named))
    except (SubjectNotFoundError, VersionNotFoundError) as error:
        raise ResolveError(
            f"A schema is referred to that the registry does not have: {error} Register that one again, under the version "
            "that is named."
        ) from error
    except SchemaError as error:
        raise ResolveError(str(error)) from error
