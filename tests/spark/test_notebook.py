"""The notebook runs, from top to bottom, on the incident as it was staged."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import nbformat
import pytest

from parts.jars import spark_jars
from srfix.fixtures.broker.kraft import KraftBroker
from srfix.fixtures.damage import phantom_subject_lacks_writer_id as damage
from srfix.fixtures.fetching import fetch
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.registry.client import RegistryClient
from tests.golden.test_golden import settled
from tests.notebooks import FOLDER, RanNotebook, said_in
from tests.spark.conftest import RELEASE

PNG = b"\x89PNG"


def test_the_notebook_reads_plots_repairs_and_writes_back(
    registry: FixtureRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with KraftBroker() as broker, RegistryClient(registry.url) as client:
        for (
            topic,
            partitions,
        ) in damage.TOPICS.items():  # users-clean is made by the broker, with its default of partitions
            broker.create_topic(topic, partitions, {"retention.ms": "-1"})
        staged = damage.stage(broker, client)
        monkeypatch.setenv("SRFIX_BOOTSTRAP_SERVERS", broker.bootstrap_servers)
        monkeypatch.setenv("SRFIX_REGISTRY", registry.url)
        monkeypatch.setenv("SRFIX_NOTEBOOK_FOLDER", str(tmp_path))
        # The jars that are there, in place of those that `start_session` would fetch.
        jars = ",".join(map(str, fetch(spark_jars(RELEASE))))
        monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", f"--master local[2] --conf spark.jars={jars} pyspark-shell")
        monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
        monkeypatch.setenv("PATH", os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])))
        ran = RanNotebook("spark", tmp_path, timeout_s=300)
    rows = [record for record in staged.records if record.row is not None]
    assert f"{{'NOT_UNDER_SUBJECT': {len(rows)}}}" in ran.said
    assert "the phantom subject is repaired" in ran.said
    assert [picture[:4] for picture in ran.pictures] == [PNG]

    def plain(text: str) -> str:
        # Jupyter asks for colours (FORCE_COLOR), which a page does not show.
        return settled(re.sub(r"\x1b\]8;.*?\x1b\\|\x1b\[[0-9;]*m", "", text), tmp_path)

    if os.environ.get("SRFIX_KEEP_NOTEBOOK"):
        ran.keep("spark", plain)
    kept = nbformat.read(FOLDER / "spark.ipynb", as_version=4)
    # Where one output ends and the next begins differs from run to run.
    assert plain(said_in(kept)).split() == plain(ran.said).split(), (
        "SRFIX_KEEP_NOTEBOOK=1 keeps the outputs of this run"
    )
