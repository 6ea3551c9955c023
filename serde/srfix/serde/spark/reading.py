"""Payloads → typed rows in Spark frames, batch and streaming.

plan = plan_read(registry, "users", "ID BIGINT, NAME STRING")
users = read_topic(spark, plan, bootstrap_servers="broker:9092", on_error="quarantine")
good_rows(users).select("value.*")
bad_rows(users).select("topic", "partition", "offset", "_srfix_reason", "_srfix_message", "_srfix_payload")
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import astuple
from functools import partial
from typing import TYPE_CHECKING, cast, get_args, overload

from srfix.serde.arguments import word
from srfix.serde.errors import SrfixError, UsageError
from srfix.serde.printable import foreign
from srfix.serde.spark.choosing import choose_engine
from srfix.serde.spark.errors import kafka_error_of
from srfix.serde.spark.interface import Engine, OnBadRow, UnknownIds, reason_columns
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
from srfix.serde.spark.releases import missing_jar
from srfix.serde.subjects.names import Role, split_context, split_subject

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Observation, SparkSession
    from pyspark.sql.readwriter import DataFrameReader
    from pyspark.sql.streaming.readwriter import DataStreamReader

    from srfix.serde.registries.given import AnyClient
    from srfix.serde.spark.read.decisions import PlanRegistry


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
    """`from_registry(plan)` is for `df.transform`; `from_registry("value", plan)` is a Column for `select`. Both work
    in batches and streams.

    **For a frame**: the payloads of one column become a struct of the plan's columns. The frame's other columns stay.
    Filters never cause a second decoding. A tombstone is a null struct and not an error. `_srfix_tombstone` is true for
    it, and false for everything else (`interface.reason_columns`; `_srfix_key_tombstone` for keys): `to_registry`
    recognises a tombstone by this mark, even without the reasons. Headers are used if the frame has a column `headers`,
    as Kafka's frames with `includeHeaders` have. For keys and values of one frame, transform it twice, with a plan for
    each.

    For **several topics** in one frame, give a plan for each, `from_registry([users, orders])` or `{"users-retry":
    users, …}`. A row is read with the plan for its column `topic` (letter case counts), and has the columns of all
    plans (`topics`). A topic without a plan gives bad rows: NO_PLAN.

    **As a Column**, like Spark's `from_avro`: from a name ("payload.value" is a field) or any binary expression. With
    `quarantine` it is a struct of the row (`value` or `key`) and the reason columns: `select("v.*")` gives a frame for
    `good_rows` and `bad_rows`. Spark may compute an expression at each use, so a filter on it decodes twice; the
    frame's transformation does not. The Column is made for the active session, and its errors name no offset.
    `from_registry("value", "users-value", registry)` makes the plan itself: the columns are those of the subject's
    newest schema (`NEWEST`), in Avro or JSON_SR.

    :param column: the column with a frame's payloads; by default `value`, or `key` for a plan of keys.
    :param headers: for a Column: the records' headers, which may name schemas; None to use no headers.
    :param on_error: the handling of a row that cannot be read. `fail`: the job fails, with topic, partition and offset
        if the frame has those columns (`errors.clear_errors` turns the error into a `BadRowError`). `quarantine`: the
        struct is null, and `interface.reason_columns` are added: the reason (also TOMBSTONE), the message, and the
        original bytes. `null`: the struct is null, and only `observe` counts such rows.
    :param engine: the engine that decodes. For `auto`, `choosing.choose_engine` decides when the frame is there, and
        logs the reason.
    :param observe: counts rows, tombstones, bad rows by reason, and refused ids, under this name, or for this
        Observation (batch only); `progress.counts_of` reads them. With None, srfix counts only for a stream that does
        not fail on bad rows: the stream's progress (`observedMetrics`) has its rows, tombstones and bad rows under the
        name "srfix values of TOPIC". A second stream of that topic in the session gets the name with " (2)", and so on.
        Spark's sources report the lag of a stream themselves.
    :param workers_have_srfix: whether srfix is installed on the executors; with None, srfix checks a few executors each
        time, until one check has found srfix there.
    :param unknown_ids: the handling of a schema id that the plan does not know, if the JVM decodes
        (`interface.UnknownIds`). By default `fail` for a bounded frame, because its ids existed when the plan was made,
        or `plan.refreshed(registry)` knows them; and `resolve` for a stream, in which new ids appear, and for a Column.
    :raises UsageError: if an argument is an unknown word; when the frame is there, if it has no such column, the column
        is not binary, or the frame already has a column that srfix would add.
    :raises EngineRefusedError: when the frame is there, if no permitted engine can represent the plan exactly; and
        JarMissingError, WorkerPackageError as in `choosing.choose_engine`.
    """
    word("on_error", on_error, get_args(OnBadRow))
    word("engine", engine, get_args(Engine))
    if unknown_ids is not None:
        word("unknown_ids", unknown_ids, get_args(UnknownIds))
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
            raise UsageError("from_registry was given a plan and a registry. Leave the registry out: plans need none.")
        plan = plan_given(
            second,
            "from_registry for a Column accepts only one plan. To use several, transform a frame: "
            "df.transform(from_registry(plans)).",
        )
        from srfix.serde.spark._pyspark.frames import decoded_column

        chosen = partial(choose, unknown_ids=unknown_ids or "resolve")
        return decoded_column(cast("str | Column", first), plan, headers=headers, on_error=on_error, choose=chosen)
    if second is not None or registry is not None or headers is not None:
        raise UsageError(
            "from_registry(plan) is for a frame, and uses its column headers automatically. For a Column, name the "
            "column first: from_registry(column, plan, headers=…)."
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
    parts = split_subject(split_context(subject)[1])
    if parts is None:
        raise UsageError(
            f"The subject {foreign(subject)} is not named like one of a topic's values or keys (users-value, users-key). Make "
            f"a plan for it: plan_read(registry, TOPIC, NEWEST, subjects=[{foreign(subject)!r}])."
        )
    topic, role = parts
    return plan_read(registry, topic, NEWEST, role=role, format=None, subjects=(subject,))


def _no_plan(first: object) -> UsageError:
    if isinstance(first, str) or type(first).__module__.startswith("pyspark."):
        return UsageError(
            "from_registry was given a column but no plan: call from_registry(column, plan), or "
            "from_registry(column, subject, registry)."
        )
    return UsageError(
        f"from_registry was given {type(first).__name__}, which is not a plan. Give a plan from plan_read, a list of "
        "plans, or a mapping from topics to plans."
    )


def good_rows(df: DataFrame, role: Role = Role.VALUE) -> DataFrame:
    """The rows that could be read, including tombstones (null structs), of a frame that was read with
    `on_error="quarantine"`. The columns of reasons are left out; the mark of tombstones stays.

    :raises UsageError: if the frame was not read with `on_error="quarantine"`.
    """
    from srfix.serde.spark._pyspark.frames import is_bad

    names = reason_columns(role)
    return df.where(~is_bad(df, role)).drop(names.reason, names.message, names.payload)


def bad_rows(df: DataFrame, role: Role = Role.VALUE) -> DataFrame:
    """The rows that could not be read, with all columns, of a frame that was read with `on_error="quarantine"`.

    Writing good and bad rows to two sinks takes two jobs, which both decode; `foreachBatch` with a persisted frame
    decodes once.

    :raises UsageError: if the frame was not read with `on_error="quarantine"`.
    """
    from srfix.serde.spark._pyspark.frames import is_bad

    return df.where(is_bad(df, role))


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
    """Reads quarantined rows again, from the kept bytes: after a repair, with a new plan (`plan.refreshed(registry)`)
    or another one.

    It reads only bad rows: good rows and tombstones of the frame are left out. The frame may have been written and read
    in the meantime (Parquet, Delta), if the reason and payload columns were kept. Rows that are bad again are
    quarantined again; the other columns stay. One plan reads every row; several plans read rows of several topics, as
    in `from_registry`, including rows that had no plan before (NO_PLAN).

    :param bad: the result of `bad_rows`.
    :param column: the column for the rows; by default `value`, or `key` for a plan of keys. It is added if the frame
        lacks it.

    The other parameters are those of `from_registry`. Only the default of `unknown_ids` differs: `resolve`, for every
    frame.

    :raises UsageError: if the frame was not read with `on_error="quarantine"`, or its bytes were dropped; and as in
        `from_registry`.
    """
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
    rows, names = bad_rows(bad, role), reason_columns(role)
    if names.payload not in bad.columns:
        raise UsageError(
            f"The frame has no column {names.payload} with the bytes of bad {role.value}s. Keep it together with "
            f"{names.reason}: bad_rows(df) has both."
        )
    payloads = rows.withColumn(role.value if column is None else column, rows[names.payload])
    return payloads.drop(*astuple(names)).transform(transform)


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
    timestampType, headers), with the half that the plan reads (key or value) as a struct. For several topics give a
    plan for each, as in `from_registry`.

    :param subscribe_pattern: a Java regular expression: all topics whose whole name it matches. A topic without a plan
        gives bad rows (NO_PLAN). A single plan reads all topics if it looks up ids without a subject (`ById`).
    :param assign: topic → the partitions to read; None to read all of them.
    :param starting_offsets: `earliest`, or the first offset of each partition: `{0: 23, 1: -2}`; -2 is the earliest.
        For several topics `{topic: {0: 23}}`.
    :param ending_offsets: `latest`, or for each partition the first offset that is not read; -1 is the latest.
    :param options: more options of Spark's Kafka source. Options for Kafka's client are named `kafka.…`
        (`kafka.security.protocol`, `kafka.sasl.jaas.config`); they are passed on unchanged, and never shown. By default
        `failOnDataLoss` is true: if records are gone before they were read, the job fails. With `false`, Spark skips
        such records. Spark asks the brokers once in advance, so that errors show here and not in a job's trace
        (`bounds.BROKER_SECONDS`). `errors.clear_errors` turns Kafka's later errors into the same classes.

    :raises ClusterError: if there is no such topic, or no broker answers.
    :raises AccessDeniedError: if this user may not read it.
    :raises JarMissingError: if Spark has no Kafka source.
    :raises UsageError: if a parameter already sets an option, or an option lacks its `kafka.`; and as in
        `from_registry`.
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
    spark_options = kafka_options(selection, bootstrap_servers, starting_offsets, ending_offsets, options or {})
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
    """The plan's topic as a stream, like `read_topic`, with these differences:

    A query starts at its checkpoint, if there is one; `starting_offsets` counts only for the first start. (Spark's own
    default is `latest`; here it is `earliest`.) With a pattern, later topics are read from their beginning, but give
    bad rows (NO_PLAN) until the query is restarted with their plans. The plan is made once and stays the same. If the
    workers have srfix, later ids are looked up when they occur, and no restart is needed.

    The error that ends a query arrives as Spark's `StreamingQueryException`: `errors.srfix_error_of(query.exception())`
    gives srfix's error, and `clear_errors()` around `query.awaitTermination()` raises it.

    :raises ClusterError: as in `read_topic`, and AccessDeniedError.
    :raises JarMissingError: if Spark has no Kafka source.
    :raises UsageError: as in `read_topic`.
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
    spark_options = kafka_options(selection, bootstrap_servers, starting_offsets, None, options or {})
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
        text, servers = str(error), options.get("kafka.bootstrap.servers")
        ours: SrfixError | None = missing_jar(text, spark.version) or selection.error_of(text)
        ours = ours or kafka_error_of(text, of_topic=selection.words, servers=servers)
        if ours is None:
            raise
        raise ours from None  # Spark's own message names options
    return transform(df)
