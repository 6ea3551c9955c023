"""Typed rows → payloads in Spark frames, batch and streaming.

    plan = plan_write(registry, "users", df.schema)
    df.transform(to_registry(plan)).write.format("kafka")…
    write_topic(df, plan, bootstrap_servers="broker:9092")

| engine | how it writes | accepted rows |
|---|---|---|
| `jvm` | Spark's own Avro, with the schema id in front | Avro, if all types can be cast without a loss |
| `arrow` | the plan's serializer, on Arrow batches | all rows that the serializer accepts; it checks each value |

Both write the same bytes as the plan's serializer, if text is UTF-8 and no map has a key twice: Spark checks neither. A
row with a time finer than its written unit (milliseconds for a TIMESTAMP) cannot be written, unless the plan cuts times
(`plan_write(…, cut_times=True)`).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args, overload

from srfix.serde.arguments import word
from srfix.serde.errors import SparkError, UsageError
from srfix.serde.printable import foreign, message
from srfix.serde.spark.choosing import chosen_write
from srfix.serde.spark.errors import kafka_error_of
from srfix.serde.spark.interface import Engine, reason_columns
from srfix.serde.spark.read.topics import Options, sink_options
from srfix.serde.spark.releases import missing_jar
from srfix.serde.spark.session import check_session
from srfix.serde.spark.write.column import column_write
from srfix.serde.spark.write.decisions import frame_row
from srfix.serde.spark.write.plan import WritePlan

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

NullRows: TypeAlias = Literal["refuse", "tombstone"]
"""The handling of a null row: an error; or, if it is marked as a tombstone, a null payload, which deletes its key."""
OnUnwritable: TypeAlias = Literal["fail", "quarantine"]
"""The handling of a row that cannot be written: it fails the job, or it stays, with its reason and without a
payload."""
Quarantine: TypeAlias = "Callable[[DataFrame, int], object]"
"""Keeps a micro-batch's rows that could not be written. It gets these rows and the batch's id."""


@overload
def to_registry(
    plan: WritePlan,
    /,
    *,
    from_: str | Sequence[str] | None = None,
    into: str | None = None,
    null_rows: NullRows = "refuse",
    on_error: OnUnwritable = "fail",
    engine: Engine = "auto",
    workers_have_srfix: bool | None = None,
) -> Callable[[DataFrame], DataFrame]: ...
@overload
def to_registry(columns: str | Column | Sequence[str | Column], plan: WritePlan, /) -> Column: ...
def to_registry(
    first: WritePlan | str | Column | Sequence[str | Column],
    second: WritePlan | None = None,
    /,
    *,
    from_: str | Sequence[str] | None = None,
    into: str | None = None,
    null_rows: NullRows = "refuse",
    on_error: OnUnwritable = "fail",
    engine: Engine = "auto",
    workers_have_srfix: bool | None = None,
) -> Callable[[DataFrame], DataFrame] | Column:
    """`to_registry(plan)` is for `df.transform`: it adds a column of payloads for Kafka. `to_registry(columns, plan)` is a
    Column for `select`. Both work in batches and streams.

    **As a Column**, like Spark's `to_avro`: from a list of columns that make the row, or from the struct that is the row.
    Only the jvm engine writes it, and there are no options. The row must have the plan's columns in their order, with the
    types that they have in Spark; letter case counts only if the plan's case rule says so. A null row fails the job. The
    Column is made for the active session.

    **For a frame**: its other columns stay, also those that make the row; Kafka's sink uses only key, value, topic,
    partition and headers. In the framing HEADER_GUID, the GUID is added to `headers`. For keys and values, transform the
    frame twice, with a plan for each.

    :param from_: the columns that make the row, or the struct column that is the row. With None, the struct column
        `into` is the row, if the frame has this column; otherwise all columns make the row, except those of Kafka's
        source and sink.
    :param into: the column of payloads; by default `value`, or `key` for a plan of keys.
    :param null_rows: the handling of a null struct, and of a bare null in a value. A null key is always written. With
        `tombstone`, null rows with the tombstone mark are written as tombstones, and every other null row is an error,
        because a row that could not be read is also null. Reading adds the mark (`interface.reason_columns`:
        `_srfix_tombstone`; the reason TOMBSTONE also counts), so keep that column. To delete keys for other reasons,
        set the mark yourself: `withColumn("_srfix_tombstone", lit(True))`.
    :param on_error: the handling of a row that cannot be written. `quarantine` adds `interface.reason_columns` (reason
        and message) and leaves the payload null: **do not write such rows to Kafka** (use `good_rows`), because there a
        null is a tombstone. Only the arrow engine has `quarantine`.
    :param engine: the engine that encodes; `auto` chooses jvm if that engine is exact and Spark has the jar spark-avro.
    :param workers_have_srfix: False if the executors lack srfix: then the arrow engine is refused. srfix does not check
        the executors; an executor without srfix reports it and fails the job.
    :raises UsageError: if an argument is an unknown word, or is not for a Column.
    :raises EngineRefusedError: for a Column, if only the arrow engine can write the plan's columns.

    The transformation raises, before any job:

    :raises ColumnError: if the frame's rows cannot be written: a column is missing, surplus, or has another type.
    :raises CasingError: if letter case makes the match between frame and plan ambiguous.
    :raises EngineRefusedError: if the requested engine cannot write the rows exactly; the error names every reason.
    :raises JarMissingError: if the jvm engine was requested and Spark has no Avro.
    :raises WorkerPackageError: if the arrow engine is needed, and `workers_have_srfix` is False.
    :raises UsageError: if the frame lacks the columns, or it is not clear which columns make the row.
    """
    plan = first if second is None else second
    if not isinstance(plan, WritePlan):
        raise UsageError(
            "to_registry was given no plan from plan_write: call to_registry(plan) or to_registry(columns, plan)."
        )
    if second is not None:
        options = (from_, into, null_rows, on_error, engine, workers_have_srfix)
        if isinstance(first, WritePlan) or options != (None, None, "refuse", "fail", "auto", None):
            raise UsageError(
                "to_registry(columns, plan) is an expression without options. With options, transform a frame: "
                "df.transform(to_registry(plan, …))."
            )
        made = column_write(plan)
        from srfix.serde.spark._pyspark.frames import active_session
        from srfix.serde.spark._pyspark.write import written_column

        check_session(active_session(), kafka=False)
        return written_column(first, plan, made)
    word("null_rows", null_rows, get_args(NullRows))
    word("on_error", on_error, get_args(OnUnwritable))
    word("engine", engine, get_args(Engine))
    column = plan.role.value if into is None else into

    def transform(df: DataFrame) -> DataFrame:
        row = frame_row(plan, df.schema, from_, column)
        if null_rows == "tombstone" and row.is_null is not None and row.is_marked is None:
            name = reason_columns(plan.role).tombstone
            raise UsageError(
                f"null_rows='tombstone' needs the column {name}, which marks tombstones, but the frame has no such "
                "column. Without it, a null row may also be a row that could not be read. from_registry and read_topic "
                "add the column: keep it in your select. To delete keys for other reasons, add the column yourself: "
                f'withColumn("{name}", lit(True)) on their rows.'
            )
        is_quarantine = on_error == "quarantine"
        write = chosen_write(df, plan, row, engine, workers_have_srfix, is_quarantine=is_quarantine)
        names = reason_columns(plan.role)
        if is_quarantine and (taken := [name for name in (names.reason, names.message) if name in df.columns]):
            raise UsageError(
                f"The frame already has a column {taken[0]}. Drop the column, or leave out the rows that it describes."
            )
        from srfix.serde.spark._pyspark.write import encode_frame

        return encode_frame(
            df,
            plan,
            row,
            write,
            into=column,
            may_be_tombstones=null_rows == "tombstone",
            is_quarantine=is_quarantine,
        )

    return transform


def write_topic(
    df: DataFrame,
    plan: WritePlan,
    *,
    bootstrap_servers: str,
    key: WritePlan | None = None,
    from_: str | Sequence[str] | None = None,
    key_from: str | Sequence[str] | None = None,
    null_rows: NullRows = "refuse",
    engine: Engine = "auto",
    on_error: OnUnwritable = "fail",
    workers_have_srfix: bool | None = None,
    options: Options | None = None,
) -> DataFrame | None:
    """Writes a frame's rows to the plan's topic, with the frame's key, partition and headers if it has them.

    :param on_error: the handling of a row that cannot be written: it fails the job; or, with `quarantine` and the arrow
        engine, it stays behind while the other rows are written. The rows that stayed are then returned, with the
        frame's own columns and `interface.reason_columns` (reason and message; with `key`, also those of keys). The
        returned frame is computed from the given frame when it is used: if the given frame may change until then,
        `persist()` it first. With `fail`, the result is None.

    :param key: how keys are written; None to use the frame's column `key` unchanged.
    :param key_from: the columns that make the key, like `from_`.
    :param options: more options of Spark's Kafka sink (`kafka.security.protocol`, …).

    The other parameters are those of `to_registry`.

    :raises UsageError: if a parameter already sets an option, or an option lacks its `kafka.`; and as in `to_registry`.
    :raises JarMissingError: if Spark has no Kafka sink.
    :raises ClusterError: if no broker answers; AccessDeniedError if Spark may not write the topic.
    """
    spark_options = sink_options(plan.topic, bootstrap_servers=bootstrap_servers, options=options or {})
    word("on_error", on_error, get_args(OnUnwritable))
    if df.isStreaming:
        raise UsageError("write_topic writes a frame once, but this frame is a stream: use write_stream.")
    halves = _halves(plan, from_, null_rows, key, key_from, engine, workers_have_srfix)
    left: DataFrame | None = None
    if on_error == "quarantine":
        rows, apart = _written_apart(df, halves)
        frame, left = apart(rows)
    else:
        frame = _encoded(df, halves)
    _save(frame, plan.topic, spark_options)
    return left


def _save(frame: DataFrame, topic: str, spark_options: dict[str, str]) -> None:
    try:
        frame.write.format("kafka").options(**spark_options).save()
    except Exception as error:
        ours = missing_jar(str(error), frame.sparkSession.version) or kafka_error_of(
            str(error),
            of_topic=f"the topic {foreign(topic)!r}",
            servers=spark_options["kafka.bootstrap.servers"],
            writes=True,
        )
        if ours is None:
            raise
        raise ours from None  # Spark's own message names options


def write_stream(
    df: DataFrame,
    plan: WritePlan,
    *,
    bootstrap_servers: str,
    key: WritePlan | None = None,
    from_: str | Sequence[str] | None = None,
    key_from: str | Sequence[str] | None = None,
    null_rows: NullRows = "refuse",
    engine: Engine = "auto",
    on_error: OnUnwritable = "fail",
    quarantine: Quarantine | None = None,
    workers_have_srfix: bool | None = None,
    options: Options | None = None,
) -> DataStreamWriter:
    """Like `write_topic`, but for a stream: returns the writer, to which you add the checkpoint and the trigger before
    you start it.

    **At least once**: after a failure or a restart, the present micro-batch runs again, and its rows that had already
    reached Kafka or `quarantine` are written again. No row is lost, and no row is in both places, because both runs
    decide in the same way whether a row can be written. If you need kept rows exactly once, use the batch's id:
    overwrite a folder for each batch, or use Delta's `txnAppId` and `txnVersion`. Kafka's sink has nothing similar.

    :param on_error: `quarantine` writes the good rows with the arrow engine, micro-batch by micro-batch (it uses
        `foreachBatch`, so you cannot set `foreachBatch` or `format` on the writer). It gives the bad rows to the
        function `quarantine`: the frame's own columns, with `interface.reason_columns` (reason and message). The
        function gets the bad rows before the good ones are written to Kafka. If the function fails, the query ends, and
        its batch is not done. To write rows that you have corrected, drop the columns of reasons and pass the rows to
        `write_topic`.
    :param quarantine: called with the bad rows and the batch's id, if there are bad rows. On Spark Connect it runs on
        the server, which needs srfix.
    :raises UsageError: if only one of `on_error="quarantine"` and `quarantine` is given, or `quarantine` does not
        accept the two arguments; and as in `write_topic`.
    """
    spark_options = sink_options(plan.topic, bootstrap_servers=bootstrap_servers, options=options or {})
    word("on_error", on_error, get_args(OnUnwritable))
    if not df.isStreaming:
        raise UsageError("write_stream writes only a streaming frame, but this is not one: use write_topic.")
    halves = _halves(plan, from_, null_rows, key, key_from, engine, workers_have_srfix)
    if on_error == "fail":
        if quarantine is not None:
            raise UsageError(
                "With on_error='fail' a bad row fails the job, so quarantine= has no use. Set on_error='quarantine'."
            )
        return _encoded(df, halves).writeStream.format("kafka").options(**spark_options)
    if quarantine is None:
        raise UsageError(
            "on_error='quarantine' of a stream needs to know where bad rows go, for example quarantine=lambda bad, "
            "batch_id: bad.write.mode('append').parquet(PATH)."
        )
    _check_quarantine(quarantine)
    # Errors of the frame are raised now, and not by the first micro-batch.
    _written_apart(df, halves)

    def write(batch: DataFrame, batch_id: int) -> None:
        rows, apart = _written_apart(batch, halves)
        rows = rows.persist()  # encoded once, for both
        try:
            frame, left = apart(rows)
            if not left.isEmpty():
                _keep(quarantine, left, batch_id)
            _save(frame, plan.topic, spark_options)
        finally:
            rows.unpersist()

    return df.writeStream.foreachBatch(write)


def _check_quarantine(quarantine: object) -> None:
    """The first bad row may come much later, so this is checked at once."""
    if not callable(quarantine):
        raise UsageError(
            f"quarantine= is called with a frame of bad rows and the batch's id, but {type(quarantine).__name__} "
            "cannot be called. Pass, for example, quarantine=lambda bad, batch_id: "
            "bad.write.mode('append').parquet(PATH)."
        )
    try:
        signature = inspect.signature(quarantine)
    except (TypeError, ValueError):
        return  # a function in C does not show its parameters
    try:
        signature.bind(None, 0)
    except TypeError as error:
        raise UsageError(
            "quarantine= is called with a frame of bad rows and the batch's id, quarantine(bad, batch_id), but the "
            f"given function does not accept them: {message(str(error))}."
        ) from None


def _keep(quarantine: Quarantine, bad: DataFrame, batch_id: int) -> None:
    try:
        quarantine(bad, batch_id)
    except (SystemExit, KeyboardInterrupt) as error:
        # Py4J only returns subclasses of Exception: these two would end its thread, and the JVM would wait for ever.
        raise SparkError(
            f"quarantine= ended with {type(error).__name__} for the bad rows of batch {batch_id}. Raise an exception "
            "to end the query, or stop it from outside."
        ) from error


_Half: TypeAlias = "tuple[WritePlan, str | Sequence[str] | None, Callable[..., Callable[[DataFrame], DataFrame]]]"
"""A plan, the columns that make its row, and `to_registry` for the plan, with the caller's options."""


def _halves(
    plan: WritePlan,
    from_: str | Sequence[str] | None,
    null_rows: NullRows,
    key: WritePlan | None,
    key_from: str | Sequence[str] | None,
    engine: Engine,
    workers_have_srfix: bool | None,
) -> list[_Half]:
    to_column = partial(to_registry, engine=engine, workers_have_srfix=workers_have_srfix)
    half: _Half = plan, from_, partial(to_column, plan, null_rows=null_rows)
    return [half] if key is None else [half, (key, key_from, partial(to_column, key))]


def _encoded(df: DataFrame, halves: list[_Half]) -> DataFrame:
    frame = df
    for _, from_, written in halves:
        # The frame's own columns: of these, the value's payload replaces only `value`.
        frame = frame.transform(written(from_=from_))
    return frame.select(*(name for name in ("key", "value", "partition", "headers") if name in frame.columns))


def _written_apart(
    df: DataFrame, halves: list[_Half]
) -> tuple[DataFrame, Callable[[DataFrame], tuple[DataFrame, DataFrame]]]:
    """The frame with payloads and reasons, and what splits it: good rows for Kafka's sink, bad rows as they were."""
    from srfix.serde.spark._pyspark.write import taken_apart

    names = {plan.role.value: f"_srfix_written_{plan.role.value}" for plan, _, _ in halves}
    frame = df
    for plan, from_, written in halves:
        # The row is taken from the original frame, and its payload is added beside it, so that the row is still there
        # to look at.
        role = plan.role.value
        row = frame_row(plan, df.schema, from_, role)
        columns = [field.name for field in row.fields] if row.struct is None else row.struct
        frame = frame.transform(written(from_=columns, into=names[role], on_error="quarantine"))
    reasons = [reason_columns(plan.role) for plan, _, _ in halves]
    return frame, lambda rows: taken_apart(rows, df.columns, names, reasons)
