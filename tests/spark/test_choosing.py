"""What a session is asked before an engine is chosen for it."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from srfix.serde.spark.choosing import choose_engine
from srfix.serde.spark.releases import lacks_arrow
from tests.serde.spark.jvm.plans import plan_of, record


class TestChooseEngine:
    def test_a_session_with_avro_and_workers_with_srfix_has_both(self, spark: SparkSession) -> None:
        choice = choose_engine(plan_of("A INT", record(a="int")), spark)
        lacking = lacks_arrow()
        assert (choice.engine, choice.fallback) == ("jvm", lacking is None)
        assert lacking is None or choice.why.endswith(f"is a bad row, because {lacking}")

    def test_what_spark_cannot_read_exactly_is_read_on_the_workers(self, spark: SparkSession) -> None:
        choice = choose_engine(plan_of("A STRING", record(a="double")), spark)
        assert (choice.engine, choice.fallback) == ("arrow", False)

    def test_a_missing_jar_has_our_words(self, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
        from pyspark.errors import AnalysisException

        from srfix.serde.errors import JarMissingError
        from srfix.serde.spark._pyspark import jvm

        def no_such_function(*_: object) -> None:
            raise AnalysisException("[AVRO_NOT_LOADED_SQL_FUNCTIONS_UNUSABLE] Cannot call the FROM_AVRO SQL function")

        monkeypatch.setattr(jvm, "from_avro", no_such_function)
        with pytest.raises(JarMissingError, match="spark-avro"):
            choose_engine(plan_of("A INT", record(a="int")), spark, "jvm")
