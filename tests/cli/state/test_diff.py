"""`srfix state diff`: stores that real Kafka Streams left beside topics of an embedded broker."""

from __future__ import annotations

import fcntl
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from parts.state_directory import write_database
from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.recovery.state.formats.values import PLAIN
from tests.cli.kept_demo import srfix
from tests.cli.state.test_rows import NEW, OLD, TS

TOPIC = "xe5dc1e-ts"
WINDOWS = "xe5dc1e-app-win-changelog"


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(topics={TOPIC: 1, WINDOWS: 1, "two": 2}) as broker:
        yield broker


def put(broker: EmbeddedBroker, *records: tuple[str, bytes | None, int], topic: str = TOPIC) -> None:
    broker.produce(
        [
            ProducedRecord(topic=topic, partition=0, key=key.encode(), value=value, timestamp_ms=time)
            for key, value, time in records
        ]
    )


def compare(broker: EmbeddedBroker, *arguments: str, store: str = "ts", directory: str = OLD) -> tuple[int, Any]:
    done = srfix(
        *("state", "diff", directory, "--store", store, "--bootstrap-servers", broker.bootstrap_servers),
        *("--output", "json", *arguments),
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def kinds(document: Any) -> dict[str, str]:
    return {bytes.fromhex(each["key_hex"]).decode(): each["kind"] for each in document["parts"][0]["shown"]}


class TestDiff:
    def test_a_store_as_its_topic_says_has_no_difference(self, broker: EmbeddedBroker) -> None:
        put(broker, ("t1", b"old", 1), ("t1", b"tv1", TS), ("t3", b"x", TS), ("t2", b"tv2", TS), ("t3", None, TS))
        code, document = compare(broker)
        assert (code, document["topic"], document["parts"][0]["same"]) == (0, TOPIC, 2)
        assert kinds(document) == {}

    def test_keys_are_missing_extra_and_stale(self, broker: EmbeddedBroker) -> None:
        put(broker, ("t1", b"newer", TS + 5), ("t9", b"x", TS))
        code, document = compare(broker)
        assert code == 1
        assert kinds(document) == {"t1": "stale", "t2": "extra", "t9": "missing"}

    def test_what_differs_may_be_in_the_memory_of_the_application(self, broker: EmbeddedBroker, tmp_path: Path) -> None:
        shutil.copytree(OLD, tmp_path / "app")
        put(broker, ("t1", b"tv1", TS), ("t2", b"tv2", TS), ("t9", b"x", TS))
        with (tmp_path / "app" / ".lock").open("w+b") as lock:
            fcntl.lockf(lock, fcntl.LOCK_EX)
            done = srfix(
                *("state", "diff", str(tmp_path), "--store", "ts"),
                *("--bootstrap-servers", broker.bootstrap_servers),
            )
        first = done.stdout.splitlines()[0]
        memory = "the application runs and may hold the newer rows in its memory"
        assert (done.returncode, first) == (2, f"On disk, 1 of 3 keys differs from {TOPIC}; {memory}")

    def test_an_empty_store_and_an_empty_topic_are_not_said_to_be_the_same(
        self, broker: EmbeddedBroker, tmp_path: Path
    ) -> None:
        write_database(tmp_path / "shop" / "0_0" / "rocksdb" / "users", {PLAIN: {}})
        done = srfix(
            *("state", "diff", str(tmp_path), "--store", "users", "--topic", TOPIC),
            *("--bootstrap-servers", broker.bootstrap_servers),
        )
        assert (done.returncode, done.stdout.splitlines()[0]) == (
            0,
            f"no key of the store or of {TOPIC} was compared",
        ), done.stderr

    def test_a_damaged_store_is_a_finding_though_nothing_differs(self, broker: EmbeddedBroker, tmp_path: Path) -> None:
        shutil.copytree(OLD, tmp_path / "app")
        for table in (tmp_path / "app" / "1_0" / "rocksdb" / "ts").glob("*.sst"):
            table.unlink()
        code, document = compare(broker, directory=str(tmp_path))
        assert (code, kinds(document)) == (1, {})

    def test_without_a_commit_nothing_is_restored(self, broker: EmbeddedBroker) -> None:
        put(broker, ("t1", b"tv1", TS), ("t2", b"tv2", TS))
        assert kinds(compare(broker, "--until", "committed")[1]) == {"t1": "extra", "t2": "extra"}
        broker.commit("xe5dc1e-app", {(TOPIC, 0): 1})
        assert kinds(compare(broker, "--until", "committed")[1]) == {"t2": "extra"}

    def test_partitions_that_no_task_holds_were_not_looked_at(self, broker: EmbeddedBroker) -> None:
        put(broker, ("t1", b"tv1", TS), ("t2", b"tv2", TS), topic="two")
        code, document = compare(broker, "--topic", "two")
        assert (code, document["parts"][0]["same"]) == (2, 2)
        assert document["not_looked_at"] == [f"partition 1 of two: its task is not in {OLD}"]

    def test_versions_are_compared_and_what_the_store_may_have_left_out_is_not_known(
        self, broker: EmbeddedBroker
    ) -> None:
        start = 1795252020000
        versions = (("v1", b"one", 0), ("v1", b"two", 10), ("v1", None, 20), ("v1", b"three", 30), ("v2", b"x", 40))
        put(
            broker,
            *((key, value, start + at * 1_000) for key, value, at in versions),
            ("v3", b"late", start - 1_000_000),
        )
        code, document = compare(broker, "--topic", TOPIC, store="ver", directory=NEW)
        (part,) = document["parts"]
        (shown,) = part["shown"]
        assert (code, part["same"], part["missing"], part["not_known"]) == (2, 4, 0, 1)
        assert (shown["kind"], shown["valid_from_ms"]) == ("not-known", start - 1_000_000)
        assert document["not_looked_at"] == [
            f"1 version of task 6_0 cannot be compared: {TOPIC} has deleted records, or the store has dropped old rows or "
            "ignored late records"
        ]
