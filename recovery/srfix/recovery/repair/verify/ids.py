"""Whether every id in a plan, and every id that a restore loads, is registered under its subject; asked by content."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from srfix.recovery.actions.actions import DeleteVersion, Register
from srfix.recovery.checks.proofs import answered_through
from srfix.recovery.facts.stores import Membership
from srfix.recovery.facts.subject_state import look_up, read_subject_state
from srfix.recovery.facts.survey import ask_membership, schema_behind
from srfix.recovery.ids_in_words import listed
from srfix.recovery.registry import ReadableRegistry
from srfix.recovery.repair.plan_file import Plan, PlannedFinding
from srfix.recovery.repair.verify.events import Confirmed, Event, NotLookedAt, Problem
from srfix.serde.formats.table import as_readers_ask
from srfix.serde.schemas.errors import SchemaNotFoundError
from srfix.serde.schemas.models import Schema, same_content
from srfix.serde.subjects.names import Subject
from srfix.serde.wire import SchemaId

_ANOTHER_REGISTRY = "is this the plan's registry? Check --registry"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedIds:
    finding: PlannedFinding
    texts: Mapping[SchemaId, Schema]
    planned: frozenset[SchemaId]
    """The ids that the subject must hold after the plan is carried out, live or soft-deleted."""
    left_out: Mapping[SchemaId, str]
    """The ids that the subject lacks and the plan does not register, each with the plan's reason."""
    live: frozenset[SchemaId]
    memberships: Mapping[SchemaId, Membership]

    @classmethod
    def ask(cls, plan: Plan, finding: PlannedFinding, live: Iterable[SchemaId], registry: ReadableRegistry) -> AskedIds:
        texts = {
            action.schema_id: action.schema
            for action in plan.actions
            if isinstance(action, Register) and action.subject == finding.subject
        }
        left_out = {
            schema_id: omission.reason
            for omission in plan.omissions
            if omission.subject == finding.subject
            for schema_id in omission.schema_ids
        }
        planned = {*finding.planned_ids, *finding.schema_ids, *texts} - left_out.keys()
        carried = frozenset(live)
        return cls(
            finding=finding,
            texts=texts,
            planned=frozenset(planned),
            left_out=left_out,
            live=carried,
            memberships={
                schema_id: ask_membership(registry, finding.subject, schema_id)
                for schema_id in sorted(planned | carried | left_out.keys())
            },
        )

    def events(self, registry: ReadableRegistry, *, is_partial: bool = False, is_read: bool = True) -> Iterator[Event]:
        """By ascending id. A topic that was not read to its end counts as partial: unread records may carry an id."""
        some = "among the records that were read (not all of them) " if is_partial else ""
        not_live = (
            f"; no live row {some}carries id {{}}, so none was decoded" if is_read else "; its rows were not read"
        )
        registered = (self.memberships[schema_id] for schema_id in self.texts)
        if self.texts and all(not m.is_known or (m.is_missing and m.problem is None) for m in registered):
            yield Problem(
                subject=self.finding.subject,
                what="none of the schemas of the plan is registered here: the plan was not applied, or "
                "it was rolled back, or this is not the plan's registry",
            )
        for membership in self.memberships.values():
            yield self._event(membership, registry, not_live)

    def _event(self, membership: Membership, registry: ReadableRegistry, not_live: str) -> Event:
        schema_id = membership.schema_id
        problem = self._problem(membership) or self._another_content(membership, registry)
        if problem is not None:
            return Problem(subject=self.finding.subject, what=f"schema id {schema_id}{problem}", schema_id=schema_id)
        rows = "" if schema_id in self.live else not_live.format(schema_id)
        return Confirmed(
            subject=self.finding.subject,
            what=f"schema id {schema_id} {self._registration_in_words(membership)}{rows}",
            schema_id=schema_id,
        )

    def _problem(self, membership: Membership) -> str | None:
        schema_id, code = membership.schema_id, membership.error_code
        if not membership.is_known:
            if schema_id in self.live:
                return ", which live records carry, is unknown to the registry (`srfix explain SRF011`)"
            if schema_id in self.left_out:
                return f" is unknown to the registry, and the plan left it out: {self.left_out[schema_id]}"
            return f", which is in the plan, is unknown to the registry: {_ANOTHER_REGISTRY}"
        if membership.problem is not None:
            return (
                f": the registry does not accept its text as a schema ({code}: {membership.problem}), so the "
                "reader's look-up fails; srfix diagnose names the obstacle"
            )
        if code is None:
            return None
        if schema_id in self.left_out:
            return f" is not registered here ({code}), and the plan left it out: {self.left_out[schema_id]}"
        if schema_id in self.planned:
            return f" is not registered here ({code}); apply the plan, or, if it was applied, plan and apply again"
        return f" is not registered here ({code}); plan and apply again"

    def _another_content(self, membership: Membership, registry: ReadableRegistry) -> str | None:
        """That the id is another schema here than in the plan. A normalised text leads to the same id."""
        text = self.texts.get(membership.schema_id)
        if text is None or membership.schema is None or same_content(as_readers_ask(text), membership.schema):
            return None
        answer = look_up(registry, self.finding.subject, text)
        if answer is not None and answer.schema_id in (membership.schema_id, membership.answered_id):
            return None
        return f" is another schema in this registry than in the plan: {_ANOTHER_REGISTRY}"

    def _registration_in_words(self, membership: Membership) -> str:
        if membership.answered_subject is not None:
            through = answered_through(self.finding.subject, membership.answered_subject)
            return f"is not registered here, but its look-up is {through}"
        if membership.answered_id != membership.schema_id:
            return (
                f"has the content of schema id {membership.answered_id}, which is registered here; readers ask by "
                f"content, so they accept id {membership.answered_id}"
            )
        return "is registered here"


def left_out_elsewhere(plan: Plan, registry: ReadableRegistry, *, asked: Collection[Subject]) -> Iterator[Event]:
    for omission in plan.omissions:
        if omission.subject in asked and omission.schema_ids:
            continue
        if omission.is_unseen:
            what = f"when the plan was made, srfix did not look at {omission.reason}"
            yield NotLookedAt(subject=omission.subject, what=what)
            continue
        memberships = [ask_membership(registry, omission.subject, schema_id) for schema_id in omission.schema_ids]
        absent = [m.schema_id for m in memberships if not m.is_known or m.is_missing]
        which = f"schema id{'s' if len(absent) > 1 else ''} {listed(absent)}" if absent else "this"
        if absent or not memberships:
            yield Problem(subject=omission.subject, what=f"the plan left {which} out: {omission.reason}")
            continue
        for membership in memberships:
            yield Confirmed(
                subject=omission.subject,
                what=f"the plan left out schema id {membership.schema_id}, but it is registered here now",
                schema_id=membership.schema_id,
            )
        yield NotLookedAt(
            subject=omission.subject,
            what="rows that are read under this subject: the plan left them out, and srfix diagnose looks at them",
        )
    if not plan.omissions:
        for sentence in plan.left_out:  # a plan of an earlier version has only the words
            yield Problem(subject=_named_in(sentence, plan), what=f"not in the plan: {sentence}")


def _named_in(sentence: str, plan: Plan) -> Subject:
    subjects = sorted({finding.subject for finding in plan.findings}, key=len, reverse=True)
    named = [subject for subject in subjects if subject in sentence]
    return (named or [finding.subject for finding in plan.findings] or [Subject("-")])[0]


def deleted(actions: Iterable[DeleteVersion], registry: ReadableRegistry) -> Iterator[Event]:
    for action in actions:
        subject_state = read_subject_state(registry, action.subject)
        live = [version.version for version in subject_state.live if version.schema_id == action.schema_id]
        if live:
            yield Problem(
                subject=action.subject,
                schema_id=action.schema_id,
                what=f"schema id {action.schema_id} is live here (version {live[-1]}); the plan soft-deletes it. "
                "Finish the plan with srfix apply. If an application registered the version again, that "
                "application is not gone",
            )
        try:
            schema_behind(registry, action.schema_id, registry.context_of(action.subject))
        except SchemaNotFoundError:
            yield Problem(
                subject=action.subject,
                schema_id=action.schema_id,
                what=f"schema id {action.schema_id} cannot be read by its id any more: somebody has deleted it for good",
            )
        else:
            if not live:
                yield Confirmed(
                    subject=action.subject,
                    schema_id=action.schema_id,
                    what=f"schema id {action.schema_id} is soft-deleted here, and readable by its id",
                )
