"""Java's text of numbers. The tables were taken from a running Java where it has no choice, from its Javadoc otherwise."""

from __future__ import annotations

import decimal
import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde.connect.java_text import decimal_text, double_text, float_text, plain_decimal_text

doubles = st.floats(allow_nan=False, allow_infinity=False)
floats = st.floats(width=32, allow_nan=False, allow_infinity=False)
decimals = st.decimals(allow_nan=False, allow_infinity=False)


def _digits(text: str) -> str:
    return text.partition("E")[0].replace("-", "").replace(".", "").strip("0")


class TestDoubleText:
    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-1.5, "-1.5"),
            (0.001, "0.001"),
            (0.00099, "9.9E-4"),
            (1234567.0, "1234567.0"),
            (9999999.999, "9999999.999"),
            (1e7, "1.0E7"),
            (12345678.9, "1.23456789E7"),
            (1e10, "1.0E10"),
            (100.0, "100.0"),
            (1e-5, "1.0E-5"),
            (123e-7, "1.23E-5"),
            (math.pi, "3.141592653589793"),
            (2.0**63, "9.223372036854776E18"),
            (1e23, "1.0E23"),
            (5e-324, "4.9E-324"),  # Double.MIN_VALUE: one digit would do, two are nearer
            (2.2250738585072014e-308, "2.2250738585072014E-308"),
            (1.7976931348623157e308, "1.7976931348623157E308"),
            (math.inf, "Infinity"),
            (-math.inf, "-Infinity"),
            (math.nan, "NaN"),
        ],
    )
    def test_it_is_written_as_double_to_string_does(self, value: float, text: str) -> None:
        assert double_text(value) == text

    def test_a_number_that_an_old_java_wrote_longer_is_written_shortest(self) -> None:
        assert double_text(1.6509204097989539e268) == "1.650920409798954E268"  # JDK-4511638

    @given(doubles)
    def test_it_reads_back_as_the_same_number(self, value: float) -> None:
        assert struct.pack(">d", float(double_text(value))) == struct.pack(">d", value)

    @given(doubles)
    def test_no_shorter_text_reads_back(self, value: float) -> None:
        count = len(_digits(double_text(value)))
        assert count <= 2 or count <= len(_digits(repr(value).replace("e", "E")))

    @given(doubles)
    def test_there_is_always_a_digit_on_both_sides_of_the_point(self, value: float) -> None:
        whole, _, rest = double_text(value).partition(".")
        assert whole.lstrip("-").isdigit()
        assert rest[0].isdigit()


class TestFloatText:
    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (1.5, "1.5"),
            (0.10000000149011612, "0.1"),
            (-3.1415927410125732, "-3.1415927"),
            (16777216.0, "1.6777216E7"),
            (1234567.0, "1234567.0"),
            (1e10, "1.0E10"),
            (0.0010000000474974513, "0.001"),
            (9.99999974737875163555e-5, "1.0E-4"),
            (1.401298464324817e-45, "1.4E-45"),  # Float.MIN_VALUE
            (1.1754943508222875e-38, "1.1754944E-38"),  # Float.MIN_NORMAL
            (3.4028234663852886e38, "3.4028235E38"),  # Float.MAX_VALUE
            (268438016.0, "2.68438E8"),  # 268438000 lies half way, and goes to the even one of both
            (268437984.0, "2.6843798E8"),
            (math.inf, "Infinity"),
            (math.nan, "NaN"),
        ],
    )
    def test_it_is_written_as_float_to_string_does(self, value: float, text: str) -> None:
        assert float_text(value) == text

    @given(floats)
    def test_it_reads_back_as_the_same_float(self, value: float) -> None:
        assert struct.pack(">f", float(float_text(value))) == struct.pack(">f", value)

    @given(floats)
    def test_one_digit_less_does_not_read_back(self, value: float) -> None:
        count = len(_digits(float_text(value)))
        if count > 2:
            shorter = float(f"{value:.{count - 2}e}")
            assert abs(shorter) > 3.4e38 or struct.pack(">f", shorter) != struct.pack(">f", value)


class TestDecimalText:
    @pytest.mark.parametrize(
        ("value", "text"),
        [
            ("0", "0"),
            ("-0.0", "0.0"),
            ("42.000", "42.000"),
            ("1E+3", "1E+3"),
            ("12E+3", "1.2E+4"),
            ("0E+3", "0E+3"),
            ("0.000001", "0.000001"),
            ("0.0000001", "1E-7"),
            ("0.00000012", "1.2E-7"),
            ("-123.45", "-123.45"),
            ("1E+999999999", "1E+999999999"),
        ],
    )
    def test_it_is_written_as_big_decimal_to_string_does(self, value: str, text: str) -> None:
        assert decimal_text(decimal.Decimal(value)) == text

    @given(decimals)
    def test_it_reads_back_as_the_same_digits(self, value: decimal.Decimal) -> None:
        read = decimal.Decimal(decimal_text(value))
        assert read.as_tuple()[1:] == value.as_tuple()[1:]

    def test_the_callers_decimal_context_has_no_say(self) -> None:
        with decimal.localcontext() as context:
            context.capitals = 0
            context.prec = 1
            assert decimal_text(decimal.Decimal("1.23E+5")) == "1.23E+5"


class TestPlainDecimalText:
    @pytest.mark.parametrize(
        ("value", "text"),
        [("0E+3", "0"), ("-0.00", "0.00"), ("1E+3", "1000"), ("1E-7", "0.0000001"), ("-1.50", "-1.50")],
    )
    def test_it_is_written_as_to_plain_string_does(self, value: str, text: str) -> None:
        assert plain_decimal_text(decimal.Decimal(value)) == text
