"""Named hypothesis strategies: Avro schemas, JSON Schemas, and what can be written under them."""

from __future__ import annotations

import datetime
import decimal
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"
_Values: TypeAlias = Callable[[], SearchStrategy[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AvroCase:
    """An Avro schema and values that fit it."""

    text: str
    values: tuple[object, ...]
    """The values, not None: that is a tombstone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonCase:
    """A JSON Schema and documents, valid and not."""

    text: str
    documents: tuple[Json, ...]


_UTC = datetime.UTC
_times = st.integers(0, 86_399_999).map(lambda ms: (datetime.datetime.min + datetime.timedelta(milliseconds=ms)).time())
_moments = st.datetimes(
    min_value=datetime.datetime(1971, 1, 1), max_value=datetime.datetime(2200, 1, 1), timezones=st.just(_UTC)
).map(lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000))
_locals = st.datetimes(min_value=datetime.datetime(1971, 1, 1), max_value=datetime.datetime(2200, 1, 1)).map(
    lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000)
)
_decimals = st.integers(-(10**9) + 1, 10**9 - 1).map(lambda unscaled: decimal.Decimal(unscaled).scaleb(-2))

_PRIMITIVES: list[tuple[Json, SearchStrategy[object]]] = [
    ("boolean", st.booleans()),
    ("int", st.integers(-(2**31), 2**31 - 1)),
    ("long", st.integers(-(2**63), 2**63 - 1)),
    ("float", st.floats(width=32, allow_nan=False)),
    ("double", st.floats(allow_nan=False)),
    ("bytes", st.binary(max_size=6)),
    ("string", st.text(max_size=6)),
    ({"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}, _decimals),
    ({"type": "string", "logicalType": "uuid"}, st.uuids(version=4)),
    ({"type": "int", "logicalType": "date"}, st.dates()),
    ({"type": "int", "logicalType": "time-millis"}, _times),
    ({"type": "long", "logicalType": "time-micros"}, _times),
    ({"type": "long", "logicalType": "timestamp-millis"}, _moments),
    ({"type": "long", "logicalType": "timestamp-micros"}, _moments),
    ({"type": "long", "logicalType": "local-timestamp-millis"}, _locals),
    ({"type": "long", "logicalType": "no-such-type"}, st.integers(-5, 5)),
]


@dataclass
class _World:
    """The named types that a schema has so far."""

    draw: DrawFn
    space: str = "n.s"
    named: list[tuple[str, _Values]] = field(default_factory=list)
    count: int = 0

    def name(self) -> str:
        self.count += 1
        return f"T{self.count}"

    def type_(self, depth: int) -> tuple[Json, _Values]:
        kinds = ["primitive"] * 3 + ["enum", "fixed", "named"]
        kinds += ["array", "map", "record", "union", "nullable"] * 2 if depth > 0 else []
        kind = self.draw(st.sampled_from(kinds))
        if kind == "named" and self.named:
            name, values = self.draw(st.sampled_from(self.named))
            return name, values
        return _MAKERS.get(kind, _World.primitive)(self, depth)

    def primitive(self, depth: int) -> tuple[Json, _Values]:
        schema, values = self.draw(st.sampled_from(_PRIMITIVES))
        return schema, lambda: values

    def enum(self, depth: int) -> tuple[Json, _Values]:
        name, symbols = self.name(), self.draw(st.lists(st.sampled_from("ABCDE"), min_size=1, unique=True))
        self.named.append((f"{self.space}.{name}", lambda: st.sampled_from(symbols)))
        return {"type": "enum", "name": name, "symbols": list(symbols)}, lambda: st.sampled_from(symbols)

    def fixed(self, depth: int) -> tuple[Json, _Values]:
        name, size = self.name(), self.draw(st.integers(1, 5))
        self.named.append((f"{self.space}.{name}", lambda: st.binary(min_size=size, max_size=size)))
        return {"type": "fixed", "name": name, "size": size}, lambda: st.binary(min_size=size, max_size=size)

    def array(self, depth: int) -> tuple[Json, _Values]:
        items, values = self.type_(depth - 1)
        return {"type": "array", "items": items}, lambda: st.lists(values(), max_size=3)

    def map_(self, depth: int) -> tuple[Json, _Values]:
        items, values = self.type_(depth - 1)
        return {"type": "map", "values": items}, lambda: st.dictionaries(st.text(max_size=3), values(), max_size=3)

    def nullable(self, depth: int) -> tuple[Json, _Values]:
        schema, values = self.type_(depth - 1)
        if isinstance(schema, list):
            return schema, values
        return ["null", schema], lambda: st.none() | values()

    def union(self, depth: int) -> tuple[Json, _Values]:
        branches: list[tuple[Json, _Values]] = []
        seen = {"null"}
        for _ in range(self.draw(st.integers(1, 3))):
            before = len(self.named)
            schema, values = self.type_(depth - 1)
            key = _branch(schema)
            if key is None or key in seen:
                del self.named[before:]  # what it defines is not there either
                continue
            seen.add(key)
            branches.append((schema, values))
        with_null = self.draw(st.booleans()) or not branches
        nothing: list[Json] = ["null"] if with_null else []
        schemas: list[Json] = [*nothing, *(schema for schema, _ in branches)]
        return schemas, lambda: st.one_of(*([st.none()] if with_null else []), *(values() for _, values in branches))

    def record(self, depth: int) -> tuple[Json, _Values]:
        name = self.name()
        own: dict[str, _Values] = {}
        optional: set[str] = set()

        def values() -> SearchStrategy[object]:
            needed = {part: one() for part, one in own.items() if part not in optional}
            left = {part: one() for part, one in own.items() if part in optional}
            return st.fixed_dictionaries(needed, optional=left)

        fields: list[Json] = []
        for number in range(self.draw(st.integers(0, 4))):
            label = f"f{number}"
            schema, part = self.type_(depth - 1)
            described: dict[str, Json] = {"name": label, "type": schema}
            if isinstance(schema, list) and schema[0] == "null" and self.draw(st.booleans()):
                described["default"] = None
                optional.add(label)
            own[label] = part
            fields.append(described)
        if self.draw(st.integers(0, 5)) == 0:
            own["next"] = lambda: st.none() | st.deferred(values)
            fields.append({"name": "next", "type": ["null", f"{self.space}.{name}"], "default": None})
        self.named.append((f"{self.space}.{name}", values))
        return {"type": "record", "name": name, "namespace": self.space, "fields": fields}, values


_MAKERS: dict[str, Callable[[_World, int], tuple[Json, _Values]]] = {
    "enum": _World.enum,
    "fixed": _World.fixed,
    "array": _World.array,
    "map": _World.map_,
    "nullable": _World.nullable,
    "union": _World.union,
    "record": _World.record,
}


def _branch(schema: Json) -> str | None:
    """What a union must not have twice; None for what it must not have at all."""
    if isinstance(schema, list):
        return None
    if isinstance(schema, str):
        return schema
    assert isinstance(schema, dict)
    return str(schema.get("name", schema["type"]))


def _rooted(world: _World) -> tuple[Json, _Values]:
    """A root: enums and fixed types need their namespace there too."""
    schema, values = world.draw(st.sampled_from([_World.record] * 4 + [_World.type_]))(world, 3)
    if isinstance(schema, str) and "." in schema:  # a reference alone is no schema
        return ["null", schema], values
    return schema, values


def _spaced(schema: Json, space: str) -> Json:
    """The same with the namespace spelt out on every named type."""
    if isinstance(schema, list):
        return [_spaced(one, space) for one in schema]
    if isinstance(schema, dict):
        spelt = {
            key: _spaced(value, space) if key in ("type", "items", "values", "fields") else value
            for key, value in schema.items()
        }
        if schema.get("type") in ("enum", "fixed", "record"):
            spelt["namespace"] = space
        return spelt
    return schema


def _text(schema: Json, space: str) -> str:
    return json.dumps(_spaced(schema, space))


@st.composite
def avro_cases(draw: DrawFn) -> AvroCase:
    world = _World(draw)
    schema, values = _rooted(world)
    return AvroCase(text=_text(schema, world.space), values=_drawn(draw, values))


def _drawn(draw: DrawFn, values: _Values) -> tuple[object, ...]:
    return tuple(draw(st.lists(values().filter(lambda value: value is not None), min_size=1, max_size=3)))


_json_names = st.sampled_from(["a", "b", "c", "d"])
_numbers: SearchStrategy[Json] = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
_json_values: SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | _numbers | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_json_names, inner, max_size=3),
    max_leaves=6,
)


def _leaf_schemas() -> SearchStrategy[Json]:
    small = st.integers(-3, 6)
    return st.one_of(
        st.sampled_from([{}, True, {"type": "null"}, {"type": "boolean"}, {"type": ["string", "null"]}]),
        st.fixed_dictionaries(
            {"type": st.sampled_from(["integer", "number"])},
            optional={"minimum": small, "exclusiveMaximum": small, "multipleOf": st.integers(1, 4)},
        ),
        st.fixed_dictionaries(
            {"type": st.just("string")},
            optional={
                "minLength": st.integers(0, 3),
                "maxLength": st.integers(0, 3),
                "format": st.sampled_from(["date", "email"]),
            },
        ),
        st.fixed_dictionaries({"enum": st.lists(_json_values, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"const": _json_values}),
        st.just({"type": "string", "pattern": "^a+b?$"}),
    )


def _compound_schemas(inner: SearchStrategy[Json]) -> SearchStrategy[Json]:
    return st.one_of(
        st.fixed_dictionaries(
            {"type": st.just("object"), "properties": st.dictionaries(_json_names, inner, max_size=3)},
            optional={
                "required": st.lists(_json_names, unique=True, max_size=2),
                "additionalProperties": st.booleans() | inner,
            },
        ),
        st.fixed_dictionaries(
            {"type": st.just("array"), "items": inner},
            optional={"uniqueItems": st.booleans(), "maxItems": st.integers(0, 3)},
        ),
        st.lists(inner, min_size=1, max_size=3).flatmap(
            lambda some: st.sampled_from(["oneOf", "anyOf", "allOf"]).map(lambda word: {word: some})
        ),
        inner.map(lambda one: {"oneOf": [{"type": "null"}, one]}),
    )


_json_schemas: SearchStrategy[Json] = st.recursive(_leaf_schemas(), _compound_schemas, max_leaves=6)
_DRAFTS = ("http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema", None)


@st.composite
def json_cases(draw: DrawFn) -> JsonCase:
    """A schema with a title, of a draft or of none, and documents."""
    body = draw(_json_schemas)
    schema: dict[str, Json] = {"title": "T", **(body if isinstance(body, dict) else {})}
    draft = draw(st.sampled_from(_DRAFTS))
    if draft is not None:
        schema["$schema"] = draft
    documents = draw(st.lists(_json_values.filter(lambda value: value is not None), min_size=1, max_size=4))
    return JsonCase(text=json.dumps(schema), documents=tuple(documents))
