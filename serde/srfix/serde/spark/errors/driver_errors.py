"""Errors of srfix, out of what Spark makes of them on the driver.

A task's error reaches the driver as Spark's own, with stack traces of two languages around it. Here it becomes what it was:
a bad row is a `BadRowError` with its place, a registry that cannot be asked a `RegistryUnreachableError`, and so on. What
Kafka's client said through Spark becomes what `kafka_errors` makes of it.

    with clear_errors():
        spark.read… .transform(from_registry(plan)).write…
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from srfix.serde import errors
from srfix.serde.errors import BadRowError, EngineRefusedError, Reason, SparkError, SrfixError, WorkerPackageError
from srfix.serde.schemas import errors as registry_errors
from srfix.serde.spark.errors.kafka_errors import kafka_error_of
from srfix.serde.spark.packages import missing_jar
from srfix.serde.spark.releases import lacks_source

BAD_ROW_END: Final = " To keep such rows apart, read with on_error='quarantine'."
"""The last words of what a bad row fails a job with. `_pyspark.frames` writes the others, `_BAD_ROW` reads them."""
UNWRITTEN_END: Final = " To keep such rows apart, write with on_error='quarantine'."
"""The same for a row that cannot be written: `write.frame_row` writes the others, `_UNWRITTEN` reads them."""


_BAD_ROW: Final = re.compile(
    r"srfix: the (?P<role>key|value)(?: of topic '(?P<topic>[^']*)')?(?:, partition (?P<partition>\d+))?"
    r"(?:, offset (?P<offset>\d+))? cannot be read\. (?P<reason>[A-Z_]+): .*?(?=" + re.escape(BAD_ROW_END) + ")",
    re.DOTALL,
)
_UNWRITTEN: Final = re.compile(
    r"srfix: a (?:key|value) for topic '(?P<topic>[^']*)'.*? cannot be written\. (?P<reason>[A-Z_]+): .*?(?="
    + re.escape(UNWRITTEN_END)
    + ")",
    re.DOTALL,
)
_RAISED: Final = re.compile(
    r"^(?:srfix\.[\w.]+\.(?P<kind>\w+Error): |ModuleNotFoundError: (?=The Spark worker ))(?P<message>.+?)$",
    re.MULTILINE,
)
_NO_SOURCE: Final = re.compile(r"Failed to find (?:the )?data source: srfix\b")
_KINDS: Final = {
    kind.__name__: kind
    for module in (errors, registry_errors)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, SrfixError)
}


def is_sparks(error: BaseException) -> bool:
    """Whether Spark raised it: PySpark itself, what it talks to the JVM with (a job that failed), or to a Connect server."""
    return type(error).__module__.partition(".")[0] in {"pyspark", "py4j", "grpc"}


def srfix_error_of(error: BaseException, *, of_kafka: bool = True) -> SrfixError | None:
    """What srfix said, out of an error that Spark raised on the driver (an action's, a stream's); None if it is not ours.

    Classes and words survive; of the attributes only those of `BadRowError` do.

    :param of_kafka: False leaves what Kafka's client said to the caller, who knows topic and cluster.
    """
    if isinstance(error, SrfixError):
        return error
    text = str(error)
    if found := _BAD_ROW.search(text):
        return _bad_row(found)
    if found := _UNWRITTEN.search(text):
        return BadRowError(
            found[0] + UNWRITTEN_END,
            topic=found["topic"],
            partition=None,
            offset=None,
            reason=Reason(found["reason"]),
        )
    raised = _RAISED.findall(text)
    if raised:
        name, message = raised[-1]
        kind = _KINDS.get(name, SrfixError) if name else WorkerPackageError
        revived = kind.__new__(kind)  # not called: some make their message themselves
        revived.args = (message,)
        return revived
    if _NO_SOURCE.search(text):
        return _no_source()
    return missing_jar(text) or (kafka_error_of(text) if of_kafka else None)


@contextmanager
def clear_errors() -> Iterator[None]:
    """What is raised within as Spark's error comes out as srfix's, where it was that; the other is its cause.

    :raises SrfixError: if Spark's error was made of one.
    """
    try:
        yield
    except Exception as error:
        ours = srfix_error_of(error)
        if ours is None or ours is error:
            raise
        raise ours from error


def _no_source() -> SparkError:
    """Why Spark does not know `format("srfix")`."""
    if (lacking := lacks_source()) is not None:
        return EngineRefusedError(
            f"{lacking}. Read with srfix.serde.spark.read_topic and write with write_topic, which take Spark's jars of Avro "
            "and Kafka (srfix.serde.spark.packages).",
            reasons=(f"{lacking}.",),
        )
    return SparkError(
        'Spark finds no format("srfix"): the module pyspark_srfix is not where Spark\'s driver runs. Install srfix there (for '
        "Spark Connect: on the server), and start a new session."
    )


def _bad_row(found: re.Match[str]) -> BadRowError:
    partition, offset = found["partition"], found["offset"]
    return BadRowError(
        found[0] + BAD_ROW_END,
        topic=found["topic"],
        partition=None if partition is None else int(partition),
        offset=None if offset is None else int(offset),
        reason=Reason(found["reason"]),
    )
