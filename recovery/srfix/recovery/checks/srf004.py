"""SRF004, the upgrade's mirror image of the incident: ids in kept state are registered under the phantom subject only.

Kafka Streams 2.6.3 and earlier wrote rows under ids of the phantom subject; 2.7.0 and later ask the source topic's
subject for them (KAFKA-10179, pull request 8902). Seen on real Kafka Streams: a store written by 2.6.3 and kept cannot
be read by 2.7.0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from srfix.recovery.checks.interface import (
    Advice,
    AdviceRequest,
    Check,
    Owner,
    PassedOver,
    Repair,
    RepairRequest,
    Want,
    Wanted,
)
from srfix.recovery.checks.missing import nothing_to_do, why_nothing_fails
from srfix.recovery.checks.proofs import carried, is_certain, make_certain, read_in_words, rows_in_words
from srfix.recovery.findings import Finding, IdAtFault, Severity, is_conclusive
from srfix.recovery.forecasts import Certainty, Foretold, Moment, weakest
from srfix.recovery.ids_in_words import named_ids
from srfix.recovery.internal_topics import ksqldb_query
from srfix.serde.printable import capitalized
from srfix.serde.subjects.names import DEFAULT_CONTEXT, Role, Subject, join_context

if TYPE_CHECKING:
    from srfix.recovery.facts.reader import CheckContext
    from srfix.recovery.facts.stores import Membership, RoleFacts, StoreFacts, StoreRows
    from srfix.recovery.guard.judged import JudgedStore, Prospect
    from srfix.serde.wire import SchemaId

CODE = "SRF004"


def check(facts: StoreFacts, context: CheckContext) -> Iterator[Finding]:
    """One finding per role under Kafka Streams 2.7 or later, unless a start restores the whole store. ksqlDB's serde
    asks the changelog's subject first on every version (`StaticTopicSerde`, ksql pull 5823)."""
    from srfix.recovery.facts.reader import Reader

    if ksqldb_query(facts.store.application) is not None and context.reader is not Reader.PLAIN:
        context = replace(context, reader=Reader.DUAL)
    if facts.source is None or not context.asks_the_source_subject or _is_restored_anew(facts):
        return
    for role in facts.roles.values():
        subject = facts.store.source_subject(facts.source.topic, role.role)
        absent = tuple(
            i
            for i in _in_kept_rows(facts, role)
            if (membership := context.membership(subject, i)).is_missing
            and not _is_named_by_record(role, membership, context)
        )
        if not absent:
            continue
        yield facts.finding(
            CODE,
            role.role,
            severity=_severity(role, subject, absent, context),
            subject=subject,
            schema_ids=tuple(
                IdAtFault(schema_id=schema_id) for schema_id in absent
            ),  # no record has it: the row is in the state
            registered_ids=context.state_of(subject).schema_ids,
            explanation=_explanation(facts, role, subject, absent, context),
            next_step=_next(facts, _severity(role, subject, absent, context), context),
            repairable=True,
        )


def _is_restored_anew(facts: StoreFacts) -> bool:
    """True if a start restores the whole store; a partition whose directory srfix did not get may keep its rows."""
    rows, census = facts.rows, facts.census
    if rows is None or census is None or facts.is_global:
        return facts.starts_anew
    has_read = {partition.partition for partition in census.partitions if partition.committed_offset}
    return facts.starts_anew and has_read <= set(rows.partitions)


def _in_kept_rows(facts: StoreFacts, role: RoleFacts) -> tuple[SchemaId, ...]:
    """The ids that kept rows carry, or may carry, without those of SRF017 or of a repair; ascending."""
    by_text = {membership.answered_id for i, membership in role.memberships.items() if membership.answered_id != i}
    rows, versions = facts.rows, role.state.versions
    phantom_ids = frozenset(v.schema_id for v in versions if v is versions[0] or v.schema_id not in by_text)
    if rows is None:
        return tuple(
            sorted(phantom_ids if facts.census is None else phantom_ids.difference(facts.census.ids(role.role)))
        )
    of_sources = {i for i, membership in role.source_memberships.items() if membership.is_missing} - phantom_ids
    ids_on_disk = rows.ids(role.role) - of_sources
    return tuple(sorted(ids_on_disk if _are_all_rows_read(rows, role.role) else ids_on_disk | phantom_ids))


def _is_named_by_record(role: RoleFacts, membership: Membership, context: CheckContext) -> bool:
    """True if the serde that wrote it names its subjects by the record (RecordNameStrategy), and asks none of the topic's."""
    from srfix.recovery.evidence.comparing import name_of_record

    if membership.schema is None or membership.schema_id in role.state.schema_ids:
        return False
    name = name_of_record(membership.schema)
    if name is None:
        return False
    named = context.membership(
        join_context(context.registry.context_of(role.subject), Subject(name)), membership.schema_id
    )
    return named.is_known and not named.is_missing


def _are_all_rows_read(rows: StoreRows, role: Role) -> bool:
    return rows.is_whole and bool(rows.ids(role)) and not rows.guids.get(role)


def _severity(role: RoleFacts, subject: Subject, absent: Collection[SchemaId], context: CheckContext) -> Severity:
    needs = not context.does_without(subject) or (context.is_dual and not set(absent) <= set(role.state.schema_ids))
    return Severity.BREAKS_ON_UPGRADE if needs else Severity.NOTE


def _explanation(
    facts: StoreFacts, role: RoleFacts, subject: Subject, absent: tuple[SchemaId, ...], context: CheckContext
) -> str:
    store = facts.store
    ids = named_ids(absent)
    they = "These ids are" if len(absent) > 1 else "This id is"
    seen = carried(facts, role, absent)
    if set(absent) <= set(role.state.schema_ids):
        first = f"The phantom subject of {store.in_words}, {role.subject}, holds {ids}. {they} missing under {subject}"
    else:
        first = f"Rows of {store.in_words} carry, or may carry, {ids}. {they} missing under {subject}"
    first += ", the subject that Kafka Streams 2.7 and later ask (40403)."
    if seen and facts.rows is not None:
        first += f" Rows on disk carry {rows_in_words(facts.rows, role.role, seen)}."
    if not seen:
        first += " Rows that Kafka Streams 2.6.3 or earlier has processed carry such an id."
    if _severity(role, subject, absent, context) is Severity.NOTE and context.is_dual:
        return f"{first} Nothing fails, because a dual-subject reader finds the schema under the phantom subject."
    if context.does_without(subject) and not context.is_dual:
        return f"{first} {why_nothing_fails(subject, context)}"
    named = context.registry.context_of(subject)
    condition = (
        ""
        if context.is_connect or named != DEFAULT_CONTEXT
        else f"{'if' if seen else 'and'} the reader looks up versions under the subject, "
    )
    version = "version " if named == DEFAULT_CONTEXT else ""
    proviso = "" if seen else "If the state directory was kept over the upgrade, "
    fails = capitalized(
        f"{proviso}{condition}each read of such a row fails: "
        f'"Error retrieving Avro {role.role.value} schema {version}for id {(seen or absent)[0]}".'
    )
    if seen:
        return f"{first} {fails}"
    unknown = (
        "srfix cannot see from cluster and registry whether the state was kept."
        if facts.rows is None
        else (
            f"srfix read rows on disk ({read_in_words(facts.rows)}), and none of them carries such an id. This does "
            "not prove that no row does."
        )
    )
    return f"{first} {fails} Rows that were restored since the upgrade are not affected. {unknown}"


def _next(facts: StoreFacts, severity: Severity, context: CheckContext) -> str:
    version = context.streams_version
    options: tuple[str, ...] = ()
    if version is not None and not context.command_line.has("--streams-version"):
        options = ("--streams-version", str(version))
    words = (*facts.store.options, *options, "--also", CODE)
    if severity is Severity.NOTE:
        return nothing_to_do(context, *words)
    register = context.command_line.plan_and_apply(*words, reads="what it costs")
    if not is_certain(facts):
        return f"Keep the state directory and register the ids: {register}. {make_certain(facts, context)}"
    return (
        f"Keep the state directory and register the ids: {register}. Or, if 2.7 or later runs on every instance "
        "and diagnose finds no SRF016 and no SRF017, wipe the state directory and let the application restore it."
    )


def _wants(finding: Finding, request: RepairRequest) -> Wanted:
    """Registers the phantom subject's schemas under the source's own subject; only on request."""
    from srfix.recovery.facts.stores import RoleFacts
    from srfix.recovery.facts.subject_state import read_subject_state

    if not finding.repairable:
        return
    if CODE not in request.also:
        yield _of_producers(finding, request)
        return
    subject, survey = finding.subject, request.survey
    ids = tuple(fault.schema_id for fault in finding.schema_ids)
    for facts in request.stores:
        own = facts.source_of(finding.role)
        store = (facts.store.application, facts.store.name)
        if own is None or store != (finding.application, finding.store) or own.subject != subject:
            continue
        memberships = {schema_id: survey.membership(subject, schema_id) for schema_id in ids}
        yield Want(
            code=CODE,
            owner=Owner.PRODUCERS,
            facts=facts,
            role=RoleFacts(
                role=finding.role,
                subject=subject,
                state=read_subject_state(survey.registry, subject),
                memberships=memberships,
            ),
            at_fault=ids,
            missing=tuple(membership for membership in memberships.values() if membership.is_missing),
            mirrors=finding.mirrors,
            known_under=facts.store.subject(finding.role),
        )


def _of_producers(finding: Finding, request: RepairRequest) -> PassedOver:
    return PassedOver(
        code=CODE,
        subject=finding.subject,
        why=(
            f"If rows of store {finding.store} of application {finding.application} were kept over an upgrade, they "
            f"need schema ids under {finding.subject} ({CODE}). That subject belongs to the topic's producers, so "
            f"srfix writes there only on request: {request.plan_with(finding.application, finding.store, CODE)}."
        ),
    )


def _advise(request: AdviceRequest) -> Iterator[str]:
    from srfix.recovery.advice.playbook import restart

    circumstances, mirrored = request.circumstances, request.findings
    stores = ", ".join(sorted({finding.store for finding in mirrored}))
    if request.rules.wiping is not None:
        wipe = f"{capitalized(request.rules.wiping)}."
    elif not all(f.source is not None and is_conclusive(f.evidence, f.source.topic) for f in mirrored):
        wipe = "Do not wipe it until conclusive evidence shows which topic a restore would load."
    else:
        wipe = (
            "Or, when every instance runs 2.7 or later, wipe the state instead: the restored rows then carry the "
            "source's own ids."
        )
    yield (
        f"Is the state of {stores} older than the upgrade of {circumstances.application} to Kafka Streams 2.7? If not, do "
        f"nothing. If it is older, keep the state, and plan, apply and verify the repair. {wipe}"
    )
    yield f"After: {restart(circumstances, 'now')}"


def foretell(prospect: Prospect) -> Iterator[Foretold]:
    """For an upgrade from the phantom subject to the source topic's own: the ids that rows of the old version carry."""
    judged = prospect.judged
    if prospect.turns_to_the_source is Certainty.EXCLUDED:
        return
    for role in prospect.roles:
        if judged.does_without(judged.store.source_subject(role)) or judged.writes_nothing_of_its_own(role):
            continue
        on_disk = _lacking_on_disk(judged, role)
        if on_disk != ():
            yield _foretold(prospect, role, on_disk)


def _foretold(prospect: Prospect, role: Role, on_disk: tuple[SchemaId, ...] | None) -> Foretold:
    judged = prospect.judged
    store, pair, subject = judged.store, judged.subject_pair(role), judged.store.source_subject(role)
    lacking = on_disk or (() if pair is None else pair.own)
    carried = (
        f"{named_ids(lacking)}, which {subject} lacks"
        if lacking
        else f"ids of the application's own schema that {subject} lacks"
    )
    # If srfix did not read the rows: a row that was restored, and not written since, carries the producers' ids.
    of_rows = Certainty.CERTAIN if on_disk else Certainty.POSSIBLE
    return judged.foretold(
        CODE,
        role,
        severity=Severity.BREAKS_ON_UPGRADE,
        certainty=weakest((prospect.turns_to_the_source, judged.looks_versions_up, of_rows)),
        moment=Moment.UPGRADE,
        subject=subject,
        schema_ids=lacking,
        explanation=(
            f"Rows that were written before the upgrade carry ids of {store.changelog_subject(role)}: {carried}. "
            f"{'Rows on disk carry these ids. ' if on_disk else ''}Kafka Streams {judged.assumed.to} asks {subject} "
            "for these ids. So if the state directory is kept, these rows cannot be read."
        ),
        first=tuple(_plan_before_upgrade(judged)),
    )


def _lacking_on_disk(judged: JudgedStore, role: Role) -> tuple[SchemaId, ...] | None:
    """The ids on disk that the source's subject lacks; None if it lacks none of them, but there may be unseen rows."""
    from srfix.recovery.facts.survey import ask_membership

    facts, registry = judged.facts(), judged.sight.registry
    if facts is None or facts.rows is None or registry is None:
        return None
    subject = judged.store.source_subject(role)
    memberships = (ask_membership(registry, subject, schema_id) for schema_id in sorted(facts.rows.ids(role)))
    lacking = tuple(membership.schema_id for membership in memberships if membership.is_missing)
    return lacking if lacking or _are_all_rows_read(facts.rows, role) else None


def _plan_before_upgrade(judged: JudgedStore) -> Iterator[str]:
    words = (*judged.store.options, "--streams-version", str(judged.assumed.to), "--also", CODE)
    yield f"Before the upgrade: {judged.assumed.command_line.plan_and_apply(*words)}."
    yield (
        "Or delete the state directory during the upgrade, not before. If SRF016 is reported as breaking, this "
        "does not help."
    )


CHECK: Final = Check(
    code=CODE,
    title="Rows in local state carry ids that only the phantom subject knows: an upgrade makes them unreadable",
    severity="breaks on upgrade",
    meaning="From 2.7.0 on, Kafka Streams hands the source topic's name to the store's serdes. Rows that an older "
    "version wrote carry the id of its internal schema. That schema is registered under the phantom subject, and not "
    "under the source's subject. So these rows cannot be read after an upgrade that keeps the state.",
    cause="An upgrade across 2.7.0 that keeps the state directories.",
    detection=(
        "srfix checks this if Kafka Streams 2.7 or later runs, or if --streams-version says so. It takes the schemas "
        "of the phantom subject, and looks up each of them, by content, under the source topic's subject. With "
        "--state-dir it also checks the ids in the rows on disk. If it has read all rows of all partitions, it checks "
        "only the ids in these rows. Without --state-dir, srfix does not know whether such rows were kept."
    ),
    remedy=(
        "Register the internal schema under the source subject: srfix plan with --streams-version 2.7 --also SRF004. "
        "The plan soft-deletes the version at once, because producers use that subject. Read SRF016 first.\nOr wipe "
        "the state when the new version starts, and not before: the restore then brings the source's ids. Wipe only "
        "if all of these are true:\n- A topology, a state directory or --source proves from which topic the store "
        "restores.\n- There is no SRF017 for the store.\n- There is no SRF018 for the store."
    ),
    find=check,
    foretell=foretell,
    repair=Repair(
        wants=_wants,
        also="rows that are kept over an upgrade; this writes to the source's own subject",
        only_on_request=True,
    ),
    advice=Advice(serious=_advise),
)
