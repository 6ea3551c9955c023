"""Work on the workers for other modules that keeps no rows. The data of such a function is sent as bytes within the
function (`shipping.Shipped`), so no plan, log or event log shows it, and it also works on Spark Connect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructType

from srfix.serde.errors import EngineRefusedError
from srfix.serde.registry.secret import pickled_with_secrets
from srfix.serde.spark._pyspark.shipping import Shipped
from srfix.serde.spark.releases import lacks_arrow
from srfix.serde.spark.worker.decode import JudgedReader

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


_ANSWER: Final = "number long, piece int, answer binary"


def one_task_each(spark: SparkSession, factory: str, frozen: bytes, count: int) -> list[bytes]:
    """The answers to 0 up to `count`, in order, with a task for each."""
    if not count:
        return []
    shipped = Shipped(factory, frozen)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from shipped(batches)

    answers: dict[int, dict[int, bytes]] = {number: {} for number in range(count)}
    # A range with as many numbers as partitions has one number in each, whatever Spark's shuffle settings are.
    for row in spark.range(0, count, 1, count).mapInArrow(run, _ANSWER).collect():
        answers[row["number"]][row["piece"]] = bytes(row["answer"])
    return [b"".join(pieces[piece] for piece in sorted(pieces)) for pieces in answers.values()]


_VERDICT = StructType().add("reason", StringType()).add("message", StringType())


def judged(reader: JudgedReader, payload: Column, headers: Column) -> Column:
    """`struct<reason: string, message: string>`; both are null if the payload can be read."""
    if (lacking := lacks_arrow()) is not None:
        raise EngineRefusedError(
            f"To check whether rows can be read, srfix must run on Spark's workers. {lacking}. Verify without Spark "
            "(--engine local).",
            reasons=(f"{lacking}.",),
        )
    shipped = Shipped("srfix.serde.spark.worker.decode:row_judge", pickled_with_secrets(reader))
    verdict: Column = F.arrow_udf(shipped, _VERDICT).asNondeterministic()(payload, headers)  # type: ignore[attr-defined]
    return verdict
