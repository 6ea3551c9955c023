"""Every writer type by every column type, through Connect: Avro and JSON_SR give the same values and refusals.

| column | takes Connect's |
|---|---|
| BIGINT, TIMESTAMP | int8, int16, int32, int64 |
| INTEGER, DATE, TIME | int8, int16, int32 |
| DOUBLE | float32, float64: no integers |
| STRING | all of these, boolean, string: `String.valueOf` |
| BOOLEAN, BYTES, ARRAY, MAP, STRUCT | the same type only |
| DECIMAL | bytes that are a Decimal, and fit: never rounded |

A writer's Date, Time or Timestamp is the number that it is made of. All else is refused, with the path and both types, null
or not; but not what is in an empty ARRAY or MAP, or in a STRUCT that is null.

Sources: `ConnectDataTranslator.validateSchema`, `toKsqlValue`, `maybeConvertLogicalType`; `DecimalUtil.ensureFit`.
"""

from __future__ import annotations

import datetime
import decimal
import json
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import pytest

from srfix.serde.casing import CaseRule
from srfix.serde.columns.text import parse_columns
from srfix.serde.deserializer import SchemaDeserializer
from srfix.serde.errors import CoercionError, IncompatibleTypeError
from srfix.serde.interface import SerdeContext
from srfix.serde.resolve.policies import ById
from srfix.serde.serializer import AvroSerializer, JsonSchemaSerializer
from tests.serde import avro_schemas as avro
from tests.serde.fakes import MemoryRegistry

Form: TypeAlias = Literal["avro", "json_sr"]

VALUE: Final = SerdeContext("t")
CONNECT: Final = "org.apache.kafka.connect.data"
DAY_2: Final = datetime.date(1970, 1, 3)
MILLIS_2: Final = datetime.time(0, 0, 0, 2000)
AT_2: Final = datetime.datetime(1970, 1, 1, 0, 0, 0, 2000, tzinfo=datetime.UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """A writer's type, with a value."""

    connect: str
    """Its type to Connect."""
    avro: object
    json: object
    value: object
    """A value as Avro's serializer takes it."""
    json_value: object = None
    """The same in JSON, where it is another."""


def _number(connect_type: str) -> object:
    return {"type": "integer" if connect_type.startswith("int") else "number", "connect.type": connect_type}


def _logical(word: str, connect_type: str) -> object:
    return {"type": "integer", "title": f"{CONNECT}.{word}", "connect.type": connect_type, "connect.version": 1}


DECIMAL_JSON: Final = {
    "type": "number",
    "title": f"{CONNECT}.Decimal",
    "connect.type": "bytes",
    "connect.version": 1,
} | {"connect.parameters": {"scale": "2", "connect.decimal.precision": "5"}}


def _json_array(items: object) -> dict[str, object]:
    return {"type": "array", "items": items}


def _json_map(values: object) -> dict[str, object]:
    return {"type": "object", "connect.type": "map", "additionalProperties": values}


def _json_object(type_: object, field: str = "f") -> dict[str, object]:
    return {"type": "object", "properties": {field: type_}}


def _json_null_or(type_: object) -> dict[str, object]:
    return {"oneOf": [{"type": "null"}, type_]}


JSON_STRING: Final = {"type": "string"}
JSON_BYTES: Final = {"type": "string", "connect.type": "bytes"}
WRITERS: Final = {
    "int8": Writer(connect="int8", avro={"type": "int", "connect.type": "int8"}, json=_number("int8"), value=2),
    "int16": Writer(connect="int16", avro={"type": "int", "connect.type": "int16"}, json=_number("int16"), value=2),
    "int32": Writer(connect="int32", avro="int", json=_number("int32"), value=2),
    "int64": Writer(connect="int64", avro="long", json={"type": "integer"}, value=2),
    "float32": Writer(connect="float32", avro="float", json=_number("float32"), value=2.5),
    "float64": Writer(connect="float64", avro="double", json={"type": "number"}, value=2.5),
    "boolean": Writer(connect="boolean", avro="boolean", json={"type": "boolean"}, value=True),
    "string": Writer(connect="string", avro="string", json=JSON_STRING, value="2"),
    "enum": Writer(connect="string", avro=avro.enum("B", "A"), json={"enum": ["B", "A"]}, value="A"),
    "bytes": Writer(connect="bytes", avro="bytes", json=JSON_BYTES, value=b"\x02", json_value="Ag=="),
    "Date": Writer(connect="int32", avro=avro.DATE, json=_logical("Date", "int32"), value=DAY_2, json_value=2),
    "Time": Writer(
        connect="int32", avro=avro.TIME_MILLIS, json=_logical("Time", "int32"), value=MILLIS_2, json_value=2
    ),
    "Timestamp": Writer(
        connect="int64", avro=avro.MILLIS, json=_logical("Timestamp", "int64"), value=AT_2, json_value=2
    ),
    "Decimal": Writer(
        connect="bytes", avro=avro.decimal(5, 2), json=DECIMAL_JSON, value=decimal.Decimal("2.50"), json_value=2.5
    ),
    "array": Writer(connect="array", avro=avro.array("int"), json=_json_array(_number("int32")), value=[2]),
    "map": Writer(connect="map", avro=avro.map_of("int"), json=_json_map(_number("int32")), value={"k": 2}),
    "struct": Writer(
        connect="struct", avro=avro.record("S", x="int"), json=_json_object(_number("int32"), "x"), value={"x": 2}
    ),
}
_INTEGERS: Final = {
    "INTEGER": ("int32", 2),
    "BIGINT": ("int64", 2),
    "DATE": ("int32", DAY_2),
    "TIME": ("int32", MILLIS_2),
    "TIMESTAMP": ("int64", AT_2),
}
COLUMNS: Final = {
    "BOOLEAN": "boolean",
    "INTEGER": "int32",
    "BIGINT": "int64",
    "DOUBLE": "float64",
    "STRING": "string",
    "BYTES": "bytes",
    "DATE": "int32",
    "TIME": "int32",
    "TIMESTAMP": "int64",
    "DECIMAL(5, 2)": "bytes",
    "ARRAY<BIGINT>": "array",
    "MAP<STRING, BIGINT>": "map",
    "STRUCT<X BIGINT>": "struct",
}
_FROM_INT32: Final = {column: value for column, (_, value) in _INTEGERS.items()} | {"STRING": "2"}
_FROM_FLOAT: Final = {"DOUBLE": 2.5, "STRING": "2.5"}
_FROM_INT64: Final = {"BIGINT": 2, "TIMESTAMP": AT_2, "STRING": "2"}
TAKEN: Final[dict[str, dict[str, object]]] = {
    **dict.fromkeys(("int8", "int16", "int32", "Date", "Time"), _FROM_INT32),
    **dict.fromkeys(("int64", "Timestamp"), _FROM_INT64),
    **dict.fromkeys(("float32", "float64"), _FROM_FLOAT),
    "boolean": {"BOOLEAN": True, "STRING": "true"},
    "string": {"STRING": "2"},
    "enum": {"STRING": "A"},
    "bytes": {"BYTES": b"\x02"},
    "Decimal": {"DECIMAL(5, 2)": decimal.Decimal("2.50")},
    "array": {"ARRAY<BIGINT>": [2]},
    "map": {"MAP<STRING, BIGINT>": {"k": 2}},
    "struct": {"STRUCT<X BIGINT>": {"X": 2}},
}

formats = pytest.mark.parametrize("form", ["avro", "json_sr"])


def _row(form: Form, writer: Writer, column: str, *, value: object = ..., nullable: bool = False) -> object:
    """One field, written as it is and read into one column."""
    registry = MemoryRegistry()
    given = writer.value if value is ... else value
    if form == "avro":
        type_ = ["null", writer.avro] if nullable else writer.avro
        payload = AvroSerializer.for_schema(registry, json.dumps(avro.record(f=type_)))({"f": given}, VALUE)
    else:
        given = writer.json_value if value is ... and writer.json_value is not None else given
        type_ = _json_null_or(writer.json) if nullable else writer.json
        payload = JsonSchemaSerializer.for_schema(registry, json.dumps(_json_object(type_)))({"f": given}, VALUE)
    read = SchemaDeserializer(ById(registry), columns=parse_columns(f"F {column}"), case_rule=CaseRule.KSQLDB)
    row = read(payload, VALUE)
    assert isinstance(row, dict)
    return row["F"]


@formats
@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("kind", WRITERS)
class TestEveryPair:
    def test_a_value_is_taken_or_refused(self, form: Form, kind: str, column: str) -> None:
        writer = WRITERS[kind]
        if column in TAKEN[kind]:
            expected = TAKEN[kind][column]
            read = _row(form, writer, column)
            assert (read, type(read)) == (expected, type(expected))
            return
        with pytest.raises(IncompatibleTypeError) as raised:
            _row(form, writer, column)
        error = raised.value
        assert (error.path, error.writer_type, error.column_type) == ("->F", writer.connect, COLUMNS[column])
        assert {"F", writer.connect, COLUMNS[column]} <= set(error.message.translate(str.maketrans(",.", "  ")).split())

    def test_null_is_null_or_refused_all_the_same(self, form: Form, kind: str, column: str) -> None:
        """The type is looked at before the value. Bytes and Decimal are both bytes: only a value tells them apart."""
        writer = WRITERS[kind]
        if column in TAKEN[kind] or writer.connect == COLUMNS[column] == "bytes":
            assert _row(form, writer, column, value=None, nullable=True) is None
            return
        with pytest.raises(IncompatibleTypeError):
            _row(form, writer, column, value=None, nullable=True)


def _parts(type_: object, of_json: object, value: object) -> Writer:
    return Writer(connect="", avro=type_, json=of_json, value=value)


STRUCT_B: Final = _parts(avro.record("S", b="string"), _json_object(JSON_STRING, "b"), {"b": "x"})
IN_PARTS: Final[dict[str, tuple[str, Writer, object]]] = {
    "->F->ARRAY": ("ARRAY<INT>", _parts(avro.array("string"), _json_array(JSON_STRING), ["x"]), []),
    "->F->MAP_VAL": ("MAP<STRING, INT>", _parts(avro.map_of("string"), _json_map(JSON_STRING), {"k": "x"}), {}),
    "->F->B": ("STRUCT<B INT>", STRUCT_B, None),
    "->F->ARRAY->MAP_VAL->B": (
        "ARRAY<MAP<STRING, STRUCT<B INT>>>",
        _parts(avro.array(avro.map_of(STRUCT_B.avro)), _json_array(_json_map(STRUCT_B.json)), [{"k": {"b": "x"}}]),
        [{}],
    ),
}


@formats
class TestPaths:
    @pytest.mark.parametrize("path", IN_PARTS)
    def test_parts_are_joined_and_what_is_not_there_is_not_looked_at(self, form: Form, path: str) -> None:
        column, writer, nothing = IN_PARTS[path]
        with pytest.raises(IncompatibleTypeError) as raised:
            _row(form, writer, column)
        assert (raised.value.path, raised.value.writer_type, raised.value.column_type) == (path, "string", "int32")
        assert _row(form, writer, column, value=nothing, nullable=True) == nothing

    def test_null_items_are(self, form: Form) -> None:
        strings = _parts(avro.array(["null", "string"]), _json_array(_json_null_or(JSON_STRING)), [None])
        assert _row(form, strings, "ARRAY<STRING>") == [None]
        with pytest.raises(IncompatibleTypeError):
            _row(form, strings, "ARRAY<INT>")


@formats
class TestDecimals:
    """Written with the scale 2."""

    @pytest.mark.parametrize(
        ("written", "column", "read"),
        [
            ("2.50", "DECIMAL(5, 1)", "2.5"),
            ("2.50", "DECIMAL(9, 4)", "2.5000"),
            ("-2.00", "DECIMAL(1, 0)", "-2"),
            ("0.00", "DECIMAL(1, 1)", "0.0"),
            ("999.00", "DECIMAL(3, 0)", "999"),
        ],
    )
    def test_it_has_the_columns_scale(self, form: Form, written: str, column: str, read: str) -> None:
        value = decimal.Decimal(written)
        given = float(value) if form == "json_sr" else value
        made = _row(form, WRITERS["Decimal"], column, value=given)
        assert str(made) == read

    @pytest.mark.parametrize(
        ("written", "column"),
        [("2.55", "(5, 1)"), ("0.01", "(5, 0)"), ("10.00", "(2, 1)"), ("-999.99", "(4, 2)")],
    )
    def test_it_is_never_rounded_nor_cut(self, form: Form, written: str, column: str) -> None:
        value = decimal.Decimal(written)
        with pytest.raises(CoercionError, match=r"does not fit the column type DECIMAL") as raised:
            _row(form, WRITERS["Decimal"], f"DECIMAL{column}", value=float(value) if form == "json_sr" else value)
        assert raised.value.path == "->F"


@formats
class TestTextOfNumbers:
    """`String.valueOf`: Java's text, by the writer's own width."""

    @pytest.mark.parametrize(
        ("kind", "value", "text"),
        [
            ("float64", 1e7, "1.0E7"),
            ("float64", 100.0, "100.0"),
            ("float64", 1e-4, "1.0E-4"),
            ("float64", 0.1, "0.1"),
            ("float32", 0.1, "0.1"),
            ("float32", 16777216.0, "1.6777216E7"),
            ("int64", -(2**63), "-9223372036854775808"),
            ("boolean", False, "false"),
        ],
    )
    def test_a_string_column(self, form: Form, kind: str, value: object, text: str) -> None:
        assert _row(form, WRITERS[kind], "STRING", value=value) == text

    def test_a_narrow_float_is_widened_as_it_is(self, form: Form) -> None:
        assert _row(form, WRITERS["float32"], "DOUBLE", value=0.1) == 0.10000000149011612
