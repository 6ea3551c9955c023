"""A topic's schemas and payloads, and frames of them: what the tests of reading share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import AvroSerializer, RegistryClient, Role, SerdeContext, parse_columns
from srfix.serde.spark import Engine, ReadPlan, from_registry, plan_read
from srfix.serde.spark.releases import lacks_arrow
from srfix.serde.wire import Framing

COLUMNS: Final = parse_columns("ID BIGINT, NAME STRING")

LOWER: Final = '{"type":"record","name":"user","fields":[{"name":"name","type":"string"},{"name":"id","type":"int"}]}'
"""The columns in small letters, in another order, narrower, and as they come from elsewhere."""

Headers = tuple[tuple[str, bytes | None], ...]
_SCHEMA: Final = (
    "topic string, partition int, offset long, key binary, value binary, "
    "headers array<struct<key: string, value: binary>>"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineCase:
    """An engine, and whether the workers have srfix."""

    engine: Engine
    workers_have_srfix: bool

    def read(self, *given: Any, **options: Any) -> Any:
        """`from_registry` by this engine, which asks the registry for ids that the plan does not know, if it can."""
        how = {
            "engine": self.engine,
            "workers_have_srfix": self.workers_have_srfix,
            "unknown_ids": "resolve",
            **options,
        }
        return from_registry(*given, **how)

    def __str__(self) -> str:
        return self.engine if self.engine == "arrow" or not self.workers_have_srfix else f"{self.engine} with arrow"


ARROW: Final = EngineCase(engine="arrow", workers_have_srfix=True)
JVM: Final = EngineCase(engine="jvm", workers_have_srfix=False)
JVM_WITH_ARROW: Final = EngineCase(engine="jvm", workers_have_srfix=True)
ENGINES: Final = (ARROW, JVM, *([JVM_WITH_ARROW] if lacks_arrow() is None else []))
"""Where there is no arrow engine, `ARROW` ends in the sentence that says so, and there is nothing beside the jvm engine: rows
that it knows nothing about are bad rows, as for `JVM`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Two writers of the topic `users`."""

    registry: FixtureRegistry
    client: RegistryClient

    def plan(self, role: Role = Role.VALUE, topic: str = "users") -> ReadPlan:
        return plan_read(self.client, topic, COLUMNS, role=role)

    def payload(self, number: int, *, role: Role = Role.VALUE, topic: str = "users") -> bytes:
        """Under the newer schema."""
        payload = AvroSerializer(self.client, COLUMNS)({"ID": number, "NAME": f"n{number}"}, SerdeContext(topic, role))
        assert payload is not None
        return payload

    def lower(self, number: int) -> bytes:
        """Under the older schema."""
        serializer = AvroSerializer.for_schema(self.client, LOWER)
        payload = serializer({"id": number, "name": f"n{number}"}, SerdeContext("users"))
        assert payload is not None
        return payload

    def by_header(self, number: int) -> tuple[bytes, Headers]:
        """Payload and headers of a record whose schema is named there, under the newer schema."""
        headers: list[tuple[str, bytes | None]] = [("other", None)]
        serializer = AvroSerializer(self.client, COLUMNS, schema_id_framing=Framing.HEADER_GUID)
        payload = serializer({"ID": number, "NAME": f"n{number}"}, SerdeContext("users", headers=headers))
        assert payload is not None
        return payload, tuple(headers)


@contextmanager
def open_world(registry: FixtureRegistry) -> Iterator[World]:
    with RegistryClient(registry.url) as client:
        registry.configure("users-value", {"compatibility": "NONE"})
        registry.seed("users-value", LOWER)
        yield World(registry=registry, client=client)


def frame(spark: SparkSession, values: Iterable[bytes | None], headers: Headers | None = None) -> DataFrame:
    """A frame as Spark's Kafka source makes them: topic users, partition 3, offsets from 0, no keys."""
    pairs = (
        None if headers is None else [(name, None if value is None else bytearray(value)) for name, value in headers]
    )
    rows = [
        ("users", 3, offset, None, None if value is None else bytearray(value), pairs)
        for offset, value in enumerate(values)
    ]
    return spark.createDataFrame(rows, _SCHEMA)
