"""Avro schemas written as one short line, so that a printed world can be read: `User(userId long, tier string?)`.

The line is the schema's name in a world. `?` is a union with null and default null; `long` alone is a primitive schema;
a `~` before the name says that its properties stand in an order that normalising changes, a `!` that its producer sent
another text than Avro's own (`as_java_writes`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from srfix.serde.schemas.models import Json

LOST: Final[Mapping[str, int]] = {"Lost1": 90_001, "Lost2": 90_002, "LostRow": 90_003}
"""Ids that the registry does not know; the last one is that of an internal schema, which no source topic carries."""


def record_name(line: str) -> str:
    """The record's name; the type of a schema that is no record."""
    return line.lstrip("!~").partition("(")[0]


def _members(line: str) -> list[tuple[str, str]]:
    inside = line.partition("(")[2].rstrip(")")
    return [(name, type_) for name, _, type_ in (said.strip().partition(" ") for said in inside.split(",")) if name]


def fields(line: str) -> frozenset[str]:
    """Field names in upper case; empty if the schema is no record."""
    return frozenset(name.upper() for name, _ in _members(line))


def field_names(versions: Sequence[str]) -> list[str]:
    """The names of all fields of some schemas, as they are written."""
    return [*dict.fromkeys(name for line in versions for name, _ in _members(line))]


def projection_of(versions: Sequence[str], names: Sequence[str], style: str) -> str:
    """The schema that a store's serde registers: `ksql` in capitals, all null or there; `class` as the writer spells it."""
    types: dict[str, str] = {}
    for line in versions:
        for said in line.partition("(")[2].rstrip(")").split(", "):
            name, _, type_ = said.partition(" ")
            types[name] = type_
    if style == "ksql":
        rows = ", ".join(f"{name.upper()} {types[name].rstrip('?')}?" for name in names)
        return f"KsqlDataSourceSchema({rows})"
    return f"Row({', '.join(f'{name} {types[name]}' for name in names)})"


@cache
def text(line: str) -> str:
    if "(" not in line:
        return json.dumps(line)
    members = [_field(name, type_) for name, type_ in _members(line)]
    if "~" in line:
        members[0]["type"] = {"type": "long", "zone": "z", "area": "a"}
    record: Json = {"type": "record", "name": record_name(line), "fields": [*members]}
    if line.startswith("!"):
        at = 1 if "~" in line else 0
        members[at]["type"] = {"type": members[at]["type"]}
        record = {"name": record_name(line), "type": "record", "fields": [*members]}
    return json.dumps(record, separators=(",", ":"))


@cache
def as_java_writes(sent: str) -> str:
    """Java's text of a schema (`Schema.toString()`): a schema that only names a primitive is its name, and `type` comes
    first.
    """
    return json.dumps(_as_java_writes(json.loads(sent)), separators=(",", ":"))


def _as_java_writes(node: Json) -> Json:
    if isinstance(node, list):
        return [_as_java_writes(each) for each in node]
    if not isinstance(node, dict):
        return node
    if set(node) == {"type"} and isinstance(node["type"], str):
        return node["type"]
    first = ("type", "name", "fields") if "fields" in node else ("name", "type", "default")
    order = [*(name for name in first if name in node), *(name for name in node if name not in first)]
    return {name: _as_java_writes(node[name]) for name in order}


def _field(name: str, type_: str) -> dict[str, Json]:
    if type_.endswith("?"):
        return {"name": name, "type": ["null", type_[:-1]], "default": None}
    return {"name": name, "type": type_}


@cache
def body(line: str, number: int) -> bytes:
    """A body with `number` in all its fields, written by hand; numbers from 0 to 62."""
    if "(" not in line:
        return _scalar(line, number)
    return b"".join(_scalar(type_, number) for _, type_ in _members(line))


def _scalar(type_: str, number: int) -> bytes:
    branch, type_ = (b"\x02", type_[:-1]) if type_.endswith("?") else (b"", type_)
    if type_ == "long":
        return branch + bytes([2 * number])
    said = f"s{number}".encode()
    return branch + bytes([2 * len(said)]) + said
