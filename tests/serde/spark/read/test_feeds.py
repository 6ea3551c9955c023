"""Which writer field feeds which column, in words: against what the deserializer does."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde.casing import CaseRule
from srfix.serde.columns.text import parse_columns
from srfix.serde.columns.types import BIGINT, STRING, Array, Column, Columns, Map, Struct
from srfix.serde.errors import CasingError, ColumnError, DecodeError, IncompatibleTypeError
from srfix.serde.formats.table import Format, schema_module_of
from srfix.serde.resolve.resolved import ResolvedSchema
from srfix.serde.schemas.models import Schema
from srfix.serde.spark.interface import Feed, PlannedSchema
from srfix.serde.spark.read.filling import planned_feeds
from srfix.serde.specs import ReadSpec, WriteSpec
from srfix.serde.wire import SchemaId
from tests.serde.avro_schemas import (
    DATE,
    MICROS,
    MILLIS,
    TIME_MILLIS,
    array,
    decimal,
    entries,
    enum,
    fixed,
    map_of,
    record,
)
from tests.strategies import avro_columns, values_of


def _feeds(
    schema: object,
    columns: Columns | str,
    *,
    format_: Format = Format.AVRO,
    rule: CaseRule = CaseRule.UNIQUE,
    wrapped: bool = True,
) -> PlannedSchema:
    text = schema if isinstance(schema, str) else json.dumps(schema)
    resolved = ResolvedSchema(
        schema_id=SchemaId(1), schema=Schema(text=text, schema_type="AVRO" if format_ is Format.AVRO else "JSON")
    )
    parsed = parse_columns(columns) if isinstance(columns, str) else columns
    return planned_feeds(format_, resolved, ReadSpec(columns=parsed, wrap=wrapped, case_rule=rule))


def _lines(feeds: PlannedSchema) -> list[tuple[str, str | None, str | None]]:
    return [(feed.column, feed.field, feed.detail) for feed in feeds.feeds]


class TestAvro:
    def test_columns_stand_in_their_order_with_the_writers_letters(self) -> None:
        feeds = _feeds(record(name="string", userId="long"), "USERID BIGINT, AGE INT, NAME STRING")
        assert _lines(feeds) == [("USERID", "userId", None), ("AGE", None, None), ("NAME", "name", None)]

    def test_what_no_column_takes_is_named(self) -> None:
        feeds = _feeds(record(a=record("A", x="int", y="int"), b="int"), "A STRUCT<X INT>")
        assert feeds.unused == ("b", "a->y")

    @pytest.mark.parametrize(
        ("writer", "column", "detail"),
        [
            ("int", "INT", None),
            (["null", "long"], "BIGINT", None),
            ("int", "BIGINT", "int to BIGINT"),
            ({"type": "int", "connect.type": "int8"}, "INT", "int (int8) to INTEGER"),
            ("float", "DOUBLE", "float to DOUBLE"),
            ("boolean", "STRING", "boolean to STRING"),
            (enum("A"), "STRING", "enum E to STRING"),
            (fixed(2), "BYTES", "fixed F to BYTES"),
            (DATE, "DATE", None),
            (DATE, "BIGINT", "int (date) to BIGINT"),
            (TIME_MILLIS, "TIME", None),
            (MILLIS, "TIMESTAMP", None),
            (MICROS, "TIMESTAMP", "long (timestamp-micros) to TIMESTAMP"),
            (decimal(4, 2), "DECIMAL(4, 2)", None),
            (decimal(4, 2), "DECIMAL(6, 3)", "bytes (decimal 4, 2) to DECIMAL(6, 3)"),
            (["null", {"type": "int", "connect.default": 5}], "INT", "null as 5"),
            (["null", {"type": "int", "connect.default": 5}], "STRING", "int to STRING; null as 5"),
            (["int", "string"], "STRUCT<`int` INT, `string` STRING>", "union of int, string to STRUCT"),
            (array("int"), "ARRAY<INT>", None),
            (map_of("int"), "MAP<STRING, INT>", None),
        ],
    )
    def test_what_happens_to_a_value_on_the_way(self, writer: object, column: str, detail: str | None) -> None:
        assert _lines(_feeds(record(a=writer), f"A {column}"))[0] == ("A", "a", detail)

    def test_records_arrays_and_maps_are_gone_into(self) -> None:
        writer = record(lines=array(record("Item", sku="string", count="int")), byName=map_of("Item"))
        columns = "LINES ARRAY<STRUCT<SKU STRING, COUNT BIGINT>>, BYNAME MAP<STRING, STRUCT<NOTE STRING>>"
        assert _lines(_feeds(writer, columns)) == [
            ("LINES", "lines", None),
            ("LINES->ARRAY->SKU", "lines->ARRAY->sku", None),
            ("LINES->ARRAY->COUNT", "lines->ARRAY->count", "int to BIGINT"),
            ("BYNAME", "byName", None),
            ("BYNAME->MAP_VAL->NOTE", None, None),
        ]

    def test_a_map_written_as_entries_is_a_map(self) -> None:
        feeds = _feeds(record(m=entries("string", "int")), "M MAP<STRING, BIGINT>")
        assert _lines(feeds) == [("M", "m", None), ("M->MAP_VAL", "m->MAP_VAL", "int to BIGINT")]

    def test_branches_of_a_union_feed_by_their_names(self) -> None:
        feeds = _feeds(record(u=["null", "int", "string"]), "U STRUCT<INT BIGINT, OTHER INT>")
        assert _lines(feeds) == [
            ("U", "u", "union of null, int, string to STRUCT"),
            ("U->INT", "u->int", "int to BIGINT"),
            ("U->OTHER", None, None),
        ]
        assert feeds.unused == ("u->string",)

    def test_a_recursive_schema_is_followed_as_far_as_the_columns_go(self) -> None:
        feeds = _feeds(record("U", next=["null", "U"], v="int"), "NEXT STRUCT<NEXT STRUCT<V INT>>")
        assert [feed.field for feed in feeds.feeds] == ["next", "next->next", "next->next->v"]

    def test_a_bare_value_feeds_the_column_from_the_root(self) -> None:
        assert _lines(_feeds('"int"', "K BIGINT", wrapped=False)) == [("K", "", "int to BIGINT")]


class TestRefusals:
    def test_a_type_that_does_not_feed_its_column_is_a_problem_of_every_row(self) -> None:
        feeds = _feeds(record(a=array("int")), "A STRING")
        assert isinstance(feeds.problem, IncompatibleTypeError)
        assert feeds.feeds[0].refusal == feeds.problem.message

    def test_within_items_it_is_one_of_the_rows_that_have_some(self) -> None:
        feeds = _feeds(record(a=array("string")), "A ARRAY<INT>")
        assert feeds.problem is None
        assert [feed.refusal is None for feed in feeds.feeds] == [True, False]


class TestCaseRules:
    def test_ksqldb_says_which_fields_come_before_the_last(self) -> None:
        feeds = _feeds(record(userId="int", USERID="long", userid="string"), "USERID STRING", rule=CaseRule.KSQLDB)
        assert _lines(feeds) == [("USERID", "userid", "overrides userId, USERID")]

    def test_ksqldb_looks_at_the_types_of_those_before_too(self) -> None:
        feeds = _feeds(record(userId="string", USERID="long"), "USERID BIGINT", rule=CaseRule.KSQLDB)
        assert isinstance(feeds.problem, IncompatibleTypeError)


class TestJsonSchema:
    SCHEMA: Final = {
        "type": "object",
        "properties": {
            "userId": {"type": "integer"},
            "seen": {"type": "integer", "title": "org.apache.kafka.connect.data.Timestamp", "connect.type": "int64"},
            "choice": {"oneOf": [{"type": "integer"}, {"type": "string"}]},
            "tags": {"type": "array", "items": {"type": "integer"}},
        },
    }

    def test_properties_feed_as_avro_fields_do(self) -> None:
        columns = "TAGS ARRAY<STRING>, SEEN TIMESTAMP, USERID STRING, X INT"
        assert _lines(_feeds(self.SCHEMA, columns, format_=Format.JSON_SR)) == [
            ("TAGS", "tags", None),
            ("TAGS->ARRAY", "tags->ARRAY", "int64 to STRING"),
            ("SEEN", "seen", None),
            ("USERID", "userId", "int64 to STRING"),
            ("X", None, None),
        ]

    def test_a_one_of_is_a_struct(self) -> None:
        feeds = _feeds(self.SCHEMA, "CHOICE STRUCT<connect_union_field_0 BIGINT>", format_=Format.JSON_SR)
        assert _lines(feeds)[0] == ("CHOICE", "choice", "oneOf to STRUCT")

    def test_up_to_0_28_the_keys_of_documents_count(self) -> None:
        feeds = _feeds(self.SCHEMA, "USERID STRING, X INT", format_=Format.JSON_SR, rule=CaseRule.KSQLDB_2020)
        detail = "by each document's keys, whatever the schema says"
        assert _lines(feeds) == [("USERID", "userId", detail), ("X", None, detail)]


def _swapped(name: str, how: int) -> str:
    return (str, str.upper, str.lower, str.swapcase)[how](name)


@st.composite
def _readers(draw: Callable[..., object], writer: Columns) -> Columns:
    """Columns beside those of a writer: some of them, with other letters, other types, and some more."""
    made: dict[str, Column] = {}
    for column in writer:
        if draw(st.booleans()):
            name = _swapped(column.name, draw(st.integers(0, 3)))  # type: ignore[arg-type]  # draw gives anything
            type_ = draw(st.sampled_from([column.type, STRING, BIGINT, Array(STRING), Map(BIGINT)]))
            made[name] = Column(name, type_)  # type: ignore[arg-type]
    made.setdefault("EXTRA1", Column("EXTRA1", Struct((Column("X", BIGINT),))))
    return tuple(made.values())


@pytest.mark.parametrize("format_", [Format.AVRO, Format.JSON_SR])
@given(data=st.data(), writer=avro_columns, rule=st.sampled_from(CaseRule))
def test_feeds_say_what_the_decoder_does(format_: Format, data: st.DataObject, writer: Columns, rule: CaseRule) -> None:
    module = schema_module_of(format_)
    reader = data.draw(_readers(writer))
    try:
        text = module.internal_schema(WriteSpec(columns=writer))
        decode = module.decoder(text, ReadSpec(columns=reader, case_rule=rule))
    except (ColumnError, CasingError):
        return
    feeds = _feeds(text, reader, format_=format_, rule=rule)
    row = {column.name: data.draw(values_of(column.type)) for column in writer}
    body = module.encoder(text, WriteSpec(columns=writer, case_rule=CaseRule.EXACT))(row, b"")
    top = [feed for feed in feeds.feeds if "->" not in feed.column and feed.field not in (None, "")]
    try:
        read = decode(body, 0)
    except IncompatibleTypeError:
        by_keys = format_ is Format.JSON_SR and rule is CaseRule.KSQLDB_2020
        assert by_keys or any(feed.refusal is not None for feed in feeds.feeds)
        return
    except DecodeError:
        return
    assert feeds.problem is None
    assert isinstance(read, dict)
    fed: dict[str, Feed] = {feed.column: feed for feed in top}
    types = {column.name: column.type for column in writer}
    for column in reader:
        feed = fed.get(column.name)
        if feed is None:
            assert read[column.name] is None
        elif feed.detail is None and column.type == types[str(feed.field)]:
            assert read[column.name] == row[str(feed.field)]
