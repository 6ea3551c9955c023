"""`srfix state estimate`: directories that real Kafka Streams left, with topics of an embedded broker."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.embedded import EmbeddedBroker
from tests.cli.kept_demo import srfix
from tests.cli.state.test_rows import OLD

TOPIC = "xe5dc1e-ts"
WINDOWS = "xe5dc1e-app-win-changelog"
RECORDS = 10


@pytest.fixture(scope="module")
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(topics={TOPIC: 1, WINDOWS: 1}) as broker:
        broker.produce(
            [ProducedRecord(topic=topic, partition=0, key=b"k", value=b"123") for topic in (TOPIC, WINDOWS)] * RECORDS
        )
        broker.commit("xe5dc1e-app", {(TOPIC, 0): 8})
        yield broker


def estimated(broker: EmbeddedBroker, store: str, *arguments: str, code: int = 0, directory: str | Path = OLD) -> Any:
    done = srfix(
        *("state", "estimate", directory, "--store", store, "--bootstrap-servers", broker.bootstrap_servers),
        *("--output", "json", *arguments),
    )
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)


class TestEstimate:
    def test_a_source_topic_is_restored_up_to_the_commit(self, broker: EmbeddedBroker) -> None:
        (store,) = estimated(broker, "ts", "--rate", "2")["stores"]
        assert (store["topic"], store["source_topic"], store["records"]) == (TOPIC, True, 8)
        assert (
            store["records_left"] == store["records_left_at_least"] == 6
        )  # the checkpoint, 1, is the last record there
        assert (store["bytes"], store["seconds"]) == (32, 4.0)
        assert (store["memory_bytes"], store["standby_spares_it"]) == (98 * 1024 * 1024, False)

    def test_what_may_be_a_position_or_not_is_said_to_be_so(self, broker: EmbeddedBroker, tmp_path: Path) -> None:
        copy = tmp_path / "xe5dc1e-app"
        shutil.copytree(
            Path(OLD) / "1_0", copy / "1_0"
        )  # without process metadata: of 2.5 or before, for all that is seen
        (store,) = estimated(broker, "ts", directory=copy)["stores"]
        assert (store["records_left_at_least"], store["records_left"]) == (6, 7)
        done = srfix("state", "estimate", copy, "--store", "ts", "--bootstrap-servers", broker.bootstrap_servers)
        assert " 6 to 7 " in done.stdout
        assert "can be wrong by one for each partition" in " ".join(done.stdout.split())

    def test_a_changelog_is_restored_whole(self, broker: EmbeddedBroker) -> None:
        (store,) = estimated(broker, "win")["stores"]
        assert (store["topic"], store["source_topic"], store["records"]) == (WINDOWS, False, RECORDS)
        assert store["seconds"] is None  # too few records to measure

    def test_a_topic_that_is_not_there_was_not_looked_at(self, broker: EmbeddedBroker) -> None:
        document = estimated(broker, "sess", code=2)
        assert document["stores"] == []
        assert "the cluster has no such partition of xe5dc1e-app-sess-changelog" in document["not_looked_at"][0]
