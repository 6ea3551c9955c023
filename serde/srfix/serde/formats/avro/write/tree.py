"""Rows under their own schema: which field is which column's.

Columns and fields correspond by position, as ksqlDB copies its rows; without columns a row has the schema's own names.
"""

from __future__ import annotations

from srfix.serde.columns.types import Array, ColumnType, Map, Struct
from srfix.serde.errors import SchemaError
from srfix.serde.formats.avro.infer import map_entry_types
from srfix.serde.formats.avro.schema import AvroNode
from srfix.serde.formats.avro.writer_type import AvroType
from srfix.serde.formats.rows.value_check import MISSING
from srfix.serde.projection.tree import Entries, Items
from srfix.serde.projection.writer_type import WriterField
from srfix.serde.projection.written import Constant, Free, WriteField, WriteFields, WriteHow, WriteScalar, Written


def written(root: AvroNode, column: ColumnType | None) -> Written[AvroType]:
    """How values are written under a schema; of a column, under the one that was made of it."""
    return _Walk().value(AvroType(root), column)


class _Walk:
    def __init__(self) -> None:
        self._records: dict[AvroNode, WriteFields[AvroType]] = {}

    def value(self, writer: AvroType, column: ColumnType | None) -> Written[AvroType]:
        return Written(writer=writer, column=column, how=self._how(writer, column))

    def _how(self, writer: AvroType, column: ColumnType | None) -> WriteHow[AvroType]:
        node = writer.value
        if node.kind == "union" and node is writer.node:
            return Free()
        if node.kind == "record":
            return self._record(writer, column)
        if node.items is None:
            return WriteScalar(logical=node.logical)
        if node.kind == "map" or map_entry_types(node) is not None:
            keys, values = writer.entries("")
            inner = column.values if isinstance(column, Map) else None
            return Entries(self.value(keys, None), self.value(values, inner))
        return Items(self.value(writer.items(), column.items if isinstance(column, Array) else None))

    def _record(self, writer: AvroType, column: ColumnType | None) -> WriteFields[AvroType]:
        node = writer.value
        if node in self._records:
            return self._records[node]
        # Known before its fields are looked at: a recursive record finds itself here.
        record = self._records[node] = WriteFields()
        columns = column.fields if isinstance(column, Struct) else (None,) * len(node.fields)
        if len(columns) != len(node.fields):
            raise SchemaError(
                f"The record {node.name} has {len(node.fields)} fields, but there are {len(columns)} columns for it: "
                "it is not their schema. `encoder_under` writes columns under a schema that exists."
            )
        return record.complete(
            tuple(
                WriteField(
                    field=field,
                    column=one,
                    value=self.value(field.type, None if one is None else one.type),
                    missing=_missing(field),
                )
                for field, one in zip(writer.fields(""), columns, strict=True)
            )
        )


def _missing(field: WriterField[AvroType]) -> Constant | None:
    if field.default is not MISSING:
        return Constant(field.default)
    return Constant(None) if field.type.node.kind == "union" and field.type.is_nullable else None
