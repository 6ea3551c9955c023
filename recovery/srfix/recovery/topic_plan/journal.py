"""The journal of a topic plan (`srfix.topic-journal/1`): the file of `repair.journal`, with lines of its own.

Progress within a partition is not journalled: a run that goes on reads from the topic itself what stands.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from srfix.recovery.errors import PlanError
from srfix.recovery.repair.journal import read_journal_as
from srfix.recovery.repair.journal_lines import chained_lines, document_of_line, does_not_follow, unreadable
from srfix.recovery.topic_plan.plan_file import TOPIC_PLANS, TopicPlan
from srfix.serde.files import open_file
from srfix.serde.schemas.models import Json

SCHEMA: Final = "srfix.topic-journal/1"
_FAMILY: Final = b'"schema": "srfix.topic-journal/'


@dataclass(slots=True, kw_only=True)
class TopicJournalState:
    """What a journal says has happened."""

    plan: TopicPlan
    digest: str
    """The plan's."""
    kept: Path | None = None
    """Where the records are that the plan puts an end to; None if it ends none."""
    begun: set[int] = field(default_factory=set)
    """The steps that were begun."""
    ends: dict[int, int] = field(default_factory=dict)
    """Per step that was done the end of its partition right after; 0 for the creation of a topic."""
    finished: bool = False
    """True if the plan was carried out to its end."""
    rolling_back: bool = False
    undone: set[int] = field(default_factory=set)
    """The steps that a rollback is done with."""
    rolled_back: bool = False
    """True if a rollback came to its end."""


def read_topic_journal(path: Path) -> TopicJournalState:
    """Reads a journal without touching it.

    :raises PlanError: if there is none, or it cannot be read, or nothing was begun.
    """
    return read_journal_as(path, replay_topic)


def is_topic_journal(path: Path) -> bool:
    """True if the first line of a file says that it is the journal of a topic plan."""
    try:
        with open_file(path) as file:
            return _FAMILY in file.readline(64 << 20)
    except OSError:
        return False


def replay_topic(path: Path, content: bytes) -> TopicJournalState:
    """What whole lines say.

    :param path: the journal, for messages.
    :param content: its lines, each with its end.
    :raises PlanError: if this is no journal of a topic plan, or its lines do not hang together.
    """
    lines = chained_lines(path, content)
    state = _begun(path, next(lines)[1])
    for number, line in lines:
        document = document_of_line(path, number, line)
        try:
            follows = _take(state, document)
        except (KeyError, TypeError, ValueError) as error:
            raise unreadable(path, number) from error
        if not follows:
            raise does_not_follow(path, number)
    return state


def _begun(path: Path, line: bytes) -> TopicJournalState:
    try:
        document = document_of_line(path, 1, line)
    except PlanError:
        document = None
    match document:
        case {"event": "begun", "schema": str(schema), "digest": str(digest), "plan": dict(plan), **rest}:
            if schema != SCHEMA:
                raise PlanError(
                    f"The journal {path} is a {schema}, and this is the journal of a plan of srfix state ({SCHEMA}). Name that "
                    "one, or give this plan a journal of its own with --journal."
                )
            read = TOPIC_PLANS.plan_from(plan, where=f"the first line of {path}")
            if plan.get("digest") != digest:
                raise PlanError(f"The journal {path} was edited: its plan does not have the digest that it names.")
            kept = rest.get("kept")
            return TopicJournalState(plan=read, digest=digest, kept=Path(kept) if isinstance(kept, str) else None)
    raise PlanError(
        f"{path} is not a journal of srfix: its first line does not begin a plan. Nothing was written to it. Name the journal "
        "of a plan of srfix state; or, for a new one, a file that is not there yet."
    )


def _take(state: TopicJournalState, document: Json) -> bool:
    """Notes what a line says; False if that cannot follow what was said before."""
    steps = {step.step for step in state.plan.actions}
    match document:
        case {"event": "before", "step": int(step)}:
            state.begun.add(step)
            following = min(steps - state.ends.keys(), default=None)
            return step == following and not state.rolling_back
        case {"event": "after", "step": int(step), "end": int(end)}:
            may = step in state.begun - state.ends.keys() and not state.rolling_back
            state.ends[step] = end
            return may
        case {"event": "finished"}:
            state.finished = True
            return state.ends.keys() == steps and not state.rolling_back
        case {"event": "rollback-begun"}:
            is_first, state.rolling_back = not state.rolling_back, True
            return is_first
        case {"event": "undone", "step": int(step)}:
            may = state.rolling_back and step == max(state.begun - state.undone, default=None)
            state.undone.add(step)
            return may
        case {"event": "rolled-back"}:
            state.rolled_back = True
            return state.rolling_back and state.begun <= state.undone
        case {"event": str()}:
            return True  # `resumed`, `stopped`, and a later version's events that change nothing for this one
    raise ValueError("no event")
