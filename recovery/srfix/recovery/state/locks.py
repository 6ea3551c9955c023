"""Whether a process holds the lock of a state directory, asked without taking it."""

from __future__ import annotations

import struct
import sys
from pathlib import Path
from typing import Final

from srfix.recovery.state.directory import Task
from srfix.serde.files import open_file

LOCK: Final = ".lock"
"""The file that is locked, of an application and of a task."""
_FLOCK: Final = struct.Struct("hhqqi4x")
"""`struct flock` of 64-bit Linux: type, whence, start, length, pid."""


def is_locked(path: Path) -> bool | None:
    """True if another process holds a lock on the file (Java's `FileChannel.lock`, a POSIX record lock).

    F_GETLK asks; taking the lock, be it for an instant, could stop an application that starts at that moment. False
    where there is no such file; None if it cannot be told: another system than Linux, or a file that may not be read.
    """
    if sys.platform != "linux":
        return None
    import fcntl

    try:
        with open_file(path) as file:
            wanted = _FLOCK.pack(fcntl.F_RDLCK, 0, 0, 0, 0)
            kind = _FLOCK.unpack(fcntl.fcntl(file, fcntl.F_GETLK, wanted))[0]
    except FileNotFoundError:
        return False
    except OSError:
        return None
    return bool(kind != fcntl.F_UNLCK)


def is_task_locked(task: Task) -> bool | None:
    """True if a process holds the task's own lock, which Streams up to 2.8 has; None if that cannot be told."""
    return is_locked(Path(task.path) / LOCK)
