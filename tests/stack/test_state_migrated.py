"""A state directory that srfix migrates to another release, opened by that release: it restores nothing, and goes on.

What is rebuilt, and migrated within a release, is opened in `test_every_store`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import Producer

from parts.streams.application import StreamsApplication
from parts.streams.model import SerdeKind
from srfix.fixtures.broker.kraft import KraftBroker
from srfix.recovery.state.directory_reader import read_state_directory
from srfix.recovery.state.writing.kinds import Release
from srfix.recovery.stores.rebuild.change import StoreChange
from srfix.recovery.stores.rebuild.migrate import Migration, migrate
from tests.stack.streams_world import World, new_world

pytestmark = pytest.mark.stack

MARK = b"rebuilt "
"""Before every value that is migrated: what a restore puts in the store has none."""


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


@pytest.mark.parametrize(("before", "now"), [("4.3.1", "3.9.2"), ("2.6.3", "4.3.1")])
def test_a_directory_is_migrated_to_another_release(broker: KraftBroker, tmp_path: Path, before: str, now: str) -> None:
    with new_world(broker, tmp_path, version=before, serde=SerdeKind.TEXT, partitions=2) as world:
        put(world, {f"k{number}": f"v{number}" for number in range(20)})
        with world.running() as application:
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
        with world.running(replace(world.setup, version=now, state_directory=tmp_path / "new")) as application:
            wait_for(application, expected)
            assert application.restored == {}
            put(world, {"k5": "changed", "k6": None})
            expected |= {"k5": "changed"}
            del expected["k6"]
            wait_for(application, expected)
