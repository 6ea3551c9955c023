"""SRF003, masked: every id that a restore loads is found under the phantom subject, or through it. A note."""

from __future__ import annotations

from collections.abc import Iterator

from srfix.recovery.census.interface import Census
from srfix.recovery.checks._counting import answered_through, at_fault, restorable_ids
from srfix.recovery.checks.interface import CheckContext
from srfix.recovery.checks.srf005 import asymmetry_of, stands_beside
from srfix.recovery.findings import Finding, Severity, Source
from srfix.recovery.ids_in_words import listed
from srfix.recovery.stores import RoleFacts, StoreFacts
from srfix.serde.subjects import Subject, Topic
from srfix.serde.wire import SchemaId

__all__ = ["CODE", "check"]

CODE = "SRF003"


def check(facts: StoreFacts, context: CheckContext) -> Iterator[Finding]:
    """One note per role whose ids are all there."""
    if facts.source is None or facts.census is None:
        return
    beside = stands_beside(facts)
    for role in facts.roles.values():
        ids = restorable_ids(facts.census, role.role)
        if not ids or any(role.memberships[i].error_code is not None for i in ids):
            continue
        if not all(role.memberships[i].is_known for i in ids):
            continue  # SRF011 speaks of them
        yield Finding(
            code=CODE,
            severity=Severity.NOTE,
            application=facts.store.application,
            store=facts.store.name,
            role=role.role,
            subject=role.subject,
            source=Source(topic=facts.source.topic, subject=facts.store.source_subject(facts.source.topic, role.role)),
            schema_ids=at_fault(facts.census, role.role, ids),
            registered_ids=role.state.schema_ids,
            evidence=facts.evidence,
            explanation=f"Store {facts.store.name} of application {facts.store.application} restores from topic "
            f"{facts.source.topic}, and its reader asks {role.subject}. "
            + " ".join(_standing(facts, role, ids, facts.source.topic, facts.census))
            + beside,
            next=f"Run {context.given.quoted('diagnose', '--application', facts.store.application)} again after every new "
            "schema of the source; to be rid of it, upgrade to Kafka Streams "
            "2.7 or later, or give the store a changelog of its own.",
            repairable=False,
        )


def _standing(
    facts: StoreFacts, role: RoleFacts, ids: tuple[SchemaId, ...], topic: Topic, census: Census
) -> Iterator[str]:
    source = facts.store.source_subject(topic, role.role)
    elsewhere: dict[Subject, list[SchemaId]] = {}
    for schema_id in ids:
        answered = role.memberships[schema_id].answered_subject
        if answered is not None:
            elsewhere.setdefault(answered, []).append(schema_id)
    where = "found when they are asked for there" if elsewhere else "registered there"
    if census.is_partial:
        yield (
            f"The ids that were found ({listed(ids)}) are {where}, but the topic was not read to its end: whether "
            "the store can be read is not known."
        )
    else:
        can = "it can be read" if asymmetry_of(facts) is None else "its rows can be decoded, not found by their keys"
        yield (
            f"All ids that a restore loads ({listed(ids)}) are {where}, by luck or by a repair, so {can}: until the next "
            f"schema of {source} is in the topic."
        )
    for subject, of_it in sorted(elsewhere.items()):
        yield f"The look-up of {listed(of_it)} is {answered_through(role.subject, subject)}."
