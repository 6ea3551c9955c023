"""Avro bodies that want more of the reader than their size pays for. Kinds 1 and 7 of issue 13.

Each stands between two good rows: those are read, the command ends by itself, and in little memory.
"""

# ruff: noqa: E501  (a case a line)
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.attack import Done, attack, judge
from tests.hostile.worlds import avro_string, long
from tests.serde.avro_schemas import array, decimal, map_of
from tests.telling import slow_but

PEAK = 700 << 20
"""Of a payload below 1 MB, with the 50 MB that any command has, the text of it and what is printed."""


def record(*fields: tuple[str, Any]) -> str:
    return json.dumps({"type": "record", "name": "R", "fields": [{"name": n, "type": t} for n, t in fields]})


NOTHING = {"type": "record", "name": "Nothing", "fields": []}
WIDE = {"type": "record", "name": "Wide", "fields": [{"name": f"n{i}", "type": "null"} for i in range(1000)]}
LIST = '{"type":"record","name":"R","fields":[{"name":"next","type":["null","R"]}]}'
MAPS = '{"type":"record","name":"R","fields":[{"name":"c","type":{"type":"map","values":["null","R"]}}]}'


def doubling(levels: int, leaf: Any = "null") -> str:
    """A schema of a few lines whose one value has 2 ** levels parts, none of which takes a byte."""
    inner: Any = leaf
    for level in range(levels):
        fields = [{"name": "a", "type": inner}, {"name": "b", "type": f"D{level - 1}" if level else leaf}]
        inner = {"type": "record", "name": f"D{level}", "fields": fields}
    return record(("x", inner))


BAD: dict[str, tuple[str, bytes, bytes, str | None]] = {
    # name: schema, a good body, the hostile one; what is said of it, None if it is read
    "string of 2^62": (record(("s", "string")), avro_string("x"), long(1 << 62) + b"x", "inside s: after byte 10 there should be 4611686018427387904 bytes"),
    "string of -2^63": (record(("s", "string")), avro_string("x"), long(-(1 << 63)) + b"x", "a string of -9223372036854775808 bytes"),
    "length without end": (record(("s", "string")), avro_string("x"), b"\xff" * 300_000, "a number of more than 10 bytes"),
    "int without end": (record(("n", "int")), long(1), b"\x80" * 900_000 + b"\x00", None),
    "nulls by count": (record(("a", array("null"))), long(1) + b"\x00", long(1 << 40) + b"\x00", "claims 1,099,511,627,776 array items of zero bytes"),
    "empty records by count": (record(("a", array(NOTHING))), b"\x00", long(1 << 33) + b"\x00", "claims 8,589,934,592 array items of zero bytes"),
    "wide empty records, some bytes each": (
        record(("a", array({"type": "record", "name": "P", "fields": [{"name": "b", "type": "boolean"}, {"name": "w", "type": WIDE}]}))),
        b"\x00",
        long(50_000) + b"\x01" * 50_000 + b"\x00",
        "expands to more than 465,568 values",
    ),
    "arrays in arrays of nothing": (
        record(("a", array(array(array("null"))))),
        b"\x00",
        long(300) + (long(300) + (long(30_000) + b"\x00") * 300 + b"\x00") * 3 + b"\x00",
        "claims 90,000 array items of zero bytes",
    ),
    "negative count, a size that lies": (record(("a", array("long"))), b"\x00", long(-5) + long(1 << 50) + b"\x02" * 5 + b"\x00", None),
    "count of -2^63": (record(("a", array("null"))), b"\x00", long(-(1 << 63)) + long(1) + b"\x00", "claims 9,223,372,036,854,775,808 array items of zero bytes"),
    "a map of wide records under one key": (record(("m", map_of(WIDE))), b"\x00", long(200_000) + b"\x00" * 200_000 + b"\x00", "expands to more than 1,665,568 values"),
    "a list of 100,000": (LIST, b"\x00", b"\x02" * 100_000 + b"\x00", "nests deeper than 1000 levels"),
    "maps in maps": (MAPS, b"\x00", b"\x02\x02k\x02" * 60_000 + b"\x00" * 60_000, "nests deeper than 1000 levels"),
    "a doubling schema": (doubling(4), b"", b"\x00", "1 of the body's 1 bytes are left over"),
    "a decimal of 300,000 bytes in an array": (record(("a", array(decimal(9, 2)))), b"\x00", long(1) + avro_string(b"\x7f" * 300_000) + b"\x00", "a decimal of 300,000 bytes"),
    "a decimal in a map in a union": (
        record(("u", ["null", map_of(["null", decimal(38, 9)])])),
        b"\x00",
        b"\x02\x02" + avro_string("k") + b"\x02" + avro_string(b"\x81" + b"\x00" * 900_000) + b"\x00",
        "a decimal of 900,001 bytes",
    ),
    "a fixed decimal of 900,000 bytes": (
        json.dumps({"type": "record", "name": "R", "fields": [{"name": "u", "type": ["null", {"type": "fixed", "name": "F", "size": 900_000, "logicalType": "decimal", "precision": 2_000_000, "scale": 3}]}]}),
        b"\x00",
        b"\x02" + b"\x7f" * 900_000,
        "a decimal of 900,000 bytes",
    ),
    "a fixed of 2^31-1": (record(("f", ["null", {"type": "fixed", "name": "F", "size": 2**31 - 1}])), b"\x00", b"\x02" + b"x" * 100, "inside f: after byte 1 there should be 2147483647 bytes"),
    "an index of a union beyond it": (record(("u", ["null", "long"])), b"\x00", long(1 << 62), "the index 4611686018427387904, but the union has branches 0 to 1"),
    "a time in the year 292,000": (record(("t", {"type": "long", "logicalType": "timestamp-micros"})), long(0), long((1 << 63) - 1), "does not fit the column type TIMESTAMP"),
    "a date beyond all": (record(("t", {"type": "int", "logicalType": "date"})), long(0), long(2**31 - 1), "does not fit the column type DATE"),
    "a uuid of 900,000": (record(("t", {"type": "string", "logicalType": "uuid"})), avro_string("12345678-1234-5678-1234-567812345678"), avro_string("1" * 900_000), "is no UUID"),
    "text that is no UTF-8": (record(("s", "string")), avro_string("x"), avro_string(b"\xed\xa0\x80" * 100_000), "a string that is not UTF-8"),
}  # fmt: skip


def between(schema: str, good: bytes, bad: bytes, tmp_path: Path, *more: str) -> Done:
    (tmp_path / "s.avsc").write_text(schema)
    lines = [good, bad, good, b"\xff" * 11, good]
    return attack(
        *("decode", "--schema", f"@{tmp_path / 's.avsc'}", "--output", "json", "--payload", "-", *more),
        stdin=b"".join(b"hex:" + line.hex().encode() + b"\n" for line in lines),
    )


def rows(done: Done) -> list[Any]:
    return [json.loads(line) for line in done.out.splitlines() if line]


def hides_no_good_one(done: Done, said: str | None) -> None:
    """Of five payloads three are good, the fourth is broken, and the second is read too, or refused with what is said."""
    read = rows(done)
    assert read.count(read[0]) == 3, done.stderr[-2000:]
    assert len(read) == (4 if said is None else 3), done.stderr[-2000:]
    first, *_, last = done.stderr.splitlines()
    assert said is None or said in first
    assert last == f"5 payloads read, {1 if said is None else 2} of them not decoded."


@pytest.mark.parametrize("name", BAD)
def test_a_body_that_wants_too_much_hides_no_good_one(name: str, tmp_path: Path) -> None:
    schema, good, bad, said = BAD[name]
    done = judge(between(schema, good, bad, tmp_path), codes=(1,), most=60 << 20, peak=PEAK)
    hides_no_good_one(done, said)


@pytest.mark.parametrize(
    "leaf", ["null", NOTHING, {"type": "fixed", "name": "F", "size": 0}], ids=["null", "empty", "fixed"]
)
@pytest.mark.parametrize("levels", [22, 40, 300])
def test_a_schema_that_doubles_on_each_level_ends(levels: int, leaf: Any, tmp_path: Path) -> None:
    done = between(doubling(levels, leaf), b"", b"", tmp_path)
    judge(done, codes=(1, 2), peak=PEAK)


@pytest.mark.parametrize(
    ("what", "schema", "body"),
    [
        ("100,000 symbols", json.dumps({"type": "record", "name": "R", "fields": [{"name": "e", "type": {"type": "enum", "name": "E", "symbols": [f"S{i}" for i in range(100_000)]}}]}), long(99_999)),
        ("20,000 fields", record(*((f"f{i}", "null") for i in range(20_000))), b""),
        ("5,000 branches", record(("u", [{"type": "fixed", "name": f"F{i}", "size": 1} for i in range(5_000)])), long(4_999) + b"x"),
        ("arrays in arrays, 900 deep", record(("a", json.loads('{"type":"array","items":' * 900 + '"null"' + "}" * 900))), b"\x00"),
        ("arrays in arrays, 50,000 deep", '{"type":"record","name":"R","fields":[{"name":"a","type":' + '{"type":"array","items":' * 50_000 + '"null"' + "}" * 50_000 + "}]}", b"\x00"),
        ("a default of 900,000 characters", json.dumps({"type": "record", "name": "R", "fields": [{"name": "s", "type": "string", "default": "x" * 900_000}]}), avro_string("x")),
        ("a default 50,000 deep", '{"type":"record","name":"R","fields":[{"name":"s","type":"string","default":' + "[" * 50_000 + "]" * 50_000 + "}]}", avro_string("x")),
        ("a name of 900,000", json.dumps({"type": "record", "name": "R" * 900_000, "fields": []}), b""),
        ("10,000 aliases", json.dumps({"type": "record", "name": "R", "aliases": [f"A{i}" for i in range(10_000)], "fields": [{"name": "s", "type": "string", "aliases": [f"A{i}" for i in range(10_000)]}]}), avro_string("x")),
        ("a size of 10^400", '{"type":"fixed","name":"F","size":1' + "0" * 400 + "}", b"x"),
        ("a precision of 10^5 digits", '{"type":"bytes","logicalType":"decimal","precision":' + "9" * 100_000 + "}", avro_string(b"\x01")),
        ("a size that is a float", '{"type":"fixed","name":"F","size":1e400}', b"x"),
        ("a negative scale", '{"type":"bytes","logicalType":"decimal","precision":4,"scale":-2000000000}', b"\x02\x01"),
        ("not JSON", "{" * 100_000, b""),
        ("a number", "5", b""),
        ("null", "null", b""),
        ("half a surrogate", '{"type":"enum","name":"E","symbols":["\\ud800"]}', b"\x00"),
        ("itself alone", '{"type":"record","name":"R","fields":[{"name":"r","type":"R"}]}', b"\x00"),
        ("two that hold each other", '{"type":"record","name":"R","fields":[{"name":"r","type":{"type":"record","name":"Q","fields":[{"name":"r","type":"R"}]}}]}', b"\x00"),
        ("an empty enum", '{"type":"enum","name":"E","symbols":[]}', b"\x00"),
        ("fields that are no list", '{"type":"record","name":"E","fields":{"a":1}}', b"\x00"),
        ("a union of nothing", "[]", b"\x00"),
        ("a name twice", '{"type":"record","name":"E","fields":[{"name":"a","type":"int"},{"name":"a","type":"int"}]}', b"\x00\x00"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("columns", slow_but([False, True], False), ids=["as it is", "columns"])
def test_a_schema_ends_in_rows_or_in_a_sentence(
    what: str, schema: str, body: bytes, columns: bool, tmp_path: Path
) -> None:
    more = ("--columns", "S STRING, N INT") if columns else ()
    judge(between(schema, body, body, tmp_path, *more), peak=PEAK, most=60 << 20)
