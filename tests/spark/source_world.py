"""Topics with framed rows for the tests of `format("srfix")`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self
from uuid import uuid4

from confluent_kafka import Producer

from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.kraft import KraftBroker
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import AvroSerializer, RecordSubject, RegistryClient, SerdeContext, parse_columns

COLUMNS: Final = "ID BIGINT, NAME STRING"
LOWER: Final = (
    '{"type":"record","name":"user","fields":[{"name":"name","type":["null","string"],"default":null},'
    '{"name":"id","type":"int"},{"name":"extra","type":"string","default":"x"}]}'
)
"""The columns in small letters, in another order, with one more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic of its own, and what writes into it."""

    name: str
    broker: KraftBroker
    registry: FixtureRegistry

    @classmethod
    def created(cls, broker: KraftBroker, registry: FixtureRegistry, partitions: int = 2, **config: str) -> Self:
        name = f"source-{uuid4().hex[:8]}"
        broker.create_topic(name, partitions, {key.replace("_", "."): value for key, value in config.items()})
        return cls(name=name, broker=broker, registry=registry)

    @property
    def least(self) -> dict[str, str]:
        """The options that say where the topic is."""
        return {
            "bootstrap.servers": self.broker.bootstrap_servers,
            "topic": self.name,
            "registry": self.registry.url,
        }

    def payloads(self, ids: Iterable[int], schema: str | None = None) -> list[bytes]:
        """Rows `{ID: n, NAME: "n<n>"}`, under the columns' own schema or another."""
        context = SerdeContext(self.name)
        with RegistryClient(self.registry.url) as client:
            if schema is None:
                serialize = AvroSerializer(client, parse_columns(COLUMNS))
                rows = [serialize({"ID": number, "NAME": f"n{number}"}, context) for number in ids]
            else:
                serialize = AvroSerializer.for_schema(client, schema, subjects=RecordSubject())
                rows = [serialize({"id": number, "name": f"n{number}"}, context) for number in ids]
        return [row for row in rows if row is not None]

    def fill(self, values: Iterable[bytes | None], *, partitions: int = 2, start: int = 0) -> None:
        """Writes values, one partition after the other, with keys `k<n>`; every fifth has a header."""
        self.broker.produce(
            ProducedRecord(
                topic=self.name,
                partition=number % partitions,
                key=b"k%d" % number,
                value=value,
                headers=(("h", b"v"),) if number % 5 == 0 else (),
                timestamp_ms=1_600_000_000_000 + number,
            )
            for number, value in enumerate(values, start)
        )

    def transact(self, values: Iterable[bytes], *, commits: bool) -> None:
        """Writes values in one transaction, into the first partition; its marker takes an offset behind them."""
        producer = Producer({"bootstrap.servers": self.broker.bootstrap_servers, "transactional.id": self.name})
        producer.init_transactions()
        producer.begin_transaction()
        for value in values:
            producer.produce(self.name, value=value, partition=0)
        producer.flush()
        if commits:
            producer.commit_transaction()
        else:
            producer.abort_transaction()
