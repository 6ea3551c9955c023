"""What is written for a field that the row lacks: Avro's defaults as fastavro's writer wants them, tagged and raw."""

from __future__ import annotations

from typing import cast

from srfix.serde.errors import SchemaError
from srfix.serde.formats._avro_scalars import NULL
from srfix.serde.formats._avro_schema import MISSING, AvroField, AvroNode, describe, nullable_branch

__all__ = ["connect_default", "default_of", "when_missing"]


def when_missing(field: AvroField) -> object:
    """Avro's own: the field's default, null if that is allowed, `MISSING` otherwise.

    :raises SchemaError: if the default does not fit the field's type.
    """
    if field.default is not MISSING:
        return _written(field.node, field.default, field.name)
    is_nullable = field.node.kind == "union" and any(branch.kind == "null" for branch in field.node.branches)
    return NULL if is_nullable else MISSING


def default_of(field: AvroField) -> object:
    """Connect's, as AvroData hands it on: `MISSING` if there is none, and the field is not optional.

    Where null stands beside one type, the field's default is lost: only the type's property connect.default counts.

    :raises SchemaError: if the default does not fit the field's type.
    """
    if nullable_branch(field.node) is not None and field.node.kind == "union":
        default = connect_default(field.node, field.name)
        is_optional = any(branch.kind == "null" for branch in field.node.branches)
        return NULL if default is MISSING and is_optional else default
    if field.default is MISSING:
        default = connect_default(field.node, field.name)
        return when_missing(field) if default is MISSING else default
    return when_missing(field)


def connect_default(node: AvroNode, name: str) -> object:
    """The property connect.default of a type, or of the one that may be null; `MISSING` without one."""
    branch = nullable_branch(node)
    if branch is None or branch[0].props.get("connect.default") is None:
        return MISSING
    value = branch[0]
    default = _written(value, value.props["connect.default"], name)
    return default if node.kind != "union" else (value.name or value.kind, default)


def _written(node: AvroNode, json: object, name: str) -> object:
    try:
        return _of_json(node, json)
    except (AttributeError, KeyError, StopIteration, TypeError, UnicodeEncodeError) as error:
        raise SchemaError(
            f"The default of the field {name} does not fit its type {describe(node)}: {json!r}."
        ) from error


def _of_json(node: AvroNode, json: object) -> object:
    if node.kind == "union":
        if json is None:
            return NULL
        first = next(branch for branch in node.branches if branch.kind != "null")
        return (first.name or first.kind, _of_json(first, json))
    if node.kind in ("bytes", "fixed"):
        return cast("str", json).encode("latin-1")  # the specification's code points 0 to 255
    if node.kind == "record":
        given = cast("dict[str, object]", json)
        made = {
            part.name: _of_json(part.node, given[part.name]) if part.name in given else when_missing(part)
            for part in node.fields
        }
        if MISSING in made.values():
            raise KeyError(node.name)
        return made
    if node.items is None:
        return json
    items = node.items
    if node.kind == "array":
        return [_of_json(items, value) for value in cast("list[object]", json)]
    return {key: _of_json(items, value) for key, value in cast("dict[str, object]", json).items()}
