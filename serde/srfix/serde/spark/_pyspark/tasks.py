"""A function that runs once for each number from 0 on, each time in a task of its own, on the workers.

What it is made of goes as bytes in the function (`shipping.Shipped`), so no plan, log or event log shows it, and works the
same way on Spark Connect.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from srfix.serde.spark._pyspark.shipping import Shipped

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_ANSWER: Final = "number long, piece int, answer binary"


def one_task_each(spark: SparkSession, factory: str, frozen: bytes, count: int) -> list[bytes]:
    """What the function answers to each number, in their order.

    :param factory: where the worker finds what makes the function: module, colon, name. The function takes an iterator of
        batches with the column `id`, and gives batches with `number`, `piece` and `answer`: answers come in pieces.
    :param frozen: what it is made of.
    :param count: how many numbers, and tasks, there are.
    """
    if not count:
        return []
    shipped = Shipped(factory, frozen)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from shipped(batches)

    answers: dict[int, dict[int, bytes]] = {number: {} for number in range(count)}
    # A range of so many numbers in so many partitions has one in each, whatever Spark is told of shuffles.
    for row in spark.range(0, count, 1, count).mapInArrow(run, _ANSWER).collect():
        answers[row["number"]][row["piece"]] = bytes(row["answer"])
    return [b"".join(pieces[piece] for piece in sorted(pieces)) for pieces in answers.values()]
