"""Reads a RocksDB of Kafka Streams without touching it, through a view: links in srfix's own directory. rocksdict
writes a file into every directory that it opens, even read-only, and a mere read-write open makes Streams 2.6 die on
that directory. So srfix never opens the original. The library is optional (`pip install 'srfix[state]'`); without it
there is a `LibraryMissingError`.

    <temporary directory>/srfix-views-<user id>/        0700, ours, no link: or another one with a random name is used
        <random>/                                       a view
        <random>.lock                                   locked as long as its maker lives

If the lock of a view can be taken, the view has no owner, because the kernel releases a lock when its process ends in
any way: the next look removes it. srfix only sweeps views: they are in a directory that nobody else can write to, have
a view's name, and are no links. Links in them are unlinked, never followed.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from itertools import chain, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, TypeAlias, cast

from srfix.recovery.errors import LibraryMissingError, NotPermittedError, StateDirectoryError
from srfix.serde import bounds
from srfix.serde.errors import UsageError

if TYPE_CHECKING:
    from rocksdict import Rdict, RdictIter

_NAME: Final = re.compile(r"view-[a-z0-9_]+")
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


ROWS_IN_A_CHUNK: Final = 1_000
"""How many rows are read together by default; more are not faster."""

CURRENT: Final = "CURRENT"
_FIRST_CHUNK: Final = 8
_COPIED: Final = {
    CURRENT: bounds.MOST_NAME_BYTES,
    "IDENTITY": bounds.MOST_NAME_BYTES,
    "OPTIONS-*": bounds.MOST_SETTINGS_BYTES,
    "MANIFEST-*": bounds.MOST_COPIED_BYTES,
    "*.log": bounds.MOST_COPIED_BYTES,
}
"""The files of a database besides its tables → how large they may be, because RocksDB reads the first ones completely.
Without LOCK and LOG, which are written at every open.
"""


_BLAMED: Final = re.compile(r"\s+The file \S*MANIFEST-\d+ may be corrupted\.")


@contextmanager
def linked_view(database: Path) -> Iterator[Path]:
    """Tables (`*.sst`, which never change) are linked, so that they outlive a compaction; all else is copied."""
    with view_directory() as scratch:
        # glob finds nothing in a folder that this user may not read, which would look like damage
        os.scandir(database).close()
        room = bounds.MOST_COPIED_BYTES
        for pattern, most in _COPIED.items():
            for entry in database.glob(pattern):
                room -= _size(entry, min(most, room))
                shutil.copyfile(entry, scratch / entry.name)
        for entry in database.glob("*.sst"):
            _size(entry, None)
            if not os.access(entry, os.R_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(entry))
            _link(entry.resolve(), scratch / entry.name)
        yield scratch


def _size(file: Path, most: int | None) -> int:
    status = file.stat()
    if not stat.S_ISREG(status.st_mode):
        raise StateDirectoryError(
            f"{file} is not a file, but a directory, a pipe or a device: RocksDB does not create such files."
        )
    if most is not None and status.st_size > most:
        raise StateDirectoryError(
            f"{file} has {status.st_size:,} bytes, and srfix copies at most {most:,}. This is not a database of "
            "Kafka Streams, or it is damaged."
        )
    return status.st_size


def _link(target: Path, name: Path) -> None:
    try:
        os.link(target, name)
    except OSError:  # another file system, or another user's file
        name.symlink_to(target)


def read_column_family(database: Path, name: str) -> Mapping[bytes, bytes] | None:
    with opened(database) as store:
        return dict(store.rows(name)) if name in store.families else None


class OpenedDatabase:
    def __init__(self, families: Mapping[str, Rdict], unlisted: Sequence[str] = ()) -> None:
        self._families = families
        self.unlisted = tuple(unlisted)
        """The names of table files in its folder that are newer than all tables that it knows: its MANIFEST was cut, or
        their writer was killed before it added them to the MANIFEST. Their rows are not among the database's rows.
        """

    @property
    def families(self) -> frozenset[str]:
        return frozenset(self._families)

    def rows(self, family: str, *, start: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        """The rows of a column family, by key, one at a time, from a key (or the next key) on; some are read ahead."""
        return chain.from_iterable(self.chunks(family, start=start))

    def chunks(
        self, family: str, *, start: bytes | None = None, size: int = ROWS_IN_A_CHUNK
    ) -> Iterator[list[tuple[bytes, bytes]]]:
        """The same rows, in lists of at most `size`, the fastest way to many. The first are short, for few rows."""
        rows = self._families[family]
        pairs = cast("Iterator[tuple[bytes, bytes]]", rows.items() if start is None else rows.items(from_key=start))
        last: bytes | None = None
        sizes = _growing(size)
        while chunk := list(islice(pairs, next(sizes))):
            last = chunk[-1][0]
            yield chunk
        # At damage they just end; only a cursor that continues there shows the damage, and it is several times slower.
        cursor = rows.iter()
        if last is not None:
            cursor.seek(last)
            if cursor.valid():
                cursor.next()
        elif start is None:
            cursor.seek_to_first()
        else:
            cursor.seek(start)
        while chunk := list(islice(behind(cursor), size)):
            yield chunk
        cursor.status()

    def get(self, family: str, key: bytes) -> bytes | None:
        return cast("bytes | None", self._families[family].get(key))


Opening: TypeAlias = Callable[[Path], AbstractContextManager[OpenedDatabase]]
"""Opens the database of a store, or of one of its segments."""


def _growing(size: int) -> Iterator[int]:
    now = min(_FIRST_CHUNK, size)
    while True:
        yield now
        now = min(2 * now, size)


def behind(cursor: RdictIter) -> Iterator[tuple[bytes, bytes]]:
    """The rows from a cursor's place on."""
    while cursor.valid():
        yield cast("tuple[bytes, bytes]", (cursor.key(), cursor.value()))
        cursor.next()


@contextmanager
def opened(database: Path) -> Iterator[OpenedDatabase]:
    with _viewing(database) as view, _opened_view(view) as database_view:
        yield database_view


@contextmanager
def salvaged(database: Path) -> Iterator[OpenedDatabase]:
    """The undamaged part of a damaged database, by RocksDB's repair in the view; old states of rows may reappear."""
    with _viewing(database, needs_current=False) as view:
        from rocksdict import Options, Rdict

        Rdict.repair(str(view), Options(raw_mode=True))
        with _opened_view(view) as database_view:
            yield database_view


@contextmanager
def _opened_view(view: Path) -> Iterator[OpenedDatabase]:
    from rocksdict import AccessType, Options, Rdict

    with ExitStack() as stack:
        names = list(Rdict.list_cf(str(view), Options(raw_mode=True)))
        # An open must name all of them.
        whole = Rdict(
            str(view),
            options=Options(raw_mode=True),
            column_families={family: Options(raw_mode=True) for family in names},
            access_type=AccessType.read_only(),
        )
        stack.callback(whole.close)
        families = {name: whole.get_column_family(name) for name in names}
        for family in families.values():
            stack.callback(family.close)
        yield OpenedDatabase(families, _unlisted(view, whole))


def _unlisted(view: Path, whole: Rdict) -> list[str]:
    """Tables that are older than those that it knows are left over from a compaction."""
    newest_listed = max((int(Path(str(file["name"])).stem) for file in whole.live_files()), default=-1)
    numbered = (name for name in os.listdir(view) if name.endswith(".sst") and name.removesuffix(".sst").isdecimal())
    return sorted(name for name in numbered if int(name.removesuffix(".sst")) > newest_listed)


@contextmanager
def _viewing(database: Path, *, needs_current: bool = True) -> Iterator[Path]:
    view = database
    try:
        if needs_current:
            _refuse_without_current(database)
        with linked_view(database) as view:
            yield view
    except ImportError:
        raise LibraryMissingError from None
    except PermissionError as error:
        raise NotPermittedError.of(error.filename or database) from error
    except OSError as error:
        raise StateDirectoryError(
            f"{error.filename or database} cannot be read: {error.strerror or error}. While the application runs, files come "
            "and go."
        ) from error
    except StateDirectoryError:
        raise
    except Exception as error:  # rocksdict raises a bare Exception for every error of RocksDB
        if type(error) is not Exception:
            raise
        # With the original's paths, and without RocksDB's guess for a bad table that the manifest may be bad, too.
        words = " ".join(_BLAMED.sub("", str(error).replace(str(view), str(database))).split()).removesuffix(".")
        raise StateDirectoryError(
            f"{database} cannot be read as a RocksDB: {words}. It is damaged, or changed "
            "while it was read: stop the application, or take a copy, and look again."
        ) from error


def _refuse_without_current(database: Path) -> None:
    try:
        is_file = stat.S_ISREG((database / CURRENT).stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        is_file = False
    if not is_file:
        raise StateDirectoryError(f"{database} is not a RocksDB database: it has no file {CURRENT}.")
