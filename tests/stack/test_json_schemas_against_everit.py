"""Our JSON Schemas against those of Everit's real builders, in every key's place, and what its loader makes of a text against
ours. `JsonSchemaData` stands on both; what it adds is in `tests/serde/formats`."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from srfix.serde import Columns, SchemaError, parse_columns
from srfix.serde.connect.columns import connect_of
from srfix.serde.formats.json_schema.load import MISSING, Node, NodeKind, load
from srfix.serde.formats.json_schema.text import schema_text
from tests.stack.everit import MAX_DEPTH, Everit, everit
from tests.strategies import columns as any_columns

pytestmark = pytest.mark.stack


@pytest.fixture(scope="module")
def java() -> Iterator[Everit]:
    with everit() as process:
        yield process


def _in_order(text: str) -> object:
    return json.loads(text, object_pairs_hook=list)


class TestText:
    @pytest.mark.parametrize("wrapped", [True, False])
    @pytest.mark.parametrize(
        "type_",
        [
            *("BOOLEAN", "INT", "BIGINT", "DOUBLE", "STRING", "BYTES", "DATE", "TIME", "TIMESTAMP", "DECIMAL(4, 2)"),
            *("ARRAY<INT>", "MAP<STRING, DATE>", "MAP<STRING, STRUCT<B INT>>", "STRUCT<B DATE, A BOOLEAN>"),
        ],
    )
    def test_each_type(self, java: Everit, type_: str, wrapped: bool) -> None:
        schema = connect_of(parse_columns(f"A {type_}"), wrapped=wrapped)
        assert _in_order(schema_text(schema)) == _in_order(java.built(schema))

    def test_generated_columns(self, java: Everit) -> None:
        @settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
        @given(any_columns)
        def check(columns: Columns) -> None:
            schema = connect_of(columns)
            assert _in_order(schema_text(schema)) == _in_order(java.built(schema))

        check()

    def test_many_columns(self, java: Everit) -> None:
        schema = connect_of(parse_columns(", ".join(f"C{number} INT" for number in range(200))))
        assert _in_order(schema_text(schema)) == _in_order(java.built(schema))


def _described(node: Node, depth: int = 0) -> object:
    made: dict[str, object] = {
        "class": node.kind.value,
        "title": node.title,
        "default": node.default is not MISSING,
        "other": sorted(node.other),
    }
    if depth == MAX_DEPTH:
        return made | ({"class": "CombinedSchema"} if node.kind.is_combined else {})
    match node.kind:
        case NodeKind.ALL_OF | NodeKind.ANY_OF | NodeKind.ONE_OF:
            made["parts"] = [_described(part, depth + 1) for part in node.parts]
        case NodeKind.NUMBER:
            made["is_integer"] = node.is_integer
        case NodeKind.OBJECT:
            made["properties"] = [[name, _described(part, depth + 1)] for name, part in node.properties.items()]
            made["required"] = sorted(node.required)
            made["additional"] = _perhaps(node.additional, depth)
        case NodeKind.ARRAY:
            made["items"] = _perhaps(node.items, depth)
        case NodeKind.ENUM:
            made["count"] = len(node.values)
        case NodeKind.REFERENCE:
            made["target"] = _perhaps(node.target, depth)
    return made


def _perhaps(node: Node | None, depth: int) -> object:
    return None if node is None else _described(node, depth + 1)


def _settled(described: object) -> object:
    """Without the order of what one object becomes: Everit collects that in a HashSet of objects without a hash."""
    match described:
        case dict():
            made = {name: _settled(part) for name, part in described.items()}
            if made.get("class") == "allOf":
                parts = made["parts"]
                assert isinstance(parts, list)
                made["parts"] = sorted(parts, key=json.dumps)
            return made
        case list():
            return [_settled(part) for part in described]
        case _:
            return described


_names = st.sampled_from(["a", "b", "AaAa", "BBBB", "name", "connect", "é"])
_types = st.sampled_from(["string", "integer", "number", "boolean", "null", "array", "object"])
_leaf = st.one_of(
    st.fixed_dictionaries({"type": _types | st.lists(_types, min_size=1, max_size=3, unique=True)}),
    st.fixed_dictionaries({"$ref": st.sampled_from(["#/definitions/d", "#/definitions/e"])}),
    st.sampled_from([True, {}, {"enum": ["a", None]}, {"const": 1}]),
)


def _larger(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    parts = st.lists(inner, min_size=1, max_size=3)
    optional = {
        "type": _types | st.lists(_types, min_size=1, max_size=3, unique=True),
        "properties": st.dictionaries(_names, inner, max_size=4),
        "required": st.lists(_names, unique=True, max_size=2),
        "additionalProperties": st.booleans() | inner.filter(lambda part: isinstance(part, dict)),
        "items": inner | parts,
        "oneOf": parts,
        "anyOf": parts,
        "allOf": parts,
        "not": inner,
        "enum": st.just(["x", 1]),
        "const": st.just("c"),
        "format": st.sampled_from(["date", "int32"]),
        "minimum": st.just(1),
        "minLength": st.just(1),
        "minItems": st.just(1),
        "if": inner,
        "title": st.just("T"),
        "default": st.just("x"),
        "connect.index": st.integers(0, 3),
        "connect.type": st.just("int8"),
    }
    return st.fixed_dictionaries({}, optional=optional)


_schemas = st.recursive(_leaf, _larger, max_leaves=8)
_drafts = st.sampled_from(
    [None, "http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-06/schema#", "x"]
)


class TestLoader:
    def test_generated_schemas(self, java: Everit) -> None:
        @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
        @given(st.dictionaries(_names, _schemas, min_size=1, max_size=3), _schemas, _drafts)
        def check(properties: dict[str, object], definition: object, draft: str | None) -> None:
            schema = {"properties": properties, "definitions": {"d": definition, "e": {"type": "string"}}}
            text = json.dumps(schema if draft is None else {"$schema": draft} | schema)
            try:
                ours = _described(load(text))
            except SchemaError:
                ours = None
            assert _settled(ours) == _settled(java.loaded(text))

        check()
