"""A policy that has been asked already."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from srfix.serde._resolved import ResolvedSchema
from srfix.serde.resolve import Resolver
from srfix.serde.subjects import Role

__all__ = ["PlannedResolver"]


class PlannedResolver:
    """Answers what the plan found; asks its policy, which then remembers, for every other id and GUID. Picklable if the
    policy is."""

    def __init__(self, policy: Resolver, found: Iterable[ResolvedSchema]) -> None:
        self._policy = policy
        self._found = {resolved.schema_id: resolved for resolved in found if resolved.schema_id is not None}

    def resolve(self, schema_id: int, *, topic: str, role: Role) -> ResolvedSchema:
        """See `Resolver.resolve`."""
        found = self._found.get(schema_id)  # type: ignore[call-overload]
        return self._policy.resolve(schema_id, topic=topic, role=role) if found is None else found

    def resolve_guid(self, guid: UUID, *, topic: str, role: Role) -> ResolvedSchema:
        """See `Resolver.resolve_guid`."""
        return self._policy.resolve_guid(guid, topic=topic, role=role)
