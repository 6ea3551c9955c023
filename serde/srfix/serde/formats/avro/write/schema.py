"""A schema in fastavro's parsed form, for its writer."""

from __future__ import annotations

from typing import Final

from srfix.serde.connect.columns import NO_PRECISION
from srfix.serde.formats.avro.engine import ParsedSchema, shortest
from srfix.serde.formats.avro.schema import AvroNode, nullable_branch

_MARK: Final[ParsedSchema] = {"__fastavro_parsed": True, "__named_schemas": {}}


class WriteSchema:
    """The schema in fastavro's parsed form, without the logical types that the checks have dealt with.

    :param is_free: whether fastavro chooses the branch of a union of several types; if not, a check has.
    """

    def __init__(self, *, is_free: bool) -> None:
        self._is_free = is_free
        self._schemas: dict[tuple[AvroNode, bool], ParsedSchema] = {}

    def root(self, root: AvroNode) -> ParsedSchema | list[ParsedSchema]:
        if root.kind == "union":
            is_free = self._is_free and nullable_branch(root) is None
            return [self._schema(branch, is_free=is_free) | _MARK for branch in root.branches]
        return self._schema(root, is_free=False) | _MARK

    def _schema(self, node: AvroNode, *, is_free: bool) -> ParsedSchema:
        # A type that is referred to twice is the same dict, so the result is cyclic where the schema is.
        schema = self._schemas.get((node, is_free))
        if schema is not None:
            return schema
        schema = self._schemas[node, is_free] = {"type": node.kind}
        if node.name:
            schema["name"] = node.name
        if is_free and node.logical is not None:
            schema["logicalType"] = node.logical
            if node.logical == "decimal":
                schema.update({"precision": node.precision or NO_PRECISION, "scale": node.scale})
        if node.kind == "enum":
            schema["symbols"] = list(node.symbols)
        elif node.kind == "fixed":
            schema["size"] = node.size
        elif node.kind == "record":
            schema["fields"] = [
                {"name": part.name, "type": self._reference(part.node, is_free=is_free)} for part in node.fields
            ]
        elif node.items is not None:
            schema["items" if node.kind == "array" else "values"] = self._reference(node.items, is_free=is_free)
        return schema

    def _reference(self, node: AvroNode, *, is_free: bool) -> object:
        if node.kind != "union":
            return shortest(self._schema(node, is_free=is_free))
        # What is below a union that fastavro chooses from has not been through our checks.
        is_free = is_free or (self._is_free and nullable_branch(node) is None)
        return [shortest(self._schema(branch, is_free=is_free)) for branch in node.branches]
