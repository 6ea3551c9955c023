"""What `normalize=true` makes of a text: said as the fixture registry, which follows the recordings, does it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.fixtures.registry.schemas.canonical import canonical_avro, normalized_avro, unordered_avro
from srfix.recovery.repair.planning.foreseen_ids import AfterNormalizing, after_normalizing, content_key
from srfix.serde import Schema
from srfix.serde.schemas.models import Json

JSON_SORTED = '{"properties":{"a":{"type":"string"}},"title":"J","type":"object"}'
JSON_NOT = '{"title":"J","type":"object","properties":{"a":{"type":"string"}}}'

names = st.sampled_from(["a", "b", "zeta", "alpha", "connect.name"])
values: st.SearchStrategy[Json] = st.one_of(st.integers(), st.text(max_size=2), st.just({"y": 1, "x": 2}))
properties: st.SearchStrategy[dict[str, Json]] = st.dictionaries(names, values, max_size=2)
aliases = st.lists(st.sampled_from(["x", "y", "w"]), max_size=3, unique=True)
types: st.SearchStrategy[Json] = st.sampled_from(
    [
        "long",
        "double",
        ["null", "double"],
        {"type": "string", "avro.java.string": "String"},
        {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2},
        {"type": "long", "logicalType": "timestamp-millis"},
        {"type": "long", "connect.name": "org.apache.kafka.connect.data.Timestamp", "logicalType": "timestamp-millis"},
        {"type": "array", "items": "float"},
    ]
)
ENDS: list[dict[str, Json]] = [{}, {"doc": ""}, {"doc": "d"}, {"aliases": ["b", "a"]}]
DEFAULTS: dict[str, Json] = {"double": 1, "long": 1}


@st.composite
def schemas(draw: st.DrawFn) -> str:
    fields: list[Json] = []
    for name in draw(st.lists(st.sampled_from(["f", "g"]), unique=True, max_size=2)):
        kind = draw(types)
        field: dict[str, Json] = {"name": name, "type": kind}
        field |= draw(properties)
        if isinstance(kind, str) and draw(st.booleans()):
            field["default"] = DEFAULTS[kind]
        if draw(st.booleans()):
            field["aliases"] = [*draw(aliases)]
        fields.append(field)
    record: dict[str, Json] = {"type": "record", "name": "R"}
    record |= draw(properties)
    record["fields"] = fields
    record |= draw(st.sampled_from(ENDS))
    return canonical_avro(json.dumps(record))


class TestAvro:
    @given(schemas())
    def test_it_promises_no_more_than_the_registry_keeps(self, text: str) -> None:
        normal = normalized_avro(text)
        match after_normalizing(Schema(text=text)):
            case AfterNormalizing.SAME:
                assert normal == text
            case AfterNormalizing.FOUND:
                assert unordered_avro(normal) == unordered_avro(text)
            case AfterNormalizing.LOST:
                pass

    @given(schemas())
    def test_schemas_that_become_one_have_one_key(self, text: str) -> None:
        if after_normalizing(Schema(text=text)) is not AfterNormalizing.LOST:
            assert content_key(Schema(text=text)) == content_key(Schema(text=normalized_avro(text)))

    @pytest.mark.parametrize(
        ("text", "after"),
        [
            ('{"type":"record","name":"R","fields":[{"name":"f","type":"long"}]}', AfterNormalizing.SAME),
            ('{"type":"record","name":"R","fields":[],"zeta":1,"alpha":2}', AfterNormalizing.FOUND),
            ('{"type":"record","name":"R","fields":[],"aliases":["b","a"]}', AfterNormalizing.FOUND),
            ('{"type":"record","name":"R","doc":"","fields":[]}', AfterNormalizing.LOST),
            ('{"type":"record","name":"R","fields":[{"name":"f","type":"double","default":0}]}', AfterNormalizing.LOST),
            ('{"type":"long","logicalType":"timestamp-millis"}', AfterNormalizing.SAME),
            ("no schema", AfterNormalizing.LOST),
        ],
    )
    def test_examples(self, text: str, after: AfterNormalizing) -> None:
        assert after_normalizing(Schema(text=text)) is after


def test_json_stays_where_its_keys_are_sorted() -> None:
    assert after_normalizing(Schema(text=JSON_SORTED, schema_type="JSON")) is AfterNormalizing.SAME
    assert after_normalizing(Schema(text=JSON_NOT, schema_type="JSON")) is AfterNormalizing.LOST


def test_what_becomes_of_protobuf_is_not_known() -> None:
    assert after_normalizing(Schema(text="syntax = 'proto3';", schema_type="PROTOBUF")) is AfterNormalizing.LOST
    assert len({content_key(Schema(text=text, schema_type="PROTOBUF")) for text in "ab"}) == 2
