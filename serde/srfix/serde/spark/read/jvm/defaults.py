"""Defaults of a reader's schema, as Java's Avro takes them: JSON for the type that a projection made of a field.

What a default stands in is free, as no writer has the field: unions lose what it is not, since older versions of Avro take a
default for a value of the union's first type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias, cast

from srfix.serde.formats.avro import AvroNode, map_entry_types, nullable_branch
from srfix.serde.formats.rows.value_check import MISSING

Json: TypeAlias = object

_NUMBERS: Final = ("int", "long", "float", "double")


def default_of(node: AvroNode, reader: Json, value: object) -> tuple[Json, Json] | None:
    """The reader's type and default; None if Java would not take it.

    :param node: the type in the reader's schema.
    :param reader: what the projection made of it.
    :param value: the default, in Avro's JSON.
    """
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
            return _record(node, reader, value)
        case "array" if map_entry_types(node) is None:
            return _items(node, reader, value, "items")
        case "map":
            return _items(node, reader, value, "values")
        case "array":
            return None
    kind = reader["type"] if isinstance(reader, Mapping) else reader
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if (kind in _NUMBERS) != is_number or (kind == "boolean") != isinstance(value, bool):
        return None  # NaN, say, which JSON has no number for
    return reader, value


def _record(node: AvroNode, reader: Json, value: object) -> tuple[Json, Json] | None:
    parts = {f"f{number}": part for number, part in enumerate(node.fields)}
    given = cast("Mapping[str, object]", value)
    outer = cast("Mapping[str, object]", reader)
    fields: list[Json] = []
    default: dict[str, Json] = {}
    for field in cast("list[Mapping[str, object]]", outer["fields"]):
        name = cast("str", field["name"])
        part = parts.get(name)
        if part is None:  # a column that nothing feeds
            fields.append(field)
            default[name] = field["default"]
            continue
        each = given.get(part.name, part.default)
        made = None if each is MISSING else default_of(part.node, field["type"], each)
        if made is None:
            return None
        type_, default[name] = made
        fields.append({**field, "type": type_})
    return {**outer, "fields": fields}, default


def _items(node: AvroNode, reader: Json, value: object, word: str) -> tuple[Json, Json] | None:
    outer = cast("Mapping[str, object]", reader)
    assert node.items is not None
    entries = value.items() if isinstance(value, Mapping) else enumerate(cast("list[object]", value))
    made = {key: default_of(node.items, outer[word], each) for key, each in entries}
    types: list[Json] = []
    for one in made.values():
        if one is None:
            return None
        if one[0] not in types:
            types.append(one[0])
    if len(types) > 1:  # nulls and values side by side, say
        return None
    defaults = {key: one[1] for key, one in made.items() if one is not None}
    type_ = {**outer, word: types[0]} if types else outer
    return type_, defaults if word == "values" else list(defaults.values())
