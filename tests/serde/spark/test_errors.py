"""What Spark raises on the driver, and what it was. In pure Python: real ones are in tests/spark/test_bad_rows.py."""

from __future__ import annotations

from importlib import import_module

import pytest

from srfix.serde.errors import (
    BadRowError,
    EngineRefusedError,
    JarMissingError,
    Reason,
    SparkError,
    SrfixError,
    WorkerPackageError,
)
from srfix.serde.schemas.errors import RegistryUnreachableError
from srfix.serde.spark import errors
from srfix.serde.spark.errors import BAD_ROW_END, clear_errors, srfix_error_of

WORDS = "cannot be read. TRUNCATED: The body ends at byte 5.\nIt is cut off." + BAD_ROW_END


def bad_row(text: str) -> BadRowError:
    error = srfix_error_of(RuntimeError(text))
    assert type(error) is BadRowError
    return error


class TestBadRow:
    def test_it_has_its_place_its_reason_and_no_words_of_sparks(self) -> None:
        said = f"srfix: the value of topic 'users', partition 3, offset 17 {WORDS}"
        error = bad_row(f"[USER_RAISED_EXCEPTION] {said} SQLSTATE: P0001\nJVM stacktrace:\n\tat org.apache.spark")
        assert error.message == said
        assert (error.topic, error.partition, error.offset, error.reason) == ("users", 3, 17, Reason.TRUNCATED)

    def test_of_two_the_first_counts(self) -> None:
        error = bad_row(f"srfix: the key, offset 1 {WORDS} and srfix: the key, offset 2 {WORDS}")
        assert (error.topic, error.partition, error.offset) == (None, None, 1)


class TestRaisedOnAWorker:
    def test_it_is_of_its_own_class_with_its_own_words(self) -> None:
        error = srfix_error_of(
            RuntimeError(
                "An exception was thrown from the Python worker.\nTraceback (most recent call last):\n"
                '  File "x.py", line 1, in f\n'
                "srfix.serde.schemas.errors.RegistryUnreachableError: The registry http://r:8081 cannot be reached.\n"
                "\n\tat org.apache.spark.api.python"
            )
        )
        assert type(error) is RegistryUnreachableError
        assert error.message == "The registry http://r:8081 cannot be reached."
        assert type(srfix_error_of(RuntimeError("\nsrfix.serde.later.NewError: Words.\n"))) is SrfixError

    def test_a_worker_that_lacks_srfix(self) -> None:
        said = "The Spark worker on w1 (Python 3.11.9, /usr/bin/python3) has no srfix. Install it there."
        error = srfix_error_of(RuntimeError(f"Traceback:\nModuleNotFoundError: {said}\n\n\tat org"))
        assert type(error) is WorkerPackageError
        assert error.message == said


class TestSrfixErrorOf:
    def test_a_missing_jar(self, monkeypatch: pytest.MonkeyPatch) -> None:
        # PySpark need not be installed where this runs. (The package's attribute of that name is the function.)
        monkeypatch.setattr(import_module("srfix.serde.spark.releases"), "_installed", lambda: "4.3.0")
        assert type(srfix_error_of(RuntimeError("[KAFKA_DATA_SOURCE_NOT_ENABLED] Failed"))) is JarMissingError


class TestClearErrors:
    def test_ours_comes_out_with_sparks_as_its_cause(self) -> None:
        spark = RuntimeError(f"[USER_RAISED_EXCEPTION] srfix: the key, offset 1 {WORDS}")
        with pytest.raises(BadRowError) as caught, clear_errors():
            raise spark
        assert caught.value.__cause__ is spark

    def test_what_is_not_ours_passes(self) -> None:
        error = ValueError("[DIVIDE_BY_ZERO]")
        with pytest.raises(ValueError, match=r"^\[DIVIDE_BY_ZERO\]$") as caught, clear_errors():
            raise error
        assert caught.value is error
        assert srfix_error_of(RuntimeError(TestNoSource.SAID.replace("srfix", "srfixes"))) is None

    def test_our_own_passes_as_it_is(self) -> None:
        ours = SparkError("Words.")
        with pytest.raises(SparkError) as caught, clear_errors():
            raise ours
        assert caught.value is ours
        assert caught.value.__cause__ is None


class TestNoSource:
    SAID = "[DATA_SOURCE_NOT_FOUND] Failed to find the data source: srfix. Please find packages at `https://spark.apache.org`."

    def test_a_spark_without_python_sources_is_told_what_to_do_instead(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(errors, "lacks_source", lambda: 'format("srfix") needs Spark 4.0 or newer')
        with pytest.raises(EngineRefusedError) as caught, clear_errors():
            raise RuntimeError(self.SAID)
        assert 'format("srfix") needs Spark 4.0 or newer. Read with' in caught.value.message

    def test_one_that_has_them_lacks_srfix_where_its_driver_runs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(errors, "lacks_source", lambda: None)
        error = srfix_error_of(RuntimeError(self.SAID))
        assert type(error) is SparkError
        assert error.message.startswith('Spark does not find format("srfix"), because the module pyspark_srfix is')
