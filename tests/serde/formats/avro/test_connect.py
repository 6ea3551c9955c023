"""Avro schemas as Connect's, without Java: `tests/stack` holds the same rules against the real AvroData."""

from __future__ import annotations

import json

import pytest

from srfix.serde.connect.schema import (
    ConnectField,
    ConnectSchema,
    ConnectType,
    array,
    date,
    decimal,
    map_of,
    optional,
    primitive,
)
from srfix.serde.errors import SchemaError
from srfix.serde.formats.avro.connect import UNION_NAME, connect_schema, union_field_name
from srfix.serde.formats.avro.schema import load

INT = primitive(ConnectType.INT32)
TEXT = primitive(ConnectType.STRING)
OWN = "io.confluent.connect.avro"


def _field(type_: object, **more: object) -> str:
    return json.dumps({"type": "record", "name": "n.R", "fields": [{"name": "f", "type": type_, **more}]})


def made(type_: object, **more: object) -> ConnectSchema:
    schema = connect_schema(_field(type_, **more))
    assert (schema.type, schema.name, schema.optional) == (ConnectType.STRUCT, "n.R", False)
    return schema.fields[0].schema


class TestConnectSchema:
    """AvroData.toConnectSchema."""

    @pytest.mark.parametrize(
        ("type_", "schema"),
        [
            ("float", primitive(ConnectType.FLOAT32)),
            (["null", "long"], primitive(ConnectType.INT64, optional=True)),
            ({"type": "int", "connect.type": "int8"}, primitive(ConnectType.INT8)),
            ({"type": "int", "logicalType": "date"}, date()),
            ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}, decimal(2, 4)),
            ({"type": "bytes", "logicalType": "decimal", "precision": 64, "scale": 2}, decimal(2)),
            ({"type": "array", "items": ["null", "int"]}, array(optional(INT))),
            ({"type": "map", "values": "int"}, map_of(TEXT, INT)),
            (
                {"type": "string", "connect.name": "a.B", "connect.version": 3, "connect.parameters": {"x": "y"}},
                ConnectSchema(type=ConnectType.STRING, name="a.B", version=3, parameters={"x": "y"}),
            ),
            ({"type": "string", "connect.version": -1}, TEXT),
            ({"type": "int", "logicalType": "date", "connect.version": 1.0}, date()),
            (
                {"type": "enum", "name": "a.K", "symbols": ["A"], "doc": "d", "default": "A"},
                ConnectSchema(
                    type=ConnectType.STRING,
                    name="a.K",
                    parameters={
                        f"{OWN}.enum.doc.K": "d",
                        f"{OWN}.enum.default.K": "A",
                        f"{OWN}.Enum": "a.K",
                        f"{OWN}.Enum.A": "A",
                    },
                ),
            ),
            (
                {"type": "fixed", "name": "a.F", "size": 3},
                ConnectSchema(type=ConnectType.BYTES, name="a.F", parameters={"connect.fixed.size": "3"}),
            ),
            (
                ["null", "int", "string"],
                ConnectSchema(
                    type=ConnectType.STRUCT,
                    name=UNION_NAME,
                    optional=True,
                    fields=(ConnectField("int", optional(INT)), ConnectField("string", optional(TEXT))),
                ),
            ),
        ],
    )
    def test_each_type(self, type_: object, schema: ConnectSchema) -> None:
        assert made(type_) == schema

    @pytest.mark.parametrize(
        ("type_", "given", "default", "marked"),
        [
            ("int", 5, 5, True),
            ("int", None, None, True),
            ("int", "x", None, False),
            ("bytes", "ÿ", b"\xff", True),
            ("bytes", "€", None, False),
            (["int", "null"], 5, None, False),
            ({"type": "int", "connect.default": 7}, 5, 5, False),
        ],
    )
    def test_defaults(self, type_: object, given: object, default: object, marked: bool) -> None:
        schema = made(type_, default=given)
        assert schema.default == default
        assert (f"{OWN}.field.default" in schema.parameters) is marked

    def test_connects_own_default_counts_without_one_of_the_field(self) -> None:
        assert made({"type": "int", "connect.default": 7}).default == 7

    def test_documentation_is_a_parameter_of_the_record(self) -> None:
        text = json.dumps({**json.loads(_field("int", doc="of the field")), "doc": "of the record"})
        assert dict(connect_schema(text).parameters) == {
            f"{OWN}.record.doc": "of the record",
            f"{OWN}.field.doc.f": "of the field",
        }

    def test_a_record_in_itself_is_a_cycle_with_its_own_nullability(self) -> None:
        schema = connect_schema(_field(["null", "R"]))
        (inner,) = schema.fields
        assert inner.schema.fields is schema.fields
        assert (inner.schema.name, inner.schema.optional, inner.schema.fields) == ("n.R", True, schema.fields)

    def test_a_map_entry_in_itself_is_refused(self) -> None:
        fields = [{"name": "key", "type": "string"}, {"name": "value", "type": {"type": "array", "items": "E"}}]
        entry = {"type": "record", "name": "E", "connect.internal.type": "MapEntry", "fields": fields}
        with pytest.raises(SchemaError, match=r"^The schema's types nest too deep for Connect\.$"):
            made({"type": "array", "items": entry})

    def test_types_of_references_are_known(self) -> None:
        inner = json.dumps({"type": "record", "name": "a.X", "fields": [{"name": "x", "type": "int"}]})
        assert connect_schema(_field("a.X"), (inner,)).fields[0].schema.fields == (ConnectField("x", INT),)


class TestUnionFieldName:
    """AvroData.unionMemberFieldName with enhanced.avro.schema.support=false."""

    @pytest.mark.parametrize(
        ("branch", "name"),
        [
            ("long", "long"),
            ({"type": "array", "items": "int"}, "array"),
            ({"type": "int", "logicalType": "date"}, "int"),
            ({"type": "enum", "name": "a.b.K", "symbols": ["A"]}, "K"),
            ({"type": "fixed", "name": "a.F", "size": 1}, "F"),
            ({"type": "record", "name": "Plain", "fields": []}, "Plain"),
        ],
    )
    def test_each_kind(self, branch: object, name: str) -> None:
        assert union_field_name(load(json.dumps(branch))) == name
