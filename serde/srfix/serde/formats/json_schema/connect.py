"""`JsonSchemaData.toConnectSchema`, with the defaults that ksqlDB keeps (`JsonSchemaTranslator`;
`generalized.sum.type.support=false`, `use.optional.for.nonrequired=false`). This follows the newest release. Others
differ only in what they refuse: before 7.0, an allOf of objects, numbers with an enum, and references to a schema from
within it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from srfix.serde.bounds import JSON_SCHEMA_LEVELS as _MAX_DEPTH
from srfix.serde.bounds import JSON_SCHEMA_NODES as _MAX_SCHEMAS
from srfix.serde.connect.schema import ConnectField, ConnectSchema, ConnectType, complete, optional, primitive, struct
from srfix.serde.errors import SchemaError
from srfix.serde.formats.connect_type import ConnectWriterType
from srfix.serde.formats.json_schema.documents import too_deep
from srfix.serde.formats.json_schema.load import MISSING, Node, NodeKind, load
from srfix.serde.formats.json_schema.text import OWN
from srfix.serde.java_ints import is_int
from srfix.serde.projection.tree import WriterField

UNION_NAME: Final = f"{OWN}.OneOf"
"""The name of the STRUCT that represents a oneOf or anyOf of several types (`JsonSchemaData.JSON_TYPE_ONE_OF`)."""
_ENUM: Final = f"{OWN}.Enum"
_NO_SYMBOL: Final = "<NULL>"
_REQUIRED: Final = f"{OWN}.Required"

_NUMBERS: Final = {
    "int8": ConnectType.INT8,
    "int16": ConnectType.INT16,
    "int32": ConnectType.INT32,
    "int64": ConnectType.INT64,
    "float32": ConnectType.FLOAT32,
    "float64": ConnectType.FLOAT64,
    "bytes": ConnectType.BYTES,
}
_STRING: Final = primitive(ConnectType.STRING)


def is_union(schema: ConnectSchema) -> bool:
    """Whether a STRUCT represents a oneOf (`JsonSchemaData.isUnionSchema`)."""
    return schema.name == UNION_NAME


@lru_cache(maxsize=256)
def connect_schema(text: str, references: tuple[str, ...] = ()) -> ConnectSchema:
    """The Connect schema of a text; its references have names (`ReferenceText`) or an `$id`."""
    return to_connect(load(text, references))


def to_connect(root: Node) -> ConnectSchema:
    """`JsonSchemaData.toConnectSchema`. Defaults are JSON values. A recursive schema gives a cyclic one."""
    try:
        return _Conversion().schema(root, 0)
    except RecursionError:
        raise too_deep() from None


class _Conversion:
    def __init__(self) -> None:
        # Objects in conversion, with the inner references to them that wait for their fields, and converted objects.
        # JsonSchemaData also keeps them for the whole schema.
        self._open: dict[Node, list[ConnectSchema]] = {}
        self._done: dict[Node, ConnectSchema] = {}
        self._count = 0

    def schema(self, node: Node, depth: int, *, force_optional: bool = False) -> ConnectSchema:
        self._count += 1
        if depth > _MAX_DEPTH:
            raise too_deep()
        if self._count > _MAX_SCHEMAS:
            raise SchemaError(f"The schema has more than {_MAX_SCHEMAS:,} types, references included.")
        match node.kind:
            case NodeKind.REFERENCE:
                return self._referred(node, depth, force_optional)
            case NodeKind.ALL_OF:
                return self._all_of(node, depth, force_optional)
            case NodeKind.ONE_OF | NodeKind.ANY_OF:
                only = _beside_null(node)
                if only is not None:
                    return self.schema(only, depth + 1, force_optional=True)
                return self._named(self._union(node, depth), node, force_optional)
            case NodeKind.OBJECT if _connect_type(node) != "map":
                return self._struct(node, depth, force_optional)
            case _:
                return self._named(self._without_fields(node, depth), node, force_optional)

    def _without_fields(self, node: Node, depth: int) -> ConnectSchema:
        match node.kind:
            case NodeKind.BOOLEAN:
                return primitive(ConnectType.BOOLEAN)
            case NodeKind.NUMBER:
                return primitive(_number_type(node))
            case NodeKind.STRING:
                is_bytes = _connect_type(node) == "bytes"
                return primitive(ConnectType.BYTES if is_bytes else ConnectType.STRING)
            case NodeKind.ENUM:
                symbols = (_NO_SYMBOL if value is None else _java_text(value) for value in node.values)
                parameters = {_ENUM: ""} | {f"{_ENUM}.{symbol}": symbol for symbol in symbols}
                return ConnectSchema(type=ConnectType.STRING, parameters=MappingProxyType(parameters))
            case NodeKind.ARRAY:
                return self._array(node, depth)
            case NodeKind.OBJECT:
                return self._map(_STRING, node.additional, depth)
            case _:
                raise SchemaError(
                    f"A part of the schema is a {node.kind.value}, but Connect has no type for it. Give it a type."
                )

    def _array(self, node: Node, depth: int) -> ConnectSchema:
        items = node.items
        if items is None:
            raise SchemaError("A part of the schema is an array that does not specify the type of its items.")
        if _connect_type(node) == "map" and items.kind is NodeKind.OBJECT:
            keys = items.properties.get("key")
            if keys is None:
                raise SchemaError("A part of the schema is a map in the form of an array, but the entries have no key.")
            return self._map(self.schema(keys, depth + 1), items.properties.get("value"), depth)
        return ConnectSchema(type=ConnectType.ARRAY, value_schema=self.schema(items, depth + 1))

    def _map(self, keys: ConnectSchema, values: Node | None, depth: int) -> ConnectSchema:
        if values is None:
            raise SchemaError("A part of the schema is a map that does not specify the type of its values.")
        return ConnectSchema(type=ConnectType.MAP, key_schema=keys, value_schema=self.schema(values, depth + 1))

    def _struct(self, node: Node, depth: int, force_optional: bool) -> ConnectSchema:
        fields = self._fields(node, _by_index(node), depth)
        schema = self._done[node] = self._named(_struct_of(fields, node.required), node, force_optional)
        return schema

    def _fields(self, node: Node, parts: Iterable[tuple[str, Node]], depth: int) -> tuple[ConnectField, ...]:
        waiting = self._open[node] = []
        fields = tuple(ConnectField(name, self.schema(part, depth + 1)) for name, part in parts)
        del self._open[node]
        for reference in waiting:
            complete(reference, fields)
        return fields

    def _union(self, node: Node, depth: int) -> ConnectSchema:
        parts = [part for part in node.parts if part.kind is not NodeKind.NULL]
        fields = (
            ConnectField(f"{UNION_NAME}.field.{index}", self.schema(part, depth + 1, force_optional=True))
            for index, part in enumerate(parts)
        )
        return struct(fields, name=UNION_NAME, optional=len(parts) < len(node.parts))

    def _referred(self, node: Node, depth: int, force_optional: bool) -> ConnectSchema:
        target = node.target
        assert target is not None  # the loader has given every reference its target
        waiting = self._open.get(target)
        if waiting is not None:
            reference = ConnectSchema(type=ConnectType.STRUCT, optional=force_optional)
            waiting.append(reference)
            return reference
        done = self._done.get(target)
        if done is not None:
            return optional(done, optional=force_optional)
        return self.schema(target, depth + 1, force_optional=force_optional)

    def _all_of(self, node: Node, depth: int, force_optional: bool) -> ConnectSchema:
        properties: dict[str, Node] = {}
        required: dict[str, bool] = {}
        for part in node.parts:
            _collect(part, properties, required)
        if properties:
            fields = self._fields(node, properties.items(), depth)
            schema = _struct_of(fields, frozenset(name for name, is_there in required.items() if is_there))
            schema = self._done[node] = optional(schema, optional=force_optional)
            return schema
        chosen = _chosen(node)
        if chosen is None:
            kinds = ", ".join(part.kind.value for part in node.parts) or "nothing"
            raise SchemaError(f"A part of the schema is an allOf of {kinds}, but Connect has no type for it.")
        return self.schema(chosen, depth + 1, force_optional=force_optional)

    def _named(self, schema: ConnectSchema, node: Node, force_optional: bool) -> ConnectSchema:
        version = _integer(node, "connect.version")
        parameters = node.other.get("connect.parameters")
        if parameters is not None and not isinstance(parameters, dict):
            raise SchemaError(f"Expected an object as connect.parameters, but found {parameters!r:.60}.")
        added = {name: text for name, text in (parameters or {}).items() if isinstance(text, str)}
        default = node.default
        if default is None and not schema.optional:
            raise SchemaError(f"Invalid null value for required {schema.type.word} field, as its default.")
        return replace(
            schema,
            name=schema.name or node.title,
            version=version,
            optional=schema.optional or force_optional,
            parameters=MappingProxyType({**schema.parameters, **added}),
            default=None if default is MISSING else default,
            doc=node.description,
        )


def is_required(schema: ConnectSchema, name: str) -> bool:
    """Whether a field is in "required". ksqlDB ignores it, so it is srfix's own parameter, which no schema gets."""
    return f"{_REQUIRED}.{name}" in schema.parameters


def _struct_of(fields: tuple[ConnectField, ...], required: frozenset[str]) -> ConnectSchema:
    parameters = {f"{_REQUIRED}.{part.name}": "" for part in fields if part.name in required}
    return ConnectSchema(type=ConnectType.STRUCT, fields=fields, parameters=MappingProxyType(parameters))


def _beside_null(node: Node) -> Node | None:
    """The alternative beside null in a oneOf or anyOf of two."""
    if len(node.parts) == 2 and any(part.kind is NodeKind.NULL for part in node.parts):
        alternatives = [part for part in node.parts if part.kind is not NodeKind.NULL]
        if not alternatives:
            raise SchemaError("A part of the schema allows only null, but Connect has no type for it.")
        return alternatives[0]
    return None


def _by_index(node: Node) -> tuple[tuple[str, Node], ...]:
    """By `connect.index`, or the number of properties before; the later of two replaces the other (a TreeMap)."""
    placed: dict[int, tuple[str, Node]] = {}
    for name, part in node.properties.items():
        index = _integer(part, "connect.index")
        placed[len(placed) if index is None else index] = name, part
    return tuple(placed[index] for index in sorted(placed))


def _collect(node: Node, properties: dict[str, Node], required: dict[str, bool]) -> None:
    """The properties of the objects in an allOf (`JsonSchemaData.collectPropertySchemas`)."""
    visited: set[Node] = set()
    stack = [node]
    while stack:
        part = stack.pop()
        if part in visited:
            continue
        visited.add(part)
        if part.kind is NodeKind.ALL_OF:
            stack.extend(reversed(part.parts))
        elif part.kind is NodeKind.OBJECT:
            properties.update(part.properties)
            required.update((name, name in part.required) for name in part.properties)
        elif part.kind is NodeKind.REFERENCE and part.target is not None:
            stack.append(part.target)


def _chosen(node: Node) -> Node | None:
    """The schema that is used for an allOf without properties (`JsonSchemaData.allOfToConnectSchema`)."""
    last = {("combined" if part.kind.is_combined else part.kind): part for part in node.parts}
    string, number = last.get(NodeKind.STRING), last.get(NodeKind.NUMBER)
    if "combined" in last:
        return last["combined"]
    if NodeKind.CONST in last:
        return string or number
    if NodeKind.ENUM in last:
        return last[NodeKind.ENUM] if string else number
    if string:  # a number with a format is loaded as both
        return number or string
    return last.get(NodeKind.REFERENCE)


def _connect_type(node: Node) -> str | None:
    word = node.other.get("connect.type")
    if word is not None and not isinstance(word, str):
        raise SchemaError(f"Expected a text as connect.type, but found {word!r:.60}.")
    return word


def _number_type(node: Node) -> ConnectType:
    word = _connect_type(node)
    if word is None:
        return ConnectType.INT64 if node.is_integer else ConnectType.FLOAT64
    if word not in _NUMBERS:
        raise SchemaError(f"Unsupported connect.type of a number: {word!r:.60}.")
    return _NUMBERS[word]


def _integer(node: Node, name: str) -> int | None:
    value = node.other.get(name)
    if value is None:
        return None
    if not is_int(value):
        raise SchemaError(f"Expected an integer of 32 bits as {name}, but found {value!r:.60}.")
    return value


def _java_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


@dataclass(frozen=True, slots=True)
class JsonType(ConnectWriterType):
    @property
    def is_union(self) -> bool:
        return is_union(self.schema)

    @property
    def word(self) -> str:
        return "oneOf" if self.is_union else ConnectWriterType.word.__get__(self)

    def fields(self, path: str) -> tuple[WriterField[JsonType], ...]:
        return tuple(
            WriterField(number=number, name=part.name, written=part.name, type=JsonType(part.schema))
            for number, part in enumerate(self.schema.fields)
        )

    def items(self) -> JsonType:
        return JsonType(self.schema.values)

    def entries(self, path: str) -> tuple[JsonType, JsonType]:
        return JsonType(self.schema.keys), JsonType(self.schema.values)
