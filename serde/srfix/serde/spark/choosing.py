"""Chooses the engine that reads a plan on a cluster, and the one that writes a frame. For reading:

| engine | jvm can represent the plan, spark-avro is there | workers have srfix | result |
|---|---|---|---|
| auto, `unknown_ids="fail"` | yes | not checked | jvm; payloads that the plan does not know are bad rows |
| auto | yes | yes | jvm; the arrow engine reads payloads that the plan does not know |
| auto | yes | no | jvm; payloads that the plan does not know are bad rows |
| auto | yes, except shapes beyond `MAX_SHAPES` | yes | jvm; the arrow engine reads those shapes and unknown payloads |
| auto | yes, except shapes beyond `MAX_SHAPES` | no | an error with both reasons |
| auto | no | yes | arrow |
| auto | no | no | an error with both reasons |
| jvm | yes | | like auto |
| arrow | | | arrow |

If a session's JVMs do not limit the lengths that Avro accepts (`avro_limits`), and the plan wants a field with a
length, `auto` treats the session like one without spark-avro, because a record of ten bytes could crash it. If the user
names the jvm engine, it reads there, with a warning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from weakref import WeakSet

from srfix.serde.errors import EngineRefusedError, JarMissingError, WorkerPackageError
from srfix.serde.printable import message
from srfix.serde.spark.avro_limits import limits_needed, unbounded, unending
from srfix.serde.spark.interface import LOG, Engine, UnknownIds
from srfix.serde.spark.read.jvm.read import EngineChoice, JvmRead, jvm_read
from srfix.serde.spark.releases import arrow_or, lacks_arrow, require_arrow
from srfix.serde.spark.session import check_session
from srfix.serde.spark.write.decisions import FrameRow
from srfix.serde.spark.write.jvm import JvmWrite, jvm_write
from srfix.serde.spark.write.plan import WritePlan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from srfix.serde.spark.read.plan import ReadPlan

_with_srfix: Final[WeakSet[SparkSession]] = WeakSet()
"""Others are checked again, because srfix may have been installed in the meantime."""
_warned: Final[WeakSet[SparkSession]] = WeakSet()


def choose_engine(
    plan: ReadPlan,
    spark: SparkSession,
    engine: Engine = "auto",
    *,
    workers_have_srfix: bool | None = None,
    unknown_ids: UnknownIds = "resolve",
) -> EngineChoice:
    """The engine for a plan in a session. The choice is logged as information under `srfix.serde.spark`. For a session
    without limits, in which a record could crash the jvm engine, srfix logs once a warning that says how to set limits.

    :param workers_have_srfix: whether srfix and its dependencies are installed on the executors. With None, srfix
        checks a few executors each time, until one check has found srfix there. If the user named the arrow engine,
        there is no check: that engine itself reports what is missing.
    :param unknown_ids: what happens with ids that the plan does not know, if the plan knows at least one id.
    :raises EngineRefusedError: if the user named the jvm engine and it cannot represent the plan exactly; or with
        `auto`, if the jvm engine cannot do that and the workers lack srfix.
    :raises JarMissingError: if the user named the jvm engine and Spark has no spark-avro.
    :raises WorkerPackageError: if the user named the arrow engine and `workers_have_srfix` is False.
    """
    choice = _chosen(plan, spark, engine, workers_have_srfix, unknown_ids)
    LOG.info("%s", message(str(choice)))
    return choice


def _chosen(
    plan: ReadPlan, spark: SparkSession, engine: Engine, workers_have_srfix: bool | None, unknown_ids: UnknownIds
) -> EngineChoice:
    if engine == "arrow":
        require_arrow()
        if workers_have_srfix is False:
            raise WorkerPackageError(
                "The arrow engine runs on the workers, but workers_have_srfix=False says that they lack srfix. Install it "
                'there (make pyfiles, or pip install), or use engine="jvm".'
            )
        return EngineChoice(engine="arrow", fallback=False, why="it was requested")
    try:
        read = jvm_read(plan)
        check_session(spark, kafka=False)
        _require_bounds(spark, read, engine)
    except (EngineRefusedError, JarMissingError) as error:
        if engine == "jvm":
            raise
        reasons = error.reasons if isinstance(error, EngineRefusedError) else (error.message,)
        if (lacking := _lacking(spark, workers_have_srfix)) is not None:
            raise _neither(reasons, lacking) from error
        return EngineChoice(engine="arrow", fallback=False, why=f"the jvm engine cannot be used: {' '.join(reasons)}")
    why = "Spark's own Avro reads every known schema exactly" if engine == "auto" else "it was requested"
    if unknown_ids == "fail" and plan.schemas and not read.left:
        why += '; a row is bad if the plan does not know its schema id (unknown_ids="resolve" looks the id up)'
        return EngineChoice(engine="jvm", fallback=False, why=why, read=read)
    lacking = _lacking(spark, workers_have_srfix)
    if read.left and lacking is not None:
        raise _neither((f"{read.left_over}.",), lacking)
    if read.left:
        why = f"{read.left_over}; Spark's own Avro reads the other schemas exactly"
    if lacking is not None:
        because = lacking if lacking == lacks_arrow() else f"the workers lack srfix ({lacking})"
        why += f"; payloads that the plan does not know are bad rows, because {because}"
    return EngineChoice(engine="jvm", fallback=lacking is None, why=why, read=read)


def _neither(jvm_reasons: tuple[str, ...], lacking: str) -> EngineRefusedError:
    has_arrow = lacking != lacks_arrow()
    no_arrow = f"The arrow engine runs on the workers, but they lack srfix: {lacking}" if has_arrow else f"{lacking}."
    reasons = (*jvm_reasons, no_arrow)
    return EngineRefusedError(
        "Neither engine can read this plan here:\n" + "\n".join(f"- {reason}" for reason in reasons), reasons=reasons
    )


def _require_bounds(spark: SparkSession, read: JvmRead, engine: Engine) -> None:
    """With `auto` it refuses if a record could crash the JVM that reads it; otherwise it logs a warning."""
    why = unbounded(spark, limits_needed(read)) or unending(spark, read)
    if why is None:
        return
    named = "srfix reads nevertheless, because you named the engine"
    instead = 'engine="jvm" reads nevertheless' if engine == "auto" else named
    if spark not in _warned:
        _warned.add(spark)
        LOG.warning("%s", message(f"{why}. {instead}."))
    if engine == "auto":
        raise EngineRefusedError(why, reasons=(f"{why}.",))


def _lacking(spark: SparkSession, workers_have_srfix: bool | None) -> str | None:
    """Why the workers cannot run srfix; None if they can."""
    if (lacking := lacks_arrow()) is not None:
        return lacking
    if workers_have_srfix is not None:
        return None if workers_have_srfix else "workers_have_srfix=False says so"
    if spark in _with_srfix:
        return None
    lacking = _probe(spark)
    if lacking is None:
        _with_srfix.add(spark)
    return lacking


def _probe(spark: SparkSession) -> str | None:
    from srfix.serde.spark._pyspark.shipping import probe

    return probe(spark)


def chosen_write(
    df: DataFrame,
    plan: WritePlan,
    row: FrameRow,
    engine: Engine,
    workers_have_srfix: bool | None,
    *,
    is_quarantine: bool,
) -> JvmWrite | None:
    """The jvm engine's way; None for the arrow engine. The choice is logged as information under `srfix.serde.spark`.

    :raises EngineRefusedError: if the requested engine cannot write the rows exactly, or none can.
    :raises JarMissingError: if the jvm engine was requested and Spark has no Avro.
    :raises WorkerPackageError: if the arrow engine is needed, and `workers_have_srfix` is False.
    """
    write: JvmWrite | None = None
    why: tuple[str, ...] = ("every cast is exact",) if engine == "auto" else ("it was requested",)
    try:
        write = jvm_write(plan, row)
        if engine != "arrow":
            _require_jvm(df, is_quarantine=is_quarantine)
    except (EngineRefusedError, JarMissingError) as error:
        if engine == "jvm":
            raise
        write = None
        if engine == "auto":
            why = error.reasons if isinstance(error, EngineRefusedError) else (error.message,)
    chosen = "arrow" if write is None or engine == "arrow" else "jvm"
    need = f"The {plan.role.value}s of topic {plan.topic!r} need the arrow engine ({'; '.join(why)})"
    if chosen == "arrow" and (lacking := lacks_arrow()) is not None:
        raise EngineRefusedError(f"{need}. {lacking}.", reasons=(*why, lacking))
    if chosen == "arrow" and workers_have_srfix is False:
        raise WorkerPackageError(
            f"{need}, which runs on the workers, but workers_have_srfix=False says that they lack srfix. Install it "
            "there (make pyfiles, or pip install)."
        )
    LOG.info(
        "The %ss of topic %r are written by the engine %s: %s.",
        *(plan.role.value, plan.topic, chosen, message("; ".join(why))),
    )
    return write if chosen == "jvm" else None


def _require_jvm(df: DataFrame, *, is_quarantine: bool) -> None:
    if is_quarantine:
        raise EngineRefusedError(
            "Spark's own Avro fails the whole job if it cannot write a row. For quarantine, "
            + arrow_or(f"the arrow engine is needed. {lacks_arrow()}.", advice="use the engine 'arrow'."),
            reasons=("a row that cannot be written fails the job, and is not kept",),
        )
    check_session(df.sparkSession, kafka=False)
