"""From findings to ordered actions, with their price."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from importlib.metadata import version
from itertools import chain
from typing import Final

from srfix.recovery.actions.actions import (
    Action,
    Register,
    RestoreCompatibility,
    RestoreMode,
    SetCompatibility,
    SetMode,
    SoftDelete,
)
from srfix.recovery.advice.hints import circumstances_of, gather_hints
from srfix.recovery.advice.playbook import playbook
from srfix.recovery.census.interface import CensusEngine
from srfix.recovery.checks import srf012
from srfix.recovery.checks.interface import PassedOver, Want, Width
from srfix.recovery.checks.table import BY_CODE
from srfix.recovery.clock import now
from srfix.recovery.diagnosis.examination import Examination
from srfix.recovery.diagnosis.learning import known_store
from srfix.recovery.errors import PlanError
from srfix.recovery.facts.reader import CheckContext, Circumstances, concerned
from srfix.recovery.facts.stores import StoreFacts, SuspectStore
from srfix.recovery.facts.survey import Survey
from srfix.recovery.findings import Finding, Severity
from srfix.recovery.repair.plan_file import Omission, Plan, PlannedFinding
from srfix.recovery.repair.planning.foreseen_ids import content_key
from srfix.recovery.repair.planning.litter import Deletion, deletions
from srfix.recovery.repair.planning.price import cost_within, price
from srfix.recovery.repair.planning.repairs import Keep, SubjectRepair, decide
from srfix.recovery.repair.planning.wanted import wanted
from srfix.serde.printable import capitalized
from srfix.serde.subjects.names import Role, Subject, Topic, split_context, split_subject
from srfix.serde.wire import SchemaId


def make_plan(
    examination: Examination,
    survey: Survey,
    *,
    keep: Keep = Keep.AUTO,
    width: Width = Width.WIDE,
    exact_ids: bool = False,
    also: Collection[str] = (),
    context: CheckContext | None = None,
    clock: Callable[[], str] = now,
    bootstrap_servers: str | None = None,
    version_limit: int | None = None,
    engine: CensusEngine | None = None,
) -> Plan:
    """Plans the repair of every finding of the examination that a registration can repair, except notes. Writes
    nothing. Unless `width` says otherwise, the plan covers every id still in the log of the source topic and every
    undeleted version of the source subject, because the committed offset moves on. `exact_ids` registers through IMPORT
    where plain text would get another id; `also` are codes of `ON_REQUEST`; `version_limit` counts soft-deleted
    versions, too; `engine` counts topics for deletions (with None, srfix counts none).

    :raises PlanError: if schemas are missing, but the registry would accept none of them (READONLY, for example), or if
        the plan would exceed `version_limit`.
    :raises EndpointNotSupportedError: if `version_limit` is given and the registry does not list its versions.
    :raises RegistryError: if the registry does not answer.
    """
    context = context or CheckContext(registry=survey.registry)
    wants = wanted(examination, survey, width, also, context)
    decided = tuple(decide(wants, survey, keep=keep, exact_ids=exact_ids))
    needed = by_what_they_unblock(
        [decision for decision in decided if isinstance(decision, SubjectRepair)], examination
    )
    litter = tuple(deletions(examination, survey, also, engine))
    going = tuple(choice for choice in litter if isinstance(choice, Deletion))
    omissions = tuple(decision for decision in (*decided, *litter) if isinstance(decision, Omission))
    plan = plan_of(needed, omissions, survey, width=width, clock=clock, bootstrap_servers=bootstrap_servers)
    if plan.left_out and not needed and not going:
        raise PlanError("No plan was made: " + " ".join(plan.left_out))
    applications = tuple(_applications(needed, examination, survey, context))
    removals = chain.from_iterable(deletion.actions for deletion in going)
    actions = (*plan.actions, *_numbered(removals, start=len(plan.actions) + 1))
    to_others = tuple(_left_to_others(examination, plan))
    still_broken = (f"{capitalized(omission.reason)}." for omission in to_others if not omission.is_unseen)
    cost = cost_within(actions, survey, version_limit, less="--only-live, --application or --store")
    return replace(
        plan,
        findings=(*plan.findings, *map(_planned_deletion, going)),
        actions=actions,
        expects={**plan.expects, **{deletion.finding.subject: deletion.state for deletion in going}},
        price=(*_interrupted(examination, plan), *plan.price, *(deletion.price for deletion in going)),
        left_out=(*plan.left_out, *still_broken) if actions else plan.left_out,
        omissions=(*omissions, *to_others),
        passed_over=tuple(dict.fromkeys(decision.why for decision in decided if isinstance(decision, PassedOver))),
        playbook=tuple(playbook(applications)),
        applications=applications,
        cost=cost if actions else None,
    )


def plan_wants(
    wants: Iterable[Want],
    survey: Survey,
    *,
    keep: Keep = Keep.AUTO,
    exact_ids: bool = False,
    clock: Callable[[], str] = now,
) -> Plan:
    """Plans what these subjects lack, whatever a diagnosis found; omissions list what the registry would not accept."""
    decided = tuple(decide(wants, survey, keep=keep, exact_ids=exact_ids))
    needed = tuple(decision for decision in decided if isinstance(decision, SubjectRepair))
    omissions = tuple(decision for decision in decided if isinstance(decision, Omission))
    return plan_of(needed, omissions, survey, clock=clock)


def plan_of(
    needed: Sequence[SubjectRepair],
    omissions: tuple[Omission, ...],
    survey: Survey,
    *,
    clock: Callable[[], str],
    width: Width = Width.WIDE,
    bootstrap_servers: str | None = None,
) -> Plan:
    planned = _planned_ids(needed)
    return Plan(
        registry=survey.registry.url,
        bootstrap_servers=bootstrap_servers,
        created_at=clock(),
        srfix=version("srfix"),
        findings=tuple(_planned_finding(repair, planned[repair.want.role.subject]) for repair in needed),
        actions=tuple(_numbered(chain.from_iterable(map(_actions, needed)), start=1)),
        expects={repair.want.role.subject: repair.want.role.state for repair in needed},
        price=tuple(price(needed, width=width)),
        left_out=tuple(f"{capitalized(omission.reason)}." for omission in omissions),
        omissions=omissions,
        playbook=(),
    )


def _interrupted(examination: Examination, plan: Plan) -> Iterator[str]:
    """What an interrupted repair may have left under subjects of the plan, which would treat it as their own (SRF012)."""
    notes = (note for finding in examination.diagnosis.findings for note in (finding, *finding.notes))
    states = ((note, plan.expects.get(note.subject)) for note in notes if note.code == srf012.CODE)
    yield from dict.fromkeys(
        f"{note.explanation} {note.next}"
        for note, state in states
        if state is not None and (state.level == "NONE" or state.mode == "IMPORT")
    )


def _left_to_others(examination: Examination, plan: Plan) -> Iterator[Omission]:
    """Stores with an undecided source, faults that no plan repairs, and what could hide a finding of other subjects."""
    diagnosis = examination.diagnosis
    planned = {(each.application, each.store, each.role): each for each in plan.findings}
    for finding in diagnosis.findings:
        is_of_store = BY_CODE[finding.code].find_of_application is None
        if finding.source is None and finding.severity is not Severity.NOTE and is_of_store:
            yield Omission(
                subject=finding.subject,
                reason=f"store {finding.store} of application {finding.application} lacks schema ids. srfix does not "
                "know which ids, because the store's source topic is not decided. Name the topic with "
                "--source, and plan again",
            )
    for finding in diagnosis.findings:
        if finding.source is None or finding.severity is not Severity.BROKEN or finding.repairable:
            continue
        own = planned.get((finding.application, finding.store, finding.role))
        registered_ids = {*finding.registered_ids, *(own.planned_ids if own else ())}
        yield Omission(
            subject=finding.subject if own is None else own.subject,
            reason=f"store {finding.store} of application {finding.application} is broken ({finding.code}), and this "
            "plan does not repair that; srfix diagnose says what to do",
            schema_ids=tuple(i.schema_id for i in finding.schema_ids if own and i.schema_id not in registered_ids),
        )
    for skipped in dict.fromkeys(s for s in diagnosis.skipped if s.could_hide and s.subjects):
        if not any(subject in plan.expects for subject in skipped.subjects):
            reason = f"{skipped.what}; srfix diagnose says why and what to do"
            yield Omission(subject=skipped.subjects[0], reason=reason, is_unseen=True)


def _applications(
    needed: Sequence[SubjectRepair], examination: Examination, survey: Survey, context: CheckContext
) -> Iterator[Circumstances]:
    """The applications of these repairs, by name; a look without a census finds nothing, and so describes none."""
    described = {each.application: each for each in concerned(examination.applications, stores_of(needed))}
    stores: dict[str, dict[SuspectStore, Topic | None]] = {}
    for facts in (repair.want.facts for repair in needed):
        if isinstance(facts, StoreFacts):
            topic = None if facts.source is None else facts.source.topic
            stores.setdefault(facts.store.application, {})[facts.store] = topic
    for name, topics in sorted(stores.items()):
        yield described.get(name) or circumstances_of(
            name,
            [known_store(survey, store, topic) for store, topic in topics.items()],
            context,
            [hint for store, topic in topics.items() for hint in gather_hints(store, survey, topic)],
            survey,
        )


def stores_of(needed: Iterable[SubjectRepair]) -> frozenset[tuple[str, str]]:
    return frozenset(_store_of(repair) for repair in needed if isinstance(repair.want.facts, StoreFacts))


def _planned_ids(needed: Iterable[SubjectRepair]) -> dict[Subject, tuple[SchemaId, ...]]:
    ids: dict[Subject, set[SchemaId]] = {}
    for repair in needed:
        ids.setdefault(repair.want.role.subject, set()).update(membership.schema_id for membership in repair.missing)
    return {subject: tuple(sorted(ids_of_subject)) for subject, ids_of_subject in ids.items()}


def _actions(repair: SubjectRepair) -> Iterator[Action]:
    subject, state = repair.want.role.subject, repair.want.role.state
    deleted = frozenset(map(repair.registered_as, repair.soft_deleted))
    if repair.exact:
        yield SetMode(step=0, subject=subject, mode="IMPORT", previous=state.mode)
        registrations = list(_registrations(repair))
        yield from registrations
        # Before any soft delete: srfix never sets IMPORT while it has soft-deleted versions.
        yield RestoreMode(step=0, subject=subject, previous=state.mode)
        yield from (_soft_delete(registration) for registration in registrations if registration.schema_id in deleted)
        return
    if repair.relax:
        yield SetCompatibility(
            step=0, subject=subject, level="NONE", previous=state.config, inherited=repair.inherited_fields
        )
    for registration in _registrations(repair):
        yield registration
        if registration.schema_id in deleted:
            yield _soft_delete(registration)
    if repair.relax:
        yield RestoreCompatibility(step=0, subject=subject, previous=state.config)


def _registrations(repair: SubjectRepair) -> Iterator[Register]:
    """One registration per content: two ids with one content share a registration, unless the request names each id."""
    done: set[SchemaId | str] = set()
    for membership in sorted(repair.missing, key=lambda missing: missing.schema_id in repair.any_id):
        schema_id = repair.registered_as(membership.schema_id)
        if membership.schema is None:
            continue
        any_id, content = membership.schema_id in repair.any_id, content_key(membership.schema)
        if (content if any_id else schema_id) in done:
            continue
        done |= {content, schema_id}
        yield Register(
            step=0,
            subject=repair.want.role.subject,
            schema_id=schema_id,
            schema=membership.schema,
            holders=repair.holders[membership.schema_id],
            exact=repair.exact,
            any_id=any_id,
        )


def _soft_delete(registered: Register) -> SoftDelete:
    return SoftDelete(step=0, subject=registered.subject, schema_id=registered.schema_id)


def _numbered(actions: Iterable[Action], *, start: int) -> Iterator[Action]:
    registered: dict[tuple[Subject, SchemaId], int] = {}
    for step, action in enumerate(actions, start=start):
        if isinstance(action, Register) and action.any_id:
            registered[action.subject, action.schema_id] = step
        if isinstance(action, SoftDelete):
            action = replace(action, registered_by=registered.get((action.subject, action.schema_id)))
        yield replace(action, step=step)


def _planned_finding(repair: SubjectRepair, ids: tuple[SchemaId, ...]) -> PlannedFinding:
    facts = repair.want.facts
    if facts.source is None:
        raise PlanError(f"srfix does not know the source topic of store {facts.store}. Name it with --source.")
    return PlannedFinding(
        code=repair.want.code,
        application=facts.store.application if isinstance(facts, StoreFacts) else None,
        store=facts.store.name if isinstance(facts, StoreFacts) else None,
        role=repair.want.role.role,
        subject=repair.want.role.subject,
        source_topic=facts.source.topic,
        schema_ids=repair.at_fault,
        planned_ids=ids,
        read=None if isinstance(facts, StoreFacts) else facts.read,
    )


def _planned_deletion(deletion: Deletion) -> PlannedFinding:
    finding = deletion.finding
    _context, name = split_context(finding.subject)
    split = split_subject(name)
    return PlannedFinding(
        code=finding.code,
        application=finding.application,
        store=finding.store,
        role=finding.role,
        subject=finding.subject,
        # The topic in the subject's name does not exist, so nothing is restored.
        source_topic=Topic(name) if split is None else split[0],
        schema_ids=tuple(sorted({action.schema_id for action in deletion.actions})),
    )


_STOPPED: Final = frozenset({"Empty", "Dead"})
"""States of a group without members: its threads have died, or somebody stopped it."""


def by_what_they_unblock(repairs: Sequence[SubjectRepair], examination: Examination) -> tuple[SubjectRepair, ...]:
    """The repairs by application, the worst first: an interrupted or partial repair completes as many as it can."""
    findings_by_role: dict[tuple[str, str, Role], list[Finding]] = {}
    for finding in examination.diagnosis.findings:
        findings_by_role.setdefault((finding.application, finding.store, finding.role), []).append(finding)
    states = {circumstances.application: circumstances.state for circumstances in examination.applications}

    def of_repair(repair: SubjectRepair) -> tuple[int, int]:
        role_findings = findings_by_role.get((*_store_of(repair), repair.want.role.role), ())
        own = [finding for finding in role_findings if finding.code == repair.want.code]
        # Without a census, srfix does not know how bad it is, and assumes the worst.
        live_keys = sum(fault.live_keys or 0 for finding in own for fault in finding.schema_ids)
        return min((finding.severity.rank for finding in own), default=0), -live_keys

    together: dict[str, list[SubjectRepair]] = {}
    for repair in repairs:
        together.setdefault(_store_of(repair)[0], []).append(repair)

    def of_application(name: str) -> tuple[int, int, int, str]:
        ranks, state = [of_repair(repair) for repair in together[name]], states.get(name)
        down = 1 if state is None else 0 if state in _STOPPED else 2
        return min(rank for rank, _ in ranks), down, sum(live for _, live in ranks), name

    return tuple(
        repair
        for name in sorted(together, key=of_application)
        for repair in sorted(together[name], key=lambda repair: (*of_repair(repair), _store_of(repair)[1]))
    )


def _store_of(repair: SubjectRepair) -> tuple[str, str]:
    facts = repair.want.facts
    return (facts.store.application, facts.store.name) if isinstance(facts, StoreFacts) else ("", "")
