"""What is done with each part of a store (its rows in one task): here, or on a Spark worker, by the same function.

Workers write each attempt to a folder of its own, since Spark may run a task again, or twice at once:

    <out>/.srfix-unfinished-<random>/   of one job, gone at its end; a kill leaves it, and it can be removed
        <random>/                       of one attempt

Whoever started the job takes from there what the attempt that counts has written.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TypeVar
from uuid import uuid4

from srfix.recovery.errors import StateDirectoryError
from srfix.serde.errors import UsageError

if TYPE_CHECKING:
    from srfix.serde.resolve.resolved import SecondAnswered


_PREFIX: Final = ".srfix-unfinished-"

Part = TypeVar("Part")
"""What is worked on. Picklable."""
Result = TypeVar("Result")
"""What comes of it: counts, damage, names of files. Picklable, and small."""
Part_contra = TypeVar("Part_contra", contravariant=True)
Result_co = TypeVar("Result_co", covariant=True)


class Work(Protocol[Part_contra, Result_co]):
    """What is done with each part. Picklable by `pickled_with_secrets`; one object does many parts, one after the other."""

    def __call__(self, part: Part_contra) -> Result_co:
        """:raises SrfixError: if it cannot be done."""
        ...

    def places(self, part: Part_contra) -> Sequence[Path]:
        """The directories that must be there for it, wherever it runs."""
        ...


class PartsEngine(Protocol):
    """What has the work of many parts done, side by side."""

    def run(self, work: Work[Part, Result], parts: Sequence[Part], *, doing: str) -> list[Result]:
        """What comes of each part, in their order. If one fails, nothing of the others is given.

        :param doing: what is being done, for an error: `exporting users`.
        """
        ...


class SecondAnswers:
    """What a `DualSubject` is given as `on_second`: keeps what it says for who reads here, or takes it along from a worker.
    Picklable.
    """

    def __init__(self) -> None:
        self._notes: list[str] = []

    def __call__(self, answered: SecondAnswered) -> None:
        self._notes.append(answered.note)

    def taken(self) -> tuple[str, ...]:
        """What was said since this was asked last."""
        notes = tuple(self._notes)
        self._notes.clear()
        return notes


@contextmanager
def unfinished_folder(out: Path) -> Iterator[Path]:
    """A folder for the attempts of a job."""
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
    """An empty folder for what this attempt writes."""
    attempt = folder / uuid4().hex
    try:
        attempt.mkdir()
    except OSError as error:
        raise StateDirectoryError(
            f"{folder} cannot be written to: {error.strerror}. Check the permissions, and how much room is left."
        ) from error
    return attempt


def take(written: Path, place: Path) -> None:
    """Gives what an attempt has written its name."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        os.rename(written, place)
    except OSError as error:
        raise StateDirectoryError(
            f"A Spark worker has written {written}, which cannot be made {place}: {error.strerror}. This machine and the "
            "workers must see the same storage there."
        ) from error
