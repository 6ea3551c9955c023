"""Avro's schema resolution, as far as names go: the aliases and the defaults of a reader's schema.

Who asks for the newest schema, or names one, expects what every Avro reader does with it: a field that was renamed is found
by its alias, one that the writer lacks is its default, and a symbol that the reader's enum lacks is the enum's default. Names
are not in the bytes. So a writer schema is rewritten once, as Java's `Schema.applyAliases` does: its fields get the reader's
names, and its records know the defaults. All that reads, explains or projects writer schemas reads the rewritten ones.

A writer's record, or enum, is resolved where Avro resolves it: where it has the reader's name (namespaces aside), or one of
the reader's aliases. Another record type in the topic gets no defaults. Types are left alone: what feeds a column of which
type is `_connect_coercions`' matter, by which an int feeds a BIGINT, as in Avro, and also a STRING, as not there.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, cast

from srfix.serde._time_units import reads_units
from srfix.serde.bounds import payload_bounds
from srfix.serde.casing import CaseRule
from srfix.serde.errors import SchemaError, UsageError
from srfix.serde.formats._avro_schema import MISSING, AvroField, AvroNode, describe, load

__all__ = ["ReaderSchema", "default_body", "has_hints", "resolved_root", "usable_reader"]

_FIXED_WIDTH: Final = {"float": "<f", "double": "<d"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderSchema:
    """An Avro schema whose aliases and defaults count. Picklable."""

    text: str
    """Its text."""
    references: tuple[str, ...] = ()
    """The texts that it refers to, none before those that it refers to itself."""


@lru_cache(maxsize=256)
def resolved_root(text: str, references: tuple[str, ...], reader: ReaderSchema | None) -> AvroNode:
    """The graph of a writer schema, with the reader's names and defaults; as it is without a reader.

    :raises SchemaError: if a text is not an Avro schema, or the two have more pairs of types than a schema has parts.
    """
    root = load(text, references)
    if reader is None:
        return root
    try:
        return _Resolution().node(root, load(reader.text, reader.references))
    except RecursionError:
        raise SchemaError("The types of writer and reader nest too deep to be resolved.") from None


def usable_reader(given: str | ReaderSchema | None, case_rule: CaseRule) -> ReaderSchema | None:
    """What was given as a reader's schema.

    :raises SchemaError: if it is no Avro schema.
    :raises UsageError: if the columns are fed by ksqlDB's own rules, which know neither aliases nor a reader's defaults.
    """
    if given is None:
        return None
    reader = ReaderSchema(text=given) if isinstance(given, str) else given
    if not reads_units(case_rule):
        raise UsageError(
            f"reader_schema= asks for Avro's schema resolution, and the case rule {case_rule.value!r} reads as ksqlDB, which "
            "knows neither aliases nor a reader's defaults. Leave one of them out."
        )
    try:
        load(reader.text, reader.references)
    except SchemaError as error:
        error.args = (f"reader_schema: {error.message}",)
        raise
    return reader


def has_hints(root: AvroNode) -> bool:
    """True if a schema has aliases or defaults: what would count if it were the reader's."""
    seen: set[AvroNode] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.kind == "enum" and "default" in node.props:
            return True
        if any(part.aliases or part.default is not MISSING for part in node.fields):
            return True
        stack.extend((*node.branches, *(part.node for part in node.fields), *((node.items,) if node.items else ())))
    return False


class _Resolution:
    def __init__(self) -> None:
        self._done: dict[tuple[AvroNode, AvroNode], AvroNode] = {}

    def node(self, writer: AvroNode, reader: AvroNode) -> AvroNode:
        known = self._done.get((writer, reader))
        if known is not None:
            return known
        if len(self._done) >= payload_bounds().schema_parts:
            raise SchemaError(
                f"The schemas of writer and reader have more than {payload_bounds().schema_parts:,} pairs of types "
                "(srfix.serde.bounds: schema_parts)."
            )
        made = self._done[writer, reader] = replace(writer)
        if writer.kind == "union":
            made.branches = tuple(self._branch(branch, reader) for branch in writer.branches)
            return made
        found = _branch_for(writer, reader)
        if found is None:
            return made
        if writer.kind == "record":
            self._record(made, writer, found)
        elif writer.kind == "enum":
            default = found.props.get("default")
            if isinstance(default, str) and default in found.symbols:
                made.symbols = tuple(symbol if symbol in found.symbols else default for symbol in writer.symbols)
                made.written_symbols = writer.symbols
                made.props = {**writer.props, "default": default}
        elif writer.items is not None and found.items is not None:
            made.items = self.node(writer.items, found.items)
        return made

    def _branch(self, branch: AvroNode, reader: AvroNode) -> AvroNode:
        found = _branch_for(branch, reader)
        return branch if found is None else self.node(branch, found)

    def _record(self, made: AvroNode, writer: AvroNode, reader: AvroNode) -> None:
        names = {part.name for part in writer.fields}
        own = {part.name for part in reader.fields}
        feeds: dict[str, AvroField] = {part.name: part for part in reader.fields if part.name in names}
        for part in reader.fields:
            if part.name in names:
                continue
            # A field that a reader's own field claims by its exact name feeds no other.
            alias = next((one for one in part.aliases if one in names and one not in own and one not in feeds), None)
            if alias is not None:
                feeds[alias] = part
        made.fields = tuple(self._field(part, feeds.get(part.name)) for part in writer.fields)
        fed = {part.name for part in feeds.values()}
        made.defaults = tuple(part for part in reader.fields if part.name not in fed and part.default is not MISSING)

    def _field(self, part: AvroField, reader: AvroField | None) -> AvroField:
        if reader is None:
            return part
        written = None if part.name == reader.name else part.name
        return replace(part, name=reader.name, node=self.node(part.node, reader.node), written=written)


def _branch_for(writer: AvroNode, reader: AvroNode) -> AvroNode | None:
    """The reader's type that a writer's type, no union, is read as; None if there is none of its kind."""
    branches: Sequence[AvroNode] = reader.branches if reader.kind == "union" else (reader,)
    alike = [branch for branch in branches if branch.kind == writer.kind]
    if writer.kind in ("record", "enum", "fixed"):
        alike = [branch for branch in alike if _are_one(writer, branch)]
        alike = [branch for branch in alike if branch.name == writer.name] or alike
    return alike[0] if alike else None


def _are_one(writer: AvroNode, reader: AvroNode) -> bool:
    """Whether Avro takes a named type of the writer's for one of the reader's."""
    return _short(writer) in (_short(reader), *(alias.rpartition(".")[2] for alias in reader.aliases))


def _short(node: AvroNode) -> str:
    return node.name.rpartition(".")[2]


def default_body(field: AvroField) -> bytes:
    """A field's default, as a body of its type: it is read as any value of a writer's is.

    :raises SchemaError: if it does not fit the type.
    """
    try:
        return _encoded(field.node, field.default)
    except (AttributeError, KeyError, RecursionError, StopIteration, TypeError, ValueError, struct.error) as error:
        raise SchemaError(
            f"The default of the field {field.name} does not fit its type {describe(field.node)}: {field.default!r}."
        ) from error


def _encoded(node: AvroNode, value: object) -> bytes:
    encode = _ENCODE.get(node.kind)
    if encode is None:
        raise TypeError(node.kind)
    return encode(node, value)


def _null(_: AvroNode, value: object) -> bytes:
    if value is not None:
        raise ValueError(value)
    return b""


def _boolean(_: AvroNode, value: object) -> bytes:
    if not isinstance(value, bool):
        raise TypeError(value)
    return b"\1" if value else b"\0"


def _whole(_: AvroNode, value: object) -> bytes:
    if not isinstance(value, int) or isinstance(value, bool) or not -(2**63) <= value < 2**63:
        raise ValueError(value)
    return _varint(value)


def _varint(value: int) -> bytes:
    left, made = (value << 1) ^ (value >> 63), bytearray()
    while left > 0x7F:
        made.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes((*made, left))


def _fraction(node: AvroNode, value: object) -> bytes:
    if isinstance(value, str):  # NaN and the infinities, which JSON has no numbers for
        value = float(value)
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError(value)
    return struct.pack(_FIXED_WIDTH[node.kind], value)


def _text(_: AvroNode, value: object) -> bytes:
    body = cast("str", value).encode()
    return _varint(len(body)) + body


def _bytes(node: AvroNode, value: object) -> bytes:
    body = cast("str", value).encode("latin-1")  # the specification's code points 0 to 255
    if node.kind == "fixed":
        if len(body) != node.size:
            raise ValueError(value)
        return body
    return _varint(len(body)) + body


def _symbol(node: AvroNode, value: object) -> bytes:
    return _varint(node.symbols.index(cast("str", value)))


def _array(node: AvroNode, value: object) -> bytes:
    items = [_encoded(cast("AvroNode", node.items), each) for each in cast("list[object]", value)]
    return (_varint(len(items)) + b"".join(items) if items else b"") + b"\0"


def _map(node: AvroNode, value: object) -> bytes:
    entries = cast("dict[str, object]", value).items()
    items = [_text(node, key) + _encoded(cast("AvroNode", node.items), each) for key, each in entries]
    return (_varint(len(items)) + b"".join(items) if items else b"") + b"\0"


def _record(node: AvroNode, value: object) -> bytes:
    given = cast("Mapping[str, object]", value)
    parts = ((part, given.get(part.name, part.default)) for part in node.fields)
    return b"".join(_encoded(part.node, each) for part, each in parts)


def _union(node: AvroNode, value: object) -> bytes:
    # The specification says the first branch; what registries hold has null first and another default too.
    kinds = [branch.kind for branch in node.branches]
    number = kinds.index("null") if value is None else next(n for n, kind in enumerate(kinds) if kind != "null")
    return _varint(number) + _encoded(node.branches[number], value)


_ENCODE: Final[Mapping[str, Callable[[AvroNode, object], bytes]]] = {
    "null": _null,
    "boolean": _boolean,
    "int": _whole,
    "long": _whole,
    "float": _fraction,
    "double": _fraction,
    "string": _text,
    "bytes": _bytes,
    "fixed": _bytes,
    "enum": _symbol,
    "array": _array,
    "map": _map,
    "record": _record,
    "union": _union,
}
