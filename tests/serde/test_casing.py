"""The case rules, as a table: columns, fields in the writer's order, and which field's value a column gets.

| rule | columns | fields | fed | from |
|---|---|---|---|---|
| unique | FOO | FOO | FOO ← FOO | ours |
| unique | FOO | foo | FOO ← foo | ours |
| unique | foo | FOO | foo ← FOO | ours |
| unique | FOO | FOO, foo | FOO ← FOO | ours |
| unique | FOO | foo, Foo | error: foo, Foo | ours |
| unique | FOO, foo | foo | foo ← foo, FOO ← nothing | ours |
| unique | FOO, Foo | foo | error: one field, two columns | ours |
| unique | FOO | bar | FOO ← nothing | ours |
| unique | STRASSE | straße | STRASSE ← straße | ours |
| exact | FOO | foo | FOO ← nothing | ours |
| exact | FOO | FOO, foo | FOO ← FOO | ours |

ksqldb and ksqldb-2020, of Avro and JSON (`match_keys`), have their table in `rules/test_case_rules.py`.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde import AmbiguousFieldError, CaseRule
from srfix.serde.casing import is_among, is_same, match_fields, match_keys, placements, upper_camel
from tests.strategies import names

UNIQUE, EXACT, KSQLDB, KSQLDB_2020 = CaseRule.UNIQUE, CaseRule.EXACT, CaseRule.KSQLDB, CaseRule.KSQLDB_2020
name_lists = st.lists(names | st.sampled_from(["FOO", "foo", "Foo"]), unique=True, max_size=6)
"""Names of columns or of fields: some differ only by case."""


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
            (KSQLDB, ["STRASSE"], ["straße"], {"STRASSE": "straße"}),
        ],
    )
    def test_the_table_holds(self, rule: CaseRule, columns: list[str], fields: list[str], fed: dict[str, str]) -> None:
        assert match_fields(columns, fields, rule, where="the writer schema") == fed

    def test_several_and_none_exact_names_them_all_and_the_column(self) -> None:
        with pytest.raises(AmbiguousFieldError, match="Column 'FOO' could be fed by several fields of") as caught:
            match_fields(["BAR", "FOO"], ["bar", "foo", "Foo"], UNIQUE, where="the row")
        assert (caught.value.column, caught.value.fields) == ("FOO", ("foo", "Foo"))

    def test_one_field_never_feeds_two_columns(self) -> None:
        with pytest.raises(AmbiguousFieldError, match="The field 'foo' of the row could feed two"):
            match_fields(["FOO", "Foo"], ["foo"], UNIQUE, where="the row")

    @given(name_lists, name_lists, st.sampled_from([UNIQUE, EXACT]))
    def test_by_our_rules_an_exact_field_feeds_its_column_and_none_feeds_two(
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


@pytest.mark.core
class TestPlacements:
    def test_what_is_overwritten_shows_before_what_overwrites_it(self) -> None:
        # ConnectDataTranslator.toKsqlStruct has validated the type of FOO by the time that foo replaces its value.
        placed = placements(["FOO", "BAR"], ["FOO", "bar", "foo"], KSQLDB, where="the row")
        assert placed == (("FOO", "FOO"), ("bar", "BAR"), ("foo", "FOO"))

    def test_in_2020_the_columns_were_walked_and_only_the_last_field_looked_at(self) -> None:
        placed = placements(["a", "B", "A"], ["A", "b", "a"], KSQLDB_2020, where="the row")
        assert placed == (("a", "a"), ("b", "B"), ("a", "A"))


class TestMatchKeys:
    @given(name_lists, name_lists, st.sampled_from([UNIQUE, EXACT]))
    def test_our_own_rules_are_the_same_as_for_fields(
        self, columns: list[str], keys: list[str], rule: CaseRule
    ) -> None:
        try:
            fed = match_fields(columns, keys, rule, where="the object")
        except AmbiguousFieldError:
            with pytest.raises(AmbiguousFieldError):
                match_keys(columns, keys, rule, where="the object")
            return
        assert match_keys(columns, keys, rule, where="the object") == fed


class TestNames:
    @pytest.mark.parametrize(("one", "other"), [("policy", "Policy"), ("ß", "SS"), ("", "")])
    def test_names_are_the_same_whatever_their_letters(self, one: str, other: str) -> None:
        assert is_same(one, other)
        assert is_among(one, ("x", other))
        assert not is_same("policy", "policies")
        assert not is_among("policy", ())

    @pytest.mark.parametrize(
        ("name", "expected"), [("MY_TABLE", "MyTable"), ("t", "T"), ("A__B_", "AB"), ("ÄB_éC", "ÄBéc")]
    )
    def test_upper_camel_changes_letters_of_ascii_alone(self, name: str, expected: str) -> None:
        assert upper_camel(name) == expected.replace("ÄB", "Äb")
