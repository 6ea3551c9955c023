"""A view over `format("srfix")` in SQL, whose columns nobody named."""

from __future__ import annotations

import json
from uuid import uuid4

from pyspark.sql import Row, SparkSession

from srfix.fixtures.broker.kraft.broker import KraftBroker
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.spark.errors.driver_errors import clear_errors
from tests.spark.source_world import LOWER, Topic


def test_a_view_has_the_newest_schemas_columns_and_the_partitions_that_are_assigned(
    spark: SparkSession, broker: KraftBroker, registry: FixtureRegistry
) -> None:
    topic = Topic.created(broker, registry)
    older = topic.payloads(range(2), LOWER)
    newest = topic.payloads(range(2, 4))
    topic.fill([*older, *newest])
    view = f"view_{uuid4().hex[:8]}"
    for place, ids in (
        (f"subscribe '{topic.name}'", [0, 1, 2, 3]),
        (f"assign '{json.dumps({topic.name: [1]})}'", [1, 3]),
    ):
        with clear_errors():
            spark.sql(
                f"CREATE OR REPLACE TEMPORARY VIEW {view} USING srfix OPTIONS ({place}, "
                f"`kafka.bootstrap.servers` '{broker.bootstrap_servers}', `schema.registry.url` '{registry.url}')"
            )
        assert spark.table(view).columns == ["ID", "NAME", "_srfix_reason"]
        rows = spark.sql(f"SELECT ID, NAME FROM {view} ORDER BY ID").collect()
        assert rows == [Row(ID=number, NAME=f"n{number}") for number in ids]
