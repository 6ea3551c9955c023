"""srfix's own directories, in which a copy of a RocksDB made of links is opened; directories that a kill has left are
removed at the next look.

    <temporary directory>/srfix-views-<user id>/        0700, ours, no link: or another one with a random name is used
        <random>/                                       a view
        <random>.lock                                   locked as long as its maker lives

If the lock of a view can be taken, the view has no owner, because the kernel releases a lock when its process ends in
any way. srfix only sweeps views: they are in a directory that nobody else can write to, have a view's name, and are no
links. Links in them are unlinked, never followed.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from srfix.serde.errors import UsageError

_NAME: Final = re.compile(r"view-[a-z0-9_]+")
"""Names as `tempfile` makes them."""
_HOME: Final = "srfix-views-"
_LOCK: Final = ".lock"


def sweep_views() -> tuple[Path, ...]:
    """Removes the views that this user's killed processes left behind, and returns their paths. Never raises."""
    return tuple(view for home in _homes() for view in _sweep(home))


@contextmanager
def view_directory() -> Iterator[Path]:
    """An empty directory that nobody else can read; it is removed at the end, or swept after a kill."""
    sweep_views()
    with _locked_name() as (view, lock):
        try:
            view.mkdir(mode=0o700)
            yield view
        finally:
            _remove(view, lock)
            with suppress(OSError):
                view.parent.rmdir()  # if no other is in it


def _home() -> Path:
    home = Path(tempfile.gettempdir()) / f"{_HOME}{os.getuid() if hasattr(os, 'getuid') else 0}"
    with suppress(FileExistsError):
        home.mkdir(mode=0o700)
    # It belongs to somebody else, or is a link, in a shared /tmp: use a directory with an unpredictable name instead.
    return home if _is_private(home) else Path(tempfile.mkdtemp(prefix=_HOME))


def _homes() -> list[Path]:
    try:
        with os.scandir(tempfile.gettempdir()) as entries:
            return sorted(Path(entry.path) for entry in entries if entry.name.startswith(_HOME) and _is_private(entry))
    except OSError:
        return []


def _is_private(path: Path | os.DirEntry[str]) -> bool:
    """True for a directory (not a link) that belongs to this user and that nobody else can use."""
    try:
        status = os.lstat(path)
    except OSError:
        return False
    is_ours = not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not stat.S_IMODE(status.st_mode) & 0o077)
    return stat.S_ISDIR(status.st_mode) and is_ours


def _nowhere(error: OSError) -> UsageError:
    return UsageError(
        f"srfix reads a database through links in a directory for temporary files, and cannot create them "
        f"({error.strerror}). Set TMPDIR to a directory that you can write to."
    )


@contextmanager
def _locked_name() -> Iterator[tuple[Path, Path]]:
    """A new path for a view, with its lock already taken, because a view without a lock is swept."""
    while True:
        try:
            home = _home()
        except OSError as error:
            raise _nowhere(error) from error
        try:
            handle, name = tempfile.mkstemp(prefix="view-", suffix=_LOCK, dir=home)
        except FileNotFoundError:  # another process has removed the directory, which was empty
            continue
        except OSError as error:
            raise _nowhere(error) from error
        lock = Path(name)
        with os.fdopen(handle, "wb") as lock_file:
            if _takes(lock_file, lock):
                yield lock.with_suffix(""), lock
                return
        # Another process's sweep came between making and locking it, and removed the file as left behind.


def _takes(lock_file: IO[bytes], lock: Path) -> bool:
    """True if this process now holds the lock, and the lock is the file that exists there."""
    import portalocker

    try:
        portalocker.lock(lock_file, portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING)
        return os.path.samestat(os.fstat(lock_file.fileno()), os.lstat(lock))
    except (portalocker.LockException, FileNotFoundError):
        return False


def _sweep(home: Path) -> Iterator[Path]:
    try:
        with os.scandir(home) as entries:
            names = sorted({entry.name.removesuffix(_LOCK) for entry in entries if not entry.is_symlink()})
    except OSError:
        return
    for name in names:
        if not _NAME.fullmatch(name):
            continue
        lock = home / f"{name}{_LOCK}"
        try:
            handle = os.open(lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        except OSError:
            continue
        with os.fdopen(handle, "r+b") as lock_file:
            if _takes(lock_file, lock):  # else its process lives
                _remove(home / name, lock)
                yield home / name
    with suppress(OSError):
        home.rmdir()


def _remove(view: Path, lock: Path) -> None:
    # rmtree unlinks links and follows none. If something cannot be removed, its lock stays, for the next sweep.
    if view.is_dir() and not view.is_symlink():
        shutil.rmtree(view, ignore_errors=True)
    if not os.path.lexists(view):
        lock.unlink(missing_ok=True)
