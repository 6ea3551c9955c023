"""The case rules, as a table: columns, fields, and which field feeds which column.

| rule | columns | fields | fed |
|---|---|---|---|
| unique | FOO | FOO | FOO ← FOO |
| unique | FOO | foo | FOO ← foo |
| unique | foo | FOO | foo ← FOO |
| unique | FOO | FOO, foo | FOO ← FOO |
| unique | FOO | foo, Foo | error: foo, Foo |
| unique | FOO, foo | foo | foo ← foo, FOO ← nothing |
| unique | FOO, Foo | foo | error: one field, two columns |
| unique | FOO | bar | FOO ← nothing |
| unique | STRASSE | straße | STRASSE ← straße |
| exact | FOO | foo | FOO ← nothing |
| exact | FOO | FOO, foo | FOO ← FOO |
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde.casing import CaseRule, declared_name, match_fields
from srfix.serde.errors import AmbiguousFieldError
from tests.strategies import names

UNIQUE, EXACT = CaseRule.UNIQUE, CaseRule.EXACT
name_lists = st.lists(names | st.sampled_from(["FOO", "foo", "Foo"]), unique=True, max_size=6)


class TestMatchFields:
    @pytest.mark.parametrize(
        ("rule", "columns", "fields", "fed"),
        [
            (UNIQUE, ["FOO"], ["FOO"], {"FOO": "FOO"}),
            (UNIQUE, ["FOO"], ["foo"], {"FOO": "foo"}),
            (UNIQUE, ["foo"], ["FOO"], {"foo": "FOO"}),
            (UNIQUE, ["FOO"], ["FOO", "foo"], {"FOO": "FOO"}),
            (UNIQUE, ["FOO", "foo"], ["foo"], {"foo": "foo"}),
            (UNIQUE, ["FOO"], ["bar"], {}),
            (UNIQUE, ["STRASSE"], ["straße"], {"STRASSE": "straße"}),
            (EXACT, ["FOO"], ["foo"], {}),
            (EXACT, ["FOO"], ["FOO", "foo"], {"FOO": "FOO"}),
            (EXACT, ["FOO"], ["foo", "Foo"], {}),
        ],
    )
    def test_the_table_holds(self, rule: CaseRule, columns: list[str], fields: list[str], fed: dict[str, str]) -> None:
        assert match_fields(columns, fields, rule, where="the writer schema") == fed

    def test_several_and_none_exact_names_them_all_and_the_column(self) -> None:
        with pytest.raises(
            AmbiguousFieldError,
            match=r"^Column 'FOO' could be fed by several fields of the row that differ only by case: 'foo', 'Foo'\. ",
        ) as caught:
            match_fields(["BAR", "FOO"], ["bar", "foo", "Foo"], UNIQUE, where="the row")
        assert (caught.value.column, caught.value.fields) == ("FOO", ("foo", "Foo"))

    def test_one_field_never_feeds_two_columns(self) -> None:
        with pytest.raises(
            AmbiguousFieldError, match=r"^The field 'foo' of the row could feed two columns .*: 'FOO' and 'Foo'\. "
        ):
            match_fields(["FOO", "Foo"], ["foo"], UNIQUE, where="the row")

    @given(name_lists, name_lists, st.sampled_from(CaseRule))
    def test_an_exact_field_always_feeds_its_column_and_none_feeds_two(
        self, columns: list[str], fields: list[str], rule: CaseRule
    ) -> None:
        try:
            fed = match_fields(columns, fields, rule, where="the row")
        except AmbiguousFieldError:
            assert rule is UNIQUE
            return
        assert all(fed[name] == name for name in set(columns) & set(fields))
        assert len(set(fed.values())) == len(fed)
        assert set(fed) <= set(columns)
        assert set(fed.values()) <= set(fields)


class TestDeclaredName:
    def test_an_unquoted_identifier_is_upper_case(self) -> None:
        assert declared_name("caseField") == "CASEFIELD"
