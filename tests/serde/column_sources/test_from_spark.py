"""Columns of a Spark schema and back.

The JSON texts are what `StructType.json()` of Spark 4.2 writes (sorted keys); `StructType.jsonValue()` gives the same.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given

from srfix.serde.column_sources.from_spark import columns_from_spark, spark_schema
from srfix.serde.columns.text import parse_columns, print_columns
from srfix.serde.columns.types import DATE, INTEGER, MAX_NESTING, STRING, TIME, Column, Columns, Decimal, Map
from srfix.serde.errors import ColumnError, SchemaError
from tests.strategies import columns


def struct(*types: object, nullable: bool = True) -> dict[str, object]:
    fields = [
        {"metadata": {}, "name": f"f{number}", "nullable": nullable, "type": type_}
        for number, type_ in enumerate(types)
    ]
    return {"fields": fields, "type": "struct"}


def array(items: object) -> dict[str, object]:
    return {"containsNull": False, "elementType": items, "type": "array"}


def map_(keys: object, values: object) -> dict[str, object]:
    return {"keyType": keys, "type": "map", "valueContainsNull": True, "valueType": values}


class TestColumnsFromSpark:
    @pytest.mark.parametrize(
        ("spark", "type_"),
        [
            ("boolean", "BOOLEAN"),
            ("byte", "INTEGER"),
            ("short", "INTEGER"),
            ("integer", "INTEGER"),
            ("long", "BIGINT"),
            ("float", "DOUBLE"),
            ("double", "DOUBLE"),
            ("string", "STRING"),
            ("char(3)", "STRING"),
            ("varchar(5)", "STRING"),
            ("binary", "BYTES"),
            ("date", "DATE"),
            ("timestamp", "TIMESTAMP"),
            ("timestamp_ntz", "TIMESTAMP_NTZ"),
            ("decimal(10,2)", "DECIMAL(10, 2)"),
            ("decimal(38, 38)", "DECIMAL(38, 38)"),
            ("decimal", "DECIMAL(10, 0)"),
            (array(array("long")), "ARRAY<ARRAY<BIGINT>>"),
            (map_("string", "short"), "MAP<STRING, INTEGER>"),
            (struct("string", struct()), "STRUCT<F0 STRING, F1 STRUCT< >>"),
        ],
    )
    def test_it_knows_each_type(self, spark: object, type_: str) -> None:
        assert columns_from_spark(struct(spark, nullable=False)) == parse_columns(f"F0 {type_}")

    @pytest.mark.parametrize(
        ("spark", "message"),
        [
            ("time(6)", r"^The field f0 is Spark's time\(6\), which fits no column type\. Cast it or"),
            ("void", r"^The field f0 is Spark's void, which"),
            ("variant", r"^The field f0 is Spark's variant, which"),
            ("interval day to second", r"^The field f0 is Spark's interval day to second, which"),
            ({"type": "udt", "pyClass": "x", "sqlType": "string"}, r"^The field f0 is Spark's udt, which"),
            (7, r"^The field f0 is Spark's 7, which"),
            (array("void"), r"^The field f0->ARRAY is Spark's void, which"),
            (map_("string", struct("void")), r"^The field f0->MAP_VAL->f0 is Spark's void, which"),
            (map_("integer", "string"), r"^The field f0 is a map with keys of integer; they must be string\.$"),
            (map_(struct(), "string"), r"^The field f0 is a map with keys of struct; they must be string\.$"),
            ("decimal(5,-2)", r"^The field f0: DECIMAL\(5, -2\) is not a type: "),
        ],
    )
    def test_what_fits_no_column_is_refused_with_its_path(self, spark: object, message: str) -> None:
        with pytest.raises(ColumnError, match=message):
            columns_from_spark(struct(spark))

    def test_names_are_upper_case_or_kept(self) -> None:
        schema = {"type": "struct", "fields": [{"name": "aB", "type": "long"}, {"name": "AB", "type": "long"}]}
        assert print_columns(columns_from_spark(schema, names="keep")) == "`aB` BIGINT, AB BIGINT"
        with pytest.raises(ColumnError, match=r"become the column 'AB': 'aB' and 'AB'"):
            columns_from_spark(schema)

    def test_the_objects_of_spark_are_taken_by_their_json(self) -> None:
        class StructType:
            def jsonValue(self) -> dict[str, object]:
                return struct("date")

        assert columns_from_spark(StructType()) == (Column("F0", DATE),)
        assert columns_from_spark(json.dumps(struct("date"))) == (Column("F0", DATE),)

    def test_pyspark_is_not_imported_for_it(self) -> None:
        # In a process of its own: another test of this one may have imported it.
        code = (
            "import sys; from srfix.serde import columns_from_spark; "
            f"columns_from_spark({json.dumps(struct('date'))!r}); sys.exit('pyspark' in sys.modules)"
        )
        subprocess.run([sys.executable, "-c", code], check=True)

    @pytest.mark.parametrize(
        "schema",
        ["", "{", "[" * 100_000, '"string"', {"type": "array"}, {"type": "struct"}, {"type": "struct", "fields": {}}],
        ids=str,
    )
    def test_what_is_no_schema_of_spark_is_a_schema_error(self, schema: str | dict[str, object]) -> None:
        with pytest.raises(SchemaError, match=r"^The Spark schema is not (JSON: |the JSON form of a struct\. )"):
            columns_from_spark(schema)

    @pytest.mark.parametrize("field", [7, {}, {"name": "a"}, {"name": 7, "type": "long"}, {"type": "long"}], ids=str)
    def test_a_field_without_name_or_type_is_a_schema_error(self, field: object) -> None:
        with pytest.raises(SchemaError, match=r"^A field of the Spark schema has no name or no type\.$"):
            columns_from_spark({"type": "struct", "fields": [field]})

    @pytest.mark.parametrize(
        ("inner", "message"),
        [
            ({"type": "struct"}, r"^f0 is not the JSON form of a struct\."),
            ({"type": "struct", "fields": [7]}, r"^A field of f0 has no name or no type\.$"),
            (
                {"type": "struct", "fields": [{"name": "F0", "type": "long"}] * 2},
                r"^Two fields of f0 become the column 'F0': ",
            ),
        ],
    )
    def test_inside_a_struct_its_path_is_named(self, inner: dict[str, object], message: str) -> None:
        with pytest.raises((SchemaError, ColumnError), match=message):
            columns_from_spark(struct(inner))

    def test_a_schema_without_fields_gives_no_columns(self) -> None:
        with pytest.raises(ColumnError, match=r"^The column list is empty\."):
            columns_from_spark(struct())

    def test_nesting_is_bounded(self) -> None:
        type_: object = "long"
        for _ in range(MAX_NESTING):
            type_ = array(type_)
        with pytest.raises(ColumnError, match=r"^The Spark schema nests deeper than 64 levels at f0->ARRAY->"):
            columns_from_spark(struct(type_))


class TestSparkSchema:
    @given(columns)
    def test_what_spark_has_a_type_for_comes_back(self, declared: Columns) -> None:
        try:
            text = spark_schema(declared)
        except ColumnError as error:
            assert error.message.endswith("but Spark has no such type. Leave it out.")  # noqa: PT017 -- else it comes back
            return
        assert columns_from_spark(text, names="keep") == declared

    def test_everything_is_nullable(self) -> None:
        def field(name: str, type_: object) -> dict[str, object]:
            return {"name": name, "type": type_, "nullable": True, "metadata": {}}

        array_ = {"type": "array", "elementType": "integer", "containsNull": True}
        map_ = {"type": "map", "keyType": "string", "valueType": "decimal(4,2)", "valueContainsNull": True}
        inner = {"type": "struct", "fields": [field("D", "binary")]}
        text = spark_schema(parse_columns("A ARRAY<INT>, B MAP<STRING, DECIMAL(4, 2)>, C STRUCT<D BYTES>"))
        fields = [field("A", array_), field("B", map_), field("C", inner)]
        assert json.loads(text) == {"type": "struct", "fields": fields}

    @pytest.mark.parametrize(
        ("column", "message"),
        [
            (Column("A", TIME), r"^The column A is TIME, but Spark has no such type\. Leave it out\.$"),
            (Column("A", Decimal(39, 0)), r"^The column A is DECIMAL\(39, 0\), but"),
            (Column("A", Map(STRING, INTEGER)), r"^The column A is MAP with keys of INTEGER, but"),
        ],
    )
    def test_what_spark_has_no_type_for_is_refused(self, column: Column, message: str) -> None:
        with pytest.raises(ColumnError, match=message):
            spark_schema((column,))
