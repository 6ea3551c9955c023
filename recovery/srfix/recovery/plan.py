"""From findings to ordered actions: which ids, under which subject, live or soft-deleted, at what price."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from srfix.recovery.actions import Action, Register, RestoreCompatibility, SetCompatibility, SoftDelete
from srfix.recovery.census.interface import Census
from srfix.recovery.diagnosis import Examination
from srfix.recovery.findings import Finding
from srfix.recovery.plan_file import Plan, PlannedFinding
from srfix.recovery.playbook import playbook
from srfix.recovery.price import price_of
from srfix.recovery.refusals import foreseen_refusals
from srfix.recovery.stores import Membership, RoleFacts, StoreFacts
from srfix.recovery.survey import Survey
from srfix.serde.compatibility import incompatibilities
from srfix.serde.errors import PlanError, SchemaError
from srfix.serde.registry.errors import SchemaNotFoundError, SubjectNotFoundError
from srfix.serde.registry.models import Schema
from srfix.serde.subjects import Subject, Topic, subject_for
from srfix.serde.wire import SchemaId

__all__ = ["Keep", "SubjectRepair", "make_plan", "repairs"]


class Keep(Enum):
    """Whether a registered version stays live."""

    AUTO = "auto"
    """Soft-deleted where the subject's own schema would not pass against it, live otherwise."""
    LIVE = "live"
    """Live: it becomes the subject's latest, and the application's next schema is checked against it."""
    SOFT_DELETED = "soft-deleted"
    """Soft-deleted at once: the failing reader still finds it, compatibility does not see it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectRepair:
    """What one phantom subject needs."""

    facts: StoreFacts
    """The store."""
    role: RoleFacts
    """Its keys or values."""
    finding: Finding
    """The finding that it repairs."""
    missing: tuple[Membership, ...]
    """What will be registered, by ascending id."""
    soft_deleted: frozenset[SchemaId]
    """The ids whose version is soft-deleted right after."""
    level: str
    """The compatibility level in force for the subject."""
    relax: bool
    """True if the level has to be NONE meanwhile."""
    holders: dict[SchemaId, tuple[Subject, ...]]
    """Per id other subjects that hold it."""


def make_plan(
    examination: Examination,
    survey: Survey,
    *,
    keep: Keep = Keep.AUTO,
    only_live: bool = False,
    created_at: str,
    srfix_version: str,
    bootstrap_servers: str | None = None,
) -> Plan:
    """Plans the repair of every repairable SRF001 of the examination. Writes nothing.

    Wider than what is missing now, for the committed offset moves on: every id still in the log of the source topic
    and every undeleted version of the source subject, unless `only_live`.

    :raises PlanError: if the registry cannot take a registration whatever the plan does (READONLY, say).
    :raises RegistryError: if the registry does not answer.
    """
    needed = tuple(repairs(examination, survey, keep=keep, only_live=only_live))
    actions: list[Action] = []
    for repair in needed:
        actions.extend(_numbered(_actions(repair), start=len(actions) + 1))
    return Plan(
        registry=survey.registry.url,
        bootstrap_servers=bootstrap_servers,
        created_at=created_at,
        srfix=srfix_version,
        findings=tuple(_planned(repair) for repair in needed),
        actions=tuple(actions),
        expects={repair.role.subject: repair.role.state for repair in needed},
        price=tuple(
            line
            for repair in needed
            for line in price_of(
                repair.role.subject,
                ids=[membership.schema_id for membership in repair.missing],
                soft_deleted=repair.soft_deleted,
                level=repair.level,
                relaxed=repair.relax,
                unread=_unread(repair.facts.census),
            )
        ),
        playbook=tuple(playbook([repair.facts.store for repair in needed])),
    )


def repairs(examination: Examination, survey: Survey, *, keep: Keep, only_live: bool) -> Iterator[SubjectRepair]:
    """What each phantom subject with a repairable SRF001 needs."""
    by_store = {(facts.store.application, facts.store.name): facts for facts in examination.facts}
    for finding in examination.diagnosis.findings:
        facts = by_store.get((finding.application, finding.store))
        if finding.code != "SRF001" or not finding.repairable or facts is None:
            continue
        role = facts.roles[finding.role]
        if only_live:
            missing = tuple(role.memberships[fault.schema_id] for fault in finding.schema_ids)
        else:
            missing = tuple(_wide(facts, role, survey))
        yield _decide(
            SubjectRepair(
                facts=facts,
                role=role,
                finding=finding,
                missing=missing,
                soft_deleted=frozenset(),
                level=survey.registry.effective_compatibility(role.subject),
                relax=False,
                holders={
                    membership.schema_id: tuple(_holders(facts, role, membership, survey)) for membership in missing
                },
            ),
            survey,
            keep,
        )


def _unread(census: Census | None) -> Topic | None:
    return census.topic if census is not None and census.is_partial else None


def _wide(facts: StoreFacts, role: RoleFacts, survey: Survey) -> Iterator[Membership]:
    ids = set(role.memberships)
    if facts.source is not None:
        subject = subject_for(facts.source.topic, role.role)
        try:
            numbers: Sequence[int] = survey.registry.versions(subject)
        except SubjectNotFoundError:
            numbers = ()
        ids.update(survey.registry.version(subject, number).schema_id for number in numbers)
    for schema_id in sorted(ids):
        membership = survey.membership(role.subject, schema_id)
        if membership.is_missing:
            yield membership


def _holders(facts: StoreFacts, role: RoleFacts, membership: Membership, survey: Survey) -> Iterator[Subject]:
    if facts.source is None or membership.schema is None:
        return
    subject = subject_for(facts.source.topic, role.role)
    try:
        answer = survey.registry.lookup(subject, membership.schema, deleted=True)
    except (SubjectNotFoundError, SchemaNotFoundError):
        return
    if answer.schema_id == membership.schema_id:
        yield subject


def _decide(repair: SubjectRepair, survey: Survey, keep: Keep) -> SubjectRepair:
    """Live or soft-deleted, and whether the level has to be relaxed."""
    own = survey.latest(repair.role.subject)
    own_schema = own.schema if own is not None else None
    soft_deleted = frozenset(
        membership.schema_id
        for membership in repair.missing
        if keep is Keep.SOFT_DELETED
        or (
            keep is Keep.AUTO
            and membership.schema is not None
            and not _passes(own_schema, membership.schema, repair.level)
        )
    )
    refusals = foreseen_refusals(survey.registry, repair.role, repair.missing)
    final = [refusal for refusal in refusals if not refusal.is_overcome]
    if final:
        reasons = "; ".join(f"schema id {refusal.schema_id}: {refusal.reason}" for refusal in final)
        raise PlanError(
            f"No plan: the registry takes no registration under {repair.role.subject} ({reasons}). Have it made "
            "writable for this subject and plan again."
        )
    return replace(
        repair,
        soft_deleted=soft_deleted,
        relax=bool(refusals) or _refuse_each_other(repair, soft_deleted),
    )


def _passes(own: Schema | None, registered: Schema, level: str) -> bool:
    """True if the subject's own schema, registered once more after `registered`, would be accepted at `level`.

    A subject that has no schema of its own yet will get one that nobody has seen, so nothing must stand in its way.
    """
    if level == "NONE":
        return True
    if own is None or {own.schema_type, registered.schema_type} != {"AVRO"} or own.references or registered.references:
        return False  # cannot be told here: soft-deleted is the choice that cannot hurt the application
    try:
        return not incompatibilities(new=own.text, existing=[registered.text], level=level)
    except SchemaError:
        return False


def _refuse_each_other(repair: SubjectRepair, soft_deleted: frozenset[SchemaId]) -> bool:
    """True if one of the registrations would be refused for the sake of an earlier one that stays live."""
    earlier: list[Schema] = []
    for membership in repair.missing:
        if membership.schema is None:
            continue
        against = earlier if repair.level.endswith("_TRANSITIVE") else earlier[-1:]
        if any(not _passes(membership.schema, each, repair.level) for each in against):
            return True
        if membership.schema_id not in soft_deleted:
            earlier.append(membership.schema)
    return False


def _actions(repair: SubjectRepair) -> Iterator[Action]:
    subject, previous = repair.role.subject, repair.role.state.config
    if repair.relax:
        yield SetCompatibility(step=0, subject=subject, level="NONE", previous=previous)
    for membership in repair.missing:
        if membership.schema is None:
            continue
        yield Register(
            step=0,
            subject=subject,
            schema_id=membership.schema_id,
            schema=membership.schema,
            holders=repair.holders[membership.schema_id],
        )
        if membership.schema_id in repair.soft_deleted:
            yield SoftDelete(step=0, subject=subject, schema_id=membership.schema_id)
    if repair.relax:
        yield RestoreCompatibility(step=0, subject=subject, previous=previous)


def _numbered(actions: Iterable[Action], *, start: int) -> Iterator[Action]:
    for step, action in enumerate(actions, start=start):
        yield replace(action, step=step)


def _planned(repair: SubjectRepair) -> PlannedFinding:
    source = repair.facts.source
    if source is None:
        raise PlanError(f"The source of store {repair.facts.store} is not known; name it with --source.")
    return PlannedFinding(
        code=repair.finding.code,
        application=repair.finding.application,
        store=repair.finding.store,
        role=repair.finding.role,
        subject=repair.role.subject,
        source_topic=source.topic,
        schema_ids=tuple(fault.schema_id for fault in repair.finding.schema_ids),
    )
