"""The notebook runs, from top to bottom, on the incident as it was staged."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from srfix.fixtures.broker.kraft.broker import KraftBroker
from srfix.fixtures.damage import phantom_subject_lacks_writer_id as damage
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.registry.client import RegistryClient

PNG = b"\x89PNG"


def test_the_notebook_reads_plots_repairs_and_writes_back(
    spark: SparkSession, registry: FixtureRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with KraftBroker() as broker, RegistryClient(registry.url) as client:
        for topic, partitions in {**damage.TOPICS, "users-clean": 3}.items():
            broker.create_topic(topic, partitions, {"retention.ms": "-1"})
        staged = damage.stage(broker, client)
        monkeypatch.setenv("SRFIX_BOOTSTRAP_SERVERS", broker.bootstrap_servers)
        monkeypatch.setenv("SRFIX_REGISTRY", registry.url)
        monkeypatch.setenv("SRFIX_NOTEBOOK_FOLDER", str(tmp_path))
        cells = runpy.run_path(str(Path(__file__).with_name("incident_notebook.py")))
    rows = [record for record in staged.records if record.row is not None]
    assert cells["rows_read"] == len(rows)
    assert cells["reasons_before"] == {"NOT_UNDER_SUBJECT": len(rows)}
    assert cells["ids_in_values"] == staged.writer_ids
    assert (tmp_path / "ids-over-offsets.png").read_bytes().startswith(PNG)
