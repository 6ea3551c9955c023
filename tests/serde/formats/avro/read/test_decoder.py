"""Decoding: plans, checks of the body, and what must not harm the reader."""

from __future__ import annotations

import datetime
import json
import threading
from decimal import Decimal
from io import BytesIO

import fastavro
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
from srfix.serde.specs import ReadSpec, WriteSpec
from tests.serde.avro_schemas import (
    DATE,
    MICROS,
    TIME_MILLIS,
    array,
    body,
    decimal,
    enum,
    fixed,
    logical,
    map_of,
    numbered,
    record,
)
from tests.strategies import avro_columns, columns_and_row

LINE = record("Line", sku="string", n="int")
WRITER = record("Order", orderId="long", Item=["null", "string"], lines=array(LINE), labels=map_of("Line"))
NODE = record("N", v="int", next=["null", "N"])
CHAIN = record("N", next=["null", "N"])
ROW = {
    "orderId": 7,
    "Item": "tea",
    "lines": [{"sku": "a", "n": 1}, {"sku": "b", "n": 2}],
    "labels": {"x": {"sku": "c", "n": 3}},
}


def _decoder(schema: object, columns: str | None = None) -> Decode:
    declared = None if columns is None else parse_columns(columns)
    return decoder(json.dumps(schema), ReadSpec(columns=declared))


def _decode(schema: object, payload: bytes, columns: str | None = None) -> Value:
    return _decoder(schema, columns)(payload, 0)


class TestWithoutColumns:
    def test_a_row_is_as_fastavro_gives_it(self) -> None:
        assert _decode(WRITER, body(WRITER, ROW)) == ROW

    @pytest.mark.parametrize(
        ("type_", "value"),
        [
            ("null", None),
            ("float", 0.5),
            (enum("A", "B"), "B"),
            (fixed(3), b"abc"),
            (["null", "int", "string"], "text"),
            (MICROS, datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)),
            (array(array("int")), [[1], []]),
        ],
    )
    def test_every_root_is_read(self, type_: object, value: object) -> None:
        assert _decode(type_, body(type_, value)) == value
        assert _decode(numbered(type_), body(numbered(type_), {"f0": value})) == {"f0": value}

    def test_the_body_may_start_anywhere_in_the_payload(self) -> None:
        assert _decoder("long")(b"xxxxx\x0e", 5) == 7

    def test_a_decimal_is_never_rounded_to_the_precision_of_its_schema(self) -> None:
        schema = decimal(3, 1)
        assert _decode(numbered(schema), b"\x06\x01\xe2\x40") == {"f0": Decimal("12345.6")}
        assert _decode(schema, b"\x01\xe2\x40") == Decimal("12345.6")

    @pytest.mark.parametrize(
        ("type_", "time"),
        [(TIME_MILLIS, b"\x01"), (TIME_MILLIS, b"\x80\xf0\xb3\x52"), (logical("long", "time-micros"), b"\x01")],
    )
    def test_a_time_beyond_the_day_is_no_other_time(self, type_: object, time: bytes) -> None:
        for union in (["null", type_], ["null", type_, "string"]):
            with pytest.raises(OutOfRangeError, match=r"at f0 does not fit the column type TIME: Python's"):
                _decode(numbered(union), b"\x02" + time)

    def test_a_recursive_schema_is_read(self) -> None:
        row: dict[str, object] = {"v": 0, "next": None}
        for value in range(1, 100):
            row = {"v": value, "next": row}
        assert _decode(NODE, body(NODE, row)) == row

    @pytest.mark.parametrize("children", [100, 1_000])
    def test_schemas_that_hold_each_other_are_read(self, children: int) -> None:
        """Seen wrong from 200 bytes on: a width that was worked out while another was open, as nothing."""
        family = record("Family", partner=["null", "Person"], children=array("Person"))
        person = record("Person", family=["null", family])
        row = {"family": {"partner": {"family": None}, "children": [{"family": None}] * children}}
        assert _decode(person, body(person, row)) == row

    @pytest.mark.parametrize(
        "schema",
        [
            record("N", n="N"),
            record("A", b=record("B", a="A")),
            {"type": "record", "name": "A", "fields": [{"name": "x", "type": "int"}, {"name": "x", "type": "int"}]},
            fixed(-1),
            {"type": "record", "name": "A", "fields": [{"name": 1, "type": "int"}]},
        ],
    )
    def test_a_schema_that_no_body_can_have_is_refused(self, schema: object) -> None:
        with pytest.raises(SchemaError):
            _decoder(schema)


class TestWithColumns:
    def test_fields_are_renamed_at_every_level(self) -> None:
        columns = (
            "ORDERID BIGINT, ITEM STRING, LINES ARRAY<STRUCT<SKU STRING, N INT>>, LABELS MAP<STRING, STRUCT<N INT>>"
        )
        assert _decode(WRITER, body(WRITER, ROW), columns) == {
            "ORDERID": 7,
            "ITEM": "tea",
            "LINES": [{"SKU": "a", "N": 1}, {"SKU": "b", "N": 2}],
            "LABELS": {"x": {"N": 3}},
        }

    def test_a_row_has_the_columns_in_their_order_and_nothing_else(self) -> None:
        row = _decode(WRITER, body(WRITER, ROW), "NEW INT, ITEM STRING, ORDERID BIGINT")
        assert isinstance(row, dict)
        assert list(row.items()) == [("NEW", None), ("ITEM", "tea"), ("ORDERID", 7)]

    def test_the_same_record_may_be_read_as_two_structs(self) -> None:
        schema = numbered(record("Pair", a="int", b="int"), "Pair")
        written = body(schema, {"f0": {"a": 1, "b": 2}, "f1": {"a": 3, "b": 4}})
        row = _decode(schema, written, "F0 STRUCT<A INT>, F1 STRUCT<B INT>")
        assert row == {"F0": {"A": 1}, "F1": {"B": 4}}

    def test_a_recursive_field_can_be_read_as_deep_as_declared(self) -> None:
        written = body(NODE, {"v": 1, "next": {"v": 2, "next": {"v": 3, "next": None}}})
        assert _decode(NODE, written, "V INT, NEXT STRUCT<V INT>") == {"V": 1, "NEXT": {"V": 2}}

    def test_null_stays_null_where_something_is_left_to_do(self) -> None:
        schema = internal_schema(WriteSpec(columns=parse_columns("M MAP<STRING, INT>, S STRUCT<A INT>")))
        read = decoder(schema, ReadSpec(columns=parse_columns("S STRUCT<B INT>, M MAP<STRING, INT>")))
        assert read(b"\x00\x00", 0) == {"S": None, "M": None}

    def test_the_last_of_two_equal_map_keys_counts(self) -> None:
        columns = parse_columns("M MAP<STRING, INT>")
        read = decoder(internal_schema(WriteSpec(columns=columns)), ReadSpec(columns=columns))
        assert read(b"\x02\x04\x02\x02a\x02\x02\x02\x02a\x02\x04\x00", 0) == {"M": {"a": 2}}

    def test_a_nullable_root_is_read(self) -> None:
        schema = ["null", WRITER]
        assert _decode(schema, b"\x00", "ITEM STRING") is None
        assert _decode(schema, body(schema, ROW), "ITEM STRING") == {"ITEM": "tea"}

    @pytest.mark.parametrize(
        ("type_", "value", "writer"), [(["null", "int", "string"], 1, "struct"), ("null", None, "null")]
    )
    def test_a_type_that_feeds_no_column_is_refused_where_the_row_holds_it(
        self, type_: object, value: object, writer: str
    ) -> None:
        """`test_connect_path` has every other pair of types."""
        read = _decoder(numbered(type_), "F0 INT")
        with pytest.raises(
            IncompatibleTypeError, match=rf"^At F0, .* cannot read the writer's type {writer} as type int32\."
        ) as caught:
            read(body(numbered(type_), {"f0": value}), 0)
        assert (caught.value.path, caught.value.writer_type, caught.value.column_type) == ("->F0", writer, "int32")

    def test_a_type_that_no_column_wants_does_not_matter(self) -> None:
        schema = numbered(["null", "int", "string"], "int")
        assert _decode(schema, b"\x04\x02x\x0a", "F1 INT") == {"F1": 5}

    def test_a_root_that_is_no_record_is_refused(self) -> None:
        with pytest.raises(
            IncompatibleTypeError, match=r"^At the root, .* cannot read the writer's type string as type struct\."
        ):
            _decode("string", b"\x00", "A INT")

    def test_fields_that_differ_only_by_case_name_where_they_are(self) -> None:
        inner = record("I", foo="int", Foo="int")
        with pytest.raises(AmbiguousFieldError, match=r"several fields of the writer schema at F0"):
            _decoder(numbered(inner), "F0 STRUCT<FOO INT>")
        assert _decode(numbered(inner), b"\x02\x04", "F0 STRUCT<`Foo` INT>") == {"F0": {"Foo": 2}}


class TestBadBodies:
    @pytest.mark.parametrize("cut", range(1, 12))
    def test_a_body_that_ends_too_early_is_truncated(self, cut: int) -> None:
        with pytest.raises(TruncatedBodyError, match=r"^The body ends at byte \d+, inside "):
            _decode(WRITER, body(WRITER, ROW)[:-cut])

    @pytest.mark.parametrize("columns", [None, "ITEM STRING"])
    def test_bytes_behind_the_last_field_are_an_error(self, columns: str | None) -> None:
        with pytest.raises(TrailingBytesError, match=r"^2 of the body's \d+ bytes are left over"):
            _decode(WRITER, body(WRITER, ROW) + b"xx", columns)

    @pytest.mark.parametrize(
        ("type_", "payload", "message"),
        [
            (["null", "int"], b"\x04", r"^At byte 0, at f0, .* the index 2, but the union has branches 0 to 1"),
            (["null", "int"], b"\x01\x02", r"^At byte 0, at f0, the body has the index -1"),
            (enum("A"), b"\x01", r"the index -1, but the enum has symbols 0 to 0"),
            (enum("A"), b"\x02", r"the index 1, but the enum has symbols 0 to 0"),
            ("string", b"\x03abc", r"^At byte 0, at f0, the body has a string of -2 bytes\."),
            ("bytes", b"\x03abc", r"^At byte 0, at f0, the body has a bytes of -2 bytes\."),
            ("string", b"\x04a\xff", r"^At byte 2, at f0, the body has a string that is not UTF-8\."),
            (map_of("int"), b"\x02\x02\xff\x02\x00", r"at f0, .* not UTF-8"),
            (DATE, b"\xfe\xff\xff\xff\x0f", r"^The value 2147483647 at f0 does not"),
            (logical("string", "uuid"), b"\x02x", r"^The value 'x' at f0 is no UUID\.$"),
            (["null", logical("string", "uuid")], b"\x02\x02x", r"^The value 'x' at f0 is no UUID\.$"),
        ],
    )
    def test_what_is_malformed_says_at_which_byte_of_which_field(
        self, type_: object, payload: bytes, message: str
    ) -> None:
        with pytest.raises(DecodeError, match=message) as caught:
            _decode(numbered(type_), payload)
        assert not isinstance(caught.value, TruncatedBodyError | TrailingBytesError)


BOMB = b"\x80\x80\x80\x80\x02\x00"
"""A block of 2²⁸ items and the end of the array."""


class TestBombs:
    @pytest.mark.parametrize("items", ["null", record("Empty", n="null"), fixed(0), record("N")])
    def test_an_array_that_claims_endless_items_without_bytes_is_refused_at_once(self, items: object) -> None:
        with pytest.raises(
            DecodeError, match=r"^At f0, byte \d+, the body claims 268,435,456 array items of zero bytes"
        ):
            _decode(numbered(array(items)), BOMB)

    def test_the_claims_of_all_arrays_of_a_body_count_together(self) -> None:
        with pytest.raises(DecodeError, match=r"claims 70,000 array items of zero bytes"):
            _decode(array(array("null")), b"\xc8\x01" + b"\x90\x4e\x00" * 100 + b"\x00")

    def test_a_modest_number_of_empty_items_is_read(self) -> None:
        assert _decode(array("null"), b"\x06\x00") == [None] * 3

    @pytest.mark.parametrize("columns", [None, "V INT", "NEXT STRUCT<V INT>"])
    def test_a_body_that_nests_without_end_does_not_kill_the_process(self, columns: str | None) -> None:
        with pytest.raises(DecodeError, match=r"nests deeper than 1000 levels at byte \d+, at next->next"):
            _decode(CHAIN, b"\x02" * 100_000 + b"\x00", columns)

    def test_a_long_path_is_cut_in_the_middle(self) -> None:
        with pytest.raises(DecodeError, match=r"at next(->next){7}->… \(\d+ more\)(->next){8}; a reader"):
            _decode(CHAIN, b"\x02" * 100_000 + b"\x00")

    def test_the_deepest_body_that_is_let_through_is_read_in_a_thread(self) -> None:
        rows: list[Value] = []
        thread = threading.Thread(target=lambda: rows.append(_decode(CHAIN, b"\x02" * 498 + b"\x00")))
        thread.start()
        thread.join()
        assert len(rows) == 1

    def test_a_long_chain_of_types_is_refused_when_it_is_planned(self) -> None:
        schemas: list[object] = [record("L0")]
        schemas += [record(f"L{level}", x=["null", f"L{level - 1}"]) for level in range(1, 600)]
        with pytest.raises(SchemaError, match=r"nest (too deep|deeper than 1000 levels)"):
            _decoder(schemas)

    def test_a_text_that_nests_without_end_is_refused(self) -> None:
        with pytest.raises(SchemaError):
            decoder('{"type":"array","items":' * 5_000, ReadSpec())
        with pytest.raises(SchemaError, match=r"nests deeper than 400 levels"):
            decoder('{"type":"array","items":' * 500 + '"int"' + "}" * 500, ReadSpec())


class TestProperties:
    @given(columns_and_row, st.data())
    @settings(suppress_health_check=[HealthCheck.too_slow])
    def test_what_is_encoded_is_decoded_again_by_fastavro_too_and_truncated_where_it_is_cut(
        self, columns_row: tuple[Columns, object], data: st.DataObject
    ) -> None:
        columns, row = columns_row
        text = internal_schema(WriteSpec(columns=columns))
        payload = encoder(text, WriteSpec(columns=columns))(row, b"12345")
        read = decoder(text, ReadSpec(columns=columns))
        assert read(payload, 5) == row
        assert list(read(payload, 5)) == [column.name for column in columns]  # type: ignore[arg-type]
        theirs = fastavro.schemaless_reader(BytesIO(payload[5:]), json.loads(text), None)
        assert decoder(text, ReadSpec())(payload, 5) == theirs
        cut = data.draw(st.integers(5, len(payload) - 1))
        with pytest.raises(TruncatedBodyError):
            read(payload[:cut], 5)

    @given(avro_columns, st.binary(max_size=40), st.booleans())
    @settings(suppress_health_check=[HealthCheck.too_slow])
    def test_any_bytes_are_a_row_or_a_decode_error(self, columns: Columns, noise: bytes, typed: bool) -> None:
        text = internal_schema(WriteSpec(columns=columns))
        read = decoder(text, ReadSpec(columns=columns if typed else None))
        try:
            row = read(noise, 0)
        except DecodeError:
            return
        assert isinstance(row, dict)
