"""`times="integers"` where the columns are the newest schema's, or integers themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from srfix.fixtures.registry import FixtureRegistry
from srfix.serde import AvroDeserializer, RegistryClient, confluent
from srfix.serde.columns import ScalarType
from srfix.serde.spark import NEWEST, plan_read
from srfix.serde.spark.source.frame import frame_of
from srfix.serde.spark.source.options import Use, source_options
from srfix.serde.spark.source.reads import plan_of, with_columns

TIME = {
    "type": "int",
    "logicalType": "time-millis",
    "connect.name": "org.apache.kafka.connect.data.Time",
    "connect.version": 1,
}
SCHEMA = json.dumps({"type": "record", "name": "R", "fields": [{"name": "T", "type": TIME}]})


@pytest.fixture
def registry() -> Iterator[RegistryClient]:
    with FixtureRegistry() as server, RegistryClient(server.url) as client:
        yield client


NUMBERS = (5, 86_400_001, -1)


def payloads(registry: RegistryClient) -> list[bytes | None]:
    """A time of the day, and numbers that are none."""
    write = confluent.AvroSerializer(registry, SCHEMA, conf={"times": "integers"})
    return [write({"T": number}, "t") for number in NUMBERS]


def test_a_time_of_day_is_among_the_newest_columns(registry: RegistryClient) -> None:
    payloads(registry)
    plan = plan_read(registry, "t", NEWEST, times="integers")
    assert [(column.name, column.type) for column in plan.columns] == [("T", ScalarType.BIGINT)]
    assert plan.newest is not None
    assert plan.newest.dropped == ()


@pytest.mark.parametrize("column", ["T TIME", "T INT", "T BIGINT"])
def test_a_number_that_is_no_time_of_day_is_read_whatever_the_column(registry: RegistryClient, column: str) -> None:
    read = AvroDeserializer(registry, columns=column, times="integers")
    assert [read.row(payload or b"", "t") for payload in payloads(registry)] == [{"T": number} for number in NUMBERS]


@pytest.mark.parametrize("columns", ["T TIME", None])
def test_the_data_source_plans_as_plan_read_does(registry: RegistryClient, columns: str | None) -> None:
    """Seen: a Connect Time beyond its day was a bad row there, for its columns are integers; NEWEST left it out."""
    payloads(registry)
    given = {"topic": "t", "kafka.bootstrap.servers": "b:9092", "registry": registry.url, "times": "integers"}
    options = with_columns(source_options(given | ({} if columns is None else {"columns": columns}), Use.BATCH))
    plan = plan_of(options, frame_of(options))
    assert plan is not None
    assert plan.times == "integers"
    assert plan.columns == plan_read(registry, "t", "T TIME", times="integers").columns
