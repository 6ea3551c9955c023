"""An Avro schema as a graph, which all code of this package walks. A named type is one object for all its uses, so a
recursive schema is cyclic. Also the limits against harmful schemas: fastavro's compiled reader recurses on the C stack
without a check (a linked list of 5,000 levels kills the process)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from sys import intern
from typing import Final, cast

import fastavro

from srfix.serde.bounds import AVRO_SCHEMA_LEVELS, payload_bounds
from srfix.serde.connect.schema import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME
from srfix.serde.connect.time_units import MICROS, MILLIS
from srfix.serde.errors import SchemaError
from srfix.serde.formats.rows.value_check import MISSING, nests_deeper

CONNECT_LOGICAL: Final = {
    ("bytes", "decimal"): DECIMAL_NAME,
    ("fixed", "decimal"): DECIMAL_NAME,
    ("int", "date"): DATE_NAME,
    ("int", "time-millis"): TIME_NAME,
    ("long", "timestamp-millis"): TIMESTAMP_NAME,
}
"""AvroData (Connect) knows these four. It treats every other logical type as its underlying type, and so do columns."""
LOGICAL_OF: Final = {name: logical for (_, logical), name in CONNECT_LOGICAL.items()}
"""The name of a Connect schema → Avro's logical type."""
TIMES: Final = {
    ("int", "date"): ("date", 0),
    ("int", "time-millis"): ("time", MILLIS),
    ("long", "time-micros"): ("time", MICROS),
    ("long", "timestamp-millis"): ("timestamp", MILLIS),
    ("long", "timestamp-micros"): ("timestamp", MICROS),
    ("long", "local-timestamp-millis"): ("local_timestamp", MILLIS),
    ("long", "local-timestamp-micros"): ("local_timestamp", MICROS),
}
"""The times that fastavro reads and writes: the kernel's word, and the units per second."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AvroField:
    name: str
    node: AvroNode
    default: object
    """Its default as JSON; `MISSING` if it has none."""
    doc: str | None = None
    aliases: tuple[str, ...] = ()
    """Its earlier names, or its names in other schemas."""
    written: str | None = None
    """The writer's name, if a reader's alias has replaced it (`avro.read.resolution`)."""


@dataclass(slots=True, kw_only=True, eq=False)
class AvroNode:
    """A type. Mutable only while the graph is built; compared by identity."""

    kind: str
    """null, boolean, int, long, float, double, bytes, string, record, enum, fixed, array, map or union."""
    name: str = ""
    """Full name of a record, enum or fixed."""
    logical: str | None = None
    """The logicalType property, known or not."""
    precision: int = 0
    """The precision of a decimal; 0 if the schema gives none."""
    scale: int = 0
    size: int = 0
    aliases: tuple[str, ...] = ()
    """The earlier names of a record, enum or fixed, or its names in other schemas."""
    symbols: tuple[str, ...] = ()
    written_symbols: tuple[str, ...] = ()
    """For a resolved enum: the writer's symbols. Several of them may map to one symbol of the reader."""
    fields: tuple[AvroField, ...] = ()
    defaults: tuple[AvroField, ...] = ()
    """For a resolved record: the reader's fields that the writer lacks, with defaults (`avro.read.resolution`)."""
    items: AvroNode | None = None
    """The items of an array, or the values of a map."""
    branches: tuple[AvroNode, ...] = ()
    wraps_single_type: bool = False
    """Whether a single type in a union also counts as one of several."""
    doc: str | None = None
    props: Mapping[str, object] = field(default_factory=dict)
    """The properties that are not Avro's own: connect.*, logicalType, scale, precision, an enum's default."""
    read_as: AvroNode | None = None
    """For a resolved type: the reader's type, if Avro promotes the writer's type to it and Connect does not, or reads a
    union of several types as it. Null if the reader's union has no type for the values: a row that holds one is bad."""
    reads_null: bool = False
    """For a resolved type with null: whether the reader's type also has null."""
    is_map_entry: bool = False
    """Connect's record for an entry of a map whose keys are not plain strings (`AvroData`)."""

    @property
    def connect_logical(self) -> str | None:
        """The logical type, if Connect's AvroData knows it on this type."""
        return self.logical if (self.kind, self.logical) in CONNECT_LOGICAL else None

    @property
    def is_bare_bytes(self) -> bool:
        """For the root of a body: whether the body is bytes without their length, also as the reader's union."""
        is_member = self.kind == "record" and not self.name and self.fields[0].node.kind == "bytes"
        return self.kind == "bytes" or is_member

    @property
    def parts(self) -> tuple[AvroNode, ...]:
        items = () if self.items is None else (self.items,)
        return (*self.branches, *(part.node for part in self.fields), *items)


@lru_cache(maxsize=256)
def load(text: str, references: tuple[str, ...] = (), *, wraps_single_types: bool = False) -> AvroNode:
    """The graph of a text, which can use types of the references (in order) by full name (`AvroSchema.rawSchema`)."""
    named: dict[str, object] = {}
    for reference in references:
        _parse(reference, named)
    try:
        root = _Builder(named, wraps_single_types=wraps_single_types).node(_parse(text, named))
    except RecursionError:
        raise SchemaError("The schema's types nest too deep to be read, references included.") from None
    Analysis(root)
    return root


def _parse(text: str, named: dict[str, object]) -> object:
    """fastavro's parsed form; adds the types that the text defines to `named`."""
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError) as error:
        what = "it nests too deep" if isinstance(error, RecursionError) else str(error)
        raise SchemaError(f"The schema text is not JSON ({what}): {_excerpt(text)}") from error
    if nests_deeper(raw, AVRO_SCHEMA_LEVELS - 1):
        raise SchemaError(f"The schema text nests deeper than {AVRO_SCHEMA_LEVELS} levels: {_excerpt(text)}")
    try:
        # Registries keep schemas whose defaults do not fit their types, and Java reads with them.
        return fastavro.parse_schema(
            cast("dict[str, object]", _without_invalid_decimals(raw)),
            named_schemas=cast("dict[str, dict[object, object]]", named),
            _ignore_default_error=True,
        )
    except Exception as error:
        raise SchemaError(
            f"The schema text is not an Avro schema ({type(error).__name__}: {_excerpt(str(error))}): {_excerpt(text)}"
        ) from error


def _without_invalid_decimals(part: object) -> object:
    """Renames the mark of decimals that are invalid by Avro's "Logical Types": Avro ignores them, fastavro does not."""
    if isinstance(part, list):
        return [_without_invalid_decimals(item) for item in part]
    if not isinstance(part, dict):
        return part
    is_invalid = part.get("logicalType") == "decimal" and not _is_decimal(part)
    return {
        _IGNORED if is_invalid and key == "logicalType" else key: value
        if key == "default"
        else _without_invalid_decimals(value)
        for key, value in part.items()
    }


def _is_decimal(schema: Mapping[str, object]) -> bool:
    precision, scale = (schema.get(name) or 0 for name in ("precision", "scale"))
    if type(precision) is not int or type(scale) is not int or min(precision, scale) < 0:
        return False
    if not precision:
        return True
    size = schema.get("size") if schema.get("type") == "fixed" else None
    most = int(math.log10(2) * (8 * size - 1)) if isinstance(size, int) else precision
    return scale <= precision <= most


def _excerpt(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:200]}… ({len(text)} characters)"


class _Builder:
    def __init__(self, named: dict[str, object], *, wraps_single_types: bool) -> None:
        self._named = named
        self._wraps_single_types = wraps_single_types
        self._done: dict[str, AvroNode] = {}

    def node(self, parsed: object) -> AvroNode:
        # Names are interned, here and in columns, because fastavro compares them again and again, and a comparison by
        # identity is the fastest.
        if isinstance(parsed, list):
            branches = tuple(self.node(branch) for branch in parsed)
            return AvroNode(kind="union", branches=branches, wraps_single_type=self._wraps_single_types)
        if isinstance(parsed, str):
            definition = self._named.get(parsed)
            if parsed in self._done or definition is None:
                return self._done.get(parsed) or AvroNode(kind=intern(parsed))
            return self._definition(cast("dict[str, object]", definition), parsed)
        schema = cast("dict[str, object]", parsed)
        kind = intern(cast("str", schema["type"]))
        if kind in ("record", "error", "enum", "fixed"):
            name = cast("str", schema["name"])
            return self._done.get(name) or self._definition(schema, name)
        node = AvroNode(kind=kind)
        _set_logical(node, schema)
        if kind in ("array", "map"):
            node.items = self.node(schema["items" if kind == "array" else "values"])
        return node

    def _definition(self, schema: dict[str, object], name: str) -> AvroNode:
        kind = intern(cast("str", schema["type"]))
        node = AvroNode(kind="record" if kind == "error" else kind, name=name)
        self._done[name] = node
        _set_logical(node, schema)
        node.aliases = _texts(schema.get("aliases"))
        if kind == "enum":
            node.symbols = tuple(cast("list[str]", schema["symbols"]))
        elif kind == "fixed":
            node.size = cast("int", schema["size"])
            if not isinstance(node.size, int) or node.size < 0:
                raise SchemaError(
                    f"The fixed type {name} has the size {node.size!r}; it must be a whole number, 0 or more."
                )
        else:
            node.is_map_entry = (
                schema.get("connect.internal.type") == "MapEntry" or name == "io.confluent.connect.avro.MapEntry"
            )
            node.fields = tuple(
                AvroField(
                    name=intern(_field_name(part["name"], name)),
                    node=self.node(part["type"]),
                    default=part.get("default", MISSING),
                    doc=_text(part.get("doc")),
                    aliases=_texts(part.get("aliases")),
                )
                for part in cast("list[dict[str, object]]", schema["fields"])
            )
            names = [part.name for part in node.fields]
            if len(set(names)) != len(names):
                raise SchemaError(f"The record {name} has two fields of the same name.")
        return node


def _set_logical(node: AvroNode, schema: dict[str, object]) -> None:
    precision, scale = schema.get("precision"), schema.get("scale")
    node.logical = _text(schema.get("logicalType"))
    node.scale = whole(scale) or 0
    if _IGNORED not in schema:
        node.precision = precision if isinstance(precision, int) else 0
    node.doc = _text(schema.get("doc"))
    node.props = {
        "logicalType" if name == _IGNORED else name: value
        for name, value in schema.items()
        if name not in _NO_PROPERTIES
    }


def whole(value: object) -> int | None:
    """`Number.intValue` of a JSON number; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if isinstance(value, int) or math.isfinite(value) else None


_IGNORED: Final = "srfix.ignored"
"""Replaces `logicalType` if Avro ignores it; Connect does not ignore it (`AvroNode.props`)."""


# Avro's own keys, and fastavro's marks.
_NO_PROPERTIES: Final = frozenset(
    {"type", "name", "namespace", "doc", "aliases", "fields", "items", "values", "symbols", "size"}
    | {"__fastavro_parsed", "__named_schemas"}
)


def _field_name(name: object, record: str) -> str:
    # fastavro accepts any JSON value.
    if isinstance(name, str):
        return name
    raise SchemaError(f"A field of the record {record} has the name {json.dumps(name)}; a name must be a text.")


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def nullable_branch(node: AvroNode) -> tuple[AvroNode, bool] | None:
    """The only type that can hold a value, and whether null stands beside it; None if there is no such type."""
    if node.kind != "union":
        return None if node.kind == "null" else (node, False)
    if node.wraps_single_type and len(node.branches) == 1:
        return None
    values = [branch for branch in node.branches if branch.kind != "null"]
    return (values[0], len(values) < len(node.branches)) if len(values) == 1 else None


def describe(node: AvroNode) -> str:
    """Describes a type for an error: `record a.B`, `long (timestamp-millis)`, `union of null, int, string`."""
    if node.kind == "union":
        return "union of " + ", ".join(describe(branch) for branch in node.branches)
    if node.kind == "array" and node.items is not None and node.items.is_map_entry:
        return "array of map entries"
    if node.connect_logical == "decimal":
        return f"{node.kind} (decimal {node.precision}, {node.scale})"
    label = f"{node.kind} {node.name}" if node.name else node.kind
    return f"{label} ({node.logical})" if node.logical else label


def has_decimals(root: AvroNode) -> bool:
    return any(node.logical == "decimal" for node in every_node(root))


def has_milliseconds(root: AvroNode) -> bool:
    words = ("time-millis", "timestamp-millis", "local-timestamp-millis")
    return any(node.logical in words for node in every_node(root))


def every_node(root: AvroNode) -> Iterator[AvroNode]:
    seen: set[AvroNode] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            yield node
            stack.extend(node.parts)


class Analysis:
    """The facts that a reader must know before fastavro reads a body.

    :raises SchemaError: if the types nest too deep, or expand to too many parts; if a record always contains itself.
    """

    def __init__(self, root: AvroNode) -> None:
        bounds = payload_bounds()
        self._most_parts = bounds.schema_parts
        self._levels: dict[AvroNode, int] = {}
        self._empty: set[AvroNode | None] = set()
        """The types whose values take no bytes."""
        self._known: dict[AvroNode, int] = {}
        self._open: list[AvroNode] = []
        self.is_recursive = False
        """True if a type can contain itself: the body then decides how deep the reader recurses."""
        try:
            self._visits(root)
        except RecursionError as error:
            raise SchemaError("The schema's types nest too deep to be read safely.") from error
        if self._levels.get(root, 1) > bounds.levels:
            raise SchemaError(f"The schema's types nest deeper than {bounds.levels} levels, references included.")
        self.has_unbounded_arrays = any(node.kind == "array" and node.items in self._empty for node in self._levels)
        """True if an array's items take no bytes: ten bytes can then claim 2²⁸ of them."""
        self.has_blocks = any(node.items is not None for node in self._levels)
        """True if there are arrays or maps: the body then says how many items follow."""
        self.node_count = len(self._levels)

    def _visits(self, node: AvroNode) -> int:
        """An upper limit of the types that a reader visits for one value with empty arrays and maps."""
        if node in self._known:
            return self._known[node]
        if node in self._open:
            self.is_recursive = True
            loop = self._open[self._open.index(node) :]
            if all(part.kind == "record" for part in loop):
                raise SchemaError(f"The record {node.name} always contains itself, so its values would be endless.")
            return 1
        self._open.append(node)
        counts = [self._visits(part) for part in node.parts]
        total = 1 + (sum(counts) if node.kind == "record" else max(counts, default=0) if node.kind == "union" else 0)
        self._open.pop()
        if total > self._most_parts:
            raise SchemaError(
                f"The schema's nested types expand to more than {self._most_parts:,} parts for each record: "
                f"{describe(node)}."
            )
        self._levels[node] = 1 + max((self._levels.get(part, 1) for part in node.parts), default=0)
        self._known[node] = total
        if node.kind in ("record", "fixed", "null") and not node.size and self._empty.issuperset(node.parts):
            self._empty.add(node)
        return total
