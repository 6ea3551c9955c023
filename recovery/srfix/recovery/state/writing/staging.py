"""A directory that appears complete or not at all, whenever the process dies.

    <parent>/<name>                             the directory, as soon as it is complete
    <parent>/.<name>.srfix-unfinished/          while it is built; the next run removes what a kill left of it
        lock                                    held as long as its process lives
        about.json                              the request and, as soon as the directory is complete, its contents
        whole/                                  becomes the directory, by one rename
        scratch/                                temporary files of the build

Nothing that exists is written to: `<name>` must not exist, and another file at the unfinished name is left alone.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

import portalocker

from srfix.recovery.errors import StateDirectoryError
from srfix.recovery.state.writing.database import in_words
from srfix.serde import bounds
from srfix.serde.files import parse_json, read_file, sync, write_whole
from srfix.serde.schemas.models import Json

_SUFFIX: Final = ".srfix-unfinished"
_SCHEMA: Final = "srfix unfinished state, form 1"
_LOCK, _ABOUT, _WHOLE, _SCRATCH = "lock", "about.json", "whole", "scratch"
_TEMPORARY: Final = ".srfix-"
"""The beginning of the names of files that `write_whole` renames later; it may die before that."""
_EXCLUSIVE: Final = portalocker.LockFlags.EXCLUSIVE | portalocker.LockFlags.NON_BLOCKING


@dataclass(slots=True, kw_only=True)
class Staging:
    whole: Path
    scratch: Path
    report: Json = field(default=None)
    """What the directory holds, for a run that finds it complete: see `finished_before`."""
    replaces: bool = False

    @property
    def notes(self) -> list[str]:
        killed = "An earlier run was killed before it finished. srfix discarded its files, and wrote everything again."
        return [killed] if self.replaces else []


def unfinished_path(target: Path) -> Path:
    return target.with_name(f".{target.name}{_SUFFIX}")


def finished_before(target: Path, request: Mapping[str, Json]) -> Json:
    """The report of a run of this request that died after it completed the directory; tidies up. Else None."""
    unfinished = unfinished_path(target)
    if not (target.is_dir() and unfinished.is_dir()) or (unfinished / _WHOLE).exists():
        return None
    about = _about(unfinished)
    if about.get("request") != dict(request) or about.get("report") is None:
        return None
    with in_words(target), _locked(unfinished, target):
        _tidy(unfinished)
    return about["report"]


@contextmanager
def staged(target: Path, request: Mapping[str, Json]) -> Iterator[Staging]:
    """The caller fills `whole`, which becomes `target` if the block ends without an error; else nothing is left."""
    _refuse_existing(target)
    unfinished = unfinished_path(target)
    is_new = not target.parent.exists()
    with ExitStack() as stack:
        with in_words(target):
            _refuse_foreign(unfinished)
            unfinished.mkdir(parents=True, exist_ok=True)
            stack.enter_context(_locked(unfinished, target))
            _refuse_existing(target)
        staging = Staging(whole=unfinished / _WHOLE, scratch=unfinished / _SCRATCH)
        try:
            with in_words(target):
                staging.replaces = staging.whole.exists()
                about = _begin(unfinished, request)
            yield staging
            with in_words(target):
                _finish(staging, unfinished, target, about)
        except (Exception, KeyboardInterrupt):
            if target.is_dir() and not staging.whole.exists():
                raise  # it is complete: the remaining file tells this to the next run of the same request
            shutil.rmtree(unfinished, ignore_errors=True)
            if is_new:
                with suppress(OSError):  # somebody else has created the target
                    target.parent.rmdir()
            raise


def _begin(unfinished: Path, request: Mapping[str, Json]) -> dict[str, Json]:
    for leftover in (unfinished / _WHOLE, unfinished / _SCRATCH):
        if leftover.exists():
            shutil.rmtree(leftover)
        leftover.mkdir()
    about: dict[str, Json] = {"schema": _SCHEMA, "request": dict(request)}
    write_whole(unfinished / _ABOUT, json.dumps(about).encode())
    return about


def _finish(staging: Staging, unfinished: Path, target: Path, about: dict[str, Json]) -> None:
    for parent, _, files in os.walk(staging.whole, topdown=False):
        for path in (*(Path(parent) / name for name in files), Path(parent)):
            sync(path)
    report = {} if staging.report is None else staging.report
    write_whole(unfinished / _ABOUT, json.dumps(about | {"report": report}).encode())
    _refuse_existing(target)
    os.rename(staging.whole, target)
    sync(target.parent)
    _tidy(unfinished)


def _tidy(unfinished: Path) -> None:
    """Removes the files of the build; the file that says that it was finished goes last."""
    shutil.rmtree(unfinished / _SCRATCH, ignore_errors=True)
    for entry in unfinished.iterdir():
        if entry.name != _ABOUT:
            entry.unlink()
    shutil.rmtree(unfinished)


def _refuse_existing(target: Path) -> None:
    if os.path.lexists(target):
        raise StateDirectoryError(
            f"{target} exists already, and srfix never writes to an existing directory. Name another one, or move "
            "it away."
        )


def _refuse_foreign(unfinished: Path) -> None:
    if not os.path.lexists(unfinished):
        return
    is_ours = unfinished.is_dir() and not unfinished.is_symlink()
    if is_ours:
        foreign_names = {entry.name for entry in unfinished.iterdir()} - {_LOCK, _ABOUT, _WHOLE, _SCRATCH}
        is_ours = all(name.startswith(_TEMPORARY) for name in foreign_names)
    if not is_ours:
        raise StateDirectoryError(
            f"{unfinished} already exists, and it is not from an unfinished run of srfix. Move it, then run again."
        )


def _about(unfinished: Path) -> dict[str, Json]:
    try:
        document = parse_json(read_file(unfinished / _ABOUT, most_bytes=bounds.MOST_METADATA_BYTES))
    except (OSError, ValueError):
        return {}
    return document if isinstance(document, dict) and document.get("schema") == _SCHEMA else {}


@contextmanager
def _locked(unfinished: Path, target: Path) -> Iterator[IO[bytes]]:
    try:
        with (unfinished / _LOCK).open("ab") as lock_file:
            portalocker.lock(lock_file, _EXCLUSIVE)
            # The process that held it before may have finished, and removed it.
            if not os.path.samestat(os.fstat(lock_file.fileno()), os.lstat(unfinished / _LOCK)):
                raise FileNotFoundError(errno.ENOENT, "another run has just finished it")
            yield lock_file
    except portalocker.LockException:
        raise StateDirectoryError(
            f"Another srfix process is building {target} now (it holds the lock {unfinished / _LOCK}). Wait for "
            "it, or name another directory."
        ) from None
