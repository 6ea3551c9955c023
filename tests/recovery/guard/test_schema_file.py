"""A schema about to be registered, as it lies in a file."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.recovery.guard.models import parse_schema
from srfix.serde import Schema, SchemaReference, UsageError

RECORD = '{"type": "record", "name": "User", "fields": [{"name": "id", "type": "long"}]}'
OBJECT = '{"type": "object", "properties": {"id": {"type": "integer"}}}'

KEYS = st.sampled_from(["schema", "schemaType", "references", "type", "items", "fields", "properties", "$ref", "name"])


def _nested(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4)


def of_registry(**fields: object) -> str:
    return json.dumps({"schema": RECORD} | fields)


class TestParseSchema:
    @pytest.mark.parametrize(
        ("text", "schema_type"),
        [
            (RECORD, "AVRO"),
            ('"string"', "AVRO"),
            ('["null", "string"]', "AVRO"),
            ('{"type": "string"}', "AVRO"),
            ('{"type": "array", "items": "long"}', "AVRO"),
            (OBJECT, "JSON"),
            ('{"type": "object"}', "JSON"),
            ('{"$schema": "http://json-schema.org/draft-07/schema#", "type": "string"}', "JSON"),
            ('{"oneOf": [{"type": "string"}, {"type": "null"}]}', "JSON"),
        ],
    )
    def test_it_tells_avro_from_a_json_schema_and_keeps_the_text(self, text: str, schema_type: str) -> None:
        assert parse_schema(text, origin="s") == Schema(text=text, schema_type=schema_type)

    def test_the_form_that_a_registry_takes_brings_its_type_and_references(self) -> None:
        reference = {"name": "com.example.Address", "subject": "address-value", "version": 2}
        text = of_registry(
            schema='{"type": "record", "name": "U", "fields": [{"name": "a", "type": "com.example.Address"}]}'
        )
        with pytest.raises(UsageError, match=r"^--schema s: .*com\.example\.Address"):
            parse_schema(text, origin="s")
        document = json.loads(text) | {"schemaType": "AVRO", "references": [reference]}
        assert parse_schema(json.dumps(document), origin="s") == Schema(
            text=document["schema"],
            references=(SchemaReference(name="com.example.Address", subject="address-value", version=2),),
        )

    def test_what_a_registry_answers_is_taken_too(self) -> None:
        text = of_registry(subject="users-value", version=3, id=7, schemaType="AVRO")
        assert parse_schema(text, origin="s") == Schema(text=RECORD)

    def test_protobuf_is_taken_as_it_is(self) -> None:
        text = 'syntax = "proto3"; message User { int64 id = 1; }'
        assert parse_schema(text, origin="user.proto") == Schema(text=text, schema_type="PROTOBUF")
        with pytest.raises(UsageError, match=r"^--schema user.proto: The text is not a Protobuf schema: Reached end"):
            parse_schema(text[:-1], origin="user.proto")
        assert parse_schema(of_registry(schema=text, schemaType="PROTOBUF"), origin="s").schema_type == "PROTOBUF"

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (of_registry(schemaType="XML"), "--schema s: schemaType 'XML' is none of AVRO, JSON, PROTOBUF."),
            (of_registry(references={"a": 1}), "--schema s: references is not a list."),
            (
                of_registry(references=[{"name": "a", "subject": "b", "version": "1"}]),
                "--schema s: a reference needs a name, a subject and a version number.",
            ),
            (
                'syntax = "proto3";',
                "--schema s: the file is not JSON (Expecting value: line 1 column 1 (char 0)). Give an Avro schema, a JSON "
                "Schema, a .proto file, or a "
                'registry request: {"schema": "…", "schemaType": "JSON", "references": […]}.',
            ),
        ],
    )
    def test_what_is_none_is_refused(self, text: str, message: str) -> None:
        with pytest.raises(UsageError, match=rf"^{re.escape(message)}$"):
            parse_schema(text, origin="s")

    @pytest.mark.parametrize(
        "text", ['{"type": "recrod", "name": "U"}', "[" * 100_000, '{"type": "object", "$ref": "x"}', "1"]
    )
    def test_what_is_garbled_is_an_error_that_names_the_file(self, text: str) -> None:
        with pytest.raises(UsageError, match=r"^--schema s: "):
            parse_schema(text, origin="s")

    @given(st.text() | st.recursive(st.none() | st.booleans() | st.integers() | st.text(), _nested).map(json.dumps))
    def test_whatever_the_text_it_is_a_schema_or_an_error(self, text: str) -> None:
        try:
            found = parse_schema(text, origin="s")
        except UsageError:
            return
        assert found.schema_type in ("AVRO", "JSON", "PROTOBUF")
