"""SRF016: from Kafka Streams 2.7 on a put registers the application's internal schema under the source's own subject.

There it meets the producers' compatibility rules: it is refused and the stream thread dies (409, seen on 2.7.0 and 4.3.1), or
it becomes the latest version of a subject that others use.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from srfix.recovery.checks import srf004
from srfix.recovery.checks.certainty import is_certain, make_certain
from srfix.recovery.checks.interface import Advice, CatalogueEntry, Check, Rules
from srfix.recovery.checks.puts import NextPut, next_put, why_none_registers, written_subject
from srfix.recovery.findings import Finding, IdAtFault, Severity

if TYPE_CHECKING:
    from srfix.recovery.facts.reader import CheckContext
    from srfix.recovery.facts.stores import RoleFacts, StoreFacts
    from srfix.serde.subjects.names import Subject
    from srfix.serde.wire import SchemaId

CODE = "SRF016"


def check(facts: StoreFacts, context: CheckContext) -> Iterator[Finding]:
    """One finding per role, where Kafka Streams 2.7 or later runs, or is said to.

    The registry is asked whether it would take the schema, without writing. Where nothing can be registered at all, SRF015
    says so; where it would be taken, SRF004 says what else happens to the same schema, and this says nothing.
    """
    for role in facts.roles.values():
        if not role.state.versions or written_subject(facts, role, context) == role.subject:
            continue
        put = next_put(facts, role, context)
        if put.own_id is None or why_none_registers(put.subject, put.state.mode, context) is not None:
            continue
        refusal, untold = _asked(role, put, put.own_id, context)
        if refusal is None and untold is None and _is_mirrored(facts, role, context):
            continue
        yield facts.finding(
            CODE,
            role.role,
            severity=Severity.BREAKS_ON_UPGRADE if refusal is not None else Severity.NOTE,
            subject=put.subject,
            schema_ids=(IdAtFault(schema_id=put.own_id, live_keys=None, records=0, partitions=()),),
            registered_ids=put.state.schema_ids,
            explanation=" ".join(_explanation(facts, role, put, put.own_id, refusal, untold)),
            next_step=_next(facts, put, refusal, untold, context),
        )


def _asked(role: RoleFacts, put: NextPut, own_id: SchemaId, context: CheckContext) -> tuple[str | None, str | None]:
    """Why the registry would refuse the schema, or why it cannot be told, in a clause each."""
    from srfix.recovery.facts.refusals import NO_SUCH_QUESTION
    from srfix.recovery.facts.stores import RoleFacts
    from srfix.serde.schemas.errors import RegistryAnswerError, RegistryProtocolError

    registration = context.membership(put.subject, own_id)
    asked = RoleFacts(role=role.role, subject=put.subject, state=put.state, memberships={})
    try:
        refusals = context.refusals(asked, [registration], must_know=True)
    except (RegistryAnswerError, RegistryProtocolError) as error:
        if error.status not in NO_SUCH_QUESTION:
            raise
        return None, f"the registry answers no compatibility check (HTTP {error.status})"
    return (refusals[0].reason if refusals else None), None


def _is_mirrored(facts: StoreFacts, role: RoleFacts, context: CheckContext) -> bool:
    return any(finding.role is role.role for finding in srf004.check(facts, context))


def _explanation(
    facts: StoreFacts, role: RoleFacts, put: NextPut, own_id: SchemaId, refusal: str | None, untold: str | None
) -> Iterator[str]:
    yield (
        f"Store {facts.store.name} of application {facts.store.application} writes its {role.role.value}s under schema id "
        f"{own_id}, the application's own, which {role.subject} holds and {put.subject} does not. From Kafka "
        "Streams 2.7 on the first put registers it there."
    )
    if refusal is not None:
        yield f"As things stand the registry refuses it ({refusal}): the put fails, and its stream thread dies."
    elif untold is not None:
        yield f"Whether the registry would take it cannot be told: {untold}."
    else:
        yield (
            "The registry would take it: it becomes the latest version of a subject that the topic's producers and readers "
            "use, though no record carries it."
        )


def where_refused(subject: Subject, *, is_global: bool) -> str:
    """What to do before an upgrade whose first put the source's subject refuses."""
    return (
        f"{_ways(is_global=is_global)}; or have the owner of {subject} set a compatibility that takes both. No registration by "
        "srfix helps: a soft-deleted version is registered anew by the put, and checked then."
    )


def _ways(*, is_global: bool) -> str:
    if is_global:
        return "Before the upgrade let the application write the producers' schema"
    return (
        "Before the upgrade turn the reuse off with a seeded changelog of the store's own, or let the application write the "
        "producers' schema"
    )


def _next(facts: StoreFacts, put: NextPut, refusal: str | None, untold: str | None, context: CheckContext) -> str:
    ways = _ways(is_global=facts.is_global)
    if refusal is not None:
        told = where_refused(put.subject, is_global=facts.is_global)
        return told if is_certain(facts) else f"{told} {make_certain(facts, context)}"
    if untold is not None:
        return (
            f"Have the schema checked against {put.subject} at its level before the upgrade. {ways}, if it is refused."
        )
    return (
        f"Nothing breaks by it. Tell those who use the latest version of {put.subject} (use.latest.version, Connect, ksqlDB "
        "sources), or keep it away from there: turn the reuse off with a seeded changelog, or let the application "
        "write the producers' schema."
    )


CHECK: Final = Check(
    entry=CatalogueEntry(
        code=CODE,
        title="After an upgrade the internal schema would go under your own subject",
        severity="breaks on upgrade",
        meaning="From 2.7.0 on the first put registers the reader's schema under the source subject. It is refused with 409 "
        "and the thread dies, or it is accepted and becomes the latest version of a subject that others use (then a note).",
        cause="An upgrade across 2.7.0 with a reused source topic or a global table, and a reader whose schema differs from "
        "the writer's.",
        detection="Where Kafka Streams 2.7 or later runs, or is said to (--streams-version): a compatibility check of the "
        "application's latest own schema, as the phantom subject shows it, against the source subject at the level in force, "
        "without writing. A registry that has no such check leaves it open, and that is said.",
        remedy="Turn the reuse off with a seeded changelog, or let the application write the producers' schema, then upgrade.",
        checked_since="0.1.0",
    ),
    find=check,
    advice=Advice(
        rules=Rules(
            wiping=f"wiping it is no way out here, for the first put after it is refused ({CODE})",
            upgrade=f"but not before {CODE} is mended: the first put is refused there",
            of_notes=False,
        )
    ),
)
