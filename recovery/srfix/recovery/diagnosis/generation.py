"""Which Kafka Streams has written, as the source topic's subject tells once its records are counted."""

from __future__ import annotations

from collections.abc import Iterator

from srfix.recovery.advice import GenerationHint
from srfix.recovery.checks import POLLUTION, internal_versions
from srfix.recovery.evidence import Applications
from srfix.recovery.facts import WITH_FIX, CheckContext, StoreFacts
from srfix.recovery.ids_in_words import enumerated
from srfix.serde.subjects import Role


def from_source_subject(facts: StoreFacts, context: CheckContext, among: Applications) -> Iterator[GenerationHint]:
    """The store's own schema under the source's subject: a put registers it there from Kafka Streams 2.7 on. It is the
    phantom subject's first one, for a repair copies others of the source's there. Nothing where another application may have
    read the topic: one with the same serde registers the same. Nor is it said by the key's schema alone, where the values have
    one: tables of other columns have the same key, and who reads the topic into a global table commits nothing.
    """
    found = {}
    for role in facts.roles.values():
        first = {version.schema_id for version in role.state.versions[:1]}
        found[role.role] = sorted(internal_versions(facts, role, context).keys() & first)
    value = facts.roles.get(Role.VALUE)
    if value is not None and value.state.versions and not found[Role.VALUE]:
        return
    for of, own in found.items():
        source = facts.source_of(of)
        if own and source is not None and not among.others_read(source.topic, facts.store.application):
            yield GenerationHint(
                oldest=WITH_FIX,
                newest=None,
                detail=f"{source.subject} holds schema id {enumerated(own)}, which the store's serde has registered "
                f"({POLLUTION})",
            )
