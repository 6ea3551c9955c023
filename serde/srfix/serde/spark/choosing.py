"""Which engine reads a plan on a cluster.

| engine | jvm represents the plan, spark-avro is there | workers have srfix | reads |
|---|---|---|---|
| auto, `unknown_ids="fail"` | yes | nobody asks | jvm; what the plan knows nothing about is a bad row |
| auto | yes | yes | jvm, and the arrow engine what the plan knows nothing about |
| auto | yes | no | jvm; what the plan knows nothing about is a bad row |
| auto | yes, but for shapes beyond `MAX_SHAPES` | yes | jvm; those shapes, and what is unknown, the arrow engine |
| auto | yes, but for shapes beyond `MAX_SHAPES` | no | nothing: the error has both reasons |
| auto | no | yes | arrow |
| auto | no | no | nothing: the error has both reasons |
| jvm | yes | | as auto |
| arrow | | | arrow |

A session whose JVMs bound no length that Avro is told (`avro_limits`) is to `auto` one without spark-avro, if the plan
wants anything that has a length: a record of ten bytes could end it. The jvm engine that is asked for by name reads there,
with a warning.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final
from weakref import WeakSet

from srfix.serde.errors import EngineRefusedError, JarMissingError, WorkerPackageError
from srfix.serde.printable import message
from srfix.serde.spark.avro_limits import limits_needed, unbounded, unending
from srfix.serde.spark.interface import Engine, UnknownIds
from srfix.serde.spark.read.jvm.read import EngineChoice, JvmRead, jvm_read
from srfix.serde.spark.releases import lacks_arrow, require_arrow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from srfix.serde.spark.read.plan import ReadPlan

_logger: Final = logging.getLogger("srfix.serde.spark")

_with_srfix: Final[WeakSet[SparkSession]] = WeakSet()
"""Sessions whose workers were found to have srfix. Others are asked again: it may be brought to them meanwhile."""
_warned: Final[WeakSet[SparkSession]] = WeakSet()
"""Sessions without bounds of which a warning was logged."""


def choose_engine(
    plan: ReadPlan,
    spark: SparkSession,
    engine: Engine = "auto",
    *,
    workers_have_srfix: bool | None = None,
    unknown_ids: UnknownIds = "resolve",
) -> EngineChoice:
    """The engine for a plan in a session. Logged as information under `srfix.serde.spark`; a session without bounds, in which
    the jvm engine could be ended by a record, once as a warning that says how to get them.

    :param workers_have_srfix: whether srfix and what it needs is installed on the executors. None asks a few of them, until
        they have, unless the arrow engine was asked for: that says itself what is missing.
    :param unknown_ids: what becomes of ids that the plan does not know, where it knows some.
    :raises EngineRefusedError: if the jvm engine was asked for and cannot represent the plan exactly; or under `auto`, if
        it cannot, and the workers lack srfix.
    :raises JarMissingError: if the jvm engine was asked for and Spark has no spark-avro.
    :raises WorkerPackageError: if the arrow engine was asked for and `workers_have_srfix` is False.
    """
    choice = _chosen(plan, spark, engine, workers_have_srfix, unknown_ids)
    _logger.info("%s", message(str(choice)))
    return choice


def _chosen(
    plan: ReadPlan, spark: SparkSession, engine: Engine, workers_have_srfix: bool | None, unknown_ids: UnknownIds
) -> EngineChoice:
    if engine == "arrow":
        require_arrow()
        if workers_have_srfix is False:
            raise WorkerPackageError(
                "The arrow engine runs on the workers, and workers_have_srfix=False says that they lack srfix. Bring it "
                'there (make pyfiles, or pip install), or use engine="jvm".'
            )
        return EngineChoice(engine="arrow", fallback=False, why="it was asked for")
    try:
        read = jvm_read(plan)
        _require_avro(spark)
        _require_bounds(spark, read, engine)
    except (EngineRefusedError, JarMissingError) as error:
        if engine == "jvm":
            raise
        return _arrow_instead(error, _lacking(spark, workers_have_srfix))
    why = "Spark's own Avro reads every known schema exactly" if engine == "auto" else "it was asked for"
    if unknown_ids == "fail" and plan.schemas and not read.left:
        why += '; a schema id that the plan does not know is a bad row (unknown_ids="resolve" looks it up)'
        return EngineChoice(engine="jvm", fallback=False, why=why, read=read)
    lacking = _lacking(spark, workers_have_srfix)
    if read.left and lacking is not None:
        raise _neither((f"{read.left_over}.", _no_arrow(lacking)))
    if read.left:
        why = f"Spark's own Avro reads the others exactly; {read.left_over}"
    if lacking is not None:
        because = lacking if lacking == lacks_arrow() else f"the workers lack srfix ({lacking})"
        why += f"; what the plan knows nothing about is a bad row, because {because}"
    return EngineChoice(engine="jvm", fallback=lacking is None, why=why, read=read)


def _arrow_instead(error: EngineRefusedError | JarMissingError, lacking: str | None) -> EngineChoice:
    reasons = error.reasons if isinstance(error, EngineRefusedError) else (error.message,)
    if lacking is None:
        return EngineChoice(engine="arrow", fallback=False, why=f"the jvm engine cannot be used: {' '.join(reasons)}")
    raise _neither((*reasons, _no_arrow(lacking))) from error


def _no_arrow(lacking: str) -> str:
    return (
        f"{lacking}."
        if lacking == lacks_arrow()
        else f"The arrow engine runs on the workers, and they lack srfix: {lacking}"
    )


def _neither(reasons: tuple[str, ...]) -> EngineRefusedError:
    return EngineRefusedError(
        "Neither engine can read this plan here:\n" + "\n".join(f"- {reason}" for reason in reasons), reasons=reasons
    )


def _require_avro(spark: SparkSession) -> None:
    from srfix.serde.spark._pyspark.jvm import require_avro

    require_avro(spark)


def _require_bounds(spark: SparkSession, read: JvmRead, engine: Engine) -> None:
    """:raises EngineRefusedError: under `auto`, if a record could end the JVM that reads it. Else that is a warning."""
    why = unbounded(spark, limits_needed(read)) or unending(spark, read)
    if why is None:
        return
    instead = (
        'engine="jvm" reads without' if engine == "auto" else "It is read so all the same, for the engine was named"
    )
    if spark not in _warned:
        _warned.add(spark)
        _logger.warning("%s", message(f"{why}. {instead}."))
    if engine == "auto":
        raise EngineRefusedError(why, reasons=(f"{why}.",))


def _lacking(spark: SparkSession, workers_have_srfix: bool | None) -> str | None:
    """What keeps the workers from running srfix; None if nothing does."""
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
