"""Sends code to the workers, and checks what they need to run it.

A function that is pickled by reference needs its module where it is unpickled: a worker without srfix would only report
`ModuleNotFoundError: No module named 'srfix'`. So this module is sent by value: each function here imports what it uses,
and otherwise refers only to functions of this module.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from pyspark.cloudpickle import register_pickle_by_value

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]

_NEEDED: Final = ("srfix", "fastavro", "pyarrow", "requests")
_PROBED: Final = ("pyarrow", "srfix.serde.spark.worker.decode", "fastavro", "requests")
_PROBES: Final = 4


class Shipped:
    """`Shipped("module:name", plan)` calls `name(plan)` on arrival, so that a missing package shows first."""

    def __init__(self, factory: str, frozen: bytes) -> None:
        """`factory` is called once per task, with bytes, because unpickling an object of srfix would need srfix."""
        self._factory = factory
        self._frozen = frozen
        self._function: Callable[..., object] | None = None
        self.__name__ = factory.rpartition(":")[2]  # its name in Spark's plans

    # Without annotations, because Spark uses them to decide the kind of function.
    def __call__(self, *columns):  # type: ignore[no-untyped-def]
        try:
            return self._made()(*columns)
        except ModuleNotFoundError as error:
            raise _explained(error) from None

    def _made(self) -> Callable[..., object]:
        from importlib import import_module

        if self._function is None:
            import_module("pyarrow")
            module, _, name = self._factory.partition(":")
            self._function = getattr(import_module(module), name)(self._frozen)
        return self._function

    def __reduce__(self) -> tuple[Callable[[str, bytes], Shipped], tuple[str, bytes]]:
        return _unpacked, (self._factory, self._frozen)


def _unpacked(factory: str, frozen: bytes) -> Shipped:
    shipped = Shipped(factory, frozen)
    try:
        shipped._made()
    except ModuleNotFoundError as error:
        raise _explained(error) from None
    return shipped


def _explained(error: ModuleNotFoundError) -> ModuleNotFoundError:
    if hasattr(error, "is_explained"):
        return error
    explained = ModuleNotFoundError(_advice(error.name or str(error)), name=error.name)
    explained.is_explained = True  # type: ignore[attr-defined]
    return explained


def _advice(missing: str) -> str:
    import platform
    import sys

    modules = [missing.partition(".")[0], *(name for name in _NEEDED if _is_missing(name))]
    packages = sorted(set(modules), key=modules.index)
    other_packages = [name for name in packages if name != "srfix"]
    advice = [
        f"The Spark worker on {platform.node()} (Python {platform.python_version()}, {sys.executable}) lacks "
        f"{', '.join(packages)}."
    ]
    if "srfix" in packages:
        wheel = _zip_without_folders()
        if wheel is not None:
            advice.append(
                f"{wheel} is on the worker's path and contains srfix, but this file has no entries for folders (like a "
                "renamed wheel), so Python finds no namespace package in it."
            )
        advice.append(
            "Install srfix there (pip install 'srfix[arrow]'), or ship it with the job: make pyfiles, then "
            "spark-submit --py-files dist/srfix-pyfiles.zip, or spark.addArtifacts('dist/srfix-pyfiles.zip', "
            "pyfile=True) in a session (also of Spark Connect). Then fastavro, pyarrow and requests must be "
            "installed on the workers."
        )
    elif other_packages:
        advice.append(
            f"Install what is missing there (pip install {' '.join(other_packages)}), because a zip of Python files cannot "
            "contain it."
        )
    advice.append('In from_registry and read_topic, engine="jvm" decodes with no Python on the workers.')
    return " ".join(advice)


def _is_missing(name: str) -> bool:
    from importlib.util import find_spec

    try:
        return find_spec(f"{name}.serde" if name == "srfix" else name) is None
    except ModuleNotFoundError:
        return True


def _zip_without_folders() -> str | None:
    """A zip on the path that contains srfix, but from which Python cannot import it."""
    import sys
    import zipfile

    for path in sys.path:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                names = set(archive.namelist())
            if "srfix/serde/__init__.py" in names and "srfix/" not in names:
                return path
    return None


def probe(spark: SparkSession) -> str | None:
    """Why the workers cannot run srfix: a small job asks at most four workers, those that it happens to reach."""
    from pyspark.sql import functions as F

    from srfix.serde.spark.errors import is_sparks

    ask = F.udf(_missing, "string", useArrow=False).asNondeterministic()
    try:
        answers = spark.range(0, _PROBES, 1, _PROBES).select(ask("id").alias("answer")).collect()
    except Exception as error:
        if not is_sparks(error):
            raise
        return f"The workers run no Python: {str(error).strip().splitlines()[0]}"
    return next((str(row["answer"]) for row in answers if row["answer"] is not None), None)


def _missing(_: int) -> str | None:
    from importlib import import_module

    for name in _PROBED:
        try:
            import_module(name)
        except ModuleNotFoundError as error:
            return _advice(error.name or str(error))
    return None
