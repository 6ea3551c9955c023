"""Kinds of payloads that were made to take more than they are worth, by format: see `tests.serde.fuzz.hostile`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from srfix.serde.columns.text import parse_columns
from srfix.serde.formats import json_schema
from srfix.serde.specs import WriteSpec
from tests.serde.avro_schemas import MILLIS, UUID, array, decimal, enum, fixed, logical, numbered
from tests.serde.fuzz.mutations import varint

_Bodies = Callable[[Random, int], bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    body: _Bodies
    """Makes a body of about so many bytes."""
    schema: str | None = None
    """What it is written under."""
    columns: str | None = None
    """What it is read into; None for rows as they are written."""


# Avro ----------------------------------------------------------------------------------------------------------------


def _record(name: str, *types: object) -> dict[str, Any]:
    return numbered(*types) | {"name": name}


def _avro_schema(random: Random) -> tuple[str, object]:
    leaf: object = random.choice(
        [
            "null",
            "boolean",
            "int",
            "string",
            _record("E"),
            fixed(0),
            enum("A" * random.choice([1, 5_000]), name="S"),
            ["null", "boolean"],
            decimal(10**6, random.choice([0, 2, 10**6])),
            decimal(9, 0, fixed(random.choice([1, 500]), "D")),
            UUID,
            MILLIS,
            logical(fixed(12, "Du"), "duration"),
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
            leaf, again = _record(name, leaf, random.choice([["null", name], array(name)])), name
        elif kind == "union":
            if leaf not in ("null", ["null", "boolean"]) and not isinstance(leaf, list):
                leaf, again = _record(name, ["null", leaf]), name
        else:
            leaf = {"type": kind, "items" if kind == "array" else "values": leaf}
            again = leaf if isinstance(again, str) and again in ("null", "boolean", "int", "string") else again
            leaf, again = _record(name, leaf), name
    root = _record("R", array(leaf), "int")
    return json.dumps(root), root


def _avro_body(random: Random, size: int) -> bytes:
    """Blocks that claim much, and few bytes behind them."""
    match random.randrange(5):
        case 0:
            count = random.choice([size, 10 * size, 60_000, 2**31, 2**62, -(2**62)])
            return varint(count) + random.randbytes(3) + b"\0" * size
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
        text = json.dumps(_record("R", array(_record("W", random.choice(["boolean", "null"]))), "int"))
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
        schema = json.loads(json_schema.internal_schema(WriteSpec(columns=parse_columns(plain.columns))))
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


def _delimited(random: Random, with_columns: bool) -> Case:
    types = [random.choice(_TYPES) for _ in range(random.choice([1, 3, 30]))]

    def body(random: Random, size: int) -> bytes:
        number = random.choice([b"9" * size, b"0." + b"9" * size, b"1E" + b"9" * size, b"-" * size, b"A" * size + b"="])
        match random.randrange(8):
            case 0:
                return b",".join([number] * len(types))
            case 1:
                return random.choice([b",", b'"', b'""', b'"",', b"\n", b"\r\n", b'" ', b'"\n"\n']) * size
            case 2:
                return b'"' + b" " * size + b'"' + b" " * size + random.choice([b"", b"x", b'"'])
            case 3:
                return b",".join([b'"%b"' % (b'""' * size)] * len(types))
            case 4:
                return b"," * (len(types) - 1) + b"\n" + b'"a",1\n' * size + random.choice([b"", b'"'])
            case 5:
                return b'"",' * (len(types) - 1) + b'""'
            case 6:
                return b",".join([random.choice([b"1", b"", b"1.5", b"true"])] * len(types))
        return random.randbytes(min(size, 2_000))

    return Case(body=body, columns=", ".join(f"C{number} {type_}" for number, type_ in enumerate(types)))


_MAKERS: Final[dict[str, Callable[[Random, bool], Case]]] = {
    "AVRO": _avro,
    "JSON": _json,
    "JSON_SR": _json_sr,
    "KAFKA": _kafka,
    "DELIMITED": _delimited,
}


def cases(format_: str, random: Random, *, with_columns: bool) -> Iterator[Case]:
    """Kinds of payloads, without an end."""
    while True:
        yield _MAKERS[format_](random, with_columns)
