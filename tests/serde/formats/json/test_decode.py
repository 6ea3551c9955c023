"""JSON bodies → rows: `KsqlJsonDeserializer`, beyond the single values of test_json_scalars.

The case rule of JSON, which is not Avro's (`enforceFieldTypesForStruct`):

| object | column | value |
|---|---|---|
| `{"FOO":1,"foo":2}` | FOO | 1: the exact key |
| `{"FOO":null,"foo":2}` | FOO | null: an explicit null counts |
| `{"Foo":1,"foo":2}` | FOO | 2: the last of the document |
| `{"CASEFIELD":1}` | `caseField` | null: a quoted name is exact |
"""

from __future__ import annotations

import json as stdlib_json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde.casing import CaseRule
from srfix.serde.columns.text import parse_columns
from srfix.serde.columns.types import BIGINT, INTEGER, Column, Map
from srfix.serde.errors import (
    AmbiguousFieldError,
    CoercionError,
    ColumnError,
    DecodeError,
    IncompatibleTypeError,
    TrailingBytesError,
    TruncatedBodyError,
)
from srfix.serde.formats import json
from srfix.serde.formats.json.decode import required_type
from srfix.serde.interface import Value
from srfix.serde.specs import ReadSpec


def _read(columns: str, body: str | bytes, rule: CaseRule = CaseRule.KSQLDB, *, wrapped: bool = True) -> Value:
    decode = json.decoder(None, ReadSpec(columns=parse_columns(columns), case_rule=rule, wrap=wrapped))
    return decode(body.encode() if isinstance(body, str) else body, 0)


class TestRows:
    def test_columns_come_in_their_order_whatever_the_documents_is(self) -> None:
        row = _read("A INT, B INT, C INT", '{"C":3,"A":1}')
        assert isinstance(row, dict)
        assert list(row.items()) == [("A", 1), ("B", None), ("C", 3)]

    def test_a_null_is_no_row(self) -> None:
        assert _read("A INT", "null") is None

    def test_a_body_may_start_later_and_rows_share_nothing(self) -> None:
        decode = json.decoder(None, ReadSpec(columns=parse_columns("A INT, B ARRAY<INT>"), case_rule=CaseRule.KSQLDB))
        first, second = decode(b'\0\0\0\0\x07{"A":1,"B":[1]}', 5), decode(b'{"A":2}', 0)
        assert (first, second) == ({"A": 1, "B": [1]}, {"A": 2, "B": None})

    def test_two_columns_that_one_key_feeds_do_not_share_their_list(self) -> None:
        columns = "`a` ARRAY<STRING>, A ARRAY<STRING>, `m` MAP<STRING,STRING>, M MAP<STRING,STRING>"
        row = _read(columns, '{"a":["x"],"m":{}}')
        assert isinstance(row, dict)
        assert row == {"a": ["x"], "A": ["x"], "m": {}, "M": {}}
        assert row["a"] is not row["A"]
        assert row["m"] is not row["M"]

    def test_arrays_that_nest_deep_fail_at_once(self) -> None:
        depth = 60
        with pytest.raises(CoercionError) as caught:
            _read(f"A {'ARRAY<' * depth}INT{'>' * depth}", f'{{"A":{"[" * depth}"x"{"]" * depth}}}')
        assert caught.value.path == "$.A" + "[0]" * depth

    def test_more_shapes_than_are_remembered_are_read_all_the_same(self) -> None:
        decode = json.decoder(None, ReadSpec(columns=parse_columns("A INT"), case_rule=CaseRule.KSQLDB))
        for number in range(1200):
            assert decode(f'{{"x{number}":0,"a":{number}}}'.encode(), 0) == {"A": number}

    @given(
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.integers(0, 10**30),
        st.text(st.characters(codec="utf-8")),
    )
    def test_quick_and_exact_reading_agree(self, whole: int, double: float, digits: int, text: str) -> None:
        # The second list of columns has a DECIMAL, so that it is always read with every digit.
        body = stdlib_json.dumps({"A": whole, "B": double, "C": text, "D": [digits], "E": digits / 7})
        columns = "A BIGINT, B DOUBLE, C STRING, D ARRAY<INT>, E DOUBLE"
        both = _read(f"{columns}, Z DECIMAL(4, 1)", body)
        assert isinstance(both, dict)
        assert _read(columns, body) == {name: value for name, value in both.items() if name != "Z"}

    def test_a_row_that_needs_every_digit_changes_nothing_for_those_behind_it(self) -> None:
        decode = json.decoder(
            None, ReadSpec(columns=parse_columns("S STRING, D DOUBLE, I INT"), case_rule=CaseRule.KSQLDB)
        )
        easy, hard = b'{"S":"a","D":-0.0,"I":1}', b'{"S":0.1000000000000000055,"D":1e400,"I":1.9}'
        before, exact, after = decode(easy, 0), decode(hard, 0), decode(easy, 0)
        assert before == after == {"S": "a", "D": 0.0, "I": 1}
        assert [str(row["D"]) for row in (before, after) if isinstance(row, dict)] == ["0.0", "0.0"]
        assert exact == decode(hard, 0) == {"S": "0.1000000000000000055", "D": float("inf"), "I": 1}
        with pytest.raises(IncompatibleTypeError):
            decode(b'{"D":true}', 0)


class TestCaseRules:
    """`tests/serde/rules/test_case_rules.py` has the engines'."""

    @pytest.mark.parametrize(
        ("columns", "body", "row"),
        [
            ("FOO INT", '{"FOO":1,"foo":2}', {"FOO": 1}),
            ("FOO INT", '{"foo":2}', {"FOO": 2}),
            ("`caseField` INT", '{"CASEFIELD":1}', {"caseField": 1}),
        ],
    )
    def test_unique_takes_the_only_one_that_is_equal_but_for_case(self, columns: str, body: str, row: object) -> None:
        assert _read(columns, body, CaseRule.UNIQUE) == row

    def test_unique_names_a_choice(self) -> None:
        with pytest.raises(AmbiguousFieldError, match=r"at \$\.A\[\] that differ only by case") as caught:
            _read("A ARRAY<STRUCT<FOO INT>>", '{"A":[{"Foo":1,"foo":2}]}', CaseRule.UNIQUE)
        assert caught.value.fields == ("Foo", "foo")

    def test_exact_takes_nothing_else(self) -> None:
        assert _read("FOO INT, `bar` INT", '{"foo":1,"bar":2}', CaseRule.EXACT) == {"FOO": None, "bar": 2}


class TestPaths:
    @pytest.mark.parametrize(
        ("columns", "body", "path"),
        [
            ("A INT", '{"a":true}', "$.A"),
            ("A STRUCT<B INT>", '{"a":{"b":true}}', "$.A.B"),
            ("A STRUCT<B ARRAY<INT>>", '{"a":{"b":[1,null,true]}}', "$.A.B[2]"),
            ("A ARRAY<ARRAY<INT>>", '{"A":[[],[0,true]]}', "$.A[1][1]"),
            ("A MAP<STRING,INT>", '{"a":{"k":1,"b":true}}', "$.A.b.value"),
            ("A MAP<STRING,MAP<STRING,STRUCT<C INT>>>", '{"a":{"k":{"l":{"C":true}}}}', "$.A.k.value.l.value.C"),
        ],
    )
    def test_an_error_says_where(self, columns: str, body: str, path: str) -> None:
        with pytest.raises(IncompatibleTypeError, match=rf" at {re.escape(path)}\. ") as caught:
            _read(columns, body)
        error = caught.value
        assert (error.path, error.writer_type, error.column_type) == (path, "BooleanNode", "INTEGER")

    @pytest.mark.parametrize("rule", [CaseRule.UNIQUE, CaseRule.KSQLDB])
    def test_the_first_column_that_does_not_fit_is_named_whatever_the_documents_order(self, rule: CaseRule) -> None:
        with pytest.raises(CoercionError) as caught:
            _read("A INT, B INT", '{"B":"x","a":"y"}', rule)
        assert caught.value.path == "$.A"

    def test_a_text_is_not_quoted(self) -> None:
        with pytest.raises(CoercionError) as caught:
            _read("A BIGINT", '{"a":"personal info"}')  # shouldNotIncludeBadValueInExceptionAsThatWouldBeASecurityIssue
        assert "personal" not in str(caught.value)

    @pytest.mark.parametrize(
        ("sql", "words"),
        [
            ("INT", "INTEGER"),
            ("STRING", "STRING"),
            ("DECIMAL(20,19)", "DECIMAL(20, 19)"),
            ("ARRAY<STRING>", "ARRAY<VARCHAR>"),  # shouldThrowIfNotAnArray
            ("MAP<STRING,INT>", "MAP<VARCHAR, INT>"),  # shouldThrowIfNotAnMap
            ("STRUCT<ORDERTIME BIGINT, `b` ARRAY<DOUBLE>>", "STRUCT<ORDERTIME BIGINT, b ARRAY<DOUBLE>>"),
        ],
    )
    def test_a_type_has_the_engines_words(self, sql: str, words: str) -> None:
        assert required_type(parse_columns(f"A {sql}")[0].type) == words

    @pytest.mark.parametrize(
        ("body", "node"), [("true", "BooleanNode"), ("[]", "ArrayNode"), ('"x"', "TextNode"), ("", "MissingNode")]
    )
    def test_a_body_that_is_no_object_is_refused(self, body: str, node: str) -> None:
        with pytest.raises(IncompatibleTypeError, match=rf"^A JSON {node} cannot feed the column type") as caught:
            _read("A INT", body)
        assert (caught.value.path, caught.value.column_type) == ("$", "STRUCT<A INT>")


class TestUnwrapped:
    @pytest.mark.parametrize(
        ("columns", "body", "value"),
        [
            ("A ARRAY<BIGINT>", '[42, 42.000, "42"]', [42, 42, 42]),  # shouldDeserializedJsonArray
            ("A MAP<STRING,BIGINT>", '{"a":42,"b":42.5,"c":"42"}', {"a": 42, "b": 42, "c": 42}),
            ("A STRUCT<B INT>", '{"b":1}', {"B": 1}),
        ],
    )
    def test_the_body_is_the_bare_value(self, columns: str, body: str, value: object) -> None:
        assert _read(columns, body, wrapped=False) == {"A": value}

    def test_the_path_starts_at_the_value(self) -> None:
        with pytest.raises(IncompatibleTypeError) as caught:
            _read("A ARRAY<INT>", '[0,"1",true]', wrapped=False)
        assert caught.value.path == "$[2]"


class TestColumns:
    def test_several_columns_cannot_be_unwrapped(self) -> None:
        with pytest.raises(ColumnError, match=r"^Only a single column can be un-wrapped, but there are 2: "):
            json.decoder(None, ReadSpec(columns=parse_columns("A INT, B INT"), case_rule=CaseRule.KSQLDB, wrap=False))

    def test_the_keys_of_a_map_must_be_strings(self) -> None:
        columns = (Column("A", Map(BIGINT, keys=INTEGER)),)
        with pytest.raises(ColumnError, match=r"^JSON only supports MAPs with STRING keys: A is MAP<"):
            json.decoder(None, ReadSpec(columns=columns, case_rule=CaseRule.KSQLDB))


class TestWithoutColumns:
    @pytest.mark.parametrize("body", [b'{"a":[1,2.5,null,true,"x"],"b":{}}', b"1", b'"x"', b"null", b"[]"])
    def test_the_parsed_json_comes_as_it_is(self, body: bytes) -> None:
        decode = json.decoder(None, ReadSpec())
        assert decode(body, 0) == stdlib_json.loads(body)
        assert decode(b"\0\0\0\0\x01" + body, 5) == stdlib_json.loads(body)

    def test_whole_numbers_are_exact(self) -> None:
        assert json.decoder(None, ReadSpec())(b"18446744073709551617", 0) == 2**64 + 1

    @pytest.mark.parametrize(
        ("body", "error"), [(b"", TruncatedBodyError), (b"{", TruncatedBodyError), (b"1 2", TrailingBytesError)]
    )
    def test_what_is_not_json_is_refused(self, body: bytes, error: type[DecodeError]) -> None:
        with pytest.raises(error):
            json.decoder(None, ReadSpec())(body, 0)
