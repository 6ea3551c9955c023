"""JSON rows against Connect's real JsonConverter (3.9.2), as ksqlDB's JSON format writes with it: our bytes are its bytes, and
it reads ours back to the same values.

On Java 25, whose text of a double is the shortest. On Java 17, which many engines run on, a few are a digit longer
(JDK-4511638): they are pinned here.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from srfix.serde import CaseRule, Columns, parse_columns
from srfix.serde.columns.types import Struct
from srfix.serde.connect.columns import connect_of
from srfix.serde.connect.schema import ConnectSchema, ConnectType
from srfix.serde.formats import json as json_format
from srfix.serde.interface import Value
from srfix.serde.specs import ReadSpec, WriteSpec
from tests.stack.connect_rows import Connect, connect, to_wire
from tests.stack.java_process import Json
from tests.stack.rows_of_columns import TABLE, in_order, rows_of, settled, unordered, with_rows
from tests.strategies import columns as any_columns

pytestmark = pytest.mark.stack


@pytest.fixture(scope="module")
def java() -> Iterator[Connect]:
    with connect(newest_java=True) as process:
        yield process


@pytest.fixture(scope="module")
def old_java() -> Iterator[Connect]:
    with connect() as process:
        yield process


def both_ways(java: Connect, columns: Columns, rows: list[dict[str, Value]], *, wrapped: bool = True) -> None:
    """Our bytes are JsonConverter's, and it reads ours back to the same values; so do we."""
    schema = connect_of(columns, wrapped=wrapped)
    encode = json_format.encoder(None, WriteSpec(columns=columns, case_rule=CaseRule.EXACT, wrap=wrapped))
    decode = json_format.decoder(None, ReadSpec(columns=columns, case_rule=CaseRule.KSQLDB, wrap=wrapped))
    rows = [cast("dict[str, Value]", in_order(Struct(columns), row)) for row in rows]
    wires = [to_wire(schema, row if wrapped else row[columns[0].name]) for row in rows]
    bodies = [encode(row, b"") for row in rows]
    assert bodies == java.write_json(schema, wires)
    for read, wire in zip(java.read_json(schema, bodies), wires, strict=True):
        assert unordered(schema, read) == unordered(schema, _as_json_has_it(schema, wire))
    for body, row in zip(bodies, rows, strict=True):
        assert settled(decode(body, 0)) == settled(_without_negative_zero(row))


def _as_json_has_it(schema: ConnectSchema, wire: Json) -> Json:
    """What JsonConverter itself loses: it reads fractions as BigDecimal, which has no -0.0, and text for a double as 0.0
    (Jackson's `asDouble`). ksqlDB reads with a class of its own."""
    match schema.type, wire:
        case ConnectType.FLOAT64, "-0.0" | "NaN" | "Infinity" | "-Infinity":
            return "0.0"
        case ConnectType.MAP, list():
            return [[pair[0], _as_json_has_it(schema.values, pair[1])] for pair in wire if isinstance(pair, list)]
        case ConnectType.ARRAY, list():
            return [_as_json_has_it(schema.values, item) for item in wire]
        case ConnectType.STRUCT, list():
            return [_as_json_has_it(part.schema, item) for part, item in zip(schema.fields, wire, strict=True)]
    return wire


def _without_negative_zero(value: object) -> object:
    match value:
        case dict():
            return {name: _without_negative_zero(part) for name, part in value.items()}
        case list():
            return [_without_negative_zero(part) for part in value]
        case float():
            return value + 0.0
    return value


class TestRowsUnderColumns:
    @TABLE
    def test_wrapped(self, java: Connect, text: str, values: list[list[Value]]) -> None:
        columns = parse_columns(text)
        both_ways(java, columns, rows_of(columns, values))

    @TABLE
    def test_unwrapped(self, java: Connect, text: str, values: list[list[Value]]) -> None:
        columns = parse_columns(text)[:1]
        both_ways(java, columns, rows_of(columns, values, nulls=False), wrapped=False)

    def test_generated(self, java: Connect) -> None:
        @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
        @given(any_columns.flatmap(with_rows))
        def check(case: tuple[Columns, list[dict[str, Value]]]) -> None:
            both_ways(java, *case)

        check()

    @pytest.mark.parametrize(
        "text",
        [
            *("\0\1\x1f\x7f\x80", '"\\/\b\f\n\r\t', "\u2028\u2029", "\ufeff\ufffe\uffff", "é€", "😀\U0010ffff", "<>&'"),
        ],
    )
    def test_strings(self, java: Connect, text: str) -> None:
        columns = parse_columns("A STRING, B MAP<STRING, INT>")
        both_ways(java, columns, [{"A": text, "B": {text: 1}}])

    def test_each_character(self, java: Connect) -> None:
        text = "".join(chr(code) for code in range(0x3000) if not 0xD800 <= code < 0xE000)
        both_ways(java, parse_columns("A STRING"), [{"A": text}])

    def test_generated_doubles(self, java: Connect) -> None:
        columns = parse_columns("A DOUBLE")

        @settings(max_examples=100, deadline=None)
        @given(st.lists(st.floats(), min_size=20, max_size=20))
        def check(doubles: list[float]) -> None:
            both_ways(java, columns, [{"A": double} for double in doubles])

        check()

    def test_powers_of_ten_and_two(self, java: Connect) -> None:
        doubles = [float(f"{digits}e{power}") for power in range(-324, 309) for digits in ("1", "1.5", "9.99")]
        doubles += [2.0**power for power in range(-1074, 1024)]
        both_ways(java, parse_columns("A DOUBLE"), [{"A": sign * double} for double in doubles for sign in (1, -1)])

    def test_decimals_with_an_exponent(self, java: Connect) -> None:
        columns = parse_columns("A DECIMAL(20, 15)")
        numbers = [Decimal(unscaled).scaleb(-15) for unscaled in (0, 1, -1, 10**8, 10**9, 10**10, 10**15, 10**20 - 1)]
        both_ways(java, columns, [{"A": number} for number in numbers])


class TestJava17:
    @pytest.mark.parametrize(
        ("double", "theirs", "ours"),
        [
            (2e23, "1.9999999999999998E23", "2.0E23"),
            (1.650920409798954e268, "1.6509204097989539E268", "1.650920409798954E268"),
            (2.0**-44, "5.6843418860808015E-14", "5.684341886080802E-14"),
            (5e-324, "4.9E-324", "4.9E-324"),
        ],
    )
    def test_some_doubles_are_a_digit_longer(self, old_java: Connect, double: float, theirs: str, ours: str) -> None:
        columns = parse_columns("A DOUBLE")
        schema = connect_of(columns)
        assert old_java.write_json(schema, [to_wire(schema, {"A": double})]) == [f'{{"A":{theirs}}}'.encode()]
        assert (
            json_format.encoder(None, WriteSpec(columns=columns, case_rule=CaseRule.EXACT))({"A": double}, b"")
            == f'{{"A":{ours}}}'.encode()
        )
