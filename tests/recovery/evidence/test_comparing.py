"""Whether a field of one type can feed a column of another.

| the writer's | the column's | |
|---|---|---|
| a number | a number, text | yes |
| text | a number | no |
| boolean | text | yes |
| a union | what one branch feeds | yes |
| a record | text | no |
| what is not known | anything | yes |
"""

from __future__ import annotations

import json

import pytest

from srfix.recovery.evidence.comparing import can_feed, field_types
from srfix.serde.schemas.models import Schema


def types(of_field: object) -> frozenset[str]:
    fields = [{"name": "f", "type": of_field}]
    return field_types(Schema(text=json.dumps({"type": "record", "name": "R", "fields": fields})))["f"]


RECORD = {"type": "record", "name": "S", "fields": []}
ENTRIES = {"type": "array", "items": "string"}


class TestCanFeed:
    @pytest.mark.parametrize(
        ("writer", "column", "can"),
        [
            ("long", ["null", "long"], True),
            ("int", "long", True),
            ("long", "string", True),
            ("string", "long", False),
            (["null", "string"], ["null", "long"], False),
            ("boolean", "string", True),
            ("boolean", "long", False),
            ("string", "bytes", True),
            ({"type": "bytes", "logicalType": "decimal"}, {"type": "bytes", "logicalType": "decimal"}, True),
            (["null", "string", "long"], "long", True),
            (RECORD, RECORD, True),
            (RECORD, "string", False),
            ({"type": "map", "values": "string"}, ENTRIES, True),
            (ENTRIES, "string", False),
            ("com.example.Named", "long", True),
            ({"type": "enum", "name": "E", "symbols": ["A"]}, "string", True),
        ],
    )
    def test_case(self, writer: object, column: object, can: bool) -> None:
        assert can_feed(types(writer), types(column)) is can

    def test_what_is_not_known_may(self) -> None:
        assert can_feed(None, types("long"))
        assert can_feed(types("long"), None)


@pytest.mark.core
class TestFieldTypes:
    @pytest.mark.parametrize("text", ['"string"', "{", "[]", '{"type": "record", "name": "R"}'])
    def test_of_what_is_no_record_nothing(self, text: str) -> None:
        assert field_types(Schema(text=text)) == {}

    def test_of_another_schema_type_nothing(self) -> None:
        assert field_types(Schema(text="{}", schema_type="JSON")) == {}
