"""The effect of a store's next put on the registry: the subject, the schema, and whether it can be registered at
all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from srfix.recovery.facts.reader import CheckContext
    from srfix.recovery.facts.stores import RoleFacts, StoreFacts
    from srfix.recovery.facts.subject_state import SubjectState
    from srfix.serde.subjects.names import Subject
    from srfix.serde.wire import SchemaId

_READ_ONLY: Final = frozenset({"READONLY", "READONLY_OVERRIDE"})


@dataclass(frozen=True, slots=True, kw_only=True)
class NextPut:
    subject: Subject
    """The subject that its serde is handed: the phantom one, or from Kafka Streams 2.7 on the source's own."""
    state: SubjectState
    own_id: SchemaId | None
    """The id of the application's own schema, where the phantom subject shows it and `subject` has no live version of it."""

    @property
    def is_new(self) -> bool:
        """True if the schema that is put is certain not to be there: then it has to be registered."""
        return not self.state.live or self.own_id is not None


def written_subject(facts: StoreFacts, role: RoleFacts, context: CheckContext) -> Subject:
    """The subject that the store's serde is handed for a put; the phantom one while the source is undecided.

    A reader with the dual-subject fallback goes on writing under the changelog's name on every Kafka Streams, and so does
    ksqlDB: where it reuses a source topic on 2.7 or later, its serde is a StaticTopicSerde (ksql pull 5823).
    """
    from srfix.recovery.internal_topics import ksqldb_query

    is_of_ksqldb = ksqldb_query(facts.store.application) is not None
    if facts.source is None or not context.asks_the_source_subject or context.is_dual or is_of_ksqldb:
        return role.subject
    return facts.store.source_subject(facts.source.topic, role.role)


def next_put(facts: StoreFacts, role: RoleFacts, context: CheckContext) -> NextPut:
    subject = written_subject(facts, role, context)
    if subject == role.subject:
        return NextPut(subject=subject, state=role.state, own_id=None)
    state = context.state_of(subject)
    return NextPut(subject=subject, state=state, own_id=_own_id(role, state, context) if role.state.versions else None)


def _own_id(role: RoleFacts, source: SubjectState, context: CheckContext) -> SchemaId | None:
    from srfix.recovery.facts.internal_schemas import is_first_of_its_own, latest_own, own_versions

    own = latest_own(own_versions(role, source.subject, context.membership))
    if own is not None:
        return own.schema_id
    first = role.state.versions[0].schema_id
    # The repair of SRF004 leaves it soft-deleted: readers find it, and a put has to register it again.
    is_deleted = first in source.schema_ids and first not in {version.schema_id for version in source.live}
    carried = tuple(role.memberships)
    is_own = is_deleted and first not in carried and is_first_of_its_own(role.state, source, carried, first)
    return first if is_own else None


def why_none_registers(subject: Subject, own_mode: str | None, context: CheckContext) -> str | None:
    """Why nothing new can be registered under a subject with this mode of its own, in a clause; None if something can."""
    if context.no_auto_register:
        return "the application's serializers register nothing (--no-auto-register)"
    from srfix.recovery.facts.refusals import mode_in_force

    whose, mode = mode_in_force(context.registry, subject, own_mode)
    return f"{whose} mode is {mode}" if mode in _READ_ONLY else None
