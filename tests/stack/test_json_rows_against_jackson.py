"""JSON rows against Jackson's real trees: what it makes of a body, and Java's numbers of its texts, is what we go by.

Which node feeds which column is ksqlDB's, and said again here, in few words: `KsqlJsonDeserializer`, `JsonSerdeUtils`,
`DecimalUtil.ensureFit`.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from decimal import Decimal as Number
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from srfix.serde import CaseRule, CoercionError, Column, IncompatibleTypeError, OutOfRangeError
from srfix.serde.columns.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    ColumnType,
    Decimal,
    Map,
    Struct,
)
from srfix.serde.formats import json as json_format
from srfix.serde.specs import ReadSpec
from tests.stack.avro_data import AvroData, avro_data

pytestmark = pytest.mark.stack

SCALARS: Final = (BOOLEAN, INTEGER, BIGINT, DOUBLE, STRING, BYTES, DATE, TIME, TIMESTAMP)
NUMBERS: Final = {INTEGER: 0, BIGINT: 1, DOUBLE: 2, DATE: 1, TIME: 1, TIMESTAMP: 1}
"""Which of a node's numbers a column takes: as int, long, double."""
WITHIN_TEXTS: Final[tuple[ColumnType, ...]] = (Array(STRING), Map(STRING))
NAMES: Final = ("A", "a", "FOO", "foo", "Foo", "ß", "SS", "x.y")
TEXTS: Final = (
    *(
        "",
        "1",
        "-7",
        "+5",
        "1.50",
        "1e3",
        ".5",
        "5.",
        "0012",
        "1d",
        "0x1p4",
        "NaN",
        "-Infinity",
        " 1 ",
        "1_0",
        "x",
        "true",
    ),
    *(
        "٣",
        "99.999",
        "12345.67",
        "9223372036854775807",
        "-9223372036854775809",
        "é",
        "\U0001f600",
        '\0\n"\\/\x7f\u2028',
    ),
    *("AQI=", "AQ", "abcd", "AQI=\n", " AQIDBA==", "AQI=AQI=", "AQID BAUG", "_-8=", "AR=="),
)
LITERALS: Final = (
    *(
        "true",
        "false",
        "null",
        "0",
        "-1",
        "2147483648",
        "-2147483649",
        "9223372036854775808",
        "123456789012345678901234567890",
    ),
    *(
        "1.5",
        "-0.0",
        "1e2",
        "1E-7",
        "12.340",
        "99.995",
        "999",
        "1000",
        "86400000",
        "86400001",
        "1e30",
        "1e-400",
        "1e400",
    ),
    *("1.7976931348623157E308", "4.9e-324", "0.1", "18262", "1577836800000", "4294967297.9"),
    *(json.dumps(text, ensure_ascii=ascii_only) for text in TEXTS for ascii_only in (False, True)),
)


@pytest.fixture(scope="module")
def java() -> Iterator[AvroData]:
    with avro_data() as process:
        yield process


class WrongNode(Exception):
    """A node that the column does not take: path and class."""


class WrongValue(Exception):
    """A value that does not fit: path."""


def read(column: ColumnType, node: Any, path: str) -> object:
    """The engine's value of a node; dates and times as numbers."""
    kind = "NullNode" if node is None else node[0]
    match column:
        case _ if kind == "NullNode":
            return None
        case Struct(fields) if kind == "ObjectNode":
            exact = dict(node[1])
            upper = {name.upper(): part for name, part in node[1]}
            found = ((field, exact.get(field.name) or upper.get(field.name)) for field in fields)
            return {field.name: read(field.type, part, f"{path}.{field.name}") for field, part in found}
        case Map(values) if kind == "ObjectNode":
            return {name: read(values, part, f"{path}.{name}.value") for name, part in node[1]}
        case Array(items) if kind == "ArrayNode":
            return [read(items, part, f"{path}[{number}]") for number, part in enumerate(node[1])]
        case _ if column is BOOLEAN and kind == "BooleanNode":
            return node[1]
        case _ if column is STRING:
            return _text(node)
        case _ if column is BYTES and kind == "TextNode":
            return bytes.fromhex(_there(node[3], path))
        case Decimal() if kind == "TextNode" or kind not in OTHERS:
            return _fitted(column, Number(_there(node[2][3], path)), path)
        case _ if column in NUMBERS and (kind == "TextNode" or kind not in OTHERS):
            given = _there(node[2][NUMBERS[column]], path)
            if column is DOUBLE:
                return float(given.replace("Infinity", "inf"))
            if column is TIME and not 0 <= int(given) <= 86_400_000:
                raise WrongValue(path)
            return int(given)
        case _:
            raise WrongNode(path, kind)


OTHERS: Final = frozenset({"ObjectNode", "ArrayNode", "BooleanNode", "NullNode", "MissingNode"})


def _there(value: Any, path: str) -> str:
    if value is None:
        raise WrongValue(path)
    return str(value)


def _text(node: Any) -> str | None:
    match node[0]:
        case "NullNode":
            return None
        case "ObjectNode":
            return str(node[2])
        case "ArrayNode":
            return f"[{', '.join(_text(part) or 'null' if part[0] == 'NullNode' else str(_text(part)) for part in node[1])}]"
        case "BooleanNode":
            return str(node[1]).lower()
        case "MissingNode":
            return ""
        case _:
            return str(node[1])


def _fitted(column: Decimal, value: Number, path: str) -> Number:
    sign, digits, exponent = value.as_tuple()
    assert isinstance(exponent, int)
    unscaled = int("".join(map(str, digits)))
    lift = exponent + column.scale
    if unscaled and len(digits) + exponent > 1000:
        raise WrongValue(path)
    if unscaled == 0:
        lift = 0
    if lift < 0:
        unscaled, rest = divmod(unscaled, 10**-lift) if -lift <= len(digits) else (0, 1)
        if rest:
            raise WrongValue(path)
    else:
        unscaled *= 10**lift
    if unscaled >= 10**column.precision:
        raise WrongValue(path)
    return Number((0 if unscaled == 0 else sign, tuple(map(int, str(unscaled))), -column.scale))


def settled(column: ColumnType, value: Any) -> object:
    """Our value as `read` has it."""
    match column:
        case _ if value is None:
            return None
        case Array(items):
            return [settled(items, item) for item in value]
        case Map(values):
            return {name: settled(values, item) for name, item in value.items()}
        case Struct(fields):
            return {field.name: settled(field.type, value[field.name]) for field in fields}
    if column is DATE:
        return (value - datetime.date(1970, 1, 1)).days
    if column is TIME:
        midnight = datetime.datetime.min
        return (datetime.datetime.combine(midnight, value) - midnight) // datetime.timedelta(milliseconds=1)
    if column is TIMESTAMP:
        return (value - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) // datetime.timedelta(milliseconds=1)
    return value


types = st.recursive(
    st.sampled_from((*SCALARS, Decimal(5, 2), Decimal(20, 10), Decimal(3, 0))),
    lambda inner: (
        st.builds(Array, inner)
        | st.builds(Map, inner)
        | st.lists(
            st.builds(Column, st.sampled_from(NAMES), inner), min_size=1, max_size=3, unique_by=lambda c: c.name
        ).map(lambda fields: Struct(tuple(fields)))
    ),
    max_leaves=5,
)


@st.composite
def bodies(draw: DrawFn, column: ColumnType, depth: int = 3) -> str:
    """JSON that may feed a column: mostly of its shape, its names in any case, some of them twice."""
    if depth == 0 or draw(st.integers(0, 7)) == 0:
        return draw(st.sampled_from(LITERALS))
    match column:
        case Array(items):
            return f"[{','.join(draw(st.lists(bodies(items, depth - 1), max_size=3)))}]"
        case Map(values):
            parts = draw(st.lists(st.tuples(st.sampled_from(("k", "K", "")), bodies(values, depth - 1)), max_size=3))
        case Struct(fields):
            parts = []
            for field in draw(st.lists(st.sampled_from(fields), max_size=len(fields) + 2)):
                spellings = (field.name, field.name.lower(), field.name.upper(), field.name.title(), "zz")
                parts.append((draw(st.sampled_from(spellings)), draw(bodies(field.type, depth - 1))))
        case _:
            if column is not STRING or draw(st.booleans()):
                return draw(st.sampled_from(LITERALS))
            return draw(bodies(draw(st.sampled_from(WITHIN_TEXTS)), depth - 1))
    return f"{{{','.join(f'{json.dumps(name)}:{part}' for name, part in parts)}}}"


@settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
@given(column=types, data=st.data())
def test_a_body_becomes_the_engines_row_or_is_refused_where_the_engine_does(
    java: AvroData, column: ColumnType, data: st.DataObject
) -> None:
    body = data.draw(bodies(column)).encode()
    decode = json_format.decoder(None, ReadSpec(columns=(Column("A", column),), case_rule=CaseRule.KSQLDB, wrap=False))
    tree = java.json_tree(body)
    assert isinstance(tree, list)
    expected: object
    try:
        expected = read(column, tree, "$")
    except (WrongNode, WrongValue) as error:
        expected = (type(error), *error.args)
    got: object
    try:
        row = decode(body, 0)
    except OutOfRangeError:
        return  # of Python's dates and times; or it does not fit
    except IncompatibleTypeError as error:
        got = (WrongNode, error.path, error.writer_type)
    except CoercionError as error:
        got = (WrongValue, error.path)
    else:
        assert isinstance(row, dict)
        got = settled(column, row["A"])
    assert repr(got) == repr(expected)
