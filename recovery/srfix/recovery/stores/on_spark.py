"""Parts of stores on Spark: one task for each, side by side.

The workers need srfix with its extra `state` (and confluent-kafka's client, which srfix brings), and see the directories under
the same paths as this process: on shared storage, or because Spark runs on this machine.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, cast
from uuid import uuid4

from srfix.recovery.census.spark_topic import failure_in_short, finished
from srfix.recovery.stores.parts import FACTORY, Answer, Part, Result, Shipment, Work
from srfix.serde.errors import SparkError, SrfixError
from srfix.serde.registry.secret import pickled_with_secrets
from srfix.serde.spark.errors import is_sparks, srfix_error_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TRACE: Final = "Traceback (most recent call last):"
_OF_THE_JVM: Final = "\n\tat "
_MOST_LETTERS: Final = 600


class PartsOnSpark:
    """Does the work of every part on a session of Spark, classic or Connect, which it does not configure."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def run(self, work: Work[Part, Result], parts: Sequence[Part], *, doing: str) -> list[Result]:
        """See `PartsEngine.run`. Secrets travel in the function that the tasks run, and appear in no plan, log or event log."""
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
        answers: list[Answer] = [pickle.loads(answer_bytes) for answer_bytes in pickled]  # noqa: S301 - of our own workers
        for answer in answers:
            if answer.error is not None:
                raise answer.error
        return [cast("Result", answer.result) for answer in answers]


def _in_short(text: str) -> str:
    """The failure: Python's exception on the worker, or Spark's message."""
    trace = text.rpartition(_TRACE)[2] if _TRACE in text else ""
    raised = [line for line in trace.partition(_OF_THE_JVM)[0].splitlines() if line and not line[0].isspace()]
    return raised[-1][:_MOST_LETTERS] if raised else failure_in_short(text)
