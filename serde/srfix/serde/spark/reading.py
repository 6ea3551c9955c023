"""Payloads → typed rows, in frames of Spark, batch and streaming.

plan = plan_read(registry, "users", "ID BIGINT, NAME STRING")
users = read_topic(spark, plan, bootstrap_servers="broker:9092", on_error="quarantine")
good_rows(users).select("value.*")
bad_rows(users).select("topic", "partition", "offset", "_srfix_reason", "_srfix_message", "_srfix_payload")
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, get_args

from srfix.serde.spark._kafka_options import Offsets, Options, kafka_options
from srfix.serde.spark._missing_jars import missing_jar
from srfix.serde.spark._words import check_word
from srfix.serde.spark.interface import ENGINES, Engine, OnBadRow
from srfix.serde.spark.plan import ReadPlan
from srfix.serde.subjects import Role

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Observation, SparkSession
    from pyspark.sql.readwriter import DataFrameReader
    from pyspark.sql.streaming.readwriter import DataStreamReader

__all__ = ["bad_rows", "from_registry", "good_rows", "read_stream", "read_topic"]


def from_registry(
    plan: ReadPlan,
    *,
    column: str | None = None,
    on_error: OnBadRow = "fail",
    engine: Engine = "auto",
    observe: str | Observation | None = None,
    workers_have_srfix: bool | None = None,
) -> Callable[[DataFrame], DataFrame]:
    """For `df.transform`, batch or streaming: the payloads of one column become a struct of the plan's columns.

    The frame's other columns stay. Nothing is decoded twice, whatever is filtered by. A tombstone is a null struct and no
    error, and `_srfix_tombstone` is true for it, and false for all else (`interface.reason_columns`; `_srfix_key_tombstone`
    for keys): by that mark `to_registry` knows it, whatever becomes of the reasons.

    Headers are looked at if the frame has a column `headers`, as Kafka's with `includeHeaders` have. For keys and values of one
    frame, transform it twice, with a plan for each.

    :param column: where the payloads are; None is `value`, or `key` for a plan of keys.
    :param on_error: what a row that cannot be read does. `fail`: the job fails, with topic, partition and offset if the
        frame has those columns (`driver_errors.clear_errors` makes a `BadRowError` of it). `quarantine`: the struct is
        null, and `interface.reason_columns` are added: the reason (TOMBSTONE too), the message, and the bytes as they came.
        `null`: the struct is null, and `observe` alone counts such rows.
    :param engine: what decodes; `auto` is decided by `choosing.choose_engine`, when the frame is there, and logged with the
        reason.
    :param observe: counts rows, tombstones, bad rows by reason and refused ids, under this name, or for this Observation
        (batch only); `counts.counts_of` reads them.
    :param workers_have_srfix: whether srfix is installed on the executors; None asks them, until they have.
    :raises UsageError: if an argument is none of its words; when the frame is there, if it has no such column, or it is not
        binary, or if it has a column of the names that are to be added.
    :raises EngineRefusedError: when the frame is there, if no engine that was asked for can represent the plan exactly; and
        JarMissingError, WorkerPackageError as `choosing.choose_engine`.
    """
    check_word("on_error", on_error, get_args(OnBadRow))
    check_word("engine", engine, ENGINES)

    def transform(df: DataFrame) -> DataFrame:
        from srfix.serde.spark._pyspark.engines import decoding_of
        from srfix.serde.spark._pyspark.frames import decode_frame

        return decode_frame(
            df,
            plan,
            decoding_of(plan, df.sparkSession, engine, workers_have_srfix),
            column=column,
            on_error=on_error,
            observe=observe,
        )

    return transform


def good_rows(df: DataFrame, role: Role = Role.VALUE) -> DataFrame:
    """The rows of a frame in quarantine that could be read, tombstones (null structs) too, without the columns of reasons; the
    mark of tombstones stays.

    :raises UsageError: if the frame was not read with `on_error="quarantine"`.
    """
    from srfix.serde.spark._pyspark import frames

    return frames.good_rows(df, role)


def bad_rows(df: DataFrame, role: Role = Role.VALUE) -> DataFrame:
    """The rows of a frame in quarantine that could not be read, with all columns.

    Good and bad rows in two sinks are two jobs, each of which decodes; `foreachBatch` with a persisted frame is one.

    :raises UsageError: if the frame was not read with `on_error="quarantine"`.
    """
    from srfix.serde.spark._pyspark import frames

    return frames.bad_rows(df, role)


def read_topic(
    spark: SparkSession,
    plan: ReadPlan,
    *,
    bootstrap_servers: str,
    starting_offsets: Offsets = "earliest",
    ending_offsets: Offsets = "latest",
    options: Options | None = None,
    on_error: OnBadRow = "fail",
    engine: Engine = "auto",
    observe: str | Observation | None = None,
    workers_have_srfix: bool | None = None,
) -> DataFrame:
    """The plan's topic, as it is when the job runs: Kafka's columns (key, value, topic, partition, offset, timestamp,
    timestampType, headers), with the plan's half as a struct.

    :param starting_offsets: `earliest`, or the first offset of each partition: `{0: 23, 1: -2}`; -2 is the earliest.
    :param ending_offsets: `latest`, or the offset after the last, likewise; -1 is the latest.
    :param options: more options of Spark's Kafka source; what is for Kafka's client is called `kafka.…`
        (`kafka.security.protocol`, `kafka.sasl.jaas.config`) and is passed on as it is, and shown nowhere. With
        `failOnDataLoss` left as it is, true, records that are gone before they were read fail the job: `false` skips them.
    :raises JarMissingError: if Spark has no Kafka source.
    :raises UsageError: if an option is one that a parameter says, or lacks its `kafka.`; and as `from_registry`.
    """
    transform = from_registry(
        plan,
        on_error=on_error,
        engine=engine,
        observe=observe,
        workers_have_srfix=workers_have_srfix,
    )
    told = kafka_options(
        plan.topic,
        bootstrap_servers=bootstrap_servers,
        starting_offsets=starting_offsets,
        ending_offsets=ending_offsets,
        options=options or {},
    )
    return _loaded(spark.read, told, spark.version, transform)


def read_stream(
    spark: SparkSession,
    plan: ReadPlan,
    *,
    bootstrap_servers: str,
    starting_offsets: Offsets = "earliest",
    options: Options | None = None,
    on_error: OnBadRow = "fail",
    engine: Engine = "auto",
    observe: str | None = None,
    workers_have_srfix: bool | None = None,
) -> DataFrame:
    """The plan's topic as a stream. As `read_topic`, but for these:

    Where a query starts is said by its checkpoint, if there is one: `starting_offsets` is for the first time. (Spark's own
    default is `latest`; here it is `earliest`.) The plan is made once and stays: with workers that have srfix, ids that
    are registered later are looked up where they are met, and no restart is needed.

    :raises JarMissingError: if Spark has no Kafka source.
    :raises UsageError: as `read_topic`.
    """
    transform = from_registry(
        plan,
        on_error=on_error,
        engine=engine,
        observe=observe,
        workers_have_srfix=workers_have_srfix,
    )
    told = kafka_options(
        plan.topic,
        bootstrap_servers=bootstrap_servers,
        starting_offsets=starting_offsets,
        ending_offsets=None,
        options=options or {},
    )
    return _loaded(spark.readStream, told, spark.version, transform)


def _loaded(
    reader: DataFrameReader | DataStreamReader,
    options: dict[str, str],
    spark_version: str,
    transform: Callable[[DataFrame], DataFrame],
) -> DataFrame:
    try:
        df = reader.format("kafka").options(**options).load()
        df.schema  # noqa: B018 - Spark Connect finds out only now
    except Exception as error:
        missing = missing_jar(str(error), spark_version)
        if missing is None:
            raise
        raise missing from None  # Spark's own words name options
    return transform(df)
