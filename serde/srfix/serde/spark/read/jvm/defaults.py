"""The defaults of a reader's schema, in the form that Java's Avro accepts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from srfix.serde.formats.avro import AvroNode, map_entry_types, nullable_branch
from srfix.serde.formats.rows.value_check import MISSING

_NUMBERS: Final = ("int", "long", "float", "double")


def default_of(node: AvroNode, reader: object, value: object) -> tuple[object, object] | None:
    """The reader's type and a default that Java's Avro accepts; old versions read it as a union's first type."""
    if node.kind == "union":
        branch = nullable_branch(node)
        if value is None or branch is None:
            return ("null", None) if value is None else None
        inner = reader[1] if isinstance(reader, list) else reader
        return default_of(branch[0], inner, value)
    if value is None:
        return ("null", None) if node.kind == "null" else None
    match node.kind:
        case "record":
            return _record_default(node, reader, value)
        case "array" if map_entry_types(node) is None:
            return _items_default(node, reader, value, "items")
        case "map":
            return _items_default(node, reader, value, "values")
        case "array":
            return None
    kind = reader["type"] if isinstance(reader, Mapping) else reader
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")
    if (kind in _NUMBERS) != is_number or (kind == "boolean") != isinstance(value, bool):
        return None  # for example NaN, or 1e400 (infinite), which are no JSON numbers
    return reader, value


def _record_default(node: AvroNode, reader: object, value: object) -> tuple[object, object] | None:
    parts = {f"f{number}": part for number, part in enumerate(node.fields)}
    values = cast("Mapping[str, object]", value)
    outer = cast("Mapping[str, object]", reader)
    fields: list[object] = []
    default: dict[str, object] = {}
    for field in cast("list[Mapping[str, object]]", outer["fields"]):
        name = cast("str", field["name"])
        part = parts.get(name)
        if part is None:  # a column that nothing feeds
            fields.append(field)
            default[name] = field["default"]
            continue
        part_value = values.get(part.name, part.default)
        made = None if part_value is MISSING else default_of(part.node, field["type"], part_value)
        if made is None:
            return None
        type_, default[name] = made
        fields.append({**field, "type": type_})
    return {**outer, "fields": fields}, default


def _items_default(node: AvroNode, reader: object, value: object, word: str) -> tuple[object, object] | None:
    outer = cast("Mapping[str, object]", reader)
    assert node.items is not None
    entries = value.items() if isinstance(value, Mapping) else enumerate(cast("list[object]", value))
    made = {key: default_of(node.items, outer[word], item) for key, item in entries}
    types: list[object] = []
    for one in made.values():
        if one is None:
            return None
        if one[0] not in types:
            types.append(one[0])
    if len(types) > 1:  # for example nulls beside values
        return None
    defaults = {key: one[1] for key, one in made.items() if one is not None}
    type_ = {**outer, word: types[0]} if types else outer
    return type_, defaults if word == "values" else list(defaults.values())
