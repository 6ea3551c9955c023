"""Applications that read what producers wrote, broken or not yet, on a broker and a registry of their own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.wire import frame_id

WRITER = '{"type":"record","name":"User","fields":[{"name":"userId","type":"long"},{"name":"name","type":"string"}]}'
INTERNAL = (
    '{"type":"record","name":"KsqlDataSourceSchema","fields":['
    '{"name":"USERID","type":["null","long"],"default":null},{"name":"NAME","type":["null","string"],"default":null}]}'
)
PHANTOM = "shop-users-store-changelog-value"
ROW = b"\x02\x06Ada"
"""Under the producer's schema: userId 1, name Ada."""


@contextmanager
def world_of(
    *applications: str, writer: str = WRITER, rows: Sequence[bytes] = (), bad: Sequence[bytes] = (), key: str = "k"
) -> Iterator[tuple[EmbeddedBroker, FixtureRegistry]]:
    """A broken store of each application, an undecided one, an orphan, and rows that do not decode.

    :param writer: the producers' schema.
    :param rows: what the topics hold besides a good row, and `bad` what the topic of that name has on top.
    """
    with EmbeddedBroker(topics={"users": 1, "orders": 1, "bad": 1}) as broker, FixtureRegistry() as registry:
        for topic in ("users", "orders", "bad"):
            registry.seed(f"{topic}-value", writer)
            values = [frame_id(1, ROW), *rows, *([*bad, frame_id(1, ROW[:-1])] if topic == "bad" else ())]
            broker.produce(
                ProducedRecord(topic=topic, partition=0, key=f"{key}{number}".encode(), value=value)
                for number, value in enumerate(values)
            )
        for name in applications:
            registry.seed(f"{name}-users-store-changelog-value", INTERNAL)
            broker.commit(name, {("users", 0): 1})
            registry.seed(f"desk{name}-store-changelog-value", INTERNAL)
            broker.commit(f"desk{name}", {("users", 0): 1, ("orders", 0): 1})
            registry.seed(f"gone{name}-store-changelog-value", INTERNAL)
        registry.seed("rough-bad-store-changelog-value", writer)
        broker.commit("rough", {("bad", 0): len(values)})
        yield broker, registry
