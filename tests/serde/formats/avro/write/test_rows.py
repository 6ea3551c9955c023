"""Rows as ksqlDB makes them of Avro: each class names the engine's class whose rule it holds.

| what | where it is decided |
|---|---|
| which field feeds which column | `ConnectDataTranslator.toKsqlStruct` |
| which type feeds which column, and when that is looked at | `ConnectDataTranslator.validateSchema`, `toKsqlValue` |
| what Avro's types are to Connect | `AvroData.toConnectSchema`, `toConnectData` |
| names of columns that Avro does not allow | `AvroSchemas`, `ConnectSchemas.withCompatibleSchema` |
| digits of decimals | `DecimalUtil.ensureFit` |
| values that are not wrapped | `UnwrappedDeserializer`, `KsqlConnectDeserializer` |
| a root of bytes | `AbstractKafkaAvroDeserializer` |
"""

from __future__ import annotations

import datetime
import json
from decimal import Decimal

import pytest

from srfix.serde.casing import CaseRule
from srfix.serde.columns.text import parse_columns
from srfix.serde.engine import Decode
from srfix.serde.errors import (
    CoercionError,
    ColumnError,
    DecodeError,
    IncompatibleTypeError,
    OutOfRangeError,
    SchemaError,
)
from srfix.serde.formats.avro.read.decoder import decoder
from srfix.serde.interface import Value
from srfix.serde.specs import ReadSpec
from tests.serde.avro_schemas import (
    DATE,
    MICROS,
    MILLIS,
    UUID,
    array,
    body,
    decimal,
    fixed,
    map_of,
    record,
)

KSQLDB, KSQLDB_2020, UNIQUE, EXACT = CaseRule.KSQLDB, CaseRule.KSQLDB_2020, CaseRule.UNIQUE, CaseRule.EXACT


def _plain(schema: object) -> Decode:
    return decoder(json.dumps(schema), ReadSpec())


def _decoder(schema: object, columns: str, rule: CaseRule = KSQLDB, *, wrapped: bool = True) -> Decode:
    return decoder(json.dumps(schema), ReadSpec(columns=parse_columns(columns), case_rule=rule, wrap=wrapped))


def _read(schema: object, value: object, columns: str, rule: CaseRule = KSQLDB, *, wrapped: bool = True) -> Value:
    return _decoder(schema, columns, rule, wrapped=wrapped)(body(schema, value), 0)


def _mismatch(schema: object, value: object, columns: str, *, wrapped: bool = True) -> tuple[str, str, str]:
    """The path, the writer's type and the column's, of which is said that they do not go together."""
    with pytest.raises(IncompatibleTypeError) as caught:
        _read(schema, value, columns, wrapped=wrapped)
    return caught.value.path, caught.value.writer_type, caught.value.column_type


class TestCaseRules:
    """`ConnectDataTranslator.toKsqlStruct` of each generation, where types meet; `tests/serde/rules` has the rest."""

    @pytest.mark.parametrize(
        ("rule", "columns", "row", "read"),
        [
            (KSQLDB_2020, "`a` BIGINT, A STRING", {"a": 1}, {"a": 1, "A": "1"}),
            (KSQLDB_2020, "`a` DATE, A STRING", {"a": 1}, {"a": datetime.date(1970, 1, 2), "A": "1"}),
            (UNIQUE, "FOO INT", {"FOO": 1, "foo": 2}, {"FOO": 1}),
            (EXACT, "FOO INT, `bar` INT", {"foo": 2, "bar": 3}, {"FOO": None, "bar": 3}),
        ],
    )
    def test_the_table_holds(self, rule: CaseRule, columns: str, row: dict[str, object], read: Value) -> None:
        schema = record(**{name: ["null", "int"] for name in row})
        got = _read(schema, row, columns, rule)
        assert got == read
        assert isinstance(got, dict)
        assert list(got) == [column.name for column in parse_columns(columns)]

    def test_the_type_of_a_field_that_is_overwritten_is_looked_at_too(self) -> None:
        schema = record(FOO="string", foo="int")
        assert _mismatch(schema, {"FOO": "x", "foo": 1}, "FOO INT") == ("->FOO", "string", "int32")
        # In 2020 the columns were walked, and met the last one only.
        assert _read(schema, {"FOO": "x", "foo": 1}, "FOO INT", KSQLDB_2020) == {"FOO": 1}

    def test_in_2020_one_struct_feeds_two_columns_of_one_type(self) -> None:
        schema = record(s=record("I", x="int", y="int"))
        row = _read(schema, {"s": {"x": 1, "y": 2}}, "S STRUCT<X STRING>, `s` STRUCT<X STRING>", KSQLDB_2020)
        assert row == {"S": {"X": "1"}, "s": {"X": "1"}}

    @pytest.mark.parametrize(
        ("columns", "row"), [("A INT, `a` INT", {"A": 5, "a": 5}), ("A BIGINT, `a` STRING", {"A": 5, "a": "5"})]
    )
    def test_in_2020_null_is_its_default_for_each_column_that_the_field_feeds(
        self, columns: str, row: dict[str, Value]
    ) -> None:
        schema = record(a=["null", {"type": "int", "connect.default": 5}])
        assert _read(schema, {"a": None}, columns, KSQLDB_2020) == row

    def test_in_2020_one_field_for_two_types_with_parts_is_not_supported(self) -> None:
        with pytest.raises(ColumnError, match=r"one field feeds the columns 'S', 's', but their types differ"):
            _decoder(record(s=record("I", x="int")), "S STRUCT<X INT>, `s` STRUCT<X STRING>", KSQLDB_2020)

    def test_a_dotted_column_is_fed_by_the_field_with_an_underscore_at_every_level(self) -> None:
        # AvroSchemas, ConnectSchemas.withCompatibleSchema; the path has the columns' names.
        schema = record(a_b=record("I", c_d="long"))
        assert _read(schema, {"a_b": {"c_d": 1}}, "`a.b` STRUCT<`c.d` BIGINT>") == {"a.b": {"c.d": 1}}
        path, *_ = _mismatch(schema, {"a_b": {"c_d": 1}}, "`a.b` STRUCT<`c.d` INT>")
        assert path == "->a.b->c.d"


CENTS = decimal(6, 2)
AT = datetime.datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=datetime.UTC)


class TestCoercions:
    """`ConnectDataTranslator.toKsqlValue` on Avro's types; `tests/serde/rules/test_connect_path.py` has every pair."""

    @pytest.mark.parametrize(
        ("type_", "value", "column", "read"),
        [
            (fixed(3), b"abc", "BYTES", b"abc"),
            (UUID, "no uuid", "STRING", "no uuid"),
            # Logical types that AvroData does not know are what they are made of.
            (MICROS, 7, "BIGINT", 7),
            (MICROS, 7000, "TIMESTAMP", AT.replace(1970, 1, 1, 0, 0, 7, 0)),
            # AvroData compares logicalType ignoring case.
            ({"type": "int", "logicalType": "Date"}, 20455, "DATE", AT.date()),
            # connect.type: Java's byteValue and shortValue cut.
            ({"type": "int", "connect.type": "int8"}, 300, "INT", 44),
            ({"type": "int", "connect.type": "int16"}, -32769, "BIGINT", 32767),
            ({"type": "int", "connect.type": "int8"}, 200, "STRING", "-56"),
            (CENTS, Decimal("-9.99"), "DECIMAL(3, 2)", Decimal("-9.99")),
            (array(["null", "int"]), [1, None], "ARRAY<STRING>", ["1", None]),
            (map_of(["null", "int"]), {"k": 1, "K": None}, "MAP<STRING, STRING>", {"k": "1", "K": None}),
            (record("I", x=["null", "int"]), {"x": 1}, "STRUCT<X STRING>", {"X": "1"}),
        ],
    )
    def test_a_field_feeds_its_column(self, type_: object, value: object, column: str, read: Value) -> None:
        got = _read(record(f=type_), {"f": value}, f"F {column}")
        assert got == {"F": read}
        assert str(got) == str({"F": read})

    @pytest.mark.parametrize(
        ("type_", "value", "column", "message"),
        [
            (CENTS, Decimal("123.40"), "DECIMAL(3, 0)", r"123\.40 at F .* precision 5 and the scale 2"),
            (CENTS, Decimal("10.00"), "DECIMAL(3, 2)", r"10\.00 at F .* numeric field overflow"),
            ("int", 86_400_000, "TIME", r"86400000 at F does not fit the column type TIME"),
            ("long", 2**62, "TIMESTAMP", r"4611686018427387904 at F .* TIMESTAMP"),
            ("int", 2**31 - 1, "DATE", r"2147483647 at F .* DATE"),
        ],
    )
    def test_a_value_that_does_not_fit_is_refused(
        self, type_: object, value: object, column: str, message: str
    ) -> None:
        with pytest.raises(CoercionError, match=f"^The value {message}") as caught:
            _read(record(f=type_), {"f": value}, f"F {column}")
        assert caught.value.path == "->F"

    def test_a_decimal_that_is_wider_than_its_own_schema_is_measured_by_the_column(self) -> None:
        read = _decoder(record(f=CENTS), "F DECIMAL(9, 2)")
        assert read(b"\x08\x05\xf5\xe0\xff", 0) == {"F": Decimal("999999.99")}
        with pytest.raises(OutOfRangeError, match=r"of about \d+ digits at F"):
            read(body("bytes", b"\x7f" * 5000), 0)

    def test_a_decimal_of_no_bytes_is_refused_as_in_java(self) -> None:
        with pytest.raises(DecodeError, match=r"^At F, the body has a decimal without bytes\.$"):
            _decoder(record(f=CENTS), "F DECIMAL(6, 2)")(b"\x00", 0)

    def test_null_in_a_field_with_connects_default_is_the_default(self) -> None:
        # Struct.get; the default of the Avro field is lost where null is beside the type (AvroData).
        schema = record(
            s=["null", {"type": "string", "connect.default": "x"}],
            d=["null", DATE | {"connect.default": 20455}],
            c=["null", CENTS | {"connect.default": "\0\u0096"}],
        )
        schema["fields"].append({"name": "p", "type": ["string", "null"], "default": "lost"})
        read = _decoder(schema, "S STRING, D DATE, C DECIMAL(6, 2), P STRING")
        assert read(b"\0\0\0\x02", 0) == {"S": "x", "D": AT.date(), "C": Decimal("1.50"), "P": None}
        there = {"S": "y", "D": datetime.date(1970, 1, 2), "C": Decimal("0.01"), "P": "z"}
        assert read(b"\x02\x02y\x02\x02\x02\x02\x01\0\x02z", 0) == there


class TestFieldsThatNoColumnWants:
    def test_their_values_are_not_looked_at(self) -> None:
        # A date beyond the year 9999 is no Python date; nobody asked for it.
        schema = record(d=DATE, t=MILLIS, u=UUID, n="null", a="int")
        written = body("int", 2**31 - 1) + body("long", 2**62) + b"\x02x" + b"\x0a"
        assert _decoder(schema, "A INT")(written, 0) == {"A": 5}
        with pytest.raises(DecodeError, match=r"^The value 2147483647 at D does not fit"):
            _decoder(schema, "A INT, D DATE")(written, 0)


class TestWhenTypesAreLookedAt:
    """`toKsqlValue`: a value's type before its null, its parts only where there are any."""

    def test_null_at_the_root_is_no_row_whatever_the_type(self) -> None:
        assert _read(["null", record(f="string")], None, "F INT") is None
        assert _read(["null", "string"], None, "F INT") is None
        assert _read(["null", "string"], None, "F INT", wrapped=False) == {"F": None}

    def test_a_body_that_is_cut_off_is_so_before_any_type_is_looked_at(self) -> None:
        with pytest.raises(DecodeError, match=r"^The body ends at byte 0"):
            _decoder(record(f="string"), "F INT")(b"", 0)


def _entries(key: object, value: object, name: str = "io.confluent.connect.avro.MapEntry") -> dict[str, object]:
    return array(record(name, key=key, value=value))


class TestMaps:
    """`AvroData`: an array of `MapEntry` records is a MAP with any keys; `toKsqlMap` coerces both."""

    @pytest.mark.parametrize(
        ("key", "value", "text"),
        [
            ("int", 7, "7"),
            ("long", 2**40, "1099511627776"),
            ("boolean", True, "true"),
            ("string", "k", "k"),
            (["null", "string"], "k", "k"),
            (DATE, AT.date(), "20455"),
            ("double", 1e10, "1.0E10"),
        ],
    )
    def test_keys_become_text(self, key: object, value: object, text: str) -> None:
        schema = record(m=_entries(key, "int"))
        assert _read(schema, {"m": [{"key": value, "value": 1}]}, "M MAP<STRING, BIGINT>") == {"M": {text: 1}}

    def test_keys_whose_type_is_no_text_are_refused_where_there_are_any(self) -> None:
        schema = record(m=_entries("bytes", "int"))
        assert _read(schema, {"m": []}, "M MAP<STRING, INT>") == {"M": {}}
        path_and_types = _mismatch(schema, {"m": [{"key": b"x", "value": 0}]}, "M MAP<STRING, INT>")
        assert path_and_types == ("->M->MAP_KEY", "bytes", "string")

    def test_a_null_key_is_a_key(self) -> None:
        read = _decoder(record(m=_entries(["null", "string"], "int")), "M MAP<STRING, INT>")
        assert read(b"\x02\x00\x02\x00", 0) == {"M": {None: 1}}

    def test_entries_are_told_by_name_or_by_property_and_are_no_array(self) -> None:
        entry = record("E", key="string", value="int") | {"connect.internal.type": "MapEntry"}
        schema = record(m=array(entry))
        assert _read(schema, {"m": [{"key": "k", "value": 1}]}, "M MAP<STRING, STRING>") == {"M": {"k": "1"}}
        assert _mismatch(schema, {"m": []}, "M ARRAY<STRUCT<`key` STRING>>") == ("->M", "map", "array")

    def test_entries_without_key_and_value_are_refused(self) -> None:
        entry = record("E", k="string", v="int") | {"connect.internal.type": "MapEntry"}
        with pytest.raises(SchemaError, match=r"map encoded as an array of entries, at M"):
            _decoder(record(m=array(entry)), "M MAP<STRING, INT>")

    def test_the_columns_of_avro_have_string_keys_only(self) -> None:
        with pytest.raises(ColumnError, match=r"^Avro only supports MAPs with STRING keys"):
            _decoder(record(m=map_of("int")), "M MAP<INT, INT>")


class TestUnions:
    """`AvroData`: a union of several types is a STRUCT with a field for each; of null and one, or of one, that one."""

    UNION = ("null", "int", "string", record("ns.Point", x="int"), array("int"))
    COLUMNS = "U STRUCT<`int` INT, `string` STRING, POINT STRUCT<X INT>, `array` ARRAY<INT>>"

    @pytest.mark.parametrize(
        ("value", "read"),
        [
            (5, {"int": 5}),
            ("x", {"string": "x"}),
            ({"x": 1}, {"POINT": {"X": 1}}),
            ([1, 2], {"array": [1, 2]}),
            (None, None),
        ],
    )
    def test_the_branch_that_is_there_has_its_value(self, value: object, read: dict[str, Value] | None) -> None:
        nothing: dict[str, Value] = {"int": None, "string": None, "POINT": None, "array": None}
        row = _read(record(u=list(self.UNION)), {"u": value}, self.COLUMNS)
        assert row == {"U": None if read is None else nothing | read}

    def test_branches_go_by_the_case_rule_and_are_coerced(self) -> None:
        schema = record(u=["int", "string"])
        assert _read(schema, {"u": 5}, "U STRUCT<INT STRING>") == {"U": {"INT": "5"}}
        assert _read(schema, {"u": "x"}, "U STRUCT<INT STRING>") == {"U": {"INT": None}}
        assert _read(schema, {"u": 5}, "`u` STRUCT<INT STRING>", EXACT) == {"u": {"INT": None}}

    def test_a_branch_of_a_wrong_type_fails_whichever_is_there(self) -> None:
        # toKsqlStruct looks at all fields of the struct, null or not.
        for value in (5, "x"):
            columns = "U STRUCT<`int` INT, `string` INT>"
            assert _mismatch(record(u=["int", "string"]), {"u": value}, columns) == ("->U->string", "string", "int32")

    def test_a_union_of_one_type_is_that_type(self) -> None:
        # flatten.singleton.unions, true by default.
        assert _read(record(u=["int"]), {"u": 5}, "U BIGINT") == {"U": 5}

    def test_the_root_and_items_may_be_unions(self) -> None:
        assert _read(["int", "string"], "x", "`string` STRING") == {"string": "x"}
        schema = record(u=array(["null", "int", "string"]))
        assert _read(schema, {"u": [1, "x", None]}, "U ARRAY<STRUCT<INT INT, STRING STRING>>") == {
            "U": [{"INT": 1, "STRING": None}, {"INT": None, "STRING": "x"}, None]
        }

    def test_two_branches_of_one_name_are_refused(self) -> None:
        union = [record("a.P", x="int"), record("b.P", y="int")]
        with pytest.raises(SchemaError, match=r"^Two branches of the union of record a\.P, record b\.P, at U"):
            _decoder(record(u=union), "U STRUCT<P STRUCT<X INT>>")


class TestUnwrapped:
    """`UnwrappedDeserializer`: the body is the value of the only column."""

    @pytest.mark.parametrize(
        ("type_", "value", "column", "read"),
        [
            ("int", 5, "BIGINT", 5),
            ("long", 5, "STRING", "5"),
            (["null", "string"], "x", "STRING", "x"),
            (["null", "string"], None, "STRING", None),
            (array("int"), [1], "ARRAY<STRING>", ["1"]),
            (record("I", x="int", y="int"), {"x": 1, "y": 2}, "STRUCT<Y INT>", {"Y": 2}),
            (MILLIS, AT, "TIMESTAMP", AT),
            (["null", "bytes"], b"abc", "BYTES", b"abc"),
            (fixed(3), b"abc", "BYTES", b"abc"),
        ],
    )
    def test_it_is_read_as_a_row_of_one_column(self, type_: object, value: object, column: str, read: Value) -> None:
        assert _read(type_, value, f"F {column}", wrapped=False) == {"F": read}

    def test_a_record_where_a_bare_value_is_expected_is_a_struct(self) -> None:
        assert _mismatch(record(f="int"), {"f": 1}, "F INT", wrapped=False) == ("", "struct", "int32")

    def test_several_columns_are_refused(self) -> None:
        with pytest.raises(ColumnError, match=r"^Only a single column can be un-wrapped.*: A, B"):
            _decoder("int", "A INT, B INT", wrapped=False)

    def test_key_columns_are_read_too(self) -> None:
        assert _read("int", 5, "K INT KEY", wrapped=False) == {"K": 5}
        assert _read(record(k="int", l="int"), {"k": 5, "l": 6}, "K INT KEY, L INT KEY") == {"K": 5, "L": 6}


class TestRootsOfBytes:
    """`AbstractKafkaAvroDeserializer`: a writer schema of the type BYTES has the rest of the payload as its value."""

    @pytest.mark.parametrize("written", [b"", b"\x06abc", bytes(range(256))])
    def test_bytes_have_no_length_before_them(self, written: bytes) -> None:
        assert _decoder("bytes", "F BYTES", wrapped=False)(b"12345" + written, 5) == {"F": written}
        assert _plain("bytes")(b"12345" + written, 5) == written

    def test_nor_have_decimals(self) -> None:
        assert _decoder(CENTS, "F DECIMAL(6, 2)", wrapped=False)(b"\x30\x39", 0) == {"F": Decimal("123.45")}
        assert _plain(CENTS)(b"\x30\x39", 0) == Decimal("123.45")
        with pytest.raises(DecodeError, match=r"a decimal without bytes"):
            _plain(CENTS)(b"", 0)


class TestWhatFastavroLetsPass:
    """The specification's bounds that fastavro does not hold."""

    @pytest.mark.parametrize("columns", [None, "F BOOLEAN", "F STRING"])
    @pytest.mark.parametrize("byte", [2, 3, 0x10, 0x7F, 0xFF])
    def test_a_boolean_is_0_or_1(self, byte: int, columns: str | None) -> None:
        read = _plain(record(f="boolean")) if columns is None else _decoder(record(f="boolean"), columns)
        with pytest.raises(
            DecodeError, match=rf"^At byte 0, at f, the body has a boolean of the byte {byte}|^The body"
        ):
            read(bytes([byte]), 0)

    @pytest.mark.parametrize(
        ("columns", "schema", "written", "path"),
        [
            *((columns, "int", "long", "[fF]") for columns in (None, "F INT", "F BIGINT", "F STRING", "F DATE")),
            *((columns, ["null", "int"], ["null", "long"], "[fF]") for columns in (None, "F INT", "F DATE")),
            *((c, array("int"), array("long"), "[fF]->ARRAY") for c in (None, "F ARRAY<INT>", "F ARRAY<STRING>")),
            (None, ["string", "int"], ["string", "long"], ".*"),
            ("F STRUCT<INT INT>", ["string", "int"], ["string", "long"], "F->INT"),
        ],
    )
    def test_an_int_has_32_bits(self, columns: str | None, schema: object, written: object, path: str) -> None:
        for number in (2**31, -(2**31) - 1):
            value = [1, number] if "ARRAY" in path else number
            read = _plain(record(f=schema)) if columns is None else _decoder(record(f=schema), columns)
            with pytest.raises(
                DecodeError, match=rf"^At {path}, the body has an int of {number}, .* more than 32 bits\.$"
            ):
                read(body(record(f=written), {"f": value}), 0)

    def test_so_has_one_in_a_recursive_schema(self) -> None:
        schemas = [record("N", v=type_, next=["null", "N"], m=map_of("N")) for type_ in ("long", "int")]
        written = body(schemas[0], {"v": 1, "next": {"v": 2**40, "next": None, "m": {}}, "m": {}})
        with pytest.raises(DecodeError, match=r"the body has an int of 1099511627776"):
            _plain(schemas[1])(written, 0)

    def test_a_block_of_the_least_long_is_no_empty_block(self) -> None:
        with pytest.raises(DecodeError):
            _plain(array("int"))(b"\xff" * 9 + b"\x01" + b"\x00\x00", 0)

    def test_the_least_long_itself_is_read(self) -> None:
        assert _read(record(a=array("long")), {"a": [-(2**63)]}, "A ARRAY<BIGINT>") == {"A": [-(2**63)]}
