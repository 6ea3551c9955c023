"""Reads payloads that ask for too much, each in a process of its own: a crash must not be the tests'.

    python -m tests.serde.fuzz.resources NAME…

prints a line of JSON for each: the row or the error's class, the most memory that was held meanwhile, in bytes, and the CPU
seconds; and what ended the process, if it did not come that far. The processes are forked off one that has imported all.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import traceback
import tracemalloc
from collections.abc import Callable
from typing import Any, Final

from srfix.serde import SrfixError, parse_columns
from srfix.serde.engine import Decode
from srfix.serde.formats import avro, json_schema
from srfix.serde.formats import json as plain_json
from srfix.serde.formats.protobuf import format as protobuf
from srfix.serde.specs import ReadSpec, WriteSpec
from tests.serde.avro_schemas import array, decimal, enum, fixed, map_of, numbered, record
from tests.serde.fuzz.mutations import varint

_ADDRESS_SPACE: Final = 1 << 30
"""So that a defect here is an error, not a machine that swaps."""
_CPU_S: Final = 60
"""Then the process is ended."""
_DEEP: Final = 1_000_000


def _avro(type_: object, columns: str | None = None) -> Decode:
    declared = None if columns is None else parse_columns(columns)
    return avro.decoder(json.dumps(record(A=type_, B="int")), ReadSpec(columns=declared))


def _json(columns: str | None = None) -> Decode:
    declared = None if columns is None else parse_columns(columns)
    return plain_json.decoder(None, ReadSpec(columns=declared))


def _json_sr(columns: str) -> Decode:
    declared = parse_columns(columns)
    return json_schema.decoder(json_schema.internal_schema(WriteSpec(columns=declared)), ReadSpec(columns=declared))


def _protobuf(text: str, columns: str | None = None) -> Decode:
    declared = None if columns is None else parse_columns(columns)
    return protobuf.decoder(f'syntax = "proto3"; {text}', ReadSpec(columns=declared))


def _fields(count: int, type_: str = "int32") -> str:
    return " ".join(f"{type_} C{number} = {number + 1};" for number in range(count))


_LINKED: Final = record("N", NEXT=["null", "N"])
_TREE: Final = record("N", NEXT=array("N"))
_MAPS: Final = record("N", NEXT=map_of("N"))
_RING: Final = record("N", NEXT=["null", record("M", BACK=["null", "N", "string"])])
_NOTHING: Final = record("E", n="null")
_BILLION: Final = b'{"A":1e999999999}'
_ARRAYS: Final = b'{"A":' + b"[" * _DEEP + b"]" * _DEEP + b"}"


def _plain_varint(number: int) -> bytes:
    return varint(number // 2 if number % 2 == 0 else -(number + 1) // 2)


def _deep_messages() -> bytes:
    """The innermost first, each of as many bytes as all within it."""
    parts, size = [], 0
    for _ in range(200_000):
        parts.append(b"\x0a" + _plain_varint(size))
        size += len(parts[-1])
    return b"".join(reversed(parts))


CASES: Final[dict[str, Callable[[], tuple[Decode, bytes]]]] = {
    "a string of 2 GB for a column": lambda: (_avro("string", "A STRING"), varint(2**31 - 1)),
    "a fixed of 2 GB": lambda: (_avro(fixed(2**31 - 1)), b""),
    "2^62 empty records for nobody": lambda: (_avro(array(_NOTHING), "B INT"), varint(2**62) + b"\0\0"),
    "2^62 empty fixed, counted negatively": lambda: (_avro(array(fixed(0))), varint(-(2**62)) + b"\0" + b"\0\0"),
    "a thousand blocks of 60,000 nulls": lambda: (_avro(array("null")), varint(60_000) * 1000 + b"\0\0"),
    "a block of -2^63 nulls": lambda: (_avro(array("null")), varint(-(2**63)) + b"\0" + b"\0\0"),
    "a block of -2^63 ints": lambda: (_avro(array("int")), varint(-(2**63)) + b"\0" + b"\0\0"),
    "a list of a million links": lambda: (_avro(_LINKED), b"\2" * _DEEP + b"\0\0"),
    "a list of a million links, cut off": lambda: (_avro(_LINKED), b"\2" * _DEEP),
    "a list of a million links for columns": lambda: (
        _avro(_LINKED, "A STRUCT<NEXT STRUCT<NEXT STRUCT<X INT>>>"),
        b"\2" * _DEEP + b"\0\0",
    ),
    "a list of a million links for nobody": lambda: (_avro(_LINKED, "B INT"), b"\2" * _DEEP + b"\0\0"),
    "a tree of a million levels": lambda: (_avro(_TREE), b"\2" * _DEEP + b"\0" * (_DEEP + 1) + b"\0"),
    "maps of a million levels": lambda: (_avro(_MAPS), b"\2\0" * _DEEP + b"\0" * (_DEEP + 1) + b"\0"),
    "two records that hold each other, a million times": lambda: (_avro(_RING), b"\2" * _DEEP + b"\0\0"),
    "a million JSON arrays": lambda: (_json(), b"[" * _DEEP + b"]" * _DEEP),
    "a million JSON arrays, cut off": lambda: (_json(), b"[" * _DEEP),
    "a million JSON objects": lambda: (_json(), b'{"A":' * _DEEP + b"1" + b"}" * _DEEP),
    "a million JSON arrays for a STRING": lambda: (_json("A STRING"), _ARRAYS),
    "950 JSON objects for a STRING": lambda: (_json("A STRING"), b'{"A":' * 950 + b"1" + b"}" * 950),
    "a million JSON arrays for JSON_SR": lambda: (_json_sr("A ARRAY<INT>"), _ARRAYS),
    "a number of a billion digits for a BIGINT": lambda: (_json("A BIGINT"), _BILLION),
    "a number of a billion digits for a DECIMAL": lambda: (_json("A DECIMAL(4, 2)"), _BILLION),
    "a number of a billion digits for a STRING": lambda: (_json("A STRING"), _BILLION),
    "a number of a billion digits for a DOUBLE": lambda: (_json("A DOUBLE"), _BILLION),
    "a text of a billion digits for a DECIMAL": lambda: (_json("A DECIMAL(4, 2)"), b'{"A":"1e999999999"}'),
    "a number of a billion digits in an object for a STRING": lambda: (_json("A STRING"), b'{"A":{"B":1e999999999}}'),
    "a number of a billion digits for JSON_SR": lambda: (_json_sr("A BIGINT"), _BILLION),
    "a number of a billion digits for a DECIMAL of JSON_SR": lambda: (_json_sr("A DECIMAL(4, 2)"), _BILLION),
    "a number of a billion digits for a DECIMAL that has them": lambda: (_json("A DECIMAL(2147483647, 0)"), _BILLION),
    "a text of a billion digits for a DECIMAL that has them": lambda: (
        _json("A DECIMAL(2147483647, 0)"),
        b'{"A":"1e999999999"}',
    ),
    "a number of a billion digits for a DECIMAL of JSON_SR that has them": lambda: (
        _json_sr("A DECIMAL(2147483647, 0)"),
        _BILLION,
    ),
    "a million bytes for a DECIMAL of 2^31 - 1 digits": lambda: (
        _avro(decimal(2**31 - 1, 0), "A DECIMAL(2147483647, 0)"),
        varint(_DEEP) + b"\x7f" * _DEEP + b"\0",
    ),
    "a million digits": lambda: (_json("A BIGINT"), b'{"A":' + b"9" * _DEEP + b"}"),
    "a million digits in a text": lambda: (_json("A BIGINT"), b'{"A":"' + b"9" * _DEEP + b'"}'),
    "a million digits in a text for a DECIMAL": lambda: (_json("A DECIMAL(9, 2)"), b'{"A":"' + b"9" * _DEEP + b'"}'),
    "a message of 2 GB": lambda: (_protobuf("message M { M A = 1; }"), b"\0\x0a\xff\xff\xff\xff\x07"),
    "messages of a million levels": lambda: (_protobuf("message M { M A = 1; }"), b"\0" + _deep_messages()),
    "groups of a million levels": lambda: (
        _protobuf("message M { M A = 1; }"),
        b"\0" + b"\x0b" * _DEEP + b"\x0c" * _DEEP,
    ),
    "2^31 message indexes": lambda: (_protobuf("message M { M A = 1; }"), b"\xfe\xff\xff\xff\x0f" + b"\0" * 99),
    "a decimal of a scale of 2^31 - 1": lambda: (
        _protobuf(
            'import "confluent/type/decimal.proto"; message M { confluent.type.Decimal A = 1; }', "A DECIMAL(9, 2)"
        ),
        b"\0\x0a\x09\x0a\x01\x01\x18\xff\xff\xff\xff\x07",
    ),
    "a million spaces in base64": lambda: (_json("A BYTES"), b'{"A":"' + b" " * _DEEP + b'*"}'),
}
"""A decoder, and a payload that asks too much of it."""


_BIG: Final = 900_000
_EMPTY_MESSAGES: Final = b"\0" + b"\x0a\0" * (_BIG // 2)
_WIDE_MESSAGES: Final = f"message M {{ repeated W A = 1; }} message W {{ {_fields(2_000)} }}"
_EMPTY: Final = b'{"A":[' + b"{}," * 300_000 + b"{}]}"
_DECIMAL: Final = decimal(20_000_000, 2)
_WIDE: Final = f"A ARRAY<STRUCT<{', '.join(f'C{number} INT' for number in range(1000))}>>"
_WIDE_MAP: Final = f"A MAP<STRING, STRUCT<{', '.join(f'C{number} INT' for number in range(1000))}>>"


def _record(name: str, *types: object) -> dict[str, Any]:
    return numbered(*types) | {"name": name}


def _nested(levels: int, leaf: object) -> object:
    for level in range(levels):
        leaf = _record(f"N{level}", leaf)
    return leaf


def _doubling(levels: int, leaf: object) -> object:
    """Each record has two fields of the next one."""
    again = leaf["name"] if isinstance(leaf, dict) else leaf
    for level in range(levels):
        leaf, again = _record(f"D{level}", leaf, again), f"D{level}"
    return leaf


def _framed_decimal(size: int) -> bytes:
    return varint(size) + b"\x7f" * size


def _items(count: int, item: bytes) -> bytes:
    return varint(count) + item * count + b"\0"


def _json_sr_text(text: object, columns: str) -> Decode:
    return json_schema.decoder(json.dumps(text), ReadSpec(columns=parse_columns(columns)))


def _with_default() -> object:
    """A property that, where it is absent, is a list of ten thousand."""
    column = {"type": "array", "items": {"type": "integer", "connect.type": "int32"}, "default": [7] * 10_000}
    item = {"type": "object", "properties": {"X": column}}
    return {"type": "object", "properties": {"A": {"type": "array", "items": item}}}


def _alternatives() -> object:
    """A oneOf of two hundred objects of a hundred properties."""
    parts = [{f"P{one}_{number}": {"type": "string"} for number in range(100)} for one in range(200)]
    many = [{"type": "object", "title": f"T{one}", "properties": each} for one, each in enumerate(parts)]
    return {"type": "object", "properties": {"A": {"type": "array", "items": {"oneOf": many}}}}


BOMBS: Final[dict[str, Callable[[], tuple[Decode, bytes]]]] = {
    "a decimal of 900 kB": lambda: (_avro(_DECIMAL), _framed_decimal(_BIG) + b"\0"),
    "a decimal of 900 kB, maybe null": lambda: (_avro(["null", _DECIMAL]), b"\2" + _framed_decimal(_BIG) + b"\0"),
    "a decimal of 900 kB in a map": lambda: (_avro(map_of(_DECIMAL)), b"\2\0" + _framed_decimal(_BIG) + b"\0\0"),
    "a fixed decimal of 900 kB": lambda: (_avro(decimal(9, 0, fixed(_BIG))), b"\x7f" * _BIG + b"\0"),
    "a bare decimal of 900 kB": lambda: (
        avro.decoder(json.dumps(_DECIMAL), ReadSpec()),
        b"\x7f" * _BIG,
    ),
    "two hundred decimals of 4 kB": lambda: (_avro(array(_DECIMAL)), _items(200, _framed_decimal(4_096)) + b"\0"),
    "a million records of a boolean, six deep": lambda: (
        _avro(array(_nested(6, "boolean"))),
        _items(_BIG, b"\1") + b"\0",
    ),
    "a million records of a boolean in twenty columns": lambda: (
        _avro(array(_record("W", "boolean")), f"A ARRAY<STRUCT<{', '.join(f'F{n} INT' for n in range(20, 40))}>>"),
        _items(_BIG, b"\1") + b"\0",
    ),
    "a million records of a boolean in a thousand columns": lambda: (
        _avro(array(_record("W", "boolean")), _WIDE),
        _items(_BIG, b"\1") + b"\0",
    ),
    "a map of records in a thousand columns": lambda: (
        _avro(map_of(_record("W", "boolean")), _WIDE_MAP),
        varint(_BIG // 4) + b"".join(b"\4%02x\1" % (n % 256) for n in range(_BIG // 4)) + b"\0\0",
    ),
    "records that double fifteen times, of nulls": lambda: (_avro(_doubling(15, "null")), b"\0"),
    "60,000 records that double twelve times, of nulls": lambda: (
        _avro(array(_doubling(12, "null"))),
        varint(60_000) + b"\0\0",
    ),
    "60,000 records that double twelve times, of empty records": lambda: (
        _avro(array(_doubling(12, _record("E")))),
        varint(60_000) + b"\0\0",
    ),
    "60,000 records that double twelve times, of empty fixed, for nobody": lambda: (
        _avro(array(_doubling(12, fixed(0))), "B INT"),
        varint(60_000) + b"\0\0",
    ),
    "maps of records that double twelve times": lambda: (
        _avro(map_of(_doubling(12, "null"))),
        varint(200_000) + b"\0" * 200_000 + b"\0\0",
    ),
    "a union of a record that doubles twelve times": lambda: (
        _avro(array(["null", _doubling(12, "null")])),
        _items(200_000, b"\2") + b"\0",
    ),
    "a thousand arrays of records that double": lambda: (
        _avro(array(array(_doubling(12, "null")))),
        _items(1_000, varint(60) + b"\0") + b"\0",
    ),
    "a symbol of 100 kB, a million times, for typed arrays": lambda: (
        _avro(array(enum("A" * 100_000)), "A ARRAY<STRING>"),
        _items(_BIG, b"\0") + b"\0",
    ),
    "a million empty objects in a thousand columns": lambda: (_json(_WIDE), _EMPTY),
    "a million empty objects in thirty columns": lambda: (
        _json(f"A ARRAY<STRUCT<{', '.join(f'C{number} DECIMAL(4, 2)' for number in range(30))}>>"),
        _EMPTY,
    ),
    "a map of empty objects in a thousand columns": lambda: (
        _json(_WIDE_MAP),
        b'{"A":{' + b",".join(b'"%x":{}' % number for number in range(100_000)) + b"}}",
    ),
    "a million empty objects in a thousand columns of JSON_SR": lambda: (_json_sr(_WIDE), _EMPTY),
    "a list of ten thousand for each empty object": lambda: (
        _json_sr_text(_with_default(), "A ARRAY<STRUCT<X ARRAY<INT>>>"),
        _EMPTY,
    ),
    "two hundred alternatives for each empty object": lambda: (
        _json_sr_text(_alternatives(), "A ARRAY<STRUCT<T0 STRUCT<P0_0 STRING>>>"),
        _EMPTY,
    ),
    "twenty thousand empty messages in a thousand columns": lambda: (
        _protobuf("message M { repeated W A = 1; } message W { int32 C0 = 1; }", _WIDE),
        b"\0" + b"\x0a\0" * 20_000,
    ),
    "half a million empty messages of two thousand fields": lambda: (_protobuf(_WIDE_MESSAGES), _EMPTY_MESSAGES),
    "half a million empty messages of two thousand fields, cut off": lambda: (
        _protobuf(_WIDE_MESSAGES),
        _EMPTY_MESSAGES + b"\x0a",
    ),
    "half a million empty messages of two thousand fields in one column": lambda: (
        _protobuf(_WIDE_MESSAGES, "A ARRAY<STRUCT<C0 INT>>"),
        _EMPTY_MESSAGES,
    ),
    "half a million empty messages of a hundred fields": lambda: (
        _protobuf(f"message M {{ repeated W A = 1; }} message W {{ {_fields(100)} }}"),
        _EMPTY_MESSAGES,
    ),
    "a hundred thousand empty messages of twenty lists": lambda: (
        _protobuf(f"message M {{ repeated W A = 1; }} message W {{ {_fields(20, 'repeated int32')} }}"),
        b"\0" + b"\x0a\0" * 100_000,
    ),
    "a hundred thousand empty messages in twenty columns of lists": lambda: (
        _protobuf(
            f"message M {{ repeated W A = 1; }} message W {{ {_fields(20, 'repeated int32')} }}",
            f"A ARRAY<STRUCT<{', '.join(f'C{number} ARRAY<INT>' for number in range(20))}>>",
        ),
        b"\0" + b"\x0a\0" * 100_000,
    ),
    "messages in messages in a hundred columns": lambda: (
        _protobuf(
            f"message M {{ repeated B A = 1; }} message B {{ W S = 1; }} message W {{ {_fields(100)} }}",
            f"A ARRAY<STRUCT<S STRUCT<{', '.join(f'C{number} INT' for number in range(100))}>>>",
        ),
        b"\0" + b"\x0a\2\x0a\0" * (_BIG // 4),
    ),
    "oneofs in a hundred columns": lambda: (
        _protobuf(
            f"message M {{ repeated B A = 1; }} message B {{ oneof o {{ {_fields(100)} }} }}",
            f"A ARRAY<STRUCT<O_0 STRUCT<{', '.join(f'C{number} INT' for number in range(100))}>>>",
        ),
        b"\0" + b"\x0a\2\x08\0" * (_BIG // 4),
    ),
    "entries of a map of two thousand fields": lambda: (
        _protobuf(f"message M {{ map<int32, W> A = 1; }} message W {{ {_fields(2_000)} }}"),
        _EMPTY_MESSAGES,
    ),
    "a value without a name, whose enum's name has 10,000 characters": lambda: (
        _protobuf(
            f"enum {'E' * 10_000} {{ Z = 0; }} message M {{ repeated {'E' * 10_000} A = 1; }}", "A ARRAY<STRING>"
        ),
        b"\0\x0a" + _plain_varint(_BIG) + b"\5" * _BIG,
    ),
    "a million digits in a text for a DOUBLE": lambda: (_json("A DOUBLE"), b'{"A":"' + b"9" * _DEEP + b'x"}'),
    "a million digits of a fraction for a DECIMAL": lambda: (
        _json("A DECIMAL(9, 2)"),
        b'{"A":1.' + b"9" * _DEEP + b"}",
    ),
}
"""The same, for what multiplies: parsing it may take a small multiple of its size."""


def _read(name: str) -> dict[str, object]:
    resource.setrlimit(resource.RLIMIT_AS, (_ADDRESS_SPACE, _ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_S, _CPU_S))
    decode, payload = (CASES | BOMBS)[name]()
    tracemalloc.start()
    start, words = time.process_time(), 0
    try:
        row = decode(payload, 0)
        outcome = f"row {row!r}"[:200]
    except SrfixError as error:
        outcome, words = type(error).__name__, len(error.message)
    seconds = time.process_time() - start
    _, peak = tracemalloc.get_traced_memory()
    return {"outcome": outcome, "message": words, "peak": peak, "seconds": seconds, "payload": len(payload)}


def _forked(name: str) -> dict[str, object]:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.write(writer, json.dumps(_read(name)).encode())
            status = 0
        except BaseException:  # noqa: BLE001 - nothing may get out of the child
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        told = pipe.read()
    ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return {"ended": ended} if ended else json.loads(told)


def _main(*names: str) -> None:
    for name in names:
        print(json.dumps({"name": name, **_forked(name)}), flush=True)


if __name__ == "__main__":
    _main(*sys.argv[1:])
