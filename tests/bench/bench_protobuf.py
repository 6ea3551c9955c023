"""Protobuf, decoded and encoded, beside the runtime by hand and confluent-kafka: CPU time per record.

    python -m tests.bench.bench_protobuf [--records N] [--rounds R]

By hand is the cheapest that a user would write to have a dict: the class by the schema id, `FromString`, and each field by its
name, in one expression (`MessageToDict` costs four times as much, and is printed without a gate). confluent-kafka gives a
message and no dict, with a class that is generated beforehand. Payloads differ from record to record, so that nothing is
answered from memory.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from itertools import cycle
from random import Random
from struct import Struct
from typing import Any, Final

from confluent_kafka.schema_registry import protobuf as confluent_protobuf
from google.protobuf.json_format import MessageToDict
from google.protobuf.message_factory import GetMessageClass

from srfix.serde.casing import CaseRule
from srfix.serde.columns.text import parse_columns
from srfix.serde.deserializer import ProtobufDeserializer
from srfix.serde.formats.protobuf import internal_schema
from srfix.serde.formats.protobuf.descriptors import compiled
from srfix.serde.interface import Row
from srfix.serde.serializer import ProtobufSerializer
from srfix.serde.specs import WriteSpec
from tests.bench.measuring import Route, arguments, gate, measure, table
from tests.bench.peers import CTX, PREFIX, MemoryRegistry, by_id, versions

_MOST: Final = 1.5
"""What rows of columns may cost of what is written by hand."""
_PAYLOADS: Final = 1_000
_FLAT: Final = "ID BIGINT, NAME STRING, COUNT INT, PRICE DOUBLE, OK BOOLEAN"
_RICH: Final = (
    "ID BIGINT, A STRING, B STRING, C INT, D INT, E BIGINT, F DOUBLE, G BOOLEAN, H BYTES, I STRUCT<X INT, Y STRING, Z BIGINT>, "
    "J ARRAY<INT>, K ARRAY<STRUCT<P INT, Q STRING>>, L MAP<STRING, BIGINT>, M STRING, N INT, O BIGINT"
)
_TIMES: Final = "ID BIGINT, NAME STRING, SEEN TIMESTAMP, DAY DATE, PRICE DECIMAL(9, 2)"


def _flat_by_hand(m: Any) -> Row:
    return {"ID": m.ID, "NAME": m.NAME, "COUNT": m.COUNT, "PRICE": m.PRICE, "OK": m.OK}


def _rich_by_hand(m: Any) -> Row:
    return {
        "ID": m.ID, "A": m.A, "B": m.B, "C": m.C, "D": m.D, "E": m.E, "F": m.F, "G": m.G, "H": m.H,
        "I": {"X": m.I.X, "Y": m.I.Y, "Z": m.I.Z} if m.HasField("I") else None,
        "J": list(m.J), "K": [{"P": k.P, "Q": k.Q} for k in m.K], "L": {e.key: e.value for e in m.L}, "M": m.M, "N": m.N,
        "O": m.O,
    }  # fmt: skip


def _flat(random: Random) -> Row:
    return {
        "ID": random.randrange(2**40), "NAME": f"name {random.randrange(10**6)}", "COUNT": random.randrange(-100, 10_000),
        "PRICE": random.random(), "OK": random.random() < 0.5,
    }  # fmt: skip


def _rich(random: Random) -> Row:
    def text() -> str:
        return f"text {random.randrange(10**6)}"

    return {
        "ID": random.randrange(2**40), "A": text(), "B": text(), "C": random.randrange(100), "D": random.randrange(2**31),
        "E": random.randrange(2**60), "F": random.random(), "G": True, "H": random.randbytes(8),
        "I": {"X": random.randrange(100), "Y": text(), "Z": random.randrange(2**40)},
        "J": [random.randrange(2**20) for _ in range(5)], "K": [{"P": random.randrange(100), "Q": text()} for _ in range(3)],
        "L": {text(): random.randrange(2**40) for _ in range(3)}, "M": text(), "N": 0, "O": random.randrange(2**40),
    }  # fmt: skip


def _times(random: Random) -> Row:
    from decimal import Decimal

    at = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(milliseconds=random.randrange(10**10))
    return {
        "ID": random.randrange(2**40), "NAME": f"name {random.randrange(10**6)}", "SEEN": at, "DAY": at.date(),
        "PRICE": Decimal(random.randrange(10**8)).scaleb(-2),
    }  # fmt: skip


_SHAPES: Final[tuple[tuple[str, str, Callable[[Random], Row], Callable[[Any], Row] | None], ...]] = (
    ("flat5", _FLAT, _flat, _flat_by_hand),
    ("rich16", _RICH, _rich, _rich_by_hand),
    ("times5", _TIMES, _times, None),
)


def _reading(parsers: dict[int, Callable[[bytes], Any]], by_hand: Callable[[Any], Row]) -> Callable[[bytes], Row]:
    head = Struct(">bIb")

    def read(payload: bytes) -> Row:
        magic, schema_id, index = head.unpack_from(payload)
        if magic or index:
            raise ValueError
        return by_hand(parsers[schema_id](payload[6:]))

    return read


def _turning(call: Callable[..., object], many: list[Any], *more: object) -> Route:
    turn = cycle(many)
    return lambda: call(next(turn), *more)


def _decode(
    name: str, declared: str, rows: list[Row], by_hand: Callable[[Any], Row] | None, records: int, rounds: int
) -> None:
    columns = parse_columns(declared)
    text = internal_schema(WriteSpec(columns=columns))
    write = ProtobufSerializer(MemoryRegistry(text, "PROTOBUF"), columns)
    payloads = [write(row, CTX) for row in rows]
    made = GetMessageClass(compiled(text).message())
    body = len(PREFIX) + 1
    deserializers = {
        f"srfix, columns, {rule.value}": ProtobufDeserializer(by_id(text, "PROTOBUF"), columns=columns, case_rule=rule)
        for rule in (CaseRule.UNIQUE, CaseRule.KSQLDB)
    }
    theirs = confluent_protobuf.ProtobufDeserializer(made, {"use.deprecated.format": False})
    routes: dict[str, Route] = {how: _turning(read, payloads, CTX) for how, read in deserializers.items()}
    parse = made.FromString
    routes["FromString alone"] = _turning(lambda payload: parse(payload[body:]), payloads)
    if by_hand is not None:
        assert [by_hand(parse(payload[body:])) for payload in payloads if payload] == rows
        routes["by hand"] = _turning(_reading({1: parse}, by_hand), payloads)
    routes["MessageToDict"] = _turning(lambda payload: MessageToDict(parse(payload[body:])), payloads)
    routes["srfix, without columns"] = _turning(ProtobufDeserializer(by_id(text, "PROTOBUF")), payloads, CTX)
    routes["confluent, a message"] = _turning(theirs, payloads, CTX)
    assert all([read(payload, CTX) for payload in payloads] == rows for read in deserializers.values())
    figures = measure(routes, records=records, rounds=rounds)
    beside = "by hand" if by_hand is not None else "MessageToDict"
    table(f"{name} Protobuf decode", figures, beside, "confluent, a message")
    for how in deserializers:
        ratio = figures.ratio(how, beside)
        gate(f"{name} Protobuf decode: {how} / {beside}", ratio, at_most=_MOST if by_hand is not None else 1)


def _encode(name: str, declared: str, rows: list[Row], records: int, rounds: int) -> None:
    columns = parse_columns(declared)
    text = internal_schema(WriteSpec(columns=columns))
    write = ProtobufSerializer(MemoryRegistry(text, "PROTOBUF"), columns)
    made = GetMessageClass(compiled(text).message())
    messages = [made.FromString((write(row, CTX) or b"")[len(PREFIX) + 1 :]) for row in rows]
    routes: dict[str, Route] = {"srfix, columns": _turning(write, rows, CTX)}
    if "MAP" not in declared and "DECIMAL" not in declared:
        head = PREFIX + b"\0"
        routes["by hand"] = _turning(lambda row: head + made(**row).SerializeToString(), rows)
    routes["SerializeToString alone"] = _turning(made.SerializeToString, messages)
    figures = measure(routes, records=records, rounds=rounds)
    table(f"{name} Protobuf encode", figures, *(["by hand"] if "by hand" in routes else []), "SerializeToString alone")


def main() -> None:
    """Prints the tables and the gates."""
    given = arguments(__doc__, records=1_000, rounds=15)
    print(f"Protobuf: CPU ns a record, medians of {given.rounds} rounds of {given.records:,} records. {versions()}.")
    for name, declared, make, by_hand in _SHAPES:
        random = Random(name)
        rows = [make(random) for _ in range(_PAYLOADS)]
        _decode(name, declared, rows, by_hand, given.records, given.rounds)
        _encode(name, declared, rows, given.records, given.rounds)


if __name__ == "__main__":
    main()
