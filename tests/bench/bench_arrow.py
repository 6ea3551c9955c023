"""Batches, to Arrow and from it, beside loops of single records: CPU time per record.

    python -m tests.bench.bench_arrow [--records N] [--rounds R]

The loops are what a user would write: a deserializer for each payload, then `pyarrow.array` for each column; `to_pylist`,
then a serializer for each row, then `pyarrow.array`. Payloads come as a list and as a BinaryArray. Plain Avro, with
upper-case columns over lower-case fields, and plain JSON. "Array of structs" is all columns in one call of
pyarrow's: printed, without a gate.
"""

from __future__ import annotations

from functools import partial
from typing import Final, cast

import pyarrow as pa

from srfix.serde.arrow.decode import to_arrow
from srfix.serde.arrow.encode import from_arrow
from srfix.serde.arrow.types import arrow_schema
from srfix.serde.batches.batches import deserialize_many
from srfix.serde.columns.types import Columns
from srfix.serde.deserializer import AvroDeserializer, JsonDeserializer
from srfix.serde.formats.avro.internal_schema import internal_schema
from srfix.serde.interface import Deserializer, Row, Serializer
from srfix.serde.serializer import AvroSerializer, JsonSerializer
from tests.bench.measuring import Route, arguments, gate, measure, table
from tests.bench.peers import CTX, MemoryRegistry, by_id, versions
from tests.bench.shapes import SHAPES, lower_names, upper_keys

_BY_HAND: Final = "decode + pyarrow.array"
_NOISE: Final = 1.05
"""What "no slower" is held against: on a busy machine two runs of the very same work differ by as much."""


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


if __name__ == "__main__":
    main()
