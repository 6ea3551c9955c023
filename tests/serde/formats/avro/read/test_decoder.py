"""Decoding: plans, checks of the body, and what must not harm the reader."""

from __future__ import annotations

import datetime
import decimal
import json
import threading
from io import BytesIO

import fastavro
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from srfix.serde.casing import CaseRule
from srfix.serde.columns.text import parse_columns
from srfix.serde.columns.types import Columns
from srfix.serde.engine import Decode
from srfix.serde.errors import (
    AmbiguousFieldError,
    DecodeError,
    IncompatibleTypeError,
    OutOfRangeError,
    SchemaError,
    TrailingBytesError,
    TruncatedBodyError,
)
from srfix.serde.formats.avro.internal_schema import internal_schema
from srfix.serde.formats.avro.read.decoder import decoder
from srfix.serde.formats.avro.write.encoder import encoder
from srfix.serde.interface import Value
from tests.strategies import avro_columns, columns_and_row

LINE = {
    "type": "record",
    "name": "Line",
    "fields": [{"name": "sku", "type": "string"}, {"name": "n", "type": "int"}],
}
WRITER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "orderId", "type": "long"},
        {"name": "Item", "type": ["null", "string"]},
        {"name": "lines", "type": {"type": "array", "items": LINE}},
        {"name": "labels", "type": {"type": "map", "values": "Line"}},
    ],
}
ROW = {
    "orderId": 7,
    "Item": "tea",
    "lines": [{"sku": "a", "n": 1}, {"sku": "b", "n": 2}],
    "labels": {"x": {"sku": "c", "n": 3}},
}


def _body(schema: object, row: object) -> bytes:
    out = BytesIO()
    fastavro.schemaless_writer(out, schema, row)  # type: ignore[arg-type]
    return out.getvalue()


def _record(*types: object) -> dict[str, object]:
    fields = [{"name": f"f{number}", "type": type_} for number, type_ in enumerate(types)]
    return {"type": "record", "name": "R", "fields": fields}


def _decoder(schema: object, columns: str | None = None, rule: CaseRule = CaseRule.UNIQUE) -> Decode:
    declared = None if columns is None else parse_columns(columns)
    return decoder(json.dumps(schema), columns=declared, case_rule=rule)


def _decode(schema: object, body: bytes, columns: str | None = None) -> Value:
    return _decoder(schema, columns)(body, 0)


class TestWithoutColumns:
    def test_a_row_is_as_fastavro_gives_it(self) -> None:
        assert _decode(WRITER, _body(WRITER, ROW)) == ROW

    @pytest.mark.parametrize(
        ("type_", "value"),
        [
            ("null", None),
            ("float", 0.5),
            ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "B"),
            ({"type": "fixed", "name": "F", "size": 3}, b"abc"),
            (["null", "int", "string"], "text"),
            ({"type": "long", "logicalType": "timestamp-micros"}, datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)),
            ({"type": "array", "items": {"type": "array", "items": "int"}}, [[1], []]),
        ],
    )
    def test_every_root_is_read(self, type_: object, value: object) -> None:
        assert _decode(type_, _body(type_, value)) == value
        assert _decode(_record(type_), _body(_record(type_), {"f0": value})) == {"f0": value}

    def test_the_body_may_start_anywhere_in_the_payload(self) -> None:
        assert _decoder("long")(b"xxxxx\x0e", 5) == 7

    def test_a_decimal_is_never_rounded_to_the_precision_of_its_schema(self) -> None:
        schema = {"type": "bytes", "logicalType": "decimal", "precision": 3, "scale": 1}
        assert _decode(_record(schema), b"\x06\x01\xe2\x40") == {"f0": decimal.Decimal("12345.6")}
        assert _decode(schema, b"\x01\xe2\x40") == decimal.Decimal("12345.6")

    @pytest.mark.parametrize(
        ("type_", "body"),
        [
            ({"type": "int", "logicalType": "time-millis"}, b"\x01"),
            ({"type": "int", "logicalType": "time-millis"}, b"\x80\xf0\xb3\x52"),
            ({"type": "long", "logicalType": "time-micros"}, b"\x01"),
        ],
    )
    def test_a_time_beyond_the_day_is_no_other_time(self, type_: object, body: bytes) -> None:
        with pytest.raises(OutOfRangeError, match=r"at ->f0 does not fit the column type TIME: Python's time has the"):
            _decode(_record(["null", type_]), b"\x02" + body)
        with pytest.raises(OutOfRangeError):
            _decode(_record(["null", type_, "string"]), b"\x02" + body)

    def test_an_int_beyond_32_bits_is_refused_among_several_types_too(self) -> None:
        schema = _record(["null", "int", "string"])
        assert _decode(schema, b"\x02\xff\xff\xff\xff\x0f") == {"f0": -(2**31)}
        with pytest.raises(DecodeError, match="which needs more than 32 bits"):
            _decode(schema, b"\x02\x80\x80\x80\x80\x10")

    def test_a_recursive_schema_is_read(self) -> None:
        schema = {"type": "record", "name": "N", "fields": [
            {"name": "v", "type": "int"}, {"name": "next", "type": ["null", "N"]}
        ]}  # fmt: skip
        row: dict[str, object] = {"v": 0, "next": None}
        for value in range(1, 100):
            row = {"v": value, "next": row}
        assert _decode(schema, _body(schema, row)) == row

    @pytest.mark.parametrize(
        "schema",
        [
            {"type": "record", "name": "N", "fields": [{"name": "n", "type": "N"}]},
            {"type": "record", "name": "A", "fields": [{"name": "b", "type": {
                "type": "record", "name": "B", "fields": [{"name": "a", "type": "A"}]}}]},
            {"type": "record", "name": "A", "fields": [{"name": "x", "type": "int"}, {"name": "x", "type": "int"}]},
            {"type": "fixed", "name": "F", "size": -1},
            {"type": "record", "name": "A", "fields": [{"name": 1, "type": "int"}]},
        ],
    )  # fmt: skip
    def test_a_schema_that_no_body_can_have_is_refused(self, schema: object) -> None:
        with pytest.raises(SchemaError):
            _decoder(schema)


class TestWithColumns:
    def test_fields_are_renamed_at_every_level(self) -> None:
        row = _decode(
            WRITER,
            _body(WRITER, ROW),
            "ORDERID BIGINT, ITEM STRING, LINES ARRAY<STRUCT<SKU STRING, N INT>>, LABELS MAP<STRING, STRUCT<N INT>>",
        )
        assert row == {
            "ORDERID": 7,
            "ITEM": "tea",
            "LINES": [{"SKU": "a", "N": 1}, {"SKU": "b", "N": 2}],
            "LABELS": {"x": {"N": 3}},
        }

    def test_a_date_that_python_cannot_hold_disturbs_nobody_where_no_column_takes_it(self) -> None:
        schema = _record({"type": "int", "logicalType": "date"}, "int")
        body = b"\xff\xff\xff\xff\x0f\x02"
        assert _decode(schema, body, "F1 INT") == {"F1": 1}
        with pytest.raises(OutOfRangeError):
            _decode(schema, body, "F0 DATE, F1 INT")

    def test_a_row_has_the_columns_in_their_order_and_nothing_else(self) -> None:
        row = _decode(WRITER, _body(WRITER, ROW), "NEW INT, ITEM STRING, ORDERID BIGINT")
        assert isinstance(row, dict)
        assert list(row.items()) == [("NEW", None), ("ITEM", "tea"), ("ORDERID", 7)]

    def test_a_single_column_is_a_row_too(self) -> None:
        assert _decode(WRITER, _body(WRITER, ROW), "ITEM STRING") == {"ITEM": "tea"}

    def test_the_same_record_may_be_read_as_two_structs(self) -> None:
        line = {
            "type": "record",
            "name": "Line",
            "fields": [{"name": "a", "type": "int"}, {"name": "b", "type": "int"}],
        }
        schema = _record(line, "Line")
        row = _decode(
            schema,
            _body(schema, {"f0": {"a": 1, "b": 2}, "f1": {"a": 3, "b": 4}}),
            "F0 STRUCT<A INT>, F1 STRUCT<B INT>",
        )
        assert row == {"F0": {"A": 1}, "F1": {"B": 4}}

    def test_a_recursive_field_can_be_read_as_deep_as_declared(self) -> None:
        schema = {"type": "record", "name": "N", "fields": [
            {"name": "v", "type": "int"}, {"name": "next", "type": ["null", "N"]}
        ]}  # fmt: skip
        body = _body(schema, {"v": 1, "next": {"v": 2, "next": {"v": 3, "next": None}}})
        assert _decode(schema, body, "V INT, NEXT STRUCT<V INT>") == {"V": 1, "NEXT": {"V": 2}}

    def test_null_stays_null_where_something_is_left_to_do(self) -> None:
        schema = internal_schema(parse_columns("M MAP<STRING, INT>, S STRUCT<A INT>"))
        read = decoder(schema, columns=parse_columns("S STRUCT<B INT>, M MAP<STRING, INT>"), case_rule=CaseRule.UNIQUE)
        assert read(b"\x00\x00", 0) == {"S": None, "M": None}

    def test_the_last_of_two_equal_map_keys_counts(self) -> None:
        columns = parse_columns("M MAP<STRING, INT>")
        read = decoder(internal_schema(columns), columns=columns, case_rule=CaseRule.UNIQUE)
        assert read(b"\x02\x04\x02\x02a\x02\x02\x02\x02a\x02\x04\x00", 0) == {"M": {"a": 2}}

    def test_a_dotted_column_is_fed_by_the_field_with_an_underscore(self) -> None:
        schema = {"type": "record", "name": "R", "fields": [{"name": "a_b", "type": "int"}]}
        assert _decode(schema, b"\x02", "`a.b` INT") == {"a.b": 1}

    def test_a_nullable_root_is_read(self) -> None:
        schema = ["null", WRITER]
        assert _decode(schema, b"\x00", "ITEM STRING") is None
        assert _decode(schema, _body(schema, ROW), "ITEM STRING") == {"ITEM": "tea"}

    @pytest.mark.parametrize(
        ("type_", "column", "value", "read"),
        [
            ("int", "BIGINT", 5, 5),
            ("float", "DOUBLE", 0.5, 0.5),
            ({"type": "enum", "name": "E", "symbols": ["A", "B"]}, "STRING", "B", "B"),
            ({"type": "string", "logicalType": "uuid"}, "STRING", "no uuid", "no uuid"),
            ({"type": "long", "logicalType": "timestamp-micros"}, "BIGINT", 7, 7),
            (
                {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2},
                "DECIMAL(6, 3)",
                decimal.Decimal("1.25"),
                decimal.Decimal("1.25"),
            ),
        ],
    )
    def test_types_that_only_widen_feed_the_column(
        self, type_: object, column: str, value: object, read: object
    ) -> None:
        assert _decode(_record(type_), _body(_record(type_), {"f0": value}), f"F0 {column}") == {"F0": read}

    @pytest.mark.parametrize(
        ("type_", "value", "column", "path", "words"),
        [
            ("long", 1, "INT", "->F0", ("int64", "int32")),
            ("string", "1", "INT", "->F0", ("string", "int32")),
            ("int", 1, "DOUBLE", "->F0", ("int32", "float64")),
            ("double", 1.0, "BIGINT", "->F0", ("float64", "int64")),
            (["null", "int", "string"], 1, "INT", "->F0", ("struct", "int32")),
            (["null", "long"], None, "INT", "->F0", ("int64", "int32")),
            ("bytes", b"", "STRING", "->F0", ("bytes", "string")),
            ({"type": "array", "items": "bytes"}, [b""], "ARRAY<STRING>", "->F0->ARRAY", ("bytes", "string")),
            ({"type": "map", "values": "long"}, {"k": 1}, "MAP<STRING, INT>", "->F0->MAP_VAL", ("int64", "int32")),
            ("int", 1, "STRUCT<A INT>", "->F0", ("int32", "struct")),
            ({"type": "array", "items": "int"}, [], "MAP<STRING, INT>", "->F0", ("array", "map")),
            ({"type": "map", "values": "int"}, {}, "ARRAY<INT>", "->F0", ("map", "array")),
            ("null", None, "INT", "->F0", ("null", "int32")),
        ],
    )
    def test_a_type_that_does_not_feed_its_column_is_refused_where_the_row_holds_it(
        self, type_: object, value: object, column: str, path: str, words: tuple[str, str]
    ) -> None:
        read = _decoder(_record(type_), f"F0 {column}")
        with pytest.raises(
            IncompatibleTypeError, match=f"^The writer's type {words[0]} cannot .* {words[1]}, at {path}, by"
        ) as caught:
            read(_body(_record(type_), {"f0": value}), 0)
        assert caught.value.path == path
        assert (caught.value.writer_type, caught.value.column_type) == words

    def test_a_type_that_no_column_wants_does_not_matter(self) -> None:
        schema = _record(["null", "int", "string"], "int")
        assert _decode(schema, b"\x04\x02x\x0a", "F1 INT") == {"F1": 5}

    def test_a_root_that_is_no_record_is_refused(self) -> None:
        with pytest.raises(IncompatibleTypeError, match=r"^The writer's type string cannot .* struct, at the root,"):
            _decode("string", b"\x00", "A INT")

    def test_fields_that_differ_only_by_case_name_where_they_are(self) -> None:
        inner = {
            "type": "record",
            "name": "I",
            "fields": [{"name": "foo", "type": "int"}, {"name": "Foo", "type": "int"}],
        }
        with pytest.raises(AmbiguousFieldError, match=r"several fields of the writer schema at ->F0 that differ"):
            _decoder(_record(inner), "F0 STRUCT<FOO INT>")
        assert _decode(_record(inner), b"\x02\x04", "F0 STRUCT<`Foo` INT>") == {"F0": {"Foo": 2}}

    def test_the_exact_rule_leaves_the_other_case_alone(self) -> None:
        read = _decoder(WRITER, "ITEM STRING, `Item` STRING", CaseRule.EXACT)
        assert read(_body(WRITER, ROW), 0) == {"ITEM": None, "Item": "tea"}


class TestBadBodies:
    @pytest.mark.parametrize("cut", range(1, 12))
    def test_a_body_that_ends_too_early_is_truncated(self, cut: int) -> None:
        body = _body(WRITER, ROW)
        with pytest.raises(TruncatedBodyError, match=r"^The body ends at byte \d+, within "):
            _decode(WRITER, body[:-cut])

    @pytest.mark.parametrize("columns", [None, "ITEM STRING"])
    def test_bytes_behind_the_last_field_are_an_error(self, columns: str | None) -> None:
        with pytest.raises(TrailingBytesError, match=r"^2 bytes are left over behind the last field, of a body of \d+"):
            _decode(WRITER, _body(WRITER, ROW) + b"xx", columns)

    @pytest.mark.parametrize(
        ("type_", "body", "message"),
        [
            (
                ["null", "int"],
                b"\x04",
                r"^At byte 0, at ->f0, the body has the index 2, but the union has branches 0 to 1",
            ),
            (["null", "int"], b"\x01\x02", r"^At byte 0, at ->f0, the body has the index -1"),
            (
                {"type": "enum", "name": "E", "symbols": ["A"]},
                b"\x01",
                r"the index -1, but the enum has symbols 0 to 0",
            ),
            ({"type": "enum", "name": "E", "symbols": ["A"]}, b"\x02", r"the index 1, but the enum has symbols 0 to 0"),
            ("string", b"\x03abc", r"^At byte 0, at ->f0, the body has a string of -2 bytes\."),
            ("bytes", b"\x03abc", r"^At byte 0, at ->f0, the body has a bytes of -2 bytes\."),
            ("string", b"\x04a\xff", r"^At byte 2, at ->f0, the body has a string that is not UTF-8\."),
            ({"type": "map", "values": "int"}, b"\x02\x02\xff\x02\x00", r"at ->f0, .* not UTF-8"),
            (
                {"type": "int", "logicalType": "date"},
                b"\xfe\xff\xff\xff\x0f",
                r"^The value 2147483647 at ->f0 does not",
            ),
            (
                {"type": "string", "logicalType": "uuid"},
                b"\x02x",
                r"^The body is well-formed, but a value of it cannot",
            ),
        ],
    )
    def test_what_is_malformed_says_at_which_byte_of_which_field(
        self, type_: object, body: bytes, message: str
    ) -> None:
        with pytest.raises(DecodeError, match=message) as caught:
            _decode(_record(type_), body)
        assert not isinstance(caught.value, TruncatedBodyError | TrailingBytesError)

    def test_a_huge_length_is_truncation_and_takes_no_memory(self) -> None:
        with pytest.raises(TruncatedBodyError):
            _decode(_record("bytes"), b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f")


EMPTY = {"type": "record", "name": "Empty", "fields": [{"name": "n", "type": "null"}]}
BOMB = b"\x80\x80\x80\x80\x02\x00"
"""A block of 2²⁸ items and the end of the array."""


class TestBombs:
    @pytest.mark.parametrize(
        "items",
        ["null", EMPTY, {"type": "fixed", "name": "F", "size": 0}, {"type": "record", "name": "N", "fields": []}],
    )
    def test_an_array_that_claims_endless_items_without_bytes_is_refused_at_once(self, items: object) -> None:
        with pytest.raises(DecodeError, match=r"^The body claims 268,435,456 array items that take no bytes, at ->f0"):
            _decode(_record({"type": "array", "items": items}), BOMB)

    def test_the_claims_of_all_arrays_of_a_body_count_together(self) -> None:
        array = {"type": "array", "items": "null"}
        schema = {"type": "array", "items": array}
        body = b"\xc8\x01" + b"\x90\x4e\x00" * 100 + b"\x00"
        with pytest.raises(DecodeError, match=r"^The body claims 70,000 array items that take no bytes"):
            _decode(schema, body)

    def test_a_modest_number_of_empty_items_is_read(self) -> None:
        assert _decode({"type": "array", "items": "null"}, b"\x06\x00") == [None] * 3

    @pytest.mark.parametrize("columns", [None, "V INT", "NEXT STRUCT<V INT>"])
    def test_a_body_that_nests_without_end_does_not_kill_the_process(self, columns: str | None) -> None:
        schema = {"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]}
        with pytest.raises(DecodeError, match=r"^The body nests deeper than 1000 levels at byte \d+, at ->next->next"):
            _decode(schema, b"\x02" * 100_000 + b"\x00", columns)

    def test_a_long_path_is_cut_in_the_middle(self) -> None:
        schema = {"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]}
        with pytest.raises(DecodeError, match=r"at (->next){8}->… \(\d+ more\)(->next){8}; a reader"):
            _decode(schema, b"\x02" * 100_000 + b"\x00")

    def test_the_deepest_body_that_is_let_through_is_read_in_a_thread(self) -> None:
        schema = {"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]}
        rows: list[Value] = []
        body = b"\x02" * 498 + b"\x00"
        thread = threading.Thread(target=lambda: rows.append(_decode(schema, body)))
        thread.start()
        thread.join()
        assert len(rows) == 1

    def test_a_long_chain_of_types_is_refused_when_it_is_planned(self) -> None:
        schemas: list[object] = [{"type": "record", "name": "L0", "fields": []}]
        for level in range(1, 600):
            fields = [{"name": "x", "type": ["null", f"L{level - 1}"]}]
            schemas.append({"type": "record", "name": f"L{level}", "fields": fields})
        with pytest.raises(SchemaError, match=r"nest (too deep|deeper than 1000 levels)"):
            _decoder(schemas)

    def test_a_text_that_nests_without_end_is_refused(self) -> None:
        with pytest.raises(SchemaError):
            decoder('{"type":"array","items":' * 5_000, columns=None, case_rule=CaseRule.UNIQUE)
        with pytest.raises(SchemaError, match=r"nests deeper than 400 levels"):
            decoder('{"type":"array","items":' * 500 + '"int"' + "}" * 500, columns=None, case_rule=CaseRule.UNIQUE)


class TestProperties:
    @given(columns_and_row)
    @settings(suppress_health_check=[HealthCheck.too_slow])
    def test_what_is_encoded_is_decoded_again(self, columns_row: tuple[Columns, object]) -> None:
        columns, row = columns_row
        text = internal_schema(columns)
        payload = encoder(text, columns=columns, case_rule=CaseRule.UNIQUE)(row, b"12345")
        read = decoder(text, columns=columns, case_rule=CaseRule.UNIQUE)(payload, 5)
        assert read == row
        assert list(read) == [column.name for column in columns]  # type: ignore[arg-type]

    @given(columns_and_row)
    @settings(suppress_health_check=[HealthCheck.too_slow])
    def test_fastavro_reads_what_we_write(self, columns_row: tuple[Columns, object]) -> None:
        columns, row = columns_row
        text = internal_schema(columns)
        body = encoder(text, columns=columns, case_rule=CaseRule.UNIQUE)(row, b"")
        theirs = fastavro.schemaless_reader(BytesIO(body), json.loads(text), None)
        assert decoder(text, columns=None, case_rule=CaseRule.UNIQUE)(body, 0) == theirs

    @given(avro_columns, st.binary(max_size=40), st.booleans())
    @settings(suppress_health_check=[HealthCheck.too_slow])
    def test_any_bytes_are_a_row_or_a_decode_error(self, columns: Columns, body: bytes, typed: bool) -> None:
        text = internal_schema(columns)
        read = decoder(text, columns=columns if typed else None, case_rule=CaseRule.UNIQUE)
        try:
            row = read(body, 0)
        except DecodeError:
            return
        assert isinstance(row, dict)

    @given(columns_and_row, st.data())
    @settings(suppress_health_check=[HealthCheck.too_slow])
    def test_a_body_cut_off_anywhere_is_truncated(
        self, columns_row: tuple[Columns, object], data: st.DataObject
    ) -> None:
        columns, row = columns_row
        text = internal_schema(columns)
        body = encoder(text, columns=columns, case_rule=CaseRule.UNIQUE)(row, b"")
        cut = data.draw(st.integers(0, len(body) - 1))
        with pytest.raises(TruncatedBodyError):
            decoder(text, columns=columns, case_rule=CaseRule.UNIQUE)(body[:cut], 0)
