"""JSON, decoded and encoded, beside confluent-kafka: CPU time per record.

    python -m tests.bench.bench_json [--records N] [--rounds R]

Plain JSON is read and written by our serdes without framing, and by confluent-kafka's with it and without validation: it
knows no other. JSON_SR, under the internal JSON Schema of the same columns, with and without validation. confluent-kafka's
deserializer is made in two ways: with the reader's schema alone, and with a registry that answers from memory. The gate of
plain JSON is against the quicker of the two; that of JSON_SR against the one that asks for schemas by id, as ours does.

Batches, into columns: the kernel's way to Arrow and to rows beside Python's, with keys in the columns' letter case (JSON in
lower case, too). Left out where there is no kernel.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, cast

import pyarrow as pa
from confluent_kafka.schema_registry import json_schema as confluent_json

from srfix.serde import confluent as drop_in
from srfix.serde.arrow.decode import to_arrow
from srfix.serde.arrow.row_wise import RowWise
from srfix.serde.batches.rows import deserialize_many
from srfix.serde.casing import CaseRule
from srfix.serde.columns.types import Columns
from srfix.serde.deserializer import JsonDeserializer, JsonSchemaDeserializer
from srfix.serde.formats.json_schema.format import internal_schema
from srfix.serde.interface import Deserializer
from srfix.serde.native import kernel
from srfix.serde.serializer import JsonSchemaSerializer, JsonSerializer
from srfix.serde.specs import WriteSpec
from tests.bench.measuring import Figures, Route, arguments, gate, measure, table
from tests.bench.peers import BY_TOPIC, CTX, PREFIX, MemoryRegistry, by_id, confluent_client, versions
from tests.bench.shapes import SHAPES, Shape, upper_keys
from tests.serde.engines import python_engine

_TIMES: Final = 4
"""A parser in C reads rich20 in 1.0 µs, orjson there as msgspec here: of some 6 to 8 µs there, and of 1.3 to 1.8 µs here.
So the ratio depends on how much faster a machine parses than it runs Python: 4.3 to 5.4 with one code (confluent-kafka 2.16.1).
"""
_TIMES_FLAT5: Final = 7
"""A small row is mostly Python there."""
_OF_PYTHON: Final = 1 / 3
"""What the kernel's way to Arrow may cost of Python's."""
_BATCH: Final = 10_000
_THEIRS: Final = ("confluent, registry", "confluent, own schema")


def _conf(*, validate: bool) -> dict[str, object]:
    return {**BY_TOPIC, "validate": validate}


def _their_decoders(payload: bytes, schema: str, *, validate: bool) -> dict[str, Route]:
    conf, client = _conf(validate=validate), confluent_client(schema, "JSON")
    registry, own = _THEIRS
    return {
        registry: partial(
            confluent_json.JSONDeserializer(None, schema_registry_client=client, conf=conf), payload, CTX
        ),
        own: partial(confluent_json.JSONDeserializer(schema, conf=conf), payload, CTX),
        "srfix drop-in, registry": partial(
            drop_in.JSONDeserializer(None, schema_registry_client=client, conf=conf), payload, CTX
        ),
        "srfix drop-in, own schema": partial(drop_in.JSONDeserializer(schema, conf=conf), payload, CTX),
    }


def _agree(routes: Mapping[str, Route]) -> None:
    results = [route() for route in routes.values()]
    assert all(result == results[0] for result in results), "the routes do not agree"


def plain_decode_routes(shape: Shape, columns: Columns, schema: str) -> dict[str, Route]:
    """One document decoded, by each route; no schema has a say."""
    body = cast("bytes", JsonSerializer(columns)(upper_keys(shape.row, columns), CTX))
    lower_body = json.dumps({name.lower(): value for name, value in json.loads(body).items()}).encode()
    routes: dict[str, Route] = {"srfix": partial(JsonDeserializer(), body, CTX)}
    routes |= _their_decoders(PREFIX + body, schema, validate=False)
    _agree(routes)
    unique, ksqldb = JsonDeserializer(columns), JsonDeserializer(columns, case_rule=CaseRule.KSQLDB)
    with_columns: dict[str, Route] = {
        "srfix, columns, unique": partial(unique, body, CTX),
        "srfix, columns, ksqldb": partial(ksqldb, body, CTX),
        "srfix, columns folded, unique": partial(unique, lower_body, CTX),
        "srfix, columns folded, ksqldb": partial(ksqldb, lower_body, CTX),
        "srfix, columns projected": partial(JsonDeserializer(shape.projected_columns), body, CTX),
        "srfix, columns coerced": partial(JsonDeserializer(shape.coerced_columns), body, CTX),
    }
    return routes | with_columns


def schema_decode_routes(shape: Shape, columns: Columns, schema: str, *, validate: bool) -> dict[str, Route]:
    """One document decoded under its schema, by each route."""
    payload = cast(
        "bytes", JsonSchemaSerializer(MemoryRegistry(schema, "JSON"), columns)(upper_keys(shape.row, columns), CTX)
    )
    resolver = by_id(schema, "JSON")
    routes: dict[str, Route] = {"srfix": partial(JsonSchemaDeserializer(resolver, validate=validate), payload, CTX)}
    routes |= _their_decoders(payload, schema, validate=validate)
    _agree(routes)
    for rule in (CaseRule.UNIQUE, CaseRule.KSQLDB):
        typed = JsonSchemaDeserializer(resolver, columns=columns, case_rule=rule, validate=validate)
        routes[f"srfix, columns, {rule.value}"] = partial(typed, payload, CTX)
    return routes


def encode_routes(shape: Shape, columns: Columns, schema: str, *, validate: bool) -> dict[str, Route]:
    """One document, and one row, encoded under their schema, by each route."""
    registry = MemoryRegistry(schema, "JSON")
    row = upper_keys(shape.row, columns)
    typed = JsonSchemaSerializer(registry, columns, validate=validate)
    document = json.loads(cast("bytes", typed(row, CTX))[len(PREFIX) :])
    client, conf = confluent_client(schema, "JSON"), _conf(validate=validate)
    routes: dict[str, Route] = {
        "srfix": partial(JsonSchemaSerializer.for_schema(registry, schema, validate=validate), document, CTX),
        "srfix drop-in": partial(drop_in.JSONSerializer(schema, client, conf=conf), document, CTX),
        "confluent": partial(confluent_json.JSONSerializer(schema, client, conf=conf), document, CTX),
    }
    _agree(routes)
    routes["srfix, columns"] = partial(typed, row, CTX)
    if not validate:
        routes["srfix, plain JSON"] = partial(JsonSerializer(), document, CTX)
        routes["srfix, plain JSON, columns"] = partial(JsonSerializer(columns), row, CTX)
    return routes


def batch_routes(payloads: list[bytes], make: Callable[[], Deserializer]) -> dict[str, Route]:
    """A batch into columns and into rows, by both engines."""
    native = make()
    with python_engine():
        python = make()
        python(payloads[0], CTX)  # its plan is made now
    binary = pa.array(payloads, pa.binary())
    routes: dict[str, Route] = {
        "to_arrow, list": partial(to_arrow, payloads, CTX, native),
        "to_arrow, BinaryArray": partial(to_arrow, binary, CTX, native),
        "to_arrow, Python": partial(to_arrow, payloads, CTX, python, engine=RowWise),
    }
    batches = [cast("pa.RecordBatch", route()) for route in routes.values()]
    assert all(batch.equals(batches[0]) for batch in batches), "the engines do not agree"
    rows: dict[str, Route] = {
        "deserialize_many": lambda: list(deserialize_many(payloads, CTX, native)),
        "deserialize_many, Python": lambda: list(deserialize_many(payloads, CTX, python)),
        "one by one": lambda: [native(payload, CTX) for payload in payloads],
        "one by one, Python": lambda: [python(payload, CTX) for payload in payloads],
    }
    _agree(rows)
    return routes | rows


def _batches(shape: Shape, *, records: int, rounds: int) -> None:
    columns = shape.upper_columns
    schema = internal_schema(WriteSpec(columns=columns))
    row = upper_keys(shape.row, columns)
    body = cast("bytes", JsonSerializer(columns)(row, CTX))
    lower = json.dumps({name.lower(): value for name, value in json.loads(body).items()}).encode()
    framed = cast("bytes", JsonSchemaSerializer(MemoryRegistry(schema, "JSON"), columns)(row, CTX))
    resolver = by_id(schema, "JSON")
    makers: dict[str, tuple[bytes, Callable[[], Deserializer]]] = {
        "JSON": (body, partial(JsonDeserializer, columns)),
        "JSON in lower case": (lower, partial(JsonDeserializer, columns)),
        "JSON_SR": (framed, partial(JsonSchemaDeserializer, resolver, columns=columns)),
    }
    for format_, (payload, make) in makers.items():
        # Each a bytes of its own, as a consumer gives them.
        payloads = [bytes(bytearray(payload)) for _ in range(records)]
        routes = batch_routes(payloads, make)
        figures = measure(routes, records=records, rounds=rounds, records_a_turn=records)
        table(f"{shape.name} {format_} batches", figures, "to_arrow, Python", "deserialize_many, Python")
        for how in ("list", "BinaryArray"):
            ratio = figures.ratio(f"to_arrow, {how}", "to_arrow, Python")
            gate(f"{shape.name} {format_} to Arrow, {how}: native / Python", ratio, at_most=_OF_PYTHON)


def _gates(name: str, figures: Figures, peer: str) -> None:
    times = _TIMES_FLAT5 if name.startswith("flat5") else _TIMES
    gate(f"{name}: {peer} / srfix", figures.ratio(peer, "srfix"), at_least=times)
    for how in ("registry", "own schema"):
        ratio = figures.ratio(f"srfix drop-in, {how}", f"confluent, {how}")
        gate(f"{name}, {how}: drop-in / confluent", ratio, at_most=1)


def main() -> None:
    """Prints the tables and the gates."""
    given = arguments(__doc__, records=500, rounds=15)
    records, rounds = given.records, given.rounds
    print(f"JSON: CPU ns a record, medians of {rounds} rounds of {records:,} records. {versions()}.")
    for shape in SHAPES if kernel() is not None else ():
        _batches(shape, records=_BATCH, rounds=4)
    for shape in SHAPES:
        columns = shape.upper_columns
        schema = internal_schema(WriteSpec(columns=columns))
        figures = measure(plain_decode_routes(shape, columns, schema), records=records, rounds=rounds)
        table(f"{shape.name} JSON decode", figures, *_THEIRS)
        _gates(f"{shape.name} JSON decode", figures, figures.cheapest(*_THEIRS))
        for validate in (False, True):
            how = "validated" if validate else "unvalidated"
            # The validating peer takes its time.
            some = max(records // 5, 1) if validate else records
            routes = schema_decode_routes(shape, columns, schema, validate=validate)
            figures = measure(routes, records=some, rounds=rounds)
            table(f"{shape.name} JSON_SR decode, {how}", figures, *_THEIRS)
            if not validate:
                _gates(f"{shape.name} JSON_SR decode", figures, "confluent, registry")
            figures = measure(encode_routes(shape, columns, schema, validate=validate), records=some, rounds=rounds)
            table(f"{shape.name} JSON_SR encode, {how}", figures, "confluent")
            gate(
                f"{shape.name} JSON_SR encode, {how}: drop-in / confluent",
                figures.ratio("srfix drop-in", "confluent"),
                at_most=1,
            )


if __name__ == "__main__":
    main()
