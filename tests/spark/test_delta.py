"""Delta Lake behind a stream, on the Sparks whose Delta is pinned (`parts.jars.DELTA`)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

import pytest

from parts.jars import DELTA, delta_jars, spark_jars
from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.kraft import KraftBroker
from srfix.fixtures.fetching import fetch
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import AvroSerializer, RegistryClient, SerdeContext, parse_columns
from tests.spark.conftest import RELEASE
from tests.spark.reading_world import LOWER

PROCESS = "tests.spark.delta_process"
ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(
    RELEASE not in DELTA, reason=f"Delta is tested with Spark {' and '.join(DELTA)}: make test-spark-4.0"
)
def test_rows_and_quarantine_go_to_tables_and_come_back(
    broker: KraftBroker, registry: FixtureRegistry, tmp_path: Path
) -> None:
    topic = f"users-{uuid4().hex}"
    broker.create_topic(topic, partitions=1)
    registry.configure(f"{topic}-value", {"compatibility": "NONE"})
    with RegistryClient(registry.url) as client:
        registry.seed(f"{topic}-value", LOWER)
        lower = AvroSerializer.for_schema(client, LOWER)
        upper = AvroSerializer(client, parse_columns("ID BIGINT, NAME STRING"))
        context = SerdeContext(topic)
        first = lower({"id": 1, "name": "n1"}, context)
        second = upper({"ID": 2, "NAME": "n2"}, context)
    assert first is not None
    values = [first, b"no frame", second, None, first[:-1], b""]
    broker.produce([ProducedRecord(topic=topic, partition=0, key=b"k", value=value) for value in values])
    told = {
        "registry": registry.url,
        "bootstrap_servers": broker.bootstrap_servers,
        "topic": topic,
        "folder": str(tmp_path),
        "jars": ",".join(map(str, (*fetch(spark_jars(RELEASE)), *fetch(delta_jars(RELEASE))))),
    }
    ran = subprocess.run(
        [sys.executable, "-m", PROCESS, json.dumps(told)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        cwd=ROOT,
        env=os.environ,
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(next(line for line in ran.stdout.splitlines() if line.startswith("{"))) == {
        "good": [[1, "n1"], [2, "n2"]],
        "tombstones": 1,
        "bad": [
            ["BAD_MAGIC", b"no frame".hex()],
            ["DECODE_FAILED", first[:-1].hex()],
            ["TOO_SHORT", ""],
        ],
        "replayed": 0,
    }
    logs = [json.loads(path.read_text().splitlines()[0]) for path in sorted(tmp_path.glob("*/_delta_log/*0.json"))]
    assert len(logs) == 2  # both are Delta's own tables
