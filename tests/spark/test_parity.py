"""Both engines give the deserializer's rows of the other formats; and of a hundred thousand rows of three ids, or as many as
PARITY says, by their sums (`make test-spark PARITY=1000000`). Of generated topics: `test_foreign_topics`."""

from __future__ import annotations

import datetime
import decimal
import json
import os
from pathlib import Path
from typing import Final

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import (
    CaseRule,
    JsonSchemaSerializer,
    JsonSerializer,
    ProtobufNoSrSerializer,
    ProtobufSerializer,
    RegistryClient,
    SerdeContext,
    parse_columns,
)
from srfix.serde.formats.table import Format
from srfix.serde.spark import from_registry, plan_read
from srfix.serde.spark.releases import require_arrow
from tests.bench import spark_data
from tests.spark.parity import HAS_ARROW, Payloads, compare

EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
ROWS: Final = int(os.environ.get("PARITY", "100000"))


class TestOtherFormats:
    @pytest.mark.parametrize("format_", [Format.JSON, Format.JSON_SR])
    def test_the_other_formats_are_the_arrow_engines(
        self, spark: SparkSession, registry: FixtureRegistry, format_: Format
    ) -> None:
        columns = parse_columns(
            "ID BIGINT, NAME STRING, SEEN TIMESTAMP, BORN DATE, PRICE DECIMAL(9, 2), "
            "ITEMS ARRAY<STRUCT<X INT, Y DOUBLE>>, M MAP<STRING, ARRAY<BOOLEAN>>"
        )
        rows: list[dict[str, object]] = [
            {
                "ID": -(2**63),
                "NAME": "Ünï\u0000",
                "ITEMS": [{"X": 1, "Y": -0.0}, None],
                "M": {"": [True, None], "x": None},
            },
            {"ID": None, "PRICE": None, "ITEMS": []},
        ]
        with RegistryClient(registry.url) as client:
            serializer = JsonSerializer(columns) if format_ is Format.JSON else JsonSchemaSerializer(client, columns)
            ctx = SerdeContext("t")
            whole = [serializer({column.name: None for column in columns} | row, ctx) for row in rows]
            prefix = b"" if format_ is Format.JSON else (whole[0] or b"")[:5]
            documents = [
                b'{"id":1,"Id":2,"NAME":"upper","name":"lower"}',
                b'{"ID":1,"ID":2}',
                b'{"SEEN":1582934400000,"BORN":-1,"PRICE":"1.5","M":{"k":[true]}}',
                b"null",
                b"[]",
                b'{"ID":"x"}',
                b'{"ID":1',
                b"\xff",
            ]
            payloads = [None, b"", *whole, *(prefix + document for document in documents)]
            for rule in CaseRule:
                plan = plan_read(client, "t", columns, format=format_, case_rule=rule)
                require_arrow()
                for each in compare(spark, [Payloads(plan=plan, payloads=payloads)]):
                    assert each.jvm is None
                    assert each.arrow == each.deserializer, each

    @pytest.mark.parametrize("format_", [Format.PROTOBUF, Format.PROTOBUF_NOSR])
    def test_protobuf_is_the_arrow_engine_s(
        self, spark: SparkSession, registry: FixtureRegistry, format_: Format
    ) -> None:
        columns = parse_columns(
            "ID BIGINT, NAME STRING, SEEN TIMESTAMP, BORN DATE, PRICE DECIMAL(9, 2), "
            "ITEMS ARRAY<STRUCT<X INT, Y DOUBLE>>, M MAP<STRING, BOOLEAN>"
        )
        rows: list[dict[str, object]] = [
            {"ID": -(2**63), "NAME": "Ünï\u0000", "ITEMS": [{"X": 1, "Y": -0.0}, {}], "M": {"": True, "x": False}},
            {"SEEN": EPOCH, "BORN": EPOCH.date(), "PRICE": decimal.Decimal("1.50")},
        ]
        is_framed = format_ is Format.PROTOBUF
        with RegistryClient(registry.url) as client:
            serializer = ProtobufSerializer(client, columns) if is_framed else ProtobufNoSrSerializer(columns)
            whole = [serializer(row, SerdeContext("t")) for row in rows]
            prefix = (whole[0] or b"")[:6] if is_framed else b""
            bodies = (b"", b"\x08", b"\x12\x01\xff", b"\x08\x01\x08\x02", b"\x22\x00", b"\x7a\x01\x00")
            payloads = [None, *whole, *(prefix + body for body in bodies), prefix[:5] + b"\x02\x02"]
            for rule in CaseRule:
                plan = plan_read(client if is_framed else None, "t", columns, format=format_, case_rule=rule)
                require_arrow()
                for each in compare(spark, [Payloads(plan=plan, payloads=payloads)]):
                    assert each.jvm is None
                    assert each.arrow == each.deserializer, each


@pytest.mark.smoke
class TestManyRows:
    def test_rows_of_three_ids_hash_equal_in_both_engines_and_by_hand(
        self, spark: SparkSession, registry: FixtureRegistry, tmp_path: Path
    ) -> None:
        spark_data.write_topic(tmp_path, ROWS)
        for schema_id in range(1, max(spark_data.SCHEMAS) + 1):
            other = json.dumps({"type": "fixed", "name": "Other", "size": schema_id})
            subject, text = f"{spark_data.TOPIC}-value", spark_data.SCHEMAS.get(schema_id)
            assert registry.seed(*(("other", other) if text is None else (subject, text))) == schema_id
        payloads = spark.read.parquet(str(tmp_path))
        with RegistryClient(registry.url) as client:
            plan = plan_read(client, spark_data.TOPIC, spark_data.COLUMNS)
            expected = _sum(_by_hand(spark))
            assert expected[0] == ROWS
            for engine in ("jvm", "arrow") if HAS_ARROW else ("jvm",):
                read = from_registry(plan, engine="jvm" if engine == "jvm" else "arrow", on_error="quarantine")
                assert _sum(payloads.transform(read).where("_srfix_reason IS NULL").select("value.*")) == expected


def _by_hand(spark: SparkSession) -> DataFrame:
    """The rows, of their numbers (`spark_data.row`)."""
    return spark.range(ROWS).selectExpr(
        "id AS ID",
        "concat('name-', id % 5000) AS NAME",
        "if(id % 3 = 0, concat('city-', id % 100), NULL) AS CITY",
        "if(id % 5 = 0, 'seen twice', NULL) AS NOTE",
        "cast(id % 90 AS int) AS AGE",
        # Every fourth is written under the schema without it.
        "if(id % 4 = 3, NULL, cast(id AS double) / 7) AS SCORE",
        "id % 2 = 0 AS ACTIVE",
        "timestamp_millis(1592265600000 + id) AS SEEN",
        "cast(id % 1000 AS double) / 4 AS WEIGHT",
        "slice(array('a', 'b'), 1, cast(id % 3 AS int)) AS TAGS",
    )


def _sum(rows: DataFrame) -> tuple[int, object]:
    """How many, and the sum of their hashes."""
    hashes = F.sum(F.xxhash64(*rows.columns).cast("decimal(20)"))
    (found,) = rows.select(F.count("*"), hashes).collect()
    return int(found[0]), found[1]
