"""The jars' versions. In pure Python."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.metadata import PackageNotFoundError

import pytest

from parts.jars import spark_jars
from srfix.serde.errors import UsageError
from srfix.serde.spark.releases import RELEASES, missing_jar, packages


class TestPackages:
    def test_3_5_is_built_with_scala_2_12(self) -> None:
        assert packages("3.5.9").coordinates[0] == "org.apache.spark:spark-avro_2.12:3.5.9"
        assert packages("4.3.1-SNAPSHOT") == packages("4.3.0")
        assert packages("3.5.9", scala="2.13").coordinates[0] == "org.apache.spark:spark-avro_2.13:3.5.9"

    @pytest.mark.parametrize(
        ("name", "artifact"),
        [
            ("avro", "org.apache.spark:spark-avro_2.13"),
            ("kafka", "org.apache.spark:spark-sql-kafka-0-10_2.13"),
            ("token_provider", "org.apache.spark:spark-token-provider-kafka-0-10_2.13"),
            ("kafka_clients", "org.apache.kafka:kafka-clients"),
            ("commons_pool2", "org.apache.commons:commons-pool2"),
        ],
    )
    def test_each_version_can_be_given_and_leaves_the_others(self, name: str, artifact: str) -> None:
        changed = packages("4.3.0", **{name: "9.9.9"}).coordinates
        assert set(changed) - set(packages("4.3.0").coordinates) == {f"{artifact}:9.9.9"}

    def test_another_scala_is_in_the_names_of_spark_alone(self) -> None:
        scala = [coordinate.count("_2.12:") for coordinate in packages("4.3.0", scala="2.12").coordinates]
        assert scala == [1, 1, 1, 0, 0]

    @pytest.mark.parametrize(
        ("version", "line"), [("3.4.4", "3.5"), ("5.0.0", "4.3"), ("3.6.0", "3.5"), ("4.10.0", "4.3")]
    )
    def test_a_version_that_is_not_known_gets_the_nearest_below_and_words(self, version: str, line: str) -> None:
        found = packages(version)
        assert found.coordinates == packages(f"{line}.0").coordinates
        assert f"srfix does not know which jars work with Spark {version}. These are" in (found.note or "")

    @pytest.mark.parametrize("text", ["", "four", "4", "4.x"])
    def test_what_is_no_version_is_refused(self, text: str) -> None:
        with pytest.raises(UsageError, match=rf"{re.escape(repr(text))} is not a version of Spark\."):
            packages(text)

    def test_without_pyspark_the_version_must_be_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def nothing(distribution: str) -> str:
            raise PackageNotFoundError(distribution)

        monkeypatch.setattr(import_module("srfix.serde.spark.releases"), "version", nothing)
        with pytest.raises(UsageError, match=r"No PySpark is installed here\. Name the version"):
            packages()

    @pytest.mark.parametrize("line", RELEASES)
    def test_the_fixtures_fetch_the_same_versions(self, line: str) -> None:
        jars = RELEASES[line]
        assert dict(spark_jars(line).properties) == {
            "scala.version": jars.scala,
            "spark.avro.version": jars.avro,
            "spark.kafka.version": jars.kafka,
            "spark.token.provider.version": jars.token_provider,
            "kafka.clients.version": jars.kafka_clients,
            "commons.pool2.version": jars.commons_pool2,
        }


class TestMissingJar:
    @pytest.mark.parametrize(
        ("said", "jar"),
        [
            ("[KAFKA_DATA_SOURCE_NOT_ENABLED] Failed to find data", "spark-sql-kafka-0-10"),
            ("Failed to find data source: kafka. Please deploy", "spark-sql-kafka-0-10"),
            ("[AVRO_NOT_LOADED_SQL_FUNCTIONS_UNUSABLE] Cannot call the FROM_AVRO SQL function", "spark-avro"),
            ("java.lang.NoClassDefFoundError: org/apache/kafka/common/serialization/Deserializer", "kafka-clients"),
            ("NoClassDefFoundError: org/apache/spark/kafka010/KafkaConfigUpdater", "spark-token-provider-kafka-0-10"),
            ("NoClassDefFoundError: org/apache/commons/pool2/PooledObjectFactory", "commons-pool2"),
        ],
    )
    def test_what_spark_says_names_the_jar(self, said: str, jar: str) -> None:
        error = missing_jar(said, "4.3.0")
        assert error is not None
        assert error.message.startswith(f"Spark lacks the jar {jar}. Start it with")
        assert error.packages == packages("4.3.0").coordinates
        assert str(packages("4.3.0")) in error.message
        assert 'Without jars, format("srfix")' in error.message

    def test_what_is_about_something_else_is_none(self) -> None:
        assert missing_jar("[UNRESOLVED_COLUMN] value", "4.3.0") is None
