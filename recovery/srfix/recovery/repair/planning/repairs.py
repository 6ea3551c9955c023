"""The repair that each phantom subject needs: which schemas, under which id, live or soft-deleted, at which level."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from srfix.recovery.checks.interface import Owner, PassedOver, Want
from srfix.recovery.facts.refusals import foreseen_refusals
from srfix.recovery.facts.stores import Membership, RoleFacts, StoreFacts, own_versions
from srfix.recovery.facts.survey import Survey
from srfix.recovery.facts.topics import TopicFacts
from srfix.recovery.ids_in_words import enumerated, named_ids
from srfix.recovery.registry import ReadableRegistry
from srfix.recovery.repair.plan_file import Omission
from srfix.recovery.repair.planning.foreseen_ids import (
    ForeseenId,
    fields_in_force,
    foresee_id,
    inherited_metadata,
    obstacle_to_exact_ids,
)
from srfix.recovery.repair.planning.own_schemas import (
    Outlook,
    OwnVersion,
    leaves_room,
    not_found_once_deleted,
    outlook,
    passes,
)
from srfix.recovery.repair.planning.wanted import Keep
from srfix.serde.formats.table import as_readers_ask
from srfix.serde.schemas.errors import RegistryAnswerError, RegistryProtocolError
from srfix.serde.schemas.models import Json, Schema, answered_elsewhere, same_content
from srfix.serde.subjects.names import DEFAULT_CONTEXT, Subject
from srfix.serde.wire import SchemaId


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectRepair:
    want: Want
    at_fault: tuple[SchemaId, ...]
    """The ids that a reader fails on, ascending; without a census, the ids to be registered."""
    missing: tuple[Membership, ...]
    soft_deleted: frozenset[SchemaId] = frozenset()
    level: str
    outlook: Outlook = field(default_factory=Outlook)
    left_live_for: str | None = None
    """Why a version stays live although it should be soft-deleted; None if there is no such version."""
    relax: bool = False
    is_level_ambiguous: bool = False
    """True if srfix does not know whether the level that is put back is the subject's own."""
    exact: bool = False
    inherited_fields: Mapping[str, Json] = field(default_factory=dict)
    """The inherited fields of the configuration in force, except the level; they are kept while the level is relaxed."""
    new_ids: Mapping[SchemaId, SchemaId] = field(default_factory=dict)
    """For each id in the records, the id that the registry gives to its content, if it is another one."""
    any_id: Mapping[SchemaId, str] = field(default_factory=dict)
    """For each id in the records whose content gets an unpredictable id that the reader accepts: the reason."""
    holders: Mapping[SchemaId, tuple[Subject, ...]]
    also_by: tuple[str, ...] = ()

    def registered_as(self, schema_id: SchemaId) -> SchemaId:
        return schema_id if self.exact else self.new_ids.get(schema_id, schema_id)


def decide(
    wants: Iterable[Want | PassedOver], survey: Survey, *, keep: Keep, exact_ids: bool
) -> Iterator[SubjectRepair | Omission | PassedOver]:
    """The repair for each want; each schema of a subject comes only once, even if several stores want it."""
    planned: dict[Subject, set[SchemaId]] = {}
    for want in wants:
        if isinstance(want, PassedOver):
            yield want
            continue
        before = planned.setdefault(want.role.subject, set())
        missing = tuple(membership for membership in want.missing if membership.schema_id not in before)
        if missing:
            for decided in _decide(want, missing, survey, keep=keep, exact_ids=exact_ids):
                if isinstance(decided, SubjectRepair):
                    before.update(membership.schema_id for membership in decided.missing)
                yield decided
        elif want.missing:  # another store's repair under the same subject covers it
            level = survey.registry.effective_compatibility(want.role.subject)
            yield SubjectRepair(want=want, at_fault=want.at_fault, missing=(), level=level, holders={})


def _decide(
    want: Want, missing: tuple[Membership, ...], survey: Survey, *, keep: Keep, exact_ids: bool
) -> Iterator[SubjectRepair | Omission]:
    registry, role, own = survey.registry, want.role, want.known_under
    refusals = foreseen_refusals(registry, role, missing)
    final = {refusal.schema_id: refusal.reason for refusal in refusals if not refusal.is_overcome}
    if final:
        yield Omission(
            subject=role.subject,
            reason=f"the registry accepts no registration under {role.subject} ({_by_reason(final)}). Ask the "
            "registry's owner to change this, then plan again",
            schema_ids=tuple(sorted(final)),
        )
    rest = tuple(membership for membership in missing if membership.schema_id not in final)
    in_force = fields_in_force(registry, role.subject) if rest else {}
    foreseen = {
        m.schema_id: foresee_id(registry, m.schema_id, m.schema, known_under=own, in_force=in_force)
        for m in rest
        if m.schema
    }
    inherited = inherited_metadata(registry, role.state, in_force) if rest else None
    not_as_text = dict(_not_by_text(registry, role, foreseen, inherited))
    exact = exact_ids and bool(not_as_text)
    refused = dict(_refused(registry, role, foreseen, not_as_text, exact_ids=exact_ids))
    for schema_id, reason in refused.items():
        yield Omission(
            subject=role.subject,
            reason=f"schema id {schema_id} under {role.subject}: {reason}".rstrip("."),
            schema_ids=(schema_id,),
        )
    chosen = tuple(_as_sent(m, foreseen.get(m.schema_id)) for m in rest if m.schema_id not in refused)
    if not chosen:
        return
    level = registry.effective_compatibility(role.subject)
    if want.owner is Owner.PRODUCERS and keep is Keep.AUTO:
        keep = Keep.SOFT_DELETED  # no version of the store stays live there
    theirs = _own_versions(want, survey)
    soft_deleted = frozenset(
        m.schema_id
        for m in chosen
        if keep is Keep.SOFT_DELETED
        or (keep is Keep.AUTO and m.schema is not None and not leaves_room(theirs, m.schema, level))
    )
    left_live_for = not_found_once_deleted(survey, role.state) if soft_deleted else None
    if left_live_for is not None:
        soft_deleted = frozenset()
    left_live = [(m.schema_id, m.schema) for m in chosen if m.schema is not None and m.schema_id not in soft_deleted]
    refused_now = any(refusal.schema_id not in final for refusal in refusals)
    relax = not exact and (refused_now or _refuse_each_other(chosen, soft_deleted, level))
    yield SubjectRepair(
        want=want,
        at_fault=want.at_fault or tuple(membership.schema_id for membership in chosen),
        missing=chosen,
        soft_deleted=soft_deleted,
        level=level,
        outlook=_outlook(theirs, role, left_live, level, survey),
        left_live_for=left_live_for,
        relax=relax,
        is_level_ambiguous=relax and registry.level_may_be_inherited(role.subject),
        exact=exact,
        inherited_fields=in_force if role.state.config is None else {},
        any_id={
            m.schema_id: foreseen[m.schema_id].reason or ""
            for m in chosen
            if foreseen[m.schema_id].any_id and not exact
        },
        new_ids={
            schema_id: other.schema_id
            for schema_id, other in foreseen.items()
            if other.schema_id not in (None, schema_id)
        },
        holders={m.schema_id: (own,) if _holds(own, foreseen[m.schema_id]) else () for m in chosen},
        also_by=tuple(_also_by(want.facts, role, survey)),
    )


def _as_sent(membership: Membership, foreseen: ForeseenId | None) -> Membership:
    """The schema, with the text of a look-up under its holder: Apicurio answers an id with another one (3.3.3)."""
    holder = foreseen.holder if foreseen is not None and foreseen.schema_id == membership.schema_id else None
    if membership.schema is None or holder is None or holder.schema_id != membership.schema_id:
        return membership
    sent = replace(membership.schema, text=holder.schema.text)
    return replace(membership, schema=sent) if same_content(as_readers_ask(sent), membership.schema) else membership


def _not_by_text(
    registry: ReadableRegistry, role: RoleFacts, foreseen: Mapping[SchemaId, ForeseenId], inherited: str | None
) -> Iterator[tuple[SchemaId, str]]:
    """The ids that the requests must name, because their text alone would get other ids; and why."""
    context = registry.context_of(role.subject)
    for schema_id, foreseen_id in foreseen.items():
        if inherited is not None:
            yield schema_id, f"a registration by text would give the schema another id, because {inherited}"
        elif context != DEFAULT_CONTEXT and foreseen_id.schema_id != schema_id:
            # There the reader asks for the schema with id and subject, so the same content under another id is not
            # enough.
            yield (
                schema_id,
                f"{foreseen_id.reason}. So the text alone would get another id. In context {context} the registry "
                "returns a schema only if the request names a subject that holds exactly its id",
            )


def _refused(
    registry: ReadableRegistry,
    role: RoleFacts,
    foreseen: Mapping[SchemaId, ForeseenId],
    not_by_text: Mapping[SchemaId, str],
    *,
    exact_ids: bool,
) -> Iterator[tuple[SchemaId, str]]:
    """The ids whose registration would not help the reader, or would get an unpredictable id; and why."""
    for schema_id, foreseen_id in foreseen.items():
        reason = not_by_text.get(schema_id, "the plan registers each schema there with its exact id")
        if foreseen_id.is_lost:
            yield (
                schema_id,
                f"{foreseen_id.reason}. The failing reader looks up the text of id {schema_id}. After a "
                "registration with normalize=true, this look-up does not find the rewritten text (40403). If it "
                "was registered otherwise, srfix does not know whether the look-up finds the text. "
                f"Give {role.subject} a configuration of its own "
                "with normalize=false (PUT /config), keep it for as long as the store is read, and plan again",
            )
        elif foreseen_id.schema_id is None and not foreseen_id.any_id:
            yield (
                schema_id,
                (
                    f"{foreseen_id.reason}. If srfix registered the text, it would get a new id, which no plan can "
                    "know in advance"
                ),
            )
        elif schema_id in not_by_text or (not_by_text and exact_ids):
            obstacle = obstacle_to_exact_ids(registry, role, foreseen_id)
            if obstacle is not None:
                yield schema_id, f"{reason}. But srfix cannot register it with exactly this id: {obstacle}"
            elif not exact_ids:
                yield (
                    schema_id,
                    f"{reason}. To register it with exactly this id, plan with --exact-ids: the subject is then in "
                    "mode IMPORT during the registration",
                )


def _own_versions(want: Want, survey: Survey) -> tuple[OwnVersion, ...]:
    role, registry = want.role, survey.registry
    versions = (
        own_versions(role, want.known_under, survey.membership)
        if want.owner is Owner.APPLICATION
        else role.state.versions
    )
    return tuple(
        OwnVersion(state=version, schema=registry.version(role.subject, version.version, deleted=True).schema)
        for version in versions
        if version.schema_id not in want.at_fault
    )


def _outlook(
    own: Sequence[OwnVersion], role: RoleFacts, left_live: Sequence[tuple[SchemaId, Schema]], level: str, survey: Survey
) -> Outlook:
    """Whether the owner's next schema will pass against what the repair leaves live, and others' older versions."""
    its_own = {version.state.version for version in own}
    against: list[tuple[SchemaId, Schema]] = []
    for version in role.state.live:
        if version.version not in its_own:
            schema = survey.registry.version(role.subject, version.version).schema
            against.append((version.schema_id, schema))
    if not level.endswith("_TRANSITIVE"):
        latest_is_own = bool(role.state.live) and role.state.live[-1].version in its_own
        against = list(left_live[-1:]) or ([] if latest_is_own else against[-1:])
    else:
        against += left_live
    return outlook(own, against, level)


def _refuse_each_other(missing: Iterable[Membership], soft_deleted: frozenset[SchemaId], level: str) -> bool:
    """True if one of the registrations would be refused because of an earlier one that stays live."""
    earlier: list[Schema] = []
    for membership in missing:
        if membership.schema is None:
            continue
        against = earlier if level.endswith("_TRANSITIVE") else earlier[-1:]
        if any(not passes(membership.schema, other_schema, level) for other_schema in against):
            return True
        if membership.schema_id not in soft_deleted:
            earlier.append(membership.schema)
    return False


def _holds(own: Subject, foreseen: ForeseenId) -> bool:
    """True if the source's own subject holds the id itself; a rollback asks the others when it needs them."""
    holder = foreseen.holder
    return holder is not None and holder.schema_id == foreseen.schema_id and not answered_elsewhere(own, holder)


def _also_by(facts: StoreFacts | TopicFacts, role: RoleFacts, survey: Survey) -> Iterator[str]:
    for other in facts.store.other_applications if isinstance(facts, StoreFacts) else ():
        yield f"application {other}, if the store belongs to it (the subject's name fits both applications)"
    for version in role.state.live[-1:]:
        try:
            ids = survey.registry.referenced_by(role.subject, version.version)
        # it has disappeared meanwhile, or the registry does not support the question
        except (RegistryAnswerError, RegistryProtocolError):
            continue
        if ids:
            yield f"{named_ids(ids)}, by a reference to version {version.version}"


def _by_reason(reasons: Mapping[SchemaId, str]) -> str:
    ids: dict[str, list[SchemaId]] = {}
    for schema_id, reason in reasons.items():
        ids.setdefault(reason, []).append(schema_id)
    return "; ".join(
        f"schema id{'s' if len(ids_of_reason) > 1 else ''} {enumerated(ids_of_reason)}: {reason}"
        for reason, ids_of_reason in ids.items()
    )
