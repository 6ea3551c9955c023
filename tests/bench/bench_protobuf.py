"""Protobuf, decoded and encoded, beside the runtime by hand and confluent-kafka: CPU time per record.

    python -m tests.bench.bench_protobuf [--records N] [--rounds R]

By hand is the cheapest that a user would write. To read: the class by the schema id, `FromString`, and each field by its name,
in one expression. `MessageToDict` costs about four times as much; only rows of times, which nobody would read by hand, are held
against it. To write: the class with the row's values in the runtime's form, and `SerializeToString`; nothing is checked but
what the runtime checks. confluent-kafka reads and writes messages, not dicts, with a class that is generated beforehand; to
write, it gets the message that is made by hand.
`ParseDict` gets documents that already have JSON's forms. Rows and payloads differ from record to record, so that nothing is
answered from memory.

Some rows are not kind to srfix: half of their values are null (nulls16), they are long lists, in which it checks each value
(lists3), or their names have another letter case than the columns (lower5).
"""

from __future__ import annotations

import base64
import datetime
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from itertools import cycle
from random import Random
from struct import Struct
from typing import Any, Final

from confluent_kafka.schema_registry import protobuf as confluent_protobuf
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message_factory import GetMessageClass

from srfix.serde.casing import CaseRule
from srfix.serde.columns.text import parse_columns
from srfix.serde.deserializer import ProtobufDeserializer
from srfix.serde.formats.protobuf.descriptors import compiled
from srfix.serde.formats.protobuf.internal import internal_schema
from srfix.serde.interface import Row, Value
from srfix.serde.serializer import ProtobufSerializer
from srfix.serde.specs import WriteSpec
from tests.bench.measuring import Route, arguments, gate, measure, table
from tests.bench.peers import BY_TOPIC, CTX, PREFIX, MemoryRegistry, by_id, confluent_client, versions

_MOST: Final = 1.5
"""What reading rows of columns may cost of what is written by hand."""
_WRITTEN_BESIDE: Final = {
    "by hand": 4.3,
    "ParseDict": 0.45,
    "confluent, by hand": 2.7,
}
"""What writing rows of columns may cost of other ways. srfix checks the values' types, and copies each dict and list; by hand
only the runtime checks. Therefore lists of STRUCTs, and rows with other nulls each time, cost the most; rows of plain values
cost less than confluent-kafka's."""
_FLAT_BESIDE: Final = {**_WRITTEN_BESIDE, "confluent, by hand": 1.0}
_PAYLOADS: Final = 1_000
_FLAT: Final = "ID BIGINT, NAME STRING, COUNT INT, PRICE DOUBLE, OK BOOLEAN"
_RICH: Final = (
    "ID BIGINT, A STRING, B STRING, C INT, D INT, E BIGINT, F DOUBLE, G BOOLEAN, H BYTES, I STRUCT<X INT, Y STRING, Z BIGINT>, "
    "J ARRAY<INT>, K ARRAY<STRUCT<P INT, Q STRING>>, L MAP<STRING, BIGINT>, M STRING, N INT, O BIGINT"
)
_TIMES: Final = "ID BIGINT, NAME STRING, SEEN TIMESTAMP, DAY DATE, PRICE DECIMAL(9, 2)"
_LISTS: Final = "ID BIGINT, J ARRAY<INT>, K ARRAY<STRUCT<P INT, Q STRING>>"


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
        "E": random.randrange(2**60), "F": random.random(), "G": random.random() < 0.5, "H": random.randbytes(8),
        "I": {"X": random.randrange(100), "Y": text(), "Z": random.randrange(2**40)},
        "J": [random.randrange(2**20) for _ in range(5)], "K": [{"P": random.randrange(100), "Q": text()} for _ in range(3)],
        "L": {text(): random.randrange(2**40) for _ in range(3)}, "M": text(), "N": random.randrange(3),
        "O": random.randrange(2**40),
    }  # fmt: skip


def _times(random: Random) -> Row:
    at = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(milliseconds=random.randrange(10**10))
    return {
        "ID": random.randrange(2**40), "NAME": f"name {random.randrange(10**6)}", "SEEN": at, "DAY": at.date(),
        "PRICE": Decimal(random.randrange(10**8)).scaleb(-2),
    }  # fmt: skip


def _nulls(random: Random) -> Row:
    return {name: value if random.random() < 0.5 else None for name, value in _rich(random).items()}


def _lists(random: Random) -> Row:
    lines: list[Value] = [{"P": random.randrange(100), "Q": f"tëxt {random.randrange(10**6)}"} for _ in range(40)]
    return {"ID": random.randrange(2**40), "J": [random.randrange(2**20) for _ in range(100)], "K": lines}


def _lower(random: Random) -> Row:
    return {name.lower(): value for name, value in _flat(random).items()}


def _same(row: Any) -> Any:
    return row


def _rich_fields(row: Any) -> Any:
    entries = row["L"]
    return {**row, "L": entries if entries is None else [{"key": key, "value": entries[key]} for key in entries]}


def _rich_json(row: Any) -> Any:
    fields = {name: value for name, value in _rich_fields(row).items() if value is not None}
    return {**fields, "H": base64.b64encode(row["H"]).decode()} if "H" in fields else fields


def _times_fields(row: Any) -> Any:
    at, day, price = row["SEEN"], row["DAY"], row["PRICE"]
    unscaled = int(price.scaleb(2))
    value = unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big")
    return {
        "ID": row["ID"], "NAME": row["NAME"],
        "SEEN": {"seconds": int(at.timestamp()), "nanos": at.microsecond * 1000},
        "DAY": {"year": day.year, "month": day.month, "day": day.day},
        "PRICE": {"value": value, "precision": len(str(unscaled)), "scale": 2},
    }  # fmt: skip


def _times_json(row: Any) -> Any:
    fields = _times_fields(row)
    price = {**fields["PRICE"], "value": base64.b64encode(fields["PRICE"]["value"]).decode()}
    return {**fields, "SEEN": f"{row['SEEN']:%Y-%m-%dT%H:%M:%S.%f}Z", "PRICE": price}


def _lower_fields(row: Any) -> Any:
    return {"ID": row["id"], "NAME": row["name"], "COUNT": row["count"], "PRICE": row["price"], "OK": row["ok"]}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    name: str
    columns: str
    row: Callable[[Random], Row]
    read: Callable[[Any], Row] | None = None
    """A message, by hand, as a row. None if nobody would write it by hand."""
    fields: Callable[[Any], Any] = _same
    """A row, by hand, as what the message's class takes."""
    json: Callable[[Any], Any] | None = None
    """A row as ParseDict takes it; None if it is as `fields` gives it."""
    is_read: bool = True
    """Whether its reading is measured as well: rows with nulls are not read as they were written."""


_SHAPES: Final = (
    _Shape(name="flat5", columns=_FLAT, row=_flat, read=_flat_by_hand),
    _Shape(name="rich16", columns=_RICH, row=_rich, read=_rich_by_hand, fields=_rich_fields, json=_rich_json),
    _Shape(name="times5", columns=_TIMES, row=_times, fields=_times_fields, json=_times_json),
    _Shape(name="nulls16", columns=_RICH, row=_nulls, fields=_rich_fields, json=_rich_json, is_read=False),
    _Shape(name="lists3", columns=_LISTS, row=_lists, is_read=False),
    _Shape(name="lower5", columns=_FLAT, row=_lower, fields=_lower_fields, is_read=False),
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


def _decode(shape: _Shape, rows: list[Row], records: int, rounds: int) -> None:
    columns, by_hand = parse_columns(shape.columns), shape.read
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
    table(f"{shape.name} Protobuf decode", figures, beside, "confluent, a message")
    for how in deserializers:
        ratio = figures.ratio(how, beside)
        gate(f"{shape.name} Protobuf decode: {how} / {beside}", ratio, at_most=_MOST if by_hand is not None else 1)


def _encode(shape: _Shape, rows: list[Row], records: int, rounds: int) -> None:
    columns = parse_columns(shape.columns)
    text = internal_schema(WriteSpec(columns=columns))
    write = ProtobufSerializer(MemoryRegistry(text, "PROTOBUF"), columns)
    made = GetMessageClass(compiled(text).message())
    theirs = confluent_protobuf.ProtobufSerializer(made, confluent_client(text, "PROTOBUF"), BY_TOPIC)
    fields, head = shape.fields, PREFIX + b"\0"
    documents = [(shape.json or fields)(row) for row in rows]
    messages = [made(**fields(row)) for row in rows]

    def by_hand(row: Row) -> bytes:
        return head + made(**fields(row)).SerializeToString()

    def by_parse_dict(document: Any) -> bytes:
        return head + ParseDict(document, made()).SerializeToString()

    for row, document in zip(rows, documents, strict=True):
        assert write(row, CTX) == by_hand(row) == by_parse_dict(document), "the routes do not agree"
        assert (theirs(made(**fields(row)), CTX) or b"")[len(PREFIX) :] == by_hand(row)[len(PREFIX) :]
    routes: dict[str, Route] = {
        "srfix, columns": _turning(write, rows, CTX),
        "by hand": _turning(by_hand, rows),
        "ParseDict": _turning(by_parse_dict, documents),
        "confluent, by hand": _turning(lambda row: theirs(made(**fields(row)), CTX), rows),
        "confluent, a message ready": _turning(theirs, messages, CTX),
        "SerializeToString alone": _turning(made.SerializeToString, messages),
    }
    figures = measure(routes, records=records, rounds=rounds)
    table(f"{shape.name} Protobuf encode", figures, *_WRITTEN_BESIDE)
    for other, most in (_FLAT_BESIDE if shape.columns is _FLAT else _WRITTEN_BESIDE).items():
        gate(f"{shape.name} Protobuf encode: srfix / {other}", figures.ratio("srfix, columns", other), at_most=most)


def main() -> None:
    """Prints the tables and the gates."""
    given = arguments(__doc__, records=1_000, rounds=15)
    print(f"Protobuf: CPU ns a record, medians of {given.rounds} rounds of {given.records:,} records. {versions()}.")
    for shape in _SHAPES:
        random = Random(shape.name)
        rows = [shape.row(random) for _ in range(_PAYLOADS)]
        if shape.is_read:
            _decode(shape, rows, given.records, given.rounds)
        _encode(shape, rows, given.records, given.rounds)


if __name__ == "__main__":
    main()
