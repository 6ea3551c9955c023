"""What the workers are sent, and what a worker says that cannot run it.

The workers here run a Python that has everything but srfix, and another that has srfix only.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pyspark
import pytest
from pyspark.errors import PythonException
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from srfix.fixtures.pyfiles import build
from srfix.fixtures.registry import FixtureRegistry
from srfix.serde.columns import parse_columns
from srfix.serde.interface import SerdeContext
from srfix.serde.registry import RegistryClient
from srfix.serde.serializer import AvroSerializer
from srfix.serde.spark import plan_read
from srfix.serde.spark._pyspark.arrow import arrow_decoded
from srfix.serde.spark._pyspark.shipping import probe
from tests.spark.bare_python import SRFIX, python_without

HOW_TO_SHIP = (
    r"Install srfix there \(pip install 'srfix\[arrow\]'\), or ship it with the job: make pyfiles, then spark-submit "
    r"--py-files dist/srfix-pyfiles\.zip, or spark\.addArtifacts\('dist/srfix-pyfiles\.zip', pyfile=True\) in a session, of "
    r"Spark Connect too; fastavro, pyarrow and requests must be installed on the workers then\."
)
OR_JVM = r"Or have Spark's own Avro decode, which needs no Python on the workers: engine=\"jvm\"\."
WORKER = r"The Spark worker on \S+ \(Python 3\S+, \S+\)"
COLUMNS = parse_columns("ID BIGINT, NAME STRING")
USERS = SerdeContext("users")


@pytest.fixture(scope="module")
def zipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("pyfiles"))


@pytest.fixture(scope="module")
def without_srfix(tmp_path_factory: pytest.TempPathFactory) -> str:
    return python_without(tmp_path_factory.mktemp("without") / "srfix", SRFIX)


@pytest.fixture(scope="module")
def without_libraries(tmp_path_factory: pytest.TempPathFactory) -> str:
    return python_without(tmp_path_factory.mktemp("without") / "libraries", ("fastavro", "requests", "pyarrow"))


@pytest.fixture
def client(registry: FixtureRegistry) -> Iterator[RegistryClient]:
    with RegistryClient(registry.url) as client:
        yield client


def _on(spark: SparkSession, python: str, monkeypatch: pytest.MonkeyPatch) -> SparkSession:
    """A session whose workers run another Python."""
    monkeypatch.setattr(spark.sparkContext, "pythonExec", python)
    return spark.newSession()


def _decoded(client: RegistryClient) -> tuple[bytes, Column]:
    payload = AvroSerializer(client, COLUMNS)({"ID": 7, "NAME": "Ada"}, USERS)
    assert payload is not None
    return payload, arrow_decoded(plan_read(client, "users", COLUMNS), F.col("value"))


class TestAWorkerWithoutSrfix:
    def test_says_how_srfix_gets_there(
        self, spark: SparkSession, client: RegistryClient, without_srfix: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        session = _on(spark, without_srfix, monkeypatch)
        payload, decoded = _decoded(client)
        frame = session.createDataFrame([(payload,)], "value binary").select(decoded)
        with pytest.raises(PythonException, match=rf"{WORKER} lacks srfix\. {HOW_TO_SHIP} {OR_JVM}"):
            frame.collect()

    def test_is_found_by_the_probe_and_reads_once_the_zip_is_there(
        self,
        spark: SparkSession,
        client: RegistryClient,
        without_srfix: str,
        zipped: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        session = _on(spark, without_srfix, monkeypatch)
        missing = probe(session)
        assert missing is not None
        assert re.fullmatch(rf"{WORKER} lacks srfix\. {HOW_TO_SHIP} {OR_JVM}", missing)

        session.addArtifacts(str(zipped), pyfile=True)
        assert probe(session) is None
        payload, decoded = _decoded(client)

        def modules(payloads):  # type: ignore[no-untyped-def]
            import sys

            import pyarrow as pa

            return pa.array([sorted({name.partition(".")[0] for name in sys.modules})] * len(payloads))

        loaded = F.arrow_udf(modules, "array<string>")  # type: ignore[attr-defined]
        rows = (
            session.createDataFrame([(payload,)], "value binary")
            .select(decoded.alias("decoded"), loaded("value").alias("modules"))
            .collect()
        )
        assert rows[0]["decoded"].asDict(recursive=True) == {
            "row": {"ID": 7, "NAME": "Ada"},
            "reason": None,
            "message": None,
        }
        # One worker did both. What is heavy, and what is not on workers, it did not import.
        assert {"srfix", "fastavro"} <= set(rows[0]["modules"])
        assert not {"confluent_kafka", "click", "rich", "avro", "msgspec", "orjson"} & set(rows[0]["modules"])

    def test_is_told_of_a_wheel_that_was_renamed(
        self,
        spark: SparkSession,
        zipped: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        renamed = tmp_path / "srfix-0.1.0-py3-none-any.zip"
        with zipfile.ZipFile(zipped) as whole, zipfile.ZipFile(renamed, "w") as archive:
            for name in whole.namelist():
                if not name.endswith("/"):
                    archive.writestr(name, whole.read(name))
        # A Python of its own: workers of another test's have imported srfix, and are used again.
        session = _on(spark, python_without(tmp_path / "python", SRFIX), monkeypatch)
        session.addArtifacts(str(renamed), pyfile=True)
        missing = probe(session)
        assert missing is not None
        assert re.fullmatch(
            rf"{WORKER} lacks srfix\. \S+/{renamed.name} is on its path and holds srfix, but no entries for its folders, as a "
            rf"wheel that was renamed: Python finds no namespace package in it\. {HOW_TO_SHIP} {OR_JVM}",
            missing,
        )


class TestAWorkerWithoutLibraries:
    def test_says_which(
        self, spark: SparkSession, client: RegistryClient, without_libraries: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        session = _on(spark, without_libraries, monkeypatch)
        payload, decoded = _decoded(client)
        message = (
            rf"{WORKER} lacks pyarrow, fastavro, requests\. Install it there \(pip install pyarrow fastavro requests\): a zip "
            rf"of Python files cannot bring it\. {OR_JVM}"
        )
        with pytest.raises(PythonException, match=message):
            session.createDataFrame([(payload,)], "value binary").select(decoded).collect()
        assert re.fullmatch(message, probe(session) or "")


class TestProbe:
    def test_workers_with_srfix_are_ready(self, spark: SparkSession) -> None:
        assert probe(spark) is None


class TestSparkSubmit:
    """The driver too has no srfix but what the zip brings."""

    def test_the_zip_is_all_it_takes(
        self, client: RegistryClient, registry: FixtureRegistry, without_srfix: str, zipped: Path, tmp_path: Path
    ) -> None:
        payload, _ = _decoded(client)
        script = tmp_path / "job.py"
        script.write_text(
            dedent(
                """
                import json, sys
                from pyspark.sql import SparkSession, functions as F
                from srfix.serde.registry import RegistryClient
                from srfix.serde.spark import NEWEST, plan_read
                from srfix.serde.spark._pyspark.arrow import arrow_decoded

                url, payload = sys.argv[1:]
                plan = plan_read(RegistryClient(url), "users", NEWEST)
                spark = SparkSession.builder.getOrCreate()
                frame = spark.createDataFrame([(bytes.fromhex(payload),)], "value binary")
                row = frame.select(arrow_decoded(plan, F.col("value")).alias("decoded")).first()
                print("ROW", json.dumps(row["decoded"].asDict(recursive=True)))
                """
            )
        )
        submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
        done = subprocess.run(
            [
                *(str(submit), "--master", "local[1]", "--py-files", str(zipped)),
                *("--conf", "spark.ui.enabled=false", "--conf", "spark.driver.bindAddress=127.0.0.1"),
                *("--conf", "spark.driver.host=127.0.0.1"),
                *(str(script), registry.url, payload.hex()),
            ],
            capture_output=True,
            text=True,
            timeout=180,
            cwd=tmp_path,
            env={
                **{name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYSPARK"))},
                "PYSPARK_PYTHON": without_srfix,
                "PYSPARK_DRIVER_PYTHON": without_srfix,
                "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            },
            check=False,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        (row,) = (json.loads(line[4:]) for line in done.stdout.splitlines() if line.startswith("ROW "))
        assert row == {"row": {"ID": 7, "NAME": "Ada"}, "reason": None, "message": None}
