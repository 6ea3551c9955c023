"""The journal of a repair (`srfix.journal/1`): one JSON line per event, synced before the next thing happens.

The first line carries the plan, digest included, so that a rollback needs nothing else. A line that was cut off by a
crash is recognised by its missing end and dropped; anything else that cannot be read is refused.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path

import portalocker

from srfix.recovery.plan_file import Plan, load_plan, plan_document, plan_from
from srfix.recovery.subject_state import SubjectState, subject_state_document, subject_state_from
from srfix.serde.errors import PlanError
from srfix.serde.registry.models import Json
from srfix.serde.subjects import Subject
from srfix.serde.wire import SchemaId, is_schema_id

__all__ = [
    "Journal",
    "JournalState",
    "default_journal_path",
    "journal_of",
    "open_journal",
    "read_journal",
    "read_plan_or_journal",
    "set_aside",
]

SCHEMA = "srfix.journal/1"


def default_journal_path(plan_path: Path) -> Path:
    """Beside the plan: `<plan>.journal.jsonl`."""
    return plan_path.with_name(plan_path.name + ".journal.jsonl")


@dataclass(slots=True, kw_only=True)
class JournalState:
    """What a journal says has happened."""

    plan: Plan
    """The plan that it belongs to."""
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
    rolling_back: bool = False
    """True if a rollback was begun."""
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


class Journal:
    """An open, locked journal that is only ever appended to. Made by `open_journal`."""

    def __init__(self, path: Path, stream: FileIO, clock: Callable[[], str], *, is_blank: bool) -> None:
        self.path = path
        self.is_blank = is_blank
        """True while it holds no whole line."""
        self._stream = stream
        self._clock = clock

    def write(self, event: str, **details: Json) -> None:
        """Appends one line and syncs it: when this returns, the line survives a power cut.

        :raises PlanError: if the disk does not take it.
        """
        line = {"event": event, "at": self._clock(), **details}
        left = memoryview(json.dumps(line, ensure_ascii=False, sort_keys=True).encode() + b"\n")
        with _disk_errors(self.path):
            while left:  # a disk that is nearly full takes a part
                left = left[self._stream.write(left) :]
            os.fsync(self._stream.fileno())
        self.is_blank = False

    def begun(self, plan: Plan) -> None:
        """The first line."""
        self.write("begun", by=_this_process(), schema=SCHEMA, digest=plan.digest, plan=plan_document(plan))

    def resumed(self) -> None:
        """Another process goes on."""
        self.write("resumed", by=_this_process())

    def reopened(self, steps: Collection[int], expects: Mapping[Subject, SubjectState]) -> None:
        """A plan that was finished is taken up again: these steps once more."""
        self.write(
            "reopened",
            steps=list[Json](sorted(steps)),
            expects={subject: subject_state_document(expects[subject]) for subject in sorted(expects)},
        )

    def before(self, step: int, state: SubjectState) -> None:
        """A step is about to be carried out."""
        self.write("before", step=step, state=subject_state_document(state))

    def after(self, step: int, state: SubjectState, answer: Json) -> None:
        """A step was carried out."""
        self.write("after", step=step, state=subject_state_document(state), answer=answer)


@contextmanager
def open_journal(path: Path, clock: Callable[[], str]) -> Iterator[tuple[Journal, JournalState | None]]:
    """Opens or creates a journal, locks it, drops a line that was cut off, and reads what it says.

    :raises PlanError: if it cannot be created, another process holds it, or it cannot be read.
    """
    existed = path.exists()
    with _open_locked(path) as stream:
        with _disk_errors(path):
            if not existed:
                _sync_directory(path.parent)
            whole = _drop_cut_off_line(stream)
        journal = Journal(path, stream, clock, is_blank=not whole)
        try:
            yield journal, _replay(path, whole) if whole else None
        finally:
            if journal.is_blank and not existed:
                path.unlink(missing_ok=True)  # nothing was begun: nothing is left behind


def _open_locked(path: Path) -> FileIO:
    if path.exists() and not path.is_file():
        raise PlanError(f"The journal {path} is no file: what is written there cannot be read back. Name a file.")
    while True:
        # Unbuffered: what a full disk did not take must not be tried again when the file is closed.
        with _disk_errors(path):
            stream = path.open("a+b", buffering=0)
        try:
            portalocker.lock(stream, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)
        except portalocker.LockException as error:
            stream.close()
            raise PlanError(
                f"The journal {path} is in use: {_holder(path)} carries out or rolls back this plan right now. Wait "
                "for it."
            ) from error
        if _is_at(path, stream):
            return stream
        stream.close()  # the process that had it renamed or removed it meanwhile: what is there now counts


def _is_at(path: Path, stream: FileIO) -> bool:
    try:
        return os.path.samestat(os.fstat(stream.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _this_process() -> Json:
    return {"pid": os.getpid(), "host": socket.gethostname()}


def _holder(path: Path) -> str:
    """Who wrote to a locked journal last, for a message: it says so when it begins and when it goes on."""
    holder = "another srfix"
    try:
        content = path.read_bytes()
    except OSError:
        return holder
    for line in content.splitlines():
        try:
            document = json.loads(line)
        except ValueError:
            continue
        match document:
            case {"by": {"pid": int(pid), "host": str(host)}, "at": str(at)}:
                holder = f"process {pid} on {host} (since {at})"
    return holder


@contextmanager
def _disk_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise PlanError(
            f"The journal {path} cannot be written ({error.strerror or error}), and nothing is changed that it does "
            "not tell "
            "of. Make room or give another place with --journal, and run the same command again."
        ) from error


def _drop_cut_off_line(stream: FileIO) -> bytes:
    """What the journal holds, without a last line that a crash cut off; the file is cut to that."""
    stream.seek(0)
    content = stream.read()
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) != len(content):
        stream.truncate(len(whole))
        os.fsync(stream.fileno())
    return whole


def read_journal(path: Path) -> JournalState:
    """Reads a journal without touching it.

    :raises PlanError: if there is none, or it cannot be read, or nothing was begun.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise PlanError(
            f"There is no journal {path}: no repair was begun there, so there is nothing to look at or undo."
        ) from error
    except OSError as error:
        raise PlanError(f"The journal {path} cannot be read ({error.strerror}).") from error
    whole = content[: content.rfind(b"\n") + 1]
    if not whole:
        raise PlanError(f"The journal {path} is empty: no repair was begun, so there is nothing to look at or undo.")
    return _replay(path, whole)


def set_aside(path: Path) -> Path:
    """Renames a journal that is done with to the first free `<path>.<n>`: a rollback can still be told of it."""
    number = 1
    while (aside := path.with_name(f"{path.name}.{number}")).exists():
        number += 1
    os.replace(path, aside)
    _sync_directory(path.parent)
    return aside


def _replay(path: Path, content: bytes) -> JournalState:
    lines = content.splitlines()
    state = _begun(path, lines[0])
    for number, line in enumerate(lines[1:], start=2):
        match _line(path, number, line):
            case {"event": "before", "step": int(step), "state": document}:
                state.before[step] = subject_state_from(document)
            case {"event": "after", "step": int(step), "state": document, **rest}:
                state.after[step] = subject_state_from(document)
                match rest.get("answer"):
                    case {"id": int(schema_id)} if is_schema_id(schema_id):
                        state.given[step] = SchemaId(schema_id)
                    case {"id": int()}:
                        raise _unreadable(path, number)
            case {"event": "finished"}:
                state.finished = True
            case {"event": "reopened", "steps": list(steps), "expects": dict(expects)}:
                state.reopen(
                    [step for step in steps if isinstance(step, int)],
                    {Subject(subject): subject_state_from(document) for subject, document in expects.items()},
                )
            case {"event": "rollback-begun"}:
                state.rolling_back = True
            case {"event": "undoing", "step": int(step)}:
                state.undoing.add(step)
            case {"event": "undone", "step": int(step)}:
                state.undone.add(step)
            case {"event": "rolled-back"}:
                state.rolled_back = True
            case {"event": str()}:
                pass  # a later version's event that changes nothing for this one
            case _:
                raise _unreadable(path, number)
    return state


def _begun(path: Path, line: bytes) -> JournalState:
    match _line(path, 1, line):
        case {"event": "begun", "schema": str(schema), "digest": str(digest), "plan": dict(document)}:
            if schema != SCHEMA:
                raise PlanError(f"The journal {path} is a {schema}; this version of srfix reads {SCHEMA}.")
            plan = plan_from(document, where=f"the first line of {path}")
            if plan.digest != digest:
                raise PlanError(f"The journal {path} was edited: its plan does not have the digest that it names.")
            return JournalState(plan=plan)
    raise PlanError(f"{path} is not a journal of srfix: its first line does not begin a repair.")


def _line(path: Path, number: int, line: bytes) -> Json:
    try:
        document: Json = json.loads(line)
    except ValueError as error:
        raise _unreadable(path, number) from error
    return document


def _unreadable(path: Path, number: int) -> PlanError:
    return PlanError(
        f"Line {number} of the journal {path} cannot be read. It was damaged or edited; srfix does not guess what "
        "was done. "
        "Restore it from a copy, or compare the registry with the plan by hand."
    )


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_plan_or_journal(path: Path) -> Plan:
    """The plan in a plan file, or in a journal's first line.

    :raises PlanError: if the file is neither, or cannot be read, or was edited.
    """
    return load_plan(path) if _is_plan(path) or not path.exists() else read_journal(path).plan


def journal_of(path: Path) -> Path:
    """The journal beside a plan file; any other path is the journal itself."""
    return default_journal_path(path) if _is_plan(path) else path


def _is_plan(path: Path) -> bool:
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and str(document.get("schema", "")).startswith("srfix.plan/")
