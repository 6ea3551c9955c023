"""What each phantom subject needs: which schemas, under which id, live or soft-deleted, at which level."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum

from srfix.recovery.diagnosis import Examination
from srfix.recovery.findings import Finding
from srfix.recovery.foreseen_ids import ForeseenId, foresee_id, inherited_metadata, obstacle_to_exact_ids
from srfix.recovery.refusals import foreseen_refusals
from srfix.recovery.stores import Membership, RoleFacts, StoreFacts
from srfix.recovery.subject_state import read_subject_state
from srfix.recovery.survey import Survey
from srfix.serde.compatibility import incompatibilities
from srfix.serde.errors import SchemaError
from srfix.serde.registry import RegistryClient
from srfix.serde.registry.errors import RegistryAnswerError, RegistryProtocolError, SubjectNotFoundError
from srfix.serde.registry.models import Schema, answered_elsewhere, same_content
from srfix.serde.subjects import Role, Subject
from srfix.serde.wire import SchemaId

__all__ = ["Keep", "LeftOut", "SubjectRepair", "Width", "repairs"]


class Keep(Enum):
    """Whether a registered version stays live."""

    AUTO = "auto"
    """Soft-deleted where the subject's own schema would not pass against it, live otherwise."""
    LIVE = "live"
    """Live: it becomes the subject's latest, and the application's next schema is checked against it."""
    SOFT_DELETED = "soft-deleted"
    """Soft-deleted at once: the failing reader still finds it, compatibility does not see it."""


class Width(Enum):
    """Which ids are registered."""

    ONLY_LIVE = "only-live"
    """Those that are at fault now."""
    WIDE = "wide"
    """Every id still in the log of the source topic, and every undeleted version of the source subject."""
    ALL_VERSIONS = "all-versions"
    """Every version of the source subject, soft-deleted ones too, whatever the log holds: without a census."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectRepair:
    """What one subject needs."""

    code: str
    """The finding that it repairs."""
    facts: StoreFacts
    """The store."""
    role: RoleFacts
    """Its keys or values, and the subject that lacks something: the phantom one, or with SRF004 the source's own."""
    at_fault: tuple[SchemaId, ...]
    """The ids that a reader fails on, ascending; those to be registered where no census tells."""
    missing: tuple[Membership, ...]
    """What will be registered, by ascending id."""
    soft_deleted: frozenset[SchemaId] = frozenset()
    """The ids whose version is soft-deleted right after."""
    level: str
    """The compatibility level in force for the subject."""
    relax: bool = False
    """True if the level has to be NONE meanwhile."""
    is_level_ambiguous: bool = False
    """True if it cannot be told whether the level that is put back is the subject's own."""
    exact: bool = False
    """True if the ids are sent along, in the subject's mode IMPORT."""
    given: Mapping[SchemaId, SchemaId] = field(default_factory=dict)
    """Per id in the records the one that the registry gives out for its content, where that is another."""
    holders: Mapping[SchemaId, tuple[Subject, ...]]
    """Per id other subjects that hold it."""
    also_by: tuple[str, ...] = ()
    """Who else uses the subject, in words."""

    def registered_as(self, schema_id: SchemaId) -> SchemaId:
        """The id under which a missing schema is registered."""
        return self.given.get(schema_id, schema_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """What a plan can do nothing about."""

    subject: Subject
    """The phantom subject."""
    reason: str
    """Why, and what to do, in words."""
    schema_ids: tuple[SchemaId, ...] = ()
    """The ids whose schemas it lacks, ascending; empty if they are not known."""


def repairs(
    examination: Examination, survey: Survey, *, keep: Keep, width: Width, exact_ids: bool
) -> Iterator[SubjectRepair | LeftOut]:
    """What each phantom subject needs, and what no plan can give it.

    :raises RegistryError: if the registry does not answer.
    """
    planned: dict[Subject, set[SchemaId]] = {}
    for want in _wanted(examination, survey, width):
        before = planned.setdefault(want.role.subject, set())
        missing = tuple(membership for membership in want.missing if membership.schema_id not in before)
        if missing:
            for decided in _decide(want, missing, survey, keep=keep, exact_ids=exact_ids):
                if isinstance(decided, SubjectRepair):
                    before.update(membership.schema_id for membership in decided.missing)
                yield decided
        elif want.missing:  # another store's repair under the same subject covers it
            yield _nothing(want, survey)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Want:
    """One subject that lacks schemas."""

    code: str
    facts: StoreFacts
    role: RoleFacts
    """The subject that lacks them, and what stands there: the phantom, or with SRF004 the source's own."""
    at_fault: tuple[SchemaId, ...]
    missing: tuple[Membership, ...]
    known_under: Subject
    """The other one of the two subjects, which ought to hold them."""


def _wanted(examination: Examination, survey: Survey, width: Width) -> Iterator[_Want]:
    if width is Width.ALL_VERSIONS:
        for facts in examination.facts:
            for role in _roles_without_census(facts, survey):
                yield _of_phantom(facts, role, (), survey, width)
        return
    by_role = {
        (facts.store.application, facts.store.name, role.subject): facts
        for facts in examination.facts
        for role in facts.roles.values()
    }
    for finding in examination.diagnosis.findings:
        if not finding.repairable or finding.code not in ("SRF001", "SRF004"):
            continue
        ids = tuple(fault.schema_id for fault in finding.schema_ids)
        known = by_role.get((finding.application, finding.store, finding.subject))
        if finding.code == "SRF001" and known is not None:
            yield _of_phantom(known, known.roles[finding.role], ids, survey, width)
        if finding.code == "SRF004":
            yield from (_of_source(facts, finding, ids, survey) for facts in _facts_of(examination, finding))


def _facts_of(examination: Examination, finding: Finding) -> Iterator[StoreFacts]:
    for facts in examination.facts:
        store, source = facts.store, facts.source
        if source is None or (store.application, store.name) != (finding.application, finding.store):
            continue
        if store.source_subject(source.topic, finding.role) == finding.subject:
            yield facts


def _of_phantom(
    facts: StoreFacts, role: RoleFacts, at_fault: tuple[SchemaId, ...], survey: Survey, width: Width
) -> _Want:
    own = facts.store.source_subject(facts.source.topic, role.role) if facts.source is not None else role.subject
    missing = tuple(_missing(facts, role, at_fault, survey, width))
    return _Want(code="SRF001", facts=facts, role=role, at_fault=at_fault, missing=missing, known_under=own)


def _of_source(facts: StoreFacts, finding: Finding, ids: tuple[SchemaId, ...], survey: Survey) -> _Want:
    """SRF004: what the phantom subject holds goes under the source's own."""
    memberships = {schema_id: survey.membership(finding.subject, schema_id) for schema_id in ids}
    return _Want(
        code="SRF004",
        facts=facts,
        role=RoleFacts(
            role=finding.role,
            subject=finding.subject,
            state=read_subject_state(survey.registry, finding.subject),
            memberships=memberships,
        ),
        at_fault=ids,
        missing=tuple(membership for membership in memberships.values() if membership.is_missing),
        known_under=facts.store.subject(finding.role),
    )


def _roles_without_census(facts: StoreFacts, survey: Survey) -> Iterator[RoleFacts]:
    """The values always; the keys only where a key schema was registered: else their serde asks no registry."""
    for role in Role:
        known = facts.roles.get(role)
        if known is not None:
            yield known
        elif role is Role.VALUE:
            subject = facts.store.subject(role)
            state = read_subject_state(survey.registry, subject)
            yield RoleFacts(role=role, subject=subject, state=state, memberships={})


def _missing(
    facts: StoreFacts, role: RoleFacts, at_fault: Sequence[SchemaId], survey: Survey, width: Width
) -> Iterator[Membership]:
    if width is Width.ONLY_LIVE:
        yield from (role.memberships[schema_id] for schema_id in at_fault)
        return
    ids = set(role.memberships)
    if facts.source is not None:
        subject = facts.store.source_subject(facts.source.topic, role.role)
        every = width is Width.ALL_VERSIONS
        try:
            numbers: Sequence[int] = survey.registry.versions(subject, deleted=every)
        except SubjectNotFoundError:
            numbers = ()
        ids.update(survey.registry.version(subject, number, deleted=every).schema_id for number in numbers)
    for schema_id in sorted(ids):
        membership = survey.membership(role.subject, schema_id)
        if membership.is_missing:
            yield membership


def _nothing(want: _Want, survey: Survey) -> SubjectRepair:
    return SubjectRepair(
        code=want.code,
        facts=want.facts,
        role=want.role,
        at_fault=want.at_fault,
        missing=(),
        level=survey.registry.effective_compatibility(want.role.subject),
        holders={},
    )


def _decide(
    want: _Want,
    missing: tuple[Membership, ...],
    survey: Survey,
    *,
    keep: Keep,
    exact_ids: bool,
) -> Iterator[SubjectRepair | LeftOut]:
    """Which can be registered and how; live or soft-deleted; whether the level has to be relaxed."""
    registry, role, own = survey.registry, want.role, want.known_under
    refusals = foreseen_refusals(registry, role, missing)
    final = {refusal.schema_id: refusal.reason for refusal in refusals if not refusal.is_overcome}
    if final:
        yield LeftOut(
            subject=role.subject,
            reason=f"the registry takes no registration under {role.subject} ({_by_reason(final)}). Have that mended and plan "
            "again",
            schema_ids=tuple(sorted(final)),
        )
    rest = tuple(membership for membership in missing if membership.schema_id not in final)
    foreseen = {m.schema_id: foresee_id(registry, m.schema_id, m.schema, known_under=own) for m in rest if m.schema}
    inherited = inherited_metadata(registry, role.state) if rest else None
    exact = inherited is not None and exact_ids
    refused = dict(_without_its_id(registry, role, foreseen, inherited, exact_ids=exact_ids))
    for schema_id, reason in refused.items():
        yield LeftOut(
            subject=role.subject,
            reason=f"schema id {schema_id} under {role.subject}: {reason}",
            schema_ids=(schema_id,),
        )
    chosen = tuple(_as_sent(m, foreseen.get(m.schema_id)) for m in rest if m.schema_id not in refused)
    if not chosen:
        return
    level = registry.effective_compatibility(role.subject)
    if want.code == "SRF004" and keep is Keep.AUTO:
        keep = Keep.SOFT_DELETED  # the subject is its producers': nothing of the store's stays live there
    soft_deleted = _soft_deleted(survey, role, chosen, keep, level)
    refused_now = any(refusal.schema_id not in final for refusal in refusals)
    relax = not exact and (refused_now or _refuse_each_other(chosen, soft_deleted, level))
    yield SubjectRepair(
        code=want.code,
        facts=want.facts,
        role=role,
        at_fault=want.at_fault or tuple(membership.schema_id for membership in chosen),
        missing=chosen,
        soft_deleted=soft_deleted,
        level=level,
        relax=relax,
        is_level_ambiguous=relax and registry.level_may_be_inherited(role.subject),
        exact=exact,
        given={
            schema_id: other.schema_id
            for schema_id, other in foreseen.items()
            if other.schema_id not in (None, schema_id)
        },
        holders={m.schema_id: tuple(_holders(own, m, foreseen[m.schema_id])) for m in chosen},
        also_by=tuple(_also_by(want.facts, role, survey)),
    )


def _as_sent(membership: Membership, foreseen: ForeseenId | None) -> Membership:
    """With the text that its holder's look-up answers: Apicurio answers an id's text compacted, a look-up's as it was sent,
    and gives every text an id of its own (seen on 3.3.3).
    """
    holder = foreseen.holder if foreseen is not None else None
    if membership.schema is None or holder is None or holder.schema_id != membership.schema_id:
        return membership
    sent = replace(membership.schema, text=holder.schema.text)
    return replace(membership, schema=sent) if same_content(sent, membership.schema) else membership


def _without_its_id(
    registry: RegistryClient,
    role: RoleFacts,
    foreseen: Mapping[SchemaId, ForeseenId],
    inherited: str | None,
    *,
    exact_ids: bool,
) -> Iterator[tuple[SchemaId, str]]:
    """The ids whose registration would give an id that nobody can know before, and why."""
    for schema_id, known in foreseen.items():
        if known.schema_id is None:
            yield schema_id, f"{known.reason}: registered by its text it would get a new id, which no plan can name"
            continue
        if inherited is None:
            continue
        obstacle = obstacle_to_exact_ids(registry, role, known)
        said = f"registered by its text it would get another id, for {inherited}"
        if obstacle is not None:
            yield schema_id, f"{said}; and exactly this id is not to be had either: {obstacle}"
        elif not exact_ids:
            yield (
                schema_id,
                f"{said}. Plan with --exact-ids to have it registered with exactly this id, through the subject's mode IMPORT",
            )


def _soft_deleted(
    survey: Survey, role: RoleFacts, missing: Iterable[Membership], keep: Keep, level: str
) -> frozenset[SchemaId]:
    latest = survey.latest(role.subject)
    own = latest.schema if latest is not None else None
    return frozenset(
        membership.schema_id
        for membership in missing
        if keep is Keep.SOFT_DELETED
        or (keep is Keep.AUTO and membership.schema is not None and not _passes(own, membership.schema, level))
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


def _refuse_each_other(missing: Iterable[Membership], soft_deleted: frozenset[SchemaId], level: str) -> bool:
    """True if one of the registrations would be refused for the sake of an earlier one that stays live."""
    earlier: list[Schema] = []
    for membership in missing:
        if membership.schema is None:
            continue
        against = earlier if level.endswith("_TRANSITIVE") else earlier[-1:]
        if any(not _passes(membership.schema, each, level) for each in against):
            return True
        if membership.schema_id not in soft_deleted:
            earlier.append(membership.schema)
    return False


def _holders(own: Subject, membership: Membership, foreseen: ForeseenId) -> Iterator[Subject]:
    """The source's own subject, if it holds the id itself; a rollback asks the others when it comes to that."""
    holder = foreseen.holder
    if holder is not None and holder.schema_id == foreseen.schema_id and not answered_elsewhere(own, holder):
        yield own


def _also_by(facts: StoreFacts, role: RoleFacts, survey: Survey) -> Iterator[str]:
    for other in facts.store.other_applications:
        yield f"application {other}, if the store is its own (the name allows both)"
    for version in role.state.live[-1:]:
        try:
            ids = survey.registry.referenced_by(role.subject, version.version)
        except (RegistryAnswerError, RegistryProtocolError):  # gone meanwhile, or a registry that has no such question
            continue
        if ids:
            yield f"schema id {', '.join(map(str, ids))}, which refers to version {version.version}"


def _by_reason(reasons: Mapping[SchemaId, str]) -> str:
    ids: dict[str, list[SchemaId]] = {}
    for schema_id, reason in reasons.items():
        ids.setdefault(reason, []).append(schema_id)
    return "; ".join(
        f"schema id{'s' if len(each) > 1 else ''} {', '.join(map(str, each))}: {reason}" for reason, each in ids.items()
    )
