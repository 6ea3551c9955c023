"""What a Spark worker does with one part: what this process would do, and its answer in bytes. No pyspark here."""

from __future__ import annotations

import pickle
import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from srfix.recovery.errors import LibraryMissingError, StateDirectoryError
from srfix.recovery.stores.parts import Work
from srfix.serde.arrow.pyarrow_or_error import pyarrow
from srfix.serde.errors import AccessDeniedError, ClusterError, RegistryError, SrfixError

if TYPE_CHECKING:
    import pyarrow as pa

FACTORY: Final = "srfix.recovery.stores.worker:part_runner"
"""What `Shipped` is told."""
_PIECE_BYTES: Final = 2**24
"""Of which an answer is made: a cell of Arrow's holds no more than 2 GiB."""

Batches: TypeAlias = "Iterator[pa.RecordBatch]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shipment:
    """A job, as it travels."""

    job: str
    """What tells it from others: what a registry refused in an earlier one does not count."""
    work: Work[object, object]
    """What is done."""
    parts: tuple[bytes, ...]
    """To what, each pickled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What became of a part."""

    result: object = None
    """What came of it."""
    error: SrfixError | None = None
    """Why nothing did."""


@lru_cache(maxsize=2)
def part_runner(pickled: bytes) -> Callable[[Batches], Batches]:
    """What does the parts whose numbers come, for a pickled `Shipment`: one for each job and process, so that the registry is
    asked once for an id. See `one_task_each`.

    An outage of the registry or of the cluster is raised, and Spark runs the task again; every other error is an answer.
    """
    shipment: Shipment = pickle.loads(pickled)  # noqa: S301 - the driver's, by the same way as the code that is running

    def run(batches: Batches) -> Batches:
        for batch in batches:
            for number in batch.column("id").to_pylist():
                yield from _pieces(number, pickle.dumps(_answer(shipment, number)))

    return run


def _answer(shipment: Shipment, number: int) -> Answer:
    part = pickle.loads(shipment.parts[number])  # noqa: S301 - likewise
    try:
        for place in shipment.work.places(part):
            _see(place)
        return Answer(result=shipment.work(part))
    except LibraryMissingError as error:
        return Answer(error=StateDirectoryError(f"The Spark worker on {platform.node()}: {error.message}"))
    except AccessDeniedError as error:
        return Answer(error=error)
    except (RegistryError, ClusterError):
        raise
    except SrfixError as error:
        return Answer(error=error)


def _see(place: Path) -> None:
    if not place.is_dir():
        raise StateDirectoryError(
            f"The Spark worker on {platform.node()} sees no directory {place}. With --engine spark every worker must see it "
            "under this very path: put it on storage that all machines share, or run Spark on this machine (--master local[*])."
        )


def _pieces(number: int, answer: bytes) -> Batches:
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
