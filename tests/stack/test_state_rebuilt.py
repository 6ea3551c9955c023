"""State directories that srfix writes, opened by real Kafka Streams: it restores what came after, and goes on."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import Producer

from srfix.fixtures.broker.kraft.broker import KraftBroker
from srfix.fixtures.streams.application import StreamsApplication
from srfix.fixtures.streams.model import SerdeKind, StreamsSetup
from srfix.recovery.cluster import Cluster
from srfix.recovery.rebuild import Migration, Rebuild, StoreChange, Until, migrate, rebuild
from srfix.recovery.state import read_state_directory
from srfix.recovery.state.writing import Release, StoreToWrite, WrittenKind
from srfix.serde.subjects import Topic
from tests.stack.streams_world import World, new_world

pytestmark = pytest.mark.stack

VERSIONS = ("2.6.3", "2.7.0", "3.9.2", "4.3.1")
MARK = b"rebuilt "
"""Before every value that is rebuilt: what a restore puts in the store has none."""


@pytest.fixture(params=VERSIONS)
def world(broker: KraftBroker, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[World]:
    with new_world(broker, tmp_path, version=request.param, serde=SerdeKind.TEXT, partitions=2) as world:
        yield world


def put(world: World, rows: Mapping[str, str | None]) -> None:
    producer = Producer({"bootstrap.servers": world.broker.bootstrap_servers, "partitioner": "murmur2_random"})
    for key, value in rows.items():
        producer.produce(world.setup.users, key=key, value=value)
    assert producer.flush(30) == 0


def rows_of(application: StreamsApplication) -> dict[str, object]:
    return {str(key): row for key, row in application.rows()}


def wait_for(application: StreamsApplication, expected: Mapping[str, object]) -> None:
    """Waits until the table has these rows."""
    deadline = time.monotonic() + 30
    while (found := rows_of(application)) != expected:
        assert time.monotonic() < deadline, found
        time.sleep(0.05)


def marked(value: bytes) -> bytes:
    return MARK + value


def rebuilt(world: World, target: Path, kind: WrittenKind, *, topic: str, until: Until) -> StreamsSetup:
    """The application's set-up on a new state directory."""
    asked = Rebuild(
        application=world.setup.application,
        store=StoreToWrite(name=world.setup.store, kind=kind),
        topic=Topic(topic),
        until=until,
        release=Release.parse(world.setup.version),
        subtopology=0,
        payload=marked,
    )
    with Cluster({"bootstrap.servers": world.broker.bootstrap_servers}) as cluster:
        rebuild(asked, cluster, target / world.setup.application, request={})
    return replace(world.setup, state_directory=target)


def test_a_rebuilt_table_is_opened_and_gone_on_from(world: World, tmp_path: Path) -> None:
    put(world, {f"k{number}": f"v{number}" for number in range(20)})
    put(world, {"k3": None, "k4": "newer"})
    with world.start() as application:
        application.wait_for_state("RUNNING")
        application.wait_for_commit(world.setup.users)
        original = rows_of(application)
    assert len(original) == 19

    setup = rebuilt(world, tmp_path / "new", WrittenKind.TIMESTAMPED_KV, topic=world.setup.users, until=Until.COMMITTED)
    put(world, {"after": "v"})
    expected = {key: f"rebuilt {value}" for key, value in original.items()}
    expected["after"] = "v"
    with world.start(setup) as application:
        application.wait_for_state("RUNNING")
        wait_for(application, expected)
        put(world, {"k5": "changed", "k6": None})
        expected |= {"k5": "changed"}
        del expected["k6"]
        wait_for(application, expected)
        application.wait_for_commit(world.setup.users)
    with world.start(setup) as application:
        application.wait_for_state("RUNNING")
        assert rows_of(application) == expected


@pytest.mark.parametrize(("before", "now"), [("4.3.1", "3.9.2"), ("2.6.3", "4.3.1")])
def test_a_directory_is_migrated_to_another_release(broker: KraftBroker, tmp_path: Path, before: str, now: str) -> None:
    with new_world(broker, tmp_path, version=before, serde=SerdeKind.TEXT, partitions=2) as world:
        put(world, {f"k{number}": f"v{number}" for number in range(20)})
        with world.start() as application:
            application.wait_for_state("RUNNING")
            application.wait_for_commit(world.setup.users)
            original = rows_of(application)
        assert len(original) == 20
        (state,) = read_state_directory(world.setup.state_directory / world.setup.application)
        changes = {world.setup.store: StoreChange(payload=marked)}
        migration = Migration(release=Release.parse(now), changes=changes)
        migrate(state, tmp_path / "new" / world.setup.application, migration, request={})
        put(world, {"after": "v"})
        expected: dict[str, object] = {key: f"rebuilt {value}" for key, value in original.items()}
        expected["after"] = "v"
        setup = replace(world.setup, version=now, state_directory=tmp_path / "new")
        for _start in range(2):
            with world.start(setup) as application:
                application.wait_for_state("RUNNING")
                wait_for(application, expected)
                application.wait_for_commit(world.setup.users)
