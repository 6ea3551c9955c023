"""Columns inferred from an Avro schema, as ksqlDB infers them (`ConnectKsqlSchemaTranslator`)."""

from __future__ import annotations

from typing import Literal

from srfix.serde._column_types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    MAX_NESTING,
    STRING,
    TIME,
    TIMESTAMP,
    Array,
    Column,
    Columns,
    ColumnType,
    Decimal,
    Map,
    ScalarType,
    Struct,
    usable_columns,
)
from srfix.serde.casing import declared_name
from srfix.serde.errors import ColumnError
from srfix.serde.formats._avro_schema import AvroNode, describe, load, nullable_branch

__all__ = ["NO_PRECISION", "columns_from_avro", "map_entry_types", "scalar_of"]

_MAX_COLUMNS = 10_000
NO_PRECISION = 64
"""The precision of a decimal that names none (`AvroData.CONNECT_AVRO_DECIMAL_PRECISION_DEFAULT`)."""

_LOGICAL = {"date": DATE, "time-millis": TIME, "timestamp-millis": TIMESTAMP}
_SCALARS = {
    "boolean": BOOLEAN,
    "int": INTEGER,
    "long": BIGINT,
    "float": DOUBLE,
    "double": DOUBLE,
    "string": STRING,
    "enum": STRING,
    "bytes": BYTES,
    "fixed": BYTES,
}


def scalar_of(node: AvroNode) -> ScalarType | Decimal | None:
    """The column type of an Avro type without parts; None for the others.

    Logical types that Connect's AvroData does not know (timestamp-micros, uuid, …) are their underlying type,
    as there.
    """
    match node.connect_logical:
        case "decimal":
            return Decimal(node.precision or NO_PRECISION, node.scale)
        case None:
            return _SCALARS.get(node.kind)
        case logical:
            return _LOGICAL[logical]


def map_entry_types(node: AvroNode) -> tuple[AvroNode, AvroNode] | None:
    """Key and value types of an array that stands for a map; None if it is an array of anything else."""
    if node.kind != "array" or node.items is None or not node.items.is_map_entry:
        return None
    fields = {part.name: part.node for part in node.items.fields}
    return (fields["key"], fields["value"]) if fields.keys() == {"key", "value"} else None


def columns_from_avro(
    text: str, *, names: Literal["upper", "keep"] = "upper", references: tuple[str, ...] = ()
) -> Columns:
    """The columns of a record schema: `upper` names them as unquoted identifiers would, `keep` as the fields
    are named.

    Nullable or not makes no difference: every column may be null. Unlike ksqlDB, which drops what it cannot
    hold, a field that no column type fits is an error.

    :param references: the texts that the schema refers to, in the order of registration.
    :raises SchemaError: if the text is not an Avro schema.
    :raises ColumnError: if the root is not a record, a field's type fits no column (with its path), two
        fields get the same name, or the types nest too deep (a recursive schema does).
    """
    branch = nullable_branch(load(text, references))
    if branch is None or branch[0].kind != "record":
        raise ColumnError("Columns can only be inferred from an Avro record; this schema's root is something else.")
    return usable_columns(_Inference(upper=names == "upper").fields(branch[0], path="", depth=1))


class _Inference:
    def __init__(self, *, upper: bool) -> None:
        self._upper = upper
        self._count = 0

    def fields(self, record: AvroNode, *, path: str, depth: int) -> Columns:
        columns: dict[str, Column] = {}
        for field in record.fields:
            name = declared_name(field.name) if self._upper else field.name
            self._count += 1
            if self._count > _MAX_COLUMNS:
                raise ColumnError(
                    f"The schema has more than {_MAX_COLUMNS:,} fields, references followed. Name the columns."
                )
            if name in columns:
                raise ColumnError(
                    f"Two fields of {path or 'the schema'} become the column {name!r} in upper case. "
                    "Infer with names='keep', or name the columns."
                )
            columns[name] = Column(name, self._type(field.node, path=f"{path}->{field.name}", depth=depth))
        return tuple(columns.values())

    def _type(self, node: AvroNode, *, path: str, depth: int) -> ColumnType:
        if depth > MAX_NESTING:
            raise ColumnError(
                f"The schema nests deeper than {MAX_NESTING} levels at {path}; is it recursive? Name the columns."
            )
        branch = nullable_branch(node)
        if branch is None:
            raise ColumnError(
                f"The field {path} is a {describe(node)}, which fits no column type. Name the columns and leave it out."
            )
        value = branch[0]
        scalar = scalar_of(value)
        if scalar is not None:
            return scalar
        if value.kind == "record":
            return Struct(self.fields(value, path=path, depth=depth + 1))
        entry = map_entry_types(value)
        if entry is not None and _is_string(entry[0]):
            return Map(self._type(entry[1], path=f"{path}->MAP_VAL", depth=depth + 1))
        if value.kind not in ("array", "map") or value.items is None:
            # A union within a union, or an array of entries whose keys are not strings.
            raise ColumnError(f"The field {path} is a {describe(value)}, which fits no column type. Leave it out.")
        step = "ARRAY" if value.kind == "array" else "MAP_VAL"
        part = self._type(value.items, path=f"{path}->{step}", depth=depth + 1)
        return Array(part) if value.kind == "array" else Map(part)


def _is_string(node: AvroNode) -> bool:
    branch = nullable_branch(node)
    return branch is not None and branch[0].kind == "string"
