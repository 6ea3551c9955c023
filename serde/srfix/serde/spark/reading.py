"""Payloads → typed rows, in frames of Spark, batch and streaming.

plan = plan_read(registry, "users", "ID BIGINT, NAME STRING")
users = read_topic(spark, plan, bootstrap_servers="broker:9092", on_error="quarantine")
good_rows(users).select("value.*")
bad_rows(users).select("topic", "partition", "offset", "_srfix_reason", "_srfix_message", "_srfix_payload")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, cast, get_args, overload

from srfix.serde.errors import UsageError
from srfix.serde.printable import foreign
from srfix.serde.spark.choosing import choose_engine
from srfix.serde.spark.errors import kafka_error_of
from srfix.serde.spark.interface import ENGINES, Engine, OnBadRow, UnknownIds, check_word
from srfix.serde.spark.packages import missing_jar
from srfix.serde.spark.read.plan import NEWEST, ReadPlan, plan_read
from srfix.serde.spark.read.topics import (
    Assignment,
    Offsets,
    Options,
    Plans,
    TopicsAsked,
    kafka_options,
    plan_given,
    topic_plans,
    topics_asked,
)
from srfix.serde.subjects.names import Role, split_context, split_subject

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Observation, SparkSession
    from pyspark.sql.readwriter import DataFrameReader
    from pyspark.sql.streaming.readwriter import DataStreamReader

    from srfix.serde.registries.given import AnyClient
    from srfix.serde.spark.read.plan_registry import PlanRegistry


@overload
def from_registry(
    plan: Plans,
    /,
    *,
    column: str | None = None,
    on_error: OnBadRow = "fail",
    engine: Engine = "auto",
    observe: str | Observation | None = None,
    workers_have_srfix: bool | None = None,
    unknown_ids: UnknownIds | None = None,
) -> Callable[[DataFrame], DataFrame]: ...
@overload
def from_registry(
    column: str | Column,
    plan: ReadPlan | str,
    registry: PlanRegistry | AnyClient | None = None,
    /,
    *,
    headers: str | Column | None = None,
    on_error: OnBadRow = "fail",
    engine: Engine = "auto",
    workers_have_srfix: bool | None = None,
    unknown_ids: UnknownIds | None = None,
) -> Column: ...
def from_registry(
    first: Plans | str | Column,
    second: ReadPlan | str | None = None,
    registry: PlanRegistry | AnyClient | None = None,
    /,
    *,
    column: str | None = None,
    headers: str | Column | None = None,
    on_error: OnBadRow = "fail",
    engine: Engine = "auto",
    observe: str | Observation | None = None,
    workers_have_srfix: bool | None = None,
    unknown_ids: UnknownIds | None = None,
) -> Callable[[DataFrame], DataFrame] | Column:
    """`from_registry(plan)` is for `df.transform`, `from_registry("value", plan)` a Column for `select`; batch or streaming.

    **For a frame**: the payloads of one column become a struct of the plan's columns. The frame's other columns stay.
    Nothing is decoded twice, whatever is filtered by. A tombstone is a null struct and no error, and `_srfix_tombstone` is
    true for it, and false for all else (`interface.reason_columns`; `_srfix_key_tombstone` for keys): by that mark
    `to_registry` knows it, whatever becomes of the reasons. Headers are looked at if the frame has a column `headers`, as
    Kafka's with `includeHeaders` have. For keys and values of one frame, transform it twice, with a plan for each.

    Of **several topics** in one frame give a plan each, `from_registry([users, orders])` or `{"users-retry": users, …}`: a row
    is read by the plan of its column `topic`, whose letter case counts, and has the columns of all plans (`topics`). A topic
    without a plan gives bad rows: NO_PLAN.

    **As a Column**, beside Spark's `from_avro`: of a name ("payload.value" is a field) or of any expression that is binary.
    With `quarantine` it is a struct of the row, called `value` or `key`, and the reason columns: `select("v.*")` of it is a
    frame for `good_rows` and `bad_rows`. Spark may compute an expression wherever it is used: a filter on it decodes twice,
    where the frame's transformation does not. It is made for the active session, and its errors name no offset.
    `from_registry("value", "users-value", registry)` makes the plan by itself: the columns are those of the subject's newest
    schema (`NEWEST`), of Avro or JSON_SR.

    :param column: where a frame's payloads are; None is `value`, or `key` for a plan of keys.
    :param headers: of a Column: the records' headers, for schemas that are named there; None looks at none.
    :param on_error: what a row that cannot be read does. `fail`: the job fails, with topic, partition and offset if the
        frame has those columns (`errors.clear_errors` makes a `BadRowError` of it). `quarantine`: the struct is
        null, and `interface.reason_columns` are added: the reason (TOMBSTONE too), the message, and the bytes as they came.
        `null`: the struct is null, and `observe` alone counts such rows.
    :param engine: what decodes; `auto` is decided by `choosing.choose_engine`, when the frame is there, and logged with the
        reason.
    :param observe: counts rows, tombstones, bad rows by reason and refused ids, under this name, or for this Observation
        (batch only); `counts.counts_of` reads them. None counts rows, tombstones and bad rows of a stream that does not
        fail of them, in its progress (`observedMetrics`), as "srfix values of TOPIC", " (2)" and so on behind it for a
        session's further streams of that topic. How far a stream is behind, Spark's sources tell themselves.
    :param workers_have_srfix: whether srfix is installed on the executors; None asks them, until they have.
    :param unknown_ids: what becomes of a schema id that the plan does not know, where the JVM decodes (`interface.UnknownIds`).
        None is `fail` for a bounded frame: its ids were there when the plan was made, or `plan.refreshed(registry)` knows
        them. It is `resolve` for a stream, in which ids are born, and for a Column.
    :raises UsageError: if an argument is none of its words; when the frame is there, if it has no such column, or it is not
        binary, or if it has a column of the names that are to be added.
    :raises EngineRefusedError: when the frame is there, if no engine that was asked for can represent the plan exactly; and
        JarMissingError, WorkerPackageError as `choosing.choose_engine`.
    """
    check_word("on_error", on_error, get_args(OnBadRow))
    check_word("engine", engine, ENGINES)
    if unknown_ids is not None:
        check_word("unknown_ids", unknown_ids, get_args(UnknownIds))
    choose = partial(choose_engine, engine=engine, workers_have_srfix=workers_have_srfix)
    if isinstance(first, list | tuple | Mapping):
        several = topic_plans(first)
    elif isinstance(first, ReadPlan):
        several = None
    else:
        if second is None:
            raise _no_plan(first)
        if column is not None or observe is not None:
            raise UsageError(
                "from_registry(column, plan) is an expression: column= and observe= are for a frame, "
                "df.transform(from_registry(plan, …))."
            )
        if isinstance(second, str):
            second = _plan_of_subject(second, registry)
        elif registry is not None:
            raise UsageError("from_registry was given a plan and a registry. A plan needs no registry: leave it out.")
        plan = plan_given(
            second, "A Column is read by one plan; several read a frame: df.transform(from_registry(plans))."
        )
        from srfix.serde.spark._pyspark.columns import decoded_column

        chosen = partial(choose, unknown_ids=unknown_ids or "resolve")
        return decoded_column(cast("str | Column", first), plan, headers=headers, on_error=on_error, choose=chosen)
    if second is not None or registry is not None or headers is not None:
        raise UsageError(
            "from_registry(plan) is for a frame, and looks at its column headers by itself. For a Column name it first: "
            "from_registry(column, plan, headers=…)."
        )

    def transform(df: DataFrame) -> DataFrame:
        from srfix.serde.spark._pyspark.engines import Decoding, decoding_of
        from srfix.serde.spark._pyspark.frames import decode_frame
        from srfix.serde.spark._pyspark.topics import decode_topics

        def decoding(plan: ReadPlan) -> Decoding:
            unknown = unknown_ids or ("resolve" if df.isStreaming else "fail")
            return decoding_of(plan, choose(plan, df.sparkSession, unknown_ids=unknown))

        if several is not None:
            return decode_topics(df, several, decoding, column=column, on_error=on_error, observe=observe)
        plan = cast("ReadPlan", first)
        return decode_frame(df, plan, decoding(plan), column=column, on_error=on_error, observe=observe)

    return transform


def _plan_of_subject(subject: str, registry: PlanRegistry | AnyClient | None) -> ReadPlan:
    """The plan of a subject that is named after its topic, with the columns of its newest schema."""
    parts = split_subject(split_context(subject)[1])
    if parts is None:
        raise UsageError(
            f"The subject {foreign(subject)} is not called after a topic and its half (users-value, users-key). Make a plan of "
            f"it: plan_read(registry, TOPIC, NEWEST, subjects=[{foreign(subject)!r}])."
        )
    topic, role = parts
    return plan_read(registry, topic, NEWEST, role=role, format=None, subjects=(subject,))


def _no_plan(first: object) -> UsageError:
    if isinstance(first, str) or type(first).__module__.startswith("pyspark."):
        return UsageError(
            "from_registry was given a column and no plan: from_registry(column, plan), or from_registry(column, subject, "
            "registry)."
        )
    return UsageError(
        f"from_registry was given {type(first).__name__}, which is not a plan. Give what plan_read gives: one, several "
        "in a list, or a mapping from topics to plans."
    )


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


def replay(
    bad: DataFrame,
    plan: Plans,
    *,
    column: str | None = None,
    on_error: OnBadRow = "quarantine",
    engine: Engine = "auto",
    observe: str | Observation | None = None,
    workers_have_srfix: bool | None = None,
    unknown_ids: UnknownIds | None = None,
) -> DataFrame:
    """Reads quarantined rows again, from the bytes that were kept: after a repair, by a plan that was made again
    (`plan.refreshed(registry)`) or by another one.

    Only bad rows: of a frame that has good ones too, and tombstones, those are left out. The frame may have been written
    and read since (Parquet, Delta), as long as the reason and payload columns were kept. What is bad again is quarantined
    again; the other columns stay. One plan reads every row; rows of several topics are read by several plans, as
    `from_registry` reads them, and those of a topic without a plan (NO_PLAN) by one that is given now.

    :param bad: what `bad_rows` gives.
    :param column: where rows go; None is `value`, or `key` for a plan of keys. Made if it is not there.

    The other parameters are those of `from_registry`, but that an id which the plan does not know is looked up
    (`unknown_ids`).

    :raises UsageError: if the frame was not read with `on_error="quarantine"`, or its bytes were dropped; and as
        `from_registry`.
    """
    from srfix.serde.spark._pyspark import frames

    transform = from_registry(
        plan,
        column=column,
        on_error=on_error,
        engine=engine,
        observe=observe,
        workers_have_srfix=workers_have_srfix,
        unknown_ids=unknown_ids or "resolve",
    )
    role = plan.role if isinstance(plan, ReadPlan) else topic_plans(plan).role
    return frames.payloads_again(bad, role, role.value if column is None else column).transform(transform)


def read_topic(
    spark: SparkSession,
    plan: Plans,
    *,
    bootstrap_servers: str,
    subscribe_pattern: str | None = None,
    assign: Assignment | None = None,
    starting_offsets: Offsets = "earliest",
    ending_offsets: Offsets = "latest",
    options: Options | None = None,
    on_error: OnBadRow = "fail",
    engine: Engine = "auto",
    observe: str | Observation | None = None,
    workers_have_srfix: bool | None = None,
    unknown_ids: UnknownIds | None = None,
) -> DataFrame:
    """The plan's topic, as it is when the job runs: Kafka's columns (key, value, topic, partition, offset, timestamp,
    timestampType, headers), with the plan's half as a struct. Several topics: a plan each, as `from_registry`.

    :param subscribe_pattern: a regular expression of Java's: all topics whose whole name it matches. Each needs its plan, or
        its rows are bad (NO_PLAN); one plan alone reads them all if it looks ids up without a subject (`ById`).
    :param assign: topic → the partitions that are read; None reads all of them.
    :param starting_offsets: `earliest`, or the first offset of each partition: `{0: 23, 1: -2}`; -2 is the earliest. Of several
        topics `{topic: {0: 23}}`.
    :param ending_offsets: `latest`, or the offset after the last, likewise; -1 is the latest.
    :param options: more options of Spark's Kafka source; what is for Kafka's client is called `kafka.…`
        (`kafka.security.protocol`, `kafka.sasl.jaas.config`) and is passed on as it is, and shown nowhere. With
        `failOnDataLoss` left as it is, true, records that are gone before they were read fail the job: `false` skips them.
    Spark asks the brokers once before, so that what is wrong shows here, and not in a job's trace (`bounds.BROKER_SECONDS`);
    what Kafka says later, `errors.clear_errors` makes the same errors of.

    :raises ClusterError: if there is no such topic, or no broker answers.
    :raises AccessDeniedError: if this user may not read it.
    :raises JarMissingError: if Spark has no Kafka source.
    :raises UsageError: if an option is one that a parameter says, or lacks its `kafka.`; and as `from_registry`.
    """
    transform = from_registry(
        plan,
        on_error=on_error,
        engine=engine,
        observe=observe,
        workers_have_srfix=workers_have_srfix,
        unknown_ids=unknown_ids,
    )
    selection = topics_asked(plan, subscribe_pattern=subscribe_pattern, assign=assign)
    spark_options = kafka_options(
        selection,
        bootstrap_servers=bootstrap_servers,
        starting_offsets=starting_offsets,
        ending_offsets=ending_offsets,
        options=options or {},
    )
    return _loaded(spark, spark.read, spark_options, selection, transform)


def read_stream(
    spark: SparkSession,
    plan: Plans,
    *,
    bootstrap_servers: str,
    subscribe_pattern: str | None = None,
    assign: Assignment | None = None,
    starting_offsets: Offsets = "earliest",
    options: Options | None = None,
    on_error: OnBadRow = "fail",
    engine: Engine = "auto",
    observe: str | None = None,
    workers_have_srfix: bool | None = None,
    unknown_ids: UnknownIds | None = None,
) -> DataFrame:
    """The plan's topic as a stream. As `read_topic`, but for these:

    Where a query starts is said by its checkpoint, if there is one: `starting_offsets` is for the first time. (Spark's own
    default is `latest`; here it is `earliest`.) Under a pattern topics that are born later are read from their beginning,
    and are bad rows (NO_PLAN) until the query is started again with their plans. The plan is made once and stays: with
    workers that have srfix, ids that are registered later are looked up where they are met, and no restart is needed.

    What ends a query arrives as Spark's `StreamingQueryException`: `errors.srfix_error_of(query.exception())` is the
    error of srfix, and `clear_errors()` around `query.awaitTermination()` raises it.

    :raises ClusterError: as `read_topic`, and AccessDeniedError.
    :raises JarMissingError: if Spark has no Kafka source.
    :raises UsageError: as `read_topic`.
    """
    transform = from_registry(
        plan,
        on_error=on_error,
        engine=engine,
        observe=observe,
        workers_have_srfix=workers_have_srfix,
        unknown_ids=unknown_ids,
    )
    selection = topics_asked(plan, subscribe_pattern=subscribe_pattern, assign=assign)
    spark_options = kafka_options(
        selection,
        bootstrap_servers=bootstrap_servers,
        starting_offsets=starting_offsets,
        ending_offsets=None,
        options=options or {},
    )
    return _loaded(spark, spark.readStream, spark_options, selection, transform)


def _loaded(
    spark: SparkSession,
    reader: DataFrameReader | DataStreamReader,
    options: dict[str, str],
    selection: TopicsAsked,
    transform: Callable[[DataFrame], DataFrame],
) -> DataFrame:
    from srfix.serde.spark._pyspark.sessions import look

    try:
        df = reader.format("kafka").options(**options).load()
        df.schema  # noqa: B018 - Spark Connect finds out only now
        look(spark, options, is_stream=df.isStreaming)
    except Exception as error:
        ours = (
            missing_jar(str(error), spark.version)
            or selection.error_of(str(error))
            or kafka_error_of(
                str(error),
                of_topic=selection.words,
                servers=options.get("kafka.bootstrap.servers"),
            )
        )
        if ours is None:
            raise
        raise ours from None  # Spark's own words name options
    return transform(df)
