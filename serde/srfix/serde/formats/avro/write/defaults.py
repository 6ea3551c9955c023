"""Defaults of schemas in the form for fastavro's writer: tagged and raw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from typing import TypeAlias, cast

import fastavro

from srfix.serde.errors import SchemaError
from srfix.serde.formats.avro.engine import WriteSchema
from srfix.serde.formats.avro.schema import AvroNode, describe
from srfix.serde.formats.avro.write.scalars import scalar
from srfix.serde.formats.avro.writer_type import AvroType
from srfix.serde.formats.rows.value_check import MISSING, NULL, Misfit
from srfix.serde.projection.tree import Constant, WriterField

_Scalar: TypeAlias = Callable[[AvroNode, object], object]


def tagged(constant: Constant | None, field: WriterField[AvroType]) -> object:
    """A field's constant; `MISSING` if there is none. Whether it fits is only known when a row needs it."""
    return MISSING if constant is None else _written(field.type.node, constant.json, field.name, _as_it_is)


def default_body(field: WriterField[AvroType]) -> bytes:
    """A field's default as a body of its type, so that it is read like any value of a writer."""
    return body_of(field.type.node, _written(field.type.node, field.default, field.name, _checked))


def body_of(node: AvroNode, value: object) -> bytes:
    """The body of a value in this form."""
    body = BytesIO()
    fastavro.schemaless_writer(body, cast("dict[object, object]", WriteSchema(is_free=False).root(node)), value)
    return body.getvalue()


def _written(node: AvroNode, json: object, name: str, of_scalar: _Scalar) -> object:
    try:
        return _of_json(node, json, of_scalar)
    except (AttributeError, KeyError, Misfit, RecursionError, StopIteration, TypeError, ValueError) as error:
        raise SchemaError(
            f"The default of the field {name} does not fit its type {describe(node)}: {json!r}."
        ) from error


def _of_json(node: AvroNode, json: object, of_scalar: _Scalar) -> object:
    match node.kind:
        case "union" if json is None and (of_scalar is _as_it_is or AvroType(node).is_nullable):
            return NULL
        case "union":
            # In the specification, a default belongs to the first branch. Schemas in registries also have null first
            # with a default of another branch.
            first = next(branch for branch in node.branches if branch.kind != "null")
            return (first.name or first.kind, _of_json(first, json, of_scalar))
        case "record":
            return _record(node, cast("dict[str, object]", json), of_scalar)
        case "array":
            return [_of_json(cast("AvroNode", node.items), one, of_scalar) for one in cast("list[object]", json)]
        case "map":
            entries = cast("dict[str, object]", json).items()
            return {key: _of_json(cast("AvroNode", node.items), one, of_scalar) for key, one in entries}
        case "bytes" | "fixed":
            return of_scalar(node, cast("str", json).encode("latin-1"))  # the specification's code points 0 to 255
        case _:
            return of_scalar(node, json)


def _record(node: AvroNode, values: dict[str, object], of_scalar: _Scalar) -> dict[str, object]:
    made: dict[str, object] = {}
    for part in node.fields:
        if part.name in values:
            made[part.name] = _of_json(part.node, values[part.name], of_scalar)
        elif part.default is not MISSING:
            made[part.name] = _written(part.node, part.default, part.name, of_scalar)
        elif part.node.kind == "union" and AvroType(part.node).is_nullable:
            made[part.name] = NULL
        else:
            raise KeyError(part.name)
    return made


def _as_it_is(_: AvroNode, json: object) -> object:
    return json


def _checked(node: AvroNode, json: object) -> object:
    if node.kind in ("float", "double") and isinstance(json, str):  # NaN and the infinities, which are not JSON numbers
        json = float(json)
    return scalar(replace(node, logical=None)).careful(json)
