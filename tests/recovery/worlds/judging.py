"""One world from the first diagnosis to the rollback, compared with the truth. Each property is a sentence."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from srfix.fixtures.registry.emulation import REDPANDA, Habits
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery.diagnosis.examination import Examination
from srfix.recovery.errors import AppliedInPartError, PlanError
from srfix.recovery.facts.survey import Survey
from srfix.recovery.findings import Diagnosis, Finding, Severity, Weight
from srfix.recovery.internal_topics import parse
from srfix.recovery.plans.runs import Left
from srfix.recovery.repair.apply import apply_plan
from srfix.recovery.repair.plan_file import Plan
from srfix.recovery.repair.planning.plan import make_plan
from srfix.recovery.repair.rollback import roll_back
from srfix.recovery.repair.verify.events import Confirmed, Problem
from srfix.recovery.repair.verify.verify import verify
from srfix.serde.errors import UsageError
from srfix.serde.subjects.names import split_context
from tests.recovery.worlds.expectation import differences
from tests.recovery.worlds.expected import expectations
from tests.recovery.worlds.person import decides, only_application
from tests.recovery.worlds.relatives_truth import forbidden, look_alikes, missed
from tests.recovery.worlds.restoring import (
    failures,
    failures_on_disk,
    live_rows,
    look_up,
    may_be_table,
    rows_that_a_wipe_loses,
)
from tests.recovery.worlds.seen import looks_global, may_hold_lost
from tests.recovery.worlds.staged import StagedWorld
from tests.recovery.worlds.world import Kind, TrueStore, World

SOURCE: Final = "the source that is named is the true one, and nothing is broken or repaired where there is none"
CLEAN_BILL: Final = "a diagnosis or a verification that is fine means that the reader reads every row"
REPAIR: Final = "a repair that is verified reads, and its rollback leaves the registry as it was"
BOUNDS: Final = "a plan writes to no subject that no finding names, and to none where the diagnosis is fine"
ADVICE: Final = "nobody is told to delete or rewrite healthy rows"
ROWS: Final = "each finding of a store whose source is known says what is true of its rows"
RELATIVES: Final = "no finding that the truth forbids, and none is missed that the evidence allows"
LOOK_ALIKES: Final = "of codes that look alike exactly one is given to a store and role"
NOTHING_NEW: Final = "after a repair nothing is found that was not there before it"
PROPERTIES: Final = (SOURCE, CLEAN_BILL, REPAIR, BOUNDS, ADVICE, ROWS, RELATIVES, LOOK_ALIKES, NOTHING_NEW)


@dataclass
class Judgement:
    wrong: list[tuple[str, str]] = field(default_factory=list)
    decidable: int = 0
    """Stores whose source a person would name from the visible facts."""
    undecided: int = 0
    """Those of them for which srfix does not name a source."""
    reached: list[str] = field(default_factory=list)
    """The kind of world, for the statistics."""
    codes: list[str] = field(default_factory=list)


def clock() -> str:
    return "2020-06-16T03:00:00+00:00"


def is_a_trap(world: World) -> bool:
    """True if the visible facts point a careful person to the wrong source: such a world says nothing about a tool."""
    for store in world.truth:
        if only_application(world, store) not in (None, store.application):
            return True
        said = decides(world, store)
        # Whether a store that holds its topic's records logs nothing is another question: see `may_be_table`.
        if said is not None and said != (store.application, store.name, store.topic or store.fed_by):
            return True
    return False


def judge(world: World, registry: FixtureRegistry) -> Judgement:
    """Diagnose, plan, apply, verify, diagnose again, roll back. The registry is emptied first, and gets the world's
    habits.
    """
    registry._habits = REDPANDA.get(world.registry, Habits())
    registry.clear()
    return judge_staged(StagedWorld(world, registry))


def judge_staged(staged: StagedWorld) -> Judgement:
    """The same for a world that stands in its registry."""
    world, registry = staged.world, staged.registry
    out = Judgement()
    with staged.client() as client:
        survey = staged.survey(client)
        try:
            examination = staged.examine(survey)
        except UsageError as refused:
            out.reached.append("refused")
            if world.application is None or any(failures(staged, store) for store in _asked(staged)):
                out.wrong.append((ROWS, f"refused, though what was said is true: {refused}"))
            return out
        diagnosis = examination.diagnosis
        out.wrong += [(SOURCE, what) for what in _wrong_sources(staged, diagnosis)]
        out.wrong += [(ADVICE, what) for what in _bad_advice(staged, diagnosis)]
        out.wrong += [(ROWS, what) for what in _wrong_rows(staged, examination)]
        out.wrong += [(RELATIVES, what) for what in (*forbidden(staged, diagnosis), *missed(staged, diagnosis))]
        out.wrong += [(LOOK_ALIKES, what) for what in look_alikes(diagnosis)]
        out.codes = sorted({finding.code for finding in diagnosis.findings})
        out.wrong += [(CLEAN_BILL, f"diagnose: {what}") for what in _unearned(staged, diagnosis)]
        if registry.writes:
            out.wrong.append((BOUNDS, f"diagnose wrote: {registry.write_log}"))
        _count_undecided(world, examination, out)
        out.reached.append("fine" if _is_fine(diagnosis) else "findings" if diagnosis.has_findings else "inconclusive")
        plan = _planned(examination, survey, out)
        if plan is not None and plan.actions:
            out.wrong += [(SOURCE, what) for what in _wrong_plan(staged, diagnosis, plan)]
            out.wrong += [(BOUNDS, what) for what in _out_of_bounds(staged, diagnosis, plan)]
            _repair(staged, diagnosis, plan, out)
    return out


def _planned(examination: Examination, survey: Survey, out: Judgement) -> Plan | None:
    try:
        return make_plan(examination, survey, clock=clock)
    except PlanError:
        out.reached.append("no plan")
        return None


def _without_numbers(dump: dict[str, Any]) -> dict[str, Any]:
    """A soft-deleted version that was registered again, where look-ups find none, has another number from then on."""
    subjects = {
        subject: sorted((version["deleted"], version["id"]) for version in versions)
        for subject, versions in dump["subjects"].items()
    }
    return {**dump, "subjects": subjects}


def _repair(staged: StagedWorld, diagnosis: Diagnosis, plan: Plan, out: Judgement) -> None:
    before, held = staged.registry.dump(), _held(staged)
    with staged.client() as client, tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "plan.json.journal.jsonl"
        try:
            for _ in apply_plan(plan, client, journal, clock=clock):
                pass
        except (AppliedInPartError, PlanError) as error:
            out.wrong.append((REPAIR, f"a plan that nobody disturbed was not applied: {error}"))
            return
        out.reached.append("applied")
        for subject, schema_id in sorted(_held(staged) - held):
            if look_up(staged, subject, schema_id) is not None:
                out.wrong.append((REPAIR, f"id {schema_id} was put under {subject}, where its reader does not find it"))
        _verified(staged, plan, diagnosis, out)
        with staged.client() as fresh:
            again = staged.examine(staged.survey(fresh)).diagnosis
        out.wrong += [(SOURCE, f"second diagnosis: {what}") for what in _wrong_sources(staged, again)]
        out.wrong += [(CLEAN_BILL, f"second diagnose: {what}") for what in _unearned(staged, again)]
        out.wrong += [(NOTHING_NEW, what) for what in _new(diagnosis, again, is_raw=bool(staged.world.registry))]
        out.wrong += [(RELATIVES, f"second diagnosis: {what}") for what in forbidden(staged, again)]
        out.wrong += [(LOOK_ALIKES, f"second diagnosis: {what}") for what in look_alikes(again)]
        is_left = any(isinstance(event, Left) for event in roll_back(journal, client, clock=clock))
    after = staged.registry.dump()
    if not is_left and (
        _without_numbers(after) != _without_numbers(before) if staged.world.registry else after != before
    ):
        out.wrong.append((REPAIR, "after the rollback the registry is not as it was before"))


def _held(staged: StagedWorld) -> set[tuple[str, int]]:
    """Each subject with the ids of its versions, soft-deleted ones too."""
    listed: Any = staged.registry.dump()["subjects"]
    return {(subject, version["id"]) for subject, versions in listed.items() for version in versions}


def _new(before: Diagnosis, after: Diagnosis, *, is_raw: bool) -> Iterator[str]:
    known = {(f.code, _bare(f), f.role) for f in before.findings}  # in a mirror it was there too
    for finding in after.findings:
        is_known = (finding.code, _bare(finding), finding.role) in known
        # Findings that a repair makes visible. A copy from the source subject may show that its schema is an internal
        # one, which was litter before. And live keys may carry several ids, or (in a registry that keeps texts as sent)
        # another id than the reader writes: SRF005 claims nothing while there is no key subject.
        has_other_keys = finding.code == "SRF005" and (is_raw or len(finding.schema_ids) > 1)
        is_shown = finding.severity is Severity.LITTER or has_other_keys
        if finding.severity is not Severity.NOTE and not is_shown and not is_known:
            yield f"{finding.code} {finding.role.value} of {finding.application}/{finding.store} is new after the repair"


def _bare(finding: Finding) -> str:
    return split_context(finding.subject)[1]


def _verified(staged: StagedWorld, plan: Plan, diagnosis: Diagnosis, out: Judgement) -> None:
    with staged.client() as fresh:
        events = list(verify(plan, staged.cluster(), staged, fresh, supplied=staged.supplied()))
    if not events or not all(isinstance(event, Confirmed) for event in events):
        is_wrong = any(isinstance(event, Problem) for event in events)
        out.reached.append("verified with problems" if is_wrong else "not all looked at")
        return
    out.reached.append("verified")
    planned = {(finding.application, finding.store) for finding in plan.findings}
    told = {split_context(finding.subject)[1] for finding in diagnosis.findings}
    told |= {split_context(subject)[1] for each in diagnosis.skipped if each.could_hide for subject in each.subjects}
    for store in _asked(staged):
        failed = failures(staged, store)
        if failed and (store.application, store.name) in planned:
            out.wrong.append((REPAIR, f"verified, but {failed[0]} ({len(failed)} rows)"))
        elif failed and not told.intersection(staged.world.table_subject(store, role) for role in ("key", "value")):
            out.wrong.append((CLEAN_BILL, f"verify: all is confirmed, but {failed[0]} ({len(failed)} rows)"))


def _is_fine(diagnosis: Diagnosis) -> bool:
    return not diagnosis.has_findings and not diagnosis.is_inconclusive


def _asked(staged: StagedWorld) -> list[TrueStore]:
    """The stores that srfix can know of and was asked about."""
    world = staged.world
    known = {*world.topology_of, *world.state_of}
    return [
        store
        for store in world.truth
        if world.application in (None, store.application)
        and world.store in (None, store.name)
        and (
            store.application in known
            or any(world.table_subject(store, role) in world.subjects for role in ("key", "value"))
        )
    ]


def _unearned(staged: StagedWorld, diagnosis: Diagnosis) -> Iterator[str]:
    if not _is_fine(diagnosis):
        return
    for store in _asked(staged):
        failed = [*failures(staged, store), *failures_on_disk(staged, store)]
        if failed:
            yield f"all is fine, but {failed[0]} ({len(failed)} rows)"


def _true(world: World, application: str, store: str) -> TrueStore | None:
    return next((s for s in world.truth if (s.application, s.name) == (application, store)), None)


def _wrong_sources(staged: StagedWorld, diagnosis: Diagnosis) -> Iterator[str]:
    world = staged.world
    for finding in diagnosis.findings:
        store = _true(world, finding.application, finding.store)
        named = f"{finding.code} {finding.role.value} of {finding.application}/{finding.store}"
        truth = "no such store" if store is None else f"{store.kind.value} of {store.topic}"
        if finding.source is not None and _is_named_beside(world, finding, finding.source.topic):
            continue
        is_fed = store is not None and finding.source is not None and finding.source.topic == store.fed_by
        if store is not None and is_fed and (may_be_table(staged, store) or finding.severity is Severity.NOTE):
            continue
        if store is not None and finding.source is not None and may_hold_lost(world, store, finding.source.topic):
            continue
        is_of_changelog = store is not None and finding.source is not None and finding.source.topic == store.changelog
        if finding.code == "SRF014" and is_of_changelog:
            continue  # a changelog of its own, which lost ids
        if finding.source is not None and (store is None or store.topic != finding.source.topic):
            yield f"{named} restores from {finding.source.topic}; true is: {truth}"
        elif finding.severity is Severity.BROKEN and store is not None and store.is_told_by_its_name:
            yield f"{named} is said to be broken; true is: {truth}, as its name says"


def _is_named_beside(world: World, finding: Finding, topic: str) -> bool:
    """True if nobody could know better. Either the source is the true one, nothing is left of the true application, and
    the finding also names it. Or somebody deleted the true source, or the application has not read it yet, and it reads
    another topic that fits equally well.
    """
    true = _true(world, finding.application, finding.store)
    is_read = true is not None and not (true.kind is Kind.TABLE and looks_global(world, true))
    if true is not None and true.topic is not None and (true.topic not in world.topics or not is_read):
        group = world.groups.get(finding.application)
        return group is not None and any(name == topic for name, _partition in group.commits)
    return any(
        topic in (store.topic, store.changelog)
        and store.changelog == f"{finding.application}-{finding.store}-changelog"
        and f"{store.application}/{store.name}" in finding.other_splits
        and _left_no_sign(world, store.application, beside=finding.application)
        for store in world.truth
    )


def _left_no_sign(world: World, application: str, *, beside: str) -> bool:
    """True if nothing is left of an application that could not as well be another one's."""
    group = world.groups.get(application)
    return (group is None or not group.has_signs_of_streams) and not any(
        parse(topic, application=application) and not parse(topic, application=beside) for topic in world.topics
    )


def _wrong_plan(staged: StagedWorld, diagnosis: Diagnosis, plan: Plan) -> Iterator[str]:
    world = staged.world
    beside = {
        (finding.application, finding.store)
        for finding in diagnosis.findings
        if finding.source is not None and _is_named_beside(world, finding, finding.source.topic)
    }
    for planned in plan.findings:
        if (planned.application, planned.store) in beside:
            continue
        assert planned.application is not None
        assert planned.store is not None
        store = _true(world, planned.application, planned.store)
        if store is not None and planned.source_topic == store.fed_by and may_be_table(staged, store):
            continue
        if store is not None and may_hold_lost(world, store, planned.source_topic):
            continue
        if store is None or store.topic != planned.source_topic:
            truth = "no such store" if store is None else f"{store.kind.value} of {store.topic}"
            yield f"a plan repairs {planned.application}/{planned.store} from {planned.source_topic}; true is: {truth}"


def _out_of_bounds(staged: StagedWorld, diagnosis: Diagnosis, plan: Plan) -> Iterator[str]:
    subjects = {action.subject for action in plan.actions}
    named = {str(finding.subject) for finding in diagnosis.findings}
    for subject in sorted(subjects - named):
        yield f"the plan writes to {subject}, which no finding names"
    left = {subject for subjects in staged.world.gone.values() for subject in subjects}
    for action in plan.actions:
        if action.subject.rpartition(":")[2] in left:
            yield f"the plan touches {action.subject}, which a gone application left, and nobody asked for it"
    if not diagnosis.has_findings:
        yield f"the diagnosis found nothing, and the plan writes to {sorted(subjects)}"


_DESTRUCTIVE: Final = re.compile(
    r"tombstone|\bwipe|cleanup\.policy=compact|\bDROP\b|hard.delete\b"
    r"|(?:delete|rewrite) (?:the|these|those|its|their) (?:row|record|topic|key)",
    re.IGNORECASE,
)
_NEGATED: Final = re.compile(r"\b(?:not|never|no|nothing|don't|nobody|without|instead of)\b", re.IGNORECASE)


def _bad_advice(staged: StagedWorld, diagnosis: Diagnosis) -> Iterator[str]:
    """Advice that deletes or rewrites data, although the rows are healthy; or about a topic's policy, without proof."""
    for finding in diagnosis.findings:
        store = _true(staged.world, finding.application, finding.store)
        sentences = re.split(r"(?<=[.;:])\s+", f"{finding.next}")
        destructive = [said for said in sentences if _DESTRUCTIVE.search(said) and not _NEGATED.search(said)]
        if not destructive:
            continue
        name = f"{finding.code} {finding.role.value} of {finding.application}/{finding.store}"
        if finding.code == "SRF018":
            is_proven = any(e.weight is Weight.CONCLUSIVE for e in finding.evidence) or bool(staged.world.sources)
            if store is None or store.topic is None or not is_proven:
                yield f"{name} without proof of the source: {destructive[0]}"
        elif finding.code == "SRF014" and store is not None:
            lost = rows_that_a_wipe_loses(staged, store)
            if lost:
                yield f"{name}, whose row {lost[0].key} a wipe loses: {destructive[0]}"
        elif store is None or all(row.record.is_healthy for row in live_rows(staged, store)):
            yield f"{name}, whose rows are healthy: {destructive[0]}"


def _wrong_rows(staged: StagedWorld, examination: Examination) -> Iterator[str]:
    if staged.world.says_reader or staged.world.context:
        return  # severities and look-ups differ there
    for store in _decided(staged.world, examination):
        if looks_global(staged.world, store):
            continue  # nobody can tell that it is no global table: all of it counts as restored
        mine: list[Finding] = [
            finding
            for finding in examination.diagnosis.findings
            if (finding.application, finding.store) == (store.application, store.name)
        ]
        for expected in expectations(staged, store):
            yield from differences(staged, store, expected, mine)


def _decided(world: World, examination: Examination) -> Iterable[TrueStore]:
    """The true stores whose true source srfix knows, and whose topic exists."""
    for facts in examination.facts:
        store = _true(world, facts.store.application, facts.store.name)
        topic = None if facts.source is None else facts.source.topic
        if store is not None and topic is not None and topic == store.topic and topic in world.topics:
            yield store


def _count_undecided(world: World, examination: Examination, out: Judgement) -> None:
    named = {
        (facts.store.application, facts.store.name, str(facts.source.topic))
        for facts in examination.facts
        if facts.source is not None
    }
    for store in world.truth:
        said = decides(world, store)
        if said is None or store.topic is None or world.application not in (None, store.application):
            continue
        out.decidable += 1
        out.undecided += said not in named
