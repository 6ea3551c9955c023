"""The lines of a journal: how they hang together, and what they say has happened.

Each line ends with a digest over itself and the whole line before it (`chain`), so that a line that is missing, doubled,
moved or damaged is noticed; only an end that was cut off is not. Journals from before there were such digests are held to the
order in which a repair writes its lines.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, cast

from srfix.recovery.actions.actions import Action, Register, has_happened_in_part, with_given_ids
from srfix.recovery.errors import PlanError
from srfix.recovery.facts.subject_state import SubjectState, subject_state_from
from srfix.recovery.repair.plan_file import REPAIR_PLANS, Plan
from srfix.serde.files import parse_json
from srfix.serde.schemas.models import Json
from srfix.serde.subjects.names import Subject
from srfix.serde.wire import SchemaId, is_schema_id

SCHEMA: Final = "srfix.journal/1"
_CHAIN: Final = re.compile(rb', "chain": "([0-9a-f]{64})"\}\Z')


@dataclass(slots=True, kw_only=True)
class JournalState:
    """What a journal says has happened."""

    plan: Plan
    before: dict[int, SubjectState] = field(default_factory=dict)
    """Per step that was begun the subject's state right before."""
    after: dict[int, SubjectState] = field(default_factory=dict)
    """Per step that was done the subject's state right after."""
    given: dict[int, SchemaId] = field(default_factory=dict)
    """Per registration that was done the id that came back."""
    expects: Mapping[Subject, SubjectState] | None = None
    """The state of each subject when the plan was taken up again after it had been finished; None if it was not."""
    settled: frozenset[int] = frozenset()
    """The steps of before, when it was taken up again: they stay done, and say nothing of how the subjects look now."""
    finished: bool = False
    """True if the plan was carried out to its end."""
    stopped: bool = False
    """True if the last run said that it stopped: it has done nothing but what stands here."""
    refused: bool = False
    """True if the registry refused the step in flight: what looks like its outcome is another's doing."""
    only: frozenset[int] | None = None
    """The steps that the last run was asked for; None for all."""
    rolling_back: bool = False
    undoing: set[int] = field(default_factory=set)
    """The registrations whose version a rollback has begun to delete."""
    undone: set[int] = field(default_factory=set)
    """The steps that a rollback is done with."""
    rolled_back: bool = False
    """True if a rollback came to its end."""

    def reopen(self, steps: Collection[int], expects: Mapping[Subject, SubjectState]) -> None:
        """The plan was finished, and these steps are carried out once more, from how the subjects look now."""
        for step in steps:
            self.before.pop(step, None)
            self.after.pop(step, None)
        self.settled = frozenset(self.after)
        self.expects = dict(expects)
        self.finished = False

    @property
    def in_flight(self) -> int | None:
        """The step that was begun and not seen to end."""
        open_steps = [step for step in self.before if step not in self.after]
        return max(open_steps, default=None)

    @property
    def expected(self) -> dict[Subject, SubjectState]:
        """What each subject must look like now: the plan's word, overtaken by the last step that was done to it.

        Where the plan was taken up again, what was found then stands for the plan's word.
        """
        now = dict(self.plan.expects if self.expects is None else self.expects)
        for action in self.plan.actions:
            if action.step in self.after and action.step not in self.settled:
                now[action.subject] = self.after[action.step]
        return now


def chained(body: bytes, previous: bytes) -> bytes:
    """A line without its end, with the digest that ties it to the whole line before it (none before the first)."""
    return body.removesuffix(b"}") + b', "chain": "' + _digest(body, previous) + b'"}'


def _digest(body: bytes, previous: bytes) -> bytes:
    return hashlib.sha256(previous + b"\n" + body).hexdigest().encode()


def is_cut_first_line(content: bytes) -> bool:
    """True if this is how the first line of a journal begins, as far as it goes."""
    rest = content
    for literal, then in _BEGINNING:
        if len(rest) < len(literal):
            return rest is not content and literal.startswith(rest)
        if not rest.startswith(literal):
            return False
        rest = rest[len(literal) :].lstrip(then)
    return True


_PRINTABLE: Final = bytes(code for code in range(0x20, 0x7F) if chr(code) not in '"\\')
_BEGINNING: Final = (
    (b'{"at": "', b"0123456789-:T.+Z"),
    (b'", "by": {"host": "', _PRINTABLE),
    (b'", "pid": ', b"0123456789"),
    (b'}, "digest": "sha256:', b"0123456789abcdef"),
    (b'", "event": "begun", "plan": {', b""),
)
"""What stands there word by word, and the characters of what follows."""


def replay(path: Path, content: bytes) -> JournalState:
    """What whole lines say.

    :param path: the journal, for messages.
    :param content: its lines, each with its end.
    :raises PlanError: if this is no journal, or its lines do not hang together.
    """
    lines = chained_lines(path, content)
    state = _begun(path, next(lines)[1])
    reader = _Reader(state)
    for number, line in lines:
        document = document_of_line(path, number, line)
        try:
            follows = reader.take(document)
        except (PlanError, KeyError, TypeError, ValueError) as error:
            raise unreadable(path, number) from error
        if not follows:
            raise does_not_follow(path, number)
    return state


def chained_lines(path: Path, content: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines of any journal with their numbers, from 1 on, each once it is seen to hang on the one before.

    :param path: the journal, for messages.
    :param content: its lines, each with its end.
    :raises PlanError: if a line does not hang on the one before.
    """
    is_chained, previous = False, b""
    for number, ended in enumerate(content.split(b"\n")[:-1], start=1):
        line = ended.removesuffix(b"\r")
        if number == 1:
            yield number, line  # what is no journal at all says so first
        else:
            document_of_line(path, number, line)
        if _is_chained(path, number, line, previous):
            is_chained = True
        elif is_chained:
            raise does_not_follow(path, number)
        if number > 1:
            yield number, line
        previous = line


def _is_chained(path: Path, number: int, line: bytes, previous: bytes) -> bool:
    """True if a line is tied to the one before it; False if it is tied to none.

    :raises PlanError: if it is tied to another.
    """
    found = _CHAIN.search(line)
    if found is None:
        return False
    if found[1] != _digest(line[: found.start()] + b"}", previous):
        raise does_not_follow(path, number)
    return True


def _begun(path: Path, line: bytes) -> JournalState:
    try:
        document = cast("Json", parse_json(line))
    except ValueError:
        document = None
    match document:
        case {"event": "begun", "schema": str(schema), "digest": str(digest), "plan": dict(plan_document)}:
            if schema != SCHEMA:
                raise PlanError(f"The journal {path} is a {schema}; this version of srfix reads {SCHEMA}.")
            plan = REPAIR_PLANS.plan_from(plan_document, where=f"the first line of {path}")
            if plan.digest != digest:
                raise PlanError(f"The journal {path} was edited: its plan does not have the digest that it names.")
            return JournalState(plan=plan)
    raise PlanError(
        f"{path} is not a journal of srfix: its first line does not begin a repair. A plan that was cut off looks so too. "
        "Nothing was written to it. Name the journal of a repair, or a whole plan; for a new journal a file that is not "
        "there yet."
    )


class _Reader:
    """Takes the lines behind the first, in the order in which apply and rollback write them."""

    def __init__(self, state: JournalState) -> None:
        self._state = state
        self._actions = {action.step: action for action in state.plan.actions}

    def take(self, document: Json) -> bool:
        """Notes what a line says; False if that cannot follow what was said before."""
        state = self._state
        match document:
            case {"event": "before", "step": int(step), "state": found}:
                return self._before(step, subject_state_from(found))
            case {"event": "after", "step": int(step), "state": found, **rest}:
                return self._after(step, subject_state_from(found), rest.get("answer"))
            case {"event": "only", "steps": list(steps)}:
                state.only = frozenset(step for step in steps if isinstance(step, int))
                return state.only <= self._actions.keys() and not state.rolling_back
            case {"event": "resumed"}:
                state.only = None
                return True
            case {"event": "finished"}:
                state.finished = True
                return state.after.keys() == self._actions.keys() and not state.rolling_back
            case {"event": "stopped", **rest}:
                state.stopped, state.refused = True, rest.get("refused") is True
                return True
            case {"event": "reopened", "steps": list(steps), "expects": dict(expects)}:
                if not state.finished or state.rolling_back:
                    return False
                state.stopped = False
                state.reopen(
                    [step for step in steps if isinstance(step, int)],
                    {Subject(subject): subject_state_from(found) for subject, found in expects.items()},
                )
                return expects.keys() == state.plan.expects.keys()
            case {"event": "rollback-begun"}:
                is_first, state.rolling_back = not state.rolling_back, True
                return is_first
            case {"event": "undoing", "step": int(step)}:
                state.undoing.add(step)
                return self._may_undo(step) and isinstance(self._actions[step], Register)
            case {"event": "undone", "step": int(step)}:
                may = self._may_undo(step)
                state.undone.add(step)
                return may
            case {"event": "rolled-back"}:
                state.rolled_back = True
                return state.rolling_back and state.after.keys() <= state.undone
            case {"event": str()}:
                return True  # a later version's event that changes nothing for this one
        raise ValueError("no event")

    def _before(self, step: int, found: SubjectState) -> bool:
        state = self._state
        wanted = self._actions.keys() if state.only is None else state.only
        following = min(wanted - state.after.keys(), default=None)
        if state.rolling_back or step != following or self._actions[step].subject != found.subject:
            return False
        state.before[step] = found
        state.stopped = state.refused = False
        return True

    def _after(self, step: int, found: SubjectState, answer: object) -> bool:
        state = self._state
        if step != state.in_flight or state.rolling_back or self._actions[step].subject != found.subject:
            return False
        match answer:
            case {"id": int(schema_id)} if is_schema_id(schema_id):
                state.given[step] = SchemaId(schema_id)
            case {"id": int()}:
                return False
        state.after[step] = found
        return has_happened_in_part(self._as_given(step), state.before[step], found)

    def _as_given(self, step: int) -> Action:
        action = with_given_ids(self._actions[step], self._state.given)
        return replace(action, any_id=False) if isinstance(action, Register) else action

    def _may_undo(self, step: int) -> bool:
        """True if it is the last of the steps that are done and not undone."""
        state = self._state
        return state.rolling_back and step == max(state.after.keys() - state.undone, default=None)


def document_of_line(path: Path, number: int, line: bytes) -> Json:
    """:raises PlanError: if a line is no JSON."""
    try:
        return cast("Json", parse_json(line))
    except ValueError as error:
        raise unreadable(path, number) from error


def unreadable(path: Path, number: int) -> PlanError:
    """The error for a line that says nothing that is known."""
    return PlanError(f"Line {number} of the journal {path} cannot be read. {_ADVICE}")


def does_not_follow(path: Path, number: int) -> PlanError:
    """The error for a line that cannot stand where it stands."""
    return PlanError(
        f"Line {number} of the journal {path} does not follow the one before it: a line is missing, doubled, changed or "
        f"stands in another place. {_ADVICE}"
    )


_ADVICE: Final = (
    "It was damaged or edited; srfix does not guess what was done, and nothing was written. Restore it from a copy, or "
    "compare the registry with the plan by hand."
)
