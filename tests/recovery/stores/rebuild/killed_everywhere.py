"""Runs a rebuild or a migration again and again, killed with SIGKILL at the next instant each time. A process of its own.

    python killed_everywhere.py rebuild|rewrite|migrate FOLDER STEP

An instant is a call of a function of srfix's writing, or a file operation of Python's. After each kill the directory is
absent or whole, and another run leaves it whole. STEP instants are between two kills, two near the end. Prints the number
of instants, and after how many kills the directory was whole.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TypeVar, cast

from srfix.recovery.state.directory_reader import read_state_directory
from srfix.recovery.state.writing.kinds import Release, WrittenKind
from srfix.recovery.state.writing.stores import StoreToWrite
from srfix.recovery.stores.rebuild.change import StoreChange
from srfix.recovery.stores.rebuild.migrate import Migration, migrate
from srfix.recovery.stores.rebuild.rebuild import rebuild
from tests.recovery.stores.here import contents
from tests.recovery.stores.rebuild.topics import TopicOfRecords, rebuild_of, record

T = TypeVar("T")

EVENTS = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.rmtree", "open")
OURS = (f"state{os.sep}writing{os.sep}", f"stores{os.sep}rebuild{os.sep}")
RECORDS = [record(offset, b"k%d" % (offset % 3), b"v%d" % offset) for offset in range(5)]
NAME = "shop"


def act(what: str, folder: Path) -> None:
    target = folder / "new" / NAME
    if what == "migrate":
        (state,) = read_state_directory(folder / "old")
        change = StoreChange(kind=WrittenKind.TIMESTAMPED_KV)
        migrate(state, target, Migration(release=Release(4, 3, 1), changes={"s": change}), request={"what": what})
        return
    store = StoreToWrite(name="s", kind=WrittenKind.TIMESTAMPED_KV)
    asked = rebuild_of(store, payload=bytes.upper if what == "rewrite" else None)
    rebuild(asked, TopicOfRecords({0: RECORDS}), target, request={"what": what})


def original(folder: Path) -> None:
    """A directory to migrate from."""
    asked = rebuild_of(StoreToWrite(name="s", kind=WrittenKind.PLAIN_KV))
    rebuild(asked, TopicOfRecords({0: RECORDS}), folder / "old" / NAME, request={})


def killed(instant: int, run: Callable[[], None]) -> bool:
    """True if the run was killed before it came to its end."""
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, status
        return os.WIFSIGNALED(status)
    left = instant

    def one_less() -> None:
        nonlocal left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)

    def at_call(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call" and any(part in frame.f_code.co_filename for part in OURS):
            one_less()

    sys.addaudithook(lambda event, _arguments: one_less() if event in EVENTS else None)
    sys.setprofile(at_call)
    code = 1
    try:
        run()
        code = 0
    finally:
        sys.setprofile(None)
        os._exit(code)


def in_child(run: Callable[[], T]) -> T:
    """What a function answers in a process of its own: RocksDB's threads do not survive a fork."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        with os.fdopen(writer, "wb") as out:
            out.write(pickle.dumps(run()))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        pickled = answer.read()
    os.waitpid(child, 0)
    return cast("T", pickle.loads(pickled))


def main(what: str, folder: Path, step: int) -> None:
    new = folder / "new"
    if what == "migrate":
        in_child(lambda: original(folder))
    in_child(lambda: act(what, folder))
    expected = in_child(lambda: contents(new))
    assert [path.name for path in new.iterdir()] == [NAME], list(new.iterdir())
    shutil.rmtree(new)
    one = {key.partition("/")[2]: value for key, value in expected.items()}
    whole, instant, last = 0, 1, 0
    while not last:
        last = 0 if (found := after_a_kill(instant, what, folder, one)) is not None else instant
        whole += bool(found)
        instant += step
    # From the end back to where the directory becomes whole: how many instants that are differs from run to run.
    for instant in range(last - 1, 0, -2):
        found = after_a_kill(instant, what, folder, one)
        whole += bool(found)
        if found is False:
            break
    sys.stdout.write(json.dumps({"instants": last, "whole": whole}))


def after_a_kill(instant: int, what: str, folder: Path, expected: dict[str, object]) -> bool | None:
    """Whether the directory was whole after it; None if the run came to its end before that instant."""
    new = folder / "new"
    was_killed = killed(instant, lambda: act(what, folder))
    is_there = (new / NAME).exists()
    if is_there:
        assert in_child(lambda: contents(new / NAME)) == expected, instant
    if not is_there or any(new.glob(".*/about.json")):
        in_child(lambda: act(what, folder))
        assert in_child(lambda: contents(new / NAME)) == expected, instant
    shutil.rmtree(new)
    return is_there if was_killed else None


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
