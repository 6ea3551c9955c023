"""Eight broken stores of 48 partitions with four schema ids each: what must fit a screen or two."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.wire import frame_id

STORES, PARTITIONS, IDS = 8, 48, 4
STORE = "KafkaTopic_Right-Reduce"


@dataclass(frozen=True)
class World:
    """Eight broken stores, each of an application and a topic of its own."""

    broker: EmbeddedBroker
    registry: FixtureRegistry

    @property
    def environment(self) -> dict[str, str]:
        return {"SRFIX_BOOTSTRAP_SERVERS": self.broker.bootstrap_servers, "SRFIX_REGISTRY": self.registry.url}

    @property
    def phantoms(self) -> list[str]:
        return [f"{application(number)}-{STORE}-changelog-value" for number in range(STORES)]


def application(number: int) -> str:
    return f"_confluent-ksql-default_query_CSAS_J_{number}"


def writer(number: int, generation: int) -> str:
    fields: list[dict[str, Any]] = [{"name": f"user{number}Id", "type": "long"}]
    fields += [{"name": f"note{n}", "type": ["null", "string"], "default": None} for n in range(generation)]
    return json.dumps({"type": "record", "name": f"User{number}", "fields": fields})


def internal(number: int) -> str:
    field = {"name": f"USER{number}ID", "type": ["null", "long"], "default": None}
    return json.dumps({"type": "record", "name": "KsqlDataSourceSchema", "fields": [field]})


@contextmanager
def eight_stores() -> Iterator[World]:
    topics = [f"users-{number}" for number in range(STORES)]
    with EmbeddedBroker(topics=dict.fromkeys(topics, PARTITIONS)) as broker, FixtureRegistry() as registry:
        for number, topic in enumerate(topics):
            ids = [registry.seed(f"{topic}-value", writer(number, generation)) for generation in range(IDS)]
            broker.produce(
                ProducedRecord(
                    topic=topic,
                    partition=partition,
                    key=f"{partition}-{generation}".encode(),
                    value=frame_id(schema_id, b"\x02" + b"\x00" * generation),
                )
                for partition in range(PARTITIONS)
                for generation, schema_id in enumerate(ids)
            )
            registry.seed(f"{application(number)}-{STORE}-changelog-value", internal(number))
            broker.commit(application(number), {(topic, partition): IDS for partition in range(PARTITIONS)})
        yield World(broker=broker, registry=registry)
