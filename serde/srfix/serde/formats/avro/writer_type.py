"""Avro's types in the form for the projection's walk (`projection.tree`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Final, Self

from srfix.serde.columns.types import Column, Columns, ColumnType, Decimal, ScalarType, Struct
from srfix.serde.connect.columns import NO_PRECISION
from srfix.serde.connect.schema import NARROW, ConnectType, connect_type_of
from srfix.serde.connect.time_units import TimeUnit, time_unit
from srfix.serde.errors import IncompatibleTypeError, SchemaError
from srfix.serde.formats.avro.connect import map_entry_types, to_connect, union_field_name
from srfix.serde.formats.avro.internal_schema import avro_fields
from srfix.serde.formats.avro.schema import AvroField, AvroNode, describe, nullable_branch
from srfix.serde.printable import path_words
from srfix.serde.projection.tree import Refused, WriterField

AVRO_TYPES: Final = {
    ScalarType.BOOLEAN: ("boolean", None),
    ScalarType.INTEGER: ("int", None),
    ScalarType.BIGINT: ("long", None),
    ScalarType.DOUBLE: ("double", None),
    ScalarType.STRING: ("string", None),
    ScalarType.BYTES: ("bytes", None),
    ScalarType.DATE: ("int", "date"),
    ScalarType.TIME: ("int", "time-millis"),
    ScalarType.TIMESTAMP: ("long", "timestamp-millis"),
    ScalarType.TIMESTAMP_NTZ: ("long", "local-timestamp-micros"),
}
"""The Avro type and logical type of each column type."""


class AvroType:
    """An Avro type. Only a record's field (`is_field`) replaces null by Connect's default (`Struct.get`)."""

    def __init__(self, node: AvroNode, *, is_field: bool = False) -> None:
        branch = nullable_branch(node)
        self._is_field = is_field
        self.node = node
        has_null = node.kind == "null" or any(part.kind == "null" for part in node.branches)
        self.value, self.is_nullable = (node, has_null) if branch is None else branch
        """The type beside null; the union, if there are several types."""
        self.is_union = self.value.kind == "union"

    # This is computed only for a type that feeds a column: a type that Connect refuses does no harm if no column reads
    # it.
    @cached_property
    def _to_connect(self) -> tuple[ConnectType | None, str | None]:
        return connect_type(self.value)

    @property
    def connect(self) -> ConnectType | None:
        return self._to_connect[0]

    @property
    def name(self) -> str | None:
        return self._to_connect[1]

    @property
    def unit(self) -> TimeUnit | None:
        if self.value.kind not in ("int", "long") or self.value.read_as is not None or self.connect is None:
            return None
        return time_unit(self.connect, self.value.logical, self.value.props.get("connect.name"))

    @property
    def default(self) -> object:
        """Only connect.default: Connect loses the field's own. For a type with parts, null stays null."""
        has_parts = self.value.kind == "record" or self.value.items is not None
        if not self._is_field or self.value is self.node or not self.is_nullable or has_parts:
            return None
        default = self.value.props.get("connect.default")
        if isinstance(default, str) and self.value.kind in ("bytes", "fixed"):
            return default.encode("latin-1", "replace")
        return default if isinstance(default, bool | int | float | str) else None

    @property
    def word(self) -> str:
        word, connect = describe(self.value), self.connect
        return f"{word} ({connect.word})" if connect in NARROW else word

    @property
    def holder(self) -> str:
        return "the union" if self.is_union else "the writer schema"

    @property
    def defaults(self) -> tuple[WriterField[AvroType], ...]:
        return _record_fields(self.value.defaults)

    def fields(self, path: str) -> tuple[WriterField[AvroType], ...]:
        if not self.is_union:
            return _record_fields(self.value.fields)
        branches = self.branches()
        resolved = [branch for branch in branches if not branch.is_unresolved]
        # Two branches that a reader's schema reads as one type have its full name, or none.
        apart = {(branch.name, branch.type.value.name) for branch in resolved}
        if len({name for name, _ in apart}) < len(apart):
            raise SchemaError(
                f"Two branches of the {describe(self.value)}, at {path_words(path)}, have the same name for Connect: "
                f"{', '.join(branch.name for branch in resolved)}. No column can tell them apart."
            )
        return branches

    def branches(self) -> tuple[WriterField[AvroType], ...]:
        """The branches of a union without null, by Connect's names; two may have the same name. A branch that no column
        has as a member gets its word as its name."""
        return tuple(self._branch(*one) for one in enumerate(self.value.branches) if one[1].kind != "null")

    def _branch(self, number: int, branch: AvroNode) -> WriterField[AvroType]:
        is_lacking = branch.read_as is not None and branch.read_as.kind == "null"
        name = union_field_name(branch) if self.value.read_as is None and not is_lacking else describe(branch)
        return WriterField(number=number, name=name, written=name, type=AvroType(branch), is_unresolved=is_lacking)

    @property
    def choices(self) -> tuple[WriterField[AvroType], ...]:
        return self.branches() if self.is_union and self.value.read_as is not None else ()

    def refused(self, error: IncompatibleTypeError) -> Refused:
        has_values = any(branch.kind != "null" for branch in self.node.branches)
        return Refused(error, reads_null=self.node.reads_null, has_values=has_values or not self.is_nullable)

    def items(self) -> AvroType:
        assert self.value.items is not None
        return AvroType(self.value.items)

    def entries(self, path: str) -> tuple[AvroType, AvroType]:
        entry = map_entry_types(self.value)
        if entry is not None:
            return AvroType(entry[0]), AvroType(entry[1])
        if self.value.kind != "map" or self.value.items is None:
            raise SchemaError(
                f"The schema has a map encoded as an array of entries, at {path_words(path)}, but the entries are not "
                f"records of key and value: {describe(self.value)}."
            )
        return AvroType(AvroNode(kind="string")), AvroType(self.value.items)

    def by_name(self, columns: Columns) -> Mapping[str, Column]:
        """By Avro-compatible names, as ksqlDB matches columns (`ConnectSchemas.withCompatibleSchema`)."""
        return avro_fields(columns)

    def under(self, column: ColumnType) -> Self:
        return self

    def is_type_of(self, column: ColumnType) -> bool:
        node = self.value
        if isinstance(column, Decimal):
            digits = (node.precision or NO_PRECISION, node.scale)
            return node.connect_logical == "decimal" and digits == (column.precision, column.scale)
        if isinstance(column, ScalarType):
            return (node.kind, node.logical) == AVRO_TYPES[column] and self.connect is connect_type_of(column)
        return not (isinstance(column, Struct) and self.is_union)


def _record_fields(fields: Iterable[AvroField]) -> tuple[WriterField[AvroType], ...]:
    return tuple(
        WriterField(
            number=number,
            name=part.name,
            written=part.written or part.name,
            type=AvroType(part.node, is_field=True),
            default=part.default,
        )
        for number, part in enumerate(fields)
    )


def connect_type(node: AvroNode) -> tuple[ConnectType | None, str | None]:
    """The type and logical name in AvroData, of the reader's type if it promotes one; None for null."""
    if node.read_as is not None:
        return connect_type(node.read_as)
    match node.kind:
        case "null":
            return None, None
        case "union" if all(branch.kind == "null" for branch in node.branches):
            return None, None
        case "record" | "union":
            return ConnectType.STRUCT, None
        case "map":
            return ConnectType.MAP, None
        case "array":
            is_map = node.items is not None and node.items.is_map_entry
            return (ConnectType.MAP if is_map else ConnectType.ARRAY), None
        case _:
            schema = to_connect(node)
            return schema.type, schema.name
