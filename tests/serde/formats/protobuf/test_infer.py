"""Columns of Protobuf schemas: `ProtobufData.toConnectSchema`, then `ConnectKsqlSchemaTranslator`."""

from __future__ import annotations

import re

import pytest

from srfix.serde import ColumnError, SchemaError, columns_from_protobuf, parse_columns, print_columns
from srfix.serde.formats.protobuf import format as protobuf
from srfix.serde.formats.table import Format, field_names, record_name, schema_module_of
from srfix.serde.schemas.models import Schema
from srfix.serde.schemas.references import ReferenceText
from tests.serde.formats.protobuf.runtime import IMPORTS, P2, P3


def _inferred(text: str, **options: object) -> str:
    return print_columns(protobuf.infer_columns(text, **options).columns)  # type: ignore[arg-type]


def _digits(**params: str) -> str:
    parts = ", ".join(f'{{key: "{key}", value: "{value}"}}' for key, value in params.items())
    return f"[(confluent.field_meta) = {{params: [{parts}]}}]"


def _meta(type_: str) -> str:
    return f'[(confluent.field_meta) = {{params: [{{key: "connect.type", value: "{type_}"}}]}}]'


class TestOneField:
    @pytest.mark.parametrize(
        ("field", "column"),
        [
            # ProtobufData.toConnectSchema: scalars
            *((f"{type_} a = 1;", "INTEGER") for type_ in ("int32", "sint32", "sfixed32")),
            *((f"{type_} a = 1;", "BIGINT") for type_ in ("uint32", "fixed32", "int64", "sint64", "sfixed64")),
            *((f"{type_} a = 1;", "BIGINT") for type_ in ("uint64", "fixed64")),
            *((f"{type_} a = 1;", "DOUBLE") for type_ in ("float", "double")),
            ("bool a = 1;", "BOOLEAN"),
            ("string a = 1;", "STRING"),
            ("bytes a = 1;", "BYTES"),
            ("E a = 1;", "STRING"),
            (f"int32 a = 1 {_meta('int8')};", "INTEGER"),
            (f"int32 a = 1 {_meta('int16')};", "INTEGER"),
            ("optional int32 a = 1;", "INTEGER"),
            ("int32 a = 7 [json_name = \"other\", deprecated = true];", "INTEGER"),
            # ProtobufData.toConnectSchema: messages that are one value
            ("confluent.type.Decimal a = 1;", "DECIMAL(64, 0)"),
            (f"confluent.type.Decimal a = 1 {_digits(precision='6', scale='2')};", "DECIMAL(6, 2)"),
            (f"confluent.type.Decimal a = 1 {_digits(scale='2')};", "DECIMAL(64, 2)"),
            (f"confluent.type.Decimal a = 1 {_digits(precision='x', scale='y')};", "DECIMAL(64, 0)"),
            (f"repeated confluent.type.Decimal a = 1 {_digits(precision='6', scale='2')};", "ARRAY<DECIMAL(6, 2)>"),
            (f"map<string, confluent.type.Decimal> a = 1 {_digits(precision='6', scale='2')};", "MAP<STRING, DECIMAL(64, 0)>"),
            ("google.type.Date a = 1;", "DATE"),
            ("google.type.TimeOfDay a = 1;", "TIME"),
            ("google.protobuf.Timestamp a = 1;", "TIMESTAMP"),
            # wrapper.for.raw.primitives
            ("google.protobuf.StringValue a = 1;", "STRING"),
            ("google.protobuf.BytesValue a = 1;", "BYTES"),
            ("google.protobuf.BoolValue a = 1;", "BOOLEAN"),
            ("google.protobuf.Int32Value a = 1;", "INTEGER"),
            ("google.protobuf.UInt32Value a = 1;", "BIGINT"),
            ("google.protobuf.UInt64Value a = 1;", "BIGINT"),
            ("google.protobuf.FloatValue a = 1;", "DOUBLE"),
            ("repeated google.protobuf.Int64Value a = 1;", "ARRAY<BIGINT>"),
            ("map<string, google.protobuf.DoubleValue> a = 1;", "MAP<STRING, DOUBLE>"),
            # other messages are what they are made of
            ("google.protobuf.Any a = 1;", "STRUCT<TYPE_URL STRING, `VALUE` BYTES>"),
            ("google.protobuf.Duration a = 1;", "STRUCT<`SECONDS` BIGINT, NANOS INTEGER>"),
            ("google.protobuf.Empty a = 1;", "STRUCT< >"),
            ("N a = 1;", "STRUCT<X INTEGER>"),
            ("repeated N a = 1;", "ARRAY<STRUCT<X INTEGER>>"),
            ("repeated int32 a = 1;", "ARRAY<INTEGER>"),
            ("repeated int32 a = 1 [packed = false];", "ARRAY<INTEGER>"),
            # maps, by their shape (ProtobufData.isMapDescriptor); ConnectToSqlConverter: keys are VARCHAR
            ("map<string, int64> a = 1;", "MAP<STRING, BIGINT>"),
            ("map<int32, string> a = 1;", "MAP<STRING, STRING>"),
            ("map<bool, N> a = 1;", "MAP<STRING, STRUCT<X INTEGER>>"),
        ],
    )  # fmt: skip
    def test_it_is_a_column(self, field: str, column: str) -> None:
        text = f"{P3}{IMPORTS} message M {{ {field} }} enum E {{ Z = 0; }} message N {{ int32 x = 1; }}"
        assert protobuf.infer_columns(text).columns == parse_columns(f"A {column}")

    @pytest.mark.parametrize(
        ("name", "fields", "label", "column"),
        [
            ("LEntry", "string key = 1; int32 value = 2;", "repeated", "MAP<STRING, INT>"),
            ("LEntry", "optional string key = 1; optional int32 value = 2;", "repeated", "MAP<STRING, INT>"),
            ("Pair", "string key = 1; int32 value = 2;", "repeated", "ARRAY<STRUCT<`KEY` STRING, `VALUE` INT>>"),
            ("LEntry", "int32 value = 2; string key = 1;", "repeated", "ARRAY<STRUCT<`VALUE` INT, `KEY` STRING>>"),
            (
                "LEntry",
                "string key = 1; repeated int32 value = 2;",
                "repeated",
                "ARRAY<STRUCT<`KEY` STRING, `VALUE` ARRAY<INT>>>",
            ),
            ("LEntry", "string key = 1; int32 value = 2;", "", "STRUCT<`KEY` STRING, `VALUE` INT>"),
        ],
    )
    def test_a_map_is_told_by_its_shape(self, name: str, fields: str, label: str, column: str) -> None:
        """`ProtobufData.isMapDescriptor`: a repeated message called …Entry of a key and a value; `map_entry` is not asked."""
        text = f"{P3} message M {{ {label} {name} a = 1; message {name} {{ {fields} }} }}"
        assert protobuf.infer_columns(text).columns == parse_columns(f"A {column}")

    def test_a_map_whose_keys_are_no_text_is_dropped(self) -> None:
        """`ConnectToSqlConverter`: int, bool and string are."""
        text = f"{P3} message M {{ repeated LEntry a = 1; int32 b = 2; message LEntry {{ double key = 1; int32 value = 2; }} }}"
        inferred = protobuf.infer_columns(text)
        assert (print_columns(inferred.columns), [each.path for each in inferred.dropped]) == ("B INTEGER", ["->a"])

    def test_a_group_is_left_out(self) -> None:
        """Wire's `MessageType`, whose groups `DynamicSchema` does not take over."""
        text = f"{P2} message M {{ optional group G = 1 {{ optional int32 a = 2; }} repeated int32 b = 3; }}"
        assert _inferred(text) == "B ARRAY<INTEGER>"


class TestMessages:
    def test_oneofs_come_first_and_carry_their_number(self) -> None:
        """`ProtobufData.toConnectSchema`: `oneofDescriptor.getName() + "_" + getIndex()`."""
        text = (
            f"{P3} message M {{ int32 a = 1; oneof x {{ int32 b = 2; N c = 3; }} optional int32 d = 4; "
            "oneof y { bool e = 5; } message N { string s = 1; } }"
        )
        columns = "X_0 STRUCT<B INTEGER, C STRUCT<S STRING>>, Y_1 STRUCT<E BOOLEAN>, A INTEGER, D INTEGER"
        assert _inferred(text) == columns

    def test_fields_come_as_they_are_declared_not_by_their_numbers(self) -> None:
        assert _inferred(f"{P3} message M {{ int32 b = 9; int32 a = 1; }}") == "B INTEGER, A INTEGER"

    def test_names_are_kept_if_they_are_to_be(self) -> None:
        """`ConnectSchemaTranslationPolicy.ORIGINAL_FIELD_NAME`."""
        text = f"{P3} message M {{ int32 aB = 1; N n = 2; }} message N {{ int32 x_y = 1; }}"
        assert _inferred(text, names="keep") == "`aB` INTEGER, `n` STRUCT<`x_y` INTEGER>"

    def test_the_first_message_of_the_file_counts(self) -> None:
        text = f"{P3} package a.b; enum E {{ Z = 0; }} message M {{ int32 a = 1; }} message N {{ int32 b = 1; }}"
        assert _inferred(text) == "A INTEGER"
        assert record_name(Schema(text=text, schema_type="PROTOBUF")) == "a.b.M"
        assert field_names(Schema(text=text, schema_type="PROTOBUF")) == ("a",)

    def test_a_message_in_itself_is_refused(self) -> None:
        """ksqlDB overflows its stack."""
        with pytest.raises(ColumnError, match=r"nests deeper than 64 levels at .*; is it recursive\?"):
            protobuf.infer_columns(f"{P3} message M {{ int32 a = 1; M m = 2; }}")

    def test_two_fields_of_one_name_are_refused(self) -> None:
        """`SchemaBuilder.field`."""
        with pytest.raises(SchemaError, match="o_0"):
            protobuf.infer_columns(f"{P3} message M {{ int32 o_0 = 1; oneof o {{ int32 a = 2; int32 b = 3; }} }}")

    def test_a_schema_without_columns_is_refused(self) -> None:
        with pytest.raises(
            ColumnError, match=r"^The schema does not include any columns with types that ksqlDB supports\.$"
        ):
            protobuf.infer_columns(f"{P3} message M {{ }}")

    def test_what_it_imports_is_known_by_the_references_names(self) -> None:
        """`ProtobufSchema.dependencies`."""
        other = ReferenceText(f"{P3} package o; message O {{ int32 x = 1; }}", name="some/other.proto")
        text = f'{P3} import "some/other.proto"; message M {{ o.O a = 1; }}'
        assert _inferred(text, references=(other,)) == "A STRUCT<X INTEGER>"
        with pytest.raises(SchemaError, match=r'Import "some/other\.proto" was not found'):
            protobuf.infer_columns(text)

    def test_only_what_the_registry_knows_is_imported_without_a_reference(self) -> None:
        """`ProtobufSchema.KNOWN_DEPENDENCIES`; other files stand beside `google/type` where packages are installed."""
        assert _inferred(f'{P3} import "google/type/money.proto"; message M {{ google.type.Money a = 1; }}')
        with pytest.raises(SchemaError, match=r"File not found .*google/api/visibility\.proto"):
            protobuf.infer_columns(f'{P3} import "google/api/visibility.proto"; message M {{ int32 a = 1; }}')

    @pytest.mark.parametrize(
        "text",
        [
            "message M { optional int32 a = 1; }",  # proto2, as protoc takes it
            "// first\n\nmessage M { required int32 a = 1; }",
            'edition = "2023"; message M { int32 a = 1; }',
            'edition = "2024"; export message M { int32 a = 1; } local message N {}',
            "/* syntax */ syntax = 'proto3' ; message M { int32 a = 1; }",
        ],
    )
    def test_every_syntax_is_read(self, text: str) -> None:
        assert _inferred(text) == "A INTEGER"

    def test_an_edition_of_a_later_protoc_is_refused(self) -> None:
        with pytest.raises(
            SchemaError, match=r"Edition 2026 is later than .* Upgrade grpcio-tools, which compiles schemas\.$"
        ):
            protobuf.check_schema('edition = "2026"; message M { int32 a = 1; }')

    def test_a_reader_has_no_schema_of_its_own(self) -> None:
        assert schema_module_of(Format.PROTOBUF).has_hints(f"{P3} message M {{ }}") is False

    def test_a_refusal_says_the_line_and_at_most_five_problems(self) -> None:
        text = (
            f"{P3}\nmessage M {{\n"
            + "\n".join(f"  Nope{number} a{number} = {number + 1};" for number in range(7))
            + "\n}"
        )
        with pytest.raises(SchemaError, match=re.escape('"Nope0" is not defined (line 3)')) as raised:
            protobuf.check_schema(text)
        assert str(raised.value).endswith("; and 2 more.")


class TestNamedMessage:
    """`ProtobufSchemaTranslator.withSchemaFullName`."""

    TEXT = f"{P3} package p; message A {{ int32 a = 1; message N {{ bool n = 1; }} }} message B {{ string b = 1; }}"

    LIKE_KSQLDB = (
        f'{P3} package a.b; import "google/protobuf/timestamp.proto"; import "google/protobuf/duration.proto"; message A {{ '
        "message I { int32 i = 1; } } message B { message Timestamp { int32 own = 1; } } message Duration { int32 own = 1; } "
        "enum E { Z = 0; }"
    )

    @pytest.mark.parametrize(
        ("text", "name", "expected"),
        [
            (TEXT, None, "A INTEGER"),
            (TEXT, "p.A", "A INTEGER"),
            (TEXT, "p.A.N", "N BOOLEAN"),
            (TEXT, "p.B", "B STRING"),
            (LIKE_KSQLDB, "A.I", "I INTEGER"),
            (LIKE_KSQLDB, "B.Timestamp", "OWN INTEGER"),
            (LIKE_KSQLDB, "Timestamp", "`SECONDS` BIGINT, NANOS INTEGER"),
            (LIKE_KSQLDB, "google.protobuf.Timestamp", "`SECONDS` BIGINT, NANOS INTEGER"),
            (LIKE_KSQLDB, "a.b.Duration", "OWN INTEGER"),
            (LIKE_KSQLDB, "google.protobuf.Duration", "`SECONDS` BIGINT, NANOS INTEGER"),
        ],
    )
    def test_its_columns_are_inferred_with_its_package_or_without(
        self, text: str, name: str | None, expected: str
    ) -> None:
        assert print_columns(columns_from_protobuf(text, full_name=name)) == expected

    @pytest.mark.parametrize(
        "name", ["I", "b.A", ".a.b.A", "a", "protobuf.Timestamp", "E", "a.b.E", "Duration", "Any", ""]
    )
    def test_any_other_is_refused(self, name: str) -> None:
        with pytest.raises(SchemaError, match=r"Name one that it has \(a\.b\.A, a\.b\.A\.I, a\.b\.B"):
            columns_from_protobuf(self.LIKE_KSQLDB, full_name=name)

    def test_without_its_package_comes_before_with_it(self) -> None:
        text = f"{P3} package A; message B {{ int32 outer = 1; }} message A {{ message B {{ int32 inner = 1; }} }}"
        assert print_columns(columns_from_protobuf(text, full_name="A.B")) == "`INNER` INTEGER"
