"""The plan as a value and as a file (`srfix.plan/1`): digest, reading, writing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Final, cast

from msgspec import UNSET, Struct, UnsetType, convert, field

from srfix.recovery.actions.actions import Action, Register
from srfix.recovery.actions.document import ActionPart, action_from, action_part, describe
from srfix.recovery.documents import Code, Count, Id, Instant, Part, Sha256, VersionedDocument
from srfix.recovery.facts.reader import (
    Circumstances,
    KnownApplication,
    KnownStore,
    circumstances_of,
    known_application,
)
from srfix.recovery.facts.subject_state import SubjectPart, SubjectState, subject_part, subject_state_of
from srfix.recovery.facts.topics import TopicRead
from srfix.recovery.plans.documents import PlanFiles, plan_digest
from srfix.serde.html import heading, pairs, paragraph, table
from srfix.serde.printable import counted
from srfix.serde.schemas.models import Json
from srfix.serde.subjects.names import Role, Subject, Topic
from srfix.serde.wire import SchemaId, given_schema_id

SCHEMA: Final = "srfix.plan/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFinding:
    code: str
    application: str | None
    """None for a topic's finding, which has no store."""
    store: str | None
    role: Role
    subject: Subject
    """The phantom subject, or the subject that the topic's reader asks."""
    source_topic: Topic
    """The topic that the store restores from, or that the reader reads."""
    schema_ids: tuple[SchemaId, ...]
    planned_ids: tuple[SchemaId, ...] = ()
    """The ids, as records carry them, of all schemas that the plan registers: more than those at fault, as commits move on."""
    read: TopicRead | None = None


class Omission(Struct, frozen=True, kw_only=True):
    """Schemas that a subject lacks and the plan does not register: they stay missing even if the whole plan is carried
    out.
    """

    subject: Subject
    """The subject that lacks them."""
    reason: str
    """Why the plan leaves them out, and what to do: words without capital and full stop."""
    schema_ids: tuple[SchemaId, ...] = ()
    """Their ids, ascending; empty if they are not known."""
    is_unseen: bool = field(name="unseen", default=False)
    """True if srfix did not check whether the subject lacks anything: the subject was skipped when the plan was made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The writes of a repair, with their reason and their cost."""

    registry: str
    """The registry's URLs, without secrets."""
    bootstrap_servers: str | None
    """The cluster of the diagnosis; a default for verify."""
    created_at: str
    """ISO 8601, UTC."""
    srfix: str
    """The version of srfix that made the plan."""
    findings: tuple[PlannedFinding, ...]
    """The findings that the plan repairs."""
    actions: tuple[Action, ...]
    """The writes, in order."""
    expects: Mapping[Subject, SubjectState]
    """The state of each subject at the time of the plan; apply refuses any other state."""
    price: tuple[str, ...]
    """What the repair changes for other users of the registry, in words."""
    left_out: tuple[str, ...] = ()
    """Other faults, which no registration can repair, in sentences."""
    omissions: tuple[Omission, ...] = ()
    """The schemas that the plan leaves missing, also for stores with an undecided source; verify asks for them."""
    passed_over: tuple[str, ...] = ()
    """Repairs that are not needed and were not asked for: a sentence for each, with the command that plans it."""
    playbook: tuple[str, ...]
    """What to do around the repair, for these applications, in order."""
    applications: tuple[Circumstances, ...] = ()
    """The facts about each application of the plan, by name; the advice after the repair depends on them."""
    cost: Cost | None = None
    """What the plan costs the registry; None in plans of earlier versions, which did not count this cost."""

    def _repr_html_(self) -> str:
        steps = ((action.subject, describe(action)) for action in self.actions)
        return "".join(
            (
                heading("Plan of a repair"),
                pairs((("registry", self.registry), ("made", self.created_at), ("digest", self.digest))),
                table(
                    ("code", "application", "store", "subject", "source", "schema ids"),
                    (
                        (
                            finding.code,
                            finding.application or "",
                            finding.store or "",
                            finding.subject,
                            finding.source_topic,
                            ", ".join(map(str, finding.schema_ids)),
                        )
                        for finding in self.findings
                    ),
                ),
                table(
                    ("step", "subject", "what is written"),
                    ((number, *step) for number, step in enumerate(steps, start=1)),
                )
                or paragraph("It writes nothing."),
                table(("left missing under", "why"), ((left.subject, left.reason) for left in self.omissions)),
            )
        )

    @property
    def digest(self) -> str:
        """SHA-256 over the canonical JSON of everything except the digest itself."""
        return plan_digest(plan_document(self))

    @property
    def circumstances(self) -> tuple[Circumstances, ...]:
        """The facts about each application; for an application that the plan does not describe, only its stores and topics."""
        applications = {circumstances.application for circumstances in self.applications}
        stores: dict[str, dict[str, KnownStore]] = {}
        for finding in self.findings:
            if (
                finding.application is not None
                and finding.store is not None
                and finding.application not in applications
            ):
                stores_of_application = stores.setdefault(finding.application, {})
                stores_of_application[finding.store] = KnownStore(name=finding.store, topic=finding.source_topic)
        untold = (
            Circumstances(
                application=name, stores=tuple(stores_of_application[store] for store in sorted(stores_of_application))
            )
            for name, stores_of_application in stores.items()
        )
        return tuple(sorted((*self.applications, *untold), key=lambda circumstances: circumstances.application))


class PlannedFindingPart(Part, kw_only=True):
    """A finding that the plan repairs."""

    code: Code
    """`srfix explain CODE` says what it means."""
    application: str | None
    """Null for a topic's finding (srfix plan --topic)."""
    store: str | None
    """Null for a topic's finding."""
    role: Role
    subject: str
    source_topic: str
    schema_ids: list[Id]
    """The ids at fault."""
    planned_ids: list[Id] | UnsetType = UNSET
    """The ids that the plan registers there."""
    read: TopicRead | UnsetType = UNSET
    """How the topic is read; only for a topic's finding."""


class PlanDocument(VersionedDocument, tag=SCHEMA, kw_only=True):
    """The writes of a repair: `srfix plan -o FILE`."""

    created_at: Instant
    """ISO 8601, UTC."""
    registry: str
    """The registry's URLs, without secrets."""
    bootstrap_servers: str | None
    findings: list[PlannedFindingPart]
    actions: list[ActionPart]
    """The writes, in order."""
    expects: dict[str, SubjectPart]
    """The state of each subject at the time of the plan; apply refuses any other state."""
    price: list[str]
    """What changes for others."""
    left_out: list[str] | UnsetType = UNSET
    omissions: list[Omission] | UnsetType = UNSET
    passed_over: list[str] | UnsetType = UNSET
    playbook: list[str]
    applications: list[KnownApplication] | UnsetType = UNSET
    cost: Cost | UnsetType = UNSET
    """What it costs the registry."""
    digest: Sha256
    """SHA-256 over the canonical JSON of everything else."""


def plan_document(plan: Plan) -> dict[str, Json]:
    """The `srfix.plan/1` document, digest included."""
    document = PlanDocument.of(
        plan,
        findings=[PlannedFindingPart.of(finding, read=_read_of(finding)) for finding in plan.findings],
        actions=[action_part(action) for action in plan.actions],
        expects={subject: subject_part(plan.expects[subject]) for subject in sorted(plan.expects)},
        applications=[known_application(circumstances) for circumstances in plan.applications],
        cost=UNSET if plan.cost is None else plan.cost,
        digest="",
    ).to_json()
    return document | {"digest": plan_digest(document)}


def _read_of(finding: PlannedFinding) -> TopicRead | UnsetType:
    """Left out if there is none, instead of null, because else the digests of existing plans would change."""
    if finding.read is None:
        return UNSET
    return replace(finding.read, with_metadata=dict(sorted(finding.read.with_metadata.items())))


def load_plan(path: Path) -> Plan:
    """Reads a plan file.

    :raises PlanError: if the file cannot be read, is no plan, or was edited.
    """
    return REPAIR_PLANS.load(path)


def save_plan(plan: Plan, path: Path) -> None:
    """Writes a plan file whole or not at all: temporary file, sync, rename.

    :raises PlanError: if the file cannot be written.
    """
    REPAIR_PLANS.save(plan, path)


def _read(document: dict[str, Json], _where: str) -> Plan:
    steps = tuple(action_from(action) for action in cast("list[Json]", document["actions"]))
    content = convert(document, PlanDocument)
    states = {Subject(subject): subject_state_of(state) for subject, state in content.expects.items()}
    _check(steps, states)
    return Plan(
        registry=content.registry,
        bootstrap_servers=content.bootstrap_servers,
        created_at=content.created_at,
        srfix=content.srfix,
        findings=tuple(_finding(finding, steps) for finding in content.findings),
        actions=steps,
        expects=states,
        price=tuple(content.price),
        left_out=() if content.left_out is UNSET else tuple(content.left_out),
        omissions=() if content.omissions is UNSET else tuple(map(_checked, content.omissions)),
        passed_over=() if content.passed_over is UNSET else tuple(content.passed_over),
        playbook=tuple(content.playbook),
        applications=() if content.applications is UNSET else tuple(map(circumstances_of, content.applications)),
        cost=None if content.cost is UNSET else content.cost,
    )


def _check(steps: tuple[Action, ...], states: Mapping[Subject, SubjectState]) -> None:
    if any(step.step >= following.step for step, following in pairwise(steps)):
        raise ValueError("its steps are not in the order of their numbers")
    if any(step.subject not in states for step in steps):
        raise ValueError("it lacks the state that a subject must have before the repair")
    if any(subject != state.subject for subject, state in states.items()):
        raise ValueError("it lists the state of one subject under the name of another")


def _finding(part: PlannedFindingPart, steps: tuple[Action, ...]) -> PlannedFinding:
    if part.read is UNSET and (part.application is None or part.store is None):
        raise ValueError("a finding has neither a store nor the options for reading its topic")
    subject = Subject(part.subject)
    return PlannedFinding(
        code=part.code,
        application=part.application,
        store=part.store,
        role=part.role,
        subject=subject,
        source_topic=Topic(part.source_topic),
        schema_ids=tuple(map(given_schema_id, part.schema_ids)),
        planned_ids=tuple(
            sorted(step.schema_id for step in steps if isinstance(step, Register) and step.subject == subject)
            if part.planned_ids is UNSET  # a plan of an earlier version does not list the ids that it registers
            else map(given_schema_id, part.planned_ids)
        ),
        read=None if part.read is UNSET else part.read,
    )


def _checked(omission: Omission) -> Omission:
    for schema_id in omission.schema_ids:
        given_schema_id(schema_id)
    return omission


REPAIR_PLANS: Final = PlanFiles(
    schema=SCHEMA,
    what="a plan of srfix",
    remedy="Make one with srfix plan -o FILE.",
    document=plan_document,
    read=_read,
)


class Cost(Struct, frozen=True, kw_only=True):
    """What a plan costs a registry."""

    writes: Count
    """Requests that write, one for each step."""
    versions: Count
    """Versions that are registered. Soft-deleted ones count too: a registry's limit of schemas counts them (ksql#7690)."""
    new_ids: Count
    """How many new ids the registry may give at most; all other ids exist already."""
    held: int | None = field(name="versions_held", default=None)
    """Versions in the whole registry at the time of the plan, soft-deleted ones too; None if they were not counted."""
    limit: int | None = field(name="version_limit", default=None)
    """The registry's limit, as the person gave it; None if nobody gave it."""

    @property
    def in_words(self) -> str:
        """`6 writes, 2 versions (with them the registry has 10,125, …; the limit is 20,000), no new id`."""
        room = ""
        if self.held is not None:
            limit = "" if self.limit is None else f"; the limit is {self.limit:,}"
            room = f" (with them the registry has {self.held + self.versions:,}, soft-deleted ones included{limit})"
        ids = f"{counted(self.new_ids, 'new id')} at most" if self.new_ids else "no new id"
        return f"{counted(self.writes, 'write')}, {counted(self.versions, 'version')}{room}, {ids}"

    @property
    def exceeds(self) -> bool:
        return self.held is not None and self.limit is not None and self.held + self.versions > self.limit


def cost_of(actions: Iterable[Action], *, held: int | None = None, limit: int | None = None) -> Cost:
    steps = tuple(actions)
    registered = [action for action in steps if isinstance(action, Register)]
    return Cost(
        writes=len(steps),
        versions=len(registered),
        new_ids=sum(action.any_id for action in registered),
        held=held,
        limit=limit,
    )
