"""`DecimalUtil.ensureFit`: digits in front of the point, then digits behind it; zeros there are none."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde import CaseRule, EncodeError, parse_columns
from srfix.serde.connect.coercions import NOT_FITTING, decimal_fit
from srfix.serde.formats import avro
from srfix.serde.formats import json as json_format
from srfix.serde.specs import WriteSpec


@pytest.mark.parametrize(
    ("number", "fitted"),
    [("1.5", "1.50"), ("1.500", "1.50"), ("-9.99", "-9.99"), ("0", "0.00"), ("1E-2", "0.01"), ("0E+50", "0.00")],
)
def test_what_fits_gets_the_columns_scale(number: str, fitted: str) -> None:
    unit, exact, _, _ = decimal_fit(3, 2)
    assert str(Decimal(number).quantize(unit, None, exact)) == fitted


@pytest.mark.parametrize(
    ("number", "is_within"),
    [("10", False), ("-10.00", False), ("1E+999", False), ("9.999", True), ("0.001", True), ("1E-999", True)],
)
def test_what_does_not_fit_is_never_rounded(number: str, is_within: bool) -> None:
    fit = decimal_fit(3, 2)
    with pytest.raises(NOT_FITTING):
        Decimal(number).quantize(fit.unit, None, fit.exact)
    assert fit.is_within(Decimal(number)) is is_within


@given(st.decimals(allow_nan=False, allow_infinity=False), st.integers(1, 40), st.integers(0, 40))
def test_nothing_but_zeros_is_added_or_lost(number: Decimal, precision: int, scale: int) -> None:
    unit, exact, low, bound = decimal_fit(precision, min(scale, precision))
    try:
        fitted = number.quantize(unit, None, exact)
    except NOT_FITTING:
        return
    assert fitted == number
    assert low < fitted < bound


@pytest.mark.parametrize("format_", ["json", "avro"])
def test_a_column_of_two_thousand_million_digits_hangs_no_writer(format_: str) -> None:
    columns = parse_columns("D DECIMAL(2147483647, 2147483646)")
    make = json_format.encoder if format_ == "json" else avro.encoder
    text = None if format_ == "json" else avro.internal_schema(WriteSpec(columns=columns))
    with pytest.raises(EncodeError, match="without rounding"):
        make(text, WriteSpec(columns=columns, case_rule=CaseRule.EXACT))({"D": Decimal(1)}, b"")


def test_the_bound_of_digits_leaves_long_numbers_alone() -> None:
    columns = parse_columns("D DECIMAL(5000, 1)")
    digits = "7" * 4999
    body = json_format.encoder(None, WriteSpec(columns=columns, case_rule=CaseRule.EXACT))({"D": Decimal(digits)}, b"")
    assert body == b'{"D":' + digits.encode() + b".0}"
