"""`--deadline` holds whatever the broker does: slow to begin with, or silent in the middle."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest

from srfix.recovery import CensusRequest, Cluster, LocalCensus
from srfix.recovery.census import local
from srfix.recovery.cluster.log_reader import GaveUp, read_range
from srfix.recovery.facts.bodies import whole_bodies
from srfix.serde import Role, Topic
from srfix.serde.properties.kafka_client import ReadOnlyClient
from tests.recovery.world import value, world_of


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a broker that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


class TestReadRange:
    def test_a_broker_that_never_answers_is_given_up_on_at_the_time(self, silent: str) -> None:
        client = ReadOnlyClient({"bootstrap.servers": silent})
        records = read_range(client, "users", 0, 0, 10, timeout_s=8, give_up_at=time.monotonic() + 0.3)
        with pytest.raises(GaveUp):
            next(records)


class TestWholeBodies:
    def test_a_broker_that_falls_silent_leaves_the_rest_of_each_partition_undecoded(self) -> None:
        with world_of({"users": 2}) as world:
            for partition in (0, 1):
                world.put("users", ("a", value(1)), ("b", value(1)), partition=partition)
            world.broker.commit("shop", {("users", 0): 2, ("users", 1): 2})
            census = world.engine.count(CensusRequest(topic=Topic("users"), partitions=(0, 1), committed={0: 2, 1: 2}))
            config = {"bootstrap.servers": world.broker.bootstrap_servers}
            with Cluster(config, timeout_s=8) as cluster:
                world.broker.close()
                bodies = whole_bodies(cluster, world.client(), census, (Role.VALUE,), deadline_s=0.3)
            first, second = bodies[Role.VALUE].left_out
            assert first.startswith("partition 0, offsets 0 to 1: the deadline of 0.3 s (--deadline)")
            assert second.startswith("partition 1, offsets 0 to 1: the deadline of 0.3 s (--deadline)")


class TestCensus:
    def test_the_time_that_the_ends_took_to_come_counts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The clock is ours: an hour passes while the broker looks for the ends of its partitions."""
        now, later = time.monotonic, [0.0]

        class Clock:
            @staticmethod
            def monotonic() -> float:
                return now() + later[0]

        asked = Cluster.watermarks

        def slow(*arguments: object) -> object:
            later[0] += 3600
            return asked(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(local, "time", Clock)
        monkeypatch.setattr(Cluster, "watermarks", slow)
        with world_of({"users": 1}) as world:
            world.put("users", ("a", value(1)))
            engine = LocalCensus({"bootstrap.servers": world.broker.bootstrap_servers})
            request = CensusRequest(topic=Topic("users"), partitions=(0,), committed=None, deadline_s=600)
            (partition,) = engine.count(request).partitions
        assert partition.stopped_early == "offsets 0 to 0 were not read: the deadline of 600 s (--deadline) was reached"
