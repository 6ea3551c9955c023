"""Columns of JSON samples: our own rules, in the table of the module's docstring."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde import ColumnError, SchemaError, columns_from_json, parse_columns, print_columns
from srfix.serde.column_sources.from_json import infer_json
from srfix.serde.connect.columns import Dropped

DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abAB"), inner, max_size=3),
    max_leaves=8,
)


class TestColumnsFromJson:
    @pytest.mark.parametrize(
        ("values", "type_"),
        [
            (["true", "null"], "BOOLEAN"),
            (["1", "-9223372036854775808", "9223372036854775807"], "BIGINT"),
            (["1", "2.5"], "DOUBLE"),
            (["9007199254740992", "1e3"], "DOUBLE"),
            (["9223372036854775808"], "DOUBLE"),
            (['"a"', '"1"'], "STRING"),
            (["[1, null, 2]", "[]", "null"], "ARRAY<BIGINT>"),
            (["[[true]]"], "ARRAY<ARRAY<BOOLEAN>>"),
            (['{"b": 1}', '{"c": "x", "b": null}', "{}"], "STRUCT<B BIGINT, C STRING>"),
            (['[{"b": 1}, {"c": 2}]'], "ARRAY<STRUCT<B BIGINT, C BIGINT>>"),
        ],
    )
    def test_each_type_is_what_all_samples_fit(self, values: list[str], type_: str) -> None:
        samples = [f'{{"a": {value}}}' for value in values]
        assert columns_from_json(samples) == parse_columns(f"A {type_}")
        assert columns_from_json(sample.encode() for sample in samples) == parse_columns(f"A {type_}")

    @pytest.mark.parametrize(
        ("values", "type_"),
        [(["1", "-2147483648"], "INTEGER"), (["1", "2147483648"], "BIGINT"), (["1", "1.0"], "DOUBLE")],
    )
    def test_whole_numbers_can_be_the_smallest_that_fits(self, values: list[str], type_: str) -> None:
        samples = [f'{{"a": [{value}]}}' for value in values]
        assert columns_from_json(samples, integers="smallest") == parse_columns(f"A ARRAY<{type_}>")

    @pytest.mark.parametrize(
        ("samples", "dropped"),
        [
            (['{"a": 1, "b": null}', '{"a": 2}'], Dropped("$.b", "only null was seen")),
            (['{"a": 1, "b": [[], null]}'], Dropped("$.b[]", "every array was empty or had only nulls")),
            (['{"a": 1, "b": [null]}'], Dropped("$.b", "every array was empty or had only nulls")),
            (['{"a": 1, "b": {}}'], Dropped("$.b", "only objects without any usable field were seen")),
        ],
    )
    def test_what_no_sample_shows_is_dropped_with_a_reason(self, samples: list[str], dropped: Dropped) -> None:
        inferred = infer_json(samples)
        assert print_columns(inferred.columns) == "A BIGINT"
        assert inferred.dropped == (dropped,)

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            (["1", '"x"'], r"a whole number and a text at \$\.a; no column type fits this"),
            (["true", "1"], r"^The samples have a boolean and a whole number at \$\.a; no column"),
            (["[1]", '{"b": 1}'], r"^The samples have an array and an object at \$\.a; no column"),
            (['[1, "x"]'], r"^The samples have a whole number and a text at \$\.a\[\]; no column"),
            (['{"b": 1}', '{"b": [1]}'], r"^The samples have a whole number and an array at \$\.a\.b; no column"),
            (["9007199254740993", "0.5"], r"neither BIGINT nor DOUBLE holds exactly at \$\.a"),
            (["9223372036854775809"], r"neither BIGINT nor DOUBLE holds exactly at \$\.a"),
            (["1" + "0" * 310], r"^The samples have numbers that neither"),
            (["1e999"], r"^The samples have numbers that neither"),
        ],
    )
    def test_a_conflict_is_refused_or_a_string(self, values: list[str], message: str) -> None:
        samples = [f'{{"a": {value}}}' for value in values]
        with pytest.raises(ColumnError, match=message):
            columns_from_json(samples)
        assert "STRING" in print_columns(columns_from_json(samples, conflicts="string"))

    def test_names_are_upper_case_or_kept(self) -> None:
        samples = ['{"foo": 1, "x": {"a": 1}}', '{"FOO": 1, "x": {"A": 1}}']
        kept = "`foo` BIGINT, `x` STRUCT<`a` BIGINT, A BIGINT>, FOO BIGINT"
        assert print_columns(columns_from_json(samples, names="keep")) == kept
        with pytest.raises(ColumnError, match=r"^Two fields of \$\.x become the column 'A': 'a' and 'A'"):
            columns_from_json(samples)

    @pytest.mark.parametrize(
        ("samples", "message"),
        [
            (["{}", "[1]"], r"^Sample 2 is not a JSON object; a row must be one\.$"),
            (["{"], r"^Sample 1 is not JSON: "),
            ([b"\xff"], r"^Sample 1 is not JSON: "),
            (['{"a": NaN}'], r"^Sample 1 is not JSON: NaN is not JSON\.$"),
            (["[" * 100_000], r"^Sample 1 is not JSON: "),
            (['{"a": ' + "9" * 5000 + "}"], r"^Sample 1 is not JSON: a number of 5,000 digits\.$"),
        ],
    )
    def test_what_is_no_sample_is_a_schema_error(self, samples: list[str | bytes], message: str) -> None:
        with pytest.raises(SchemaError, match=message):
            columns_from_json(samples)

    @pytest.mark.parametrize("samples", [[], ["{}"], ['{"a": null}']])
    def test_samples_without_columns_are_refused(self, samples: list[str]) -> None:
        with pytest.raises(ColumnError, match=r"^The samples show no column\. "):
            columns_from_json(samples)

    def test_an_empty_name_is_refused(self) -> None:
        with pytest.raises(ColumnError, match=r"^A field of the samples has an empty name\. Give it one\.$"):
            columns_from_json(['{"": 1}'])

    def test_nesting_is_bounded(self) -> None:
        with pytest.raises(ColumnError, match=r"^The samples nest deeper than 64 levels at \$\.a\[\]"):
            columns_from_json(['{"a": ' + "[" * 64 + "1" + "]" * 64 + "}"])
        assert columns_from_json(['{"a": ' + "[" * 63 + "1" + "]" * 63 + "}"])

    @given(st.lists(st.dictionaries(st.sampled_from("abAB"), DOCUMENTS, max_size=3), max_size=3))
    def test_any_samples_give_columns_or_an_error_of_ours(self, documents: list[dict[str, object]]) -> None:
        samples = [json.dumps(document) for document in documents]
        for conflicts in ("refuse", "string"):
            try:
                inferred = infer_json(samples, names="keep", conflicts=conflicts)
            except (ColumnError, SchemaError):
                continue
            assert parse_columns(print_columns(inferred.columns)) == inferred.columns
