"""From a look at a topic to a plan: the schemas that are missing under the subjects that its reader asks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from srfix.recovery.checks import srf020
from srfix.recovery.checks.interface import Owner, PassedOver, Want, Width
from srfix.recovery.checks.topic_findings import Origin, TopicFinding
from srfix.recovery.clock import now
from srfix.recovery.commands import CommandLine
from srfix.recovery.errors import PlanError
from srfix.recovery.facts.stores import Membership, RoleFacts
from srfix.recovery.facts.subject_state import read_subject_state
from srfix.recovery.facts.survey import Survey
from srfix.recovery.facts.topics import TopicFacts, TopicReader
from srfix.recovery.findings import Severity
from srfix.recovery.repair.plan_file import Omission, Plan
from srfix.recovery.repair.planning.plan import plan_of
from srfix.recovery.repair.planning.price import cost_within
from srfix.recovery.repair.planning.repairs import Keep, SubjectRepair, decide
from srfix.recovery.topic_check.examine import TopicCheck
from srfix.serde.errors import UsageError
from srfix.serde.wire import SchemaId


def make_topic_plan(
    topic_check: TopicCheck,
    survey: Survey,
    *,
    keep: Keep = Keep.AUTO,
    width: Width = Width.WIDE,
    exact_ids: bool = False,
    also: Collection[str] = (),
    command_line: CommandLine | None = None,
    clock: Callable[[], str] = now,
    bootstrap_servers: str | None = None,
    version_limit: int | None = None,
) -> Plan:
    """As `make_plan`, for a topic's findings and all ids that may arrive; `SRF020` in `also` repairs notes."""
    if width is Width.ALL_VERSIONS:
        raise UsageError("--all-versions counts no ids, and --topic needs that count: give only one of them.")
    wants = _wants(topic_check, survey, width, also, command_line or CommandLine())
    decided = tuple(decide(wants, survey, keep=keep, exact_ids=exact_ids))
    needed = tuple(decision for decision in decided if isinstance(decision, SubjectRepair))
    omissions = tuple(decision for decision in decided if isinstance(decision, Omission))
    plan = plan_of(needed, omissions, survey, width=width, clock=clock, bootstrap_servers=bootstrap_servers)
    if plan.left_out and not needed:
        raise PlanError("No plan was made: " + " ".join(plan.left_out))
    cost = cost_within(plan.actions, survey, version_limit, less="--only-live or --role")
    return replace(
        plan,
        omissions=(*omissions, *_left_to_others(topic_check)),
        passed_over=tuple(dict.fromkeys(decision.why for decision in decided if isinstance(decision, PassedOver))),
        playbook=tuple(_playbook(topic_check)) if needed else (),
        cost=cost if needed else None,
    )


def _wants(
    topic_check: TopicCheck, survey: Survey, width: Width, also: Collection[str], command_line: CommandLine
) -> Iterator[Want | PassedOver]:
    for finding in topic_check.findings:
        if finding.code != srf020.CODE or not finding.repairable:
            continue
        if finding.severity is Severity.NOTE and srf020.CODE not in also:
            plan = command_line.quoted("plan", "--topic", finding.topic, "--also", srf020.CODE, "-o", "plan.json")
            yield PassedOver(
                code=srf020.CODE,
                subject=finding.subject,
                why=f"Topic {finding.topic} carries schema ids that {finding.subject} lacks. srfix reports this only "
                f"as a note ({srf020.CODE}), because the topic's reader does not need these ids now. To register them "
                f"nevertheless: {plan}.",
            )
            continue
        yield _want(topic_check, finding, survey, width)


def _want(topic_check: TopicCheck, finding: TopicFinding, survey: Survey, width: Width) -> Want:
    answer = topic_check.answers.role(finding.role)
    assert answer is not None
    faults = {fault.schema_id for fault in finding.schema_ids}
    ids_of_subject = {asked_id.schema_id: asked_id for asked_id in answer.ids if asked_id.subject == finding.subject}
    at_fault = tuple(i for i in sorted(faults & ids_of_subject.keys()) if ids_of_subject[i].is_mended)
    memberships = {schema_id: asked_id.membership for schema_id, asked_id in ids_of_subject.items()}
    missing = {schema_id: memberships[schema_id] for schema_id in at_fault}
    if width is Width.WIDE:
        missing |= {
            schema_id: asked_id.membership for schema_id, asked_id in ids_of_subject.items() if asked_id.is_mended
        }
        missing |= _next_ones(finding, survey, missing.keys())
    holders = () if finding.origin is None else finding.origin.subjects
    return Want(
        code=srf020.CODE,
        owner=Owner.PRODUCERS,
        facts=TopicFacts(
            source=finding.source, census=topic_check.answers.census, read=topic_check.answers.question.read
        ),
        role=RoleFacts(
            role=finding.role,
            subject=finding.subject,
            state=read_subject_state(survey.registry, finding.subject),
            memberships=memberships,
        ),
        at_fault=at_fault,
        missing=tuple(missing[schema_id] for schema_id in sorted(missing)),
        known_under=holders[0] if holders else finding.source.subject,
    )


def _next_ones(finding: TopicFinding, survey: Survey, known_ids: Collection[SchemaId]) -> dict[SchemaId, Membership]:
    """Other ids under the subject of the topic from which this one was copied; records with these ids may arrive next."""
    origin = finding.origin
    if origin is None or origin.kind not in (Origin.MIRRORED, Origin.OTHER_TOPIC, Origin.OWN):
        return {}
    ids = survey.ids_under(origin.subjects[0], deleted=False) - frozenset(known_ids)
    memberships = (survey.membership(finding.subject, schema_id) for schema_id in ids)
    return {membership.schema_id: membership for membership in memberships if membership.is_missing}


def _left_to_others(topic_check: TopicCheck) -> Iterator[Omission]:
    for finding in topic_check.findings:
        if finding.severity is not Severity.NOTE and not finding.repairable:
            yield Omission(
                subject=finding.subject,
                reason=f"{finding.role.value}s of topic {finding.topic} cannot be read ({finding.code}), and no plan "
                "repairs that; srfix check says what to do",
            )
    for skipped in topic_check.skipped:
        if skipped.could_hide:
            yield Omission(
                subject=topic_check.answers.question.subject_of(topic_check.answers.question.roles[-1]),
                reason=f"{skipped.what}; srfix check says why and what to do",
                is_unseen=True,
            )


def _playbook(topic_check: TopicCheck) -> Iterator[str]:
    topic, reader = topic_check.answers.question.topic, topic_check.answers.question.read.reader
    yield "Stop jobs that clean up or copy subjects until the repair is verified."
    yield "Repair: apply the plan with srfix apply, then check the repair with srfix verify."
    if reader is TopicReader.KSQLDB:
        yield (
            "Then look at the query. ksqlDB 0.13 and later retries by itself; restart an older ksqlDB. ksqlDB does "
            "not read skipped records again (its processing log names them)."
        )
    elif reader in (TopicReader.CONNECT, TopicReader.UNKNOWN):
        yield (
            "Then restart the readers that failed. A failed Connect task stays failed until somebody restarts it "
            "(POST /connectors/NAME/restart?includeTasks=true). Records that errors.tolerance=all skipped are not "
            "read again."
        )
    else:
        yield "Then restart the reader, if it stopped."
    yield (
        f"The next schema in topic {topic} will need the same repair. To prevent that, let the reader ask the subject "
        "under which the producers register. Or register each new schema under both subjects, before the first record "
        "with this schema."
    )
