"""Where workers write: each attempt in a folder of its own, since Spark may run a task again, or twice at once.

    <out>/.srfix-unfinished-<random>/   of one job, gone at its end; a kill leaves it, and it can be removed
        <random>/                       of one attempt

Whoever started the job takes from there what the attempt that counts has written.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from uuid import uuid4

from srfix.recovery.errors import StateDirectoryError
from srfix.serde.errors import UsageError

_PREFIX: Final = ".srfix-unfinished-"


@contextmanager
def unfinished_folder(out: Path) -> Iterator[Path]:
    """A folder for the attempts of a job.

    :raises UsageError: if it cannot be made.
    """
    folder = out / f"{_PREFIX}{uuid4().hex}"
    try:
        folder.mkdir()
    except OSError as error:
        raise UsageError(f"{out} cannot be written to: {error.strerror}.") from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def new_attempt(folder: Path) -> Path:
    """An empty folder for what this attempt writes.

    :raises StateDirectoryError: if it cannot be made.
    """
    attempt = folder / uuid4().hex
    try:
        attempt.mkdir()
    except OSError as error:
        raise StateDirectoryError(
            f"{folder} cannot be written to: {error.strerror}. Check the permissions, and how much room is left."
        ) from error
    return attempt


def take(written: Path, place: Path) -> None:
    """Gives what an attempt has written its name.

    :raises StateDirectoryError: if it is not seen here, or cannot be moved.
    """
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        os.rename(written, place)
    except OSError as error:
        raise StateDirectoryError(
            f"A Spark worker has written {written}, which cannot be made {place}: {error.strerror}. This machine and the "
            "workers must see the same storage there."
        ) from error
