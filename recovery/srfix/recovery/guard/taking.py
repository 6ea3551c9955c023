"""Whether a registry would take a schema under a subject, asked without registering."""

from __future__ import annotations

from srfix.recovery.facts import Membership, RoleFacts, SubjectState, foreseen_refusals, schema_behind
from srfix.recovery.registry import ReadableRegistry
from srfix.serde.registry import Schema, SchemaNotFoundError
from srfix.serde.subjects import Role
from srfix.serde.wire import SchemaId


def refusal_of_id(registry: ReadableRegistry, state: SubjectState, role: Role, schema_id: SchemaId) -> str | None:
    """Why the schema behind an id would be refused under a subject; None if it would be taken.

    :raises RegistryError: if the registry does not answer.
    """
    try:
        schema = schema_behind(registry, schema_id, registry.context_of(state.subject))
    except SchemaNotFoundError:
        return None
    return refusal_of(registry, state, role, schema)


def refusal_of(registry: ReadableRegistry, state: SubjectState, role: Role, schema: Schema) -> str | None:
    """Why a schema would be refused under a subject; None if it would be taken.

    :raises RegistryError: if the registry does not answer.
    """
    facts = RoleFacts(role=role, subject=state.subject, state=state, memberships={})
    # Nobody has given it an id yet, and none is asked for by one.
    new = Membership(schema_id=SchemaId(0), schema=schema, error_code=None, answered_id=None)
    return next((refusal.reason for refusal in foreseen_refusals(registry, facts, (new,))), None)
