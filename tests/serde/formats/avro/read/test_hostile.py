"""Bodies that somebody broke, by accident or on purpose: only our errors come out, soon, and no row that is wrong.

The judge is `skim`, which walks a body by the specification and makes no values: whatever is read must be a body to it. One
thing passes fastavro that is none, and would cost every record a search to find: a number in more than ten bytes, and a
boolean in more than one.

| strategy | what it does to a body |
|---|---|
| `truncated` | leaves out its end |
| `extended` | adds bytes behind it |
| `flipped` | inverts up to three bits |
| `with_huge_numbers` | puts a number of many bytes at one place, over what is there or between |
| `of_other_types` | it is a body of another schema |
| `noise` | any bytes |
"""

from __future__ import annotations

import json
import tracemalloc
from dataclasses import dataclass
from io import BytesIO
from typing import cast

import fastavro
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from srfix.serde.casing import CaseRule
from srfix.serde.columns.text import parse_columns
from srfix.serde.engine import Decode
from srfix.serde.errors import DecodeError, TruncatedBodyError
from srfix.serde.formats.avro.read.body_walk import skim
from srfix.serde.formats.avro.read.costs import Costs
from srfix.serde.formats.avro.read.decoder import decoder
from srfix.serde.formats.avro.schema import load
from tests.examples import examples


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A schema, columns for all of it, and bodies of it."""

    text: str
    columns: str
    bodies: tuple[bytes, ...]


def _record(_name: str, /, **types: object) -> dict[str, object]:
    return {"type": "record", "name": _name, "fields": [{"name": name, "type": type_} for name, type_ in types.items()]}


def _shape(schema: dict[str, object], columns: str, *rows: object) -> Shape:
    bodies = []
    for row in rows:
        out = BytesIO()
        fastavro.schemaless_writer(out, schema, row)
        bodies.append(out.getvalue())
    return Shape(text=json.dumps(schema), columns=columns, bodies=tuple(bodies))


FLAT = _shape(
    _record("Flat", i="int", l="long", b="boolean", s="string", y="bytes", d="double", f="float"),
    "I INT, L BIGINT, B BOOLEAN, S STRING, Y BYTES, D DOUBLE, F DOUBLE",
    {"i": 5, "l": -(2**40), "b": True, "s": "tëxt", "y": b"\x00\xff", "d": 1.5, "f": 0.5},
    {"i": 2**31 - 1, "l": 0, "b": True, "s": "x", "y": b"y", "d": 0.0, "f": 0.0},
    {"i": -(2**31), "l": 2**63 - 1, "b": False, "s": "", "y": b"", "d": -0.0, "f": 1e30},
)
COERCED = _shape(
    _record(
        "Coerced",
        i=["null", "int"],
        b="boolean",
        t={"type": "long", "logicalType": "timestamp-millis"},
        d={"type": "int", "logicalType": "date"},
        c={"type": "bytes", "logicalType": "decimal", "precision": 6, "scale": 2},
        e={"type": "enum", "name": "E", "symbols": ["A", "B", "C"]},
        x={"type": "fixed", "name": "X", "size": 3},
    ),
    "I STRING, B STRING, T BIGINT, D STRING, C DECIMAL(8, 3), E STRING, X BYTES",
    {"i": 5, "b": True, "t": 1_767_323_045_678, "d": 20455, "c": b"\x30\x39", "e": "B", "x": b"abc"},
    {"i": None, "b": False, "t": 0, "d": 0, "c": b"\xff", "e": "C", "x": b"\x80\x80\x80"},
)
NESTED = _shape(
    _record(
        "Nested",
        a={"type": "array", "items": ["null", "int"]},
        m={"type": "map", "values": {"type": "array", "items": "string"}},
        u=["null", "long", "string", _record("P", x="int", y="boolean")],
        n={"type": "array", "items": "P"},
        q={"type": "array", "items": "null"},
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
    _record("N", v="int", ok="boolean", next=["null", "N"], more={"type": "array", "items": "N"}),
    "V INT, OK BOOLEAN, NEXT STRUCT<V INT, NEXT STRUCT<V INT>>",
    {"v": 1, "ok": True, "next": {"v": 2, "ok": False, "next": None, "more": []}, "more": []},
    {"v": 1, "ok": True, "next": None, "more": [{"v": 3, "ok": True, "next": None, "more": []}] * 3},
)
SHAPES = (FLAT, COERCED, NESTED, RECURSIVE)

shapes: SearchStrategy[Shape] = st.sampled_from(SHAPES)
"""Schemas of every type there is."""
huge_numbers: SearchStrategy[bytes] = st.sampled_from(
    [
        b"\xfe\xff\xff\xff\x0f",  # 2³¹ - 1
        b"\xff\xff\xff\xff\x0f",  # -2³¹
        b"\x80\x80\x80\x80\x20",  # 2³²
        b"\xfe" + b"\xff" * 8 + b"\x01",  # 2⁶³ - 1
        b"\xff" * 9 + b"\x01",  # -2⁶³
        b"\x80" * 20 + b"\x00",
        b"\xff" * 40,
        b"\x80\x80\x80\x80\x02",  # 2²⁸
    ]
)
"""Numbers that a length, an index or a count had better not be."""


def truncated(body: bytes) -> SearchStrategy[bytes]:
    """Its end is missing."""
    return st.integers(0, max(len(body) - 1, 0)).map(lambda size: body[:size])


def extended(body: bytes) -> SearchStrategy[bytes]:
    """There is something behind it."""
    return st.binary(min_size=1, max_size=20).map(lambda more: body + more)


def flipped(body: bytes) -> SearchStrategy[bytes]:
    """Some bits are wrong."""

    def flip(bits: list[int]) -> bytes:
        made = bytearray(body)
        for bit in bits:
            made[bit // 8] ^= 1 << bit % 8
        return bytes(made)

    return st.lists(st.integers(0, len(body) * 8 - 1), min_size=1, max_size=3).map(flip)


def with_huge_numbers(body: bytes) -> SearchStrategy[bytes]:
    """A number of many bytes is in it."""
    return st.tuples(st.integers(0, len(body)), st.integers(0, 10), huge_numbers).map(
        lambda at: body[: at[0]] + at[2] + body[at[0] + at[1] :]
    )


bodies: SearchStrategy[bytes] = st.sampled_from([body for shape in SHAPES for body in shape.bodies])
"""Whole bodies, of any schema."""
broken: SearchStrategy[bytes] = bodies.flatmap(
    lambda body: truncated(body) | extended(body) | flipped(body) | with_huge_numbers(body)
)
of_other_types: SearchStrategy[bytes] = bodies
noise: SearchStrategy[bytes] = st.binary(max_size=60)


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
    @pytest.mark.slow  # the bits that flip and the prefixes are below
    @given(
        shapes.flatmap(lambda shape: st.tuples(st.just(shape), st.sampled_from(shape.bodies))), st.data(), st.booleans()
    )
    @settings(max_examples=examples(800), suppress_health_check=[HealthCheck.too_slow])
    def test_a_broken_body_is_a_row_of_its_schema_or_our_error(
        self, whole: tuple[Shape, bytes], data: st.DataObject, typed: bool
    ) -> None:
        shape, body = whole
        mutated = data.draw(truncated(body) | extended(body) | flipped(body) | with_huge_numbers(body))
        _holds(shape, mutated, typed=typed)

    def test_an_int_of_33_bits_in_what_no_column_asks_for_is_skipped(self) -> None:
        body = bytes.fromhex("020100068080808020010000060100000601000000")
        assert PLANS[RECURSIVE.text, True](body, 0) == {"V": 1, "OK": True, "NEXT": None}
        _holds(RECURSIVE, body, typed=True)
        with pytest.raises(DecodeError, match="which needs more than 32 bits"):
            PLANS[RECURSIVE.text, False](body, 0)

    @pytest.mark.slow
    @given(shapes, broken | of_other_types, st.booleans())
    @settings(max_examples=examples(600), suppress_health_check=[HealthCheck.too_slow])
    def test_so_is_one_of_another_schema(self, shape: Shape, body: bytes, typed: bool) -> None:
        _holds(shape, body, typed=typed)

    @given(shapes, noise, st.booleans())
    @settings(max_examples=examples(600), suppress_health_check=[HealthCheck.too_slow])
    def test_so_is_noise(self, shape: Shape, body: bytes, typed: bool) -> None:
        _holds(shape, body, typed=typed)

    @pytest.mark.parametrize("shape", SHAPES)
    @pytest.mark.parametrize("typed", [True, False])
    def test_every_prefix_of_a_body_is_truncated(self, shape: Shape, typed: bool) -> None:
        for body in shape.bodies:
            assert isinstance(PLANS[shape.text, typed](body, 0), dict)
            for size in range(len(body)):
                with pytest.raises(TruncatedBodyError):
                    PLANS[shape.text, typed](body[:size], 0)

    @pytest.mark.parametrize("shape", [FLAT, COERCED, NESTED, RECURSIVE])
    @pytest.mark.parametrize("typed", [True, False])
    def test_every_single_bit_that_flips(self, shape: Shape, typed: bool) -> None:
        for body in shape.bodies:
            for bit in range(len(body) * 8):
                made = bytearray(body)
                made[bit // 8] ^= 1 << bit % 8
                _holds(shape, bytes(made), typed=typed)


def _varint(number: int) -> bytes:
    out = BytesIO()
    fastavro.schemaless_writer(out, cast("dict[str, object]", "long"), number)
    return out.getvalue()


class TestHugeClaims:
    @pytest.mark.parametrize("size", [2**31 - 1, 2**40, 2**62])
    @pytest.mark.parametrize(
        "type_",
        [
            "string",
            "bytes",
            {"type": "array", "items": "int"},
            {"type": "array", "items": "string"},
            {"type": "map", "values": "int"},
            {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2},
        ],
    )
    def test_a_few_bytes_that_claim_a_lot_allocate_nothing(self, type_: object, size: int) -> None:
        read = decoder(json.dumps(_record("R", f=type_)), columns=None, case_rule=CaseRule.UNIQUE)
        body = _varint(size)
        with pytest.raises(TruncatedBodyError):
            read(body, 0)
        tracemalloc.start()
        try:
            with pytest.raises(TruncatedBodyError):
                read(body, 0)
            assert tracemalloc.get_traced_memory()[1] < 100_000
        finally:
            tracemalloc.stop()

    @pytest.mark.parametrize("columns", [None, "F ARRAY<INT>", "G INT"])
    def test_millions_of_items_without_bytes_are_refused(self, columns: str | None) -> None:
        schema = json.dumps(_record("R", f={"type": "array", "items": _record("Empty")}, g="int"))
        declared = None if columns is None else parse_columns(columns)
        read = decoder(schema, columns=declared, case_rule=CaseRule.KSQLDB)
        with pytest.raises(DecodeError, match=r"^The body claims 5,000,000 array items that take no bytes, at ->f"):
            read(_varint(5_000_000) + b"\x00\x00", 0)

    @pytest.mark.parametrize("typed", [True, False])
    @pytest.mark.parametrize("levels", [1_000, 100_000])
    def test_a_body_that_goes_too_deep_is_refused(self, typed: bool, levels: int) -> None:
        with pytest.raises(DecodeError, match=r"^The body nests deeper than 1000 levels"):
            PLANS[RECURSIVE.text, typed](b"\x02\x01\x02" * levels + b"\x02\x01\x00" + b"\x00" * (levels + 1), 0)

    def test_items_within_items_without_end_are_refused(self) -> None:
        schema = json.dumps(_record("T", children={"type": "array", "items": "T"}))
        read = decoder(schema, columns=None, case_rule=CaseRule.UNIQUE)
        with pytest.raises(DecodeError, match=r"^The body nests deeper than 1000 levels"):
            read(b"\x02" * 50_000 + b"\x00" * 50_001, 0)


def test_a_body_that_ends_within_a_map_says_so_by_the_path_that_other_errors_have() -> None:
    schema = '{"type":"record","name":"R","fields":[{"name":"M","type":{"type":"map","values":"long"}}]}'
    read = decoder(schema, columns=None, case_rule=CaseRule.EXACT)
    with pytest.raises(TruncatedBodyError, match=r"within ->M->MAP_VAL:"):
        read(b"\x02\x02a", 0)
