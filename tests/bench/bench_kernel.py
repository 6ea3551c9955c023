"""The native kernel beside fastavro, for batches of Avro: CPU time per record. Of single records: `bench_codec`.

    python -m tests.bench.bench_kernel [--records N] [--rounds R]

fastavro runs as a user would write it: a parsed schema, a BytesIO, the five framing bytes. To Arrow its rows go through
`pyarrow.array`, a column at a time; from Arrow they come by `to_pylist`. "Columns" are in upper case over a writer of lower
case; without them a row has what the writer wrote, and Arrow the writer's own names.

Two threads are measured by the clock on the wall: two batches one after the other, and side by side.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, cast

import pyarrow as pa

from srfix.serde import AvroDeserializer, AvroSerializer, deserialize_many
from srfix.serde.arrow import from_arrow, to_arrow
from srfix.serde.columns.types import Map
from srfix.serde.formats.avro import internal_schema
from srfix.serde.interface import Row, Value
from srfix.serde.native import engine_in_words, kernel
from srfix.serde.specs import WriteSpec
from srfix.serde.wire import SchemaId, prefix_id_bytes
from tests.bench.measuring import Route, arguments, gate, measure, table
from tests.bench.peers import (
    CTX,
    PREFIX,
    MemoryRegistry,
    bare_decoding,
    bare_encoding,
    by_id,
    versions,
)
from tests.bench.shapes import SHAPES, Shape, lower_names, varied

_FASTAVRO: Final = "fastavro"
_CONFLUENT: Final = "confluent"
_INTERNAL: Final = "fastavro, internal schema"
_BAD_EVERY: Final = 100
_BATCHES: Final = 5
"""A turn: one batch alone would be measured with what the turn before left in the caches."""
_TURNS: Final = 10
"""Of a batch, by each of two threads."""
_OTHER: Final = prefix_id_bytes(SchemaId(2))


def _internal_rows(rows: Iterable[object], shape: Shape) -> list[Row]:
    """As fastavro takes them under the schema that ksqlDB would register: a map is an array of entries."""
    maps = [column.name for column in shape.upper_columns if isinstance(column.type, Map)]
    return [{**row, **{name: _entries(row[name]) for name in maps}} for row in cast("Iterable[Row]", rows)]


def _entries(value: Value) -> list[Value]:
    assert isinstance(value, dict)
    return [{"key": key, "value": part} for key, part in value.items()]


def _decode_by_hand(payloads: Sequence[bytes], decode: Callable[[bytes], Row], schema: pa.Schema) -> pa.RecordBatch:
    rows = [decode(payload) for payload in payloads]
    columns = [pa.array([row[field.name] for row in rows], field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _encode_by_hand(batch: pa.RecordBatch, encode: Callable[[Row], bytes]) -> pa.BinaryArray:
    return pa.array([encode(row) for row in batch.to_pylist()], pa.binary())


def _many(shape: Shape, *, records: int, rounds: int) -> None:
    """Batches, to Arrow and from it."""
    lowered = lower_names(shape.schema)
    payloads = list(map(bare_encoding(shape.schema), varied(shape.avro_row, records)))
    bad = [payload[:-1] if number % _BAD_EVERY == 0 else payload for number, payload in enumerate(payloads)]
    mixed = [_OTHER + payload[len(PREFIX) :] if number % 2 else payload for number, payload in enumerate(payloads)]
    array, bad_array, mixed_array = (pa.array(each, pa.binary()) for each in (payloads, bad, mixed))
    as_is = AvroDeserializer(by_id(shape.schema), columns=shape.columns)
    folded = AvroDeserializer(by_id(lowered), columns=shape.upper_columns)
    batch = to_arrow(array, CTX, as_is)
    theirs = pa.RecordBatch.from_pylist([bare_decoding(shape.schema)(payloads[0])]).schema
    routes: dict[str, Route] = {
        _FASTAVRO: partial(_decode_by_hand, payloads, bare_decoding(shape.schema), theirs),
        "deserialize_many": lambda: list(deserialize_many(payloads, CTX, as_is)),
        "to_arrow, list": partial(to_arrow, payloads, CTX, as_is),
        "to_arrow": partial(to_arrow, array, CTX, as_is),
        "to_arrow, columns": partial(to_arrow, array, CTX, folded),
        "to_arrow, 1 % bad": partial(to_arrow, bad_array, CTX, as_is, on_error="quarantine"),
        "to_arrow, none bad": partial(to_arrow, array, CTX, as_is, on_error="quarantine"),
        "to_arrow, ids alternate": partial(to_arrow, mixed_array, CTX, as_is),
    }
    figures = measure(routes, records=records * _BATCHES, rounds=rounds, records_a_turn=records)
    table(f"{shape.name} to Arrow", figures, _FASTAVRO, "to_arrow")
    for how in ("to_arrow", "to_arrow, columns"):
        gate(f"{shape.name}: {_FASTAVRO} / {how}", figures.ratio(_FASTAVRO, how), at_least=30)
    gate(f"{shape.name}: 1 % bad / none", figures.ratio("to_arrow, 1 % bad", "to_arrow, none bad"), at_most=1.25)
    gate(f"{shape.name}: ids alternate / one id", figures.ratio("to_arrow, ids alternate", "to_arrow"), at_most=1.5)
    _two_threads(f"{shape.name} to Arrow", routes["to_arrow"], rounds)

    internal = internal_schema(WriteSpec(columns=shape.upper_columns))
    by_hand = cast("pa.RecordBatch", routes[_FASTAVRO]())
    routes = {
        _FASTAVRO: partial(_encode_by_hand, by_hand, bare_encoding(shape.schema)),
        "from_arrow": partial(
            from_arrow, batch, AvroSerializer.for_schema(MemoryRegistry(shape.schema), shape.schema), CTX
        ),
        _INTERNAL: partial(
            _encode_by_hand,
            pa.RecordBatch.from_pylist(_internal_rows(deserialize_many(payloads, CTX, folded), shape)),
            bare_encoding(internal),
        ),
        "from_arrow, columns": partial(
            from_arrow,
            to_arrow(array, CTX, folded),
            AvroSerializer(MemoryRegistry(internal), shape.upper_columns),
            CTX,
        ),
    }
    pairs = (("from_arrow", _FASTAVRO), ("from_arrow, columns", _INTERNAL))
    for name, peer in pairs:
        assert cast("pa.BinaryArray", routes[name]()).equals(routes[peer]()), f"{name} does not agree"
    figures = measure(routes, records=records * _BATCHES, rounds=rounds, records_a_turn=records)
    table(f"{shape.name} from Arrow", figures, _FASTAVRO)
    for name, peer in pairs:
        gate(f"{shape.name}: {peer} / {name}", figures.ratio(peer, name), at_least=30)
    _two_threads(f"{shape.name} from Arrow", routes["from_arrow"], rounds)


def _two_threads(what: str, route: Route, rounds: int) -> None:
    alone: list[float] = []
    beside: list[float] = []

    def work() -> None:
        for _ in range(_TURNS):
            route()

    with ThreadPoolExecutor(2) as pool:
        for _ in range(max(rounds, 5)):
            begun = time.perf_counter()
            work()
            work()
            alone.append(time.perf_counter() - begun)
            begun = time.perf_counter()
            for done in [pool.submit(work), pool.submit(work)]:
                done.result()
            beside.append(time.perf_counter() - begun)
    gate(f"{what}: one thread / two, by the clock", min(alone) / min(beside), at_least=1.6)


def main() -> None:
    """Prints the tables and the gates."""
    if kernel() is None:
        sys.exit(f"There is no native kernel to measure: the engine is {engine_in_words()}. make kernel builds it.")
    given = arguments(__doc__, records=10_000, rounds=7)
    records, rounds = given.records, given.rounds
    print(f"CPU ns a record, {rounds} rounds; batches of {records:,}. {engine_in_words()}; {versions()}.")
    for shape in SHAPES:
        _many(shape, records=records, rounds=rounds)


if __name__ == "__main__":
    main()
