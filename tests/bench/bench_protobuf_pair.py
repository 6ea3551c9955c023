"""The Protobuf pair of the drop-in beside confluent-kafka's, on generated classes: CPU time per record.

    python -m tests.bench.bench_protobuf_pair [--records N] [--rounds R]

The runtime alone, `SerializeToString` and `FromString` without framing, is what neither can go below. Both pairs run with a
registry that answers from memory, and the topic's subject, for which they ask nothing.
"""

from __future__ import annotations

from functools import partial
from typing import Any, cast

from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry import protobuf as confluent_protobuf

from srfix.serde.confluent import ProtobufDeserializer, ProtobufSerializer
from tests.bench.measuring import Route, arguments, gate, measure, table
from tests.bench.peers import BY_TOPIC, CTX, versions
from tests.serde.confluent.protos import message_class


def _messages() -> dict[str, Any]:
    first, order, line = (message_class(name) for name in ("First", "Order", "Order.Line"))
    lines = [line(text=f"line {number}", amount=number, taxes={"vat": {"rate": 0.2}}) for number in range(10)]
    return {
        "one field": first(name="a name"),
        "an order": order(id=7, note="a note", numbers=range(5), at={"seconds": 1_700_000_000}, colour=1),
        "an order of ten lines": order(id=7, lines=lines, blobs={1: b"blob"}),
        "a nested message": lines[0],
    }


def _routes(message: Any) -> tuple[dict[str, Route], dict[str, Route]]:
    """One message written, and read, by each route."""
    message_type, client = type(message), SchemaRegistryClient.new_client({"url": "mock://"})
    encode: dict[str, Route] = {
        "protobuf": message.SerializeToString,
        "srfix drop-in": partial(ProtobufSerializer(message_type, client), message, CTX),
        "confluent": partial(confluent_protobuf.ProtobufSerializer(message_type, client, BY_TOPIC), message, CTX),
    }
    payload = cast("bytes", encode["confluent"]())
    assert encode["srfix drop-in"]() == payload, "the routes do not agree"
    decode: dict[str, Route] = {
        "protobuf": partial(message_type.FromString, message.SerializeToString()),
        "srfix drop-in": partial(ProtobufDeserializer(message_type, None, client), payload, CTX),
        "srfix drop-in, without a class": partial(ProtobufDeserializer(None, None, client), payload, CTX),
        "confluent": partial(confluent_protobuf.ProtobufDeserializer(message_type, BY_TOPIC, client), payload, CTX),
    }
    assert decode["protobuf"]() == decode["srfix drop-in"]() == decode["confluent"]() == message
    return encode, decode


def main() -> None:
    """Prints the tables and the gates."""
    given = arguments(__doc__, records=500, rounds=21)
    print(f"Protobuf: CPU ns a record, medians of {given.rounds} rounds of {given.records:,} records. {versions()}.")
    for name, message in _messages().items():
        for way, routes in zip(("encode", "decode"), _routes(message), strict=True):
            figures = measure(routes, records=given.records, rounds=given.rounds)
            table(f"{name}, {way}", figures, "protobuf", "confluent")
            gate(f"{name}, {way}: drop-in / confluent", figures.ratio("srfix drop-in", "confluent"), at_most=1)


if __name__ == "__main__":
    main()
