"""SRF002: the incident of SRF001, which the rows on disk prove not to have come yet: the next restore brings it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from srfix.recovery.checks import srf001
from srfix.recovery.checks.interface import Advice, AdviceRequest, Check, Repair
from srfix.recovery.checks.missing import (
    failing_read,
    is_untold,
    missing_ids,
    missing_on_disk,
    nothing_to_do,
    what_it_restores,
    what_the_subject_lacks,
    why_nothing_fails,
)
from srfix.recovery.checks.proofs import at_fault, prove_absent, read_in_words
from srfix.recovery.checks.srf005 import stands_beside
from srfix.recovery.findings import Finding, IdAtFault, Severity
from srfix.recovery.ids_in_words import listed

if TYPE_CHECKING:
    from srfix.recovery.facts.reader import CheckContext
    from srfix.recovery.facts.stores import RoleFacts, StoreFacts, StoreRows

CODE = "SRF002"


def check(facts: StoreFacts, context: CheckContext) -> Iterator[Finding]:
    if is_untold(facts, context):
        return
    for role in facts.roles.values():
        missing = missing_ids(facts, role)
        if missing_on_disk(facts, role, context):
            continue  # it is broken now
        if not missing or facts.census is None or facts.rows is None or not prove_absent(facts, role, missing):
            continue
        if context.asks_the_source_subject and not role.state.versions:
            continue  # nobody asks that subject, and nobody ever did
        faults = at_fault(facts.census, role.role, missing)
        needs = context.lookup_severity(role.subject) is not Severity.NOTE
        yield facts.finding(
            CODE,
            role.role,
            severity=Severity.BREAKS_ON_RESTORE if needs else Severity.NOTE,
            schema_ids=faults,
            explanation=_explanation(facts, facts.rows, role, faults, context),
            next_step=_next(facts, role, context),
            repairable=True,
        )


def _explanation(
    facts: StoreFacts, rows: StoreRows, role: RoleFacts, faults: tuple[IdAtFault, ...], context: CheckContext
) -> str:
    own = sorted(rows.ids(role.role))
    sentences = [
        what_it_restores(facts, faults),
        what_the_subject_lacks(role, faults),
        f"None of these ids is in the store on disk: srfix read all rows of the store ({read_in_words(rows)}), and "
        f"they carry schema {'id' if len(own) == 1 else 'ids'} {listed(own)}.",
    ]
    if context.lookup_severity(role.subject) is Severity.NOTE:
        sentences.append(why_nothing_fails(role.subject, context))
    else:
        sentences.append(
            "So the rows in these directories can be read. The next restore (after a lost state directory, "
            "a move of the partition to another instance, or a standby's take-over) loads records with these ids. Then "
            f"{failing_read(role, faults, context)}. This holds only for the state directories that you "
            "gave. They do not show standbys, or an instance that has restored since the copy."
        )
    return " ".join(sentences) + stands_beside(facts)


def _next(facts: StoreFacts, role: RoleFacts, context: CheckContext) -> str:
    if context.lookup_severity(role.subject) is Severity.NOTE:
        return nothing_to_do(context, *facts.store.options, "--also", CODE)
    return (
        "Make the repair before the next restore. Until then keep the state directories: do not wipe, do not restart, "
        f"and avoid moving partitions. Run {context.command_line.plan_and_apply(*facts.store.options)}."
    )


def _advise(request: AdviceRequest) -> Iterator[str]:
    from srfix.recovery.advice.playbook import before_repair, prevention

    circumstances = request.circumstances
    stores = listed(sorted({finding.store for finding in request.findings}))
    yield f"Nothing fails yet in {stores}. Repair this before the next restore."
    yield from before_repair(circumstances)
    yield f"{srf001.repair_in_words(request)} No restart is needed, because the reader asks only after a restore."
    yield from prevention(circumstances, request.rules.upgrade)


CHECK: Final = Check(
    code=CODE,
    title="The next restore will break a store that is still readable",
    severity="breaks on restore",
    meaning=(
        "The same as SRF001, with one difference: the phantom subject knows the ids of all rows in the state "
        "directories that you gave. Nothing fails today. Reads will fail after a restore."
    ),
    cause="As for SRF001, but no state directory has been lost yet.",
    detection=(
        "srfix makes the checks of SRF001. It also reads the rows of every partition's store from the state "
        "directories (--state-dir, with pip install 'srfix[state]'). The rows prove SRF002 only if all of these are "
        "true:\n- No process holds a directory.\n- srfix has read every row of every partition.\n- The checkpoint has "
        "reached the offsets that the group has committed.\nOtherwise the finding is SRF001, and says what srfix saw "
        "on disk. srfix does not see standbys elsewhere, or an instance that has restored since the directory was "
        "copied. It never reports a global store as SRF002, because such a store restores at its first start."
    ),
    remedy="Repair as for SRF001 before the next restore. Until then keep the state directories: do not wipe them, "
    "and avoid moving partitions.",
    find=check,
    repair=Repair(
        wants=srf001.wants_of(CODE),
        also="ids that no row on disk carries, and that srfix reports only as a note because the reader does not "
        "need them",
    ),
    advice=Advice(
        serious=_advise, is_whole=True, note=srf001.CHECK.advice.note, recurs=True, do_not=srf001.CHECK.advice.do_not
    ),
)
