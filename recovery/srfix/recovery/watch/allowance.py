"""What a signed-off plan allows a watch to write: which pairs of source and phantom subject, and by which kinds of steps.

A person who signed a plan off has agreed that the schemas of a source subject are registered under a phantom subject, and
how: live or soft-deleted at once, with the level relaxed meanwhile or not. A new id of the same source subject for the same
phantom subject is more of the same. Anything else is only reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from srfix.recovery.actions.actions import Action, Register, SetCompatibility, SetMode, SoftDelete
from srfix.recovery.errors import PlanError
from srfix.recovery.repair.plan_file import Plan
from srfix.recovery.repair.planning.wanted import Keep
from srfix.serde.schemas.models import Json
from srfix.serde.subjects.names import Role, Subject, Topic, changelog_topic, join_context, split_context, subject_for


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedPair:
    """One store's keys or values, as the plan repairs them."""

    application: str
    store: str
    role: Role
    subject: Subject
    """The phantom subject, the only one that is written to."""
    source_topic: Topic
    may_stay_live: bool
    """True if the plan leaves a version live there."""
    may_soft_delete: bool
    """True if the plan soft-deletes a version there at once."""
    may_relax: bool
    """True if the plan relaxes its compatibility meanwhile."""
    may_send_ids: bool
    """True if the plan registers with exact ids, in mode IMPORT."""
    may_take_any_id: bool
    """True if the plan registers content whose id nobody can know before."""
    config: Mapping[str, Json] | None
    """The subject's own configuration when the plan was made."""
    mode: str | None
    """Its own mode then."""

    @property
    def source_subject(self) -> Subject:
        """Where a schema must be registered already."""
        context, _name = split_context(self.subject)
        return join_context(context, subject_for(self.source_topic, self.role))

    @property
    def keep(self) -> Keep:
        """How to plan for it: as the plan did, and where it did both or left them live, by the rule that made it."""
        return Keep.SOFT_DELETED if self.may_soft_delete and not self.may_stay_live else Keep.AUTO

    def forbids(self, actions: Iterable[Action]) -> str | None:
        """What the plan does not allow among these steps, in words; None if it allows them all."""
        steps = tuple(actions)
        deleted = {action.schema_id for action in steps if isinstance(action, SoftDelete)}
        for action in steps:
            match action:
                case _ if action.subject != self.subject:
                    return f"it would write to {action.subject}"
                case SetCompatibility() if not self.may_relax:
                    return "the compatibility of the subject would have to be relaxed, which that plan does not do"
                case SetMode() if not self.may_send_ids:
                    return "the ids would have to be sent along in mode IMPORT, which that plan does not do"
                case SoftDelete() if not self.may_soft_delete:
                    return "the version would be soft-deleted at once, and that plan leaves its versions live"
                case Register(any_id=True) if not self.may_take_any_id:
                    return "the registry would give the schema an id that nobody can know before"
                case Register() if action.schema_id not in deleted and not self.may_stay_live:
                    return "the version would stay live, and that plan soft-deletes its versions at once"
        return None


def allowed_pairs(plan: Plan) -> tuple[AllowedPair, ...]:
    """The pairs that a plan repairs by registrations under a phantom subject, each once, in its order."""
    pairs: list[AllowedPair] = []
    seen: set[tuple[str, str, Subject]] = set()
    for finding in plan.findings:
        if finding.application is None or finding.store is None:
            continue  # a topic's: no store restores by it
        context, _name = split_context(finding.subject)
        phantom = join_context(context, subject_for(changelog_topic(finding.application, finding.store), finding.role))
        steps = [action for action in plan.actions if action.subject == finding.subject]
        registered = [action for action in steps if isinstance(action, Register)]
        pair = finding.application, finding.store, finding.subject
        if finding.subject != phantom or not registered or pair in seen:
            continue
        seen.add(pair)
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
            "The plan registers nothing under a phantom subject, so there is nothing that a watch could keep up. Give the "
            "plan of a repair that does, or watch without --allow."
        )
    return tuple(pairs)
