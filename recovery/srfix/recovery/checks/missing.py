"""Which ids of a store's topic, or of its rows, the phantom subject lacks; and whether anything shows that it is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from srfix.recovery.internal_topics import ksqldb_query

if TYPE_CHECKING:
    from srfix.recovery.facts.reader import CheckContext
    from srfix.recovery.facts.stores import RoleFacts, StoreFacts
    from srfix.serde.wire import SchemaId

_POINTS_TO_STORES: Final = frozenset({"state-directory", "topology"})
"""Kinds of evidence that name stores of every version of Kafka Streams alike, whether or not they left a subject."""


def missing_ids(facts: StoreFacts, role: RoleFacts) -> tuple[SchemaId, ...]:
    """The restorable ids whose schema the registry knows, but not under the phantom subject; ascending."""
    if facts.census is None:
        return ()
    return tuple(i for i in facts.census.restorable_ids(role.role) if role.memberships[i].is_missing)


def missing_on_disk(facts: StoreFacts, role: RoleFacts, context: CheckContext) -> tuple[SchemaId, ...]:
    """The ids of rows on disk that no record carries, and whose schema the registry knows, but not under the phantom subject;
    ascending. None where a Kafka Streams with the fix may never have asked that subject.
    """
    if context.asks_the_source_subject or not (role.state.versions or missing_ids(facts, role)):
        return ()
    return tuple(sorted(i for i, membership in role.row_memberships.items() if membership.is_missing))


def is_of_global_store(facts: StoreFacts, context: CheckContext) -> bool:
    """True if missing ids of a store are those of a global one (`srf006`): not where a Kafka Streams with the fix is known to
    run. While the source is undecided, that the group commits nothing on a candidate proves nothing.
    """
    is_global = facts.is_told_global if facts.source is None else facts.is_global
    return is_global and not context.asks_the_source_subject


def is_untold(facts: StoreFacts, context: CheckContext) -> bool:
    """True if nothing shows whether the store's serdes ask the phantom subjects at all: none exists, in no role, and which
    Kafka Streams runs is not known. From 2.7 on they are never asked, and what is healthy looks just so.

    Not where a person names the store or its source, who has a reason to; and ksqlDB's serdes ask them on every version.
    """
    kinds = {piece.kind for piece in facts.evidence if not piece.against}
    return (
        context.streams_version is None
        and not any(role.state.versions for role in facts.roles.values())
        and not (facts.rows is None and facts.rows_not_read is None and kinds.isdisjoint(_POINTS_TO_STORES))
        and "explicit" not in kinds
        and ksqldb_query(facts.store.application) is None
    )
