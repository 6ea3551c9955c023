"""Columns of JSON Schemas: Everit's loader, `JsonSchemaData.toConnectSchema`, `ConnectKsqlSchemaTranslator`.

What the loader makes of a text was compared with Everit 1.14.3 itself, on thousands of random schemas.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

import pytest

from srfix.serde import ColumnError, Role, SchemaError, columns_from_json_schema, print_columns
from srfix.serde.connect.columns import Dropped
from srfix.serde.connect.schema import ConnectType
from srfix.serde.formats.json_schema.connect import connect_schema
from srfix.serde.formats.json_schema.format import infer_columns as infer_json_schema
from srfix.serde.schemas.references import ReferenceText

_DATE = "org.apache.kafka.connect.data.Date"
_ONE_OF = "IO.CONFLUENT.CONNECT.JSON.ONEOF.FIELD"


def _inferred(text: str) -> str:
    return print_columns(columns_from_json_schema(text))


def _decimal(**parameters: str) -> str:
    name = "org.apache.kafka.connect.data.Decimal"
    return json.dumps({"type": "number", "connect.type": "bytes", "title": name, "connect.parameters": parameters})


def _object(**properties: object) -> str:
    return json.dumps({"type": "object", "properties": properties})


class TestOneProperty:
    @pytest.mark.parametrize(
        ("schema", "expected"),
        [
            # JsonSchemaData.toConnectSchema: types and connect.type
            ('{"type":"boolean"}', "BOOLEAN"),
            ('{"type":"integer"}', "BIGINT"),
            ('{"type":"number"}', "DOUBLE"),
            ('{"type":"string"}', "STRING"),
            ('{"type":"integer","connect.type":"int8"}', "INTEGER"),
            ('{"type":"integer","connect.type":"int16"}', "INTEGER"),
            ('{"type":"integer","connect.type":"int32"}', "INTEGER"),
            ('{"type":"integer","connect.type":"int64"}', "BIGINT"),
            ('{"type":"number","connect.type":"int32"}', "INTEGER"),
            ('{"type":"number","connect.type":"float32"}', "DOUBLE"),
            ('{"type":"number","connect.type":"float64"}', "DOUBLE"),
            ('{"type":"number","connect.type":"bytes"}', "BYTES"),
            ('{"type":"string","connect.type":"bytes"}', "BYTES"),
            ('{"type":"string","connect.type":"int32"}', "STRING"),
            ('{"type":"boolean","connect.type":"int32"}', "BOOLEAN"),
            # the title is the name, and so the logical type, if the type goes with it
            (f'{{"type":"integer","connect.type":"int32","title":"{_DATE}","connect.version":1}}', "DATE"),
            (f'{{"type":"integer","title":"{_DATE}"}}', "BIGINT"),
            ('{"type":"integer","connect.type":"int32","title":"org.apache.kafka.connect.data.Time"}', "TIME"),
            ('{"type":"integer","title":"org.apache.kafka.connect.data.Timestamp"}', "TIMESTAMP"),
            (_decimal(scale="2", **{"connect.decimal.precision": "5"}), "DECIMAL(5, 2)"),
            (_decimal(scale="2"), "DECIMAL(64, 2)"),  # DecimalUtil: no precision is 64
            # enums are texts
            ('{"enum":["a","b"]}', "STRING"),
            ('{"type":"string","enum":["a",null]}', "STRING"),
            ('{"type":"integer","enum":[1,2]}', "BIGINT"),
            ('{"type":"string","const":"a"}', "STRING"),
            ('{"type":"number","const":1.5}', "DOUBLE"),
            # a number with a format is loaded as an allOf of a number and a string, and its connect.type stays outside
            ('{"type":"integer","format":"int32"}', "BIGINT"),
            ('{"type":"integer","format":"int32","connect.type":"int32"}', "BIGINT"),
            ('{"type":"number","format":"double"}', "DOUBLE"),
            ('{"type":"string","format":"date-time"}', "STRING"),
            ('{"type":"string","minimum":3}', "DOUBLE"),
            ('{"minimum":3}', "DOUBLE"),
            ('{"minLength":3}', "STRING"),
            # null beside one other type
            ('{"oneOf":[{"type":"null"},{"type":"integer","connect.type":"int32"}]}', "INTEGER"),
            ('{"oneOf":[{"type":"string"},{"type":"null"}]}', "STRING"),
            ('{"anyOf":[{"type":"null"},{"type":"boolean"}]}', "BOOLEAN"),
            ('{"type":["null","string"]}', "STRING"),
            ('{"type":["integer","null"],"default":null}', "BIGINT"),
            ('{"type":["object","null"],"properties":{"x":{"type":"string"}}}', "STRUCT<X STRING>"),
            # several types: a STRUCT of them
            ('{"oneOf":[{"type":"string"},{"type":"integer"}]}', f"STRUCT<`{_ONE_OF}.0` STRING, `{_ONE_OF}.1` BIGINT>"),
            ('{"type":["null","string","boolean"]}', f"STRUCT<`{_ONE_OF}.0` STRING, `{_ONE_OF}.1` BOOLEAN>"),
            ('{"oneOf":[{"type":"string"}]}', f"STRUCT<`{_ONE_OF}.0` STRING>"),
            ('{"type":["null"]}', "STRUCT< >"),
            # allOf: JsonSchemaData.allOfToConnectSchema
            ('{"allOf":[{"type":"string"},{"minLength":1}]}', "STRING"),
            ('{"allOf":[{"type":"integer"},{"oneOf":[{"type":"null"},{"type":"string"}]}]}', "STRING"),
            (
                '{"allOf":[{"properties":{"b":{"type":"string"}}},{"properties":{"a":{"type":"integer"}}}]}',
                "STRUCT<B STRING, A BIGINT>",
            ),
            ('{"allOf":[{"$ref":"#/definitions/name"}]}', "STRING"),
            # arrays and maps
            ('{"type":"array","items":{"type":"integer"}}', "ARRAY<BIGINT>"),
            ('{"items":{"type":"string"}}', "ARRAY<STRING>"),
            (
                '{"type":"object","connect.type":"map","additionalProperties":{"type":"integer"}}',
                "MAP<STRING, BIGINT>",
            ),
            (
                '{"type":"array","connect.type":"map","items":{"type":"object","properties":'
                '{"key":{"type":"integer"},"value":{"type":"boolean"}}}}',
                "MAP<STRING, BOOLEAN>",
            ),
            # references
            ('{"$ref":"#/definitions/name"}', "STRING"),
            ('{"$ref":"#/definitions/address"}', "STRUCT<STREET STRING>"),
            ('{"oneOf":[{"type":"null"},{"$ref":"#/definitions/address"}]}', "STRUCT<STREET STRING>"),
            ('{"$ref":"#name"}', "STRING"),
        ],
    )
    def test_it_is_the_column_of_the_engine(self, schema: str, expected: str) -> None:
        text = json.dumps(
            {
                "type": "object",
                "properties": {"p": json.loads(schema)},
                "definitions": {
                    "name": {"$id": "#name", "type": "string"},
                    "address": {"type": "object", "properties": {"street": {"type": "string"}}},
                },
            }
        )
        assert _inferred(text) == f"P {expected}"

    @pytest.mark.parametrize(
        ("schema", "words"),
        [
            ("{}", "a part of the schema is a EmptySchema"),
            ("true", "a part of the schema is a TrueSchema"),
            ("false", "a part of the schema is a FalseSchema"),
            ('{"type":"null"}', "a part of the schema is a NullSchema"),
            ('{"const":1}', "a part of the schema is a ConstSchema"),
            ('{"not":{"type":"string"}}', "a part of the schema is a NotSchema"),
            ('{"oneOf":[{"type":"null"},{"type":"null"}]}', "allows only null"),
            ('{"type":"array"}', "does not specify the type of its items"),
            ('{"type":"array","items":[{"type":"string"}]}', "does not specify the type of its items"),
            ('{"type":"object","connect.type":"map"}', "does not specify the type of its values"),
            ('{"type":"array","connect.type":"map","items":{"type":"object"}}', "but the entries have no key"),
            ('{"allOf":[]}', "an allOf of nothing"),
            ('{"type":"boolean","minimum":1}', "an allOf of BooleanSchema, NumberSchema"),
            ('{"type":"number","connect.type":"int65"}', "Unsupported connect.type of a number"),
            ('{"type":"string","connect.index":"1"}', "Expected an integer of 32 bits as connect.index"),
            ('{"type":"string","connect.version":1.5}', "Expected an integer of 32 bits as connect.version"),
            ('{"type":"string","connect.parameters":[]}', "Expected an object as connect.parameters"),
            ('{"type":"string","default":null}', "Invalid null value for required string field"),
            ('{"type":"text"}', "but JSON Schema has no such type"),
            ('{"type":3}', "but JSON Schema has no such type"),
            ('{"properties":[]}', "it must be an object"),
            ('{"required":"a"}', "it must be a list of names"),
            ('{"oneOf":{}}', "it must be a list of schemas"),
            ('{"title":3}', "it must be a text"),
            ('{"$ref":"#/definitions/other"}', "which is not in it"),
            ('{"$ref":"other.json"}', "srfix fetches nothing"),
            ('{"$ref":"http://127.0.0.1:1/a.json"}', "srfix fetches nothing"),
            ('{"$ref":"file:///etc/passwd"}', "srfix fetches nothing"),
            ('{"$ref":"#/properties/p"}', "nests deeper than"),
        ],
    )
    def test_what_the_engine_refuses_is_refused(self, schema: str, words: str) -> None:
        with pytest.raises(SchemaError, match=re.compile(words, re.IGNORECASE)):
            columns_from_json_schema(f'{{"type":"object","properties":{{"p":{schema}}}}}')

    def test_a_boolean_is_no_schema_of_items_in_draft_4(self) -> None:
        text = '{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"p":{"items":true}}}'
        with pytest.raises(SchemaError, match=r"draft 4 does not allow"):
            columns_from_json_schema(text)


class TestOrder:
    def test_by_connect_index(self) -> None:
        text = _object(
            a={"type": "string", "connect.index": 2},
            b={"type": "string", "connect.index": 0},
            c={"oneOf": [{"type": "null"}, {"type": "string"}], "connect.index": 1},
        )
        assert _inferred(text) == "B STRING, C STRING, A STRING"

    def test_without_an_index_as_a_hash_map_has_them(self) -> None:
        text = _object(key={"type": "string"}, value={"type": "string"})
        assert _inferred(text) == "VALUE STRING, KEY STRING"

    def test_of_two_with_one_index_the_later_one_stays(self) -> None:
        # JsonSchemaData's TreeMap: "value" comes first in the HashMap.
        text = _object(key={"type": "string", "connect.index": 1}, value={"type": "boolean", "connect.index": 1})
        assert _inferred(text) == "KEY STRING"


class TestNames:
    def test_they_are_kept_if_asked(self) -> None:
        assert print_columns(columns_from_json_schema(_object(aB={"type": "string"}), names="keep")) == "`aB` STRING"

    def test_two_that_become_one_are_refused(self) -> None:
        with pytest.raises(ColumnError, match=r"^Two fields of the schema become the column 'A' in upper case\."):
            columns_from_json_schema(_object(a={"type": "string"}, A={"type": "string"}))


class TestWhole:
    def test_a_map_with_keys_that_no_column_has_is_left_out(self) -> None:
        entries = {"type": "object", "properties": {"key": {"type": "number"}, "value": {"type": "string"}}}
        inferred = infer_json_schema(
            _object(m={"type": "array", "connect.type": "map", "items": entries}, s={"type": "string"})
        )
        assert print_columns(inferred.columns) == "S STRING"
        assert inferred.dropped == (Dropped("->m", "Unsupported type for map key: float64"),)

    def test_a_bare_type_is_a_column_if_unwrapped(self) -> None:
        text = '{"oneOf":[{"type":"null"},{"type":"integer"}]}'
        inferred = infer_json_schema(text, role=Role.KEY, wrapped=False)
        assert print_columns(inferred.columns) == "ROWKEY BIGINT"
        with pytest.raises(ColumnError, match=r"inferred from a record, but the schema is a bare int64"):
            infer_json_schema(text)

    @pytest.mark.parametrize("text", ["", "nonsense", "[]", "true", "1", '"a"', "{" * 3000, '{"a":' * 3000, "\ud800"])
    def test_what_is_no_schema_is_refused(self, text: str) -> None:
        with pytest.raises(SchemaError):
            columns_from_json_schema(text)

    def test_drafts_since_2019_take_what_stands_beside_a_reference(self) -> None:
        text = json.dumps(
            {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "type": "object",
                "properties": {"p": {"$ref": "#/$defs/a", "properties": {"y": {"type": "string"}}}},
                "$defs": {"a": {"type": "object", "properties": {"x": {"type": "integer"}}}},
            }
        )
        assert _inferred(text) == "P STRUCT<X BIGINT, Y STRING>"
        assert _inferred(text.replace("https://json-schema.org/draft/2020-12/schema", "x")) == "P STRUCT<X BIGINT>"


class TestReferences:
    _TEXT = '{"type":"object","properties":{"a":{"$ref":"other.json#/definitions/x"},"b":{"$ref":"other.json"}}}'
    _OTHER = '{"type":"object","properties":{"q":{"$ref":"#/definitions/x"}},"definitions":{"x":{"type":"string"}}}'

    @pytest.mark.parametrize(
        ("text", "reference"),
        [
            (_TEXT, ReferenceText(_OTHER, name="other.json")),
            (_TEXT, _OTHER.replace("{", '{"$id":"other.json",', 1)),
            # A name is relative to the id of the schema.
            (_TEXT.replace("{", '{"$id":"http://x.com/schemas/a.json",', 1), ReferenceText(_OTHER, name="other.json")),
            (_TEXT, _OTHER),  # the only text is the only name
        ],
    )
    def test_they_are_found_by_name_and_id(self, text: str, reference: str) -> None:
        columns = columns_from_json_schema(text, references=(reference,))
        assert print_columns(columns) == "A STRING, B STRUCT<Q STRING>"

    def test_another_name_of_the_same_text_is_another_reference(self) -> None:
        columns_from_json_schema(self._TEXT, references=(ReferenceText(self._OTHER, name="other.json"),))
        with pytest.raises(SchemaError, match=r"which is not among the 1 texts that came with the schema"):
            columns_from_json_schema(self._TEXT, references=(ReferenceText(self._OTHER, name="another.json"),))

    def test_a_schema_that_contains_itself_is_a_cycle_for_connect_and_no_columns(self) -> None:
        text = _object(next={"$ref": "#"}, name={"type": "string"})
        schema = connect_schema(text)
        by_name = {part.name: part.schema for part in schema.fields}
        assert by_name["next"].fields == schema.fields
        with pytest.raises(ColumnError, match=r"nests deeper than 64 levels.* is it recursive\?"):
            columns_from_json_schema(text)

    def test_one_definition_that_is_used_a_thousand_times_is_converted_once(self) -> None:
        first = {"type": "object", "properties": {"x": {"type": "string"}}}
        text = _definitions(60, first, lambda last: {"type": "object", "properties": {"l": last, "r": last}})
        assert connect_schema(text).type is ConnectType.STRUCT
        with pytest.raises(ColumnError, match=r"more than 10,000 fields"):
            columns_from_json_schema(text)

    @pytest.mark.slow
    def test_alternatives_that_multiply_are_refused_in_time(self) -> None:
        text = _definitions(40, {"type": "string"}, lambda last: {"oneOf": [last, last, last]})
        with pytest.raises(SchemaError, match=r"more than 200,000 types"):
            columns_from_json_schema(text)


def _definitions(levels: int, first: object, of_last: Callable[[object], object]) -> str:
    """A property of the last of so many definitions, each made of a reference to the one before."""
    definitions = {"d0": first}
    for level in range(1, levels):
        definitions[f"d{level}"] = of_last({"$ref": f"#/definitions/d{level - 1}"})
    last = {"$ref": f"#/definitions/d{levels - 1}"}
    return json.dumps({"type": "object", "properties": {"p": last}, "definitions": definitions})
