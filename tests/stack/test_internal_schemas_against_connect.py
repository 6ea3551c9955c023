"""Our Avro schemas against those of Confluent's real AvroData (7.0.16), byte for byte, and its Connect schemas against ours.

What ksqlDB itself adds to both is in `tests/serde`; here is what it leaves to its converter.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from srfix.serde.columns.text import parse_columns
from srfix.serde.columns.types import Column, Columns
from srfix.serde.connect.columns import connect_of
from srfix.serde.connect.generations import Generation, WrittenBy
from srfix.serde.connect.schema import ConnectField, ConnectSchema, ConnectType, array, map_of, primitive, struct
from srfix.serde.errors import ColumnError, SchemaError
from srfix.serde.formats.avro.connect import connect_schema
from srfix.serde.formats.avro.format import columns_from_avro
from srfix.serde.formats.avro.internal_schema import avro_compatible, avro_text, internal_schema, key_full_name
from srfix.serde.specs import WriteSpec
from tests.stack.avro_data import AvroData, avro_data, to_json
from tests.stack.avro_schemas import avro_schemas, entries
from tests.stack.java_process import Json
from tests.strategies import avro_columns, column_types

pytestmark = pytest.mark.stack

COLUMNS = (
    "FOO INT, `bar` STRING",
    "A BOOLEAN, B INT, C BIGINT, D DOUBLE, E STRING, F BYTES, G DATE, H TIME, I TIMESTAMP",
    "A DECIMAL(4, 2), B DECIMAL(1, 0), C DECIMAL(64, 10), D DECIMAL(40, 40)",
    "A ARRAY<INT>, B ARRAY<ARRAY<DATE>>, C ARRAY<STRUCT<D INT>>, D ARRAY<ARRAY<STRUCT<E DECIMAL(3, 1)>>>",
    "A MAP<STRING, INT>, B MAP<STRING, MAP<STRING, TIMESTAMP>>, C MAP<STRING, STRUCT<D ARRAY<MAP<STRING, BYTES>>>>",
    "A STRUCT<B STRUCT<C STRUCT<D INT>>>, E STRUCT< >",
    "A STRUCT<B STRUCT<C INT>>, A_B STRUCT<C INT>",
    "A STRUCT<B MAP<STRING, INT>>, A_B MAP<STRING, INT>, C ARRAY<STRUCT<A INT>>",
    "`a.b` STRUCT<C INT, D STRUCT<E INT>, `f.g` MAP<STRING, STRUCT<H INT>>>",
    "`ä` INT, `名前` STRUCT<`é١` INT>",
    "`namespace` INT, `type` STRING, `key` STRUCT<`value` MAP<STRING, INT>>",
)
META_DATA = pytest.mark.parametrize("meta_data", [True, False])


@pytest.fixture(scope="module")
def java() -> Iterator[AvroData]:
    with avro_data() as process:
        yield process


def the_same(java: AvroData, schema: ConnectSchema, *, meta_data: bool) -> None:
    (theirs,) = java.from_connect([schema], meta_data=meta_data)
    assert avro_text(schema, meta_data=meta_data) == theirs


class TestFromConnect:
    @META_DATA
    @pytest.mark.parametrize("full_name", ["io.confluent.ksql.avro_schemas.KsqlDataSourceSchema", "Plain", "a.b.C"])
    @pytest.mark.parametrize("text", COLUMNS)
    def test_columns(self, java: AvroData, text: str, full_name: str, meta_data: bool) -> None:
        the_same(java, avro_compatible(connect_of(parse_columns(text)), full_name), meta_data=meta_data)

    @META_DATA
    @pytest.mark.parametrize("type_", [type_ for type_ in ConnectType if type_.is_primitive])
    def test_each_primitive(self, java: AvroData, type_: ConnectType, meta_data: bool) -> None:
        for optional in (True, False):
            bare = primitive(type_, optional=optional)
            parts = (bare, array(bare), map_of(primitive(ConnectType.STRING), bare))
            fields = (ConnectField(f"F{number}", part) for number, part in enumerate(parts))
            the_same(java, struct(fields, name="n.R"), meta_data=meta_data)

    @META_DATA
    def test_generated_columns(self, java: AvroData, meta_data: bool) -> None:
        @settings(max_examples=150, deadline=None)
        @given(_columns)
        def check(columns: Columns) -> None:
            try:
                schema = avro_compatible(connect_of(columns), "n.R")
            except ColumnError:
                # Two names that meet.
                assume(False)
            the_same(java, schema, meta_data=meta_data)

        check()

    @pytest.mark.parametrize(
        ("name", "reason"),
        [
            ("2Bad", "Illegal initial character: 2Bad"),
            ("a b", "Illegal character in: a b"),
            ("a²", "Illegal character in: a²"),
            ("𝔘", "Illegal initial character: 𝔘"),
        ],
    )
    def test_the_names_that_java_refuses(self, java: AvroData, name: str, reason: str) -> None:
        columns = (Column(name, parse_columns("A INT")[0].type),)
        (theirs,) = java.from_connect([struct(connect_of(columns).fields, name="n.R")], meta_data=True)
        assert theirs == f"!SchemaParseException: {reason}"
        with pytest.raises(ColumnError, match=r" is not compatible with Avro: illegal "):
            internal_schema(WriteSpec(columns=columns))

    @pytest.mark.parametrize("name", ["INPUT", "MY_TABLE", "_A__B_", "my-source", "äb_ÖC", "A1_2B", "camelCase_X"])
    def test_the_names_of_keys(self, java: AvroData, name: str) -> None:
        assert key_full_name(name) == f"io.confluent.ksql.avro_schemas.{java.upper_camel(name)}Key"


_names = st.text(st.sampled_from("ABx_."), min_size=1, max_size=4).filter(lambda name: not name.endswith("."))
_columns: SearchStrategy[Columns] = avro_columns | st.lists(
    st.builds(Column, _names, column_types(_names)), min_size=1, max_size=4, unique_by=lambda column: column.name
).map(tuple)


def _field(type_: object, **more: object) -> str:
    return json.dumps({"type": "record", "name": "n.R", "fields": [{"name": "f", "type": type_, **more}]})


def _inner(name: str) -> dict[str, object]:
    return {"type": "record", "name": name, "fields": [{"name": "x", "type": "int"}]}


DECIMAL = "org.apache.kafka.connect.data.Decimal"
AVRO = {
    "union": _field(["null", "int", "string", _inner("a.X"), {"type": "enum", "name": "b.K", "symbols": ["A", "B"]}]),
    "union-without-null": _field(
        ["long", "bytes", {"type": "array", "items": "int"}, {"type": "map", "values": "int"}]
    ),
    "union-that-repeats-a-name": _field([_inner("a.X"), _inner("b.X")]),
    "union-default": _field(["int", "null"], default=5),
    "union-default-of-many": _field(["null", "int", "string"], default=None),
    "enum-with-doc-and-default": _field(
        {"type": "enum", "name": "K", "symbols": ["A", "B"], "doc": "d", "default": "A"},
        doc="of the field",
        default="B",
    ),
    "docs": json.dumps({**json.loads(_field("int", doc="x", default=1)), "doc": "of the record"}),
    "connect-doc": _field({"type": "int", "connect.doc": "x"}),
    "connect-default": _field({"type": "int", "connect.default": 7}),
    "int8": _field({"type": "int", "connect.type": "int8"}),
    "int16-nullable": _field(["null", {"type": "int", "connect.type": "int16"}]),
    "int24": _field({"type": "int", "connect.type": "int24"}),
    "connect-type-on-long": _field({"type": "long", "connect.type": "int8"}),
    "logical-type-before-connect-type": _field({"type": "int", "connect.type": "int8", "logicalType": "week"}),
    "connect-type-no-text": _field({"type": "int", "connect.type": 8}),
    "logical-type-no-text": _field({"type": "int", "logicalType": 8}),
    "date": _field({"type": "int", "logicalType": "date", "connect.version": 1}),
    "date-other-version": _field({"type": "int", "logicalType": "date", "connect.version": 2}),
    "date-other-name": _field({"type": "int", "logicalType": "date", "connect.name": "x.Y"}),
    "date-in-capitals": _field({"type": "int", "logicalType": "DATE"}),
    "time-micros": _field({"type": "long", "logicalType": "time-micros"}),
    "time-micros-on-int": _field({"type": "int", "logicalType": "time-micros"}),
    "timestamp": _field(["null", {"type": "long", "logicalType": "timestamp-millis"}]),
    "uuid": _field({"type": "string", "logicalType": "uuid"}),
    "decimal": _field({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}),
    "decimal-precision-64": _field({"type": "bytes", "logicalType": "decimal", "precision": 64, "scale": 2}),
    "decimal-no-precision": _field({"type": "bytes", "logicalType": "decimal", "scale": 2}),
    "decimal-by-connect": _field(
        {
            "type": "bytes",
            "connect.name": DECIMAL,
            "connect.version": 1,
            "connect.parameters": {"scale": "3", "connect.decimal.precision": "9"},
        }
    ),
    "decimal-no-scale": _field({"type": "bytes", "logicalType": "decimal", "precision": 4}),
    "decimal-precision-no-number": _field(
        {"type": "bytes", "logicalType": "decimal", "connect.version": 1, "precision": {}}
    ),
    "fixed-in-a-union": _field(["int", {"type": "fixed", "name": "a.F", "size": 1}]),
    "default-null-where-none-is-allowed": _field("int", default=None),
    "default-of-another-type": _field("int", default="x"),
    "default-of-another-type-by-connect": _field({"type": "int", "connect.default": "x"}),
    "default-bytes": _field("bytes", default="\u00ff"),
    "default-double": _field("double", default=1),
    "fixed": _field({"type": "fixed", "name": "F", "size": 4}),
    "named": _field({"type": "string", "connect.name": "a.Name", "connect.version": 3}),
    "negative-version": _field({"type": "string", "connect.version": -1}),
    "version-no-number": _field({"type": "string", "connect.version": "1"}),
    "name-no-text": _field({"type": "string", "connect.name": 1}),
    "parameters-no-object": _field({"type": "string", "connect.parameters": [1]}),
    "parameters-no-texts": _field({"type": "string", "connect.parameters": {"a": 1}}),
    "parameters": _field({"type": "string", "connect.parameters": {"b": "1", "a": "2"}}),
    "avro-properties": _field({"type": "string", "avro.java.string": "String"}),
    "default-name": json.dumps({**_inner("ConnectDefault"), "namespace": "io.confluent.connect.avro"}),
    "record-with-another-connect-name": json.dumps({**_inner("n.R"), "connect.name": "other.Name"}),
    "entries": _field(entries("int", ["null", "string"])),
    "entries-by-name": _field(
        entries(
            "string",
            "int",
            **{"namespace": "io.confluent.connect.avro", "name": "MapEntry", "connect.internal.type": 0},
        )
    ),
    "entries-of-three": _field({"type": "array", "items": {**_inner("E"), "connect.internal.type": "MapEntry"}}),
    "entries-named": _field(["null", {**entries("long", "int"), "connect.name": "n.R_f"}]),
    "recursive": _field(["null", "R"]),
    "recursive-array": _field({"type": "array", "items": "R"}),
    "recursive-map-of-unions": _field({"type": "map", "values": ["int", "R"]}),
    "recursive-twice": json.dumps(
        {
            "type": "record",
            "name": "R",
            "fields": [
                {"name": "a", "type": ["null", {**_inner("S"), "fields": [{"name": "r", "type": ["null", "R"]}]}]},
                {"name": "b", "type": ["null", "S"]},
            ],
        }
    ),
    "named-type-twice": json.dumps(
        {
            "type": "record",
            "name": "R",
            "fields": [
                {"name": "a", "type": _inner("S")},
                {"name": "b", "type": ["null", "S"]},
                {"name": "c", "type": "S"},
            ],
        }
    ),
    "null": _field("null"),
    "null-in-an-array": _field({"type": "array", "items": "null"}),
    "root-primitive": '"string"',
    "root-union": '["null", "string"]',
    "root-map": '{"type": "map", "values": "int"}',
}


class TestToConnect:
    @pytest.mark.parametrize("text", AVRO.values(), ids=AVRO.keys())
    def test_each_of_these(self, java: AvroData, text: str) -> None:
        agree(java, text)

    @pytest.mark.parametrize("text", COLUMNS)
    def test_internal_schemas(self, java: AvroData, text: str) -> None:
        for written_by in WrittenBy:
            schema = internal_schema(
                WriteSpec(columns=parse_columns(text), generation=Generation.UP_TO_0_28, written_by=written_by)
            )
            agree(java, schema)
            if "." not in text:
                assert columns_from_avro(schema, names="keep") == parse_columns(text)

    def test_generated_schemas(self, java: AvroData) -> None:
        @settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
        @given(avro_schemas())
        def check(schema: object) -> None:
            agree(java, json.dumps(schema))

        check()

    def test_this_release_does_not_flatten_a_union_of_one_as_the_newest_does(self, java: AvroData) -> None:
        text = _field(["int"])
        assert _type_of(java.to_connect([text])[0]) == ("STRUCT", "io.confluent.connect.avro.Union")
        assert _type_of(to_json(connect_schema(text))) == ("INT32", None)

    def test_a_decimal_on_a_fixed_type_is_refused_there_and_read_here(self, java: AvroData) -> None:
        text = _field({"type": "fixed", "name": "F", "size": 4, "logicalType": "decimal", "precision": 6, "scale": 2})
        assert str(java.to_connect([text])[0]).startswith("!DataException: Mismatched names: name already added")
        assert _type_of(to_json(connect_schema(text))) == ("BYTES", DECIMAL)


def _type_of(record: Json) -> object:
    """Type and name of the one field."""
    match record:
        case {"fields": [[str(), {"type": type_, "name": name}]]}:
            return type_, name
    raise AssertionError(record)


def agree(java: AvroData, text: str) -> None:
    """Both make the same of it, or both refuse it."""
    (theirs,) = java.to_connect([text])
    if isinstance(theirs, str):
        assert theirs.startswith("!")
        with pytest.raises(SchemaError):
            connect_schema(text)
    else:
        assert to_json(connect_schema(text)) == theirs
