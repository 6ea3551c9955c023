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
from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent
from typing import Any

import pyspark
import pytest
from pyspark import cloudpickle
from pyspark.errors import PythonException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from parts.pyfiles import build
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import AvroSerializer, RegistryClient, SerdeContext, parse_columns
from srfix.serde.spark import plan_read
from srfix.serde.spark._pyspark import shipping
from srfix.serde.spark._pyspark.engines import arrow_decoded
from srfix.serde.spark.releases import require_arrow
from tests.spark.bare_python import LEAST, SRFIX, python_with, python_without

HOW_TO_SHIP = r".*--py-files dist/srfix-pyfiles\.zip.*spark\.addArtifacts\(.*"
OR_JVM = r".*engine=\"jvm\" decodes with no Python on the workers.*"
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


def _payload(client: RegistryClient) -> bytes:
    payload = AvroSerializer(client, COLUMNS)({"ID": 7, "NAME": "Ada"}, USERS)
    assert payload is not None
    return payload


def _submitted(
    script: str, *arguments: str, driver: str, workers: str, folder: Path, options: Sequence[str] = ()
) -> Any:
    """What a job prints as JSON, run by the real `spark-submit`: it has a Spark of its own, since artifacts stay."""
    job = folder / "job.py"
    job.write_text(dedent(script))
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    local = [
        f"--conf=spark.{key}" for key in ("ui.enabled=false", "driver.bindAddress=127.0.0.1", "driver.host=127.0.0.1")
    ]
    # Nothing of the tests' environment reaches the job.
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYSPARK", "SPARK"))}
    done = subprocess.run(
        [str(submit), "--master", "local[1]", *local, *options, str(job), *arguments],
        capture_output=True,
        text=True,
        timeout=240,
        cwd=folder,
        env={**kept, "PYSPARK_PYTHON": workers, "PYSPARK_DRIVER_PYTHON": driver},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


class TestAWorkerWithoutSrfix:
    def test_says_how_srfix_gets_there_and_reads_once_the_zip_is_there(
        self, client: RegistryClient, registry: FixtureRegistry, without_srfix: str, zipped: Path, tmp_path: Path
    ) -> None:
        require_arrow()
        script = """
            import json, sys
            from pyspark.errors import PythonException
            from pyspark.sql import SparkSession, functions as F
            from srfix.serde.registry.client import RegistryClient
            from srfix.serde.spark import NEWEST, plan_read
            from srfix.serde.spark._pyspark.engines import arrow_decoded
            from srfix.serde.spark._pyspark.shipping import probe

            def modules(payloads):
                import sys
                import pyarrow as pa
                return pa.array([sorted({name.partition(".")[0] for name in sys.modules})] * len(payloads))

            url, payload, zipped = sys.argv[1:]
            spark = SparkSession.builder.getOrCreate()
            decoded = arrow_decoded(plan_read(RegistryClient(url), "users", NEWEST), F.col("value"))
            loaded = F.arrow_udf(modules, "array<string>")("value")
            frame = spark.createDataFrame([(bytes.fromhex(payload),)], "value binary")
            frame = frame.select(decoded.alias("decoded"), loaded.alias("modules"))
            told = {"probe": probe(spark)}
            try:
                frame.collect()
            except PythonException as error:
                told["error"] = str(error)
            spark.addArtifacts(zipped, pyfile=True)
            told["probe with the zip"] = probe(spark)
            told |= frame.first().asDict(recursive=True)
            print(json.dumps(told))
            """
        payload = _payload(client)
        told = _submitted(
            *(script, registry.url, payload.hex(), str(zipped)),
            driver=sys.executable,
            workers=without_srfix,
            folder=tmp_path,
        )
        message = rf"{WORKER} lacks srfix\. {HOW_TO_SHIP} {OR_JVM}"
        assert re.fullmatch(message, told["probe"])
        assert re.search(rf"ModuleNotFoundError: {message}", told["error"])
        assert told["probe with the zip"] is None
        assert told["decoded"] == {"row": {"ID": 7, "NAME": "Ada"}, "reason": None, "message": None}
        # One worker gave both columns. What is heavy, and what workers need not have, it did not import.
        assert {"srfix", "fastavro"} <= set(told["modules"])
        assert not {"confluent_kafka", "click", "rich", "avro", "msgspec", "orjson"} & set(told["modules"])

    def test_is_told_of_a_wheel_that_was_renamed(self, without_srfix: str, zipped: Path, tmp_path: Path) -> None:
        renamed = tmp_path / "srfix-0.1.0-py3-none-any.zip"
        with zipfile.ZipFile(zipped) as whole, zipfile.ZipFile(renamed, "w") as archive:
            for name in whole.namelist():
                if not name.endswith("/"):
                    archive.writestr(name, whole.read(name))
        arrives = "import pickle, sys; sys.path.insert(0, sys.argv[1]); print(pickle.load(sys.stdin.buffer)(0))"
        told = subprocess.run(
            [without_srfix, "-c", arrives, str(renamed)],
            input=cloudpickle.dumps(shipping._missing),  # type: ignore[no-untyped-call]
            capture_output=True,
            check=True,
        )
        assert re.fullmatch(
            rf"{WORKER} lacks srfix\. \S+/{renamed.name} is on the worker's path and contains srfix, but this file "
            r"has no entries for folders \(like a renamed wheel\), so Python finds no namespace package in it\. "
            rf"{HOW_TO_SHIP} {OR_JVM}",
            told.stdout.decode().strip(),
        )


class TestAWorkerWithoutLibraries:
    def test_says_which(
        self, spark: SparkSession, client: RegistryClient, without_libraries: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(spark.sparkContext, "pythonExec", without_libraries)
        payload = _payload(client)
        decoded = arrow_decoded(plan_read(client, "users", COLUMNS), F.col("value"))
        message = (
            rf"{WORKER} lacks pyarrow, fastavro, requests\. Install what is missing there \(pip install pyarrow fastavro "
            rf"requests\), because a zip of Python files cannot contain it\. {OR_JVM}"
        )
        with pytest.raises(PythonException, match=message):
            spark.createDataFrame([(payload,)], "value binary").select(decoded).collect()
        assert re.fullmatch(message, shipping.probe(spark) or "")


class TestPyfiles:
    def test_spark_submit_needs_nothing_else_on_driver_and_workers(
        self, client: RegistryClient, registry: FixtureRegistry, without_srfix: str, zipped: Path, tmp_path: Path
    ) -> None:
        require_arrow()
        script = """
            import json, sys
            from pyspark.sql import SparkSession, functions as F
            from srfix.serde.registry.client import RegistryClient
            from srfix.serde.spark import NEWEST, plan_read
            from srfix.serde.spark._pyspark.engines import arrow_decoded

            url, payload = sys.argv[1:]
            plan = plan_read(RegistryClient(url), "users", NEWEST)
            spark = SparkSession.builder.getOrCreate()
            frame = spark.createDataFrame([(bytes.fromhex(payload),)], "value binary")
            row = frame.select(arrow_decoded(plan, F.col("value")).alias("decoded")).first()
            print(json.dumps(row["decoded"].asDict(recursive=True)))
            """
        payload = _payload(client)
        decoded = _submitted(
            *(script, registry.url, payload.hex()),
            driver=without_srfix,
            workers=without_srfix,
            folder=tmp_path,
            options=["--py-files", str(zipped)],
        )
        assert decoded == {"row": {"ID": 7, "NAME": "Ada"}, "reason": None, "message": None}

    def test_the_least_that_workers_need_reads_and_writes(
        self, client: RegistryClient, registry: FixtureRegistry, zipped: Path, tmp_path: Path
    ) -> None:
        require_arrow()
        script = """
            import json, sys
            from pyspark.sql import SparkSession, functions as F
            from srfix.serde import RegistryClient
            from srfix.serde.spark import NEWEST, plan_read, plan_write, to_registry
            from srfix.serde.spark._pyspark.engines import arrow_decoded

            url, payload = sys.argv[1:]
            registry = RegistryClient(url)
            spark = SparkSession.builder.getOrCreate()
            frame = spark.createDataFrame([(bytes.fromhex(payload),)], "value binary")
            plan = plan_read(registry, "users", NEWEST)
            rows = frame.select(arrow_decoded(plan, F.col("value")).alias("decoded")).select("decoded.row.*")
            copies = plan_write(registry, "copies", "ID BIGINT, NAME STRING")
            written = rows.transform(to_registry(copies, engine="arrow"))
            print(json.dumps([rows.first().asDict(), written.first()["value"].hex()]))
            """
        payload = _payload(client)
        row, written = _submitted(
            *(script, registry.url, payload.hex()),
            driver=sys.executable,
            workers=python_with(tmp_path / "least", LEAST),
            folder=tmp_path,
            options=["--py-files", str(zipped)],
        )
        assert row == {"ID": 7, "NAME": "Ada"}
        assert bytes.fromhex(written)[5:] == payload[5:]

    def test_the_same_sources_make_the_same_zip(self, tmp_path: Path) -> None:
        assert build(tmp_path / "one").read_bytes() == build(tmp_path / "another").read_bytes()
