"""What a value of a writer's Connect type becomes in a column; which type feeds which is in tests/serde/rules."""

from __future__ import annotations

import datetime
import decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde import CoercionError
from srfix.serde.columns.types import (
    BIGINT,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Decimal,
    ScalarType,
    Struct,
)
from srfix.serde.connect.coercions import coercion, ensure_fit, refusal
from srfix.serde.connect.schema import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME, ConnectType
from srfix.serde.interface import Value

I16, I32, I64, F32 = ConnectType.INT16, ConnectType.INT32, ConnectType.INT64, ConnectType.FLOAT32


class TestRefusal:
    def test_it_carries_the_path_and_connects_two_words(self) -> None:
        error = refusal(I64, DATE, "->A->ARRAY->B")
        assert error is not None
        assert (error.path, error.writer_type, error.column_type) == ("->A->ARRAY->B", "int64", "int32")
        assert (
            "At A->ARRAY->B, a column of the type DATE cannot read the writer's type int64 as type int32"
            in error.message
        )
        root = refusal(ConnectType.STRING, Struct(()), "")
        assert root is not None
        assert root.message.startswith("At the root, a column of the type ")


MILLIS = 1_767_323_045_678
AT = datetime.datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=datetime.UTC)


class TestCoercion:
    @pytest.mark.parametrize(
        ("writer", "name", "column", "value", "read"),
        [
            # maybeConvertLogicalType: a logical type is its number first.
            (I32, DATE_NAME, STRING, 20455, "20455"),
            (I32, TIME_NAME, STRING, 1000, "1000"),
            (I64, TIMESTAMP_NAME, STRING, MILLIS, "1767323045678"),
            (I64, TIMESTAMP_NAME, BIGINT, MILLIS, MILLIS),
            (I32, DATE_NAME, INTEGER, 20455, 20455),
            (I32, DATE_NAME, BIGINT, 20455, 20455),
            (I32, TIME_NAME, INTEGER, 86_400_000, 86_400_000),
            (I32, DATE_NAME, TIME, 1000, datetime.time(0, 0, 1)),
            (I32, TIME_NAME, DATE, 20455, datetime.date(2026, 1, 2)),
            (I32, TIME_NAME, TIMESTAMP, 1000, datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.UTC)),
            # Any number of the right size is a DATE, TIME or TIMESTAMP.
            (I16, None, DATE, 20455, datetime.date(2026, 1, 2)),
            (I32, DATE_NAME, DATE, -719162, datetime.date(1, 1, 1)),
            (I32, None, TIME, 86_399_999, datetime.time(23, 59, 59, 999000)),
            (I32, TIME_NAME, TIME, 3_723_004, datetime.time(1, 2, 3, 4000)),
            (I64, None, TIMESTAMP, MILLIS, AT),
            (I64, TIMESTAMP_NAME, TIMESTAMP, -1, datetime.datetime(1969, 12, 31, 23, 59, 59, 999000, datetime.UTC)),
            (I32, DATE_NAME, TIMESTAMP, 1, datetime.datetime(1970, 1, 1, 0, 0, 0, 1000, datetime.UTC)),
            (F32, None, DOUBLE, 0.10000000149011612, 0.10000000149011612),
            (ConnectType.BYTES, None, BYTES, b"x", b"x"),
            (ConnectType.BYTES, DECIMAL_NAME, Decimal(4, 2), decimal.Decimal("1.5"), decimal.Decimal("1.50")),
        ],
    )
    def test_a_value_becomes_the_columns(
        self, writer: ConnectType, name: str | None, column: ScalarType | Decimal, value: Value, read: Value
    ) -> None:
        assert refusal(writer, column, "->A") is None
        convert = coercion(writer, name, column, "->A")
        got = value if convert is None else convert(value)
        assert (got, type(got)) == (read, type(read))
        assert str(got) == str(read)

    @pytest.mark.parametrize(
        ("writer", "name", "column", "value", "message"),
        [
            (I32, None, DATE, 2**31 - 1, r"2147483647 at A does not fit the column type DATE: this number of days"),
            (I32, None, TIME, -1, r"^The value -1 at A does not fit the column type TIME: Python's time holds only"),
            (I32, None, TIME, 86_400_000, r"86400000 at A does not fit the column type TIME: Python's time"),
            (
                I64,
                None,
                TIMESTAMP,
                2**63 - 1,
                r"^The value 9223372036854775807 at A .* TIMESTAMP: this number of milli",
            ),
            (
                I64,
                None,
                TIMESTAMP,
                -(2**63),
                r"^The value -9223372036854775808 at A .* TIMESTAMP: this number of milli",
            ),
            # org.apache.kafka.connect.data.Time.toLogical
            (I32, TIME_NAME, INTEGER, 86_400_001, r"^The value 86400001 at A .* INTEGER: the writer's type is Time"),
            (I32, TIME_NAME, BIGINT, -1, r"^The value -1 at A .* BIGINT: the writer's type is Time"),
        ],
    )
    def test_a_value_that_does_not_fit_says_where_and_why(
        self, writer: ConnectType, name: str | None, column: ScalarType, value: Value, message: str
    ) -> None:
        convert = coercion(writer, name, column, "->A")
        assert convert is not None
        with pytest.raises(CoercionError, match=message) as caught:
            convert(value)
        assert (caught.value.path, caught.value.column_type) == ("->A", column.value)


class TestEnsureFit:
    @given(st.decimals(allow_nan=False, allow_infinity=False), st.integers(1, 60), st.data())
    def test_it_never_changes_a_number(self, number: decimal.Decimal, precision: int, data: st.DataObject) -> None:
        column = Decimal(precision, data.draw(st.integers(0, precision)))
        try:
            fitted = ensure_fit(column, "")(number)
        except CoercionError:
            return
        assert isinstance(fitted, decimal.Decimal)
        assert fitted == number
        assert fitted.as_tuple().exponent == -column.scale
