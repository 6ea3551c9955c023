"""SRF017: ids that a restore loads are not registered under the source topic's own subject either.

srfix asks as the reader does, by content and with deleted versions. Kafka Streams 2.7.0 and later gives the serde the
name of the source topic (pull request 8902), and a reader with the dual-subject fallback tries that topic's subject
second.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from srfix.recovery.checks.interface import Advice, Check, Rules
from srfix.recovery.checks.missing import why_nothing_fails
from srfix.recovery.checks.proofs import at_fault, in_words
from srfix.recovery.findings import Finding, IdAtFault, Severity
from srfix.serde.subjects.names import DEFAULT_CONTEXT

if TYPE_CHECKING:
    from srfix.recovery.facts.reader import CheckContext
    from srfix.recovery.facts.stores import RoleFacts, StoreFacts
    from srfix.serde.subjects.names import Subject

CODE = "SRF017"


def check(facts: StoreFacts, context: CheckContext) -> Iterator[Finding]:
    if facts.source is None or facts.census is None:
        return
    for role in facts.roles.values():
        absent = tuple(sorted(i for i, membership in role.source_memberships.items() if membership.is_missing))
        if not absent:
            continue
        faults = at_fault(facts.census, role.role, absent)
        subject = facts.store.source_subject(facts.source.topic, role.role)
        ids = context.state_of(subject).schema_ids
        yield facts.finding(
            CODE,
            role.role,
            severity=_severity(subject, role, faults, context),
            subject=subject,
            schema_ids=faults,
            registered_ids=ids,
            explanation=_explanation(facts.source.topic, subject, role, faults, context, exists=bool(ids)),
            next_step=(
                f"Before an upgrade, register these schemas under {subject}, too (first check its compatibility level). "
                "Or give the readers the subject naming strategy that the producer uses. srfix plan does not do "
                "this, because the subject is yours."
            ),
        )


def _in_neither(role: RoleFacts, faults: tuple[IdAtFault, ...]) -> bool:
    return any(role.memberships[fault.schema_id].is_missing for fault in faults)


def _severity(subject: Subject, role: RoleFacts, faults: tuple[IdAtFault, ...], context: CheckContext) -> Severity:
    if context.is_dual:
        return Severity.BROKEN if _in_neither(role, faults) else Severity.NOTE
    if context.does_without(subject):
        return Severity.NOTE
    return Severity.BROKEN if context.asks_the_source_subject else Severity.BREAKS_ON_UPGRADE


def _explanation(
    topic: str, subject: Subject, role: RoleFacts, faults: tuple[IdAtFault, ...], context: CheckContext, *, exists: bool
) -> str:
    missing = "40403" if exists else "40401: there is no such subject"
    what = (
        f"Records of topic {topic} carry ids that are not registered under the topic's own subject {subject} "
        f"({missing}): {in_words(faults)}. Perhaps the producer uses another subject naming strategy, or the topic "
        "was mirrored under a new name, or somebody hard-deleted the schemas there."
    )
    if context.is_dual:
        both = f"The dual-subject fallback asks {role.subject} and {subject}"
        return (
            f"{what} {both}, and neither subject has all of these ids."
            if _in_neither(role, faults)
            else f"{what} {both}."
        )
    if context.does_without(subject):
        return f"{what} {why_nothing_fails(subject, context)}"
    if context.asks_the_source_subject:
        reader = (
            "A reader that looks up the version there"
            if context.registry.context_of(subject) == DEFAULT_CONTEXT
            else "The subject is in a named context, so a reader that asks for the id there"
        )
        return f"{what} This version of Kafka Streams asks that subject. {reader} cannot read the rows."
    return (
        f"{what} Kafka Streams 2.7 and later ask this subject, and the dual-subject fallback asks it second. Both fail."
    )


CHECK: Final = Check(
    code=CODE,
    title="Live ids are not registered under the topic's own subject",
    severity="breaks on upgrade",
    meaning=(
        "Records of the topic carry ids of schemas that the subject <source>-value lacks. A reader on 2.7.0 or later "
        "would fail. The second try of a dual-subject reader would fail, too."
    ),
    cause="The producer uses another subject naming strategy, or the topic was mirrored under a new name. Or somebody "
    "hard-deleted the schemas under the topic's own subject.",
    detection="srfix looks up each live id under the subject of the source topic, by content.",
    remedy="Register the schemas there, too. Or give the readers the strategy that the producer uses.",
    find=check,
    advice=Advice(
        rules=Rules(
            wiping=f"wiping the state does not help here, because restored rows cannot be read either ({CODE})",
            upgrade=f"but repair {CODE} first, because a reader on 2.7 or later fails for the same ids",
        )
    ),
)
