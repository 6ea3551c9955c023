"""The writes that a signed-off plan allows to a watch: for which pairs of source and phantom subject, and by which
kinds of steps. A new id of the same pair is more of the same; anything else is only reported.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from srfix.recovery.actions.actions import Action, Register, SetCompatibility, SetMode, SoftDelete
from srfix.recovery.checks.interface import RepairRequest, Want, Width
from srfix.recovery.checks.srf001 import want_of_phantom
from srfix.recovery.commands import CommandLine
from srfix.recovery.errors import PlanError
from srfix.recovery.facts.stores import RoleFacts, StoreFacts
from srfix.recovery.facts.subject_state import SubjectState, held_version, read_subject_state
from srfix.recovery.facts.survey import Survey
from srfix.recovery.repair.plan_file import Plan
from srfix.recovery.repair.planning.plan import plan_wants
from srfix.recovery.repair.planning.wanted import Keep
from srfix.recovery.watch.events import Deferred, Withheld
from srfix.serde.schemas.models import Json
from srfix.serde.subjects.names import Role, Subject, Topic, changelog_topic, join_context, split_context, subject_for
from srfix.serde.wire import SchemaId

RELAXED: Final = "NONE"


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedPair:
    application: str
    store: str
    role: Role
    subject: Subject
    """The phantom subject, the only one that is written to."""
    source_topic: Topic
    may_stay_live: bool
    may_soft_delete: bool
    may_relax: bool
    may_send_ids: bool
    """True if the plan registers with exact ids, in mode IMPORT."""
    may_take_any_id: bool
    """True if the plan registers content with an unpredictable id."""
    config: Mapping[str, Json] | None
    """The subject's own configuration when the plan was made."""
    mode: str | None

    @property
    def source_subject(self) -> Subject:
        context, _name = split_context(self.subject)
        return join_context(context, subject_for(self.source_topic, self.role))

    @property
    def keep(self) -> Keep:
        """How to plan for the subject: as the plan did; by its rule if it did both, or left versions live."""
        return Keep.SOFT_DELETED if self.may_soft_delete and not self.may_stay_live else Keep.AUTO

    def forbids(self, actions: Iterable[Action]) -> str | None:
        steps = tuple(actions)
        deleted = {action.schema_id for action in steps if isinstance(action, SoftDelete)}
        for action in steps:
            match action:
                case _ if action.subject != self.subject:
                    return f"it would write to {action.subject}"
                case SetCompatibility() if not self.may_relax:
                    return "srfix would have to relax the compatibility of the subject, which that plan does not do"
                case SetMode() if not self.may_send_ids:
                    return "srfix would have to register with exact ids in mode IMPORT, which that plan does not do"
                case SoftDelete() if not self.may_soft_delete:
                    return "srfix would soft-delete the version at once, but that plan leaves its versions live"
                case Register(any_id=True) if not self.may_take_any_id:
                    return "the registry would give the schema an unpredictable id"
                case Register() if action.schema_id not in deleted and not self.may_stay_live:
                    return "the version would stay live, but that plan soft-deletes its versions at once"
        return None


def allowed_pairs(plan: Plan) -> tuple[AllowedPair, ...]:
    """The pairs that a plan repairs by registrations under a phantom subject, each once, in its order."""
    pairs: list[AllowedPair] = []
    pairs_seen: set[tuple[str, str, Subject]] = set()
    for finding in plan.findings:
        if finding.application is None or finding.store is None:
            continue  # a topic's finding: no store restores through it
        context, _name = split_context(finding.subject)
        phantom = join_context(context, subject_for(changelog_topic(finding.application, finding.store), finding.role))
        steps = [action for action in plan.actions if action.subject == finding.subject]
        registered = [action for action in steps if isinstance(action, Register)]
        pair = finding.application, finding.store, finding.subject
        if finding.subject != phantom or not registered or pair in pairs_seen:
            continue
        pairs_seen.add(pair)
        deleted = {action.schema_id for action in steps if isinstance(action, SoftDelete)}
        state = plan.expects[finding.subject]
        pairs.append(
            AllowedPair(
                application=finding.application,
                store=finding.store,
                role=finding.role,
                subject=finding.subject,
                source_topic=finding.source_topic,
                may_stay_live=any(action.schema_id not in deleted for action in registered),
                may_soft_delete=bool(deleted),
                may_relax=any(isinstance(action, SetCompatibility) for action in steps),
                may_send_ids=any(isinstance(action, SetMode) for action in steps),
                may_take_any_id=any(action.any_id for action in registered),
                config=state.config,
                mode=state.mode,
            )
        )
    if not pairs:
        raise PlanError(
            "The plan registers nothing under a phantom subject, so watch has nothing to keep registered. Give the "
            "plan of a repair that registers schemas there, or watch without --allow."
        )
    return tuple(pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    plan: Plan
    """A plan for one subject, with at least one step."""
    schema_ids: tuple[SchemaId, ...]
    """The ids that it makes readable, ascending."""


def attend(
    facts: StoreFacts,
    pair: AllowedPair,
    survey: Survey,
    *,
    carried: Collection[SchemaId],
    undone: Collection[SchemaId],
    clock: Callable[[], str],
) -> Iterator[Allowed | Withheld | Deferred]:
    """Finds the schemas that the phantom subject lacks, and plans their registration, or says why not. Reads only. Ids
    whose registration a person has rolled back are left out."""
    want = _want(facts, pair, survey, carried)
    missing = {membership.schema_id: membership for membership in want.missing}
    taken_back = sorted(missing.keys() & set(undone))
    if taken_back:
        why = "its registration was rolled back; watch does not repeat what a person has undone"
        yield _withheld(pair, taken_back, why)
    missing = {i: registration for i, registration in missing.items() if i not in taken_back}
    not_own = [
        registration
        for registration in missing.values()
        if registration.schema is None
        or held_version(survey.registry, pair.source_subject, registration.schema) is None
    ]
    if not_own:
        ids = sorted(registration.schema_id for registration in not_own)
        yield _withheld(pair, ids, f"it is not registered under the source's own subject, {pair.source_subject}")
    rest = {i: registration for i, registration in missing.items() if registration not in not_own}
    if not rest:
        return
    ids = sorted(rest)
    obstacle = _obstacle(pair, want.role.state)
    if obstacle is not None:
        kind, why = obstacle
        yield kind(subject=pair.subject, schema_ids=tuple(ids), why=why)
        return
    plan = plan_wants(
        [replace(want, missing=tuple(rest[i] for i in ids))],
        survey,
        keep=pair.keep,
        exact_ids=pair.may_send_ids,
        clock=clock,
    )
    for omission in plan.omissions:
        yield _withheld(pair, omission.schema_ids, omission.reason)
    if not plan.actions:
        return
    planned = sorted(schema_id for finding in plan.findings for schema_id in finding.planned_ids)
    forbidden = pair.forbids(plan.actions)
    if forbidden is not None:
        yield _withheld(pair, planned, f"the signed-off plan does not allow it: {forbidden}")
    else:
        yield Allowed(plan=plan, schema_ids=tuple(planned))


def is_relaxed(pair: AllowedPair, config: Mapping[str, Json] | None) -> bool:
    """True if the subject has the level that a repair sets, and had another one when the plan was signed off."""
    return config != pair.config and (config or {}).get("compatibilityLevel") == RELAXED


def _want(facts: StoreFacts, pair: AllowedPair, survey: Survey, carried: Collection[SchemaId]) -> Want:
    state = read_subject_state(survey.registry, pair.subject)
    before = facts.roles.get(pair.role)
    ids = {*carried, *(before.memberships if before is not None else ())}
    role = RoleFacts(
        role=pair.role,
        subject=pair.subject,
        state=state,
        memberships={schema_id: survey.membership(pair.subject, schema_id) for schema_id in sorted(ids)},
    )
    request = RepairRequest(stores=(), survey=survey, width=Width.WIDE, also=frozenset(), command_line=CommandLine())
    return want_of_phantom(replace(facts, roles={**facts.roles, pair.role: role}), role, request)


def _obstacle(pair: AllowedPair, state: SubjectState) -> tuple[type[Withheld | Deferred], str] | None:
    """Why srfix must not write to the subject now, or None; if a level that another instance relaxed
    counted as the subject's own, srfix would leave new versions live, and put that level back."""
    if is_relaxed(pair, state.config):
        return Deferred, (
            f"its compatibility is {RELAXED} now, and was not when the plan was signed off, so another repair is "
            "changing it"
        )
    changed = "configuration" if state.config != pair.config else "mode" if state.mode != pair.mode else None
    if changed is not None:
        why = f"its own {changed} has changed since the plan was signed off; make a new plan and have it signed off"
        return Withheld, why
    return None


def _withheld(pair: AllowedPair, ids: Collection[SchemaId], why: str) -> Withheld:
    return Withheld(subject=pair.subject, schema_ids=tuple(sorted(ids)), why=why)
