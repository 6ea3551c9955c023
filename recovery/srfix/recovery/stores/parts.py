"""The work on each part of a store (its rows in one task), here or on a Spark worker, by the same function.

Workers write each attempt to a folder of its own, since Spark may run a task again, or twice at once:

    <out>/.srfix-unfinished-<random>/   of one job, gone at its end; a kill leaves it, and it can be removed
        <random>/                       of one attempt

The process that started the job takes from there the files of the attempt that counts. Workers load this: no pyspark
here. They need srfix with its extra `state`, and see the directories under the same paths as this process: on shared
storage, or because Spark runs on this machine.
"""

from __future__ import annotations

import os
import pickle
import platform
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, TypeVar, cast
from uuid import uuid4

from srfix.recovery.errors import LibraryMissingError, StateDirectoryError
from srfix.serde.errors import AccessDeniedError, ClusterError, RegistryError, SparkError, SrfixError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from srfix.serde.resolve.resolved import SecondAnswered


_PREFIX: Final = ".srfix-unfinished-"

Part = TypeVar("Part")
"""The part that is worked on. Picklable."""
Result = TypeVar("Result")
"""The result: counts, damage, names of files. Picklable, and small."""
Part_contra = TypeVar("Part_contra", contravariant=True)
Result_co = TypeVar("Result_co", covariant=True)


class Work(Protocol[Part_contra, Result_co]):
    """The work on each part. Picklable by `pickled_with_secrets`; one object does many parts, one after the other."""

    def __call__(self, part: Part_contra) -> Result_co:
        """:raises SrfixError: if it cannot be done."""
        ...

    def places(self, part: Part_contra) -> Sequence[Path]: ...


class PartsEngine(Protocol):
    def run(self, work: Work[Part, Result], parts: Sequence[Part], *, doing: str) -> list[Result]:
        """The result of each part, in order; none if one fails. `doing` is for an error: `exporting users`."""
        ...


class SecondAnswers:
    """The `on_second` of a `DualSubject`: keeps its notes, also for the way back from a worker. Picklable."""

    def __init__(self) -> None:
        self._notes: list[str] = []

    def __call__(self, answered: SecondAnswered) -> None:
        self._notes.append(answered.note)

    def taken(self) -> tuple[str, ...]:
        notes = tuple(self._notes)
        self._notes.clear()
        return notes


@contextmanager
def unfinished_folder(out: Path) -> Iterator[Path]:
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
    attempt = folder / uuid4().hex
    try:
        attempt.mkdir()
    except OSError as error:
        raise StateDirectoryError(
            f"{folder} cannot be written to: {error.strerror}. Check the permissions, and how much room is left."
        ) from error
    return attempt


def take(written: Path, place: Path) -> None:
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        os.rename(written, place)
    except OSError as error:
        raise StateDirectoryError(
            f"A Spark worker has written {written}, but srfix cannot rename it to {place}: {error.strerror}. This machine "
            "and the workers must see the same storage there."
        ) from error


FACTORY: Final = "srfix.recovery.stores.parts:part_runner"
"""The factory's name for `Shipped`."""
_PIECE_BYTES: Final = 2**24
"""The size of the pieces of an answer, because a cell of Arrow holds no more than 2 GiB."""

Batches: TypeAlias = "Iterator[pa.RecordBatch]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shipment:
    job: str
    """The job's own id, so that a registry's refusal in an earlier job does not count."""
    work: Work[object, object]
    parts: tuple[bytes, ...]


@lru_cache(maxsize=2)
def part_runner(pickled: bytes) -> Callable[[Batches], Batches]:
    """The function that does these parts; if registry or cluster is down it raises, and Spark runs the task again."""
    shipment: Shipment = pickle.loads(pickled)  # noqa: S301 - the driver's, by the same way as the code that is running

    def run(batches: Batches) -> Batches:
        for batch in batches:
            for number in batch.column("id").to_pylist():
                yield from _pieces(number, pickle.dumps(_answer(shipment, number)))

    return run


def _answer(shipment: Shipment, number: int) -> object:
    """The result of a part, or the error to raise in the process that started the job."""
    part = pickle.loads(shipment.parts[number])  # noqa: S301 - likewise
    try:
        for place in shipment.work.places(part):
            if not place.is_dir():
                raise StateDirectoryError(
                    f"The Spark worker on {platform.node()} sees no directory {place}. With --engine spark every worker must "
                    "see it under this very path: put it on storage that all machines share, or run Spark on this machine "
                    "(--master local[*])."
                )
        return shipment.work(part)
    except LibraryMissingError as error:
        return StateDirectoryError(f"The Spark worker on {platform.node()}: {error.message}")
    except AccessDeniedError as error:
        return error
    except (RegistryError, ClusterError):
        raise
    except SrfixError as error:
        return error


def _pieces(number: int, answer: bytes) -> Batches:
    from srfix.serde.arrow.types import pyarrow

    pa = pyarrow()
    for piece, start in enumerate(range(0, len(answer), _PIECE_BYTES)):
        yield pa.record_batch(
            [
                pa.array([number], pa.int64()),
                pa.array([piece], pa.int32()),
                pa.array([answer[start : start + _PIECE_BYTES]], pa.binary()),
            ],
            names=["number", "piece", "answer"],
        )


_TRACE: Final = "Traceback (most recent call last):"
_OF_THE_JVM: Final = "\n\tat "
_MOST_LETTERS: Final = 600


class PartsOnSpark:
    """Does the work of every part on a session of Spark, classic or Connect, which it does not configure."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def run(self, work: Work[Part, Result], parts: Sequence[Part], *, doing: str) -> list[Result]:
        """See `PartsEngine.run`. Secrets travel in the function that the tasks run, and appear in no plan, log or event log."""
        from srfix.recovery.census.spark_topic import finished
        from srfix.serde.registry.secret import pickled_with_secrets
        from srfix.serde.spark.errors import is_sparks, srfix_error_of

        shipment = Shipment(
            job=str(uuid4()),
            work=cast("Work[object, object]", work),
            parts=tuple(pickle.dumps(part) for part in parts),
        )
        frozen = pickled_with_secrets(shipment)

        def job() -> list[bytes]:
            from srfix.serde.spark._pyspark.tasks import one_task_each

            return one_task_each(self._spark, FACTORY, frozen, len(parts))

        try:
            ((_, pickled),) = finished(self._spark, {None: job})
        except SrfixError:
            raise
        except Exception as error:
            if not is_sparks(error):
                raise
            raise srfix_error_of(error, of_kafka=False) or SparkError(
                f"Spark failed while {doing}: {_in_short(str(error))}. Its log says more."
            ) from None
        answers = [pickle.loads(answer_bytes) for answer_bytes in pickled]  # noqa: S301 - of our own workers
        for answer in answers:
            if isinstance(answer, SrfixError):
                raise answer
        return answers


def _in_short(text: str) -> str:
    from srfix.recovery.census.spark_topic import failure_in_short

    trace = text.rpartition(_TRACE)[2] if _TRACE in text else ""
    raised = [line for line in trace.partition(_OF_THE_JVM)[0].splitlines() if line and not line[0].isspace()]
    return raised[-1][:_MOST_LETTERS] if raised else failure_in_short(text)
