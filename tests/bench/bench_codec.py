"""Avro, decoded and encoded, beside bare fastavro and confluent-kafka: CPU time per record.

    python -m tests.bench.bench_codec [--records N] [--rounds R]

Bare fastavro is what a user would write: a parsed schema, a BytesIO, the five framing bytes. confluent-kafka runs with a
registry that answers from memory, and the topic's subject, for which it asks nothing.

The payloads that are decoded vary, as a topic's do: a cache of values would always hit if there were only one.

Columns are "as is" where they have the writer's names, "folded" where the writer's are lower case and theirs are upper
case. Coercions and a projection are printed, without a gate.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from itertools import repeat
from typing import Final, cast

from confluent_kafka.schema_registry import avro as confluent_avro

from srfix.serde import confluent as drop_in
from srfix.serde.bounds import PayloadBounds, bound_payloads
from srfix.serde.columns.types import Columns
from srfix.serde.deserializer import AvroDeserializer, JsonDeserializer
from srfix.serde.formats.avro.internal_schema import internal_schema
from srfix.serde.interface import Row
from srfix.serde.native import kernel
from srfix.serde.serializer import AvroSerializer, JsonSerializer
from srfix.serde.specs import WriteSpec
from tests.bench.measuring import Route, arguments, gate, measure, table
from tests.bench.peers import (
    BY_TOPIC,
    CTX,
    MemoryRegistry,
    bare_decoding,
    bare_encoding,
    by_id,
    confluent_client,
    versions,
)
from tests.bench.shapes import SHAPES, Shape, lower_names, upper_keys, varied

_NOISE: Final = 1.1
"""What "no dearer" is held against: on a busy machine two runs of the very same work differ by as much."""


_PAYLOADS: Final = 100

_BOUNDS_COST: Final = 1.03
"""What the bounds of `srfix.serde.bounds` may cost, beside the same reading with all of them lifted."""


_DROP_IN: Final = {"flat5": 28, "rich20": 22, "ksql": 28}
"""At least how many times the drop-in's time confluent-kafka takes, where there is the kernel."""


def _subset(schema: str, names: tuple[str, ...]) -> str:
    """A reader schema of some of the fields."""
    record = json.loads(schema)
    record["fields"] = [field for field in record["fields"] if field["name"].upper() in names]
    return json.dumps(record)


def _decoder(payloads: Sequence[bytes], schema: str, columns: Columns | None = None) -> Route:
    return _called(AvroDeserializer(by_id(schema), columns=columns), payloads)


def _called(decode: Callable[..., object], payloads: Sequence[bytes], ctx: object = CTX) -> Route:
    """Decodes the payloads one by one, without a loop in Python, whose cost is nobody's."""
    more = () if ctx is None else (repeat(ctx),)
    return lambda: deque(map(decode, payloads, *more), maxlen=1).pop()


def decode_routes(shape: Shape) -> dict[str, Route]:
    """Some records decoded, by each route, which gives the last, the shape's own."""
    payloads = list(map(bare_encoding(shape.schema), varied(shape.avro_row, _PAYLOADS)[::-1]))
    lowered, client = lower_names(shape.schema), confluent_client(shape.schema)
    theirs = confluent_avro.AvroDeserializer(client, conf=BY_TOPIC)
    ours_for_theirs = drop_in.AvroDeserializer(client, conf=BY_TOPIC)
    projecting = bare_decoding(shape.schema, _subset(shape.schema, shape.projected))
    routes: dict[str, Route] = {
        "fastavro": _called(bare_decoding(shape.schema), payloads, None),
        "srfix": _decoder(payloads, shape.schema),
        "srfix, columns as is": _decoder(payloads, shape.schema, shape.columns),
        "srfix, columns folded": _decoder(payloads, lowered, shape.upper_columns),
        "srfix, coerced": _decoder(payloads, lowered, shape.coerced_columns),
        "srfix, projected": _decoder(payloads, lowered, shape.projected_columns),
        "fastavro, projected": _called(projecting, payloads, None),
        "srfix drop-in": _called(ours_for_theirs, payloads),
        "confluent": _called(theirs, payloads),
    }
    rows = {name: route() for name, route in routes.items()}
    assert rows["fastavro"] == rows["srfix"] == rows["confluent"] == rows["srfix drop-in"], "the routes do not agree"
    assert rows["srfix, columns as is"] == shape.row
    assert rows["srfix, columns folded"] == upper_keys(shape.row, shape.upper_columns)
    return routes


def encode_routes(shape: Shape) -> dict[str, Route]:
    """One record encoded under the shape's schema, by each route."""
    row, client = dict(shape.avro_row), confluent_client(shape.schema)
    ours = AvroSerializer.for_schema(MemoryRegistry(shape.schema), shape.schema)
    theirs = confluent_avro.AvroSerializer(client, shape.schema, conf=BY_TOPIC)
    ours_for_theirs = drop_in.AvroSerializer(client, shape.schema, conf=BY_TOPIC)
    routes: dict[str, Route] = {
        "fastavro": partial(bare_encoding(shape.schema), row),
        "srfix": partial(ours, row, CTX),
        "srfix drop-in": partial(ours_for_theirs, row, CTX),
        "confluent": partial(theirs, row, CTX),
    }
    payloads = {name: route() for name, route in routes.items()}
    assert len(set(payloads.values())) == 1, "the routes do not agree"
    return routes


def internal_routes(shape: Shape) -> dict[str, Route]:
    """One record encoded under the internal schema of its columns, by each route."""
    columns = shape.upper_columns
    schema = internal_schema(WriteSpec(columns=columns))
    row: Row = upper_keys(shape.row, columns)
    entries = {
        column.name: [{"key": key, "value": value} for key, value in cast("Row", row[column.name]).items()]
        for column in columns
        if type(column.type).__name__ == "Map"
    }
    lower_row: Row = {name.lower(): value for name, value in row.items()}
    serializer = AvroSerializer(MemoryRegistry(schema), columns)
    routes: dict[str, Route] = {
        "fastavro": partial(bare_encoding(schema), {**row, **entries}),
        "srfix, columns as is": partial(serializer, row, CTX),
        "srfix, columns folded": partial(serializer, lower_row, CTX),
    }
    payloads = {name: route() for name, route in routes.items()}
    assert len(set(payloads.values())) == 1, "the routes do not agree"
    return routes


def _of_shape(shape: Shape, *, records: int, rounds: int) -> None:
    name, target = shape.name, shape.target
    figures = measure(decode_routes(shape), records=records, rounds=rounds, records_a_turn=_PAYLOADS)
    table(f"{name} decode", figures, "fastavro", "confluent")
    gate(f"{name} decode / fastavro", figures.ratio("srfix", "fastavro"), at_most=target)
    if kernel() is not None:
        gate(f"{name} decode: fastavro / srfix, in the kernel", figures.ratio("fastavro", "srfix"), at_least=6)
    folded = "srfix, columns folded"
    gate(f"{name} decode, columns folded / fastavro", figures.ratio(folded, "fastavro"), at_most=target)
    gate(f"{name} decode, columns folded / as is", figures.ratio(folded, "srfix, columns as is"), at_most=_NOISE)
    gate(f"{name} decode, drop-in / confluent", figures.ratio("srfix drop-in", "confluent"), at_most=1)
    if kernel() is not None:
        gate(
            f"{name} decode: confluent / drop-in", figures.ratio("confluent", "srfix drop-in"), at_least=_DROP_IN[name]
        )
    figures = measure(encode_routes(shape), records=records, rounds=rounds)
    table(f"{name} encode", figures, "fastavro", "confluent")
    gate(f"{name} encode / fastavro", figures.ratio("srfix", "fastavro"), at_most=target)
    if kernel() is not None:
        gate(f"{name} encode: fastavro / srfix, in the kernel", figures.ratio("fastavro", "srfix"), at_least=10)
    gate(f"{name} encode, drop-in / confluent", figures.ratio("srfix drop-in", "confluent"), at_most=1)
    figures = measure(internal_routes(shape), records=records, rounds=rounds)
    table(f"{name} encode, internal schema", figures, "fastavro")
    as_is, folded = "srfix, columns as is", "srfix, columns folded"
    gate(f"{name} encode, columns / fastavro", figures.ratio(as_is, "fastavro"), at_most=target)
    if kernel() is None:
        gate(f"{name} encode, columns folded / as is", figures.ratio(folded, as_is), at_most=_NOISE)
    else:  # such rows are renamed in Python before the kernel writes them
        gate(f"{name} encode: fastavro / columns folded", figures.ratio("fastavro", folded), at_least=1.8)


def bounds_routes(shape: Shape) -> dict[str, Route]:
    """The same payload under the bounds and with all of them lifted, in turns, with columns and without."""
    payload = bare_encoding(shape.schema)(shape.avro_row)
    document = cast("bytes", JsonSerializer(shape.columns)(shape.row, CTX))
    routes: dict[str, Route] = {}
    for label, bounds in (("bounded", PayloadBounds()), ("lifted", PayloadBounds.lifted())):
        before = bound_payloads(bounds)
        for columns, how in ((None, "as written"), (shape.upper_columns, "columns")):
            route = partial(AvroDeserializer(by_id(shape.schema), columns=columns), payload, CTX)
            route()  # makes the plan under these bounds
            routes[f"{label}, {how}"] = route
        json_route = partial(JsonDeserializer(shape.columns), document, CTX)
        json_route()
        routes[f"{label}, JSON"] = json_route
        bound_payloads(before)
    return routes


def _of_bounds(shape: Shape, *, records: int, rounds: int) -> None:
    figures = measure(bounds_routes(shape), records=records, rounds=rounds)
    table(f"{shape.name} decode, bounds", figures, "lifted, as written", "lifted, columns", "lifted, JSON")
    for how in ("as written", "columns", "JSON"):
        gate(
            f"{shape.name} decode, {how}, bounds / none",
            figures.ratio(f"bounded, {how}", f"lifted, {how}"),
            at_most=_BOUNDS_COST,
        )


def main() -> None:
    """Prints the tables and the gates."""
    given = arguments(__doc__, records=500, rounds=21)
    print(f"Avro: CPU ns a record, medians of {given.rounds} rounds of {given.records:,} records. {versions()}.")
    for shape in SHAPES:
        _of_shape(shape, records=given.records, rounds=given.rounds)
        _of_bounds(shape, records=given.records, rounds=given.rounds)


if __name__ == "__main__":
    main()
