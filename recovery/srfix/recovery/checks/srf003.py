"""SRF003, masked: every id that a restore loads is found under the phantom subject, or through it. A note."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from srfix.recovery.checks import srf001, srf006
from srfix.recovery.checks.interface import Advice, Check, Repair, RepairRequest, Wanted, Width
from srfix.recovery.checks.missing import missing_on_disk
from srfix.recovery.checks.proofs import answered_through, at_fault
from srfix.recovery.checks.srf005 import stands_beside
from srfix.recovery.findings import Finding, Severity
from srfix.recovery.ids_in_words import listed, named_ids

if TYPE_CHECKING:
    from srfix.recovery.census.interface import Census
    from srfix.recovery.facts.reader import CheckContext
    from srfix.recovery.facts.stores import RoleFacts, StoreFacts
    from srfix.serde.subjects.names import Subject, Topic
    from srfix.serde.wire import SchemaId

CODE = "SRF003"


def check(facts: StoreFacts, context: CheckContext) -> Iterator[Finding]:
    if facts.source is None or facts.census is None:
        return
    beside = stands_beside(facts)
    for role in facts.roles.values():
        ids = facts.census.restorable_ids(role.role)
        if not ids or any(role.memberships[i].error_code is not None for i in ids):
            continue
        if not all(role.memberships[i].is_known for i in ids):
            continue  # another check speaks of ids that nobody knows
        if missing_on_disk(facts, role, context):
            continue  # another check speaks of rows that no restore brings
        yield facts.finding(
            CODE,
            role.role,
            severity=Severity.NOTE,
            schema_ids=at_fault(facts.census, role.role, ids),
            explanation=(
                f"Store {facts.store.name} of application {facts.store.application} restores from topic "
                f"{facts.source.topic}, and the store's reader asks {role.subject}. "
            )
            + " ".join(_standing(facts, role, ids, facts.source.topic, facts.census))
            + beside,
            next_step=(
                f"Run {context.command_line.quoted('diagnose', '--application', facts.store.application)} again after "
                "every new schema of the source. To remove the cause, upgrade to Kafka Streams 2.7 or later, or "
                "give the store a changelog of its own."
            ),
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
    where = "found by a look-up there" if elsewhere else "registered there"
    if census.is_partial:
        yield (
            f"The ids that srfix has seen ({listed(ids)}) are {where}. But srfix did not read the topic to its end, "
            "so srfix does not know whether the store can be read."
        )
    else:
        misses = facts.key_asymmetry is not None
        can = "the store's rows can be decoded" if misses else "the store can be read"
        yield (
            f"All ids that a restore loads ({listed(ids)}) are {where}, by luck or by a repair. So {can} until the topic "
            f"gets a record with a new schema of {source}."
        )
        if misses:
            yield "But look-ups by key do not find these rows, now or later."
    for subject, ids_answered in sorted(elsewhere.items()):
        yield f"The look-up of {named_ids(ids_answered)} is {answered_through(role.subject, subject)}."


def _wants(finding: Finding, request: RepairRequest) -> Wanted:
    """Other ids in the log or under the source's subject, which will be missing later; only on request."""
    facts = request.facts_of(finding)
    codes = request.also & {srf001.CODE, srf006.CODE}
    if codes and facts is not None and request.width is Width.WIDE:
        code = srf006.CODE if facts.is_global else srf001.CODE
        none = replace(finding, schema_ids=())
        yield srf001.want_of_phantom(facts, facts.roles[finding.role], request, none, code=code)


CHECK: Final = Check(
    code=CODE,
    title="Masked: the phantom subject exists, and holds every schema that a restore would load",
    severity="note",
    meaning="The store depends on a phantom subject, and today that subject knows all live ids. This ends when the "
    "source topic gets records with a new schema, because nobody will register the new schema under the phantom "
    "subject. If an alias or another context answers for the subject, it also ends when that alias or context is "
    "removed.",
    cause="Somebody repaired the store. Or the store's serdes write each row under its writer's schema, as a generic "
    "Avro serde does.",
    detection="srfix makes the checks of SRF001, and finds no id that is missing.",
    remedy="Nothing is broken. Run srfix diagnose again after each new schema of the source. Or remove the cause: "
    "upgrade to Kafka Streams 2.7.0 or later (read SRF004, SRF016 and SRF017 first), or give the store a real "
    "changelog.",
    find=check,
    repair=Repair(wants=_wants),
    advice=Advice(
        note=lambda _known: (
            "Nothing is broken now, and no repair or restart is needed. Run srfix diagnose again before a "
            "wipe, a move of partitions or an upgrade."
        ),
        recurs=True,
    ),
)
