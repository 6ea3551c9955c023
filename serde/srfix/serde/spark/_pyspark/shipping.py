"""Code for the workers, and what they need to run it.

A function that is pickled by reference needs its module where it is unpickled: a worker without srfix would say
`ModuleNotFoundError: No module named 'srfix'` and no more. So what travels is this module, by value: it needs only
Python's own modules, asks for the others, and says what is missing and how to bring it there.

Each function here imports what it uses, and names nothing but others of this module: that is what "by value" carries.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from pyspark.cloudpickle import register_pickle_by_value

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Shipped", "probe"]

register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]

_PROBES: Final = 4


class Shipped:
    """A function that is made on the worker, of bytes: `Shipped("srfix.serde.spark._worker:plan_decoder", plan)` calls, on
    the worker, what `plan_decoder(plan)` gives. It is made as soon as it gets there, so that what is missing shows first.
    """

    def __init__(self, factory: str, frozen: bytes) -> None:
        """
        :param factory: where the worker finds what makes the function: module, colon, name.
        :param frozen: what it is made of. Bytes, since unpickling anything of srfix's would need srfix.
        """
        self._factory = factory
        self._frozen = frozen
        self.__name__ = factory.rpartition(":")[2]  # what Spark's plans call it

    # Without annotations: Spark takes those of a function for the kind of function that it is.
    def __call__(self, *columns):  # type: ignore[no-untyped-def]
        """What the function gives.

        :raises ModuleNotFoundError: if the worker lacks a module, saying how to bring it there.
        """
        return _made(self._factory, self._frozen)(*columns)

    def __reduce__(self) -> tuple[Callable[[str, bytes], Shipped], tuple[str, bytes]]:
        return _unpacked, (self._factory, self._frozen)


def _unpacked(factory: str, frozen: bytes) -> Shipped:
    _made(factory, frozen)
    return Shipped(factory, frozen)


def _made(factory: str, frozen: bytes) -> Callable[..., object]:
    from importlib import import_module

    module, _, name = factory.partition(":")
    try:
        made: Callable[..., object] = getattr(import_module(module), name)(frozen)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(_advice(error.name or str(error)), name=error.name) from None
    return made


def _advice(missing: str) -> str:
    """What is missing here, and how it gets here."""
    import platform
    import sys

    package = missing.partition(".")[0]
    where = f"The Spark worker on {platform.node()} (Python {platform.python_version()}, {sys.executable})"
    jvm = 'Or decode without Python on the workers: engine="jvm".'
    if package == "srfix":
        return (
            f"{where} has no srfix. Install it there (pip install 'srfix[arrow]'), or ship it with the job: make pyfiles, "
            "then spark-submit --py-files dist/srfix-pyfiles.zip, or spark.addArtifacts('dist/srfix-pyfiles.zip', "
            "pyfile=True) in a session, Spark Connect's too; fastavro, pyarrow and requests must be installed on the "
            f"workers then. {jvm}"
        )
    return (
        f"{where} has srfix, but not {package}, which it needs. Install it there (pip install {package}): it cannot be "
        f"shipped as a zip of Python files. {jvm}"
    )


def probe(spark: SparkSession) -> str | None:
    """Whether the workers can run srfix: None, or what keeps them from it. One small job: ask once per session.

    The answer is of the workers that happened to be asked, a few at most.
    """
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as F

    ask = F.udf(_missing, "string", useArrow=False).asNondeterministic()
    try:
        answers = spark.range(0, _PROBES, 1, _PROBES).select(ask("id").alias("answer")).collect()
    except PySparkException as error:
        return f"The workers run no Python function: {str(error).strip().splitlines()[0]}"
    return next((str(row["answer"]) for row in answers if row["answer"] is not None), None)


def _missing(_: int) -> str | None:
    from importlib import import_module

    for name in ("pyarrow", "srfix.serde.spark._worker", "fastavro", "requests"):
        try:
            import_module(name)
        except ModuleNotFoundError as error:
            return _advice(error.name or str(error))
    return None
