"""Rows → the JSON that ksqlDB writes. The texts were held against Connect's `JsonConverter` 2.7.0 (20,000 rows, byte for
byte): `schemas.enable=false`, `decimal.format=NUMERIC`, as `KsqlJsonSerdeFactory` configures it.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import json as stdlib_json
import math
import re
from decimal import Decimal as Number

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde import CaseRule, Columns, EncodeError, parse_columns
from srfix.serde.connect.java_text import compact_bytes, compact_text
from srfix.serde.formats import json
from srfix.serde.specs import ReadSpec, WriteSpec
from tests.strategies import columns_and_row

UTC = datetime.UTC


def _write(columns: str, row: object, rule: CaseRule = CaseRule.UNIQUE, *, wrapped: bool = True) -> str:
    return json.encoder(None, WriteSpec(columns=parse_columns(columns), case_rule=rule, wrap=wrapped))(
        row, b""
    ).decode()


class TestValues:
    @pytest.mark.parametrize(
        ("sql", "value", "text"),
        [
            ("BOOLEAN", True, "true"),
            ("INT", -(2**31), "-2147483648"),
            ("BIGINT", 2**63 - 1, "9223372036854775807"),
            ("DOUBLE", 1.0, "1.0"),
            ("DOUBLE", 5, "5.0"),
            ("DOUBLE", 1e10, "1.0E10"),
            ("DOUBLE", 12345678.5, "1.23456785E7"),
            ("DOUBLE", 0.001, "0.001"),
            ("DOUBLE", 0.0001, "1.0E-4"),
            ("DOUBLE", 1234567.125, "1234567.125"),
            ("DOUBLE", -0.0, "-0.0"),
            ("DOUBLE", 5e-324, "4.9E-324"),
            ("DOUBLE", math.nan, '"NaN"'),  # QUOTE_NON_NUMERIC_NUMBERS
            ("DOUBLE", -math.inf, '"-Infinity"'),
            ("STRING", "", '""'),
            ("STRING", "x/é\u2028\x7f", '"x/é\u2028\x7f"'),
            ("STRING", '"\\\b\f\n\r\t', '"\\"\\\\\\b\\f\\n\\r\\t"'),
            ("STRING", "\x00\x0b\x1f", '"\\u0000\\u000B\\u001F"'),
            ("STRING", "😀", '"\\uD83D\\uDE00"'),
            ("BYTES", b"\xfb\xff\x00", '"+/8A"'),
            ("DECIMAL(20,9)", Number("1.5"), "1.500000000"),
            ("DECIMAL(20,9)", Number("1E-9"), "1E-9"),
            ("DECIMAL(20,9)", Number("-0"), "0E-9"),
            ("DECIMAL(3,1)", Number("10.0"), "10.0"),  # shouldSerializeDecimalsWithOutStrippingTrailingZeros
            ("DECIMAL(6,0)", Number("1E+5"), "100000"),
            ("DECIMAL(38,0)", Number("9" * 38), "9" * 38),
            ("DATE", datetime.date(1969, 12, 29), "-3"),
            ("TIME", datetime.time(0, 0, 1), "1000"),
            ("TIMESTAMP", datetime.datetime(1969, 12, 31, 23, 59, 59, 999_000, UTC), "-1"),
            ("ARRAY<DOUBLE>", [1e7, None], "[1.0E7,null]"),
            ("MAP<STRING,DECIMAL(3,1)>", {"k": Number("1"), "l": None}, '{"k":1.0,"l":null}'),
            ("STRUCT<A INT, `b` DOUBLE>", {"b": 1e-9, "A": None}, '{"A":null,"b":1.0E-9}'),
        ],
    )
    def test_a_value_is_written_as_the_json_converter_does(self, sql: str, value: object, text: str) -> None:
        assert _write(f"C {sql}", {"C": value}) == f'{{"C":{text}}}'
        assert _write(f"C {sql}", {"C": value}, wrapped=False) == text
        assert _write(f"C {sql}", {"C": None}) == '{"C":null}'

    def test_a_key_of_a_map_is_escaped_like_any_string(self) -> None:
        assert _write("C MAP<STRING,DOUBLE>", {"C": {"\x1f😀": 1e9}}) == '{"C":{"\\u001F\\uD83D\\uDE00":1.0E9}}'

    def test_the_callers_decimal_context_has_no_say(self) -> None:
        with decimal.localcontext() as context:
            context.prec = 2
            assert _write("C DECIMAL(9,4)", {"C": Number("12345.6789")}) == '{"C":12345.6789}'


class TestRows:
    def test_all_columns_are_written_in_their_order(self) -> None:
        assert _write("A INT, B STRING, C INT", {"C": 3, "A": 1}) == '{"A":1,"B":null,"C":3}'

    def test_the_prefix_stands_before_it(self) -> None:
        write = json.encoder(None, WriteSpec(columns=parse_columns("A INT"), case_rule=CaseRule.EXACT))
        assert write({"A": 1}, b"\0\1") == b'\0\1{"A":1}'

    @pytest.mark.parametrize("rule", [CaseRule.UNIQUE, CaseRule.KSQLDB, CaseRule.KSQLDB_2020])
    def test_keys_are_matched_by_the_case_rule(self, rule: CaseRule) -> None:
        assert _write("A INT, B STRUCT<C INT>", {"a": 1, "b": {"c": 2}}, rule) == '{"A":1,"B":{"C":2}}'

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            (None, "the row needs a mapping, got NoneType None"),
            ({"D": 1}, "D feeds no column or field"),
            ({"A": 2**31}, "A needs an integer from -2147483648 to 2147483647, got int 2147483648"),
            ({"A": True}, "A needs an integer from -2147483648 to 2147483647, got bool True"),
            ({"A": 1.0}, "A needs an integer from -2147483648 to 2147483647, got float 1.0"),
            ({"L": 2**63}, f"L needs an integer from {-(2**63)} to {2**63 - 1}, got int {2**63}"),
            ({"D": "1"}, "D needs a float, got str '1'"),
            ({"D": 2**53 + 1}, f"D needs a float, got int {2**53 + 1}"),
            ({"S": 1}, "S needs a string, got int 1"),
            ({"B": "eA=="}, "B needs bytes, got str 'eA=='"),
            ({"O": 1}, "O needs a boolean, got int 1"),
            ({"N": 1}, "N needs a finite decimal.Decimal for DECIMAL(4, 1), got int 1"),
            ({"N": Number("NaN")}, "N needs a finite decimal.Decimal for DECIMAL(4, 1), got Decimal Decimal('NaN')"),
            ({"N": Number("1.25")}, "N needs a number that fits DECIMAL(4, 1) without rounding"),
            ({"N": Number("1000")}, "N needs a number that fits DECIMAL(4, 1) without rounding"),
            ({"N": Number("1e999999999")}, "N needs a number that fits DECIMAL(4, 1) without rounding"),
            ({"H": datetime.datetime(2020, 1, 1, tzinfo=UTC)}, "H needs a date, got datetime "),
            ({"I": 5}, "I needs a time without zone, got int 5"),
            ({"J": datetime.datetime(2020, 1, 1)}, "J needs a datetime with a time zone, got datetime "),
            ({"K": "x"}, "K needs a list, got str 'x'"),
            ({"K": [1, "x"]}, "K[1] needs an integer from -2147483648 to 2147483647, got str 'x'"),
            ({"M": {1: 1}}, "M->1 needs a string as its key, got int 1"),
            ({"M": {"k": "x"}}, "M->k needs an integer from"),
            ({"R": {"X": 1}}, "R->X needs a string, got int 1"),
            ({"R": []}, "R needs a mapping, got list []"),
        ],
    )
    def test_a_row_that_does_not_fit_is_refused_by_path(self, row: object, message: str) -> None:
        columns = (
            "A INT, L BIGINT, D DOUBLE, S STRING, B BYTES, O BOOLEAN, N DECIMAL(4,1), H DATE, I TIME, J TIMESTAMP, "
            "K ARRAY<INT>, M MAP<STRING,BIGINT>, R STRUCT<X STRING>"
        )
        if row == {"D": 1}:
            columns = "A INT"
        with pytest.raises(EncodeError, match=rf"^1 field does not fit: {re.escape(message)}"):
            _write(columns, row)
        if isinstance(row, dict) and columns != "A INT":
            whole = {column.name: row.get(column.name) for column in parse_columns(columns)}
            with pytest.raises(EncodeError, match=rf"^1 field does not fit: {re.escape(message)}"):
                _write(columns, whole)

    def test_all_bad_fields_are_named_at_once(self) -> None:
        with pytest.raises(EncodeError, match=r"^2 fields do not fit: ") as caught:
            _write("A INT, B ARRAY<INT>", {"A": "x", "B": [1, "y"]})
        assert caught.value.paths == ("->A", "->B[1]")

    @pytest.mark.parametrize("text", ["\ud800", "a\udfffb"])
    def test_half_a_surrogate_pair_is_refused(self, text: str) -> None:
        with pytest.raises(EncodeError, match=r"^A string of the row contains half a surrogate pair"):
            _write("A STRING", {"A": text})

    def test_a_null_that_is_not_wrapped_has_no_bytes(self) -> None:
        with pytest.raises(EncodeError, match=r"A is null; values are not wrapped, so the record has no bytes"):
            _write("A INT", {"A": None}, wrapped=False)

    @given(columns_and_row, st.sampled_from([CaseRule.UNIQUE, CaseRule.EXACT]))
    def test_what_is_written_is_read_again(self, drawn: tuple[Columns, object], rule: CaseRule) -> None:
        columns, row = drawn
        body = json.encoder(None, WriteSpec(columns=columns, case_rule=rule))(row, b"")
        assert list(stdlib_json.loads(body)) == [column.name for column in columns]
        assert json.decoder(None, ReadSpec(columns=columns, case_rule=rule))(body, 0) == row


class TestWithoutColumns:
    @pytest.mark.parametrize(
        ("value", "text"),
        [
            ({"b": [1, 2.5, None, True, "é"], "a": {}}, '{"b":[1,2.5,null,true,"é"],"a":{}}'),
            (Number("1.50"), "1.50"),
            ([None, 2**70, "\x1f"], '[null,1180591620717411303424,"\\u001F"]'),
            (None, "null"),
        ],
    )
    def test_what_has_a_json_is_written(self, value: object, text: str) -> None:
        assert json.encoder(None, WriteSpec())(value, b"\0") == b"\0" + text.encode()

    @pytest.mark.parametrize(
        "value",
        [
            *(
                math.nan,
                [1, {"a": math.inf}],
                b"x",
                datetime.date(2020, 1, 1),
                {1: 2},
                "\ud800",
                Number("NaN"),
                object(),
            ),
            *([None, [math.nan, 2**70]], {1, 2}, enum.Enum("Kind", "A"), {"a": None, "b": (1, {"c": -math.inf})}),
        ],
    )
    def test_what_has_none_is_refused(self, value: object) -> None:
        with pytest.raises(EncodeError, match=r"^The value cannot be written as JSON \("):
            json.encoder(None, WriteSpec())(value, b"")

    def test_a_value_that_holds_itself_is_refused(self) -> None:
        value: list[object] = []
        value.append(value)
        with pytest.raises(EncodeError, match=r"^The value cannot be written as JSON \(it nests too deep\)"):
            json.encoder(None, WriteSpec())(value, b"")


class TestText:
    @given(st.text(st.characters(codec="utf-8")))
    def test_strings_read_back(self, text: str) -> None:
        assert stdlib_json.loads(compact_text({text: text})) == {text: text}
        assert stdlib_json.loads(compact_bytes([text])) == [text]

    def test_a_double_has_no_exact_text(self) -> None:
        with pytest.raises(TypeError):
            compact_text([1.5])

    def test_bytes_take_doubles_as_java_writes_them(self) -> None:
        assert compact_bytes([1e10, math.nan]) == b'[1.0E10,"NaN"]'
