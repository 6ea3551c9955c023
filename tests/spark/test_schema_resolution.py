"""Aliases and defaults of the newest schema, through `from_registry`, by every engine."""

from __future__ import annotations

import json

import pytest
from pyspark.sql import SparkSession

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import RegistryClient, SerdeContext
from srfix.serde.spark import NEWEST, plan_read
from srfix.serde.wire import frame_id
from tests.serde.avro_schemas import body, entries
from tests.serde.test_schema_resolution import NEW, OLD, READ, WRITTEN
from tests.spark.reading_world import ENGINES, EngineCase, frame

ENUM = {"type": "enum", "name": "Colour", "symbols": ["RED", "OTHER"], "default": "OTHER"}
MORE = [
    {"name": "colour", "type": ENUM, "default": "RED"},
    {
        "name": "home",
        "type": ["null", {"type": "record", "name": "H", "fields": [{"name": "no", "type": "int"}]}],
        "default": {"no": 3},
    },
    {"name": "lines", "type": {"type": "map", "values": "long"}, "default": {"a": 1}},
    {"name": "raw", "type": "bytes", "default": "\u00ff"},
]
OLDER = {
    "type": "record",
    "name": "User",
    "fields": [
        {
            "name": "colours",
            "type": {"type": "array", "items": {"type": "enum", "name": "Colour", "symbols": ["RED", "BLUE", "PINK"]}},
        }
    ],
}
NULL_MAPS = [
    {"name": "bare", "type": ["null", entries("string", "int", "Bare")], "default": None},
    {
        "name": "inside",
        "type": {
            "type": "record",
            "name": "Inside",
            "fields": [{"name": "m", "type": ["null", entries("string", "int", "Within")]}],
        },
        "default": {"m": None},
    },
    {
        "name": "listed",
        "type": {"type": "array", "items": ["null", entries("string", "int", "Listed")]},
        "default": [None],
    },
]
"""Defaults of null, for what Connect writes as an array of entries."""
NEWER = {
    "type": "record",
    "name": "User",
    "fields": [{"name": "colours", "type": {"type": "array", "items": ENUM}}, *MORE[1:], *NULL_MAPS],
}


@pytest.mark.parametrize("case", ENGINES, ids=str)
def test_newest_is_resolved_as_avro_does(spark: SparkSession, registry: FixtureRegistry, case: EngineCase) -> None:
    registry.configure("users-value", {"compatibility": "NONE"})
    old = registry.seed("users-value", json.dumps(OLD))
    new = registry.seed("users-value", json.dumps(NEW))
    rest = {**WRITTEN, "email": "c@d", "address": {"city": "Bonn", "country": "FR"}}
    rest |= {"points": 1, "tags": [], "note": "x", "born": 3, "level": 2.5, "active": False}
    rest |= {"limit": READ["limit"], "since": READ["since"]}
    payloads = [frame_id(old, body(OLD, WRITTEN)), frame_id(new, body(NEW, rest))]
    with RegistryClient(registry.url) as client:
        plan = plan_read(client, "users", NEWEST)
    expected = [plan.deserializer()(payload, SerdeContext("users")) for payload in payloads]
    assert expected[0] == READ
    df = frame(spark, payloads).transform(case.read(plan))
    shown = "to_json(value, map('timestampFormat', \"yyyy-MM-dd'T'HH:mm:ssXXX\", 'timeZone', 'UTC')) AS json"
    rows = [json.loads(row["json"]) for row in df.orderBy("offset").selectExpr(shown).collect()]
    assert rows[0] == {
        "id": 1,
        "email": "a@b",
        "address": {"city": "Ulm", "country": "DE"},
        "points": 7,
        "tags": ["new"],
        "born": "1970-01-02",
        "level": 1.5,
        "active": True,
        "limit": 0.01,
        "since": "1970-01-01T00:00:01Z",
    }
    assert (rows[1]["email"], rows[1]["points"], rows[1]["address"]["country"]) == ("c@d", 1, "FR")


@pytest.mark.parametrize("case", ENGINES, ids=str)
def test_so_are_symbols_and_defaults_with_parts(
    spark: SparkSession, registry: FixtureRegistry, case: EngineCase
) -> None:
    old = registry.seed("users-value", json.dumps(OLDER))
    with RegistryClient(registry.url) as client:
        plan = plan_read(client, "users", reader_schema=json.dumps(NEWER))
    payload = frame_id(old, body(OLDER, {"colours": ["PINK", "RED", "BLUE"]}))
    expected = {
        "colours": ["OTHER", "RED", "OTHER"],
        "home": {"no": 3},
        "lines": {"a": 1},
        "raw": b"\xff",
        "bare": None,
        "inside": {"m": None},
        "listed": [None],
    }
    assert plan.deserializer()(payload, SerdeContext("users")) == expected
    df = frame(spark, [payload]).transform(case.read(plan))
    (row,) = df.select("value.*").collect()
    assert row.asDict(recursive=True) == expected
