"""`srfix state where`: on a directory that real Kafka Streams left, and beside a broker, a registry and ksqlDB."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from parts.state_directory import write_application, write_task
from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery.state.formats.windows import WINDOWS, StoredWindow
from srfix.serde.schemas.models import Json
from srfix.serde.wire import frame_id
from tests.cli.kept_demo import srfix
from tests.cli.state.test_rows import OLD
from tests.recovery.ksqldb.server import ksqldb_server

STORE = "users-store"
QUERY = "_confluent-ksql-default_query_CTAS_USERS_0"
KEY = "k1"
PARTITION = 1
"""That of the key among 4."""


def record_schema(*fields: str) -> str:
    told: list[Json] = [{"name": name, "type": "string", "default": ""} for name in fields]
    return json.dumps({"type": "record", "name": "User", "fields": told})


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(topics={"users": 4}) as broker:
        yield broker


@pytest.fixture
def registry() -> Iterator[FixtureRegistry]:
    with FixtureRegistry() as registry:
        yield registry


def directory(root: Path, row: bytes, *, application: str = "shop") -> Path:
    made = write_application(root, application)
    for partition in range(4):
        rows = {KEY.encode(): row} if partition == PARTITION else {}
        write_task(made, f"0_{partition}", STORE, rows, checkpoint={("users", partition): 4})
    return made


def put(broker: EmbeddedBroker, *values: bytes | None, key: str = KEY) -> None:
    broker.produce(
        [ProducedRecord(topic="users", partition=PARTITION, key=key.encode(), value=value) for value in values]
    )


def asked(made: Path, *arguments: str, key: str = KEY) -> tuple[int, Any]:
    done = srfix("state", "where", str(made), key, "--store", STORE, "--output", "json", *arguments)
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


class TestWhere:
    def test_a_key_lies_where_it_is_looked_for(self) -> None:
        done = srfix("state", "where", OLD, "t1", "--store", "ts", "--output", "json")
        document = json.loads(done.stdout)
        assert (done.returncode, document["partition"], document["found"]) == (0, 0, True)
        assert [(each["task"], each["rows"]) for each in document["holders"]] == [("1_0", 1)]

    def test_a_key_that_lies_astray_is_a_finding(self) -> None:
        done = srfix("state", "where", OLD, "t1", "--store", "ts", "--partitions", "6")
        assert done.returncode == 1
        assert "Task 1_0 holds the key, but Kafka Streams looks for it in partition 1." in done.stderr

    def test_it_says_what_it_needs_to_name_the_hosts(self) -> None:
        done = srfix("state", "where", OLD, "t1", "--store", "ts")
        assert "Not looked at: the hosts of task 1_0, active and standby: give --bootstrap-servers" in done.stderr


class TestReads:
    def test_the_row_and_the_newest_record_are_looked_up_under_the_subjects_that_are_asked(
        self, tmp_path: Path, broker: EmbeddedBroker, registry: FixtureRegistry
    ) -> None:
        older = registry.seed("users-value", record_schema("a"))
        newer = registry.seed("users-value", record_schema("a", "b"))
        own = registry.seed(f"shop-{STORE}-changelog-value", record_schema("c"))
        put(broker, frame_id(older, b"x"), frame_id(newer, b"x"))
        put(broker, frame_id(older, b"x"), key="another")
        code, document = asked(
            directory(tmp_path, frame_id(own, b"x")),
            *("--bootstrap-servers", broker.bootstrap_servers, "--registry", registry.url),
        )
        assert (code, document["partitions_from"], document["task"]) == (1, "as many as users has", "0_1")
        phantom = f"shop-{STORE}-changelog-value"
        assert [
            (each["row"], each["schema_id"], each["subject"], each["error_code"]) for each in document["reads"]
        ] == [
            ("task 0_1", own, phantom, None),
            ("task 0_1", own, "users-value", 40403),
            ("the newest record of users", newer, phantom, 40403),
            ("the newest record of users", newer, "users-value", None),
        ]

    def test_without_a_registry_it_says_so(self, tmp_path: Path) -> None:
        _code, document = asked(directory(tmp_path, frame_id(7, b"x")))
        assert document["reads"] == []
        assert "whether readers can read the row: give --registry" in document["not_looked_at"]


class TestHosts:
    def test_a_cluster_that_does_not_tell_is_said(self, tmp_path: Path, broker: EmbeddedBroker) -> None:
        _code, document = asked(directory(tmp_path, b"{}"), "--bootstrap-servers", broker.bootstrap_servers)
        assert document["hosts"] == []
        assert any(each.startswith("the hosts of task 0_1, from group shop") for each in document["not_looked_at"])

    def test_ksqldb_names_who_is_active_and_who_stands_by(self, tmp_path: Path) -> None:
        def held(active: list[int], standby: list[int]) -> Json:
            return {
                "hostAlive": True,
                "activeStandbyPerQuery": {
                    "CTAS_USERS_0": {
                        "activeStores": [STORE],
                        "activePartitions": [{"topic": "users", "partition": number} for number in active],
                        "standByStores": [STORE],
                        "standByPartitions": [{"topic": "users", "partition": number} for number in standby],
                    }
                },
            }

        made = directory(tmp_path, b"{}", application=QUERY)
        with ksqldb_server() as server:
            server.cluster_status = {"clusterStatus": {"a:8088": held([0, 1], [2]), "b:8088": held([2], [0, 1])}}
            _code, document = asked(made, "--ksqldb", server.url)
            told = [(each["host"], each["role"], each["said_by"], each["alive"]) for each in document["hosts"]]
            assert told == [("a:8088", "active", server.url, True), ("b:8088", "standby", server.url, True)]
            server.cluster_status = None
            _code, document = asked(made, "--ksqldb", server.url)
            assert "ksql.heartbeat.enable=true" in document["not_looked_at"][0]

    def test_a_windowed_key_has_a_newest_record_too(self, registry: FixtureRegistry) -> None:
        topic = "xe5dc1e-app-win-changelog"
        schema_id = registry.seed(f"{topic}-value", record_schema("a"))
        window = WINDOWS.encode(b"w1", StoredWindow(60_000))
        with EmbeddedBroker(topics={topic: 1}) as broker:
            broker.produce([ProducedRecord(topic=topic, partition=0, key=window, value=frame_id(schema_id, b"x"))])
            done = srfix(
                *("state", "where", OLD, "w1", "--store", "win", "--output", "json"),
                *("--bootstrap-servers", broker.bootstrap_servers, "--registry", registry.url),
            )
        reads = [each for each in json.loads(done.stdout)["reads"] if each["in_topic"]]
        assert [(each["row"], each["schema_id"]) for each in reads] == [(f"the newest record of {topic}", schema_id)]


class TestKeys:
    def test_what_looks_like_a_prefix_and_is_none_is_said_where_nothing_is_found(self) -> None:
        for command in ("where", "get"):
            done = srfix("state", command, OLD, 'json:{"id":1}', "--store", "ts")
            assert done.returncode == 1
            assert "srfix took 'json:{\"id\":1}' as a text" in done.stderr
        assert "as a text" in srfix("state", "scan", OLD, "--store", "ts", "--prefix", "Hex:74").stderr
        assert "as a text" not in srfix("state", "get", OLD, "text:json:1", "--store", "ts").stderr

    def test_a_key_is_the_same_however_it_is_typed(self) -> None:
        for key in ("t1", "text:t1", "hex:7431", "base64:dDE="):
            assert srfix("state", "get", OLD, key, "--store", "ts").returncode == 0


class TestQuiet:
    @pytest.mark.parametrize(
        "command", [("where", OLD, "t1", "--store", "ts"), ("ls", OLD), ("size", OLD, "--store", "ts")]
    )
    def test_it_says_nothing_where_nothing_is_wrong_but_in_json(self, command: tuple[str, ...]) -> None:
        done = srfix("state", *command, "--quiet")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert json.loads(srfix("state", *command, "--quiet", "--output", "json").stdout)["schema"]

    def test_what_is_wrong_is_said(self) -> None:
        said = srfix("state", "where", OLD, "nobody", "--store", "ts")
        quiet = srfix("state", "where", OLD, "nobody", "--store", "ts", "--quiet")
        assert (quiet.returncode, quiet.stdout, quiet.stderr) == (1, said.stdout, said.stderr)
