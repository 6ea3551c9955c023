"""Avro schema text as Java writes it: `Schema.toString()`, which Confluent's `AvroSchema.canonicalString` is. Java's
readers look up a schema's version with this text, and Confluent's registry compares and returns it. No Python library
writes it: Avro's parsing canonical form drops docs, aliases, defaults and custom attributes, which are part of a
schema's identity.

Attributes have a fixed order, names are relative to the enclosing namespace, empty attributes are left out, an object
that holds only a primitive type becomes the type's name. Texts are checked like by Java's parser of Avro 1.11 (names in
any script; default values are not checked).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from srfix.serde.connect.java_text import java_json, no_constant
from srfix.serde.errors import SchemaError
from srfix.serde.schemas.models import Json

PRIMITIVES = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
_TYPES = PRIMITIVES | {"record", "enum", "array", "map", "union", "fixed"}
_RESERVED = frozenset({"type", "name", "namespace", "doc", "fields", "items", "values", "size", "symbols", "aliases"})
_RESERVED_IN_FIELD = frozenset({"name", "type", "doc", "default", "order", "aliases"})
_NAME = re.compile(r"[^\W\d]\w*")
_COMMENT: Final = re.compile(r'("(?:[^"\\]|\\.)*(?:"|\\?\Z))|/\*.*?(?:\*/|\Z)|//[^\n]*', re.DOTALL)
"""A text, which is kept, or a comment, which Avro's parser allows (Jackson's ALLOW_COMMENTS). A comment without an end
extends to the end of the text, so that no text is searched again and again."""


def java_schema(text: str, references: Sequence[str] | None = (), *, inline: bool = False) -> str:
    """Java's text. A reference stands after its own; None: any undefined name is one. `inline` writes them out."""
    return java_json(_Writer(references or (), inline=inline, is_open=references is None).top(_load(text)))


def full_name(name: str, space: str) -> str:
    """The full name, with this namespace unless the name has its own; `.N` has no namespace."""
    if name.rfind(".") == 0:
        return name[1:]
    return name if "." in name or not space else f"{space}.{name}"


def _load(text: str) -> Json:
    try:
        value: Json = json.loads(_COMMENT.sub(r"\1", text) if "/" in text else text, parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"not JSON: {error}") from error
    return value


class _Writer:
    """One pass. It reads names relative to their namespace, and writes them relative to their new place."""

    def __init__(self, references: Sequence[str], *, inline: bool, is_open: bool) -> None:
        self._inline = inline
        self._is_open = is_open
        self._defined: set[str] = set()
        self._pending: dict[str, dict[str, Json]] = {}
        # While it reads references, it keeps their definitions, to write each one at its first use.
        self._recording = True
        for reference in references:
            self.top(_load(reference))
        self._recording = False
        if inline:
            self._defined.clear()
        else:
            self._pending.clear()

    def top(self, node: Json) -> Json:
        return self._schema(node, "", "")

    def _schema(self, node: Json, space: str, out_space: str) -> Json:
        if isinstance(node, str):
            return node if node in PRIMITIVES else self._use(node, space, out_space)
        if isinstance(node, list):
            return self._union(node, space, out_space)
        if not isinstance(node, dict) or not isinstance(node.get("type"), str):
            raise SchemaError(f"No type: {java_json(node)}")
        kind = str(node["type"])
        if kind in PRIMITIVES:
            rest = dict(_other_properties(node))
            return {"type": kind, **rest} if rest else kind
        if kind in ("array", "map"):
            key = "items" if kind == "array" else "values"
            if key not in node:
                raise SchemaError(f"No {key} type: {java_json(node)}")
            return {"type": kind, key: self._schema(node[key], space, out_space), **dict(_other_properties(node))}
        if kind in ("record", "error", "enum", "fixed"):
            return self._named(node, kind, space, out_space)
        return self._use(kind, space, out_space)

    def _use(self, name: str, space: str, out_space: str) -> Json:
        full = full_name(name, space)
        for candidate in (full, name):
            if candidate in self._pending and not self._recording:
                return self._schema(self._pending[candidate], "", out_space)
            if candidate in self._defined:
                return _relative(candidate, out_space)
        if self._is_open:
            return _relative(full, out_space)
        raise SchemaError(f"Type not supported: {name}")

    def _union(self, branches: list[Json], space: str, out_space: str) -> Json:
        written = [self._schema(branch, space, out_space) for branch in branches]
        seen: set[str] = set()
        for branch in written:
            if isinstance(branch, list):
                raise SchemaError(f"Nested union: {java_json(written)}")
            key = str(branch.get("name", branch["type"]) if isinstance(branch, dict) else branch)
            if isinstance(branch, dict):
                key = full_name(key, str(branch.get("namespace", "")))
            if key in seen:
                raise SchemaError(f"Duplicate in union:{key}")
            seen.add(key)
        return written

    def _named(self, node: dict[str, Json], kind: str, space: str, out_space: str) -> Json:
        name = _text(node, "name", "No name in schema")
        namespace = node.get("namespace")
        full = full_name(name, namespace if isinstance(namespace, str) else space)
        own_space, _, short = full.rpartition(".")
        _check_name(short)
        if full in self._defined:
            if self._inline and not self._recording:
                return _relative(full, out_space)  # the type is nested in a reference, and used before that reference
            raise SchemaError(f"Can't redefine: {full}")
        self._defined.add(full)
        if self._recording:
            self._pending[full] = {**node, "name": short, "namespace": own_space}
        else:
            self._pending.pop(full, None)

        written: dict[str, Json] = {"type": kind, "name": short}
        if own_space != out_space:
            written["namespace"] = own_space
        if isinstance(node.get("doc"), str):
            written["doc"] = node["doc"]
        reserved = _RESERVED
        if kind == "enum":
            reserved = _RESERVED | {"default"}
            written.update(_enum(node))
        elif kind == "fixed":
            size = written["size"] = node.get("size")
            if not isinstance(size, int) or isinstance(size, bool) or size < 0:
                raise SchemaError(f"Invalid or no size: {java_json(node)}")
        else:
            written["fields"] = self._fields(node, short, own_space)
        written.update(_other_properties(node, reserved))
        if aliases := _aliases(node):
            written["aliases"] = [_relative(full_name(alias, own_space), own_space) for alias in aliases]
        return written

    def _fields(self, record: dict[str, Json], record_name: str, space: str) -> list[Json]:
        fields = record.get("fields")
        if not isinstance(fields, list):
            raise SchemaError(f"Record has no fields: {java_json(record)}")
        written: list[Json] = []
        seen: set[str] = set()
        for field in fields:
            if not isinstance(field, dict):
                raise SchemaError(f"Record fields must be objects: {java_json(field)}")
            name = _text(field, "name", "No field name")
            _check_name(name)
            if name in seen:
                raise SchemaError(f"Duplicate field {name} in record {record_name}")
            seen.add(name)
            written.append(self._field(field, name, space))
        return written

    def _field(self, field: dict[str, Json], name: str, space: str) -> Json:
        if "type" not in field:
            raise SchemaError(f"No field type: {java_json(field)}")
        kind = field["type"]
        if isinstance(kind, str) and kind not in PRIMITIVES and not self._knows(kind, space):
            raise SchemaError(
                f'"{kind}" is not a defined name. The type of the "{name}" field must be a defined name '
                'or a {"type": ...} expression.'
            )
        written: dict[str, Json] = {"name": name, "type": self._schema(kind, space, space)}
        if isinstance(field.get("doc"), str):
            written["doc"] = field["doc"]
        if "default" in field:
            written["default"] = field["default"]
        order = field.get("order", "ascending")
        if (order := order.lower() if isinstance(order, str) else order) != "ascending":
            written["order"] = order
        if aliases := _aliases(field):
            written["aliases"] = list(aliases)
        written.update(_other_properties(field, _RESERVED_IN_FIELD))
        return written

    def _knows(self, name: str, space: str) -> bool:
        return self._is_open or any(
            candidate in self._defined or candidate in self._pending for candidate in (full_name(name, space), name)
        )


def _relative(full: str, space: str) -> str:
    """A relative name; the full one if the short one is an Avro type's (`Schema.Name.shouldWriteFull`, Avro 1.11.3)."""
    namespace, _, short = full.rpartition(".")
    return short if namespace == "" or (namespace == space and short not in _TYPES) else full


def _other_properties(node: Mapping[str, Json], reserved: frozenset[str] = _RESERVED) -> Iterator[tuple[str, Json]]:
    return ((key, value) for key, value in node.items() if key not in reserved)


def _text(node: Mapping[str, Json], key: str, complaint: str) -> str:
    value = node.get(key)
    if not isinstance(value, str):
        raise SchemaError(f"{complaint}: {java_json(dict(node))}")
    return value


def _check_name(name: str) -> None:
    if not name:
        raise SchemaError("Empty name")
    if not _NAME.fullmatch(name):
        raise SchemaError(f"Illegal character in: {name}")


def _aliases(node: Mapping[str, Json]) -> tuple[str, ...]:
    aliases = node.get("aliases")
    if aliases is None:
        return ()
    if not isinstance(aliases, list):
        raise SchemaError(f"aliases not an array: {java_json(dict(node))}")
    texts = tuple(alias for alias in aliases if isinstance(alias, str))
    if len(texts) < len(aliases):
        raise SchemaError(f"alias not a string: {java_json(dict(node))}")
    return tuple(dict.fromkeys(texts))


def _enum(node: Mapping[str, Json]) -> dict[str, Json]:
    symbols = node.get("symbols")
    if not isinstance(symbols, list):
        raise SchemaError(f"Enum has no symbols: {java_json(dict(node))}")
    for position, symbol in enumerate(symbols):
        if not isinstance(symbol, str):
            raise SchemaError(f"Enum symbol is not a string: {java_json(symbol)}")
        _check_name(symbol)
        if symbol in symbols[:position]:
            raise SchemaError(f"Duplicate enum symbol: {symbol}")
    written: dict[str, Json] = {"symbols": symbols}
    if "default" in node:
        if node["default"] not in symbols:
            raise SchemaError(f"The Enum Default: {node['default']} is not in the enum symbol set")
        written["default"] = node["default"]
    return written
