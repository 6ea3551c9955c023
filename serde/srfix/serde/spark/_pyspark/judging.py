"""Whether payloads can be read, by a reader's policy, on the workers: for those who count rows and keep none."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from srfix.serde.errors import EngineRefusedError
from srfix.serde.registry.secret import pickled_with_secrets
from srfix.serde.spark._pyspark.shipping import Shipped
from srfix.serde.spark.releases import lacks_arrow
from srfix.serde.spark.worker.judge import FACTORY, JudgedReader

_VERDICT = StructType([StructField("reason", StringType()), StructField("message", StringType())])


def judged(reader: JudgedReader, payload: Column, headers: Column) -> Column:
    """`struct<reason: string, message: string>`: a `batches.Reason`'s word and the error's; both null where the payload can
    be read. Several such columns in one projection travel to the workers together.

    :param payload: binary.
    :param headers: `array<struct<key: string, value: binary>>`.
    :raises EngineRefusedError: on a Spark that has no functions in Arrow.
    """
    if (lacking := lacks_arrow()) is not None:
        raise EngineRefusedError(
            f"Whether rows can be read is asked of srfix on Spark's workers. {lacking}. Verify without Spark (--engine local).",
            reasons=(f"{lacking}.",),
        )
    shipped = Shipped(FACTORY, pickled_with_secrets(reader))
    verdict: Column = F.arrow_udf(shipped, _VERDICT).asNondeterministic()(payload, headers)  # type: ignore[attr-defined]
    return verdict
