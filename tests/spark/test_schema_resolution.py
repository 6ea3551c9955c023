"""Aliases, defaults and promotions of the newest schema, through `from_registry`, by every engine."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import EngineRefusedError, RegistryClient, SerdeContext
from srfix.serde.spark import NEWEST, plan_read
from srfix.serde.wire import frame_id
from tests.serde.avro_schemas import array, body, entries, field, map_of, record, record_of
from tests.serde.test_schema_resolution import NEW, OLD, PROMOTIONS, READ, WRITTEN
from tests.spark.conftest import RELEASE
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


VALUES: dict[str, Callable[[Random], Any]] = {
    "int": lambda random: random.choice((0, -1, 16_777_217, 2**31 - 1, -(2**31), random.getrandbits(31))),
    "long": lambda random: random.choice((0, (1 << 60) + (1 << 36) + 1, -(2**63), 2**63 - 1, random.getrandbits(63))),
    "float": lambda random: random.choice((0.0, -1.5, 3.4028234663852886e38, 1.401298464324817e-45)),
    "string": lambda random: random.choice(("", "Ada", "Zoë", "\U0001f600")),
    "bytes": lambda random: random.choice(("", "Ada", "Zoë", "\U0001f600")).encode(),
    "boolean": lambda random: random.random() < 0.5,
}
WRAPS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], Callable[[Callable[[], Any], Random], Any]]] = {
    "plain": (lambda old: old, lambda new: new, lambda draw, _: draw()),
    "null": (
        lambda old: ["null", old],
        lambda new: ["null", new],
        lambda draw, r: None if r.random() < 0.3 else draw(),
    ),
    "made_null": (lambda old: old, lambda new: [new, "null"], lambda draw, _: draw()),
    "array": (array, array, lambda draw, r: [draw() for _ in range(r.randrange(3))]),
    "array_null": (array, lambda new: array(["null", new]), lambda draw, r: [draw() for _ in range(r.randrange(3))]),
    "map": (map_of, map_of, lambda draw, r: {f"k{place}": draw() for place in range(r.randrange(3))}),
    "into_union": (lambda old: old, lambda new: ["null", other(new), new], lambda draw, _: draw()),
    "null_into_union": (
        lambda old: ["null", old],
        lambda new: [new, "null", other(new)],
        lambda draw, r: None if r.random() < 0.3 else draw(),
    ),
    "array_into_union": (
        array,
        lambda new: array([other(new), new]),
        lambda draw, r: [draw() for _ in range(r.randrange(3))],
    ),
    "map_into_union": (
        map_of,
        lambda new: ["null", other(new), map_of([new, other(new)])],
        lambda draw, r: {f"k{place}": draw() for place in range(r.randrange(3))},
    ),
    "out_of_union": (lambda old: ["null", other(old), old], lambda new: ["null", new], lambda draw, _: draw()),
    "array_out_of_union": (
        lambda old: array([other(old), old]),
        array,
        lambda draw, r: [draw() for _ in range(r.randrange(3))],
    ),
}
"""How a type stands in the writer's and in the reader's schema, and what is written."""
BRANCHES: dict[str, tuple[Any, Any, Callable[[Random], Any]]] = {
    **{
        f"first_of_{'_'.join(types)}": (types[0], ["boolean", *types[1:]], VALUES[types[0]])
        for types in (("int", "string", "double", "long"), ("long", "float", "double"), ("float", "int", "double"))
    },
    "own_kind": ("int", ["double", "boolean", "int"], VALUES["int"]),
    "full_name": (record("a.A", x="int"), [record("B", x="int"), "int", record("a.A", x="long")], lambda _: {"x": 1}),
    "short_name": (record("c.C", x="int"), [record("D", x="int"), "int", record("d.C", x="long")], lambda _: {"x": 1}),
    "its_fields": (
        record("E", x="int"),
        [record("F", x="int", y="int"), "int", record_of("G", field("x", "double"), field("z", "int", default=7))],
        lambda _: {"x": 1},
    ),
    "several_out_of_union": (["boolean", "int", "long", "string"], "double", VALUES["int"]),
    "record_out_of_union": (
        [record("H", x="int"), record("I", x="int")],
        record("I", x="long"),
        lambda _: ("I", {"x": 1}),
    ),
    "null": ("null", ["null", "int"], lambda _: None),
    "null_struct": ("null", [record("J", x="int"), "null"], lambda _: None),
    "null_array": ("null", ["null", array("int")], lambda _: None),
    "null_among_several": ("null", ["null", "int", "string"], lambda _: None),
    "null_in_a_map": (map_of("null"), map_of(["null", "int"]), lambda _: {"k": None}),
    "null_beside_another_type": (["null", "boolean"], ["null", "int"], lambda _: None),
    "null_beside_another_record": (
        ["null", record("K", x="int")],
        ["null", record("L", y="int"), "int"],
        lambda _: None,
    ),
}
"""Which branch it is: the writer's type, the reader's, and what is written."""


def other(type_: str) -> str:
    """A type that is not promoted to this one, nor this one to it."""
    return "string" if type_ == "boolean" else "boolean"


def named(value: Any, type_: Any) -> Any:
    """Spark's value of a reader's type. In Spark a union's types are called member0, member1, …"""
    match type_:
        case _ if value is None:
            return None
        case list():
            types = [one for one in type_ if one != "null"]
            if len(types) == 1:
                return named(value, types[0])
            names = [one if isinstance(one, str) else one.get("name", one["type"]).rpartition(".")[2] for one in types]
            members = zip(names, value.values(), types, strict=True)
            return {name: named(member, one) for name, member, one in members}
        case {"items": items}:
            return [named(item, items) for item in value]
        case {"values": values}:
            return {key: named(item, values) for key, item in value.items()}
        case _:
            return value


@pytest.mark.parametrize("case", ENGINES, ids=str)
def test_values_are_promoted_as_javas_avro_does(
    spark: SparkSession, registry: FixtureRegistry, case: EngineCase
) -> None:
    """Each pair that Avro knows, in each place; expected is what Spark's own `from_avro` makes of it by Java's resolution."""
    pairs = {
        f"{old}_{new}_{wrap}": (WRAPS[wrap], old, new)
        for wrap in WRAPS
        for old, wanted in PROMOTIONS.items()
        for new in wanted
    }
    branches = BRANCHES.items()
    old_types = {name: outer[0](old) for name, (outer, old, _) in pairs.items()} | {
        name: it[0] for name, it in branches
    }
    new_types = {name: outer[1](new) for name, (outer, _, new) in pairs.items()} | {
        name: it[1] for name, it in branches
    }
    writer, reader = record(**old_types), record(**new_types)
    random = Random(60_000)
    rows = [
        {name: outer[2](partial(VALUES[old], random), random) for name, (outer, old, _new) in pairs.items()}
        | {name: draw(random) for name, (_, _, draw) in branches}
        for _ in range(20)
    ]
    first = registry.seed("users-value", json.dumps(writer))
    bodies = [body(writer, row) for row in rows]
    by_hand = from_avro(F.substring("value", 6, 2**31 - 1), json.dumps(writer), {"avroSchema": json.dumps(reader)})
    df = frame(spark, [frame_id(first, each) for each in bodies])
    by_java = [row["it"].asDict(recursive=True) for row in df.orderBy("offset").select(by_hand.alias("it")).collect()]
    expected = [{name: named(value, new_types[name]) for name, value in row.items()} for row in by_java]
    with RegistryClient(registry.url) as client:
        plan = plan_read(client, "users", reader_schema=json.dumps(reader))
    if (
        RELEASE == "4.0"
    ):  # its Avro 1.12.0 makes a float of an int or a long before it is an item of an array of doubles
        deserialize = plan.deserializer()
        rows_of_srfix = [deserialize(frame_id(first, each), SerdeContext("users")) for each in bodies]
        through_float = [name for name in pairs if name.endswith(("_double_array", "_double_array_out_of_union"))]
        for by_avro, exact in zip(expected, cast("list[dict[str, Any]]", rows_of_srfix), strict=True):
            by_avro |= {name: exact[name] for name in through_float}
    read = df.transform(case.read(plan)).orderBy("offset").select("value.*").collect()
    assert [row.asDict(recursive=True) for row in read] == expected
    assert len(pairs) > 160


@pytest.mark.parametrize("case", ENGINES, ids=str)
def test_a_branch_that_avro_does_not_resolve_makes_a_bad_row(
    spark: SparkSession, registry: FixtureRegistry, case: EngineCase
) -> None:
    """Avro's specification: Java reads a record as one with another name, if it has the fields."""
    one, two = record("A", x="int"), record("B", x="int")
    writer = record(v=["null", "long", "string"], r=[one, two], n=["null", "boolean"])
    reader = record(v="long", r=two, n=["null", "int"])
    first = registry.seed("users-value", json.dumps(writer))
    written = ((5, "B", None), ("x", "B", None), (5, "A", None), (None, "B", None), (5, "B", True))
    payloads = [
        frame_id(first, body(writer, {"v": value, "r": (name, {"x": 1}), "n": other})) for value, name, other in written
    ]
    with RegistryClient(registry.url) as client:
        plan = plan_read(client, "users", reader_schema=json.dumps(reader))
    df = frame(spark, payloads).transform(case.read(plan, on_error="quarantine"))
    rows = df.orderBy("offset").selectExpr("value.v", "value.r.x", "_srfix_reason AS reason").collect()
    reason = "TYPE_MISMATCH" if case.engine == "arrow" else "DECODE_FAILED"
    bad = (None, None, reason)
    assert [tuple(row) for row in rows] == [(5, 1, None), bad, bad, (None, 1, None), bad]


@pytest.mark.parametrize("case", ENGINES, ids=str)
def test_a_record_in_a_record_that_became_another_makes_bad_rows(
    spark: SparkSession, registry: FixtureRegistry, case: EngineCase
) -> None:
    writer, reader = (
        record(n="int", v=record("A", x="int")),
        record(n="int", v=record_of("B", field("y", "int", default=4))),
    )
    first = registry.seed("users-value", json.dumps(writer))
    registry.seed("users-value", json.dumps(reader))
    with RegistryClient(registry.url) as client:
        plan = plan_read(client, "users", NEWEST)
    df = frame(spark, [frame_id(first, body(writer, {"n": 1, "v": {"x": 2}}))])
    (row,) = df.transform(case.read(plan, on_error="quarantine")).collect()
    assert (row["value"], row["_srfix_reason"]) == (None, "TYPE_MISMATCH")


@pytest.mark.parametrize("case", ENGINES, ids=str)
def test_a_union_in_both_schemas_is_resolved_as_javas_avro_does(
    spark: SparkSession, registry: FixtureRegistry, case: EngineCase
) -> None:
    """A branch that the reader lacks makes a bad row. The jvm engine says that it cannot read such a union."""
    types = ["int", "null", "long", "string", "boolean", array("int"), record("A", x="int"), record("C", z="int")]
    writer = record(n="int", v=types)
    reader = record(n="int", v=[record("B", x="long"), "string", "null", "double", array("double")])
    values = [5, None, ("long", 6), "x", True, [1], ("A", {"x": 7}), ("C", {"z": 8})]
    first = registry.seed("users-value", json.dumps(writer))
    df = frame(spark, [frame_id(first, body(writer, {"n": 1, "v": value})) for value in values])
    with RegistryClient(registry.url) as client:
        plan = plan_read(client, "users", reader_schema=json.dumps(reader))
    if case.engine == "jvm":
        with pytest.raises(EngineRefusedError, match="a union of several types is a STRUCT for the deserializer"):
            df.transform(case.read(plan))
        return
    options = {"avroSchema": json.dumps(reader), "mode": "PERMISSIVE"}
    by_hand = from_avro(F.substring("value", 6, 2**31 - 1), json.dumps(writer), options)
    by_java = [row["it"] for row in df.orderBy("offset").select(by_hand.alias("it")).collect()]
    v_type = reader["fields"][1]["type"]
    expected = [
        (None if one.v is None else named(one.v.asDict(recursive=True), v_type), one.n is None) for one in by_java
    ]
    read = df.transform(case.read(plan, on_error="quarantine")).orderBy("offset")
    rows = [(row["value"], row["_srfix_reason"]) for row in read.collect()]
    assert [
        (value and value.v and value.v.asDict(recursive=True), reason is not None) for value, reason in rows
    ] == expected
    assert [reason for _, reason in rows] == [None, None, None, None, "TYPE_MISMATCH", None, None, "TYPE_MISMATCH"]


@pytest.mark.parametrize("case", ENGINES, ids=str)
def test_so_is_a_bare_value_under_the_newest_schema(
    spark: SparkSession, registry: FixtureRegistry, case: EngineCase
) -> None:
    registry.configure("users-value", {"compatibility": "NONE"})
    old = registry.seed("users-value", '"string"')
    new = registry.seed("users-value", json.dumps(["null", "bytes"]))
    with RegistryClient(registry.url) as client:
        plan = plan_read(client, "users", NEWEST)
    payloads = [frame_id(old, body("string", "x")), frame_id(new, body(["null", "bytes"], b"y"))]
    rows = frame(spark, payloads).transform(case.read(plan)).orderBy("offset").select("value.ROWVAL").collect()
    assert [bytes(row[0]) for row in rows] == [b"x", b"y"]
