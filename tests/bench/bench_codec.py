"""Decode and encode beside bare fastavro and confluent-kafka: CPU time per record.

    python tests/bench/bench_codec.py [--records N] [--rounds R]

The routes take turns within each round, in one process, so that whatever else the machine does meets them
alike; the figures, and the ratios, are medians over the rounds. Bare fastavro is what a user would write: a
parsed schema, a BytesIO, the five framing bytes. confluent-kafka runs with a registry that answers from
memory, and a subject name strategy that asks it nothing.
"""

from __future__ import annotations

import argparse
import datetime
import json
import statistics
import struct
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from io import BytesIO
from typing import Literal, cast

import fastavro
from confluent_kafka.schema_registry import Schema as ConfluentSchema
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry import avro as confluent_avro
from confluent_kafka.serialization import MessageField, SerializationContext

from srfix.serde.columns import parse_columns
from srfix.serde.deserializer import AvroDeserializer
from srfix.serde.formats.avro import internal_schema
from srfix.serde.registry.models import RegisteredSchema, Schema, SchemaVersion
from srfix.serde.resolve import ById
from srfix.serde.serializer import AvroSerializer
from srfix.serde.wire import SchemaId

_SCHEMA_ID = SchemaId(1)
_TOPIC = "bench"
_NOW = datetime.datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=datetime.UTC)
_TARGETS = {"flat5": 1.4, "rich20": 1.2, "ksql": 1.2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Records of one schema."""

    name: str
    """flat5, rich20 or ksql."""
    schema: str
    """The Avro schema."""
    columns: str | None
    """The columns whose internal schema it is, if it is one."""
    row: Mapping[str, object]
    """One record, as fastavro takes it."""


_TIMESTAMP = {"type": "long", "logicalType": "timestamp-millis"}


def _record_schema(record: str, /, **fields: object) -> str:
    described = [{"name": field, "type": type_} for field, type_ in fields.items()]
    return json.dumps({"type": "record", "name": record, "fields": described})


_FLAT5 = Shape(
    name="flat5",
    schema=_record_schema("Flat", id="long", name="string", score="double", count="int", active="boolean"),
    columns=None,
    row={"id": 123456789, "name": "a name of some length", "score": 1.5, "count": 42, "active": True},
)

_RICH20 = Shape(
    name="rich20",
    schema=_record_schema(
        "Rich",
        id="long",
        uuid="string",
        title="string",
        body=["null", "string"],
        author=["null", "string"],
        score="double",
        ratio=["null", "double"],
        views="int",
        likes=["null", "int"],
        active="boolean",
        hidden=["null", "boolean"],
        created=_TIMESTAMP,
        updated=["null", _TIMESTAMP],
        price={"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2},
        tags={"type": "array", "items": "string"},
        attributes={"type": "map", "values": "string"},
        address=json.loads(_record_schema("Address", street="string", city="string", zip="int")),
        digest="bytes",
        note=["null", "string"],
        version="long",
    ),
    columns=None,
    row={
        "id": 123456789,
        "uuid": "6f2c0a0e-0c5f-4b8b-9c57-1f6d0b1f9a11",
        "title": "a title",
        "body": "some words that make a body",
        "author": None,
        "score": 1.5,
        "ratio": 0.25,
        "views": 1000,
        "likes": None,
        "active": True,
        "hidden": False,
        "created": _NOW,
        "updated": _NOW,
        "price": Decimal("123.45"),
        "tags": ["red", "green", "blue"],
        "attributes": {"colour": "red", "size": "large"},
        "address": {"street": "Main Street 1", "city": "Springfield", "zip": 12345},
        "digest": b"\x00\x01\x02\x03\x04\x05\x06\x07",
        "note": None,
        "version": 7,
    },
)

_KSQL_COLUMNS = (
    "ID BIGINT, NAME STRING, KIND STRING, AMOUNT DOUBLE, QUANTITY INT, ACTIVE BOOLEAN, TAGS ARRAY<STRING>, "
    "COUNTS MAP<STRING, BIGINT>, ADDRESS STRUCT<STREET STRING, CITY STRING, ZIP INT>, PRICE DECIMAL(10, 2), "
    "CREATED TIMESTAMP, NOTE STRING"
)
_KSQL = Shape(
    name="ksql",
    schema=internal_schema(parse_columns(_KSQL_COLUMNS)),
    columns=_KSQL_COLUMNS,
    row={
        "ID": 123456789,
        "NAME": "a name of some length",
        "KIND": "kind",
        "AMOUNT": 1.5,
        "QUANTITY": 42,
        "ACTIVE": True,
        "TAGS": ["red", "green", "blue"],
        "COUNTS": [{"key": "one", "value": 1}, {"key": "two", "value": 2}],
        "ADDRESS": {"STREET": "Main Street 1", "CITY": "Springfield", "ZIP": 12345},
        "PRICE": Decimal("123.45"),
        "CREATED": _NOW,
        "NOTE": None,
    },
)


class _Registry:
    """Answers from memory, for our serdes."""

    def __init__(self, text: str) -> None:
        self._schema = Schema(text=text)

    def schema_by_id(self, schema_id: int, *, subject: str | None = None) -> RegisteredSchema:
        return RegisteredSchema(schema_id=_SCHEMA_ID, schema=self._schema)

    def version(self, subject: str, version: int | Literal["latest"], *, deleted: bool = False) -> SchemaVersion:
        raise AssertionError("no schema here refers to another")

    def register(self, subject: str, schema: Schema) -> SchemaId:
        return _SCHEMA_ID


def _confluent_registry(shape: Shape) -> SchemaRegistryClient:
    client = SchemaRegistryClient.new_client({"url": "mock://"})
    client.register_schema(f"{_TOPIC}-value", ConfluentSchema(shape.schema, "AVRO"))
    return client


def _subject(ctx: SerializationContext, record_name: str | None) -> str:
    return f"{_TOPIC}-value"


_Route = Callable[[], object]


def decode_routes(shape: Shape) -> dict[str, _Route]:
    """One record decoded, by each route."""
    parsed = fastavro.parse_schema(json.loads(shape.schema))
    ctx = SerializationContext(_TOPIC, MessageField.VALUE)
    payload = cast("bytes", encode_routes(shape)["fastavro"]())

    def bare() -> object:
        stream = BytesIO(payload)
        _magic, _schema_id = struct.unpack(">bI", stream.read(5))
        return fastavro.schemaless_reader(stream, parsed, None)

    ours = AvroDeserializer(ById(_Registry(shape.schema)))
    client = _confluent_registry(shape)
    theirs = confluent_avro.AvroDeserializer(client, conf={"subject.name.strategy": _subject})
    routes: dict[str, _Route] = {
        "fastavro": bare,
        "srfix": partial(ours, payload, ctx),
        "confluent": partial(theirs, payload, ctx),
    }
    if shape.columns is not None:
        typed = AvroDeserializer(ById(_Registry(shape.schema)), columns=parse_columns(shape.columns))
        routes["srfix, columns"] = partial(typed, payload, ctx)
    rows = [routes[name]() for name in ("fastavro", "srfix", "confluent")]
    assert rows[0] == rows[1] == rows[2], "the routes do not agree"
    return routes


def encode_routes(shape: Shape) -> dict[str, _Route]:
    """One record encoded, by each route."""
    parsed = fastavro.parse_schema(json.loads(shape.schema))
    ctx = SerializationContext(_TOPIC, MessageField.VALUE)
    row = dict(shape.row)

    def bare() -> object:
        stream = BytesIO()
        stream.write(struct.pack(">bI", 0, _SCHEMA_ID))
        fastavro.schemaless_writer(stream, parsed, row)
        return stream.getvalue()

    ours = AvroSerializer.for_schema(_Registry(shape.schema), shape.schema)
    theirs = confluent_avro.AvroSerializer(
        _confluent_registry(shape), shape.schema, conf={"subject.name.strategy": _subject}
    )
    routes: dict[str, _Route] = {
        "fastavro": bare,
        "srfix": partial(ours, row, ctx),
        "confluent": partial(theirs, row, ctx),
    }
    if shape.columns is not None:
        typed = AvroSerializer(_Registry(shape.schema), parse_columns(shape.columns))
        routes["srfix, columns"] = partial(typed, row, ctx)
    payloads = {name: route() for name, route in routes.items()}
    assert payloads["srfix"] == payloads["fastavro"], "the routes do not agree"
    return routes


def measure(routes: Mapping[str, _Route], *, records: int, rounds: int) -> dict[str, list[float]]:
    """CPU nanoseconds a record in each round, by route."""
    spent: dict[str, list[float]] = {name: [] for name in routes}
    for _ in range(rounds):
        for name, route in routes.items():
            begun = time.process_time_ns()
            for _ in range(records):
                route()
            spent[name].append((time.process_time_ns() - begun) / records)
    return spent


def beside(figures: list[float], others: list[float]) -> float:
    """How many times the other route's figure, as the median over the rounds: what disturbs a round disturbs both."""
    return statistics.median(figure / other for figure, other in zip(figures, others, strict=True))


def main() -> None:
    """Prints one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--records", type=int, default=20_000, help="records per route and round")
    parser.add_argument("--rounds", type=int, default=5, help="interleaved rounds")
    arguments = parser.parse_args()
    print(f"CPU ns a record, median of {arguments.rounds} rounds of {arguments.records:,} records")
    print(f"{'shape':8}{'':8}{'route':16}{'ns':>9}{'/fastavro':>11}{'/confluent':>12}   target")
    for shape in (_FLAT5, _RICH20, _KSQL):
        for what, routes in (("decode", decode_routes(shape)), ("encode", encode_routes(shape))):
            figures = measure(routes, records=arguments.records, rounds=arguments.rounds)
            for route, spent in figures.items():
                ratio = beside(spent, figures["fastavro"])
                target = ""
                if route == "srfix":
                    target = f"≤ {_TARGETS[shape.name]}: {'held' if ratio <= _TARGETS[shape.name] else 'MISSED'}"
                ns, times = statistics.median(spent), beside(spent, figures["confluent"])
                print(f"{shape.name:8}{what:8}{route:16}{ns:9.0f}{ratio:11.2f}{times:12.2f}   {target}")


if __name__ == "__main__":
    main()
