"""SRF001, the incident (KAFKA-10179): ids that a restore puts in the store are not registered under the phantom subject."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from srfix.recovery.checks.counting import at_fault, in_words
from srfix.recovery.checks.interface import (
    Advice,
    AdviceRequest,
    CatalogueEntry,
    Check,
    Owner,
    PassedOver,
    Repair,
    RepairRequest,
    Want,
    Wanted,
    Width,
)
from srfix.recovery.checks.on_disk import carried, prove_absent, read_in_words, rows_in_words
from srfix.recovery.checks.srf005 import stands_beside
from srfix.recovery.commands import shell_words
from srfix.recovery.findings import Finding, IdAtFault, Severity
from srfix.recovery.ids_in_words import listed
from srfix.serde.printable import capitalized
from srfix.serde.subjects import DEFAULT_CONTEXT

if TYPE_CHECKING:
    from srfix.recovery.facts import CheckContext, Circumstances, Membership, RoleFacts, StoreFacts, SubjectState
    from srfix.serde.subjects import Subject
    from srfix.serde.wire import SchemaId

CODE = "SRF001"

_MOST_IDS: Final = 10
"""Ids of a subject that are named; the rest is counted."""


_TELLS_OF_RESTORES = frozenset({"explicit", "ksqldb", "state-directory"})
"""Kinds of evidence that say from where a store restores, not only what it is made of."""


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


def check(facts: StoreFacts, context: CheckContext) -> Iterator[Finding]:
    """One finding per role with missing ids, of every store but a global one, and unless the rows on disk prove that none of
    them is in the store (SRF002).
    """
    if not is_of_global_store(facts, context):
        yield from found(CODE, facts, context)


def found(code: str, facts: StoreFacts, context: CheckContext) -> Iterator[Finding]:
    """One finding per role with missing ids, under this code, unless the rows on disk prove that none is in it (SRF002)."""
    for role in facts.roles.values():
        missing, on_disk = missing_ids(facts, role), missing_on_disk(facts, role, context)
        if facts.census is None or not (missing or on_disk):
            continue
        if not on_disk and prove_absent(facts, role, missing):
            continue
        if context.asks_the_source_subject and not role.state.versions:
            continue  # nobody asks that subject, and nobody ever did
        faults = at_fault(facts.census, role.role, (*missing, *on_disk))
        yield facts.finding(
            code,
            role.role,
            severity=context.lookup_severity(role.subject),
            schema_ids=faults if facts.source is not None else (),
            explanation=_explanation(facts, role, faults, context),
            next_step=_next(code, facts, role, context),
            repairable=facts.source is not None,
        )


def _explanation(facts: StoreFacts, role: RoleFacts, faults: tuple[IdAtFault, ...], context: CheckContext) -> str:
    store = facts.store
    if facts.source is None:
        candidates = _candidates(facts)
        its = f"Store {store.name} of application {store.application}"
        if len(candidates) == 1:
            return (
                f"{its} seems to restore from topic {candidates[0]}, but the evidence is weak. That topic holds schema ids "
                f"that are not registered under {role.subject}."
            )
        return (
            f"{its} restores from one of {', '.join(candidates)}, and the evidence does not say from which. At least one of "
            f"them holds schema ids that are not registered under {role.subject}."
        )
    restored = tuple(fault for fault in faults if fault.schema_id in role.memberships)
    on_disk = [fault.schema_id for fault in faults if fault.schema_id not in role.memberships]
    sentences = [what_it_restores(facts, restored)] if restored else []
    if on_disk and facts.rows is not None:
        sentences.append(
            f"Rows of the store on disk carry {rows_in_words(facts.rows, role.role, on_disk)}, which no record of topic "
            f"{facts.source.topic} carries any more: no restore brings them back, and reading them fails now."
        )
    sentences.append(what_the_subject_lacks(role, faults))
    if restored:
        sentences.append(_what_happens(facts, role, restored, context))
    return " ".join(sentences) + stands_beside(facts)


def what_it_restores(facts: StoreFacts, faults: tuple[IdAtFault, ...]) -> str:
    """From which topic, and with which ids that are at fault; for a store whose source is decided."""
    store, topic = facts.store, facts.source.topic if facts.source is not None else None
    return (
        f"Store {store.name} of application {store.application} has no changelog topic of its own: it restores the bytes of "
        f"topic {topic} as they are. They carry {in_words(faults)}."
    )


def what_the_subject_lacks(role: RoleFacts, faults: tuple[IdAtFault, ...]) -> str:
    """Which of these ids the phantom subject does not hold, and what it does."""
    lacks = [fault.schema_id for fault in faults]
    codes = ", ".join(str(code) for code in sorted({role.membership(schema_id).error_code or 0 for schema_id in lacks}))
    if not role.state.versions:
        return f"The subject that the store's reader asks, {role.subject}, does not exist ({codes})."
    return (
        f"The subject that the store's reader asks, {role.subject}, holds {_held(role.state)}, but not {_some(lacks)} "
        f"({codes})."
    )


def _held(state: SubjectState) -> str:
    """`schema id 3`, `schema ids 3 and 5 (5 soft-deleted)`, …"""
    ids = state.schema_ids
    live = {version.schema_id for version in state.live}
    deleted = [schema_id for schema_id in ids if schema_id not in live]
    words = f"{'schema id' if len(ids) == 1 else 'schema ids'} {_some(ids)}"
    if not deleted:
        return words
    return f"{words} ({'soft-deleted' if not live else f'{_some(deleted)} soft-deleted'})"


def _some(ids: Sequence[SchemaId]) -> str:
    return listed(ids, most=_MOST_IDS)


def _unless_without_logging(facts: StoreFacts) -> str:
    """What evidence of the cluster cannot tell apart; a state directory or a person has said that it restores."""
    source = facts.source
    if source is None or any(e.kind in _TELLS_OF_RESTORES and e.topic == source.topic for e in facts.evidence):
        return ""
    return (
        " A store whose logging is disabled looks the same from here, and nothing is restored into that one (SRF007): "
        "--state-dir may tell."
    )


def _what_happens(facts: StoreFacts, role: RoleFacts, faults: tuple[IdAtFault, ...], context: CheckContext) -> str:
    if context.lookup_severity(role.subject) is Severity.NOTE:
        return why_nothing_fails(role, context)
    sentence = f"{_condition(role, context)}after a restore {failing_read(facts, role, faults, context)}."
    unless = (
        " If Kafka Streams 2.7 or later runs, that subject is never asked, which would explain that it does not exist: say "
        "so with --streams-version."
        if context.streams_version is None and not role.state.versions
        else ""
    )
    when = _seen_on_disk(facts, role, faults)
    if facts.is_global:
        at_start = (
            "A global table restores the records that stand in the topic at its very first start too, so that no wipe is "
            "needed for this."
        )
        when = f"{when or at_start} {_why_global(facts)}"
    elif not when:
        when = "Whether a restore has happened yet cannot be told from cluster and registry alone; the next brings it about."
    return f"{capitalized(sentence)} {when}{unless}{_unless_without_logging(facts)}"


def why_nothing_fails(role: RoleFacts, context: CheckContext) -> str:
    """Why ids that are missing make nothing fail, in a sentence; where they are a note."""
    why = (
        f"a {context.reader.value} reader does not need that version"
        if context.does_without(role.subject)
        else "this Kafka Streams asks the source's subject"
    )
    return f"As {why}, nothing fails because of it."


def _condition(role: RoleFacts, context: CheckContext) -> str:
    """Under which condition a read fails, as the beginning of a sentence; empty without one."""
    named = context.registry.context_of(role.subject)
    if context.fails_by_id(role.subject):
        return (
            f"a plain reader asks for the id under the subject too, and in context {named} the registry gives the schema of "
            "an id to no subject that does not hold it: "
        )
    return (
        ""
        if context.is_connect or named != DEFAULT_CONTEXT
        else "if the reader looks the version up under the subject, "
    )


def failing_read(facts: StoreFacts, role: RoleFacts, faults: tuple[IdAtFault, ...], context: CheckContext) -> str:
    """What becomes of the rows after a restore, in a clause with the reader's message."""
    named = context.registry.context_of(role.subject)
    after = "those rows cannot be read" if any(fault.live_keys for fault in faults) else "its rows could not be read"
    # In a named context every one of Confluent's deserializers fails before it looks a version up.
    version = "" if named != DEFAULT_CONTEXT else "version "
    message = f'"Error retrieving Avro {role.role.value} schema {version}for id {faults[0].schema_id}"'
    return f"{after}: {message}"


def _seen_on_disk(facts: StoreFacts, role: RoleFacts, faults: tuple[IdAtFault, ...]) -> str:
    """What the rows on disk say of when, in sentences; empty where no rows were looked at."""
    rows = facts.rows
    if rows is None:
        return ""
    seen = carried(facts, role, [fault.schema_id for fault in faults])
    if seen:
        return f"A restore has happened: on disk rows carry {rows_in_words(rows, role.role, seen)}."
    if facts.is_global or not rows.rows:
        return ""
    left = f" ({rows.not_read[0]})" if rows.not_read else ""
    return (
        f"The rows on disk that were read ({read_in_words(rows)}) carry none of these ids, but they are no proof that it has "
        f"not happened, for there may be others{left}; the next restore brings it about."
    )


def _why_global(facts: StoreFacts) -> str:
    store = f"{facts.store.name} is a global store"
    if facts.is_told_global:
        return f"That {store} is told by a state directory or a topology."
    return (
        f"That {store} is concluded: its group has committed offsets, and none of topic "
        f"{facts.source.topic if facts.source is not None else ''}. --state-dir or --topology tells."
    )


def _next(code: str, facts: StoreFacts, role: RoleFacts, context: CheckContext) -> str:
    store = facts.store
    if facts.source is None:
        return f"Say which topic the table is built on (candidates: {', '.join(_candidates(facts))})."
    of_it = ("--application", store.application, "--store", store.name)
    if context.lookup_severity(role.subject) is Severity.NOTE:
        command = context.given.quoted("plan", *of_it, "--also", code, "-o", "plan.json")
        return f"Nothing to do while this reader stays. To have the ids registered all the same: {command}."
    plan = context.given.quoted("plan", *of_it, "-o", "plan.json")
    apply = context.given.quoted("apply", "plan.json")
    return f"Do not wipe the state directory and do not restart yet. Run {plan}, read it, then {apply}."


def _candidates(facts: StoreFacts) -> list[str]:
    return sorted({piece.topic for piece in facts.evidence if piece.topic is not None and not piece.against})


def want_of_phantom(
    facts: StoreFacts, role: RoleFacts, request: RepairRequest, finding: Finding | None = None, *, code: str = CODE
) -> Want:
    """What the phantom subject of a store lacks.

    :param code: the code under which it is planned.
    :param finding: what was found of it; None if nothing fails, or no census tells.
    """
    own = facts.source_of(role.role)
    ids = () if finding is None else tuple(fault.schema_id for fault in finding.schema_ids)
    return Want(
        code=code,
        owner=Owner.APPLICATION,
        facts=facts,
        role=role,
        at_fault=ids,
        missing=tuple(_missing(facts, role, ids, request)),
        known_under=role.subject if own is None else own.subject,
        mirrors=() if finding is None else finding.mirrors,
    )


def _missing(
    facts: StoreFacts, role: RoleFacts, at_fault: Sequence[SchemaId], request: RepairRequest
) -> Iterator[Membership]:
    if request.width is Width.ONLY_LIVE:
        yield from (role.membership(schema_id) for schema_id in at_fault)
        return
    ids, own = {*role.memberships, *role.row_memberships}, facts.source_of(role.role)
    if own is not None:
        ids |= request.survey.ids_under(own.subject, deleted=request.width is Width.ALL_VERSIONS)
    asked = (request.survey.membership(role.subject, schema_id) for schema_id in sorted(ids))
    yield from (membership for membership in asked if membership.is_missing)


def wants_of(code: str) -> Callable[[Finding, RepairRequest], Wanted]:
    """What a finding of this code lacks under the phantom subject; `--also` with it, or with SRF001, asks for a note's."""
    asked = frozenset((CODE, code))

    def wants(finding: Finding, request: RepairRequest) -> Wanted:
        facts = request.facts_of(finding)
        if not finding.repairable or facts is None or request.width is Width.ALL_VERSIONS:
            return
        if finding.severity is Severity.NOTE and not asked & request.also:
            yield _not_needed(code, facts, finding.subject, request)
        else:
            yield want_of_phantom(facts, facts.roles[finding.role], request, finding, code=code)

    return wants


def repair_of(code: str, also: str, *, of_global_stores: bool) -> Repair:
    """The repair of missing ids that are told under a code.

    :param of_global_stores: True for those of global stores, False for those of all others.
    :param also: what `--also` with the code asks for, in a clause; with SRF001 it asks for both.
    """

    def without_census(facts: StoreFacts, role: RoleFacts, context: CheckContext, request: RepairRequest) -> Wanted:
        if of_global_stores is not is_of_global_store(facts, context):
            return
        want = want_of_phantom(facts, role, request, code=code)
        if context.lookup_severity(role.subject) is not Severity.NOTE or not request.also.isdisjoint({CODE, code}):
            yield want
        elif want.missing:
            yield _not_needed(code, facts, role.subject, request)

    return Repair(wants=wants_of(code), without_census=without_census, also=also)


def _not_needed(code: str, facts: StoreFacts, subject: Subject, request: RepairRequest) -> PassedOver:
    return PassedOver(
        code=code,
        subject=subject,
        why=f"Store {facts.store} lacks schema ids under {subject}, which is a note ({code}): as things stand its reader does "
        "not ask for them there, so that nothing fails. To have them registered all the same: "
        f"{request.plan_with(facts.store.application, facts.store.name, code)}.",
    )


def _advise(request: AdviceRequest) -> Iterator[str]:
    from srfix.recovery.advice import after_repair, before_repair, prevention

    known, given = request.known, request.given
    yield from before_repair(known)
    stores = {finding.store for finding in request.findings}
    undecided = sorted({finding.store for finding in request.findings if not finding.repairable})
    if undecided:
        options = " and ".join(shell_words("--source", f"{known.application}/{store}=TOPIC") for store in undecided)
        yield (
            f"First say which topic is restored from, with {options} (the commands stand at the findings): until then no "
            "repair can be planned there."
        )
    if len(undecided) < len(stores):
        plan = given.quoted("plan", "--application", known.application, "-o", "plan.json")
        apply, verify = given.quoted("apply", "plan.json"), given.quoted("verify", "plan.json")
        yield f"Repair: {plan}, read the plan, {apply}, {verify}."
    yield from after_repair(known, when="now")
    yield from prevention(known, request.rules.upgrade)


def _do_not(known: Circumstances) -> Iterator[str]:
    from srfix.recovery.advice import not_before_repair

    return not_before_repair(known)


def _advise_of_note(known: Circumstances) -> str:
    return f"Nothing to repair and nothing to restart: {known.why_nothing_fails}."


ADVICE: Final = Advice(serious=_advise, is_whole=True, note=_advise_of_note, recurs=True, do_not=_do_not)
"""What to do around the repair, whichever of the two codes it is told under."""

CHECK: Final = Check(
    entry=CatalogueEntry(
        code=CODE,
        title="A restored store cannot be read: its schema ids are not registered under the phantom subject",
        severity="broken",
        meaning="A restore fills the store with records of the source topic, byte for byte, but the reader looks their "
        "schemas up under the subject of a changelog that does not exist as a topic. That subject lacks them (40403) or does "
        "not exist (40401), so every read of such a row fails with “Error retrieving Avro value schema version for id …”. An "
        "interactive query fails alone; a join or a table update kills the stream thread, and again after each restart. From "
        "cluster and registry alone it cannot be told whether a restore has happened yet; without one, this is what the next "
        "one brings. The rows of a state directory (--state-dir) tell: either they carry such an id, which the finding then "
        "says, or all of them were read and none does, which is SRF002.",
        cause="KAFKA-10179, Kafka Streams 2.0 to 2.6.3. With topology.optimization=all the source topic of a table serves as "
        "its changelog, and a global table always does without one (SRF006); yet the store's serdes are handed the name "
        "<application>-<store>-changelog. While processing, rows are written again under the reader's own schema, which "
        "is registered under that phantom subject. After a lost state directory, a rebalance to another instance or a "
        "standby's take-over, the rows carry the source's schema ids instead. Readers that look a version up under the "
        "subject (Connect's AvroConverter, hence ksqlDB) refuse them; plain Avro deserializers do not notice.",
        detection="Subjects that look like a changelog's, whose topic is not in the full topic listing; the source topic by "
        "evidence; a census of the ids that a restore would load (up to the committed offsets of the group); for each id a "
        "look-up of its schema under the phantom subject, by content and with deleted versions, as the failing reader asks.",
        remedy="srfix plan, srfix apply, srfix verify: the source's schemas are registered under the phantom "
        "subject, where they keep their ids; a running application reads again at once. Do not wipe "
        "the state directory on 2.6.3 or older: that is what brings the failure. Restart instances "
        "whose thread died. A reader with the dual-subject fallback reads the rows without any repair.",
        checked_since="0.1.0",
    ),
    find=check,
    without_source=lambda finding, which_is_true: replace(finding, next=which_is_true),
    repair=repair_of(
        CODE, also="ids that the reader does not ask for (a note), or not yet (SRF003)", of_global_stores=False
    ),
    advice=ADVICE,
)
