"""The Python on Spark of each page is run, from top to bottom; and the example of `format("srfix")`."""

from __future__ import annotations

import inspect
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.kraft import KraftBroker
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import AvroSerializer, RegistryClient, SerdeContext, parse_columns
from srfix.serde.spark import source
from tests.pages import code_of, name_of, pages_with

TOPICS = ("users", "users-clean")
FOLDERS = ("users-rows", "users-checkpoint")
SHOWN = {
    "README.md": (r"\| +0\| +7\| +Ada\|", "BAD_MAGIC"),
    "spark/read.md": ("my-app-users-store-changelog-value", r"\| +0\| +7\| +Ada\|", "BAD_MAGIC"),
    "spark/sql.md": (r"\| +7\| +Ada\|",),
    "spark/write-and-quarantine.md": ("_srfix_reason",),
}
"""Page → what its session prints."""


@pytest.mark.parametrize("page", pages_with("python spark"), ids=name_of)
def test_the_python_of_a_page_runs_on_spark(
    page: Path,
    spark: SparkSession,
    broker: KraftBroker,
    registry: FixtureRegistry,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    own = {f"{quote}{topic}{quote}": f"{quote}{topic}-{page.stem}{quote}" for topic in TOPICS for quote in "'\""}
    for topic in TOPICS:
        broker.create_topic(f"{topic}-{page.stem}")
    write = AvroSerializer(RegistryClient(registry.url), parse_columns("id BIGINT, name STRING"))
    row = {"id": 7, "name": "Ada"}
    write(row, SerdeContext(f"users-clean-{page.stem}"))
    payloads = [write(row, SerdeContext(f"users-{page.stem}")), b"no frame", None]
    broker.produce(
        ProducedRecord(topic=f"users-{page.stem}", partition=0, key=b"k%d" % n, value=v) for n, v in enumerate(payloads)
    )
    here = {"http://registry:8081": registry.url, "broker:9092": broker.bootstrap_servers, **own}
    here |= {f'"{folder}"': repr(str(tmp_path / folder)) for folder in FOLDERS}
    session: dict[str, object] = {}
    for block in code_of(page, "python spark"):
        code = re.sub("|".join(map(re.escape, here)), lambda word: here[word[0]], block)
        exec(compile(code, str(page), "exec"), session)
    shown = capsys.readouterr().out
    assert [words for words in SHOWN[name_of(page)] if not re.search(words, shown)] == []
    if "read_stream" in session:
        rows = spark.read.parquet(str(tmp_path / FOLDERS[0])).dropna("all").collect()
        assert [each.asDict() for each in rows] == [{"ID": 7, "NAME": "Ada"}]
    if "plan_write" in session:
        copied = spark.read.format("kafka").option("kafka.bootstrap.servers", broker.bootstrap_servers)
        written = copied.option("subscribe", f"users-clean-{page.stem}").load().orderBy("offset").collect()
        assert [each["value"] is None for each in written] == [False, True] * 2  # written twice


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
