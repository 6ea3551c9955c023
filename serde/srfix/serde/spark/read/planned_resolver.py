"""A policy that has been asked already."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from srfix.serde.resolve.policies import Resolver
from srfix.serde.resolve.resolved import ResolvedSchema
from srfix.serde.subjects.names import Role


class PlannedResolver:
    """Answers what the plan found, for its topic and role; asks its policy, which then remembers, for everything else.

    Picklable if the policy is.
    """

    def __init__(self, policy: Resolver, found: Iterable[ResolvedSchema], *, topic: str, role: Role) -> None:
        self._policy = policy
        self._found: dict[tuple[int | None, str, Role], ResolvedSchema] = {
            (resolved.schema_id, topic, role): resolved for resolved in found
        }

    def resolve(self, schema_id: int, *, topic: str, role: Role) -> ResolvedSchema:
        found = self._found.get((schema_id, topic, role))
        return self._policy.resolve(schema_id, topic=topic, role=role) if found is None else found

    def resolve_guid(self, guid: UUID, *, topic: str, role: Role) -> ResolvedSchema:
        return self._policy.resolve_guid(guid, topic=topic, role=role)
