"""Batches, to Arrow and from it, beside loops of single records: CPU time per record.

    python -m tests.bench.bench_arrow [--records N] [--rounds R]

The loops are what a user would write: a deserializer for each payload, then `pyarrow.array` for each column; `to_pylist`,
then a serializer for each row, then `pyarrow.array`. Payloads come as a list and as a BinaryArray. Plain Avro, with
upper-case columns over lower-case fields, and plain JSON. "Array of structs" is all columns in one call of
pyarrow's: printed, without a gate.

"Arrow to bytes" stands beside fastavro's writer, which has the dicts at hand: `from_arrow` under the same schema, with columns
and without, alone and in two threads (by the clock).
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from io import BytesIO
from typing import Final, cast

import fastavro
import pyarrow as pa

from srfix.serde.arrow.decode import to_arrow
from srfix.serde.arrow.encode import from_arrow
from srfix.serde.arrow.types import arrow_schema
from srfix.serde.batches.batches import deserialize_many
from srfix.serde.columns.types import Columns, Map
from srfix.serde.deserializer import AvroDeserializer, JsonDeserializer
from srfix.serde.formats.avro.internal_schema import internal_schema
from srfix.serde.interface import Deserializer, Row, Serializer
from srfix.serde.native import kernel
from srfix.serde.serializer import AvroSerializer, JsonSerializer
from tests.bench.measuring import Route, arguments, gate, measure, table
from tests.bench.peers import CTX, PREFIX, MemoryRegistry, by_id, versions
from tests.bench.shapes import SHAPES, Shape, lower_names, upper_keys

_BY_HAND: Final = "decode + pyarrow.array"
_NOISE: Final = 1.05
"""What "no slower" is held against: on a busy machine two runs of the very same work differ by as much."""
_FASTER: Final = 30
"""How many times as fast as fastavro Arrow is to become bytes."""
_TWO_THREADS: Final = 1.6
_TURNS: Final = 20
_BATCHES: Final = 5


def _arrays(payloads: list[bytes], deserialize: Deserializer, schema: pa.Schema) -> pa.RecordBatch:
    rows = [cast("Row", deserialize(payload, CTX)) for payload in payloads]
    arrays = [pa.array([row[field.name] for row in rows], field.type) for field in schema]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _structs(payloads: list[bytes], deserialize: Deserializer, schema: pa.Schema) -> pa.RecordBatch:
    rows = [deserialize(payload, CTX) for payload in payloads]
    return pa.RecordBatch.from_struct_array(pa.array(rows, pa.struct(schema)))


def _decode_loop(payloads: list[bytes], deserialize: Deserializer) -> list[object]:
    return [deserialize(payload, CTX) for payload in payloads]


def _encode_loop(batch: pa.RecordBatch, serialize: Serializer) -> pa.BinaryArray:
    return pa.array([serialize(row, CTX) for row in batch.to_pylist(maps_as_pydicts="strict")], pa.binary())


def decode_routes(payloads: list[bytes], deserialize: Deserializer, columns: Columns) -> dict[str, Route]:
    """All payloads, by each route."""
    schema = arrow_schema(columns)
    binary = pa.array(payloads, pa.binary())
    batches: dict[str, Route] = {
        "to_arrow, list": partial(to_arrow, payloads, CTX, deserialize),
        "to_arrow, BinaryArray": partial(to_arrow, binary, CTX, deserialize),
        _BY_HAND: partial(_arrays, payloads, deserialize, schema),
        "decode + array of structs": partial(_structs, payloads, deserialize, schema),
    }
    expected = cast("pa.RecordBatch", batches[_BY_HAND]())
    for name, route in batches.items():
        batch = cast("pa.RecordBatch", route())
        assert batch.select(schema.names).equals(expected), f"{name} does not agree"
    rows: dict[str, Route] = {
        "deserialize_many": lambda: list(deserialize_many(payloads, CTX, deserialize)),
        "decode loop": partial(_decode_loop, payloads, deserialize),
    }
    assert rows["deserialize_many"]() == rows["decode loop"]()
    return batches | rows


def encode_routes(batch: pa.RecordBatch, serialize: Serializer) -> dict[str, Route]:
    """All rows, by each route."""
    routes: dict[str, Route] = {
        "from_arrow": partial(from_arrow, batch, serialize, CTX),
        "to_pylist + encode + array": partial(_encode_loop, batch, serialize),
    }
    results = [cast("pa.BinaryArray", route()) for route in routes.values()]
    assert results[0].equals(results[1]), "the routes do not agree"
    return routes


def _bare_loop(records: int, schema: str, row: Mapping[str, object]) -> None:
    """Bare fastavro, framed by hand, from dicts."""
    write, parsed = fastavro.schemaless_writer, cast("dict[object, object]", fastavro.parse_schema(json.loads(schema)))
    for _ in range(records):
        out = BytesIO()
        out.write(PREFIX)
        write(out, parsed, row)
        out.getvalue()


def _encoded_ways(shape: Shape) -> Iterator[tuple[str, AvroSerializer, Columns, Mapping[str, object]]]:
    """A serializer, the columns of its batches, and a row as fastavro takes it: with the schema alone, and with columns."""
    plain = AvroSerializer.for_schema(MemoryRegistry(shape.schema), shape.schema)
    yield "schema", plain, shape.columns, shape.avro_row
    columns = shape.upper_columns
    row = upper_keys(shape.row, columns)
    entries = {
        column.name: [{"key": key, "value": value} for key, value in cast("Row", row[column.name]).items()]
        for column in columns
        if isinstance(column.type, Map)
    }
    yield "columns", AvroSerializer(MemoryRegistry(internal_schema(columns)), columns), columns, {**row, **entries}


def _speedup_of_two(route: Route, rounds: int) -> float:
    """How many times as fast two threads are as one, at twice the work, by the clock: of the least times."""
    least: dict[int, float] = {}
    with ThreadPoolExecutor(2) as pool:
        for _ in range(rounds * _TURNS):
            for threads in (1, 2):
                begun = time.perf_counter()
                wait([pool.submit(_turns, route) for _ in range(threads)])
                least[threads] = min(least.get(threads, math.inf), time.perf_counter() - begun)
    return 2 * least[1] / least[2]


def _turns(route: Route) -> None:
    for _ in range(_TURNS):
        route()


def against_fastavro(shape: Shape, records: int, rounds: int) -> None:
    """Prints Arrow to bytes beside fastavro."""
    for way, serialize, columns, row in _encoded_ways(shape):
        schema = serialize.schema.text
        given = {column.name: shape.row.get(column.name, shape.row.get(column.name.lower())) for column in columns}
        payload = serialize(upper_keys(given, columns) if way == "columns" else given, CTX)
        batch = to_arrow([payload] * records, CTX, AvroDeserializer(by_id(schema), columns=columns))
        from_batch = partial(from_arrow, batch, serialize, CTX)
        assert from_batch().equals(pa.array([payload] * records, pa.binary())), "the routes do not agree"
        routes: dict[str, Route] = {
            "fastavro": partial(_bare_loop, records, schema, row),
            "from_arrow": from_batch,
        }
        # One batch is so short that a turn of it would measure what the turn before left in the caches.
        figures = measure(routes, records=records * _BATCHES, rounds=rounds, records_a_turn=records)
        table(f"{shape.name}, {way}: Arrow to bytes", figures, "fastavro")
        if kernel() is not None:
            ratio = figures.ratio("fastavro", "from_arrow")
            gate(f"{shape.name}, {way}: fastavro / from_arrow", ratio, at_least=_FASTER)
            speedup = _speedup_of_two(from_batch, rounds)
            gate(f"{shape.name}, {way}: from_arrow, two threads / one", speedup, at_least=_TWO_THREADS)


def main() -> None:
    """Prints the tables and the gates."""
    given = arguments(__doc__, records=10_000, rounds=4)
    records, rounds = given.records, given.rounds
    print(f"Arrow: CPU ns a record, the least of {rounds} rounds of one batch of {records:,} payloads. {versions()}.")
    for shape in SHAPES:
        columns = shape.upper_columns
        schema = internal_schema(columns)
        row = upper_keys(shape.row, columns)
        avro = AvroSerializer(MemoryRegistry(schema), columns)
        formats: dict[str, tuple[Serializer, Deserializer]] = {
            "Avro": (avro, AvroDeserializer(by_id(lower_names(schema)), columns=columns)),
            "JSON": (JsonSerializer(columns), JsonDeserializer(columns)),
        }
        for format_, (serialize, deserialize) in formats.items():
            # Each a bytes of its own, as a consumer gives them.
            payloads = [bytes(bytearray(cast("bytes", serialize(row, CTX)))) for _ in range(records)]
            routes = decode_routes(payloads, deserialize, columns)
            figures = measure(routes, records=records, rounds=rounds, records_a_turn=records)
            table(f"{shape.name} {format_} decode", figures, _BY_HAND, "decode + array of structs", "decode loop")
            for how in ("list", "BinaryArray"):
                ratio = figures.ratio(f"to_arrow, {how}", _BY_HAND)
                gate(f"{shape.name} {format_}: to_arrow, {how} / {_BY_HAND}", ratio, at_most=_NOISE)
            batch = to_arrow(payloads, CTX, deserialize)
            figures = measure(encode_routes(batch, serialize), records=records, rounds=rounds, records_a_turn=records)
            table(f"{shape.name} {format_} encode", figures, "to_pylist + encode + array")
            ratio = figures.ratio("from_arrow", "to_pylist + encode + array")
            gate(f"{shape.name} {format_}: from_arrow / loop", ratio, at_most=_NOISE)
        against_fastavro(shape, records, rounds)


if __name__ == "__main__":
    main()
