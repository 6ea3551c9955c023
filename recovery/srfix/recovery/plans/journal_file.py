"""The file of a journal: one JSON line per event, synced before the next step; its writer locks it.

Each line ends with a digest over itself and the whole line before it (`chain`), so a missing, doubled, moved or damaged
line is noticed; only a cut-off end is not. Journals without such digests, from earlier versions, are checked by the
order in which a plan's lines are written (`plans.journal`).

A line that was cut off by a crash is recognised by its missing end and dropped; anything else that cannot be read is refused.
Any other file is refused and left unchanged: nothing is cut or written before its lines are recognised.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import FileIO
from itertools import count
from pathlib import Path
from typing import Final, TypeVar, cast

import portalocker

from srfix.recovery.errors import PlanError
from srfix.serde import bounds
from srfix.serde.files import is_there, open_file, parse_json, read_file, refuse_what_is_no_file, sync
from srfix.serde.schemas.models import Json

StateT = TypeVar("StateT")


def default_journal_path(plan_path: Path) -> Path:
    return plan_path.with_name(plan_path.name + ".journal.jsonl")


def names_aside(path: Path) -> Iterator[Path]:
    return (path.with_name(f"{path.name}.{number}") for number in count(1))


class Journal:
    """An open, locked journal; lines are only appended. `open_journal` makes it."""

    def __init__(self, path: Path, stream: FileIO, clock: Callable[[], str], whole: bytes) -> None:
        self.path = path
        self.set_aside: Path | None = None
        """The new name of an older file that held only a piece of a first line; None if there was no such file."""
        self._stream = stream
        self._clock = clock
        self._length = len(whole)
        self._last = whole[whole.rfind(b"\n", 0, -1) + 1 :].rstrip(b"\r\n")

    @property
    def is_blank(self) -> bool:
        return not self._length

    def write(self, event: str, **details: Json) -> None:
        """Appends a line and syncs it: it survives a power cut. A piece of a line that a crash left is cut off."""
        document = {"event": event, "at": self._clock(), **details}
        line = chained(json.dumps(document, ensure_ascii=False, sort_keys=True).encode(), self._last)
        left = memoryview(line + b"\n")
        with _disk_errors(self.path):
            size = os.fstat(self._stream.fileno()).st_size
            if size < self._length:
                raise OSError(errno.EIO, "somebody else has cut off its end in the meantime")
            if size > self._length:
                self._stream.truncate(self._length)
            while left:  # a nearly full disk may accept only a part
                left = left[self._stream.write(left) :]
            os.fsync(self._stream.fileno())
        self._length += len(line) + 1
        self._last = line

    def begun(self, schema: str, digest: str, plan: Json, **more: Json) -> None:
        """Writes the first line. It carries the plan, so that a rollback needs nothing else."""
        self.write("begun", by=_this_process(), schema=schema, digest=digest, plan=plan, **more)

    def resumed(self) -> None:
        self.write("resumed", by=_this_process())


@contextmanager
def open_journal(
    path: Path, clock: Callable[[], str], replayed: Callable[[Path, bytes], StateT], *, create: bool = True
) -> Iterator[tuple[Journal, StateT | None]]:
    """Opens or creates a journal, locks it, reads its events by `replayed`; one with a cut-off line 1 is renamed.
    Nothing is cut or written before the journal is recognised."""
    stream, is_ours = _open_locked(path, create=create)
    aside = None
    try:
        with _disk_errors(path):
            if is_ours:
                sync(path.parent)
            content = _content(stream)
            if create and b"\n" not in content and is_cut_first_line(content):
                aside = set_aside(path)
                stream.close()
                stream, is_ours = _open_locked(path, create=True)
                content = _content(stream)
    except BaseException:
        stream.close()
        raise
    with stream:
        state = recognised(path, content, replayed)
        journal = Journal(path, stream, clock, content[: content.rfind(b"\n") + 1])
        journal.set_aside = aside
        try:
            yield journal, state
        finally:
            if journal.is_blank and is_ours and _is_at(path, stream):
                path.unlink(missing_ok=True)  # nothing was begun: nothing is left behind


def recognised(path: Path, content: bytes, replayed: Callable[[Path, bytes], StateT]) -> StateT | None:
    """The events of a journal; None if it is empty, or was cut within its first line."""
    if not content or (b"\n" not in content and is_cut_first_line(content)):
        return None
    return replayed(path, content[: content.rfind(b"\n") + 1] or content + b"\n")


def _content(stream: FileIO) -> bytes:
    if os.fstat(stream.fileno()).st_size > bounds.MOST_JOURNAL_BYTES:
        raise OSError(errno.EFBIG, "it is longer than any journal that srfix reads")
    stream.seek(0)
    return stream.read()


_FLAGS = os.O_RDWR | os.O_APPEND | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)


def _open_locked(path: Path, *, create: bool) -> tuple[FileIO, bool]:
    while True:
        with _disk_errors(path):
            opened = _open(path, create=create)
        if opened is None:
            continue  # the file appeared or disappeared meanwhile
        stream, is_ours = opened
        try:
            portalocker.lock(stream, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)
        except portalocker.LockException as error:
            stream.close()
            raise PlanError(
                f"The journal {path} is in use: {_holder(path)} is applying this plan or rolling it back. Wait until it "
                "has finished."
            ) from error
        if _is_at(path, stream):
            return stream, is_ours
        stream.close()  # the process that held it has renamed or removed it meanwhile: try again with the present file


def _open(path: Path, *, create: bool) -> tuple[FileIO, bool] | None:
    try:
        refuse_what_is_no_file(path)
    except OSError as error:
        if not is_there(path):
            raise
        raise PlanError(
            f"The journal {path} is not a regular file, so srfix could not read it back. Name a file."
        ) from error
    try:
        descriptor, is_ours = os.open(path, _FLAGS), False
    except FileNotFoundError:
        if not create:
            raise PlanError(
                f"There is no journal {path}. If a repair was begun with it, restore the journal. Otherwise there is "
                "nothing to undo."
            ) from None
        if is_there(path):
            raise PlanError(
                f"The journal {path} is a link to a file that is not there. Name the file itself."
            ) from None
        try:
            descriptor, is_ours = os.open(path, _FLAGS | os.O_CREAT | os.O_EXCL, 0o666), True
        except FileExistsError:
            return None
    # Unbuffered: bytes that a full disk refused must not be written again when the file is closed.
    return os.fdopen(descriptor, "a+b", buffering=0), is_ours


def _is_at(path: Path, stream: FileIO) -> bool:
    try:
        return os.path.samestat(os.fstat(stream.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _this_process() -> Json:
    return {"pid": os.getpid(), "host": socket.gethostname()}


def _holder(path: Path) -> str:
    """The last writer of a locked journal, for a message: the lines with which a run begins or continues name it."""
    holder = "another srfix"
    try:
        content = read_file(path, most_bytes=bounds.MOST_JOURNAL_BYTES)
    except OSError:
        return holder
    for line in content.splitlines():
        try:
            document = parse_json(line)
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
            f"The journal {path} cannot be written ({error.strerror or error}). srfix changes nothing that it cannot record "
            "there first. Make room, or name another file with --journal, and run the same command again."
        ) from error


def says_nothing(path: Path) -> PlanError:
    return PlanError(
        f"The journal {path} has no complete line, so it shows no repair. If a repair was begun, the file was emptied or cut "
        "since then. In that case restore it from a copy, or run srfix verify with the plan to see what is there."
    )


def read_journal(path: Path, replayed: Callable[[Path, bytes], StateT]) -> StateT:
    try:
        content = read_file(path, most_bytes=bounds.MOST_JOURNAL_BYTES)
    except FileNotFoundError as error:
        raise PlanError(
            f"There is no journal {path}. If a repair was begun with it, restore the journal. Otherwise there is nothing to "
            "look at or undo."
        ) from error
    except OSError as error:
        raise PlanError(f"The journal {path} cannot be read ({error.strerror}). Name the file of a journal.") from error
    state = recognised(path, content, replayed)
    if state is None:
        raise says_nothing(path)
    return state


def set_aside(path: Path) -> Path:
    """Renames a finished journal to the first free `<path>.<n>`; a person can still name it for a rollback."""
    aside = next(name for name in names_aside(path) if not is_there(name))
    with _disk_errors(path):
        os.replace(path, aside)
        sync(path.parent)
    return aside


def is_journal(path: Path) -> bool:
    try:
        with open_file(path) as file:
            return is_cut_first_line(file.read(1024))
    except OSError:
        return False


_CHAIN: Final = re.compile(rb', "chain": "([0-9a-f]{64})"\}\Z')


def chained(body: bytes, previous: bytes) -> bytes:
    """A line without its end, with the digest that ties it to the whole line before it (none before the first)."""
    return body.removesuffix(b"}") + b', "chain": "' + _digest(body, previous) + b'"}'


def _digest(body: bytes, previous: bytes) -> bytes:
    return hashlib.sha256(previous + b"\n" + body).hexdigest().encode()


def is_cut_first_line(content: bytes) -> bool:
    """True if the content is an incomplete first line of a journal: everything that is there fits the line's beginning."""
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
"""The fixed words of the beginning, and the characters that may follow."""


def chained_documents(path: Path, content: bytes) -> Iterator[tuple[int, dict[str, Json]]]:
    """The numbered lines of a journal, each after its tie to the line before is checked (the first one before that)."""
    is_chained, previous = False, b""
    for number, ended in enumerate(content.split(b"\n")[:-1], start=1):
        line = ended.removesuffix(b"\r")
        try:
            parsed = cast("Json", parse_json(line))
        except ValueError as error:
            if number > 1:
                raise unreadable(path, number) from error
            parsed = None
        document = parsed if isinstance(parsed, dict) else {}
        if number == 1:
            yield number, document
        if _is_chained(path, number, line, previous):
            is_chained = True
        elif is_chained:
            raise does_not_follow(path, number)
        if number > 1:
            yield number, document
        previous = line


def _is_chained(path: Path, number: int, line: bytes, previous: bytes) -> bool:
    match = _CHAIN.search(line)
    if match is None:
        return False
    if match[1] != _digest(line[: match.start()] + b"}", previous):
        raise does_not_follow(path, number)
    return True


def unreadable(path: Path, number: int) -> PlanError:
    return PlanError(f"Line {number} of the journal {path} cannot be read. {_ADVICE}")


def does_not_follow(path: Path, number: int) -> PlanError:
    return PlanError(
        f"Line {number} of the journal {path} does not fit the line before it: a line is missing, duplicated, changed or "
        f"in the wrong place. {_ADVICE}"
    )


_ADVICE: Final = (
    "It was damaged or edited; srfix does not guess what was done, and nothing was written. Restore it from a copy, or "
    "compare the registry with the plan by hand."
)
