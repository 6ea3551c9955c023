"""Messages → rows: `ProtobufData.toConnectData`, then `ConnectDataTranslator`.

What is read is written by the protobuf runtime, used plainly. The case rules are those of Avro and JSON_SR
(`ConnectDataTranslator.toKsqlStruct`): writers' fields in the order of the Connect schema.
"""

from __future__ import annotations

import datetime
from typing import Any, Literal

import pytest

from srfix.serde import (
    AmbiguousFieldError,
    CaseRule,
    ColumnError,
    ColumnNotFedError,
    DecodeError,
    IncompatibleTypeError,
    NothingFedError,
    OutOfRangeError,
    SchemaError,
    TruncatedBodyError,
    columns_from_protobuf,
    parse_columns,
)
from srfix.serde.formats.protobuf import format as protobuf
from srfix.serde.formats.protobuf import nosr
from srfix.serde.interface import Value
from srfix.serde.specs import ReadSpec
from tests.serde.formats.protobuf.runtime import IMPORTS, P2, P3, message_class

_UTC = datetime.UTC
_EPOCH, _FIRST = datetime.datetime(1970, 1, 1, tzinfo=_UTC), datetime.datetime(1, 1, 1, tzinfo=_UTC)
_OURS = (CaseRule.UNIQUE, CaseRule.EXACT)


def _read(
    schema: str,
    columns: str | None,
    body: bytes,
    *,
    rule: CaseRule = CaseRule.KSQLDB,
    times: Literal["datetimes", "integers"] = "datetimes",
    strict: bool = False,
    wrapped: bool = True,
) -> Value:
    spec = ReadSpec(
        columns=None if columns is None else parse_columns(columns),
        case_rule=rule,
        times=times,
        strict=strict,
        wrap=wrapped,
    )
    return protobuf.decoder(schema, spec)(b"\0\0\0\0\x07\0" + body, 5)


def _text(field: str, syntax: str = P3) -> str:
    enum = "enum E { Z = 0; ONE = 1; TWO = 2; }"
    return f"{syntax}{IMPORTS} message M {{ {field} message N {{ optional int32 x = 1; }} }} {enum}"


def _written(text: str, fields: dict[str, Any]) -> bytes:
    body = message_class(text)(**fields).SerializeToString()
    assert isinstance(body, bytes)
    return body


def _one(
    field: str, column: str, fields: dict[str, Any], *, rule: CaseRule = CaseRule.KSQLDB, syntax: str = P3
) -> Value:
    """One field, read into one column."""
    text = _text(field, syntax)
    row = _read(text, f"A {column}", _written(text, fields), rule=rule)
    assert isinstance(row, dict)
    return row["A"]


def _digits(precision: int, scale: int) -> str:
    params = f'params: [{{key: "precision", value: "{precision}"}}, {{key: "scale", value: "{scale}"}}]'
    return f"[(confluent.field_meta) = {{{params}}}]"


class TestPresence:
    """`ProtobufData.toConnectData`, `setStructField`: what is read where nothing was written."""

    @pytest.mark.parametrize(
        ("field", "column", "expected"),
        [
            # proto3, without presence: the default
            ("int32 a = 1;", "INT", 0),
            ("uint64 a = 1;", "BIGINT", 0),
            ("double a = 1;", "DOUBLE", 0.0),
            ("bool a = 1;", "BOOLEAN", False),
            ("string a = 1;", "STRING", ""),
            ("bytes a = 1;", "BYTES", b""),
            ("E a = 1;", "STRING", "Z"),
            ("repeated int32 a = 1;", "ARRAY<INT>", []),
            ("map<string, int32> a = 1;", "MAP<STRING, INT>", {}),
            # proto3Optional, and messages: null
            ("optional int32 a = 1;", "INT", None),
            ("optional E a = 1;", "STRING", None),
            ("N a = 1;", "STRUCT<X INT>", None),
            ("google.protobuf.Int32Value a = 1;", "INT", None),
            ("confluent.type.Decimal a = 1;", "DECIMAL(4, 2)", None),
            ("google.type.Date a = 1;", "DATE", None),
            ("google.protobuf.Timestamp a = 1;", "TIMESTAMP", None),
        ],
    )
    def test_nothing_is_the_default_or_null(self, field: str, column: str, expected: Value) -> None:
        value = _one(field, column, {})
        assert value == expected
        assert type(value) is type(expected)

    @pytest.mark.parametrize(
        ("field", "expected"),
        [
            ("optional int32 a = 1;", None),  # optional.for.proto2
            ("optional int32 a = 1 [default = 5];", None),
            ("optional E a = 1;", None),
            ("repeated int32 a = 1;", []),
        ],
    )
    def test_of_proto2_an_optional_field_is_null_whatever_its_default(self, field: str, expected: Value) -> None:
        assert (
            _one(field, "ARRAY<INT>" if expected == [] else "STRING" if " E " in field else "INT", {}, syntax=P2)
            == expected
        )

    def test_what_is_set_to_its_default_is_there(self) -> None:
        assert _one("optional int32 a = 1;", "INT", {"a": 0}) == 0
        assert _one("optional int32 a = 1 [default = 5];", "INT", {"a": 0}, syntax=P2) == 0
        assert _one("google.protobuf.StringValue a = 1;", "STRING", {"a": {}}) == ""
        assert _one("N a = 1;", "STRUCT<X INT>", {"a": {}}) == {"X": None}

    def test_a_required_field_that_is_not_there_is_refused(self) -> None:
        """`InvalidProtocolBufferException`: `Message missing required fields: a`."""
        text = f"{P2} message M {{ required int32 a = 1; optional N n = 2; }} message N {{ required int32 b = 1; }}"
        assert _read(text, "A INT", b"\x08\x07") == {"A": 7}
        for columns in ("A INT", None):
            with pytest.raises(DecodeError, match=r"^The body lacks fields that its schema requires: a\.$"):
                _read(text, columns, b"")
            with pytest.raises(DecodeError, match=r"requires: n\.b\.$"):
                _read(text, columns, b"\x08\x07\x12\0")

    def test_the_last_of_a_field_that_comes_again_counts_and_messages_are_merged(self) -> None:
        text = f"{P3} message M {{ int32 a = 1; N n = 2; }} message N {{ int32 x = 1; int32 y = 2; }}"
        body = bytes.fromhex("0801 0802 12020803 12021004")
        assert _read(text, "A INT, N STRUCT<X INT, Y INT>", body) == {"A": 2, "N": {"X": 3, "Y": 4}}

    def test_fields_that_the_schema_lacks_or_that_have_another_wire_type_are_passed_over(self) -> None:
        assert _read(f"{P3} message M {{ int32 a = 1; }}", "A INT", bytes.fromhex("0a0178 9a0601ff")) == {"A": 0}


class TestScalars:
    @pytest.mark.parametrize(
        ("field", "column", "value", "expected"),
        [
            ("int32 a = 1;", "INT", -(2**31), -(2**31)),
            ("int32 a = 1;", "BIGINT", 7, 7),
            ("int32 a = 1;", "STRING", 7, "7"),
            ("sint32 a = 1;", "INT", -1, -1),
            ("sfixed32 a = 1;", "INT", -1, -1),
            ("uint32 a = 1;", "BIGINT", 2**32 - 1, 2**32 - 1),  # Integer.toUnsignedLong
            ("fixed32 a = 1;", "BIGINT", 2**32 - 1, 2**32 - 1),
            ("int64 a = 1;", "BIGINT", -(2**63), -(2**63)),
            ("uint64 a = 1;", "BIGINT", 2**63 - 1, 2**63 - 1),
            ("fixed64 a = 1;", "STRING", 2**63 - 1, str(2**63 - 1)),
            ("float a = 1;", "DOUBLE", 0.1, 0.10000000149011612),
            ("double a = 1;", "DOUBLE", 0.1, 0.1),
            ("double a = 1;", "DOUBLE", float("-inf"), float("-inf")),
            ("bool a = 1;", "BOOLEAN", True, True),
            ("bool a = 1;", "STRING", True, "true"),
            ("string a = 1;", "STRING", "é\0", "é\0"),
            ("bytes a = 1;", "BYTES", b"\xff\0", b"\xff\0"),
            ("google.protobuf.UInt32Value a = 1;", "BIGINT", {"value": 2**32 - 1}, 2**32 - 1),
            ("google.protobuf.StringValue a = 1;", "STRING", {"value": "x"}, "x"),
            ("repeated google.protobuf.Int32Value a = 1;", "ARRAY<INT>", [{"value": 1}, {}], [1, 0]),
            ("repeated int32 a = 1;", "ARRAY<INT>", [1, 0, -1], [1, 0, -1]),
            ("repeated int32 a = 1;", "ARRAY<STRING>", [1], ["1"]),
            ("repeated N a = 1;", "ARRAY<STRUCT<X INT>>", [{"x": 1}, {}], [{"X": 1}, {"X": None}]),
            ("oneof o { int32 a = 1; }", "INT", 0, None),  # the column is O_0
        ],
    )  # fmt: skip
    def test_they_are_read_as_the_engine_reads_them(self, field: str, column: str, value: Any, expected: Value) -> None:
        read = _one(field, column, {"a": value})
        assert read == expected
        assert type(read) is type(expected)

    @pytest.mark.parametrize("field", ["uint64 a = 1;", "fixed64 a = 1;", "google.protobuf.UInt64Value a = 1;"])
    def test_an_unsigned_long_beyond_a_long_is_negative_in_the_engine_and_refused_by_us(self, field: str) -> None:
        value: Any = {"value": 2**64 - 1} if "Value" in field else 2**64 - 1
        assert _one(field, "BIGINT", {"a": value}) == -1
        with pytest.raises(OutOfRangeError, match=r"^The value 18446744073709551615 at A .* case_rule='ksqldb'\.$"):
            _one(field, "BIGINT", {"a": value}, rule=CaseRule.UNIQUE)

    @pytest.mark.parametrize(("type_", "expected"), [("int8", 44), ("int16", 300), ("int32", 300)])
    def test_narrow_numbers_are_cut_as_java_casts_them(self, type_: str, expected: int) -> None:
        meta = f'[(confluent.field_meta) = {{params: [{{key: "connect.type", value: "{type_}"}}]}}]'
        assert _one(f"int32 a = 1 {meta};", "INT", {"a": 300}) == expected

    @pytest.mark.parametrize(
        ("field", "column"),
        [
            ("uint32 a = 1;", "INT"),  # INT64 to Connect
            ("int64 a = 1;", "INT"),
            ("int32 a = 1;", "DOUBLE"),
            ("string a = 1;", "BYTES"),
            ("bytes a = 1;", "STRING"),
            ("N a = 1;", "STRING"),
            ("repeated int32 a = 1;", "INT"),
            ("int32 a = 1;", "ARRAY<INT>"),
            ("map<string, int32> a = 1;", "ARRAY<INT>"),
            ("confluent.type.Decimal a = 1;", "STRING"),
            ("google.protobuf.Timestamp a = 1;", "STRUCT<`SECONDS` BIGINT>"),
            ("bool a = 1;", "INT"),
        ],
    )
    def test_a_column_of_another_type_is_refused_even_if_nothing_was_written(self, field: str, column: str) -> None:
        """`ConnectDataTranslator.validateType`."""
        with pytest.raises(IncompatibleTypeError, match=r"^At A, .* cannot read the writer's type") as raised:
            _one(field, column, {})
        assert raised.value.path == "->A"


class TestStrings:
    """Of proto2 neither the runtime nor Java looks whether they are UTF-8."""

    _TEXT = (
        f"{P2} message M {{ optional string A = 1; repeated string B = 2; map<string, string> C = 3; optional N D = 4; "
        "message N { optional string E = 1; } }"
    )
    _COLUMNS = "A STRING, B ARRAY<STRING>, C MAP<STRING, STRING>, D STRUCT<E STRING>"

    def test_what_is_none_is_replaced_as_in_java_and_refused_by_us(self) -> None:
        """`ByteString.toStringUtf8`."""
        for body in ("0a02c378", "1202c378", "2204 0a02c378"):
            read = _read(self._TEXT, self._COLUMNS, bytes.fromhex(body))
            assert "\ufffdx" in repr(read)
            assert "b'" not in repr(read)
            for columns in (self._COLUMNS, None):
                with pytest.raises(DecodeError, match=r"^The string at .* is not UTF-8\."):
                    _read(self._TEXT, columns, bytes.fromhex(body), rule=CaseRule.UNIQUE)

    def test_a_map_s_value_that_is_none_is_refused(self) -> None:
        for columns in (self._COLUMNS, None):
            with pytest.raises(DecodeError, match=r"^The string at .* is not UTF-8\."):
                _read(self._TEXT, columns, bytes.fromhex("1a06 0a00 1202c378"))

    def test_a_key_that_is_none_is_refused_for_the_runtime_finds_no_value_by_it(self) -> None:
        for columns in (self._COLUMNS, None):
            with pytest.raises(DecodeError, match=r"^A key of the map C is not UTF-8\."):
                _read(self._TEXT, columns, bytes.fromhex("1a040a02c378"))

    def test_others_are_texts(self) -> None:
        body = _written(self._TEXT, {"A": "é", "B": [""], "C": {"k": "v"}, "D": {"E": "x"}})
        assert _read(self._TEXT, self._COLUMNS, body) == {"A": "é", "B": [""], "C": {"k": "v"}, "D": {"E": "x"}}


class TestEnums:
    """`ProtobufData.toConnectData`: the value's name."""

    def test_known_and_unknown_in_lists_and_maps_too(self) -> None:
        assert _one("E a = 1;", "STRING", {"a": 2}) == "TWO"
        assert _one("E a = 1;", "STRING", {"a": 7}) == "UNKNOWN_ENUM_VALUE_E_7"
        assert _one("E a = 1;", "STRING", {"a": -1}) == "UNKNOWN_ENUM_VALUE_E_-1"
        assert _one("repeated E a = 1;", "ARRAY<STRING>", {"a": [1, 7]}) == ["ONE", "UNKNOWN_ENUM_VALUE_E_7"]
        assert _one("map<string, E> a = 1;", "MAP<STRING, STRING>", {"a": {"k": 7}}) == {"k": "UNKNOWN_ENUM_VALUE_E_7"}

    def test_of_proto2_an_unknown_one_is_an_unknown_field(self) -> None:
        text = f"{P2} message M {{ optional E a = 1; repeated E b = 2; }} enum E {{ Z = 0; ONE = 1; }}"
        assert _read(text, "A STRING, B ARRAY<STRING>", bytes.fromhex("0807 1001 1007")) == {"A": None, "B": ["ONE"]}


class TestMaps:
    def test_a_map_and_a_message_of_its_shape_are_read_alike(self) -> None:
        for field, value in (
            ("map<string, int32> a = 1;", {"k": 1, "": 0}),
            (
                "message LEntry { string key = 1; int32 value = 2; } repeated LEntry a = 1;",
                [{"key": "k", "value": 1}, {}],
            ),
        ):
            assert _one(field, "MAP<STRING, INT>", {"a": value}) == {"k": 1, "": 0}

    def test_of_a_key_that_comes_again_the_last_counts(self) -> None:
        text = _text("message LEntry { string key = 1; int32 value = 2; } repeated LEntry a = 1;")
        body = _written(text, {"a": [{"key": "k", "value": 1}, {"key": "k", "value": 2}]})
        assert _read(text, "A MAP<STRING, INT>", body) == {"A": {"k": 2}}
        assert _read(_text("map<string, int32> a = 1;"), "A MAP<STRING, INT>", body) == {"A": {"k": 2}}

    def test_keys_that_are_no_texts_become_such(self) -> None:
        assert _one("map<int64, int32> a = 1;", "MAP<STRING, INT>", {"a": {-7: 1}}) == {"-7": 1}
        assert _one("map<bool, int32> a = 1;", "MAP<STRING, INT>", {"a": {True: 1}}) == {"true": 1}

    def test_an_entry_without_a_value_has_the_default_of_its_type(self) -> None:
        for text in (
            _text("map<string, N> a = 1;"),
            _text("message LEntry { string key = 1; N value = 2; } repeated LEntry a = 1;"),
        ):
            assert _read(text, "A MAP<STRING, STRUCT<X INT>>", bytes.fromhex("0a03 0a016b")) == {
                "A": {"k": {"X": None}}
            }

    def test_names_in_the_values_are_matched_as_elsewhere_and_keys_are_data(self) -> None:
        text = _text("map<string, N> a = 1;")
        body = _written(text, {"a": {"K": {"x": 1}, "k": {"x": 2}}})
        assert _read(text, "A MAP<STRING, STRUCT<X INT>>", body) == {"A": {"K": {"X": 1}, "k": {"X": 2}}}


class TestOneofs:
    """`ProtobufData.toConnectData`: a struct of what is set."""

    _TEXT = (
        f"{P3} message M {{ oneof o {{ int32 i = 1; string s = 2; N n = 3; E e = 4; }} message N {{ int32 x = 1; }} "
        "enum E { Z = 0; ONE = 1; } }"
    )
    _COLUMNS = "O_0 STRUCT<I INT, S STRING, N STRUCT<X INT>, E STRING>"

    @pytest.mark.parametrize(
        ("body", "expected"),
        [
            ("", None),
            ("0800", {"I": 0}),
            ("1200", {"S": ""}),
            ("1a00", {"N": {"X": 0}}),
            ("2001", {"E": "ONE"}),
            ("0801 120178", {"S": "x"}),  # the last one is set
        ],
    )
    def test_the_field_that_is_set_has_its_value_and_the_others_are_null(
        self, body: str, expected: dict[str, Value] | None
    ) -> None:
        wanted = None if expected is None else {"I": None, "S": None, "N": None, "E": None} | expected
        assert _read(self._TEXT, self._COLUMNS, bytes.fromhex(body)) == {"O_0": wanted}

    def test_some_of_its_fields_suffice(self) -> None:
        assert _read(self._TEXT, "O_0 STRUCT<S STRING, Q INT>", b"\x08\1") == {"O_0": {"S": None, "Q": None}}
        assert _read(self._TEXT, "O_0 STRUCT<S STRING, Q INT>", b"\x12\1x") == {"O_0": {"S": "x", "Q": None}}

    def test_a_field_of_another_type_is_refused(self) -> None:
        with pytest.raises(IncompatibleTypeError, match="At O_0->I"):
            _read(self._TEXT, "O_0 STRUCT<I STRING, S BYTES>".replace("I STRING", "I DOUBLE"), b"\x08\1")


class TestDecimals:
    """`DecimalUtils.toBigDecimal`."""

    @pytest.mark.parametrize(
        ("message", "column", "expected"),
        [
            ({"value": b"\x04\xd2", "precision": 4, "scale": 2}, "DECIMAL(6, 2)", "12.34"),
            ({"value": b"\xff", "scale": 2}, "DECIMAL(6, 2)", "-0.01"),
            ({"value": b"\0", "precision": 1, "scale": 2}, "DECIMAL(6, 2)", "0.00"),
            ({"value": b"\x0c"}, "DECIMAL(6, 2)", "12.00"),  # the message's scale, not the schema's
            ({"value": b"\xff", "scale": -2}, "DECIMAL(6, 2)", "-100.00"),
            ({"value": b"\0\0\0\0\x01", "scale": 2}, "DECIMAL(6, 2)", "0.01"),
            ({"value": (10**38 - 1).to_bytes(16, "big")}, "DECIMAL(38, 0)", "9" * 38),
        ],
    )
    def test_the_number_comes_with_the_columns_scale(self, message: dict[str, Any], column: str, expected: str) -> None:
        assert str(_one(f"confluent.type.Decimal a = 1 {_digits(6, 2)};", column, {"a": message})) == expected

    @pytest.mark.parametrize(
        ("message", "error"),
        [
            ({}, DecodeError),  # NumberFormatException: Zero length BigInteger
            ({"value": b"\x30\x39", "scale": 3}, OutOfRangeError),
            ({"value": b"\x0f\x42\x40", "scale": 2}, OutOfRangeError),
            ({"value": b"\1", "scale": 2**31 - 1}, DecodeError),
            ({"value": b"\1", "scale": -(2**31)}, DecodeError),
            ({"value": b"\1", "precision": 2**31}, DecodeError),  # IllegalArgumentException: Digits < 0
        ],
    )
    def test_what_is_no_number_or_does_not_fit_is_refused(
        self, message: dict[str, Any], error: type[DecodeError]
    ) -> None:
        with pytest.raises(error, match=r"[Aa]t A\b"):
            _one("confluent.type.Decimal a = 1;", "DECIMAL(6, 2)", {"a": message})

    @pytest.mark.parametrize(
        ("value", "precision", "expected"),
        [
            (12345, 3, "12.300"),
            (12345, 4, "12.350"),
            (-12345, 4, "-12.350"),
            (99995, 4, "100.000"),
            (99999, 5, "99.999"),
            (0, 1, "0.000"),
            (12345, 0, "12.345"),
            (12345, 2**31 - 1, "12.345"),
        ],
    )
    def test_it_is_rounded_to_the_precision_in_the_message(self, value: int, precision: int, expected: str) -> None:
        message = {"value": value.to_bytes(9, "big", signed=True), "precision": precision, "scale": 3}
        schema = f"confluent.type.Decimal a = 1 {_digits(9, 3)};"
        assert str(_one(schema, "DECIMAL(9, 3)", {"a": message})) == expected
        if expected == "12.300":
            with pytest.raises(DecodeError, match=r"A has more digits than its own precision, 3"):
                _one(schema, "DECIMAL(9, 3)", {"a": message}, rule=CaseRule.UNIQUE)

    def test_it_is_no_bytes(self) -> None:
        """`ConnectDataTranslator` takes both for BYTES by their schemas, and meets a BigDecimal."""
        assert _one("confluent.type.Decimal a = 1;", "BYTES", {}) is None
        with pytest.raises(IncompatibleTypeError):
            _one("confluent.type.Decimal a = 1;", "BYTES", {"a": {"value": b"\1"}})


class TestWrappersAsStructs:
    """Columns of statements from before ksqlDB 0.25, where `unwrapPrimitives` is off."""

    SCHEMA = (
        f'{P3} import "google/protobuf/wrappers.proto"; message M {{ google.protobuf.StringValue s = 1; '
        "repeated google.protobuf.Int64Value n = 2; map<string, google.protobuf.BoolValue> b = 3; "
        "google.protobuf.UInt64Value u = 4; }"
    )
    COLUMNS = (
        "S STRUCT<VALUE STRING>, N ARRAY<STRUCT<VALUE BIGINT>>, B MAP<STRING, STRUCT<VALUE BOOLEAN>>, "
        "U STRUCT<VALUE BIGINT>"
    )

    def test_they_are_inferred_if_nothing_is_unwrapped(self) -> None:
        assert columns_from_protobuf(self.SCHEMA, unwrap_primitives=False) == parse_columns(self.COLUMNS)

    @pytest.mark.parametrize("rule", [CaseRule.UNIQUE, CaseRule.KSQLDB])
    @pytest.mark.parametrize(
        ("row", "expected"),
        [
            ({}, {"S": None, "N": [], "B": {}, "U": None}),
            (
                {"s": {}, "n": [{}, {"value": 7}], "b": {"x": {"value": True}, "y": {}}, "u": {"value": 1}},
                {
                    "S": {"VALUE": ""},
                    "N": [{"VALUE": 0}, {"VALUE": 7}],
                    "B": {"x": {"VALUE": True}, "y": {"VALUE": False}},
                    "U": {"VALUE": 1},
                },
            ),
        ],
    )
    def test_they_are_read(self, row: dict[str, Any], expected: object, rule: CaseRule) -> None:
        body = _written(self.SCHEMA, row)
        assert _read(self.SCHEMA, self.COLUMNS, body, rule=rule) == expected
        assert _read(self.SCHEMA, "N ARRAY<BIGINT>", body, rule=rule) == {"N": [0, 7] if row else []}

    @pytest.mark.parametrize("column", ["N STRUCT<VALUE BIGINT>", "S STRUCT<VALUE STRUCT<VALUE STRING>>"])
    def test_no_other_structs_are(self, column: str) -> None:
        body = _written(self.SCHEMA, {"s": {"value": "x"}, "n": [{"value": 7}]})
        with pytest.raises(IncompatibleTypeError):
            _read(self.SCHEMA, column, body, rule=CaseRule.KSQLDB)


class TestTimes:
    @pytest.mark.parametrize(
        ("date", "expected"),
        [
            ((1970, 1, 1), datetime.date(1970, 1, 1)),
            ((2024, 2, 29), datetime.date(2024, 2, 29)),
            ((9999, 12, 31), datetime.date(9999, 12, 31)),
            ((1582, 10, 15), datetime.date(1582, 10, 15)),
            # java.util.GregorianCalendar: before it the calendar is Julian
            ((1582, 10, 4), datetime.date(1582, 10, 14)),
            ((1500, 1, 1), datetime.date(1500, 1, 10)),
            ((1500, 2, 29), datetime.date(1500, 3, 10)),
            ((4, 2, 29), datetime.date(4, 2, 27)),
        ],
    )
    def test_dates_are_days_of_javas_calendar(self, date: tuple[int, int, int], expected: datetime.date) -> None:
        message = dict(zip(("year", "month", "day"), date, strict=True))
        assert _one("google.type.Date a = 1;", "DATE", {"a": message}) == expected
        days = expected.toordinal() - datetime.date(1970, 1, 1).toordinal()
        assert _one("google.type.Date a = 1;", "INT", {"a": message}) == days

    @pytest.mark.parametrize("rule", _OURS)
    def test_under_our_rules_a_day_before_it_is_refused(self, rule: CaseRule) -> None:
        text = _text("google.type.Date A = 1;")
        assert _read(text, "A DATE", _written(text, {"A": {"year": 2024, "month": 2, "day": 29}}), rule=rule)
        with pytest.raises(OutOfRangeError, match=r"^The value 1582-10-04 at A is before 1582-10-15, and ksqlDB would"):
            _read(text, "A DATE", _written(text, {"A": {"year": 1582, "month": 10, "day": 4}}), rule=rule)

    @pytest.mark.parametrize(
        "date",
        [
            (0, 0, 0), (2021, 0, 1), (2021, 1, 0), (2021, 2, 29), (2021, 13, 1), (2021, 4, 31), (1900, 2, 29), (1582, 10, 5),
            (1582, 10, 14), (0, 1, 1), (-1, 1, 1), (2021, -1, 1), (2021, 1, 32), (2**31 - 1, 1, 1), (10_000, 1, 1),
        ],
    )  # fmt: skip
    def test_what_is_no_day_is_refused(self, date: tuple[int, int, int]) -> None:
        """`Calendar.setLenient(false)`; and Python's years end with 9999."""
        message = dict(zip(("year", "month", "day"), date, strict=True))
        with pytest.raises(OutOfRangeError, match=r"[Aa]t A\b"):
            _one("google.type.Date a = 1;", "DATE", {"a": message})

    @pytest.mark.parametrize(
        ("field", "column", "message", "engine", "ours"),
        [
            ("google.type.TimeOfDay", "TIME", {}, datetime.time(0), datetime.time(0)),
            (
                "google.type.TimeOfDay",
                "TIME",
                {"hours": 23, "minutes": 59, "seconds": 59, "nanos": 999_999_000},
                datetime.time(23, 59, 59, 999_000),
                datetime.time(23, 59, 59, 999_999),
            ),
            ("google.type.TimeOfDay", "INT", {"seconds": 1, "nanos": 1_000_000}, 1_001, 1_001),
            ("google.protobuf.Timestamp", "TIMESTAMP", {}, _EPOCH, _EPOCH),
            (  # Timestamps.toMillis: the floor
                "google.protobuf.Timestamp",
                "TIMESTAMP",
                {"seconds": -1, "nanos": 999_999_000},
                datetime.datetime(1969, 12, 31, 23, 59, 59, 999_000, _UTC),
                datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999, _UTC),
            ),
            ("google.protobuf.Timestamp", "BIGINT", {"seconds": -1, "nanos": 1_000_000}, -999, -999),
            ("google.protobuf.Timestamp", "TIMESTAMP", {"seconds": -62_135_596_800}, _FIRST, _FIRST),
            ("google.protobuf.Timestamp", "STRING", {"seconds": 1}, "1000", "1000"),
        ],
    )  # fmt: skip
    def test_times_are_cut_to_milliseconds_in_the_engine_and_exact_for_us(
        self, field: str, column: str, message: dict[str, int], engine: Value, ours: Value
    ) -> None:
        assert _one(f"{field} a = 1;", column, {"a": message}) == engine
        assert _one(f"{field} a = 1;", column, {"a": message}, rule=CaseRule.UNIQUE) == ours

    @pytest.mark.parametrize(
        ("field", "column"), [("google.type.TimeOfDay", "TIME"), ("google.protobuf.Timestamp", "TIMESTAMP")]
    )
    def test_nanoseconds_are_refused_by_us(self, field: str, column: str) -> None:
        advice = r"To read the whole value, leave out the columns; case_rule='ksqldb' cuts it to milliseconds"
        with pytest.raises(OutOfRangeError, match=rf"finer than microseconds, but a .* has nothing finer\. {advice}"):
            _one(f"{field} a = 1;", column, {"a": {"nanos": 1}}, rule=CaseRule.UNIQUE)

    @pytest.mark.parametrize(
        ("field", "column"), [("google.type.TimeOfDay", "INT"), ("google.protobuf.Timestamp", "BIGINT")]
    )
    def test_what_is_finer_than_milliseconds_is_no_number(self, field: str, column: str) -> None:
        assert _one(f"{field} a = 1;", column, {"a": {"nanos": 1_999_999}}) == 1
        with pytest.raises(
            OutOfRangeError, match=r"finer than milliseconds, but a time read as a number or text has nothing finer"
        ):
            _one(f"{field} a = 1;", column, {"a": {"nanos": 1_999_999}}, rule=CaseRule.UNIQUE)

    @pytest.mark.parametrize(
        ("field", "column", "message"),
        [
            ("google.type.TimeOfDay", "TIME", {"hours": 24}),
            ("google.type.TimeOfDay", "TIME", {"minutes": 60}),
            ("google.type.TimeOfDay", "TIME", {"seconds": 60}),
            ("google.type.TimeOfDay", "TIME", {"nanos": 10**9}),
            ("google.type.TimeOfDay", "INT", {"hours": -1}),
            ("google.protobuf.Timestamp", "TIMESTAMP", {"seconds": -62_135_596_801}),
            ("google.protobuf.Timestamp", "TIMESTAMP", {"seconds": 253_402_300_800}),
            ("google.protobuf.Timestamp", "BIGINT", {"nanos": -1}),
            ("google.protobuf.Timestamp", "BIGINT", {"nanos": 10**9}),
        ],
    )
    def test_what_is_no_time_is_refused(self, field: str, column: str, message: dict[str, int]) -> None:
        """`LocalTime.of`, `Timestamps.checkValid`."""
        for rule in (CaseRule.KSQLDB, CaseRule.UNIQUE):
            with pytest.raises(OutOfRangeError, match=r" at A is not an? "):
                _one(f"{field} a = 1;", column, {"a": message}, rule=rule)

    def test_nanoseconds_beyond_a_second_are_told(self) -> None:
        with pytest.raises(OutOfRangeError, match=r"not an instant: nanoseconds must be from 0 to 999999999\.$"):
            _one("google.protobuf.Timestamp a = 1;", "TIMESTAMP", {"a": {"seconds": 1, "nanos": -1}})

    def test_as_integers_they_are_days_and_milliseconds(self) -> None:
        text = _text("google.type.Date a = 1; google.type.TimeOfDay b = 2; google.protobuf.Timestamp c = 3;")
        body = _written(
            text, {"a": {"year": 1970, "month": 1, "day": 2}, "b": {"seconds": 1}, "c": {"nanos": 2_000_000}}
        )
        row = _read(text, "A DATE, B TIME, C TIMESTAMP", body, times="integers")
        assert row == {"A": 1, "B": 1_000, "C": 2}

    def test_a_plain_number_is_a_time_where_it_is_declared_as_one(self) -> None:
        """`ConnectDataTranslator` takes them by their Connect type."""
        assert _one("int32 a = 1;", "DATE", {"a": 1}) == datetime.date(1970, 1, 2)
        assert _one("int64 a = 1;", "TIMESTAMP", {"a": 1}) == datetime.datetime(1970, 1, 1, 0, 0, 0, 1000, _UTC)


class TestCase:
    """`tests/serde/rules/test_case_rules.py` has the engines' rules."""

    _TWO = f"{P3} message M {{ string FOO = 1; string foo = 2; }}"
    _BODY = bytes.fromhex("0a0161 120162")

    @pytest.mark.parametrize(
        ("columns", "rule", "expected"),
        [
            ("FOO STRING", CaseRule.UNIQUE, {"FOO": "a"}),
            ("`Foo` STRING, `foo` STRING", CaseRule.EXACT, {"Foo": None, "foo": "b"}),
        ],
    )
    def test_which_field_feeds_a_column(self, columns: str, rule: CaseRule, expected: Value) -> None:
        assert _read(self._TWO, columns, self._BODY, rule=rule) == expected

    def test_unique_refuses_what_is_not_decided(self) -> None:
        with pytest.raises(AmbiguousFieldError, match=r"^Column 'Foo' could be fed by several fields"):
            _read(self._TWO, "`Foo` STRING", b"", rule=CaseRule.UNIQUE)

    def test_of_several_fields_the_last_in_connects_order_counts_and_each_may_be_refused(self) -> None:
        """A oneof comes before the fields that are declared before it."""
        text = f"{P3} message M {{ int32 o_0 = 1; oneof O {{ int32 a = 2; int32 b = 3; }} }}"
        with pytest.raises(IncompatibleTypeError):
            _read(text, "O_0 INT", b"\x08\1")

    def test_nothing_fed_is_no_row_but_to_ksqldb(self) -> None:
        text = f"{P3} message M {{ int32 b = 1; }}"
        assert _read(text, "A INT", b"\x08\1") == {"A": None}
        for rule in _OURS:
            with pytest.raises(NothingFedError):
                _read(text, "A INT", b"\x08\1", rule=rule)

    def test_strict_wants_every_column_fed(self) -> None:
        text = f"{P3} message M {{ int32 A = 1; N S = 2; message N {{ int32 X = 1; }} }}"
        assert _read(text, "A INT, S STRUCT<X INT>", b"", rule=CaseRule.UNIQUE, strict=True) == {"A": 0, "S": None}
        for columns in ("A INT, B INT", "A INT, S STRUCT<X INT, Y INT>"):
            with pytest.raises(ColumnNotFedError):
                _read(text, columns, b"", rule=CaseRule.UNIQUE, strict=True)


class TestRoot:
    @pytest.mark.parametrize("body", ["0a", "08", "0aff", "0a0578", "00", "07", "0b", "0a02c328"])
    def test_what_is_no_message_is_refused(self, body: str) -> None:
        """`InvalidProtocolBufferException`: cut off, a tag of no field, a group without end, no UTF-8."""
        with pytest.raises(DecodeError, match=r"bytes? is not a message M \(.*\)\. It is corrupt or cut off, or"):
            _read(f"{P3} message M {{ string a = 1; }}", "A STRING", bytes.fromhex(body))

    def test_no_bytes_are_a_message(self) -> None:
        assert _read(f"{P3} message M {{ string a = 1; }}", "A STRING", b"") == {"A": ""}

    def test_messages_nest_a_hundred_levels_at_most(self) -> None:
        text, body = f"{P3} message M {{ int32 a = 1; M m = 2; }}", b"\x08\1"
        for _ in range(120):
            size = len(body)
            body = b"\x12" + (bytes([size]) if size < 128 else bytes([size % 128 + 128, size // 128])) + body
            if size < 200:
                assert _read(text, "A INT, M STRUCT<A INT>", body) == {"A": 0, "M": {"A": int(size == 2)}}
        with pytest.raises(DecodeError, match=r"not a message M \("):
            _read(text, "A INT", body)

    def test_a_message_of_the_wrappers_is_one_value(self) -> None:
        """`unwrapPrimitives`: the root, too."""
        text = 'syntax = "proto3"; package google.protobuf; message StringValue { string value = 1; }'
        assert _read(text, "K STRING", b"\x0a\1x", wrapped=False) == {"K": "x"}
        for rule in CaseRule:  # without it, a message with one field
            if rule is not CaseRule.EXACT:
                assert _read(text, "VALUE STRING", b"\x0a\1x", rule=rule) == {"VALUE": "x"}

    def test_only_one_column_is_unwrapped(self) -> None:
        with pytest.raises(ColumnError, match=r"^Only a single column can be un-wrapped, but there are 2: "):
            _read(f"{P3} message M {{ int32 a = 1; }}", "A INT, B INT", b"", wrapped=False)

    def test_a_schema_is_needed(self) -> None:
        with pytest.raises(SchemaError, match=r"^PROTOBUF bodies cannot be read without the schema"):
            protobuf.decoder(None, ReadSpec())

    def test_without_columns_a_message_is_a_dict_of_its_fields(self) -> None:
        text = _text(
            "int32 a = 1; optional int32 b = 2; repeated E c = 3; map<int32, N> d = 4; oneof o { int32 e = 5; string f = 6; } "
            "google.protobuf.Timestamp g = 7; uint64 h = 8; google.protobuf.StringValue i = 9; bytes j = 10;"
        )
        fields = {
            "a": 0, "b": None, "c": ["ONE", "UNKNOWN_ENUM_VALUE_E_9"], "d": {1: {"x": None}, 2: {"x": 5}}, "f": "",
            "g": {"seconds": 1, "nanos": 0}, "h": 2**64 - 1, "i": {"value": "x"}, "j": b"\0",
        }  # fmt: skip
        written = fields | {"c": [1, 9], "f": ""}
        assert _read(text, None, _written(text, written)) == fields


class TestIndexes:
    """`MessageIndexes.readFrom`."""

    _TEXT = (
        f"{P3} enum E {{ Z = 0; }} message A {{ int32 a = 1; message N {{ message NN {{}} enum X {{ Y = 0; }} message N2 {{ "
        "int32 b = 1; } } } message B { int32 c = 1; message C { int32 d = 1; } } message D { int32 e = 1; }"
    )

    @pytest.mark.parametrize(
        ("indexes", "field"),
        [
            ("00", "a"),  # [0], in short
            ("0200", "a"),
            ("8000", "a"),
            ("0202", "c"),
            ("0204", "e"),
            ("040200", "d"),
            ("06000002", "b"),
            ("06 8000 8000 8200", None),
            ("86808000 00 00 02", "b"),
        ],
    )
    def test_they_name_the_message(self, indexes: str, field: str | None) -> None:
        """Enums are not counted. Numbers may have bytes that they do not need."""
        read = protobuf.decoder(self._TEXT, ReadSpec())
        assert read(b"\0\0\0\0\7" + bytes.fromhex(indexes) + b"\x08\7", 5) == {field or "b": 7}

    def test_columns_are_matched_with_the_fields_of_each_message(self) -> None:
        spec = ReadSpec(columns=parse_columns("A INT, D INT"), case_rule=CaseRule.UNIQUE)
        read = protobuf.decoder(self._TEXT, spec)
        assert [read(bytes.fromhex(body), 0) for body in ("000807", "0402000807", "000808")] == [
            {"A": 7, "D": None},
            {"A": None, "D": 7},
            {"A": 8, "D": None},
        ]
        with pytest.raises(NothingFedError):
            read(bytes.fromhex("02020807"), 0)

    @pytest.mark.parametrize(
        ("body", "error", "words"),
        [
            ("", TruncatedBodyError, r"^The payload has 5 bytes and ends within its message indexes"),
            ("80", TruncatedBodyError, "ends within"),
            ("02", TruncatedBodyError, "ends within"),
            ("0480", TruncatedBodyError, "ends within"),
            ("0206", DecodeError, r"^The payload's message indexes \[3\] name no message"),
            ("040006", DecodeError, r"\[0, 3\] name no message"),
            ("0600000800", DecodeError, "name no message"),
            ("0201", DecodeError, r"^The payload has the message index -1\."),
            ("01", DecodeError, r"says that -1 message indexes follow"),
            ("42", DecodeError, r"says that 33 message indexes follow"),
            ("feffffff0f", DecodeError, r"says that 2,147,483,647 message indexes follow"),
            ("ffffffffff01", DecodeError, "beyond 32 bits"),
            ("02ffffffffff01", DecodeError, "beyond 32 bits"),
        ],
    )
    def test_what_names_none_is_refused(self, body: str, error: type[DecodeError], words: str) -> None:
        with pytest.raises(error, match=words):
            protobuf.decoder(self._TEXT, ReadSpec())(b"\0\0\0\0\7" + bytes.fromhex(body), 5)

    @pytest.mark.parametrize("columns", [None, "A INT", "NOWHERE INT"])
    @pytest.mark.parametrize(
        ("body", "is_message"), [("08 07", True), ("0a 01 78", True), ("", False), ("08", False), ("0206", False)]
    )
    def test_a_body_without_indexes_is_suspected(self, body: str, is_message: bool, columns: str | None) -> None:
        spec = ReadSpec(columns=None if columns is None else parse_columns(columns))
        with pytest.raises(DecodeError) as caught:
            protobuf.decoder(self._TEXT, spec)(bytes.fromhex(body), 0)
        assert ("must write them (00 for the schema's first message)" in caught.value.message) is is_message

    def test_a_message_that_cannot_be_read_is_the_payloads_matter(self) -> None:
        """Of a batch every other payload of the schema would be refused, if it were the schema's."""
        text = (
            f"{P3} message A {{ int32 a = 1; }} message B {{ int32 o_0 = 1; oneof o {{ int32 x = 2; int32 y = 3; }} }}"
        )
        read = protobuf.decoder(text, ReadSpec(columns=parse_columns("A INT"), case_rule=CaseRule.KSQLDB))
        with pytest.raises(DecodeError, match=r"message indexes \[1\] name an unusable message: .*o_0"):
            read(b"\2\2\x08\1", 0)
        assert read(b"\0\x08\1", 0) == {"A": 1}


class TestNoSr:
    """`ProtobufNoSRConverter`: the bare message of the columns' own schema."""

    def test_nulls_are_told_by_the_representation(self) -> None:
        spec = ReadSpec(columns=parse_columns("X INT"), wrap=True, nullable_representation="optional")
        assert nosr.decoder(None, spec)(b"", 0) == {"X": None}
        spec = ReadSpec(columns=parse_columns("X INT"), wrap=True, nullable_representation="wrapper")
        assert nosr.decoder(None, spec)(b"\x0a\2\x08\7", 0) == {"X": 7}

    def test_columns_are_needed(self) -> None:
        with pytest.raises(ColumnError, match=r"^In the PROTOBUF_NOSR format, the bytes do not show their fields"):
            nosr.decoder(None, ReadSpec())


def test_a_message_of_groups_alone_feeds_nothing() -> None:
    """Wire's `MessageType`, whose groups `DynamicSchema` does not take over."""
    with pytest.raises(NothingFedError, match="it has no fields"):
        _read(
            f"{P2} message A {{ optional group G = 1 {{ optional int32 x = 2; }} }}",
            "X INT",
            b"\x0b\x10\5\x0c",
            rule=CaseRule.UNIQUE,
        )
