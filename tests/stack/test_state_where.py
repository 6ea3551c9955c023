"""`srfix state where` beside a real application of two instances: the hosts that it names are those that hold the key."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from parts.streams.application import StreamsApplication
from parts.streams.model import SerdeKind
from srfix.fixtures.broker.kraft import KraftBroker
from tests.cli.kept_demo import srfix
from tests.stack.streams_world import World, new_world

pytestmark = pytest.mark.stack


def where(world: World, key: str) -> Any:
    done = srfix(
        *("state", "where", str(world.setup.state_directory), key, "--store", world.setup.store),
        *("--topic", world.setup.users, "--bootstrap-servers", world.broker.bootstrap_servers, "--output", "json"),
    )
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def settled(world: World, key: str) -> Any:
    """What it says as soon as the standbys are assigned."""
    deadline = time.monotonic() + 60
    while len((found := where(world, key))["hosts"]) < 2:
        assert time.monotonic() < deadline, found
        time.sleep(0.2)
    return found


@pytest.mark.parametrize("version", ["2.6.3", "4.3.1"])
def test_the_active_host_answers_for_the_key_and_the_standby_is_the_other(
    broker: KraftBroker, tmp_path: Path, version: str
) -> None:
    with new_world(broker, tmp_path, version=version, serde=SerdeKind.TEXT, partitions=2) as world:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "partitioner": "murmur2_random"})
        for number in range(6):
            producer.produce(world.setup.users, key=f"k{number}", value="v")
        assert producer.flush(30) == 0
        setups = {
            host: replace(
                world.setup,
                state_directory=tmp_path / host,
                config={**world.setup.config, "application.server": f"{host}:8080", "num.standby.replicas": "1"},
            )
            for host in ("one", "two")
        }
        with world.start(setups["one"]) as one, world.start(setups["two"]) as two:
            applications: dict[str, StreamsApplication] = {"one:8080": one, "two:8080": two}
            for application in applications.values():
                application.wait_for_state("RUNNING")
            world = replace(world, setup=setups["one"])
            for key in ("k0", "k1", "k2"):
                hosts = {each["role"]: each["host"] for each in settled(world, key)["hosts"]}
                assert sorted(hosts) == ["active", "standby"]
                active, standby = applications[hosts["active"]], applications[hosts["standby"]]
                keys = {str(found) for found, _row in active.rows()}
                assert key in keys
                assert key not in {str(found) for found, _row in standby.rows()}, "an instance lists its active tasks"
