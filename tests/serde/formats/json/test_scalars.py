"""What JSON feeds which column: `JsonSerdeUtils` and `KsqlJsonDeserializer`, case by case.

| column | JSON |
|---|---|
| BOOLEAN | a boolean only |
| INTEGER, BIGINT, DOUBLE | a number (Java's narrowing), a string parsed as that type |
| STRING | scalar → its text; object → compact JSON; array → `[a, b]` |
| DATE, TIME, TIMESTAMP | as BIGINT: days, milliseconds |
| DECIMAL | a number or a string of one, `DecimalUtil.ensureFit` |
| BYTES | a string of base64 |

What those classes leave to their libraries was run through Jackson 2.16.2 and Java 17.
"""

from __future__ import annotations

import datetime
import math
from decimal import Decimal as Number

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde import CaseRule, CoercionError, OutOfRangeError, parse_columns
from srfix.serde.formats import json
from srfix.serde.interface import Value
from srfix.serde.specs import ReadSpec

UTC = datetime.UTC


def _read(sql: str, text: str) -> Value:
    """The value of a single un-wrapped column."""
    decode = json.decoder(None, ReadSpec(columns=parse_columns(f"C {sql}"), case_rule=CaseRule.KSQLDB, wrap=False))
    row = decode(text.encode(), 0)
    assert isinstance(row, dict)
    assert list(row) == ["C"]
    return row["C"]


def _refused(sql: str, text: str, error: type[CoercionError], said: str) -> None:
    with pytest.raises(error, match=said) as caught:
        _read(sql, text)
    assert (caught.value.path, caught.value.column_type) == ("$", "INTEGER" if sql == "INT" else sql)


class TestInteger:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("41", 41),  # shouldDeserializedJsonNumberAsInt
            ("41.456", 41),
            ('"41"', 41),
            ("-1.9", -1),
            ("-0", 0),
            ("0.99999999999999999999", 0),  # a double would be 1
            ("2147483647", 2147483647),
            ("2147483648", -2147483648),  # intValue wraps
            ("4294967297", 1),
            ("-9223372036854775809", -1),
            ("18446744073709551617.9", 1),
            ("1e5", 100000),
            ("1e31", -2147483648),
            ("1e32", 0),
            ("1e999999999", 0),
            ('"+5"', 5),
            ('"-2147483648"', -2147483648),
            ('"\\uff11\\u0661"', 11),  # Character.digit: digits of any script
            ("null", None),
        ],
    )
    def test_numbers_are_narrowed_and_texts_parsed(self, text: str, value: int | None) -> None:
        assert _read("INT", text) == value

    @pytest.mark.parametrize(
        "text", ['""', '" 1"', '"1 "', '"1.0"', '"2147483648"', '"x"', '"1_0"', '"0x1"', '"\\ud835\\udfd9"']
    )
    def test_a_text_that_integer_parse_int_refuses_is_refused(self, text: str) -> None:
        _refused("INT", text, CoercionError, r"^A JSON TextNode is not a number that fits: .* at \$\.$")

    @given(st.integers(-(2**200), 2**200))
    def test_whole_numbers_keep_their_low_bits(self, number: int) -> None:
        assert _read("INT", str(number)) == (number + 2**31) % 2**32 - 2**31


class TestBigint:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("42.456", 42),
            ('"42"', 42),
            ("9007199254740993", 9007199254740993),
            ("9007199254740993.5", 9007199254740993),
            ("9223372036854775808", -(2**63)),
            ("1e63", -(2**63)),
            ("123456e60", 0),
            ('"9223372036854775807"', 2**63 - 1),
        ],
    )
    def test_numbers_are_narrowed_and_texts_parsed(self, text: str, value: int) -> None:
        assert _read("BIGINT", text) == value

    def test_a_number_of_more_than_a_thousand_digits_is_refused(self) -> None:
        for text in ("1" * 1001, "1" * 1500 + ".5"):
            with pytest.raises(CoercionError, match="is not a number that fits"):
                _read("BIGINT", text)

    @given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(2**62), max_value=2**62))
    def test_fractions_are_cut(self, number: Number) -> None:
        assert _read("BIGINT", str(number)) == int(number)


class TestDouble:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("42", 42.0),
            ("42.000", 42.0),
            ('"42"', 42.0),
            ('"42.000"', 42.0),
            ("1e400", math.inf),
            ("-1e400", -math.inf),
            ("1" * 400, math.inf),
            ("1e-400", 0.0),
            ("9007199254740993", 9007199254740992.0),
            ('"Infinity"', math.inf),
            ('"-Infinity"', -math.inf),
            ('" 1.5d\\t"', 1.5),
            ('"1f"', 1.0),
            ('".5"', 0.5),
            ('"5."', 5.0),
            ('"0x1p3"', 8.0),
            ('"0X.8P-2F"', 0.125),
            ('"0x1p99999999999"', math.inf),
            ('"1e400"', math.inf),
        ],
    )
    def test_numbers_are_rounded_and_texts_parsed(self, text: str, value: float) -> None:
        assert _read("DOUBLE", text) == value

    def test_nan_is_read_from_its_text(self) -> None:
        value = _read("DOUBLE", '"NaN"')
        assert isinstance(value, float)
        assert math.isnan(value)

    def test_a_negative_zero_loses_its_sign_as_a_big_decimal_does_unless_it_is_text(self) -> None:
        for text, sign in (("-0.0", 1.0), ('"-0.0"', -1.0)):
            value = _read("DOUBLE", text)
            assert isinstance(value, float)
            assert math.copysign(1, value) == sign

    def test_it_does_so_where_every_digit_is_read(self) -> None:
        decode = json.decoder(
            None, ReadSpec(columns=parse_columns("A DOUBLE, B DECIMAL(4, 1)"), case_rule=CaseRule.KSQLDB)
        )
        row = decode(b'{"A": -0.0, "B": -0.0}', 0)
        assert repr(row) == "{'A': 0.0, 'B': Decimal('0.0')}"

    @pytest.mark.parametrize(
        "text", ['""', '"x"', '"."', '"1e"', '"0x1"', '"infinity"', '"NaNd"', '"1_0"', '"\\uff11"', '"\\u00a01"']
    )
    def test_a_text_that_double_parse_double_refuses_is_refused(self, text: str) -> None:
        _refused("DOUBLE", text, CoercionError, r"^A JSON TextNode is not a number: .* at \$\.$")

    @given(st.floats(allow_nan=False, allow_infinity=False))
    def test_every_double_comes_back(self, value: float) -> None:
        assert _read("DOUBLE", repr(value)) == value
        assert _read("DOUBLE", f'"{value!r}"') == value


class TestBoolean:
    @pytest.mark.parametrize(("text", "value"), [("true", True), ("false", False), ("null", None)])
    def test_booleans_are_read(self, text: str, value: bool | None) -> None:
        assert _read("BOOLEAN", text) is value


class TestString:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ('"just a string"', "just a string"),
            ("true", "true"),
            ("42", "42"),
            ("42.000", "42.000"),  # shouldDeserializedJsonText
            ("42.001", "42.001"),
            ("-0", "0"),
            ("-0.0", "0.0"),
            ("1e5", "1E+5"),
            ("1.0E-10", "1.0E-10"),
            ("0.0000001", "1E-7"),
            ("99999999999999999999", "99999999999999999999"),
            ("123456789.123456789123456789", "123456789.123456789123456789"),
            ('{"json": "object"}', '{"json":"object"}'),
            (
                '{"b": 1.50, "a": null, "c": [1e3, "x"], "d": {}, "e": []}',
                '{"b":1.50,"a":null,"c":[1E+3,"x"],"d":{},"e":[]}',
            ),
            ('{"x": "\\u0001\\u001f\\u007f\\/é\\"\\\\ 😀"}', '{"x":"\\u0001\\u001F\x7f/é\\"\\\\ 😀"}'),
            ('{"a": 1, "b": 2, "a": 3}', '{"a":3,"b":2}'),
            ('["json", "array"]', "[json, array]"),
            ('[1, [2.0, null], {"a": 1.10}, true]', '[1, [2.0, null], {"a":1.10}, true]'),
            ("[]", "[]"),
            ("null", None),
            ("", ""),  # MissingNode.asText
            (" \n", ""),
        ],
    )
    def test_everything_has_a_text(self, text: str, value: str | None) -> None:
        assert _read("STRING", text) == value


class TestDate:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("10", datetime.date(1970, 1, 11)),
            ('"10"', datetime.date(1970, 1, 11)),
            ("-1", datetime.date(1969, 12, 31)),
            ("10.9", datetime.date(1970, 1, 11)),
            ("2932896", datetime.date(9999, 12, 31)),
            ("-719162", datetime.date(1, 1, 1)),
            ("null", None),
        ],
    )
    def test_days_since_the_epoch(self, text: str, value: datetime.date | None) -> None:
        assert _read("DATE", text) == value

    @pytest.mark.parametrize("text", ["2932897", "-719163", "9223372036854775807", '"99999999"'])
    def test_days_that_python_cannot_hold_are_refused(self, text: str) -> None:
        _refused(
            "DATE", text, OutOfRangeError, r"is -?\d+, which is not a day of the years 1 to 9999, .*\(times='integers'"
        )

    @pytest.mark.parametrize("text", ['"2020-06-16"', '""'])
    def test_a_text_that_is_no_number_is_refused(self, text: str) -> None:
        _refused("DATE", text, CoercionError, "A JSON TextNode is not a number")


class TestTime:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("0", datetime.time(0)),
            ("100", datetime.time(0, 0, 0, 100_000)),
            ('"86399999"', datetime.time(23, 59, 59, 999_000)),
            ("3723004", datetime.time(1, 2, 3, 4000)),
        ],
    )
    def test_milliseconds_of_the_day(self, text: str, value: datetime.time) -> None:
        assert _read("TIME", text) == value

    @pytest.mark.parametrize("text", ["-1", "86400001", '"3000000000"'])
    def test_beyond_the_day_is_refused(self, text: str) -> None:
        _refused("TIME", text, CoercionError, r"is -?\d+, not a number of milliseconds from 0 to 86400000")

    def test_the_end_of_the_day_which_the_engine_takes_is_beyond_python(self) -> None:
        _refused("TIME", "86400000", OutOfRangeError, "is the end of the day, 24:00, which Python cannot")


class TestTimestamp:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("100", datetime.datetime(1970, 1, 1, 0, 0, 0, 100_000, UTC)),
            ('"-1"', datetime.datetime(1969, 12, 31, 23, 59, 59, 999_000, UTC)),
            ("1592265600123.9", datetime.datetime(2020, 6, 16, 0, 0, 0, 123_000, UTC)),
        ],
    )
    def test_milliseconds_since_the_epoch(self, text: str, value: datetime.datetime) -> None:
        assert _read("TIMESTAMP", text) == value

    @pytest.mark.parametrize("text", ["253402300800000", "-9223372036854775808"])
    def test_a_time_that_python_cannot_hold_is_refused(self, text: str) -> None:
        _refused("TIMESTAMP", text, OutOfRangeError, r"is -?\d+, which is not a time of the years 1 to 9999")


class TestDecimal:
    @pytest.mark.parametrize(
        ("sql", "text", "value"),
        [
            ("DECIMAL(20, 19)", "1.1234512345123451234", "1.1234512345123451234"),
            ("DECIMAL(20, 19)", '"1.1234512345123451234"', "1.1234512345123451234"),
            ("DECIMAL(3, 1)", "10.0", "10.0"),
            ("DECIMAL(4, 3)", "1.1", "1.100"),  # shouldFixScaleWhenDeserializingDecimalsWithTooSmallAScale
            ("DECIMAL(3, 1)", "1E+1", "10.0"),  # shouldDeserializeScientificNotation
            ("DECIMAL(4, 1)", "1.100", "1.1"),
            ("DECIMAL(4, 1)", "5", "5.0"),
            ("DECIMAL(4, 1)", "-0.0", "0.0"),
            ("DECIMAL(4, 1)", "0e-999999999", "0.0"),
            ("DECIMAL(4, 1)", "0e999999999", "0.0"),
            ("DECIMAL(4, 1)", '".5"', "0.5"),
            ("DECIMAL(4, 1)", '"+5."', "5.0"),
            ("DECIMAL(4, 1)", '"\\uff11.5"', "1.5"),
            ("DECIMAL(38, 0)", "9" * 38, "9" * 38),
        ],
    )
    def test_what_fits_gets_the_columns_scale(self, sql: str, text: str, value: str) -> None:
        read = _read(sql, text)
        assert isinstance(read, Number)
        assert read.as_tuple() == Number(value).as_tuple()

    @pytest.mark.parametrize("text", ["1.12", "1e-999999999", '"0.01"'])
    def test_nothing_is_rounded(self, text: str) -> None:
        _refused("DECIMAL(4, 1)", text, OutOfRangeError, r"cannot be fitted without rounding .* at \$\.$")

    @pytest.mark.parametrize("text", ["1000", "1e999999999", '"-1000.0"', "1000.05"])
    def test_too_large_a_number_is_refused(self, text: str) -> None:
        _refused("DECIMAL(4, 1)", text, OutOfRangeError, r"must be less than 1E\+3 in size")

    @pytest.mark.parametrize("text", ['""', '" 1"', '"NaN"', '"1_0"', '"1e"', '"--1"', '"0x1"'])
    def test_a_text_that_big_decimal_refuses_is_refused(self, text: str) -> None:
        _refused("DECIMAL(4, 1)", text, CoercionError, r"^A JSON TextNode is not a number: .* at \$\.$")

    @given(st.decimals(places=4, min_value=-(10**15), max_value=10**15))
    def test_every_digit_comes_back(self, number: Number) -> None:
        assert _read("DECIMAL(20, 4)", str(number)) == number
        assert _read("DECIMAL(20, 4)", f'"{number}"') == number


class TestBytes:
    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("YQ==", b"a"),
            ("", b""),
            ("YR==", b"a"),  # bits that are left over
            ("YWI=", b"ab"),
            (" YQ== ", b"a"),
            ("YWJj YWJj", b"abcabc"),
            ("YWJj\\nYWJj", b"abcabc"),
            ("YQ==YQ==", b"aa"),
            ("YQ== YQ==", b"aa"),
            ("+/8A", b"\xfb\xff\x00"),
        ],
    )
    def test_base64_is_read_as_jackson_does(self, text: str, value: bytes) -> None:
        assert _read("BYTES", f'"{text}"') == value

    @pytest.mark.parametrize("text", ["abc", "YQ", "YQ=", "YW Jj", "Y-_=", "=", "====", "YWJjZ", "é", "YQ==\\u00a0"])
    def test_what_is_not_base64_is_refused(self, text: str) -> None:
        _refused("BYTES", f'"{text}"', CoercionError, r"^A JSON TextNode is not base64: .* at \$\.$")

    def test_a_long_text_of_white_space_is_refused_at_once(self) -> None:
        with pytest.raises(CoercionError):
            _read("BYTES", f'"{" " * 1_000_000}x"')
