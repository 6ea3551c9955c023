"""The Protobuf schemas that ksqlDB registers, to the letter: `ProtobufData.fromConnectSchema`, printed by
`ProtobufSchema.canonicalString`. No generation prints another text."""

from __future__ import annotations

import pytest
from hypothesis import given

from srfix.serde import ColumnError, Columns, Role, SchemaError, parse_columns
from srfix.serde.columns.types import Array, ColumnType, Map, Struct
from srfix.serde.formats.protobuf import format as protobuf
from srfix.serde.specs import NullableRepresentation, WriteSpec
from tests.strategies import avro_columns

_HEAD = 'syntax = "proto3";\n\n'


def _text(
    columns: str, nullable: NullableRepresentation | None = None, full_name: str | None = None, role: Role = Role.VALUE
) -> str:
    spec = WriteSpec(columns=parse_columns(columns), nullable_representation=nullable, full_name=full_name, wrap=True)
    return protobuf.internal_schema(spec, role)


def _file(*lines: str, imports: tuple[str, ...] = ()) -> str:
    imported = "".join(f'import "{name}.proto";\n' for name in imports)
    return _HEAD + imported + ("\n" if imports else "") + "\n".join(("message ConnectDefault1 {", *lines, "}", ""))


_DIGITS = (
    " [(confluent.field_meta) = {", "    params: [", "      {", '        value: "6",', '        key: "precision"', "      },",
    "      {", '        value: "2",', '        key: "scale"', "      }", "    ]", "  }];",
)  # fmt: skip
_DECIMAL, _DATE, _TIME = "confluent/type/decimal", "google/type/date", "google/type/timeofday"
_TIMESTAMP, _WRAPPERS = "google/protobuf/timestamp", "google/protobuf/wrappers"


class TestTypes:
    @pytest.mark.parametrize(
        ("column", "lines", "imports"),
        [
            ("BOOLEAN", ("  bool A = 1;",), ()),
            ("INTEGER", ("  int32 A = 1;",), ()),
            ("BIGINT", ("  int64 A = 1;",), ()),
            ("DOUBLE", ("  double A = 1;",), ()),
            ("STRING", ("  string A = 1;",), ()),
            ("BYTES", ("  bytes A = 1;",), ()),
            ("DATE", ("  google.type.Date A = 1;",), (_DATE,)),
            ("TIME", ("  google.type.TimeOfDay A = 1;",), (_TIME,)),
            ("TIMESTAMP", ("  google.protobuf.Timestamp A = 1;",), (_TIMESTAMP,)),
            ("DECIMAL(6, 2)", (f"  confluent.type.Decimal A = 1{_DIGITS[0]}", *_DIGITS[1:]), (_DECIMAL,)),
            ("ARRAY<STRING>", ("  repeated string A = 1;",), ()),
            (
                "ARRAY<DECIMAL(6, 2)>",
                (f"  repeated confluent.type.Decimal A = 1{_DIGITS[0]}", *_DIGITS[1:]),
                (_DECIMAL,),
            ),
            (
                "STRUCT<X INT>",
                ("  ConnectDefault2 A = 1;", "", "  message ConnectDefault2 {", "    int32 X = 1;", "  }"),
                (),
            ),
            ("STRUCT< >", ("  ConnectDefault2 A = 1;", "", "  message ConnectDefault2 {}"), ()),
            (
                "MAP<STRING, INT>",
                (
                    "  repeated ConnectDefault2Entry A = 1;",
                    "",
                    "  message ConnectDefault2Entry {",
                    "    string key = 1;",
                    "    int32 value = 2;",
                    "  }",
                ),
                (),
            ),
            (  # the digits are not an entry's
                "MAP<STRING, DECIMAL(6, 2)>",
                (
                    "  repeated ConnectDefault2Entry A = 1;",
                    "",
                    "  message ConnectDefault2Entry {",
                    "    string key = 1;",
                    "    confluent.type.Decimal value = 2;",
                    "  }",
                ),
                (_DECIMAL,),
            ),
            (  # the line between fields and messages is as far in as the message
                "STRUCT<X STRUCT<Y INT>>",
                (
                    "  ConnectDefault2 A = 1;",
                    "",
                    "  message ConnectDefault2 {",
                    "    ConnectDefault3 X = 1;",
                    "  ",
                    "    message ConnectDefault3 {",
                    "      int32 Y = 1;",
                    "    }",
                    "  }",
                ),
                (),
            ),
        ],
    )
    def test_a_column_is_a_field(self, column: str, lines: tuple[str, ...], imports: tuple[str, ...]) -> None:
        assert _text(f"A {column}") == _file(*lines, imports=imports)

    def test_structs_and_maps_are_counted_as_they_come(self) -> None:
        """One counter for all that has no name; equal STRUCTs are two messages."""
        text = _text("A STRUCT<X INT>, B MAP<STRING, STRUCT<X INT>>, C ARRAY<STRUCT<X INT>>")
        assert text == _file(
            "  ConnectDefault2 A = 1;",
            "  repeated ConnectDefault3Entry B = 2;",
            "  repeated ConnectDefault5 C = 3;",
            "",
            "  message ConnectDefault2 {",
            "    int32 X = 1;",
            "  }",
            "  message ConnectDefault3Entry {",
            "    string key = 1;",
            "    ConnectDefault4 value = 2;",
            "  ",
            "    message ConnectDefault4 {",
            "      int32 X = 1;",
            "    }",
            "  }",
            "  message ConnectDefault5 {",
            "    int32 X = 1;",
            "  }",
        )

    def test_imports_come_in_the_order_of_their_need_each_once(self) -> None:
        text = _text("A TIME, B STRUCT<X DATE, Y TIME>, C TIMESTAMP, D DATE, E DECIMAL(4, 0)")
        assert [line for line in text.splitlines() if line.startswith("import")] == [
            f'import "{name}.proto";' for name in (_TIME, _DATE, _TIMESTAMP, _DECIMAL)
        ]

    @pytest.mark.parametrize(
        "column", ["ARRAY<MAP<STRING, INT>>", "MAP<STRING, ARRAY<INT>>", "MAP<STRING, MAP<STRING, INT>>"]
    )
    def test_what_says_another_type_is_registered_as_there_and_takes_no_row_under_our_rules(self, column: str) -> None:
        columns = parse_columns(f"A {column}")
        text = protobuf.internal_schema(WriteSpec(columns=columns))
        protobuf.check_schema(text)
        if column.startswith("ARRAY"):
            assert text == _text("A MAP<STRING, INT>")
        with pytest.raises(SchemaError, match=r"Declare the column with the schema's type\.$"):
            protobuf.encoder(text, WriteSpec(columns=columns))


class TestNullableRepresentation:
    """`optional.for.nullables`, `wrapper.for.nullables`."""

    _COLUMNS = "A INT, B ARRAY<INT>, C MAP<STRING, BIGINT>, D DATE, E STRUCT<X STRING>"

    def test_optional_marks_every_field_but_lists_and_what_is_in_entries(self) -> None:
        assert _text(self._COLUMNS, "optional") == _file(
            "  optional int32 A = 1;",
            "  repeated int32 B = 2;",
            "  repeated ConnectDefault2Entry C = 3;",
            "  optional google.type.Date D = 4;",
            "  optional ConnectDefault3 E = 5;",
            "",
            "  message ConnectDefault2Entry {",
            "    string key = 1;",
            "    int64 value = 2;",
            "  }",
            "  message ConnectDefault3 {",
            "    optional string X = 1;",
            "  }",
            imports=(_DATE,),
        )

    def test_wrapper_holds_scalars_in_messages_in_lists_and_entries_too(self) -> None:
        assert _text(self._COLUMNS, "wrapper") == _file(
            "  google.protobuf.Int32Value A = 1;",
            "  repeated google.protobuf.Int32Value B = 2;",
            "  repeated ConnectDefault2Entry C = 3;",
            "  google.type.Date D = 4;",
            "  ConnectDefault3 E = 5;",
            "",
            "  message ConnectDefault2Entry {",
            "    google.protobuf.StringValue key = 1;",
            "    google.protobuf.Int64Value value = 2;",
            "  }",
            "  message ConnectDefault3 {",
            "    google.protobuf.StringValue X = 1;",
            "  }",
            imports=(_WRAPPERS, _DATE),
        )

    @pytest.mark.parametrize(
        ("column", "word"),
        [("BOOLEAN", "Bool"), ("BIGINT", "Int64"), ("DOUBLE", "Double"), ("BYTES", "Bytes")],
    )
    def test_each_scalar_has_its_wrapper(self, column: str, word: str) -> None:
        assert f"google.protobuf.{word}Value A = 1;" in _text(f"A {column}", "wrapper")


class TestNames:
    def test_a_full_name_is_package_and_message(self) -> None:
        """The first number is the first unnamed STRUCT's then."""
        assert _text("A STRUCT<X INT>", full_name="a.b.C") == (
            'syntax = "proto3";\npackage a.b;\n\nmessage C {\n  ConnectDefault1 A = 1;\n\n  message ConnectDefault1 {\n'
            "    int32 X = 1;\n  }\n}\n"
        )
        assert _text("A INT", full_name="C") == 'syntax = "proto3";\n\nmessage C {\n  int32 A = 1;\n}\n'

    @pytest.mark.parametrize("name", ["", "  ", "ConnectDefault9", " ConnectDefaultX "])
    def test_ksqldbs_own_name_does_not_count(self, name: str) -> None:
        """`ProtobufSchemaTranslator.ignoreDefaultName`."""
        assert _text("A INT", full_name=name) == _text("A INT")

    @pytest.mark.parametrize("name", ["a b", "a.", ".a", "1a", "é", "a..b", "a-b"])
    def test_a_full_name_is_a_name(self, name: str) -> None:
        with pytest.raises(ColumnError, match=r"^full_name is .*, which is not a name of a Protobuf message"):
            _text("A INT", full_name=name)

    @pytest.mark.parametrize("name", ["_a", "a1", "message", "repeated", "int32", "A_B", "self"])
    def test_a_column_may_have_any_name_of_letters_digits_and_underscores(self, name: str) -> None:
        text = _text(f"`{name}` INT")
        assert f"  int32 {name} = 1;" in text
        protobuf.check_schema(text)

    @pytest.mark.parametrize("name", ["with space", "1a", "é", "a$b", "a.b", "a-b", ""])
    def test_no_other(self, name: str) -> None:
        """`Descriptors.DescriptorValidationException`: `"with space" is not a valid identifier.`"""
        for columns in (f"`{name}` INT", f"A STRUCT<`{name}` INT>"):
            with pytest.raises(ColumnError):
                _text(columns)

    def test_a_struct_that_would_have_its_fields_name_is_called_message(self) -> None:
        text = _text("`ConnectDefault2` STRUCT<X INT>")
        assert "  ConnectDefault2Message ConnectDefault2 = 1;" in text
        protobuf.check_schema(text)


class TestRefused:
    @pytest.mark.parametrize(
        ("columns", "words"),
        [
            (
                "A ARRAY<ARRAY<INT>>",
                r"^Array cannot be nested: Protobuf has no ARRAY<ARRAY<INTEGER>>\. Put a STRUCT between\.$",
            ),
            ("A MAP<INT, INT>", r"^Protobuf only supports MAPs with STRING keys: "),
            ("A STRUCT<X MAP<BIGINT, INT>>", r"MAPs with STRING keys"),
        ],
    )
    def test_types(self, columns: str, words: str) -> None:
        with pytest.raises(ColumnError, match=words):
            _text(columns)

    def test_a_key_holds_no_map(self) -> None:
        with pytest.raises(ColumnError, match=r"^Map keys, including types that contain maps"):
            _text("A STRUCT<M MAP<STRING, INT>>", role=Role.KEY)


def _is_held(type_: ColumnType, within: str = "") -> bool:
    """Whether Protobuf has the type."""
    match type_:
        case Array(items):
            return within == "" and not isinstance(items, Array | Map) and _is_held(items, "ARRAY")
        case Map(values):
            return within == "" and not isinstance(values, Array | Map) and _is_held(values, "MAP")
        case Struct(fields):
            return bool(fields) and all(_is_held(field.type) for field in fields)
    return True


class TestEveryColumn:
    @given(avro_columns.filter(lambda columns: all(_is_held(column.type) for column in columns)))
    def test_protoc_takes_the_text_and_the_columns_come_back(self, columns: Columns) -> None:
        for nullable in (None, "optional", "wrapper"):
            text = protobuf.internal_schema(WriteSpec(columns=columns, nullable_representation=nullable))
            inferred = protobuf.infer_columns(text, names="keep").columns
            assert _digitless(inferred) == _digitless(columns)


def _digitless(columns: Columns) -> str:
    """Without the digits of decimals in maps, which the text does not have."""
    import re

    from srfix.serde import print_columns

    return re.sub(r"DECIMAL\(\d+, \d+\)", "DECIMAL", print_columns(columns))
