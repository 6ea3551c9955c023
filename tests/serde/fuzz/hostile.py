"""Payloads that were made to take more than they are worth, for every format, read by every engine in a process with limits.

    python -m tests.serde.fuzz.hostile FORMAT COUNT SEED ENGINE…

reads COUNT payloads by each of the engines, and prints a line of JSON for each engine: how many were read, and what came
of them. The address space is limited, and the CPU time of each payload. Whatever is accepted must hold no more values than
`PayloadBounds.budget` grants. Most payloads are read under small bounds, which small payloads exceed as well; one in
2,500 is near a megabyte, and read under the bounds that are in force by default.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, Protocol, cast

from srfix.serde.arrow.decode import to_arrow
from srfix.serde.arrow.value_wise import ValueWise
from srfix.serde.batches import deserialize_many
from srfix.serde.bounds import PayloadBounds, bound_payloads, payload_bounds
from srfix.serde.casing import CaseRule
from srfix.serde.columns import parse_columns
from srfix.serde.deserializer import (
    AvroDeserializer,
    JsonDeserializer,
    JsonSchemaDeserializer,
    KafkaDeserializer,
    SchemaDeserializer,
    WindowedDeserializer,
)
from srfix.serde.formats import json_schema
from srfix.serde.formats.table import Format
from srfix.serde.interface import Deserializer, SerdeContext
from srfix.serde.json_values import to_json
from srfix.serde.resolve import ById
from srfix.serde.spark._worker import PlanDecoder
from srfix.serde.spark.plan import ReadPlan
from srfix.serde.subjects import Role
from srfix.serde.windowed import Window, WindowKind, join
from srfix.serde.wire import frame_id
from tests.serde.fakes import MemoryRegistry
from tests.serde.fuzz.harness import Fuzz
from tests.serde.fuzz.mutations import varint

__all__ = ["ENGINES", "Case", "cases", "count_values"]

_ADDRESS_SPACE: Final = 2 << 30
"""Of which the libraries take a half."""
_CPU_S: Final = 5.0
_TOPIC: Final = SerdeContext("t")
_SMALL: Final = PayloadBounds(values=2_000, empty_items=1_000, decimal_bytes=256, shapes=16, shape_bytes=16_384)
_BATCH: Final = 20
_BIG_EVERY: Final = 2_500
_BYTES_PER_VALUE: Final = 64
"""Of an Arrow array, at the most."""

_LOOKED_INTO: Final = 20_000_000
"""Bytes of a batch whose values are counted one by one."""
_ABOUT_A_ROW: Final = 30
"""Values that a batch has besides the row: its reason, its payload."""


class _Arrow(Protocol):
    """A batch or an array."""

    @property
    def nbytes(self) -> int: ...

    def to_pylist(self) -> list[object]: ...


_Bodies = Callable[[Random, int], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A kind of payload."""

    body: _Bodies
    """Makes a body of about so many bytes."""
    schema: str | None = None
    """What it is written under."""
    columns: str | None = None
    """What it is read into; None for rows as they are written."""


def count_values(value: object) -> int:
    """As `PayloadBounds` counts."""
    total, stack = 0, [value]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            total += 4
            stack.extend(part.values())
        elif isinstance(part, list):
            total += 4
            stack.extend(part)
        elif isinstance(part, tuple):  # an entry of Arrow's maps
            stack.extend(part)
        else:
            total += 1
    return total


# Avro ----------------------------------------------------------------------------------------------------------------


def _record(name: str, *types: object) -> object:
    return {
        "type": "record",
        "name": name,
        "fields": [{"name": f"f{n}", "type": type_} for n, type_ in enumerate(types)],
    }


def _avro_schema(random: Random) -> tuple[str, object]:
    leaf: object = random.choice(
        [
            "null",
            "boolean",
            "int",
            "string",
            _record("E"),
            {"type": "fixed", "name": "F", "size": 0},
            {"type": "enum", "name": "S", "symbols": ["A" * random.choice([1, 5_000])]},
            ["null", "boolean"],
            {"type": "bytes", "logicalType": "decimal", "precision": 10**6, "scale": random.choice([0, 2, 10**6])},
            {"type": "fixed", "name": "D", "size": random.choice([1, 500]), "logicalType": "decimal", "precision": 9},
            {"type": "string", "logicalType": "uuid"},
            {"type": "long", "logicalType": "timestamp-millis"},
            {"type": "fixed", "name": "Du", "size": 12, "logicalType": "duration"},
        ]
    )
    again: object = leaf.get("name", leaf) if isinstance(leaf, dict) and "logicalType" not in leaf else leaf
    if isinstance(leaf, dict) and "name" in leaf:
        again = leaf["name"]
    elif isinstance(leaf, dict):
        again = leaf
    for level in range(random.randint(0, 12)):
        kind = random.choice(["one", "two", "array", "map", "union", "self"])
        name = f"N{level}"
        if kind in ("one", "two"):
            leaf, again = _record(name, leaf, *([again] if kind == "two" else [])), name
        elif kind == "self":
            leaf, again = _record(name, leaf, random.choice([["null", name], {"type": "array", "items": name}])), name
        elif kind == "union":
            if leaf not in ("null", ["null", "boolean"]) and not isinstance(leaf, list):
                leaf, again = _record(name, ["null", leaf]), name
        else:
            leaf = {"type": kind, "items" if kind == "array" else "values": leaf}
            again = leaf if isinstance(again, str) and again in ("null", "boolean", "int", "string") else again
            leaf, again = _record(name, leaf), name
    root = _record("R", {"type": "array", "items": leaf}, "int")
    return json.dumps(root), root


def _avro_body(random: Random, size: int) -> bytes:
    """Blocks that claim much, and few bytes behind them."""
    match random.randrange(5):
        case 0:
            return (
                varint(random.choice([size, 10 * size, 60_000, 2**31, 2**62, -(2**62)]))
                + random.randbytes(3)
                + b"\0" * size
            )
        case 1:
            return varint(size) + random.choice([b"\0", b"\1", b"\2", b"\2\0"]) * size + b"\0\0"
        case 2:
            return (varint(random.randint(1, 100)) + b"\2" * random.randint(0, 20)) * (size // 20 + 1)
        case 3:
            return b"\2" * random.randint(1, 8) + varint(size) + b"\x7f" * size + b"\0" * random.randint(1, 8)
        case _:
            return random.randbytes(min(size, 2_000))


def _good(random: Random, type_: object, named: dict[str, object], level: int = 0) -> bytes:
    """A value of a type, of few items."""
    if isinstance(type_, list):
        number = 0 if level > 40 else random.randrange(len(type_))
        return varint(number) + _good(random, type_[number], named, level + 1)
    if isinstance(type_, str):
        plain = {"null": b"", "boolean": b"\1", "int": varint(7), "long": varint(7), "string": varint(1) + b"a"}
        return plain[type_] if type_ in plain else _good(random, named[type_], named, level + 1)
    assert isinstance(type_, dict)
    named[type_.get("name", "")] = type_
    match type_["type"]:
        case "record":
            return b"".join(_good(random, part["type"], named, level + 1) for part in type_["fields"])
        case "fixed":
            return b"\1" * int(type_["size"])
        case "enum":
            return b"\0"
        case "bytes":
            return varint(2) + b"\1\2"
        case "array" | "map" as kind:
            if level > 20:
                return b"\0"
            key = varint(1) + b"k" if kind == "map" else b""
            return varint(1) + key + _good(random, type_.get("items", type_.get("values")), named, level + 1) + b"\0"
    return _good(random, type_["type"], named, level + 1)


def _body_of(text: str) -> _Bodies:
    def body(random: Random, size: int) -> bytes:
        return _good(random, json.loads(text), {}) if random.random() < 0.1 else _avro_body(random, size)

    return body


def _wide(random: Random, *, nested: bool) -> str:
    width = random.choice([1, 3, 30, 300])
    inner = f"STRUCT<{', '.join(f'C{number} {random.choice(_TYPES)}' for number in range(width))}>"
    for _ in range(random.randint(0, 2) if nested else 0):
        inner = random.choice([f"ARRAY<{inner}>", f"MAP<STRING, {inner}>", f"STRUCT<C0 {inner}>"])
    return inner


_TYPES: Final = ("INT", "BIGINT", "DOUBLE", "STRING", "BOOLEAN", "DECIMAL(9, 2)", "BYTES", "TIMESTAMP", "DATE", "TIME")


def _avro(random: Random, with_columns: bool) -> Case:
    text, _ = _avro_schema(random)
    if not with_columns:
        return Case(body=_body_of(text), schema=text)
    if random.random() < 0.5:
        text = json.dumps(
            _record("R", {"type": "array", "items": _record("W", random.choice(["boolean", "null"]))}, "int")
        )
    columns = random.choice(
        [f"F0 ARRAY<{_wide(random, nested=False)}>", f"F0 ARRAY<STRUCT<F0 {_wide(random, nested=True)}>>"]
    )
    return Case(body=_body_of(text), schema=text, columns=f"{columns}, F1 INT")


# JSON ----------------------------------------------------------------------------------------------------------------


def _json_body(random: Random, size: int) -> bytes:
    count = max(size // 4, 1)
    match random.choice([0, 0, 1, 2, 3, 4, 5, 6, 7, 8]):
        case 0:
            return b'{"A":[' + b",".join([random.choice([b"{}", b"[]", b"null", b"[{}]"])] * count) + b"]}"
        case 1:
            return b'{"A":{' + b",".join(b'"%d":{}' % number for number in range(count // 3 + 1)) + b"}}"
        case 2:
            number = random.choice([b"9" * size, b"0." + b"9" * size, b"1e" + b"9" * min(size, 20), b"-" + b"9" * size])
            return b'{"A":%s,"C0":%s}' % (number, number)
        case 3:
            text = random.choice(
                [b"9" * size + b"x", b"0x" + b"f" * size, b"A" * size, b" " * size, b"1." + b"0" * size]
            )
            return b'{"A":"%s","C0":"%s"}' % (text, text)
        case 4:
            levels = random.choice([10, 250, 900, size])
            opened, closed = random.choice([(b"[", b"]"), (b'{"A":', b"}"), (b'[{"C0":', b"}]")])
            return b'{"A":' + opened * levels + b"1" + closed * levels + b"}"
        case 5:
            keys = b",".join(
                b'"%x":1' % random.getrandbits(random.choice([16, 64, 4_000])) for _ in range(min(count, 20))
            )
            return b'{"A":[{%s}],%s}' % (keys, keys)
        case 6:
            return b'{"A":[' + b",".join(b'{"C0":{},"C1":%d}' % number for number in range(count // 5 + 1)) + b"]}"
        case 7:  # a good one
            return b'{"A":[' + b",".join(b'{"C0":null,"c1":null}' for _ in range(random.randint(1, 5))) + b"]}"
        case _:
            return b'{"A":[{' + random.randbytes(20) + b"}]}"


def _json(random: Random, with_columns: bool) -> Case:
    columns = random.choice(
        [
            f"A ARRAY<{_wide(random, nested=False)}>",
            f"A ARRAY<{_wide(random, nested=True)}>",
            f"A MAP<STRING, {_wide(random, nested=False)}>",
            f"A {_wide(random, nested=True)}",
            f"A {random.choice(_TYPES)}, C0 {random.choice(_TYPES)}",
        ]
    )
    return Case(body=_json_body, columns=columns if with_columns else None)


def _json_sr(random: Random, with_columns: bool) -> Case:
    plain = _json(random, True)
    assert plain.columns is not None
    schema: dict[str, object]
    if random.random() < 0.5:
        schema = json.loads(json_schema.internal_schema(parse_columns(plain.columns)))
    else:
        default = random.choice([[7] * 1_000, None, ["x" * 5_000]])
        many = {f"C{number}": {"type": ["null", "string"]} for number in range(50)}
        item: dict[str, object] = {
            "type": "object",
            "properties": {**many, "D": {"type": "array", "items": {"type": "string"}, "default": default or []}},
        }
        if random.random() < 0.3:
            item = {"oneOf": [{**item, "title": f"T{number}"} for number in range(10)]}
        schema = {"type": "object", "properties": {"A": {"type": "array", "items": item}}}
        inner = "STRUCT<C0 STRING, D ARRAY<STRING>>"
        plain = Case(body=_json_body, columns=f"A ARRAY<{inner if 'oneOf' not in item else f'STRUCT<T0 {inner}>'}>")
    return Case(body=_json_body, schema=json.dumps(schema), columns=plain.columns if with_columns else None)


def _kafka(random: Random, with_columns: bool) -> Case:
    def body(random: Random, size: int) -> bytes:
        return random.choice(
            [random.randbytes(random.randint(0, 12)), b"9" * size, b"\xff" * size, b"\0\0\0\7", b"\0" * 8]
        )

    return Case(body=body, columns=f"A {random.choice(['INT', 'BIGINT', 'DOUBLE', 'STRING', 'BYTES'])}")


_MAKERS: Final[dict[str, Callable[[Random, bool], Case]]] = {
    "AVRO": _avro,
    "JSON": _json,
    "JSON_SR": _json_sr,
    "KAFKA": _kafka,
}


def cases(format_: str, random: Random, *, with_columns: bool) -> Iterator[Case]:
    """Kinds of payloads, without an end."""
    while True:
        yield _MAKERS[format_](random, with_columns)


# Engines -------------------------------------------------------------------------------------------------------------


class _Reader:
    """A case's schema, registered, and what reads it."""

    def __init__(self, format_: str, case: Case) -> None:
        self.format = format_
        self.columns = None if case.columns is None else parse_columns(case.columns)
        self.registry = MemoryRegistry()
        self.schema_id = 0
        if case.schema is not None:
            kind = "AVRO" if format_ == "AVRO" else "JSON"
            self.schema_id = self.registry.seed("t-value", case.schema, schema_type=kind)

    def payload(self, body: bytes) -> bytes:
        return frame_id(self.schema_id, body) if self.schema_id else body

    def deserializer(self) -> Deserializer:
        match self.format:
            case "AVRO":
                return AvroDeserializer(ById(self.registry), columns=self.columns)
            case "JSON_SR":
                return JsonSchemaDeserializer(ById(self.registry), columns=self.columns)
            case "JSON":
                return JsonDeserializer(self.columns)
        assert self.columns is not None
        return KafkaDeserializer(self.columns)

    def most_values(self, payload: bytes) -> int:
        width = count_values(None if self.columns is None else [None] * len(self.columns))
        # What JSON makes of its own bytes, and of narrow STRUCTs, is granted by its bytes; it is not counted as well.
        own = 0 if self.format == "AVRO" else 8 * len(payload)
        return payload_bounds().budget(len(payload)) + own + width


_Engine = Callable[[Fuzz, _Reader, Sequence[bytes]], None]


def _rows(fuzz: Fuzz, reader: _Reader, payloads: Sequence[bytes]) -> None:
    read = reader.deserializer()
    for payload in payloads:
        row, _ = fuzz.read(lambda payload=payload: read(payload, _TOPIC), about=lambda: "")  # type: ignore[misc]
        made = count_values(row)
        assert made <= reader.most_values(payload), f"{made:,} values of {len(payload)} bytes"


def _shown(fuzz: Fuzz, reader: _Reader, payloads: Sequence[bytes]) -> None:
    read = reader.deserializer()
    for payload in payloads:
        fuzz.read(lambda payload=payload: json.dumps(to_json(read(payload, _TOPIC))), about=lambda: "")  # type: ignore[misc]


def _windowed(fuzz: Fuzz, reader: _Reader, payloads: Sequence[bytes]) -> None:
    read = WindowedDeserializer(reader.deserializer(), WindowKind.TIME)
    for payload in payloads:
        key = join(payload, Window(1), WindowKind.TIME) if len(payload) % 7 else payload
        fuzz.read(lambda key=key: read(key, _TOPIC), about=lambda: "")  # type: ignore[misc]


def _quarantine(fuzz: Fuzz, reader: _Reader, payloads: Sequence[bytes]) -> None:
    read = (
        SchemaDeserializer(ById(reader.registry), columns=reader.columns) if reader.schema_id else reader.deserializer()
    )

    def run() -> object:
        return sum(1 for _ in deserialize_many(payloads, _TOPIC, read, on_error="quarantine"))

    found, refusal = fuzz.read(run, about=lambda: "")
    assert refusal is None
    assert found == len(payloads)
    fuzz.payloads += len(payloads) - 1


def _arrow(fuzz: Fuzz, reader: _Reader, payloads: Sequence[bytes]) -> None:
    read = reader.deserializer()
    batch, refusal = fuzz.read(
        lambda: to_arrow(payloads, _TOPIC, read, on_error="quarantine", engine=ValueWise), about=lambda: ""
    )
    assert refusal is None, refusal
    _check_size(fuzz, reader, payloads, cast("_Arrow", batch))


def _worker(fuzz: Fuzz, reader: _Reader, payloads: Sequence[bytes]) -> None:
    import pyarrow as pa

    assert reader.columns is not None
    plan = ReadPlan(
        topic="t",
        role=Role.VALUE,
        format=Format[reader.format],
        columns=reader.columns,
        wrapped=reader.format != "KAFKA",
        case_rule=CaseRule.UNIQUE,
        policy=ById(reader.registry) if reader.schema_id else None,
    )
    decode = PlanDecoder(plan)
    rows, refusal = fuzz.read(lambda: decode(pa.array(payloads, pa.binary())), about=lambda: "")
    assert refusal is None, refusal
    _check_size(fuzz, reader, payloads, cast("_Arrow", rows))


def _check_size(fuzz: Fuzz, reader: _Reader, payloads: Sequence[bytes], made: _Arrow) -> None:
    fuzz.payloads += len(payloads) - 1
    size = made.nbytes
    most = sum(map(reader.most_values, payloads)) * _BYTES_PER_VALUE + 100_000
    assert size <= most, f"{size:,} bytes of Arrow, of {sum(map(len, payloads))} bytes"
    if size > _LOOKED_INTO:
        return
    for payload, row in zip(payloads, made.to_pylist(), strict=True):
        values = count_values(row)
        assert values <= reader.most_values(payload) + _ABOUT_A_ROW, f"{values:,} values of {len(payload)} bytes"


ENGINES: Final[dict[str, dict[str, tuple[_Engine, bool]]]] = {
    "AVRO": {
        "rows": (_rows, False),
        "shown": (_shown, False),
        "quarantine": (_quarantine, False),
        "rows of columns": (_rows, True),
        "windowed": (_windowed, True),
        "arrow": (_arrow, True),
        "worker": (_worker, True),
    },
    "JSON": {
        "rows": (_rows, False),
        "shown": (_shown, False),
        "rows of columns": (_rows, True),
        "arrow": (_arrow, True),
        "worker": (_worker, True),
    },
    "JSON_SR": {
        "rows": (_rows, False),
        "rows of columns": (_rows, True),
        "quarantine": (_quarantine, True),
        "arrow": (_arrow, True),
        "worker": (_worker, True),
    },
    "KAFKA": {"rows": (_rows, True), "windowed": (_windowed, True), "arrow": (_arrow, True), "worker": (_worker, True)},
}
"""By format: what reads payloads, and whether into columns."""


def _run(format_: str, name: str, count: int, seed: int) -> dict[str, object]:
    engine, with_columns = ENGINES[format_][name]
    random = Random(f"{format_} {name} {seed}")
    fuzz = Fuzz(budget_s=_CPU_S)
    kinds = cases(format_, random, with_columns=with_columns)
    number = 0
    while fuzz.payloads < count:
        number += 1
        is_big = number % (_BIG_EVERY // _BATCH) == 0
        bound_payloads(PayloadBounds() if is_big else _SMALL)
        case = next(kinds)
        reader = _Reader(format_, case)
        size = random.choice([300_000, 900_000]) if is_big else random.choice([1, 10, 50, 400, 2_500])
        bodies = [case.body(random, size) for _ in range(1 if is_big else _BATCH)]
        try:
            engine(fuzz, reader, [reader.payload(body) for body in bodies])
        except BaseException as error:
            kind = f"{format_}, {name}, seed {seed}, kind {number}"
            error.add_note(f"{kind}: {case!r:.2000}, {[body[:80] for body in bodies]!r:.3000}")
            raise
    return {"format": format_, "engine": name, "payloads": fuzz.payloads, "outcomes": fuzz.outcomes}


def _main(format_: str, count: str, seed: str, *engines: str) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    for name in engines:
        print(json.dumps(_run(format_, name, int(count), int(seed))), flush=True)


if __name__ == "__main__":
    _main(*sys.argv[1:])
