"""Bodies that somebody broke, by accident or on purpose: only our errors come out, soon, and no row that is wrong.

The judge is `skim`, which walks a body by the specification and makes no values: whatever is read must be a body to it. One
thing passes fastavro that is none, and would cost every record a search to find: a number in more than ten bytes, and a
boolean in more than one. `tests/serde/fuzz/test_avro.py` breaks bodies in all other ways.
"""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import dataclass

import pytest

from srfix.serde import CaseRule, DecodeError, TruncatedBodyError, parse_columns
from srfix.serde.engine import Decode
from srfix.serde.formats.avro.read.body_walk import skim
from srfix.serde.formats.avro.read.costs import Costs
from srfix.serde.formats.avro.read.decoder import decoder
from srfix.serde.formats.avro.schema import load
from tests.serde.avro_schemas import DATE, MILLIS, array, body, decimal, enum, fixed, map_of, record


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A schema, columns for all of it, and bodies of it."""

    text: str
    columns: str
    bodies: tuple[bytes, ...]


def _shape(schema: dict[str, object], columns: str, *rows: object) -> Shape:
    return Shape(text=json.dumps(schema), columns=columns, bodies=tuple(body(schema, row) for row in rows))


FLAT = _shape(
    record("Flat", i="int", l="long", b="boolean", s="string", y="bytes", d="double", f="float"),
    "I INT, L BIGINT, B BOOLEAN, S STRING, Y BYTES, D DOUBLE, F DOUBLE",
    {"i": 5, "l": -(2**40), "b": True, "s": "tëxt", "y": b"\x00\xff", "d": 1.5, "f": 0.5},
    {"i": 2**31 - 1, "l": 0, "b": True, "s": "x", "y": b"y", "d": 0.0, "f": 0.0},
    {"i": -(2**31), "l": 2**63 - 1, "b": False, "s": "", "y": b"", "d": -0.0, "f": 1e30},
)
COERCED = _shape(
    record(
        "Coerced", i=["null", "int"], b="boolean", t=MILLIS, d=DATE, c=decimal(6, 2), e=enum("A", "B", "C"), x=fixed(3)
    ),
    "I STRING, B STRING, T BIGINT, D STRING, C DECIMAL(8, 3), E STRING, X BYTES",
    {"i": 5, "b": True, "t": 1_767_323_045_678, "d": 20455, "c": b"\x30\x39", "e": "B", "x": b"abc"},
    {"i": None, "b": False, "t": 0, "d": 0, "c": b"\xff", "e": "C", "x": b"\x80\x80\x80"},
)
NESTED = _shape(
    record(
        "Nested",
        a=array(["null", "int"]),
        m=map_of(array("string")),
        u=["null", "long", "string", record("P", x="int", y="boolean")],
        n=array("P"),
        q=array("null"),
    ),
    "A ARRAY<INT>, M MAP<STRING, ARRAY<STRING>>, U STRUCT<`long` BIGINT, `string` STRING, P STRUCT<X INT, Y BOOLEAN>>, "
    "N ARRAY<STRUCT<Y BOOLEAN, X STRING>>",
    {
        "a": [1, None, 300],
        "m": {"k": ["a", "b"], "": []},
        "u": {"x": 1, "y": True},
        "n": [{"x": 7, "y": False}],
        "q": [None],
    },
    {"a": [], "m": {}, "u": "text", "n": [], "q": []},
)
RECURSIVE = _shape(
    record("N", v="int", ok="boolean", next=["null", "N"], more=array("N")),
    "V INT, OK BOOLEAN, NEXT STRUCT<V INT, NEXT STRUCT<V INT>>",
    {"v": 1, "ok": True, "next": {"v": 2, "ok": False, "next": None, "more": []}, "more": []},
    {"v": 1, "ok": True, "next": None, "more": [{"v": 3, "ok": True, "next": None, "more": []}] * 3},
)
SHAPES = (FLAT, COERCED, NESTED, RECURSIVE)


def _read(shape: Shape, *, typed: bool) -> Decode:
    columns = parse_columns(shape.columns) if typed else None
    return decoder(shape.text, columns=columns, case_rule=CaseRule.KSQLDB)


PLANS = {(shape.text, typed): _read(shape, typed=typed) for shape in SHAPES for typed in (True, False)}


def _holds(shape: Shape, body: bytes, *, typed: bool) -> None:
    """It is a row, and the judge thinks so too; or it is one of our errors."""
    try:
        row = PLANS[shape.text, typed](body, 0)
    except DecodeError:
        return
    assert isinstance(row, dict)
    assert _judged(shape, body) in ("whole", "a number of more than 10 bytes"), row


def _judged(shape: Shape, body: bytes) -> str:
    try:
        end = skim(body, 0, Costs(load(shape.text)))
    except DecodeError as error:
        # A boolean is read as the number that its byte is, so it may go on as one. Of what no column asks for, which is
        # skipped, an int may have more than 32 bits.
        known = (
            "a number of more than 10 bytes",
            "a boolean of the byte 128",
            "a boolean of the byte 129",
            "at ->more->ARRAY->v, the body has an int of",
        )
        return "a number of more than 10 bytes" if any(words in error.message for words in known) else error.message
    return "whole" if end == len(body) else f"{len(body) - end} bytes are left over"


class TestBrokenBodies:
    def test_an_int_of_33_bits_in_what_no_column_asks_for_is_skipped(self) -> None:
        body = bytes.fromhex("020100068080808020010000060100000601000000")
        assert PLANS[RECURSIVE.text, True](body, 0) == {"V": 1, "OK": True, "NEXT": None}
        _holds(RECURSIVE, body, typed=True)
        with pytest.raises(DecodeError, match="which needs more than 32 bits"):
            PLANS[RECURSIVE.text, False](body, 0)

    @pytest.mark.parametrize("shape", SHAPES)
    @pytest.mark.parametrize("typed", [True, False])
    def test_every_prefix_of_a_body_is_truncated(self, shape: Shape, typed: bool) -> None:
        for whole in shape.bodies:
            assert isinstance(PLANS[shape.text, typed](whole, 0), dict)
            for size in range(len(whole)):
                with pytest.raises(TruncatedBodyError):
                    PLANS[shape.text, typed](whole[:size], 0)

    @pytest.mark.parametrize("shape", SHAPES)
    @pytest.mark.parametrize("typed", [True, False])
    def test_every_single_bit_that_flips(self, shape: Shape, typed: bool) -> None:
        for whole in shape.bodies:
            for bit in range(len(whole) * 8):
                made = bytearray(whole)
                made[bit // 8] ^= 1 << bit % 8
                _holds(shape, bytes(made), typed=typed)


class TestHugeClaims:
    @pytest.mark.parametrize("size", [2**31 - 1, 2**40, 2**62])
    @pytest.mark.parametrize("type_", ["string", "bytes", array("int"), array("string"), map_of("int"), decimal(4, 2)])
    def test_a_few_bytes_that_claim_a_lot_allocate_nothing(self, type_: object, size: int) -> None:
        read = decoder(json.dumps(record(f=type_)), columns=None, case_rule=CaseRule.UNIQUE)
        claim = body("long", size)
        with pytest.raises(TruncatedBodyError):
            read(claim, 0)
        tracemalloc.start()
        try:
            with pytest.raises(TruncatedBodyError):
                read(claim, 0)
            assert tracemalloc.get_traced_memory()[1] < 100_000
        finally:
            tracemalloc.stop()

    @pytest.mark.parametrize("columns", [None, "F ARRAY<INT>", "G INT"])
    def test_millions_of_items_without_bytes_are_refused(self, columns: str | None) -> None:
        schema = json.dumps(record(f=array(record("Empty")), g="int"))
        declared = None if columns is None else parse_columns(columns)
        read = decoder(schema, columns=declared, case_rule=CaseRule.KSQLDB)
        with pytest.raises(DecodeError, match=r"claims 5,000,000 array items that take no bytes, at ->f"):
            read(body("long", 5_000_000) + b"\x00\x00", 0)


def test_a_body_that_ends_within_a_map_says_so_by_the_path_that_other_errors_have() -> None:
    read = decoder(json.dumps(record(M=map_of("long"))), columns=None, case_rule=CaseRule.EXACT)
    with pytest.raises(TruncatedBodyError, match=r"within ->M->MAP_VAL:"):
        read(b"\x02\x02a", 0)
