"""Whether a registry would take a schema under a subject, asked without registering."""

from __future__ import annotations

from srfix.recovery.facts.refusals import NO_SUCH_QUESTION, foreseen_refusals
from srfix.recovery.facts.stores import Membership, RoleFacts
from srfix.recovery.facts.subject_state import SubjectState
from srfix.recovery.facts.survey import schema_behind
from srfix.recovery.findings import Skipped
from srfix.recovery.guard.looking import Sight
from srfix.serde.schemas.errors import RegistryAnswerError, RegistryProtocolError, SchemaNotFoundError
from srfix.serde.schemas.models import Schema
from srfix.serde.subjects.names import Role
from srfix.serde.wire import SchemaId


def refusal_of_id(sight: Sight, state: SubjectState, role: Role, schema_id: SchemaId) -> tuple[str | None, bool]:
    """Why the schema behind an id would be refused under a subject, None if it would be taken; and whether that is known.

    :raises RegistryError: if the registry does not answer.
    """
    if sight.registry is None:
        return None, False
    try:
        schema = schema_behind(sight.registry, schema_id, sight.context_of(state.subject))
    except SchemaNotFoundError:
        return None, False
    return refusal_of(sight, state, role, schema)


def refusal_of(sight: Sight, state: SubjectState, role: Role, schema: Schema) -> tuple[str | None, bool]:
    """Why a schema would be refused under a subject, None if it would be taken; and whether that is known.

    A registry that may not be asked is among what the sight could not see.

    :raises RegistryError: if the registry does not answer.
    """
    if sight.registry is None:
        return None, False
    facts = RoleFacts(role=role, subject=state.subject, state=state, memberships={})
    # Nobody has given it an id yet, and none is asked for by one.
    new = Membership(schema_id=SchemaId(0), schema=schema, error_code=None, answered_id=None)
    try:
        refusals = foreseen_refusals(sight.registry, facts, (new,), must_know=True)
    except (RegistryAnswerError, RegistryProtocolError) as error:
        if error.status not in NO_SUCH_QUESTION:
            raise
        sight.skip(
            Skipped(
                what=f"whether {state.subject} takes a schema",
                reason=f"the registry answers no compatibility check (HTTP {error.status})",
                could_hide=True,
                subjects=(state.subject,),
            )
        )
        return None, False
    return next((refusal.reason for refusal in refusals), None), True
