"""Columns inferred from Avro, rule by rule: `AvroData`, then `ConnectKsqlSchemaTranslator`, and the classes that each names."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from srfix.serde import Column, ColumnError, Columns, Generation, Role, SchemaError, WrittenBy, columns_from_avro
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
from srfix.serde.connect.columns import Dropped
from srfix.serde.formats.avro.format import infer_columns as infer_avro
from srfix.serde.formats.avro.internal_schema import internal_schema
from srfix.serde.specs import WriteSpec
from tests.serde import avro_schemas as avro
from tests.strategies import avro_columns


def _record(*types: object) -> str:
    return json.dumps(avro.numbered(*types) | {"namespace": "n"})


def _entries(key: object, value: object, **properties: object) -> object:
    return avro.array(avro.record("E", key=key, value=value) | properties)


def _named(name: str) -> dict[str, object]:
    return avro.record(name, x="int")


ENTRY = {"connect.internal.type": "MapEntry"}
DECIMAL_NAME = "org.apache.kafka.connect.data.Decimal"
DATE_NAME = "org.apache.kafka.connect.data.Date"
STRUCT_X = Struct((Column("X", INTEGER),))


class TestTheTypeOfAField:
    @pytest.mark.parametrize(
        ("schema", "type_"),
        [
            pytest.param("boolean", BOOLEAN, id="ConnectKsqlSchemaTranslator-boolean"),
            pytest.param("int", INTEGER, id="ConnectKsqlSchemaTranslator-int32"),
            pytest.param({"type": "int", "connect.type": "int8"}, INTEGER, id="ConnectKsqlSchemaTranslator-int8"),
            pytest.param({"type": "int", "connect.type": "int16"}, INTEGER, id="ConnectKsqlSchemaTranslator-int16"),
            pytest.param("long", BIGINT, id="ConnectKsqlSchemaTranslator-int64"),
            pytest.param("float", DOUBLE, id="ConnectKsqlSchemaTranslator-float32"),
            pytest.param("double", DOUBLE, id="ConnectKsqlSchemaTranslator-float64"),
            pytest.param("string", STRING, id="ConnectKsqlSchemaTranslator-string"),
            pytest.param("bytes", BYTES, id="ConnectKsqlSchemaTranslator-bytes"),
            pytest.param(["null", "int"], INTEGER, id="AvroData-null-first"),
            pytest.param(["int", "null"], INTEGER, id="AvroData-null-last"),
            pytest.param(["int"], INTEGER, id="AvroData-union-of-one-is-flattened"),
            pytest.param({"type": "string", "avro.java.string": "String"}, STRING, id="AvroData-avro-property"),
            pytest.param(avro.UUID, STRING, id="AvroData-uuid-ignored"),
            pytest.param(avro.enum("A"), STRING, id="AvroData-enum"),
            pytest.param(avro.fixed(4), BYTES, id="AvroData-fixed"),
            pytest.param(avro.DATE, DATE, id="AvroData-date"),
            pytest.param(avro.logical("int", "DATE"), DATE, id="AvroData-logical-type-ignoring-case"),
            pytest.param(avro.TIME_MILLIS, TIME, id="AvroData-time-millis"),
            pytest.param(avro.logical("int", "week"), INTEGER, id="AvroData-unknown-on-int"),
            pytest.param(
                avro.logical("int", "week", **{"connect.type": "int24"}), INTEGER, id="AvroData-logical-first"
            ),
            pytest.param(avro.MILLIS, TIMESTAMP, id="AvroData-timestamp-millis"),
            pytest.param(avro.MICROS, BIGINT, id="AvroData-micros-ignored"),
            pytest.param(avro.logical("long", "time-micros"), BIGINT, id="AvroData-time-micros-ignored"),
            pytest.param(avro.logical("long", "local-timestamp-millis"), BIGINT, id="AvroData-local-timestamp-ignored"),
            pytest.param(avro.logical("long", "date"), BIGINT, id="AvroData-date-on-long-ignored"),
            pytest.param({"type": "int", "connect.name": DATE_NAME}, DATE, id="AvroData-connect-name"),
            pytest.param({"type": "long", "connect.name": DATE_NAME}, BIGINT, id="Translator-name-of-another-type"),
            pytest.param(avro.decimal(4, 2), Decimal(4, 2), id="AvroData-decimal"),
            pytest.param(avro.logical("bytes", "decimal"), Decimal(64, 0), id="DecimalUtil-no-precision"),
            pytest.param(avro.decimal(64, 1), Decimal(64, 1), id="AvroData-default-precision"),
            pytest.param(avro.decimal(6, 2, avro.fixed(4)), Decimal(6, 2), id="AvroData-decimal-on-fixed"),
            pytest.param(
                {
                    "type": "bytes",
                    "connect.name": DECIMAL_NAME,
                    "connect.version": 1,
                    "connect.parameters": {"scale": "3", "connect.decimal.precision": "9"},
                },
                Decimal(9, 3),
                id="AvroData-decimal-by-connect-properties",
            ),
            pytest.param(avro.array(["null", "long"]), Array(BIGINT), id="AvroData-array"),
            pytest.param(avro.map_of("string"), Map(STRING), id="AvroData-map"),
            pytest.param(_entries(["null", "string"], ["null", "int"], **ENTRY), Map(INTEGER), id="AvroData-entries"),
            *(
                pytest.param(
                    _entries(key, "int", **ENTRY), Map(INTEGER), id=f"ConnectKsqlSchemaTranslator-{of_it}-keys"
                )
                for of_it, key in {
                    "int": "int",
                    "long": "long",
                    "boolean": "boolean",
                    "int8": {"type": "int", "connect.type": "int8"},
                    "date, that is int32": avro.DATE,
                }.items()
            ),
            pytest.param(
                _entries("string", "int"),
                Array(Struct((Column("KEY", STRING), Column("VALUE", INTEGER)))),
                id="AvroData-no-mark-no-map",
            ),
            pytest.param(
                ["null", "int", "string"],
                Struct((Column("INT", INTEGER), Column("STRING", STRING))),
                id="AvroData-union",
            ),
            pytest.param(
                avro.array(["long", avro.array("int")]),
                Array(Struct((Column("LONG", BIGINT), Column("ARRAY", Array(INTEGER))))),
                id="AvroData-union-in-an-array",
            ),
            pytest.param(
                [_named("a.b.Left"), _named("Right"), avro.enum("A", name="Kind")],
                Struct((Column("LEFT", STRUCT_X), Column("RIGHT", STRUCT_X), Column("KIND", STRING))),
                id="AvroData-unionMemberFieldName-without-namespace",
            ),
        ],
    )
    def test_it_is_what_the_engine_makes_of_it(self, schema: object, type_: ColumnType) -> None:
        assert infer_avro(_record(schema)).columns == (Column("F0", type_),)

    def test_a_named_type_can_be_used_twice(self) -> None:
        columns = columns_from_avro(_record(_named("Inner"), ["null", "Inner"]))
        assert columns == (Column("F0", STRUCT_X), Column("F1", STRUCT_X))


class TestWhatIsDropped:
    """ConnectKsqlSchemaTranslator: an unsupported type drops the innermost field that holds it."""

    @pytest.mark.parametrize(
        ("key", "word"),
        [
            ("float", "float64"),
            ("double", "float64"),
            ("bytes", "bytes"),
            (avro.decimal(4, 0), "bytes"),
            (_named("K"), "struct"),
            (avro.array("string"), "array"),
            (avro.map_of("string"), "map"),
        ],
    )
    def test_maps_with_other_keys(self, key: object, word: str) -> None:
        inferred = infer_avro(_record("int", _entries(key, "int", **ENTRY)))
        assert inferred.columns == (Column("F0", INTEGER),)
        assert inferred.dropped == (Dropped("->f1", f"Unsupported type for map key: {word}"),)

    def test_a_field_of_a_struct_in_an_array_and_nothing_else_of_it(self) -> None:
        inner = avro.record("Inner", bad=_entries("float", "int", **ENTRY), good="int")
        inferred = infer_avro(_record({"type": "array", "items": inner}))
        assert inferred.columns == (Column("F0", Array(Struct((Column("GOOD", INTEGER),)))),)
        assert inferred.dropped == (Dropped("->f0->ARRAY->bad", "Unsupported type for map key: float64"),)

    def test_the_whole_field_when_the_type_is_below_arrays_and_maps_only(self) -> None:
        nested = {"type": "map", "values": {"type": "array", "items": _entries("float", "int", **ENTRY)}}
        assert infer_avro(_record("int", nested)).dropped == (Dropped("->f1", "Unsupported type for map key: float64"),)

    def test_a_name_that_a_dropped_field_would_take_is_free(self) -> None:
        text = json.dumps(avro.record(a=_entries("float", "int", **ENTRY), A="int"))
        assert infer_avro(text).columns == (Column("A", INTEGER),)

    def test_no_columns_left_is_an_error_that_says_why(self) -> None:
        with pytest.raises(ColumnError, match=r"f0: Unsupported type for map key: float64\.$"):
            infer_avro(_record(_entries("float", "int", **ENTRY)))

    def test_a_record_without_fields_has_no_columns(self) -> None:
        with pytest.raises(ColumnError, match=r"^The schema does not include any columns"):
            infer_avro(_record())


class TestWhatIsRefused:
    """AvroData's DataException: the whole schema, whatever else is in it."""

    @pytest.mark.parametrize(
        ("schema", "message"),
        [
            ("null", r"^Standalone null schemas are not supported"),
            (avro.map_of("null"), r"^Standalone null schemas are not supported"),
            (["null"], r"^Standalone null schemas are not supported"),
            (["int", _named("a.X"), _named("b.X")], r"^Multiple union schemas map to .* field name 'X'"),
            (avro.array({**_named("E"), **ENTRY}), r"n\.E has the fields x, not key and value\.$"),
            ({"type": "int", "connect.type": "int24"}, r"^The connect\.type of an int must be int8 or int16"),
            (
                avro.DATE | {"connect.version": 2},
                r"^Mismatched versions: the logical type .*\.Date has the version 1, but",
            ),
            (avro.DATE | {"connect.name": "x.Y"}, r"^Mismatched names: .*\.Date, but connect\.name gives x\.Y\."),
            ({"type": "int", "connect.version": "1"}, r"^Invalid Connect version found: '1'\."),
            ({"type": "int", "connect.name": 7}, r"^Invalid schema name: 7\."),
            ({"type": "int", "connect.parameters": ["x"]}, r"^Expected an object as connect\.parameters"),
            ({"type": "int", "connect.parameters": {"x": 1}}, r"^Expected texts as values of connect\.parameters"),
        ],
    )
    def test_by_connect(self, schema: object, message: str) -> None:
        with pytest.raises(SchemaError, match=message):
            infer_avro(_record("int", schema))

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({}, r"^The field f0 is a decimal whose parameter 'scale' is missing\."),
            ({"scale": "x"}, r"^The field f0 is a decimal whose parameter 'scale' is 'x', not a number\."),
            ({"scale": "5", "connect.decimal.precision": "4"}, r"^The field f0: DECIMAL\(4, 5\) is not a type"),
            ({"scale": "-1"}, r"^The field f0: DECIMAL\(64, -1\) is not a type"),
        ],
    )
    def test_a_decimal_that_is_none(self, parameters: object, message: str) -> None:
        """DecimalUtil.scale, DecimalUtil.precision, SqlDecimal.validateParameters."""
        with pytest.raises(ColumnError, match=message):
            infer_avro(_record({"type": "bytes", "connect.name": DECIMAL_NAME, "connect.parameters": parameters}))

    def test_a_recursive_schema(self) -> None:
        """The engine overflows its stack."""
        with pytest.raises(ColumnError, match=r"deeper than 64 levels at f0->f0->.*is it recursive"):
            infer_avro(_record(["null", "R"]))

    def test_two_fields_that_meet_in_upper_case(self) -> None:
        """SchemaBuilder: Cannot create field because of field name duplication."""
        text = json.dumps(avro.record(foo="int", FOO="int"))
        with pytest.raises(ColumnError, match=r"^Two fields of the schema become the column 'FOO'"):
            infer_avro(text)
        assert [column.name for column in columns_from_avro(text, names="keep")] == ["foo", "FOO"]

    def test_a_schema_that_multiplies(self) -> None:
        schema = avro.record("L0", a="int")
        for level in range(1, 30):
            schema = avro.record(f"L{level}", x=schema, y=f"L{level - 1}")
        with pytest.raises(SchemaError, match=r"nested types expand to more than 100,000 parts"):
            infer_avro(json.dumps(schema))

    def test_a_schema_that_multiplies_through_arrays(self) -> None:
        schema = avro.record("L0", a="int")
        for level in range(1, 25):
            schema = avro.record(f"L{level}", x=avro.array(schema), y=avro.array(f"L{level - 1}"))
        with pytest.raises(ColumnError, match=r"^The schema has more than 10,000 fields"):
            infer_avro(json.dumps(schema))

    @pytest.mark.parametrize("text", ["", "{", "[]x", '{"type": "record"}', '"nonsense"', "7", "null", '{"type": {}}'])
    def test_what_is_no_avro_schema(self, text: str) -> None:
        with pytest.raises(SchemaError, match=r"^The schema text is not "):
            infer_avro(text)


class TestTheRoot:
    def test_names_can_be_kept(self) -> None:
        """SchemaTranslationPolicy.ORIGINAL_FIELD_NAME, which KEY_SCHEMA_ID and VALUE_SCHEMA_ID mean."""
        assert infer_avro(_record("int"), names="keep").columns == (Column("f0", INTEGER),)

    @pytest.mark.parametrize("text", ['"string"', '["null", "string"]', '{"type": "map", "values": "int"}'])
    def test_a_bare_type_is_refused_unless_it_is_said_to_be_unwrapped(self, text: str) -> None:
        """ConnectFormatSchemaTranslator.toColumns."""
        with pytest.raises(ColumnError, match=r"inferred from a record, but the schema is a bare "):
            infer_avro(text)

    @pytest.mark.parametrize(("role", "name"), [(Role.KEY, "ROWKEY"), (Role.VALUE, "ROWVAL")])
    def test_an_unwrapped_one_is_one_column(self, role: Role, name: str) -> None:
        """SerdeUtils.wrapSingle."""
        assert infer_avro('"string"', role=role, wrapped=False).columns == (Column(name, STRING),)

    def test_an_unwrapped_record_is_a_struct(self) -> None:
        """DefaultSchemaInjector: keys are inferred un-wrapped, whatever they are."""
        inferred = infer_avro(_record("int"), role=Role.KEY, wrapped=False)
        assert inferred.columns == (Column("ROWKEY", Struct((Column("F0", INTEGER),))),)

    def test_a_nullable_record_is_a_record(self) -> None:
        assert infer_avro(json.dumps(["null", json.loads(_record("int"))])).columns == (Column("F0", INTEGER),)

    def test_a_union_of_records_has_a_column_for_each(self) -> None:
        text = json.dumps([json.loads(_record("int")), _named("Other")])
        assert [column.name for column in infer_avro(text).columns] == ["R", "OTHER"]


class TestTheInternalSchema:
    @given(avro_columns)
    def test_is_undone(self, declared: Columns) -> None:
        assert columns_from_avro(internal_schema(WriteSpec(columns=declared)), names="keep") == declared

    @given(avro_columns)
    def test_with_connects_properties_is_undone(self, declared: Columns) -> None:
        text = internal_schema(
            WriteSpec(columns=declared, generation=Generation.FROM_0_29, written_by=WrittenBy.CREATE)
        )
        assert columns_from_avro(text, names="keep") == declared


class TestDigits:
    def test_a_decimal_of_more_digits_than_an_int_counts_is_refused(self) -> None:
        schema = avro.record(a=avro.decimal(10**400, 0))
        with pytest.raises(ColumnError, match=r"^The field a: A DECIMAL has at most 2,147,483,647 digits"):
            infer_avro(json.dumps(schema))
