"""Rows → messages: `ProtobufSRSchemaDataTranslator`, then `ProtobufData.fromConnectData`. What is written is read by the
protobuf runtime, used plainly."""

from __future__ import annotations

import base64
import datetime
import re
import sys
from collections.abc import Callable
from decimal import Decimal as Number
from types import MappingProxyType
from typing import Any, Literal

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from srfix.serde import (
    CaseRule,
    ColumnError,
    EncodeError,
    IncompatibleTypeError,
    SchemaError,
    UsageError,
    parse_columns,
)
from srfix.serde.connect.coercions import EPOCH
from srfix.serde.formats.protobuf import descriptors, nosr
from srfix.serde.formats.protobuf import format as protobuf
from srfix.serde.specs import NullableRepresentation, ReadSpec, WriteSpec
from tests.serde.formats.protobuf.runtime import IMPORTS, P2, P3, message_class

_MAPS = (
    f"{P3} message M {{ map<sint64, M> i = 1; map<bool, int32> b = 2; repeated M l = 3; map<string, int32> s = 4; }}"
)
_PREFIX = b"\0\0\0\0\x07"
_UTC = datetime.UTC


def _written(
    columns: str,
    row: object,
    *,
    nullable: NullableRepresentation | None = None,
    rule: CaseRule = CaseRule.KSQLDB,
    times: Literal["datetimes", "integers"] = "datetimes",
) -> str:
    """The body's bytes, in hexadecimal digits."""
    spec = WriteSpec(
        columns=parse_columns(columns), case_rule=rule, nullable_representation=nullable, times=times, wrap=True
    )
    payload = protobuf.encoder(protobuf.internal_schema(spec), spec)(row, _PREFIX)
    assert payload.startswith(_PREFIX + b"\0")
    return payload[6:].hex()


def _under(schema: str, columns: str, row: object, *, rule: CaseRule = CaseRule.EXACT) -> Any:
    """The message that was written, as the runtime has it."""
    spec = WriteSpec(columns=parse_columns(columns), case_rule=rule, wrap=True)
    payload = protobuf.encoder_under(schema, spec)(row, _PREFIX)
    assert payload.startswith(_PREFIX + b"\0")
    return message_class(schema).FromString(payload[6:])


class TestEncoder:
    @pytest.mark.parametrize(
        ("column", "value", "expected"),
        [
            ("BOOLEAN", True, "0801"),
            ("INT", 7, "0807"),
            ("INT", -1, "08ffffffffffffffffff01"),  # ten bytes
            ("BIGINT", 2**63 - 1, "08ffffffffffffffff7f"),
            ("DOUBLE", -0.0, "090000000000000080"),
            ("DOUBLE", float("nan"), "09000000000000f87f"),
            ("STRING", "é", "0a02c3a9"),
            ("BYTES", b"\0", "0a0100"),
            # the value's digits, and its scale
            ("DECIMAL(6, 2)", Number("123.45"), "0a080a02303910051802"),
            ("DECIMAL(6, 2)", Number("0.00"), "0a070a010010011802"),
            ("DECIMAL(6, 2)", Number("-0.01"), "0a070a01ff10011802"),
            ("DECIMAL(6, 2)", Number("1.5"), "0a080a02009610031802"),
            ("DECIMAL(6, 0)", Number("7"), "0a050a01071001"),
            ("DATE", datetime.date(1970, 1, 2), "0a0708b20f10011802"),
            ("TIME", datetime.time(1, 2, 3, 4), "0a0908011002180320a01f"),
            ("TIME", datetime.time(0), "0a00"),
            ("TIMESTAMP", datetime.datetime(1970, 1, 1, tzinfo=_UTC), "0a00"),
            ("TIMESTAMP", datetime.datetime(1969, 12, 31, 23, 59, 59, 999_000, _UTC), "0a1108ffffffffffffffffff0110c08faedc03"),
            ("ARRAY<INT>", [1, 2], "0a020102"),  # packed
            ("ARRAY<STRING>", ["", "x"], "0a000a0178"),
            ("ARRAY<STRUCT<X INT>>", [{"X": 1}, {"X": None}], "0a0208010a00"),
            ("STRUCT<X INT>", {"X": None}, "0a00"),  # there, and empty
            ("MAP<STRING, INT>", {"k": 1, "l": 0, "": 2}, "0a050a016b10010a030a016c0a021002"),
            ("MAP<STRING, INT>", {"k": None}, "0a030a016b"),
            # as nothing, and read as the default
            ("INT", 0, ""), ("STRING", "", ""), ("BYTES", b"", ""), ("BOOLEAN", False, ""), ("DOUBLE", 0.0, ""),
            ("ARRAY<INT>", [], ""), ("MAP<STRING, INT>", {}, ""),
            *((type_, None, "") for type_ in ("INT", "DECIMAL(6, 2)", "DATE", "STRUCT<X INT>", "ARRAY<INT>")),
        ],
    )  # fmt: skip
    def test_values_are_written_as_the_registrys_converter_does(
        self, column: str, value: object, expected: str
    ) -> None:
        assert _written(f"A {column}", {"A": value}) == expected

    @pytest.mark.parametrize(
        ("nullable", "null", "zero", "text"),
        [(None, "", "", ""), ("optional", "", "0800", "0a00"), ("wrapper", "", "0a00", "0a00")],
    )
    def test_the_representation_tells_a_null_from_a_default(
        self, nullable: NullableRepresentation | None, null: str, zero: str, text: str
    ) -> None:
        assert _written("A INT", {"A": None}, nullable=nullable) == null
        assert _written("A INT", {"A": 0}, nullable=nullable) == zero
        assert _written("A STRING", {"A": ""}, nullable=nullable) == text

    @pytest.mark.parametrize("days", [0, 2_932_896, 2_932_897, 2_932_897 + 366, 2**31 - 1])
    def test_a_day_of_any_year_is_written_as_an_integer(self, days: int) -> None:
        columns = parse_columns("A DATE")
        body = _written("A DATE", {"A": days}, times="integers", rule=CaseRule.UNIQUE)
        read = nosr.decoder(None, ReadSpec(columns=columns, wrap=True, times="integers"))
        assert read(bytes.fromhex(body), 0) == {"A": days}
        if days == 2**31 - 1:  # 5881580-07-11, as in Java
            assert body == "0a0908ecfde6021007180b"
            with pytest.raises(EncodeError, match="needs an integer that is a date or time, got int 2147483648"):
                _written("A DATE", {"A": days + 1}, times="integers")

    def test_a_struct_is_written_into_an_existing_wrapper(self) -> None:
        """Columns of statements from before ksqlDB 0.25, where `unwrapPrimitives` is off."""
        value = "google.protobuf.StringValue"
        schema = f"{P3}{IMPORTS} message M {{ {value} s = 1; repeated {value} l = 2; map<string, {value}> m = 3; }}"
        struct = "STRUCT<`value` STRING>"
        row = {"s": {"value": "x"}, "l": [{"value": "y"}, {"value": None}], "m": {"k": {"value": "z"}}}
        message = _under(schema, f"`s` {struct}, `l` ARRAY<{struct}>, `m` MAP<STRING, {struct}>", row)
        assert (message.s.value, [one.value for one in message.l], message.m["k"].value) == ("x", ["y", ""], "z")
        assert not _under(schema, f"`s` {struct}", {"s": None}).HasField("s")
        with pytest.raises(SchemaError, match=r"no field for the columns 'VALUE' at s; it has 'value'\."):
            _under(schema, "`s` STRUCT<VALUE STRING>", {})

    def test_a_wrapper_as_the_root_is_a_bare_value_or_a_struct(self) -> None:
        text = f"{P3} package google.protobuf; message StringValue {{ string value = 1; }}"
        for columns, wrap, row in (("`value` STRING", True, {"value": "x"}), ("K STRING", False, {"K": "x"})):
            spec = WriteSpec(columns=parse_columns(columns), case_rule=CaseRule.EXACT, wrap=wrap)
            assert protobuf.encoder_under(text, spec)(row, b"") == b"\0\x0a\1x"

    def test_wrappers_stand_in_lists_and_maps_too(self) -> None:
        assert _written("A ARRAY<INT>", {"A": [0, 7]}, nullable="wrapper") == "0a000a020807"
        assert _written("A MAP<STRING, INT>", {"A": {"k": 0, "l": None}}, nullable="wrapper") == (
            "0a070a030a016b12000a050a030a016c"
        )

    @pytest.mark.parametrize("nullable", [None, "optional", "wrapper"])
    @pytest.mark.parametrize("column", ["INT", "STRING", "STRUCT<X INT>", "DATE"])
    def test_null_in_a_list_is_refused(self, column: str, nullable: NullableRepresentation | None) -> None:
        """NullPointerException."""
        with pytest.raises(EncodeError) as raised:
            _written(f"A ARRAY<{column}>", {"A": [None]}, nullable=nullable)
        assert raised.value.paths == ("->A->ARRAY[0]",) or raised.value.paths[0].startswith("->A")

    def test_fields_stand_in_the_order_of_their_numbers(self) -> None:
        assert _written("B INT, A INT", {"A": 1, "B": 2}) == "08021001"

    def test_times_as_integers(self) -> None:
        assert _written("A DATE, B TIME, C TIMESTAMP", {"A": 1, "B": 1, "C": -1}, times="integers") == (
            "0a0708b20f10011802" "120420c0843d" "1a1108ffffffffffffffffff0110c08faedc03"
        )  # fmt: skip

    @pytest.mark.parametrize(
        ("columns", "value"),
        [
            ("A DATE", 2**31),
            ("A TIME", -1),
            ("A TIME", 86_400_000),
            ("A TIMESTAMP", 2**60),
            ("A DATE", True),
            ("A DATE", "x"),
        ],
    )
    def test_integers_that_are_no_time_are_refused(self, columns: str, value: object) -> None:
        with pytest.raises(EncodeError, match=": A needs"):
            _written(columns, {"A": value}, times="integers")

    @pytest.mark.parametrize(
        ("column", "value", "words"),
        [
            ("INT", 2**31, "A needs"),
            ("INT", "x", "A needs"),
            ("INT", True, "A needs"),
            ("INT", 1.5, "A needs"),
            ("BIGINT", 2**63, "A needs"),
            ("BOOLEAN", 1, "A needs"),
            ("DOUBLE", "x", "A needs"),
            ("STRING", b"x", "A needs"),
            ("STRING", "\ud800", "half a surrogate pair"),
            ("BYTES", "x", "A needs"),
            ("DECIMAL(4, 2)", Number("1.234"), "without rounding"),
            ("DECIMAL(4, 2)", Number("100"), "without rounding"),
            ("DECIMAL(4, 2)", Number("NaN"), "finite"),
            ("DECIMAL(4, 2)", 1.5, "finite decimal"),
            ("DECIMAL(4, 2)", Number("1e999999"), "without rounding"),
            ("DATE", datetime.datetime(2020, 1, 1, tzinfo=_UTC), "a date"),
            ("TIME", datetime.time(0, tzinfo=_UTC), "a time without zone"),
            ("TIMESTAMP", datetime.datetime(2020, 1, 1), "with a time zone"),
            ("TIMESTAMP", 1, "with a time zone"),
            ("ARRAY<INT>", "x", "A needs"),
            ("ARRAY<INT>", [2**31], r"A\[0\] needs"),
            ("MAP<STRING, INT>", {1: 1}, "A->1 needs"),
            ("MAP<STRING, INT>", [1], r"A\[0\] needs"),
            ("STRUCT<X INT>", 1, "A needs"),
            ("STRUCT<X INT>", {"X": "x"}, "A->X needs"),
        ],
    )
    def test_a_value_that_does_not_fit_is_refused_with_its_path(self, column: str, value: object, words: str) -> None:
        with pytest.raises(EncodeError, match=words):
            _written(f"A {column}", {"A": value})

    def test_several_misfits_are_all_told(self) -> None:
        with pytest.raises(EncodeError) as raised:
            _written("A INT, B DATE, S STRUCT<X STRING>", {"A": "x", "B": 1, "S": {"X": 1}})
        assert raised.value.paths == ("->A", "->B", "->S->X")

    def test_a_column_that_the_row_lacks_is_null_and_keys_go_by_the_case_rule(self) -> None:
        assert _written("A INT, B INT", {"a": 1}, rule=CaseRule.UNIQUE) == "0801"

    @pytest.mark.parametrize("row", [1, "x", [1]])
    def test_a_row_is_a_mapping(self, row: object) -> None:
        with pytest.raises(EncodeError):
            _written("A INT", row)

    def test_a_map_of_other_keys_is_refused(self) -> None:
        with pytest.raises(ColumnError, match=r"^Protobuf only supports MAPs with STRING keys: "):
            protobuf.encoder(P3 + "message M {}", WriteSpec(columns=parse_columns("A MAP<INT, INT>")))

    def test_a_schema_is_needed(self) -> None:
        with pytest.raises(SchemaError, match=r"^PROTOBUF bodies cannot be written without a schema\.$"):
            protobuf.encoder(None, WriteSpec())


class TestEncoderUnder:
    """A column is the field of its exact name and Connect type."""

    def test_every_kind_of_field(self) -> None:
        schema = (
            f"{P3}{IMPORTS} message M {{ uint32 a = 1; sint64 b = 2; float_ c = 3; E e = 4; fixed64 f = 5; bytes g = 6; "
            "google.protobuf.UInt32Value h = 7; map<string, int64> i = 8; repeated E j = 9; bool left_out = 10; message float_ "
            "{ double x = 1; } } enum E { Z = 0; ONE = 1; }"
        )
        columns = (
            "`a` BIGINT, `b` BIGINT, `c` STRUCT<`x` DOUBLE>, `e` STRING, `f` BIGINT, `g` BYTES, `h` BIGINT, "
            "`i` MAP<STRING, BIGINT>, `j` ARRAY<STRING>"
        )
        row = {
            "a": 2**32 - 1,
            "b": -1,
            "c": {"x": 0.5},
            "e": "ONE",
            "f": 2**63 - 1,
            "g": b"x",
            "h": 0,
            "i": {"k": 1},
            "j": ["Z", "ONE"],
        }
        message = _under(schema, columns, row)
        assert message == message_class(schema)(**row | {"h": {"value": 0}})

    @pytest.mark.parametrize(
        ("field", "column", "value", "words"),
        [
            ("uint32", "BIGINT", -1, "an integer from 0 to 4294967295"),
            ("uint32", "BIGINT", 2**32, "an integer from 0 to 4294967295"),
            ("fixed32", "BIGINT", 2**32, "an integer from 0 to 4294967295"),
            ("uint64", "BIGINT", -1, "an integer from 0 to 9223372036854775807"),
            ("fixed64", "BIGINT", 2**63, "an integer from 0 to 9223372036854775807"),
            ("google.protobuf.UInt64Value", "BIGINT", -1, "an integer from 0"),
            ("uint32", "BIGINT", True, "an integer from 0"),
            ("E", "STRING", "TWO", "one of ONE, Z"),
            ("E", "STRING", 1, "one of ONE, Z"),
            ("E", "STRING", "UNKNOWN_ENUM_VALUE_E_7", "one of ONE, Z"),
            ("sint32", "INT", 2**31, "a needs"),
        ],
    )
    def test_a_value_that_the_field_does_not_hold_is_refused(
        self, field: str, column: str, value: object, words: str
    ) -> None:
        schema = f"{P3}{IMPORTS} message M {{ {field} a = 1; }} enum E {{ Z = 0; ONE = 1; }}"
        with pytest.raises(EncodeError, match=words):
            _under(schema, f"`a` {column}", {"a": value})

    def test_of_a_oneof_the_field_that_is_not_null_is_written(self) -> None:
        schema = f"{P3} message M {{ int32 z = 9; oneof o {{ int32 i = 1; string s = 2; }} }}"
        columns = "`o_0` STRUCT<`i` INT, `s` STRING>, `z` INT"
        message = _under(schema, columns, {"o_0": {"s": ""}, "z": 1})
        assert (message.WhichOneof("o"), message.s, message.z) == ("s", "", 1)
        assert _under(schema, columns, {"o_0": {"i": 0, "s": None}}).WhichOneof("o") == "i"
        assert _under(schema, columns, {"o_0": None}).WhichOneof("o") is None
        for value, count in (({"i": 1, "s": "x"}, 2), ({"i": None}, 0)):
            with pytest.raises(
                EncodeError, match=rf"has {count} fields that are not null, but a oneof can have only one"
            ):
                _under(schema, columns, {"o_0": value})

    def test_columns_that_the_schema_misses_are_refused(self) -> None:
        schema = f"{P3} message M {{ int32 a = 1; N n = 2; message N {{ int32 x = 1; }} }}"
        with pytest.raises(
            SchemaError, match=r"^The schema has no field for the columns 'A', 'B' at the root; it has 'a', 'n'\."
        ):
            _under(schema, "A INT, B INT", {})
        with pytest.raises(SchemaError, match=r"'Y' at n; it has 'x'\."):
            _under(schema, "`n` STRUCT<Y INT>", {})

    @pytest.mark.parametrize(
        ("field", "column"),
        [
            ("int32", "BIGINT"), ("int64", "INT"), ("uint32", "INT"), ("string", "BYTES"), ("E", "INT"),
            ("google.protobuf.Timestamp", "BIGINT"), ("google.type.Date", "INT"), ("int32", "DATE"),
            ("confluent.type.Decimal", "BYTES"), ("repeated int32", "INT"), ("int32", "ARRAY<INT>"),
            ("repeated int32", "ARRAY<BIGINT>"), ("N", "STRING"), ("N", "STRUCT<`x` BIGINT>"),
            ("map<string, int32>", "MAP<STRING, BIGINT>"), ("google.protobuf.StringValue", "STRUCT<`value` INT>"),
        ],
    )  # fmt: skip
    def test_a_column_of_another_type_is_refused(self, field: str, column: str) -> None:
        schema = f"{P3}{IMPORTS} message M {{ {field} a = 1; message N {{ int32 x = 1; }} }} enum E {{ Z = 0; }}"
        with pytest.raises(SchemaError, match=r"Declare the column with the schema's type\.$"):
            _under(schema, f"`a` {column}", {})

    def test_a_required_field_must_be_there(self) -> None:
        schema = f"{P2} message M {{ required int32 a = 1; optional int32 b = 2; }}"
        assert _under(schema, "`a` INT, `b` INT", {"a": 0, "b": None}).a == 0
        with pytest.raises(EncodeError, match="is missing required fields: a"):
            _under(schema, "`a` INT, `b` INT", {"a": None, "b": 1})
        with pytest.raises(EncodeError, match="is missing required fields: a"):
            _under(schema, "`b` INT", {"b": 1})

    @pytest.mark.parametrize(
        ("days", "date"),
        [
            (-141_427, (1582, 10, 15)),
            (-141_428, (1582, 10, 4)),
            (-171_596, (1500, 2, 29)),
            (-719_162, (1, 1, 3)),
            (-719_164, (1, 1, 1)),
        ],
    )
    def test_a_day_of_the_julian_calendar_is_written_as_java_names_it(
        self, days: int, date: tuple[int, int, int]
    ) -> None:
        made = message_class(f"{P3}{IMPORTS} message M {{ google.type.Date A = 1; }}")
        expected = made(A=dict(zip(("year", "month", "day"), date, strict=True))).SerializeToString().hex()
        assert _written("A DATE", {"A": days}, times="integers") == expected
        if days > -719_163:
            assert _written("A DATE", {"A": datetime.date.fromordinal(days + 719_163)}) == expected

    def test_one_that_java_would_write_as_another_is_refused(self) -> None:
        with pytest.raises(EncodeError, match="an integer that is a date"):
            _written("A DATE", {"A": -719_165}, times="integers")

    @pytest.mark.parametrize(
        ("column", "value", "expected"),
        [
            ("MAP<STRING, ARRAY<INT>>", {"x": [1, 2], "y": []}, "0a070a0178120201020a030a0179"),
            ("MAP<STRING, ARRAY<INT>>", {"x": None}, "0a030a0178"),
            ("MAP<STRING, ARRAY<INT>>", {}, ""),
            ("MAP<STRING, MAP<STRING, INT>>", {"x": {"a": 1, "b": 2}}, "0a110a017812050a0161100112050a01621002"),
            ("MAP<STRING, MAP<STRING, INT>>", {"x": {}}, "0a030a0178"),
            ("MAP<STRING, MAP<STRING, ARRAY<INT>>>", {"x": {"a": [1]}}, "0a0b0a017812060a0161120101"),
            ("ARRAY<MAP<STRING, INT>>", [], ""),
            ("ARRAY<MAP<STRING, INT>>", None, ""),
        ],
    )
    def test_collections_that_no_schema_says_are_written_as_in_java(
        self, column: str, value: object, expected: str
    ) -> None:
        assert _written(f"C {column}", {"C": value}) == expected

    @pytest.mark.parametrize(
        ("column", "value", "why"),
        [
            ("ARRAY<MAP<STRING, INT>>", [{}], "C is an ARRAY of MAPs that is not empty, which ksqlDB cannot write"),
            ("ARRAY<MAP<STRING, ARRAY<INT>>>", [{}], "C is an ARRAY of MAPs"),
            ("ARRAY<MAP<STRING, INT>>", {}, "C needs a list"),
            ("MAP<STRING, ARRAY<MAP<STRING, INT>>>", {"x": [{}]}, "C->x is an ARRAY of MAPs"),
            ("MAP<STRING, ARRAY<INT>>", {"x": [2**31]}, r"C->x\[0\] needs an integer"),
        ],
    )
    def test_others_of_them_are_refused(self, column: str, value: object, why: str) -> None:
        with pytest.raises(EncodeError, match=why):
            _written(f"C {column}", {"C": value})

    def test_such_a_collection_is_read_as_the_type_that_its_schema_says(self) -> None:
        columns = parse_columns("C MAP<STRING, ARRAY<INT>>")
        text = protobuf.internal_schema(WriteSpec(columns=columns))
        body = b"\0" + bytes.fromhex("0a070a017812020102")
        read = parse_columns("C ARRAY<STRUCT<KEY STRING, VALUE ARRAY<INT>>>")
        expected = {"C": [{"KEY": "x", "VALUE": [1, 2]}]}
        assert protobuf.decoder(text, ReadSpec(columns=read, case_rule=CaseRule.KSQLDB))(body, 0) == expected
        with pytest.raises(IncompatibleTypeError, match="C, a column of the type MAP cannot read"):
            protobuf.decoder(text, ReadSpec(columns=columns, case_rule=CaseRule.KSQLDB))(body, 0)

    @pytest.mark.parametrize("rule", [CaseRule.UNIQUE, CaseRule.EXACT])
    def test_under_our_rules_a_julian_day_is_refused(self, rule: CaseRule) -> None:
        for value, times in ((datetime.date(1582, 10, 14), "datetimes"), (-141_428, "integers")):
            with pytest.raises(EncodeError, match="a date from 1582-10-15 on"):
                _written("A DATE", {"A": value}, rule=rule, times=times)  # type: ignore[arg-type]

    def test_a_decimal_has_the_columns_scale(self) -> None:
        schema = f"{P3}{IMPORTS} message M {{ confluent.type.Decimal a = 1; }}"
        message = _under(schema, "`a` DECIMAL(64, 0)", {"a": Number("-1")})
        assert (message.a.value, message.a.precision, message.a.scale) == (b"\xff", 1, 0)

    def test_a_decimal_may_have_more_digits_than_python_writes_of_an_int(self) -> None:
        schema = f"{P3}{IMPORTS} message M {{ confluent.type.Decimal a = 1; }}"
        for digits in (4_300, 4_301, 5_000):
            message = _under(schema, "`a` DECIMAL(5000, 0)", {"a": Number(10) ** (digits - 1)})
            assert message.a.precision == digits

    def test_dicts_are_written_as_the_runtime_takes_them(self) -> None:
        schema = (
            f"{P3} message M {{ int32 a = 1; N n = 2; repeated E e = 3; map<int32, N> m = 4; oneof o {{ int32 x = 5; int32 y = "
            "6; } message N { string s = 1; } enum E { Z = 0; ONE = 1; } }"
        )
        row = {"a": 1, "n": {"s": "x"}, "e": ["ONE", 7], "m": {1: {"s": "y"}}, "y": 0}
        body = protobuf.encoder(schema, WriteSpec())(row, _PREFIX)
        assert message_class(schema).FromString(body[6:]) == message_class(schema)(**row | {"e": [1, 7]})

    def test_a_key_and_its_text_beside_each_other_are_refused(self) -> None:
        with pytest.raises(EncodeError, match="i"):
            protobuf.encoder(_MAPS, WriteSpec())({"i": {7: {}, "7": {}}}, _PREFIX)

    @pytest.mark.parametrize(
        ("texts", "keys"),
        [
            ({"i": {"-7": {}}, "b": {"true": 1}}, {"i": {-7: {}}, "b": {True: 1}}),
            ({"i": {7: {"b": {"false": 0}}}}, {"i": {7: {"b": {False: 0}}}}),
            ({"l": [{"i": {"0": {}}}], "s": {"7": 1}}, {"l": [{"i": {0: {}}}], "s": {"7": 1}}),
        ],
    )
    def test_keys_of_maps_may_be_texts_as_in_json(self, texts: object, keys: object) -> None:
        encode = protobuf.encoder(_MAPS, WriteSpec())
        assert encode(texts, b"") == encode(keys, b"") != b"\0"

    @pytest.mark.parametrize("row", [{"i": {"true": {}}}, {"i": {"07": {}}}, {"i": {" 7": {}}}, {"b": {"1": 1}}, [], 1])
    def test_texts_that_are_no_keys_are_refused(self, row: object) -> None:
        with pytest.raises(EncodeError):
            protobuf.encoder(_MAPS, WriteSpec())(row, b"")

    @pytest.mark.parametrize("name", ["\ud800", "\ud800i", "i\0"])
    def test_a_name_that_is_not_utf_8_is_refused(self, name: str) -> None:
        for schema in (_MAPS, f"{P3} message M {{ int32 i = 1; }}"):
            with pytest.raises(EncodeError, match="does not fit its Protobuf schema"):
                protobuf.encoder(schema, WriteSpec())({name: 1}, b"")

    def test_a_message_without_its_package_is_written_but_none_of_an_import(self) -> None:
        text = f'{P3} package p; import "google/protobuf/duration.proto"; message A {{}} message B {{ int32 b = 1; }}'
        for name in ("B", "p.B"):
            spec = WriteSpec(columns=parse_columns("`b` INT"), full_name=name)
            assert protobuf.encoder_under(text, spec)({"b": 7}, b"") == b"\2\2\x08\7"
        for name in ("Duration", "google.protobuf.Duration"):
            with pytest.raises(SchemaError, match=r"no message google\.protobuf\.Duration\."):
                protobuf.encoder(text, WriteSpec(full_name=name))

    def test_references_are_told_by_their_names(self) -> None:
        from srfix.serde.schemas.references import ReferenceText

        other = ReferenceText(P3 + "package o; message O { int32 x = 1; }", name="o.proto")
        schema = P3 + 'import "o.proto"; message M { o.O a = 1; }'
        spec = WriteSpec(columns=parse_columns("`a` STRUCT<`x` INT>"), wrap=True, case_rule=CaseRule.EXACT)
        assert protobuf.encoder_under(schema, spec, (other,))({"a": {"x": 7}}, b"") == b"\0\x0a\2\x08\7"
        for wrong in ((), (ReferenceText(other, name="p.proto"),), (str(other),)):
            with pytest.raises(SchemaError, match=r'Import "o\.proto" was not found'):
                protobuf.encoder_under(schema, spec, wrong)

    def test_one_text_under_another_name_is_another_schema(self) -> None:
        """Texts are remembered by their references' names, too."""
        from srfix.serde.schemas.references import ReferenceText

        texts = [ReferenceText(P3 + f"message O {{ int32 {name} = 1; }}", name="o.proto") for name in "xy"]
        schema = P3 + 'import "o.proto"; message M { O a = 1; }'
        rows = [protobuf.decoder(schema, ReadSpec(), (text,))(b"\0\x0a\2\x08\7", 0) for text in texts]
        assert rows == [{"a": {"x": 7}}, {"a": {"y": 7}}]


class TestDescriptors:
    """`ProtobufSchema`: a text may be the base64 of a FileDescriptorProto, as confluent-kafka registers it."""

    @staticmethod
    def _base64(text: str) -> str:
        file = FileDescriptorProto()
        message_class(text).DESCRIPTOR.file.CopyToProto(file)
        return base64.b64encode(file.SerializeToString()).decode()

    def test_it_is_read_and_written_by(self) -> None:
        text = self._base64(f"{P3} message M {{ int32 a = 1; message N {{}} }} message O {{ int32 b = 1; }}")
        assert protobuf.decoder(text, ReadSpec())(b"\0\x08\7", 0) == {"a": 7}
        assert protobuf.decoder(text, ReadSpec())(b"\2\2\x08\7", 0) == {"b": 7}
        assert protobuf.encoder(text, WriteSpec())({"a": 7}, b"") == b"\0\x08\7"
        assert protobuf.record_name(text) == "M"

    def test_its_imports_and_options_count(self) -> None:
        digits = '{key: "precision", value: "4"}, {key: "scale", value: "2"}'
        text = self._base64(
            f'{P3} import "google/type/date.proto"; import "confluent/meta.proto"; import "confluent/type/decimal.proto"; '
            "message M { google.type.Date A = 1; confluent.type.Decimal B = 2 [(confluent.field_meta) = {params: "
            f"[{digits}]}}]; }}"
        )
        assert protobuf.infer_columns(text).columns == parse_columns("A DATE, B DECIMAL(4, 2)")


class TestNoSr:
    def test_columns_are_needed(self) -> None:
        with pytest.raises(ColumnError, match="PROTOBUF_NOSR"):
            nosr.encoder(None, WriteSpec())


class TestLibraries:
    @pytest.mark.parametrize(
        "library", ["grpc_tools._protoc_compiler", "google.protobuf.descriptor_pool", "google.type"]
    )
    def test_without_them_it_is_said_what_to_install(self, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, library, None)
        descriptors._installed.cache_clear()
        with pytest.raises(
            UsageError, match=r"^Protobuf needs the libraries of the extra: pip install 'srfix\[protobuf\]'\.$"
        ):
            protobuf.check_schema(P3 + "message OfNobody {}")

    def test_a_folder_for_the_texts_is_needed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("tempfile.tempdir", "/nowhere/at/all")
        with pytest.raises(UsageError, match=r"temporary folder, but cannot create one .*TMPDIR"):
            protobuf.check_schema(P3 + "message OfNoFolder {}")


def test_a_message_is_never_a_bare_value() -> None:
    spec = WriteSpec(columns=parse_columns("ID INT"), wrap=False)
    with pytest.raises(SchemaError, match=r"'ID' cannot be written bare\. Leave out wrap=False"):
        protobuf.encoder(protobuf.internal_schema(spec), spec)


_LOSSY = f"""{P3}{IMPORTS} import "google/protobuf/struct.proto"; message A {{
  oneof z {{ int32 za = 1; string zb = 2; }}
  float f = 3; repeated float list = 4; map<string, float> map = 5; A self = 6; repeated A selves = 7;
  double d = 8; google.protobuf.Struct s = 9; google.protobuf.FloatValue held = 10;
  google.protobuf.Value v = 11; repeated string rs = 12;
}}"""


@pytest.mark.parametrize(
    ("row", "path"),
    [
        ({"za": 0, "zb": ""}, "the row has the fields za and zb, but the oneof z"),
        ({"f": 1e39}, "f is 1e+39, but a float"),
        ({"f": -(10**39)}, "f is -1000"),
        ({"list": [1, 1e39]}, "list[1] is"),
        ({"map": {"k": 1e39}}, "map['k'] is"),
        ({"v": {"number_value": 1, "string_value": "x"}}, "v has the fields"),
        ({"s": {"fields": {"a": {"number_value": 1, "string_value": "x"}}}}, "s->fields['a'] has the fields"),
        ({"held": {"value": 1e39}}, "held->value is"),
        ({"f": 1e-50}, "f is 1e-50, which a float holds as 0"),
        ({"list": [1.5, Number("-1e-50")]}, "list[1] is"),
        ({"d": 2**53 + 1}, "d is 9007199254740993, which a double"),
        ({"self": {"d": Number("0.12345678901234567890")}}, "self->d is Decimal('0.12345678901234567890')"),
        ({"self": {"d": Number("1e-400")}}, "self->d is"),
        ({"list": {1.5: "x"}}, "list needs a list"),
        ({"rs": "abc"}, "rs needs a list, got str 'abc'"),
        ({"rs": {"a": "b"}}, "rs needs a list"),
        ({"selves": ""}, "selves needs a list"),
        ({"map": ""}, "map needs a dict"),
        ({"selves": [{"selves": {}}]}, "selves[0]->selves needs a list"),
        ({"self": {"selves": [{}, {"za": 1, "zb": "x"}]}}, "self->selves[1] has the fields"),
    ],
)
def test_what_the_runtime_would_drop_of_a_dict_is_refused(row: dict[str, object], path: str) -> None:
    with pytest.raises(EncodeError) as refused:
        protobuf.encoder(_LOSSY, WriteSpec())(row, b"")
    assert path in str(refused.value)


@pytest.mark.parametrize(
    "row",
    [
        {"za": None, "zb": "x"},
        {"f": 0.1, "d": 10**22, "held": {"value": 0}, "rs": ("a",), "selves": [{"d": -(2**53), "f": -0.0, "rs": []}]},
        {"d": Number("0.1"), "f": Number("0.1"), "list": [16777217, Number(0)], "self": {"d": Number("NaN")}},
        {"f": float("inf"), "d": 1e300, "list": [3.4028235e38], "self": None},
    ],
)
def test_what_it_keeps_of_a_dict_is_written(row: dict[str, object]) -> None:
    message = message_class(_LOSSY, "A")(**row)
    assert protobuf.encoder(_LOSSY, WriteSpec())(row, b"") == b"\0" + message.SerializeToString()


@pytest.mark.parametrize(
    ("row", "path"),
    [
        ({"n": 1, "u": -1}, "u"),
        ({"e": "GREEN"}, "e"),
        ({"n": "1"}, "n"),
        ({"n": 2**40}, "n"),
        ({"x": 1}, "x"),
        ({"self": {"n": 1, "u": 2**64}}, "self->u"),
        ({"list": [{"u": -1}]}, "list"),
        ({"map": {"k": {"u": -1}}}, "map"),
        ({"map": {1: {}}}, "map"),
        ({7: 1}, "7"),
    ],
)
def test_a_dict_that_does_not_fit_is_told_where(row: dict[object, object], path: str) -> None:
    schema = (
        'syntax = "proto3"; enum E { RED = 0; } message A { uint64 u = 1; int32 n = 2; E e = 3; A self = 4; '
        "repeated A list = 5; map<string, A> map = 6; }"
    )
    with pytest.raises(EncodeError) as raised:
        protobuf.encoder(schema, WriteSpec())(row, b"")
    assert f"not fit its Protobuf schema at {path} (" in str(raised.value)


_FREE = f"""{P3} import "google/protobuf/struct.proto"; message M {{ google.protobuf.Struct s = 1;
  google.protobuf.Value v = 2; repeated google.protobuf.Struct r = 3; map<string, google.protobuf.Struct> m = 4;
  google.protobuf.ListValue l = 5; double d = 6; float f = 7; }}"""


class TestStructsOfGoogle:
    def test_what_was_read_is_written_the_same(self) -> None:
        made = message_class(_FREE)
        message = made(
            v={}, m={"k": {"fields": {"a": {"bool_value": True}}}}, r=[{"x": 1}, {}], s={"fields": [1, None]}
        )
        message.s.update({"deep": {"fields": {"b": "x"}}, "list": [{"a": 1}, [2]]})
        message.v.struct_value.update({"fields": 1})
        message.l.extend([{"fields": "x"}, 3])
        body = message.SerializeToString()
        row = protobuf.decoder(_FREE, ReadSpec())(b"\0" + body, 0)
        assert made.FromString(protobuf.encoder(_FREE, WriteSpec())(row, b"")[1:]) == message

    @pytest.mark.parametrize("row", [{"s": {"a": 1}}, {"r": [{"a": 1}]}, {"m": {"k": {"a": 1}}}])
    def test_another_form_is_refused(self, row: dict[str, object]) -> None:
        with pytest.raises(
            EncodeError, match=r"at \w(->a)? \(a google\.protobuf\.Struct is written as \{'fields'.*'a'\)\.$"
        ):
            protobuf.encoder(_FREE, WriteSpec())(row, b"")


@pytest.mark.parametrize(("row", "path"), [({"d": 10**400}, "d"), ({"f": -(10**400)}, "f"), ({"s": 5}, "s")])
def test_whatever_the_runtime_raises_is_an_error_of_the_row(row: dict[str, object], path: str) -> None:
    with pytest.raises(EncodeError, match=rf"^The row does not fit its Protobuf schema at {path} \("):
        protobuf.encoder(_FREE, WriteSpec())(row, b"")


_OWNED = f"""{P3} import "google/protobuf/wrappers.proto"; import "google/protobuf/timestamp.proto";
  message M {{ message O {{}} O owner = 1; google.protobuf.StringValue nick = 2; google.protobuf.Timestamp at = 3; M m = 4;
  repeated google.protobuf.Timestamp times = 5; }}"""


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"owner": 5}, "owner (the message M.O is written as a dict of its fields; got int)"),
        (
            {"nick": "a"},
            "nick (the message google.protobuf.StringValue is written as a dict of its fields, such as {'value': 'a'}; got "
            "str)",
        ),
        ({"m": {"owner": []}}, "m->owner (the message M.O is written as a dict of its fields; got list)"),
    ],
)
def test_a_message_is_written_as_a_dict(row: dict[str, object], reason: str) -> None:
    with pytest.raises(EncodeError) as refused:
        protobuf.encoder(_OWNED, WriteSpec())(row, b"")
    assert str(refused.value) == f"The row does not fit its Protobuf schema at {reason}."


@pytest.mark.parametrize(
    ("row", "path"),
    [
        ({"at": datetime.datetime(2026, 1, 1)}, "at"),
        ({"m": {"at": datetime.datetime(2026, 1, 1)}}, "m->at"),
        ({"times": [EPOCH, datetime.datetime(2026, 1, 1)]}, "times[1]"),
    ],
)
def test_a_datetime_without_zone_is_no_instant(row: dict[str, object], path: str) -> None:
    """The runtime takes it as UTC; srfix refuses it everywhere."""
    with pytest.raises(EncodeError, match=re.escape(f"{path} needs a datetime with a time zone, got datetime")):
        protobuf.encoder(_OWNED, WriteSpec())(row, b"")
    assert protobuf.encoder(_OWNED, WriteSpec())({"at": EPOCH, "times": [EPOCH]}, b"") == bytes.fromhex("001a002a00")


def test_a_mapping_in_a_message_is_written_as_a_dict() -> None:
    encode = protobuf.encoder(
        f"""{P3} import "google/protobuf/struct.proto";
        message M {{ google.protobuf.ListValue items = 1; M m = 2; repeated M list = 3; }}""",
        WriteSpec(),
    )
    items: dict[str, object] = {"values": [{"string_value": "a"}]}
    row: dict[str, object] = {"items": items, "m": {"items": items}, "list": [{"items": items}]}
    proxies = {
        "items": MappingProxyType(items),
        "m": MappingProxyType({"items": items}),
        "list": [MappingProxyType({"items": items})],
    }
    assert encode(proxies, b"") == encode(row, b"")
    with pytest.raises(EncodeError, match="at items->a"):  # for the runtime, its key would be the list's only text
        encode({"items": MappingProxyType({"a": 1})}, b"")


def test_no_column_is_written_to_a_float() -> None:
    with pytest.raises(SchemaError, match="No column is written to a float"):
        _under(f"{P3} message M {{ float F = 1; }}", "F DOUBLE", {"F": 1.0})


class TestNesting:
    """A type that holds itself may nest for ever, and the runtime writes deeper than it, or Java, reads."""

    SCHEMA = 'syntax = "proto3"; message A { A self = 1; repeated A list = 2; map<string, A> map = 3; int32 n = 4; }'

    @pytest.mark.parametrize(
        "wrap", [lambda row: {"self": row}, lambda row: {"list": [row]}, lambda row: {"map": {"": row}}]
    )
    def test_what_is_written_can_be_read(self, wrap: Callable[[object], object]) -> None:
        encode = protobuf.encoder(self.SCHEMA, WriteSpec())
        decode = protobuf.decoder(self.SCHEMA, ReadSpec())
        row: object = {"n": 1}
        for _ in range(45):
            row = wrap(row)
        body = encode(row, b"")
        assert encode(decode(body, 0), b"") == body
        for _ in range(60):
            row = wrap(row)
        with pytest.raises(EncodeError, match="nests deeper than 100 messages"):
            encode(row, b"")

    def test_a_row_that_nests_without_end_is_refused(self) -> None:
        """The runtime would end the process."""
        row: dict[str, object] = {"n": 1}
        for _ in range(100_000):
            row = {"self": row}
        with pytest.raises(EncodeError, match="nests deeper than 100 messages"):
            protobuf.encoder(self.SCHEMA, WriteSpec())(row, b"")

    def test_a_struct_of_google_s_is_three_messages_a_level(self) -> None:
        schema = 'syntax = "proto3"; import "google/protobuf/struct.proto"; message A { google.protobuf.Struct s = 1; }'
        row: dict[str, object] = {}
        for _ in range(40):
            row = {"fields": {"x": {"struct_value": row}}}
        with pytest.raises(EncodeError, match="nests deeper than 100 messages"):
            protobuf.encoder(schema, WriteSpec())({"s": row}, b"")


def test_a_chain_of_messages_is_read_and_written_however_long() -> None:
    """The runtime's class factory calls itself for each."""
    chain = "".join(f"message M{number} {{ M{number + 1} m = 1; }}" for number in range(1500))
    schema = f"{P3}{chain} message M1500 {{ float a = 1; }}"
    row: dict[str, object] = {"m": {"m": {}}}
    body = protobuf.encoder(schema, WriteSpec())(row, b"")
    assert body == b"\0\x0a\x02\x0a\0"
    assert protobuf.decoder(schema, ReadSpec())(body, 0) == {"m": {"m": {"m": None}}}
