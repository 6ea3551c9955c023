"""Columns as an Arrow schema, and back."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given

from srfix.serde import Column, ColumnError, Columns, parse_columns
from srfix.serde.arrow import arrow_schema, columns_from_arrow, reason_fields
from srfix.serde.columns.types import Array, Decimal, Map, Struct
from tests.strategies import columns

TYPES = [
    ("BOOLEAN", pa.bool_()),
    ("INT", pa.int32()),
    ("BIGINT", pa.int64()),
    ("DOUBLE", pa.float64()),
    ("STRING", pa.string()),
    ("BYTES", pa.binary()),
    ("DECIMAL(38, 2)", pa.decimal128(38, 2)),
    ("DECIMAL(39, 2)", pa.decimal256(39, 2)),
    ("DATE", pa.date32()),
    ("TIME", pa.time64("us")),
    ("TIMESTAMP", pa.timestamp("us", tz="UTC")),
    ("ARRAY<INT>", pa.list_(pa.int32())),
    ("MAP<STRING, DOUBLE>", pa.map_(pa.string(), pa.float64())),
    ("STRUCT<A INT, B ARRAY<STRING>>", pa.struct([("A", pa.int32()), ("B", pa.list_(pa.string()))])),
]
"""The table in the docstring of `srfix.serde.arrow.types`."""
READ_TOO = [
    (pa.int8(), "INT"),
    (pa.int16(), "INT"),
    (pa.uint8(), "INT"),
    (pa.uint16(), "INT"),
    (pa.uint32(), "BIGINT"),
    (pa.float16(), "DOUBLE"),
    (pa.float32(), "DOUBLE"),
    (pa.large_string(), "STRING"),
    (pa.string_view(), "STRING"),
    (pa.large_binary(), "BYTES"),
    (pa.binary_view(), "BYTES"),
    (pa.binary(16), "BYTES"),
    (pa.date64(), "DATE"),
    (pa.time32("s"), "TIME"),
    (pa.time64("us"), "TIME"),
    (pa.time64("ns"), "TIME"),
    (pa.timestamp("ns", tz="Europe/Paris"), "TIMESTAMP"),
    (pa.large_list(pa.int32()), "ARRAY<INT>"),
    (pa.list_(pa.int32(), 3), "ARRAY<INT>"),
    (pa.list_view(pa.int32()), "ARRAY<INT>"),
    (pa.large_list_view(pa.int32()), "ARRAY<INT>"),
    (pa.dictionary(pa.int8(), pa.string()), "STRING"),
    (pa.run_end_encoded(pa.int32(), pa.int64()), "BIGINT"),
    (pa.uuid(), "BYTES"),
]


class TestArrowSchema:
    @pytest.mark.parametrize(("text", "type_"), TYPES, ids=[text for text, _ in TYPES])
    def test_each_type_has_one_of_arrows(self, text: str, type_: pa.DataType) -> None:
        assert arrow_schema(parse_columns(f"A {text}")) == pa.schema([pa.field("A", type_)])

    @pytest.mark.core
    def test_a_decimal_of_more_digits_than_arrows_is_refused_with_its_column(self) -> None:
        column = (Column("A", Array(Decimal(77, 0))),)
        with pytest.raises(ColumnError, match=r"^The column 'A' holds a DECIMAL of 77 digits"):
            arrow_schema(column)
        assert arrow_schema((Column("A", Decimal(76, 76)),)).field("A").type == pa.decimal256(76, 76)

    def test_columns_about_bad_rows_stand_behind_the_others(self) -> None:
        declared = parse_columns("A INT")
        assert arrow_schema(declared).names == ["A"]
        assert arrow_schema(declared, with_reason=True).names == ["A", "_srfix_reason"]
        quarantine = arrow_schema(declared, on_error="quarantine")
        assert [(field.name, field.type) for field in quarantine][1:] == [
            ("_srfix_reason", pa.string()),
            ("_srfix_message", pa.string()),
            ("_srfix_payload", pa.binary()),
        ]


class TestReasonFields:
    @pytest.mark.parametrize(
        ("names", "reason"),
        [
            (["a"], "_srfix_reason"),
            (["srfix_reason"], "_srfix_reason"),
            (["_srfix_reason"], "__srfix_reason"),
            (["_SRFIX_message", "__Srfix"], "___srfix_reason"),
        ],
    )
    def test_no_column_has_their_names_in_whatever_case(self, names: list[str], reason: str) -> None:
        assert reason_fields(tuple(Column(name, Struct(())) for name in names)).reason == reason

    @given(columns)
    def test_they_never_collide(self, declared: Columns) -> None:
        fields = reason_fields((*declared, Column("_SRFIX_reason", Struct(()))))
        mine = {fields.reason, fields.message, fields.payload}
        assert len({name.casefold() for name in mine} | {"_srfix_reason"}) == 4
        assert not {name.casefold() for name in mine} & {column.name.casefold() for column in declared}


class TestColumnsFromArrow:
    @given(columns)
    def test_it_is_the_inverse_of_arrow_schema(self, declared: Columns) -> None:
        assert columns_from_arrow(arrow_schema(declared)) == declared

    @pytest.mark.parametrize(("type_", "text"), READ_TOO, ids=[str(type_) for type_, _ in READ_TOO])
    def test_other_widths_and_encodings_are_the_columns_that_hold_them(self, type_: pa.DataType, text: str) -> None:
        assert columns_from_arrow(pa.schema([pa.field("A", type_)])) == parse_columns(f"A {text}")

    def test_keys_of_maps_keep_their_type(self) -> None:
        (column,) = columns_from_arrow(pa.schema([("a", pa.map_(pa.int32(), pa.string()))]))
        assert isinstance(column.type, Map)
        assert column.type.keys == parse_columns("A INT")[0].type

    @pytest.mark.parametrize(
        "type_",
        [
            pa.uint64(),
            pa.null(),
            pa.duration("s"),
            pa.month_day_nano_interval(),
            pa.decimal128(5, -2),
            pa.dense_union([pa.field("a", pa.int8())]),
            pa.list_(pa.struct([("a", pa.uint64())])),
        ],
        ids=str,
    )
    def test_a_type_that_no_column_holds_is_refused_with_its_path(self, type_: pa.DataType) -> None:
        with pytest.raises(ColumnError, match=r"at 'T(->ARRAY->a)?'\. Cast it"):
            columns_from_arrow(pa.schema([("T", type_)]))

    def test_a_timestamp_without_zone_is_a_local_time(self) -> None:
        assert columns_from_arrow(pa.schema([("T", pa.timestamp("ms"))])) == parse_columns("T TIMESTAMP_NTZ")
        assert arrow_schema(parse_columns("T TIMESTAMP_NTZ")) == pa.schema([("T", pa.timestamp("us"))])

    def test_names_must_differ(self) -> None:
        with pytest.raises(ColumnError, match=r"^There are two columns named 'A'\."):
            columns_from_arrow(pa.schema([("A", pa.int8()), ("A", pa.int8())]))
