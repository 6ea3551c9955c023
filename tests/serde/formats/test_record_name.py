"""The name of a schema's record (Confluent's `ParsedSchema.name`)."""

from __future__ import annotations

import pytest

from srfix.serde import Schema, SchemaError
from srfix.serde.formats.table import record_name

ORDER = '{"type":"record","name":"Order","namespace":"com.example","fields":[]}'


class TestAvro:
    """`AvroSchema.name`: the full name where the root is a record."""

    @pytest.mark.parametrize(
        ("text", "name"),
        [
            (ORDER, "com.example.Order"),
            ('{"type":"record","name":"a.b.C","namespace":"ignored","fields":[]}', "a.b.C"),
            ('{"type":"record","name":"C","fields":[]}', "C"),
            ('"string"', None),
            ('{"type":"string"}', None),
            (f'["null",{ORDER}]', None),
            ('{"type":"enum","name":"E","symbols":["A"]}', None),
            ('{"type":"array","items":"int"}', None),
        ],
    )
    def test_only_a_record_has_one(self, text: str, name: str | None) -> None:
        assert record_name(Schema(text=text)) == name

    def test_a_root_that_is_another_schemas_record_has_its_name(self) -> None:
        assert record_name(Schema(text='"com.example.Order"'), (ORDER,)) == "com.example.Order"

    def test_a_text_that_is_no_schema_is_refused(self) -> None:
        with pytest.raises(SchemaError):
            record_name(Schema(text="nonsense"))


class TestJsonSchema:
    """`JsonSchema.name`: the title."""

    @pytest.mark.parametrize(
        ("text", "name"),
        [
            ('{"title":"com.example.Order","type":"object"}', "com.example.Order"),
            ('{"type":"object"}', None),
            ('{"properties":{"a":{"title":"A"}}}', None),
            ('{"title":7}', None),
            ("true", None),
        ],
    )
    def test_only_the_roots_title_is_one(self, text: str, name: str | None) -> None:
        assert record_name(Schema(text=text, schema_type="JSON")) == name

    def test_a_text_that_is_no_json_is_refused(self) -> None:
        with pytest.raises(SchemaError, match=r"^The schema text is not JSON"):
            record_name(Schema(text="nonsense", schema_type="JSON"))


def test_a_text_that_nests_too_deep_for_a_parser_is_refused() -> None:
    with pytest.raises(SchemaError, match=r"^The schema text is not JSON"):
        record_name(Schema(text="[" * 100_000, schema_type="JSON"))
