"""Columns as text."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde.columns import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    MAX_NESTING,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Column,
    Columns,
    ColumnType,
    Decimal,
    Map,
    Struct,
    parse_columns,
    print_columns,
)
from srfix.serde.errors import ColumnError
from tests.strategies import columns


class TestParseColumns:
    @pytest.mark.parametrize(
        ("text", "type_"),
        [
            ("A BOOLEAN", BOOLEAN),
            ("A INT", INTEGER),
            ("A integer", INTEGER),
            ("A BIGINT", BIGINT),
            ("A DOUBLE", DOUBLE),
            ("A STRING", STRING),
            ("A VARCHAR", STRING),
            ("A BYTES", BYTES),
            ("A DATE", DATE),
            ("A TIME", TIME),
            ("A TIMESTAMP", TIMESTAMP),
            ("A DECIMAL(10,2)", Decimal(10, 2)),
            ("A ARRAY < INT >", Array(INTEGER)),
            ("A MAP<STRING, ARRAY<INT>>", Map(Array(INTEGER))),
            ("A STRUCT<>", Struct(())),
            ("A STRUCT<b INT, `c` STRING>", Struct((Column("B", INTEGER), Column("c", STRING)))),
        ],
    )
    def test_it_reads_each_type(self, text: str, type_: ColumnType) -> None:
        assert parse_columns(text) == (Column("A", type_),)

    def test_an_unquoted_name_is_upper_case_and_a_quoted_one_is_kept(self) -> None:
        text = 'id INT, `caseField` INT, "b""c" INT, `d``e` INT, `f"g` INT'
        assert [column.name for column in parse_columns(text)] == ["ID", "caseField", 'b"c', "d`e", 'f"g']

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", r"^The column list has the end of the text at character 1; expected a column name\.$"),
            ("A", r"has the end of the text at character 2; expected a type\.$"),
            ("A INT,", r"has the end of the text at character 7; expected a column name\.$"),
            ("A INT B INT", r"has 'B' at character 7; expected ',' or the end of the text\.$"),
            ("A FLOAT", r"has 'FLOAT' at character 3; expected a type: BOOLEAN, INTEGER, .*, STRUCT\.$"),
            ("A DECIMAL", r"has the end of the text at character 10; expected '\(' and precision and scale"),
            ("A DECIMAL(x, 2)", r"has 'x' at character 11; expected the precision, a number"),
            ("A DECIMAL(1, 99999999999)", r"at character 14; expected the scale, a number of at most 9 digits\.$"),
            ("A DECIMAL(2, 3)", r"^DECIMAL\(2, 3\) is not a type: "),
            ("A ARRAY<INT", r"has the end of the text at character 12; expected '>'\.$"),
            ("A MAP<INT, INT>", r"has 'INT' at character 7; expected STRING, the only type of map keys\.$"),
            ("A STRUCT<B INT", r"has the end of the text at character 15; expected ',' or '>'\.$"),
            ("A STRUCT<B INT, B INT>", r"^There are two fields of one STRUCT named 'B'"),
            ("A INT, a INT", r"^There are two columns named 'A'"),
            ("`` INT", r"has '``' at character 1; expected a column name that is not empty\.$"),
            ("`A INT", r"^The column list has a quote that is never closed at character 1\. "),
            ("A INT; B INT", r"^The column list has the character ';' at character 6\. "),
            ("1A INT", r"has '1' at character 1; expected a column name\.$"),
        ],
    )
    def test_an_error_says_where_and_what_was_expected(self, text: str, message: str) -> None:
        with pytest.raises(ColumnError, match=message):
            parse_columns(text)

    def test_the_deepest_nesting_that_is_allowed_is_read(self) -> None:
        text = "A " + "ARRAY<" * (MAX_NESTING - 1) + "INT" + ">" * (MAX_NESTING - 1)
        assert parse_columns(print_columns(parse_columns(text))) == parse_columns(text)

    @pytest.mark.parametrize("opening", ["ARRAY<", "MAP<STRING, ", "STRUCT<A "])
    @pytest.mark.parametrize("depth", [MAX_NESTING, 100_000])
    def test_nesting_is_bounded(self, opening: str, depth: int) -> None:
        with pytest.raises(ColumnError, match=rf"nests deeper than {MAX_NESTING} levels at character"):
            parse_columns("A " + opening * depth + "INT" + ">" * depth)

    @given(st.text(st.sampled_from('AB `"<>(),1INTSTRUCT MAP'), max_size=40))
    def test_any_text_is_columns_or_a_column_error(self, text: str) -> None:
        try:
            parsed = parse_columns(text)
        except ColumnError:
            return
        assert parse_columns(print_columns(parsed)) == parsed


class TestPrintColumns:
    @given(columns)
    def test_what_it_prints_is_parsed_back(self, declared: Columns) -> None:
        assert parse_columns(print_columns(declared)) == declared

    def test_it_quotes_only_what_needs_it(self) -> None:
        declared = (Column("ID", INTEGER), Column("id", INTEGER), Column("a`b", Map(Decimal(3, 1))))
        assert print_columns(declared) == "ID INTEGER, `id` INTEGER, `a``b` MAP<STRING, DECIMAL(3, 1)>"

    def test_columns_built_too_deep_are_refused(self) -> None:
        type_: ColumnType = INTEGER
        for _ in range(5_000):
            type_ = Array(type_)
        with pytest.raises(ColumnError, match=r"^The column types nest deeper than 64 levels\."):
            print_columns((Column("A", type_),))

    def test_no_columns_are_refused(self) -> None:
        with pytest.raises(ColumnError, match=r"^The column list is empty\."):
            print_columns(())


class TestColumn:
    def test_an_empty_name_is_refused(self) -> None:
        with pytest.raises(ColumnError, match=r"^A column has an empty name\."):
            Column("", INTEGER)

    @given(columns)
    def test_columns_travel_to_another_process(self, declared: Columns) -> None:
        assert pickle.loads(pickle.dumps(declared)) == declared
