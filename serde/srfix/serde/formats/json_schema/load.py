"""Loads a JSON Schema text like Everit's `SchemaLoader` 1.14, because JsonSchemaData and its rules work on Everit's
result. One object may become several schemas: `{"type": "integer", "format": "int32"}` is an allOf of a number and a
string, and properties that the loader does not know (`connect.type`) stay with the allOf.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final
from urllib.parse import urldefrag, urljoin

from srfix.serde.bounds import JSON_SCHEMA_LEVELS as MAX_DEPTH
from srfix.serde.bounds import JSON_SCHEMA_NODES as _MAX_NODES
from srfix.serde.errors import SchemaError
from srfix.serde.formats.json_schema.documents import Document, Draft, Object, parsed, pointed_at, shown, too_deep
from srfix.serde.formats.json_schema.text import hash_map_order
from srfix.serde.schemas.references import reference_name

MISSING: Final = object()


class NodeKind(Enum):
    """Everit's classes."""

    BOOLEAN = "BooleanSchema"
    NUMBER = "NumberSchema"
    STRING = "StringSchema"
    NULL = "NullSchema"
    ENUM = "EnumSchema"
    CONST = "ConstSchema"
    ARRAY = "ArraySchema"
    OBJECT = "ObjectSchema"
    ALL_OF = "allOf"
    ANY_OF = "anyOf"
    ONE_OF = "oneOf"
    REFERENCE = "ReferenceSchema"
    NOT = "NotSchema"
    CONDITIONAL = "ConditionalSchema"
    EMPTY = "EmptySchema"
    TRUE = "TrueSchema"
    FALSE = "FalseSchema"

    @property
    def is_combined(self) -> bool:
        """True for `CombinedSchema`."""
        return self in (NodeKind.ALL_OF, NodeKind.ANY_OF, NodeKind.ONE_OF)


@dataclass(eq=False, slots=True, kw_only=True)
class Node:
    """A schema. Mutable while it is loaded: a reference gets its target last."""

    kind: NodeKind
    title: str | None = None
    description: str | None = None
    default: object = MISSING
    """The schema's default as JSON; `MISSING` if it has none."""
    other: dict[str, object] = field(default_factory=dict)
    """The properties that are not keywords of Everit: Connect's properties."""
    is_integer: bool = False
    """For a NUMBER: True if the type is "integer"."""
    values: Sequence[object] = ()
    parts: Sequence[Node] = ()
    """For a combination: its parts, with inner combinations first."""
    properties: Mapping[str, Node] = field(default_factory=dict)
    """For an OBJECT: its properties, in the order of Everit's HashMap."""
    required: frozenset[str] = frozenset()
    additional: Node | None = None
    """For an OBJECT: the schema of its additional properties, if there is one."""
    items: Node | None = None
    """For an ARRAY: the schema of all items, if there is one."""
    knot: Node | None = None
    """For a REFERENCE: the object that all references to one place share. Its `target` is the schema there."""

    @property
    def target(self) -> Node | None:
        return None if self.knot is None else self.knot.knot


_ARRAY_WORDS = ("items", "additionalItems", "minItems", "maxItems", "uniqueItems")
_OBJECT_WORDS = (
    "properties",
    "required",
    "minProperties",
    "maxProperties",
    "dependencies",
    "patternProperties",
    "additionalProperties",
)
_NUMBER_WORDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_STRING_WORDS = ("minLength", "maxLength", "pattern", "format")
_CONDITIONAL_WORDS = ("if", "then", "else")
# The order of the HashSet in which CombinedSchemaLoader collects them.
_COMBINED_WORDS = hash_map_order(("allOf", "anyOf", "oneOf"))


def load(text: str, references: Sequence[str] = ()) -> Node:
    """A text is known by its name (`ReferenceText`) or `$id`; a single unnamed one also by an unknown reference."""
    try:
        return _Loader(parsed(text), [(reference_name(part), parsed(part)) for part in references]).root()
    except RecursionError:
        raise too_deep() from None


class _Loader:
    def __init__(self, root: Object, references: Sequence[tuple[str | None, Object]]) -> None:
        self._root = Document(root, "")
        self._documents: dict[str, Document] = {}
        self._unnamed: list[Object] = []
        for name, document in references:
            identifier = document.get("$id", document.get("id"))
            if name is not None:
                self._documents[urljoin(self._root.base, name)] = Document(document, urljoin(self._root.base, name))
            elif isinstance(identifier, str):
                self._documents[urldefrag(urljoin(self._root.base, identifier)).url] = Document(document, "")
            else:
                self._unnamed.append(document)
        self._knots: dict[tuple[int, str], Node] = {}
        self._count = 0

    def root(self) -> Node:
        return self.load(self._root.root, self._root, self._root.base, 0)

    def load(self, schema: object, document: Document, base: str, depth: int) -> Node:
        self._count += 1
        if depth > MAX_DEPTH:
            raise too_deep()
        if self._count > _MAX_NODES:
            raise SchemaError(f"The schema has more than {_MAX_NODES:,} parts, references included.")
        if isinstance(schema, bool):
            return Node(kind=NodeKind.TRUE if schema else NodeKind.FALSE)
        if not isinstance(schema, dict):
            raise SchemaError(f"A part of the schema is {shown(schema)}; it must be a schema.")
        identifier = schema.get(document.draft.id_word)
        if depth and isinstance(identifier, str):
            base = urljoin(base, identifier)
        return _Object(self, schema, document, base, depth).node()

    def reference(self, ref: str, document: Document, base: str, depth: int) -> Node:
        """A REFERENCE to the schema that `ref` names (`ReferenceLookup.lookup`)."""
        absolute = urljoin(base, ref) if base else ref
        key = (id(document), absolute) if absolute.startswith("#") else (0, absolute)
        knot = self._knots.get(key)
        if knot is not None:
            return Node(kind=NodeKind.REFERENCE, knot=knot)
        # Stored before it is loaded, because it may refer to itself.
        knot = self._knots[key] = Node(kind=NodeKind.REFERENCE)
        target, holder, scope = self._look_up(ref, absolute, document, base)
        knot.knot = self.load(target, holder, scope, depth + 1)
        return Node(kind=NodeKind.REFERENCE, knot=knot)

    def _look_up(self, ref: str, absolute: str, document: Document, base: str) -> tuple[object, Document, str]:
        by_id = document.by_id.get(absolute) or document.by_id.get(ref)
        if by_id is not None:
            return by_id, document, urldefrag(absolute).url
        if ref.startswith("#"):
            return pointed_at(document, ref), document, base
        url, fragment = urldefrag(absolute)
        other = self._documents.get(absolute) or self._documents.get(url) or self._documents.get(urldefrag(ref).url)
        if other is None and len(self._unnamed) == 1:
            other = self._documents[url] = Document(self._unnamed.pop(), url)
        if other is None:
            raise SchemaError(
                f"The schema refers to {shown(ref)}, which is not among the {len(self._documents)} texts that came "
                "with the schema. Pass the text that is registered under that name, too; srfix fetches nothing."
            )
        if not fragment:
            return other.root, other, other.base
        return pointed_at(other, f"#{fragment}"), other, other.base


class _Object:
    """One JSON object on its way to a schema (`SchemaLoader.loadSchemaObject`)."""

    def __init__(self, loader: _Loader, schema: Object, document: Document, base: str, depth: int) -> None:
        self._loader = loader
        self._document = document
        self._draft = document.draft
        self._base = base
        self._depth = depth
        self._rest = dict(schema)
        is_old = self._draft is Draft.DRAFT_4
        self._array_words = _ARRAY_WORDS if is_old else (*_ARRAY_WORDS, "contains")
        self._object_words = _OBJECT_WORDS if is_old else (*_OBJECT_WORDS, "propertyNames")

    def node(self) -> Node:
        nodes: list[Node] = []
        ref = self._rest.pop("$ref", MISSING)
        if isinstance(ref, str):
            nodes.append(self._loader.reference(ref, self._document, self._base, self._depth))
        elif ref is not MISSING:
            raise SchemaError(f"A part of the schema refers to {shown(ref)}, which is not a text.")
        if ref is MISSING or self._draft is Draft.MODERN:
            # Since 2019-09, keywords beside a reference count (`SchemaTranslator`).
            nodes += self._extracted()
        kind = NodeKind.ALL_OF if nodes else NodeKind.EMPTY
        node = nodes[0] if len(nodes) == 1 else Node(kind=kind, parts=_combined_first(nodes))
        self._common(node)
        return node

    def _takes(self, words: Sequence[str]) -> bool:
        """Removes the words; False if there were none."""
        return len([self._rest.pop(word) for word in words if word in self._rest]) > 0

    def _child(self, schema: object) -> Node:
        return self._loader.load(schema, self._document, self._base, self._depth + 1)

    def _children(self, word: str) -> list[Node]:
        parts = self._rest.pop(word)
        if not isinstance(parts, list):
            raise _misplaced(word, parts, "a list of schemas")
        return [self._child(part) for part in parts]

    def _extracted(self) -> list[Node]:
        nodes: list[Node] = []
        if "enum" in self._rest:
            values = self._rest.pop("enum")
            if not isinstance(values, list):
                raise _misplaced("enum", values, "a list")
            nodes.append(Node(kind=NodeKind.ENUM, values=tuple(values)))
        nodes.extend(
            Node(kind=NodeKind(word), parts=_combined_first(self._children(word)))
            for word in _COMBINED_WORDS
            if word in self._rest
        )
        if "not" in self._rest:
            self._child(self._rest.pop("not"))
            nodes.append(Node(kind=NodeKind.NOT))
        if "const" in self._rest and self._draft is not Draft.DRAFT_4:
            nodes.append(Node(kind=NodeKind.CONST, values=(self._rest.pop("const"),)))
        if "type" in self._rest:
            nodes.append(self._typed(self._rest.pop("type")))
        nodes += self._sniffed()
        return nodes

    def _typed(self, word: object) -> Node:
        if isinstance(word, list):
            # The keywords of several types belong to all of them, so each type gets a copy.
            before, after = dict(self._rest), dict(self._rest)
            parts: list[Node] = []
            for one in word:
                self._rest = dict(before)
                parts.append(self._of_type(one))
                after = {name: value for name, value in after.items() if name in self._rest}
            self._rest = after
            return Node(kind=NodeKind.ANY_OF, parts=_combined_first(parts))
        return self._of_type(word)

    def _of_type(self, word: object) -> Node:
        match word:
            case "string":
                self._takes(_STRING_WORDS)
                return Node(kind=NodeKind.STRING)
            case "integer" | "number":
                self._takes(_NUMBER_WORDS)
                return Node(kind=NodeKind.NUMBER, is_integer=word == "integer")
            case "boolean":
                return Node(kind=NodeKind.BOOLEAN)
            case "null":
                return Node(kind=NodeKind.NULL)
            case "array":
                return self._array()
            case "object":
                return self._object()
        raise SchemaError(f"A part of the schema has the type {shown(word)}, but JSON Schema has no such type.")

    def _sniffed(self) -> list[Node]:
        nodes: list[Node] = []
        if not self._rest.keys().isdisjoint(self._array_words):
            nodes.append(self._array())
        if not self._rest.keys().isdisjoint(self._object_words):
            nodes.append(self._object())
        if self._takes(_NUMBER_WORDS):
            nodes.append(Node(kind=NodeKind.NUMBER))
        if self._draft is Draft.MODERN:
            self._rest.pop("format", None)  # SchemaTranslator leaves formats out
        if self._takes(_STRING_WORDS):
            nodes.append(Node(kind=NodeKind.STRING))
        if self._draft in (Draft.DRAFT_7, Draft.MODERN) and self._takes(_CONDITIONAL_WORDS):
            nodes.append(Node(kind=NodeKind.CONDITIONAL))
        return nodes

    def _array(self) -> Node:
        items = self._rest.get("items", MISSING)
        self._takes(self._array_words)
        # A list describes a tuple, so there is no schema of all items.
        if items is MISSING or isinstance(items, list) or (isinstance(items, bool) and self._draft is Draft.MODERN):
            return Node(kind=NodeKind.ARRAY)
        if isinstance(items, bool) and self._draft is Draft.DRAFT_4:
            raise SchemaError('A part of the schema has a boolean as "items", which draft 4 does not allow.')
        return Node(kind=NodeKind.ARRAY, items=self._child(items))

    def _object(self) -> Node:
        properties = self._rest.get("properties", {})
        additional = self._rest.get("additionalProperties")
        required = self._rest.get("required", [])
        self._takes(self._object_words)
        if not isinstance(properties, dict):
            raise _misplaced("properties", properties, "an object")
        if not isinstance(required, list) or not all(isinstance(name, str) for name in required):
            raise _misplaced("required", required, "a list of names")
        return Node(
            kind=NodeKind.OBJECT,
            properties={name: self._child(properties[name]) for name in self._order(properties)},
            required=frozenset(required),
            additional=None if additional is None or isinstance(additional, bool) else self._child(additional),
        )

    def _order(self, properties: Object) -> tuple[str, ...]:
        names: Sequence[str] = tuple(properties)
        if self._draft is not Draft.MODERN:
            # Through a JSONObject (`JSONObjectDeserializer`) and a map of its size (`OrgJsonUtil.toMap`).
            names = hash_map_order(hash_map_order(names), capacity=len(names))
        return hash_map_order(names)  # the HashMap of `ObjectSchema.Builder`

    def _common(self, node: Node) -> None:
        self._rest.pop(self._draft.id_word, None)
        title, description = self._text("title"), self._text("description")
        if self._draft in (Draft.DRAFT_7, Draft.MODERN):
            self._takes(("readOnly", "writeOnly"))
        node.title, node.description = title, description
        node.default = self._rest.pop("default", MISSING)
        node.other = self._rest

    def _text(self, word: str) -> str | None:
        if word not in self._rest:
            return None
        text = self._rest.pop(word)
        if not isinstance(text, str):
            raise _misplaced(word, text, "a text")
        return text


def _misplaced(word: str, value: object, needed: str) -> SchemaError:
    return SchemaError(f'"{word}" of a part of the schema is {shown(value)}; it must be {needed}.')


def _combined_first(nodes: Sequence[Node]) -> tuple[Node, ...]:
    """`CombinedSchema.sortByCombinedFirst`."""
    return tuple(sorted(nodes, key=lambda node: not node.kind.is_combined))
