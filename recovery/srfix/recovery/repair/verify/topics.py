"""Verifies the repair of a topic's subject: the topic is looked at again as its reader would, and rows are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from srfix.recovery.census.interface import CensusEngine, CensusProgress
from srfix.recovery.facts.lives import only_ids
from srfix.recovery.facts.survey import Survey
from srfix.recovery.facts.topics import Strategy, TopicQuestion, TopicRead, Trouble
from srfix.recovery.repair.plan_file import Plan, PlannedFinding
from srfix.recovery.repair.verify.events import Event, NotLookedAt, Problem
from srfix.recovery.repair.verify.ids import AskedIds
from srfix.recovery.repair.verify.rows import rows_read, rows_without_id
from srfix.recovery.topic_check.examine import TopicCheck, check_topic
from srfix.serde.errors import UsageError

_OF_THE_LATEST: Final = (Trouble.NO_LATEST, Trouble.LATEST_CANNOT_READ)
"""What no look-up of an id tells: a reader that takes the latest version fails all the same."""


def look_again(
    finding: PlannedFinding,
    read: TopicRead,
    survey: Survey,
    engine: CensusEngine,
    *,
    deadline_s: float | None = None,
    max_records: int | None = None,
    on_progress: Callable[[CensusProgress], None] | None = None,
) -> TopicCheck:
    """The topic of a planned finding, looked at as its reader would look.

    A group that has no committed offsets any more is left out: then the whole topic counts.
    """
    question = TopicQuestion(
        topic=finding.source_topic,
        roles=(finding.role,),
        subject=finding.subject if read.strategy is Strategy.TOPIC else None,
        read=read,
    )
    try:
        return check_topic(
            question, survey, engine, deadline_s=deadline_s, max_records=max_records, on_progress=on_progress
        )
    except UsageError:
        if read.group is None:
            raise
        return look_again(
            finding,
            TopicRead(
                reader=read.reader,
                strategy=read.strategy,
                with_metadata=read.with_metadata,
                isolation=read.isolation,
            ),
            survey,
            engine,
            deadline_s=deadline_s,
            max_records=max_records,
            on_progress=on_progress,
        )


def topic_events(plan: Plan, finding: PlannedFinding, found: TopicCheck, survey: Survey) -> Iterator[Event]:
    """What holds and what does not of a topic's finding."""
    subject, census = finding.subject, found.answers.census
    for skipped in found.skipped:
        if skipped.could_hide:
            yield NotLookedAt(subject=subject, what=f"{skipped.what}: {skipped.reason}")
    answer = found.answers.role(finding.role)
    ids = answer.ids if answer is not None else ()
    of_it = [each for each in ids if each.subject == subject]
    live = {each.schema_id for each in of_it if each.standing.is_met or each.schema_id in finding.planned_ids}
    asked = AskedIds.ask(plan, finding, live, survey.registry)
    yield from asked.events(survey.registry, is_partial=census.is_partial)
    read = only_ids(census, finding.role, asked.memberships)
    known = asked.planned | asked.left_out.keys() | set(plan.expects[subject].schema_ids)
    yield from rows_read(
        finding,
        read,
        survey.cluster,
        survey.registry,
        asked.memberships,
        known_ids=known,
        window=None if answer is None else answer.window,
    )
    yield from rows_without_id(finding, census)
    for each in of_it:
        if each.standing.is_met and each.trouble in _OF_THE_LATEST:
            yield Problem(subject=subject, what=f"schema id {each.schema_id}: {each.trouble.value}, {each.why}")
