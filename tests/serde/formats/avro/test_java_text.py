"""The text by which Java's readers look a schema up; as a registry's own text it is tested with the fixture registry."""

from __future__ import annotations

import json

import pytest

from srfix.serde import Schema
from srfix.serde.formats.table import as_readers_ask
from srfix.serde.schemas.models import SchemaReference

LONG = '{"type":"record","name":"U","namespace":"a","fields":[{"name":"id","type":"long"}]}'


@pytest.mark.parametrize(
    ("sent", "asked"),
    [
        ('{ "type": "string" }', '"string"'),
        ('{"name":"U","namespace":"a","type":"record","fields":[{"type":{"type":"long"},"name":"id"}]}', LONG),
        (
            '{"type":"record","name":"a.U","fields":[{"name":"e","type":{"type":"enum","name":"E","namespace":"a","symbols":["X"]}}]}',
            '{"type":"record","name":"U","namespace":"a","fields":[{"name":"e","type":{"type":"enum","name":"E","symbols":["X"]}}]}',
        ),
        ('{"type":"long","logicalType":"timestamp-millis"}', '{"type":"long","logicalType":"timestamp-millis"}'),
        (
            '{"type":"record","name":"U","fields":[{"name":"d","type":"double","default":1e10}]}',
            '{"type":"record","name":"U","fields":[{"name":"d","type":"double","default":1.0E10}]}',
        ),
        (
            '{"type":"record","name":"U","fields":[{"name":"a","type":"long","order":"IGNORE"},'
            '{"name":"b","type":"long","order":"Ascending","default":1e400}]}',
            '{"type":"record","name":"U","fields":[{"name":"a","type":"long","order":"ignore"},'
            '{"name":"b","type":"long","default":"Infinity"}]}',
        ),
        (
            '{"type":"record","name":"p.U","fields":[{"name":"a","type":{"type":"fixed","name":"string","size":1}},'
            '{"name":"b","type":"p.string"}]} // a comment, and "no text"',
            '{"type":"record","name":"U","namespace":"p","fields":[{"name":"a","type":{"type":"fixed","name":"string","size":1}},'
            '{"name":"b","type":"p.string"}]}',
        ),
        (
            '{"type":"record","name":"N","fields":[{"name":"u","type":["null",{"type":"record","name":"p.U","doc":"a // b",'
            '"fields":[{"name":"n","type":["null",".N"]}]}]}]}',
            '{"type":"record","name":"N","fields":[{"name":"u","type":["null",{"type":"record","name":"U","namespace":"p",'
            '"doc":"a // b","fields":[{"name":"n","type":["null","N"]}]}]}]}',
        ),
        (
            '[{"type":"fixed","name":"p.U","size":1}, {"type":"fixed","name":"q.U","size":1}]',
            '[{"type":"fixed","name":"U","namespace":"p","size":1},{"type":"fixed","name":"U","namespace":"q","size":1}]',
        ),
        ('{"type":"record","name":"U","fields":[{"name":"x","type":"Unknown"}]}', None),
        ("no schema", None),
        ("[" * 100_000, None),
        ("/*" * 300_000, None),
    ],
)
def test_of_avro_it_is_what_schema_to_string_writes(sent: str, asked: str | None) -> None:
    assert as_readers_ask(Schema(text=sent)).text == (sent if asked is None else asked)


def test_a_name_that_a_reference_defines_stays_a_name() -> None:
    fields = [{"name": "x", "type": "a.X"}, {"name": "y", "type": {"type": "array", "items": "b.Y"}}]
    sent = {"type": "record", "name": "U", "namespace": "a", "fields": fields}
    schema = Schema(text=json.dumps(sent), references=(SchemaReference(name="a.X", subject="x", version=1),))
    asked = as_readers_ask(schema)
    assert asked.references == schema.references
    assert [field["type"] for field in json.loads(asked.text)["fields"]] == ["X", {"type": "array", "items": "b.Y"}]


def test_of_json_it_is_the_document_without_blanks_and_of_protobuf_what_was_answered() -> None:
    text = '{"b": 1,\n "a": "ä", "c": 1.50, "d": 1e5, "e": 0.00000010, "f": -0.0}'
    written = '{"b":1,"a":"ä","c":1.50,"d":1E+5,"e":1.0E-7,"f":0.0}'
    assert as_readers_ask(Schema(text=text, schema_type="JSON")).text == written
    protobuf = Schema(text='syntax = "proto3";  message U {}', schema_type="PROTOBUF")
    assert as_readers_ask(protobuf) == protobuf


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_a_text_that_jackson_does_not_parse_is_asked_as_it_is(number: str) -> None:
    json_text = f'{{"default": {number}}}'
    assert as_readers_ask(Schema(text=json_text, schema_type="JSON")).text == json_text
    avro = f'{{"type": "record", "name": "U", "fields": [{{"name": "d", "type": "double", "default": {number}}}]}}'
    assert as_readers_ask(Schema(text=avro)).text == avro
