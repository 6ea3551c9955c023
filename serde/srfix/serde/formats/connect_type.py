"""A writer's type for the projection's walk, in formats with Connect's schemas: JSON Schema and Protobuf."""

from __future__ import annotations

from dataclasses import dataclass

from srfix.serde.columns.types import ColumnType, Decimal, ScalarType
from srfix.serde.connect.columns import NO_PRECISION, connect_schema_of
from srfix.serde.connect.schema import (
    CONNECT_DATA,
    DECIMAL_NAME,
    DECIMAL_PRECISION,
    DECIMAL_SCALE,
    ConnectSchema,
    ConnectType,
)
from srfix.serde.connect.time_units import TimeUnit, time_unit
from srfix.serde.projection.tree import WriterType


@dataclass(frozen=True, slots=True)
class ConnectWriterType(WriterType):
    schema: ConnectSchema
    """The Connect schema that the format's translator makes of the type."""

    @property
    def connect(self) -> ConnectType:
        return self.schema.type

    @property
    def name(self) -> str | None:
        return self.schema.name

    @property
    def is_nullable(self) -> bool:
        return self.schema.optional

    @property
    def is_union(self) -> bool:
        return False

    @property
    def is_logical(self) -> bool:
        return self.schema.name is not None and self.schema.name.startswith(CONNECT_DATA)

    @property
    def unit(self) -> TimeUnit | None:
        return time_unit(self.schema.type, None, self.schema.name)

    @property
    def default(self) -> object:
        return self.schema.default

    @property
    def word(self) -> str:
        schema = self.schema
        if not self.is_logical:
            return schema.type.word
        word = (schema.name or "").removeprefix(CONNECT_DATA)
        if schema.name == DECIMAL_NAME:
            word = f"{word} {schema.parameters.get(DECIMAL_PRECISION, NO_PRECISION)}, {schema.parameters.get(DECIMAL_SCALE)}"
        return f"{schema.type.word} ({word})"

    def is_type_of(self, column: ColumnType) -> bool:
        schema = self.schema
        if isinstance(column, Decimal):
            digits = (schema.parameters.get(DECIMAL_PRECISION, str(NO_PRECISION)), schema.parameters.get(DECIMAL_SCALE))
            return schema.name == DECIMAL_NAME and digits == (str(column.precision), str(column.scale))
        if isinstance(column, ScalarType):
            column_schema = connect_schema_of(column)
            return (
                schema.type is column_schema.type and (schema.name if self.is_logical else None) == column_schema.name
            )
        return not self.is_union
