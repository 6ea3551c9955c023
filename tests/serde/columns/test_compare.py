"""How two column lists differ."""

from __future__ import annotations

import pytest
from hypothesis import given

from srfix.serde import ColumnError, Columns, compare_columns, parse_columns
from srfix.serde.columns.compare import DifferenceKind
from tests.strategies import columns


def sentences(first: str, second: str) -> list[str]:
    return [difference.sentence for difference in compare_columns(parse_columns(first), parse_columns(second))]


class TestCompareColumns:
    @given(columns)
    def test_columns_do_not_differ_from_themselves(self, declared: Columns) -> None:
        assert compare_columns(declared, declared) == ()

    @given(columns, columns)
    def test_only_equal_columns_do_not_differ(self, first: Columns, second: Columns) -> None:
        assert (compare_columns(first, second) == ()) == (first == second)

    @pytest.mark.parametrize(
        ("first", "second", "expected"),
        [
            ("A INT, B INT", "A INT", ["B: only the first has B INTEGER."]),
            ("A INT", "A INT, `b` INT", ["b: only the second has `b` INTEGER."]),
            ("A INT, B INT", "A INT, C INT, B INT", ["C: only the second has C INTEGER."]),
            ("A INT", "A BIGINT", ["A: INTEGER in the first, BIGINT in the second."]),
            ("A INT", "A ARRAY<INT>", ["A: INTEGER in the first, ARRAY<INTEGER> in the second."]),
            ("A DECIMAL(4, 2)", "A DECIMAL(4, 1)", ["A: DECIMAL(4, 2) in the first, DECIMAL(4, 1) in the second."]),
            (
                "A MAP<STRING, ARRAY<STRUCT<B INT>>>",
                "A MAP<STRING, ARRAY<STRUCT<B INT, C INT>>>",
                ["A->MAP_VAL->ARRAY->C: only the second has C INTEGER."],
            ),
            ("A MAP<STRING, INT>", "A MAP<INT, INT>", ["A->MAP_KEY: STRING in the first, INTEGER in the second."]),
            ("A INT KEY", "A INT PRIMARY KEY", ["A: KEY in the first, PRIMARY KEY in the second."]),
            ("A INT KEY, B INT", "A INT, B INT", ["A: KEY in the first, VALUE in the second."]),
            (
                "`foo` INT",
                "FOO BIGINT",
                [
                    "foo: the name is `foo` in the first and FOO in the second; only case differs.",
                    "foo: INTEGER in the first, BIGINT in the second.",
                ],
            ),
            ("A INT, B INT", "B INT, A INT", ["the columns: the order is A, B in the first and B, A in the second."]),
            (
                "A STRUCT<B INT, `c` INT>",
                "A STRUCT<C INT, B INT>",
                [
                    "A->c: the name is `c` in the first and C in the second; only case differs.",
                    "A: the order is B, `c` in the first and `c`, B in the second.",
                ],
            ),
            # A column of the key that stands among the values again is another one.
            ("A INT KEY, A INT", "A INT", ["A: only the first has A INTEGER KEY."]),
            (
                "A INT KEY, A INT",
                "A INT, A INT KEY",
                ["the columns: the order is A, A in the first and A, A in the second."],
            ),
            ("A INT KEY, A INT", "A INT KEY, A STRING", ["A: INTEGER in the first, STRING in the second."]),
            ("A INT KEY", "A INT, A INT KEY", ["A: only the second has A INTEGER."]),
        ],
    )
    def test_each_difference_is_said(self, first: str, second: str, expected: list[str]) -> None:
        assert sentences(first, second) == expected

    def test_case_is_only_looked_past_where_one_name_can_be_meant(self) -> None:
        assert sentences("`foo` INT, FOO INT", "`foo` INT") == ["FOO: only the first has FOO INTEGER."]
        assert sentences("`foo` INT", "FOO INT, `Foo` INT") == [
            "foo: only the first has `foo` INTEGER.",
            "FOO: only the second has FOO INTEGER.",
            "Foo: only the second has `Foo` INTEGER.",
        ]

    def test_a_difference_is_a_value_too(self) -> None:
        (difference,) = compare_columns(parse_columns("A INT"), parse_columns("A BIGINT"))
        assert (difference.kind, difference.path) == (DifferenceKind.TYPE, "->A")
        assert (difference.first, difference.second) == ("INTEGER", "BIGINT")

    def test_unusable_columns_are_refused(self) -> None:
        with pytest.raises(ColumnError, match=r"^The column list is empty\."):
            compare_columns((), parse_columns("A INT"))
