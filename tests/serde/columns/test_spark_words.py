"""Columns in Spark's own words: its DDL, and what `simpleString` prints.

| Spark | column |
|---|---|
| tinyint, byte, smallint, short, int, integer | INTEGER |
| bigint, long | BIGINT |
| float, real, double | DOUBLE |
| string, char(n), character(n), varchar(n) | STRING |
| binary | BYTES |
| decimal, decimal(p), decimal(p,s), dec, numeric | DECIMAL(10, 0), (p, 0), (p, s) |
| timestamp, timestamp_ltz | TIMESTAMP |
| timestamp_ntz | TIMESTAMP_NTZ |
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde import Column, ColumnError, columns_from_spark, parse_columns, print_columns
from srfix.serde.casing import declared_name
from srfix.serde.columns.tokens import RESERVED_WORDS
from srfix.serde.columns.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DOUBLE,
    INTEGER,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    Array,
    ColumnType,
    Decimal,
    Map,
    Struct,
)

types = pytest.importorskip("pyspark.sql.types")


class TestTypes:
    @pytest.mark.parametrize(
        ("word", "type_"),
        [
            *((word, INTEGER) for word in ("tinyint", "byte", "smallint", "short", "int", "integer")),
            *((word, BIGINT) for word in ("bigint", "long", "LONG")),
            *((word, DOUBLE) for word in ("float", "real", "double")),
            *((word, STRING) for word in ("string", "char(3)", "character(3)", "varchar(20)")),
            *((word, TIMESTAMP) for word in ("timestamp", "timestamp_ltz")),
            ("binary", BYTES),
            ("boolean", BOOLEAN),
            ("decimal", Decimal(10, 0)),
            ("dec(7)", Decimal(7, 0)),
            ("numeric(7, 2)", Decimal(7, 2)),
            ("timestamp_ntz", TIMESTAMP_NTZ),
            ("array<timestamp_ntz>", Array(TIMESTAMP_NTZ)),
            ("array<long>", Array(BIGINT)),
            ("map<string,float>", Map(DOUBLE)),
            ("struct<a:int,b:array<struct<c:byte>>>", None),
        ],
    )
    def test_each_word_is_the_type_that_a_struct_type_gives(self, word: str, type_: ColumnType | None) -> None:
        (column,) = parse_columns(f"a {word}")
        inner = Struct((Column("A", INTEGER), Column("B", Array(Struct((Column("C", INTEGER),))))))
        assert column == Column("A", inner if type_ is None else type_)


class TestColons:
    @pytest.mark.parametrize(
        "text", ["a:int,b:string", "a: int, b :string", "struct<a:int,b:string>", "a int, b string"]
    )
    def test_a_colon_may_stand_between_name_and_type(self, text: str) -> None:
        assert parse_columns(text) == (Column("A", INTEGER), Column("B", STRING))

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("a::int", r"has ':' at character 3; expected a type: "),
            ("struct<a:int>, b int", r"has ',' at character 14; expected the end of the text\.$"),
            ("struct<a:int", r"has the end of the text at character 13; expected ',' or '>'\.$"),
            ("struct< >", r"^The column list is a STRUCT without fields\. "),
            ("a int NOT", r"has the end of the text at character 10; expected NULL after NOT\.$"),
            ("a int NOT b", r"has 'b' at character 11; expected NULL after NOT\.$"),
            ("a int COMMENT 7", r"has '7' at character 15; expected a text in quotes after COMMENT\.$"),
        ],
    )
    def test_what_is_no_column_of_sparks_is_refused(self, text: str, message: str) -> None:
        with pytest.raises(ColumnError, match=message):
            parse_columns(text)


class TestRemarks:
    @pytest.mark.parametrize(
        "text",
        [
            "id long NOT NULL COMMENT 'the user''s', s struct<x: int NOT NULL COMMENT \"x\">",
            "id long comment 'c' not null, s struct<x int>",
        ],
    )
    def test_not_null_and_comments_make_no_difference(self, text: str) -> None:
        assert parse_columns(text) == (Column("ID", BIGINT), Column("S", Struct((Column("X", INTEGER),))))

    def test_a_key_may_be_not_null(self) -> None:
        assert (
            parse_columns("id long NOT NULL KEY")
            == parse_columns("id long KEY NOT NULL")
            == parse_columns("id BIGINT KEY")
        )


names = st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True).filter(
    lambda name: declared_name(name) not in RESERVED_WORDS
)
scalars = st.sampled_from(
    [
        kind()
        for kind in (
            types.BooleanType,
            types.ByteType,
            types.ShortType,
            types.IntegerType,
            types.LongType,
            types.FloatType,
            types.DoubleType,
            types.StringType,
            types.BinaryType,
            types.DateType,
            types.TimestampType,
        )
    ]
) | st.integers(1, 38).flatmap(lambda digits: st.builds(types.DecimalType, st.just(digits), st.integers(0, digits)))


def structs(values: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    field = st.builds(types.StructField, names, values, st.booleans())
    return st.lists(field, min_size=1, max_size=4, unique_by=lambda one: declared_name(one.name)).map(types.StructType)


spark_types = st.recursive(
    scalars,
    lambda inner: (
        st.builds(types.ArrayType, inner)
        | st.builds(types.MapType, st.just(types.StringType()), inner)
        | structs(inner)
    ),
    max_leaves=6,
)


def ddl(schema: object) -> str:
    """As a person writes it, NOT NULL and all."""
    assert isinstance(schema, types.StructType)
    return ", ".join(
        f"{field.name} {field.dataType.simpleString()}{'' if field.nullable else ' NOT NULL'}"
        for field in schema.fields
    )


class TestRoundTrip:
    @given(structs(spark_types))
    def test_the_text_of_a_struct_type_gives_the_columns_of_the_struct_type(self, schema: object) -> None:
        assert isinstance(schema, types.StructType)
        expected = columns_from_spark(schema)
        assert parse_columns(schema.simpleString()) == expected
        assert parse_columns(ddl(schema)) == expected
        assert parse_columns(print_columns(expected)) == expected
