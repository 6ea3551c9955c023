"""Sessions without the jars, and without Java. In processes of their own: this session has both."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Final

import pyspark
import pytest

from parts.jars import spark_jars
from srfix.fixtures.fetching import fetch
from srfix.serde.spark.releases import lacks_source, packages, takes_jars_later
from tests.spark.conftest import RELEASE

later = pytest.mark.skipif(not takes_jars_later(), reason="A Spark before 4.0 cannot add jars once it runs")
COORDINATES: Final = str(packages(pyspark.__version__))


def lines_of(script: str, folder: Path, **environment: str) -> list[str]:
    """What a script says on stdout."""
    ran = subprocess.run(
        [sys.executable, "-c", dedent(script)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=folder,
        env=os.environ | environment,
    )
    assert ran.returncode == 0, ran.stderr
    assert not takes_jars_later() or "resolving dependencies" not in ran.stderr, "Ivy's words"
    return ran.stdout.splitlines()


@later
def test_a_session_that_lacks_jars_says_which_and_start_session_brings_them(tmp_path: Path) -> None:
    script = """
        from concurrent.futures import ThreadPoolExecutor

        from srfix.serde.errors import JarMissingError
        from srfix.serde.spark import check_session, start_session

        config = {"spark.ui.enabled": "false", "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
        spark = start_session("no jars", master="local[1]", packages=(), config=config)
        for asked in ({"kafka": False}, {"avro": False}):
            try:
                check_session(spark, **asked)
            except JarMissingError as error:
                print(error.message)
                print(",".join(error.packages))
        try:
            start_session("no such jar", packages=["srfix.none:none:0"])
        except JarMissingError as error:
            print(error.message)
        check_session(start_session("with jars"))
        with ThreadPoolExecutor() as pool:
            pool.submit(check_session, spark).result()
        print("They are there, for every thread.")
        spark.stop()
    """
    avro, first, kafka, second, none, there = lines_of(script, tmp_path)
    assert "lacks the jar spark-avro" in avro
    assert "lacks the jar spark-sql-kafka-0-10" in kafka
    for said in (avro, kafka):
        assert f"spark-submit --packages {COORDINATES}" in said
    for said in (avro, kafka, none):
        assert ('format("srfix")' in said) is (lacks_source() is None)
    assert (first, second) == (COORDINATES, COORDINATES)
    assert "Spark cannot get the jar srfix.none:none:0" in none
    assert there == "They are there, for every thread."


@pytest.mark.skipif(takes_jars_later(), reason="A Spark from 4.0 on takes jars when it runs")
def test_an_old_spark_is_started_with_its_jars_or_says_that_it_takes_none_later(tmp_path: Path) -> None:
    script = """
        from concurrent.futures import ThreadPoolExecutor

        from srfix.serde.errors import JarMissingError
        from srfix.serde.spark import check_session, start_session

        config = {"spark.ui.enabled": "false", "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
        if PACKAGES is not None:
            spark = start_session("no jars", master="local[1]", packages=PACKAGES, config=config)
            try:
                start_session("later")
            except JarMissingError as error:
                print(error.message)
        else:
            spark = start_session("with jars", master="local[1]", config=config)
            check_session(start_session("again"))
            with ThreadPoolExecutor() as pool:
                pool.submit(check_session, spark).result()
            print("They are there, for every thread.")
        spark.stop()
    """
    said = lines_of(script.replace("PACKAGES", "()"), tmp_path)
    assert "lacks the jar spark-avro" in said[-1]
    assert "A Spark before 4.0 cannot add jars once it runs" in said[-1]
    assert lines_of(script.replace("PACKAGES", "None"), tmp_path)[-1] == "They are there, for every thread."


@later
def test_jars_that_somebody_has_added_are_seen_by_the_threads_that_are_told(tmp_path: Path) -> None:
    added = "; ".join(f"spark.sql(\"ADD JARS '{jar}'\")" for jar in fetch(spark_jars(RELEASE)))
    script = f"""
        from concurrent.futures import ThreadPoolExecutor

        from srfix.serde.errors import JarMissingError
        from srfix.serde.spark import check_session, start_session
        from srfix.serde.spark._pyspark.sessions import this_threads_jars

        config = {{"spark.ui.enabled": "false", "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}}
        spark = start_session("jars by hand", master="local[1]", packages=(), config=config)
        {added}
        check_session(spark)
        with ThreadPoolExecutor(max_workers=1) as pool:
            print(type(pool.submit(check_session, spark).exception()) is JarMissingError)
            pool.submit(this_threads_jars(spark)).result()
            print(pool.submit(check_session, spark).exception())
        spark.stop()
    """
    assert lines_of(script, tmp_path) == ["True", "None"]


def test_without_java_it_is_not_the_gateway_that_is_blamed(tmp_path: Path) -> None:
    script = """
        from srfix.serde.errors import SparkError
        from srfix.serde.spark import start_session

        try:
            start_session("no java", master="local[1]")
        except SparkError as error:
            print(error.message)
    """
    home = tmp_path / "java"
    (said,) = lines_of(script, tmp_path, JAVA_HOME=str(home))
    assert f"there is no java in {home}/bin (JAVA_HOME)" in said
