"""README's Python on Spark is run, from top to bottom, on a topic of the incident; and the example of `format("srfix")`."""

from __future__ import annotations

import inspect
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.kraft.broker import KraftBroker
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import AvroSerializer, RegistryClient, SerdeContext, parse_columns
from srfix.serde.spark import source

README = Path(__file__).parents[2] / "README.md"


def test_the_python_of_the_readme_runs_on_spark(
    spark: SparkSession,
    broker: KraftBroker,
    registry: FixtureRegistry,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    blocks = re.findall(r"^```python spark\n(.*?)^```$", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert blocks
    write = AvroSerializer(RegistryClient(registry.url), parse_columns("id BIGINT, name STRING"))
    payloads = [write({"id": 7, "name": "Ada"}, SerdeContext("users")), b"no frame", None]
    for topic in ("users", "users-clean"):
        broker.create_topic(topic)
    broker.produce(ProducedRecord(topic="users", partition=0, key=b"k%d" % n, value=v) for n, v in enumerate(payloads))
    session: dict[str, object] = {}
    for block in blocks:
        block = block.replace("http://registry:8081", registry.url).replace("broker:9092", broker.bootstrap_servers)
        for folder in ("users-rows", "users-checkpoint"):
            block = block.replace(f'"{folder}"', repr(str(tmp_path / folder)))
        exec(compile(block, str(README), "exec"), session)
    assert [row.asDict() for row in spark.read.parquet(str(tmp_path / "users-rows")).dropna("all").collect()] == [
        {"ID": 7, "NAME": "Ada"}
    ]
    shown = capsys.readouterr().out
    assert "my-app-users-store-changelog-value" in shown
    assert re.search(r"\| +0\| +7\| +Ada\|", shown)
    assert "BAD_MAGIC" in shown
    copied = spark.read.format("kafka").option("kafka.bootstrap.servers", broker.bootstrap_servers)
    rows = copied.option("subscribe", "users-clean").load().orderBy("offset").collect()
    assert [row["value"] is None for row in rows] == [False, True] * 2  # written twice: by the second, too


def test_the_example_of_the_source_s_docstring_runs(
    spark: SparkSession, broker: KraftBroker, registry: FixtureRegistry
) -> None:
    (block,) = re.findall(r"^(?: {4}\S?.*\n)+", inspect.getdoc(source) or "", re.MULTILINE)
    topic = "users-of-the-source"
    broker.create_topic(topic)
    write = AvroSerializer(RegistryClient(registry.url), parse_columns("id BIGINT, name STRING"))
    payload = write({"id": 7, "name": "Ada"}, SerdeContext(topic))
    broker.produce([ProducedRecord(topic=topic, partition=0, key=b"k", value=payload)])
    code = textwrap.dedent(block).replace("http://registry:8081", registry.url).replace('"users"', repr(topic))
    session: dict[str, Any] = {"spark": spark}
    exec(code.replace("broker:9092", broker.bootstrap_servers), session)
    (row,) = session["users"].collect()
    assert (row["ID"], row["NAME"], row["_srfix_reason"], row["offset"]) == (7, "Ada", None, 0)
