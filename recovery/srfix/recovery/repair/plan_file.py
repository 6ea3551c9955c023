"""The plan as a value and as a file (`srfix.plan/1`): digest, reading, writing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final, cast

from srfix.recovery.actions.actions import Action, Register
from srfix.recovery.actions.document import action_document, action_from, describe
from srfix.recovery.facts.circumstances import Circumstances, KnownStore, circumstances_document, circumstances_from
from srfix.recovery.facts.subject_state import SubjectState, subject_state_document, subject_state_from
from srfix.recovery.facts.topics import TopicRead, read_document, read_from
from srfix.recovery.plans.documents import PlanFiles, plan_digest
from srfix.recovery.repair.cost import Cost, cost_document, cost_from
from srfix.serde.html import heading, pairs, paragraph, table
from srfix.serde.schemas.models import Json
from srfix.serde.subjects.names import Role, Subject, Topic
from srfix.serde.wire import SchemaId, given_schema_id

SCHEMA: Final = "srfix.plan/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFinding:
    """A finding that the plan repairs, with what a later verify needs."""

    code: str
    application: str | None
    """None for a topic's finding: no store is concerned."""
    store: str | None
    """None for a topic's finding."""
    role: Role
    subject: Subject
    """The phantom subject, or the one that the topic's reader asks."""
    source_topic: Topic
    """The topic that the store restores from, or that is read."""
    schema_ids: tuple[SchemaId, ...]
    """The ids at fault, ascending."""
    planned_ids: tuple[SchemaId, ...] = ()
    """Every id whose schema the plan registers under `subject`, as records carry it, ascending: more than are at fault now,
    for the committed offset moves on."""
    read: TopicRead | None = None
    """How the topic is read, for a topic's finding; None for a store's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Omission:
    """Schemas that a subject lacks and the plan does not register: carried out whole, it leaves them missing."""

    subject: Subject
    """The subject that lacks them."""
    reason: str
    """Why the plan leaves them out, and what to do, in words: no capital, no full stop."""
    schema_ids: tuple[SchemaId, ...] = ()
    """Their ids, ascending; empty if they are not known."""
    is_unseen: bool = False
    """True if nobody looked whether the subject lacks anything: it was skipped when the plan was made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What will be written, why, and what it costs."""

    registry: str
    """The registry's URLs, without secrets."""
    bootstrap_servers: str | None
    """The cluster that was looked at; a default for verify."""
    created_at: str
    """ISO 8601, UTC."""
    srfix: str
    """The version that made it."""
    findings: tuple[PlannedFinding, ...]
    """What it repairs."""
    actions: tuple[Action, ...]
    """What it writes, in order."""
    expects: Mapping[Subject, SubjectState]
    """The state of each subject when planned; apply refuses another one."""
    price: tuple[str, ...]
    """What changes for others, in words."""
    left_out: tuple[str, ...] = ()
    """What is missing too, and no registration can mend, in sentences."""
    omissions: tuple[Omission, ...] = ()
    """What it leaves missing, stores with an undecided source too: a verification asks for it."""
    passed_over: tuple[str, ...] = ()
    """Repairs that need not be and were not asked for, each with the command that plans it, in sentences."""
    playbook: tuple[str, ...]
    """What to do around it, for the application at hand, in order."""
    applications: tuple[Circumstances, ...] = ()
    """What was known of each application that it concerns, by name: what comes after the repair depends on it."""
    cost: Cost | None = None
    """What it takes from the registry; None in plans of srfix before it was counted."""

    def _repr_html_(self) -> str:
        return _plan_html(self)

    @property
    def digest(self) -> str:
        """SHA-256 over the canonical JSON of everything but the digest itself."""
        return plan_digest(plan_document(self))

    @property
    def circumstances(self) -> tuple[Circumstances, ...]:
        """What was known of each application; of one that the plan does not describe, its stores and their topics."""
        told = {known.application for known in self.applications}
        stores: dict[str, dict[str, KnownStore]] = {}
        for finding in self.findings:
            if finding.application is not None and finding.store is not None and finding.application not in told:
                of_it = stores.setdefault(finding.application, {})
                of_it[finding.store] = KnownStore(name=finding.store, topic=finding.source_topic)
        untold = (
            Circumstances(application=name, stores=tuple(of_it[store] for store in sorted(of_it)))
            for name, of_it in stores.items()
        )
        return tuple(sorted((*self.applications, *untold), key=lambda known: known.application))


def plan_document(plan: Plan) -> dict[str, Json]:
    """The `srfix.plan/1` document, digest included."""
    document: dict[str, Json] = {
        "schema": SCHEMA,
        "srfix": plan.srfix,
        "created_at": plan.created_at,
        "registry": plan.registry,
        "bootstrap_servers": plan.bootstrap_servers,
        "findings": [
            {
                "code": f.code,
                "application": f.application,
                "store": f.store,
                "role": f.role.value,
                "subject": f.subject,
                "source_topic": f.source_topic,
                "schema_ids": [int(schema_id) for schema_id in f.schema_ids],
                "planned_ids": [int(schema_id) for schema_id in f.planned_ids],
                # Not null where there is none: the digests of plans that are under way would change.
                **({} if f.read is None else {"read": read_document(f.read)}),
            }
            for f in plan.findings
        ],
        "actions": [action_document(action) for action in plan.actions],
        "expects": {subject: subject_state_document(plan.expects[subject]) for subject in sorted(plan.expects)},
        "price": list(plan.price),
        "left_out": list(plan.left_out),
        "omissions": [
            {
                "subject": o.subject,
                "reason": o.reason,
                "schema_ids": [int(schema_id) for schema_id in o.schema_ids],
                "unseen": o.is_unseen,
            }
            for o in plan.omissions
        ],
        "passed_over": list(plan.passed_over),
        "playbook": list(plan.playbook),
        "applications": [circumstances_document(known) for known in plan.applications],
    }
    if plan.cost is not None:
        document["cost"] = cost_document(plan.cost)
    return document | {"digest": plan_digest(document)}


def load_plan(path: Path) -> Plan:
    """Reads a plan file.

    :raises PlanError: if it cannot be read, is no plan, or was edited.
    """
    return REPAIR_PLANS.load(path)


def save_plan(plan: Plan, path: Path) -> None:
    """Writes a plan file whole or not at all: temporary file, sync, rename.

    :raises PlanError: if the disk does not take it.
    """
    REPAIR_PLANS.save(plan, path)


def _read(document: dict[str, Json], _where: str) -> Plan:
    match document:
        case {
            "srfix": str(version),
            "created_at": str(created_at),
            "registry": str(registry),
            "bootstrap_servers": (None | str()) as bootstrap_servers,
            "findings": list(findings),
            "actions": list(actions),
            "expects": dict(expects),
            "price": list(price),
            "playbook": list(playbook),
            **more,
        }:
            steps = tuple(action_from(action) for action in actions)
            states = {Subject(subject): subject_state_from(state) for subject, state in expects.items()}
            _check(steps, states)
            return Plan(
                registry=registry,
                bootstrap_servers=bootstrap_servers,
                created_at=created_at,
                srfix=version,
                findings=tuple(_finding(finding, steps) for finding in findings),
                actions=steps,
                expects=states,
                price=tuple(str(line) for line in price),
                left_out=_lines(more.get("left_out")),
                omissions=tuple(_omission(omission) for omission in _list(more.get("omissions"))),
                passed_over=_lines(more.get("passed_over")),
                playbook=tuple(str(line) for line in playbook),
                applications=tuple(circumstances_from(known) for known in _list(more.get("applications"))),
                cost=cost_from(more.get("cost")),
            )
    raise ValueError("a key is missing or has another type")


def _check(steps: tuple[Action, ...], states: Mapping[Subject, SubjectState]) -> None:
    """:raises ValueError: if the steps are not in the order of their numbers, or a subject's state is another's."""
    if any(step.step >= following.step for step, following in pairwise(steps)):
        raise ValueError("its steps are not in the order of their numbers")
    if any(step.subject not in states for step in steps):
        raise ValueError("it does not say how a subject must look before it is written to")
    if any(subject != state.subject for subject, state in states.items()):
        raise ValueError("the state of one subject stands under the name of another")


def _list(document: Json) -> list[Json]:
    """A list that plans of earlier versions lack."""
    if document is None:
        return []
    if isinstance(document, list):
        return document
    raise ValueError("what is known of the applications, or what was left out, is no list")


def _finding(document: Json, steps: tuple[Action, ...]) -> PlannedFinding:
    match document:
        case {
            "code": str(code),
            "application": (None | str()) as application,
            "store": (None | str()) as store,
            "role": str(role),
            "subject": str(subject),
            "source_topic": str(topic),
            "schema_ids": list(schema_ids),
            **more,
        }:
            planned, read = more.get("planned_ids"), more.get("read")
            if read is None and (application is None or store is None):
                raise ValueError("a finding is of no store, and does not say how its topic is read")
            return PlannedFinding(
                code=code,
                application=application,
                store=store,
                role=Role(role),
                subject=Subject(subject),
                source_topic=Topic(topic),
                schema_ids=_ids(schema_ids),
                planned_ids=_ids(planned) if isinstance(planned, list) else _registered_under(Subject(subject), steps),
                read=None if read is None else read_from(cast("Json", read)),
            )
    raise ValueError("a finding has another form")


def _registered_under(subject: Subject, steps: tuple[Action, ...]) -> tuple[SchemaId, ...]:
    """What a plan of an earlier version, which does not say it, registers under a subject."""
    ids = (step.schema_id for step in steps if isinstance(step, Register) and step.subject == subject)
    return tuple(sorted(ids))


def _omission(document: Json) -> Omission:
    match document:
        case {"subject": str(subject), "reason": str(reason), "schema_ids": list(schema_ids), **rest}:
            is_unseen = rest.get("unseen") is True
            return Omission(subject=Subject(subject), reason=reason, schema_ids=_ids(schema_ids), is_unseen=is_unseen)
    raise ValueError("what was left out has another form")


def _ids(document: list[Json]) -> tuple[SchemaId, ...]:
    return tuple(given_schema_id(schema_id) for schema_id in document if isinstance(schema_id, int))


def _lines(document: Json) -> tuple[str, ...]:
    return tuple(str(line) for line in document) if isinstance(document, list) else ()


REPAIR_PLANS: Final = PlanFiles(
    schema=SCHEMA,
    what="a plan of srfix",
    remedy="Make one with srfix plan -o FILE.",
    document=plan_document,
    read=_read,
)


def _plan_html(plan: Plan) -> str:
    steps = ((action.subject, describe(action)) for action in plan.actions)
    return "".join(
        (
            heading("Plan of a repair"),
            pairs((("registry", plan.registry), ("made", plan.created_at), ("digest", plan.digest))),
            table(
                ("code", "application", "store", "subject", "source", "schema ids"),
                (
                    (
                        found.code,
                        found.application or "",
                        found.store or "",
                        found.subject,
                        found.source_topic,
                        ", ".join(map(str, found.schema_ids)),
                    )
                    for found in plan.findings
                ),
            ),
            table(
                ("step", "subject", "what is written"), ((number, *step) for number, step in enumerate(steps, start=1))
            )
            or paragraph("It writes nothing."),
            table(("left missing under", "why"), ((left.subject, left.reason) for left in plan.omissions)),
        )
    )
