"""Whether a table's serde can have put a field in a row that its record has not: Avro's defaults, and nothing else.

A reader's Avro schema takes a field that the writer had not from its default (Avro specification, "Schema Resolution"); one
without a default makes the read fail. So another value, or one where there is no default, is a processor's work. A class that
JSON is mapped to may compute any field, and no schema tells of that.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from srfix.serde.schemas.models import Schema

_Node: TypeAlias = object
"""A schema, as Avro's JSON has it."""


@dataclass(frozen=True, slots=True)
class FilledIn:
    """What one record type of a row's schema says of its fields."""

    _fields: Mapping[str, Mapping[str, _Node]]
    _named: Mapping[str, _Node] = field(repr=False)
    """Every named type of the schema, by the name that it is referred to by."""

    def within(self, name: str) -> FilledIn | None:
        """The same of the record in a field; None if no single record type is there."""
        return _of(self._fields.get(name, {}).get("type"), self._named)

    def explains(self, name: str, value: object) -> bool | None:
        """True if a default explains a field that the record has not, False if nothing can have filled it in.

        None if that cannot be told: an alias may feed it, or the default cannot be compared with what was read.
        """
        found = self._fields.get(name)
        if found is None or found.get("aliases"):
            return None
        if "default" not in found:
            return False
        default = found["default"]
        if not _is_plain(value) or not _is_plain(default) or _is_logical(found.get("type")):
            return None
        return bool(default == value) and isinstance(default, bool) == isinstance(value, bool)


def filled_in(schema: Schema | None) -> FilledIn | None:
    """What the schema that a row was written under says; None if it is no record in Avro, or has parts elsewhere."""
    if schema is None or schema.schema_type != "AVRO" or schema.references:
        return None
    try:
        node: _Node = json.loads(schema.text)
        named: dict[str, _Node] = {}
        _gather(node, "", named)
    except (ValueError, RecursionError):
        return None
    return _of(node, named)


def _of(node: _Node, named: Mapping[str, _Node]) -> FilledIn | None:
    branches = [branch for branch in node if branch != "null"] if isinstance(node, list) else [node]
    if len(branches) != 1:
        return None
    (branch,) = branches
    if isinstance(branch, str):
        branch = named.get(branch)
    if not isinstance(branch, Mapping) or branch.get("type") != "record":
        return None
    fields = cast("list[Mapping[str, _Node]]", branch.get("fields") or [])
    return FilledIn({str(each.get("name")): each for each in fields}, named)


def _gather(node: _Node, namespace: str, named: dict[str, _Node]) -> None:
    if isinstance(node, list):
        for branch in node:
            _gather(branch, namespace, named)
    elif isinstance(node, Mapping):
        name = node.get("name")
        if isinstance(name, str) and node.get("type") in ("record", "enum", "fixed"):
            own, _, short = name.rpartition(".")
            said = node.get("namespace")
            namespace = own or (said if isinstance(said, str) else namespace)
            named[short] = named[f"{namespace}.{short}"] = node
        for inner in ("type", "items", "values"):
            _gather(node.get(inner), namespace, named)
        for each in cast("list[_Node]", node.get("fields") or []):
            if isinstance(each, Mapping):
                _gather(each.get("type"), namespace, named)


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))


def _is_logical(node: _Node) -> bool:
    branches = node if isinstance(node, list) else [node]
    return any(isinstance(branch, Mapping) and "logicalType" in branch for branch in branches)
