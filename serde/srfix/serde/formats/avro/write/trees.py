"""Which column is written as which field: under the columns' own schema, or (`under_existing`) under an existing one,
like ksqlDB with KEY_SCHEMA_ID and VALUE_SCHEMA_ID (`AvroSRSchemaDataTranslator`, then Connect's `Struct` and AvroData).

| the schema | the columns | what is written |
|---|---|---|
| a field | a column with its name | the value, if Connect treats the types as the same: nothing is coerced, not INT to long |
| a field, not optional | null | its default; refused without one |
| a field | no column | its default; null if it is optional; refused if it is neither |
| no field | a column | refused |

For a field of null and one other type, only the property connect.default counts as a default, because AvroData loses
the field's own. A union of several types is a STRUCT of its branches, in the form in which it is read: the branch that
is not null is written.

There are two differences from the engine, which would silently lose data. First, if the schema lacks a field of a
STRUCT, the row is refused at every level; ksqlDB drops the field below the first level. Second, fields are matched only
by name; some ksqlDB releases match a value by its position.
"""

from __future__ import annotations

from collections.abc import Iterator

from srfix.serde.columns.half import only_column, struct_of
from srfix.serde.columns.types import Array, Column, Columns, ColumnType, Decimal, Map, ScalarType, Struct, type_name
from srfix.serde.connect.schema import DECIMAL_NAME, connect_type_of
from srfix.serde.errors import EncodeError, SchemaError
from srfix.serde.formats.avro.connect import map_entry_types
from srfix.serde.formats.avro.internal_schema import avro_fields
from srfix.serde.formats.avro.schema import LOGICAL_OF, AvroNode, describe
from srfix.serde.formats.avro.writer_type import AVRO_TYPES, AvroType
from srfix.serde.formats.rows.value_check import MISSING
from srfix.serde.printable import path_words
from srfix.serde.projection import tree
from srfix.serde.specs import WriteSpec


def written_type(spec: WriteSpec) -> ColumnType:
    return struct_of(spec.known_columns) if spec.wrapped else only_column(spec.known_columns).type


def written(root: AvroNode, column: ColumnType | None) -> tree.Written[AvroType]:
    """How values are written under a schema; for columns, under their internal schema."""
    return _Walk().value(AvroType(root), column)


class _Walk:
    def __init__(self) -> None:
        self._records: dict[AvroNode, tree.WriteFields[AvroType]] = {}

    def value(self, writer: AvroType, column: ColumnType | None) -> tree.Written[AvroType]:
        return tree.Written(writer=writer, column=column, how=self._how(writer, column))

    def _how(self, writer: AvroType, column: ColumnType | None) -> tree.WriteHow[AvroType]:
        node = writer.value
        if node.kind == "union" and node is writer.node:
            return tree.Free()
        if node.kind == "record":
            return self._record(writer, column)
        if node.items is None:
            return tree.WriteScalar(logical=node.logical)
        if node.kind == "map" or map_entry_types(node) is not None:
            keys, values = writer.entries("")
            inner = column.values if isinstance(column, Map) else None
            return tree.Entries(self.value(keys, None), self.value(values, inner))
        return tree.Items(self.value(writer.items(), column.items if isinstance(column, Array) else None))

    def _record(self, writer: AvroType, column: ColumnType | None) -> tree.WriteFields[AvroType]:
        node = writer.value
        if node in self._records:
            return self._records[node]
        # Known before its fields are looked at: a recursive record finds itself here.
        record = self._records[node] = tree.WriteFields()
        columns = column.fields if isinstance(column, Struct) else (None,) * len(node.fields)
        if len(columns) != len(node.fields):
            raise SchemaError(
                f"The record {node.name} has {len(node.fields)} fields, but there are {len(columns)} columns, so it is "
                "not the schema of these columns. Use `encoder_under` to write columns under an existing schema."
            )
        return record.complete(
            tuple(
                tree.WriteField(
                    field=field,
                    column=one,
                    value=self.value(field.type, None if one is None else one.type),
                    missing=_own_missing(field),
                )
                for field, one in zip(writer.fields(""), columns, strict=True)
            )
        )


def _own_missing(field: tree.WriterField[AvroType]) -> tree.Constant | None:
    if field.default is not MISSING:
        return tree.Constant(field.default)
    return tree.Constant(None) if _may_be_null(field) else None


def under_existing(writer: AvroType, spec: WriteSpec) -> tree.Written[AvroType]:
    if spec.wrapped:
        if writer.value.kind != "record":
            raise SchemaError(f"Columns are written as a record, but the schema is a {describe(writer.node)}.")
        columns, names = avro_fields(spec.known_columns), {field.name for field in writer.fields("")}
        if wrong := _lacking(writer, spec.known_columns):
            raise EncodeError(
                f"Rows of these columns cannot be written under the record {writer.value.name}: {'; '.join(wrong)}.",
                paths=tuple(f"->{column.name}" for name, column in columns.items() if name not in names),
            )
    return _written(writer, written_type(spec))


def unwritable(value: tree.Written[AvroType], path: str = "") -> Iterator[str]:
    """The paths of columns, and of their parts, of which no value can be written, with the reasons."""
    match value.how:
        case tree.Forbidden():
            yield f"{path_words(path)} {value.how.why}"
        case tree.Items(items):
            yield from unwritable(items, f"{path}->ARRAY")
        case tree.Entries(_, values):
            yield from unwritable(values, f"{path}->MAP_VAL")
        case tree.WriteFields(fields):
            for field in fields:
                if field.value is not None:
                    yield from unwritable(field.value, f"{path}->{field.key}")


def _lacking(record: AvroType, columns: Columns) -> list[str]:
    fields, schema_fields = avro_fields(columns), record.fields("")
    names = {field.name for field in schema_fields}
    misses = [f"the schema misses field with name: {name}" for name in fields if name not in names]
    required = [
        f"missing default value for required Avro field: [{field.name}], which no column fills"
        for field in schema_fields
        if field.name not in fields and _missing(field) is None
    ]
    return misses + required


def _written(writer: AvroType, column: ColumnType) -> tree.Written[AvroType]:
    return tree.Written(writer=writer, column=column, how=_how(writer, column))


def _how(writer: AvroType, column: ColumnType) -> tree.WriteHow[AvroType]:
    node, name = writer.value, writer.name
    if column is ScalarType.TIMESTAMP and (node.kind, node.logical) == ("long", "timestamp-micros"):
        # Connect does not know this type, but it is read as an instant in microseconds (`connect.time_units`).
        return tree.WriteScalar(logical=node.logical)
    if writer.is_union:
        return _union(writer, column.fields) if isinstance(column, Struct) else _refused(node, column)
    if writer.connect is not connect_type_of(column):
        return _refused(node, column)
    match column:
        case Struct(fields):
            return _record(writer, fields)
        case Array(items):
            return tree.Items(_written(writer.items(), items))
        case Map(values, keys):
            if node.kind != "map" and map_entry_types(node) is None:
                return _refused(node, column)
            key, value = writer.entries("")
            return tree.Entries(_written(key, keys), _written(value, values))
        case Decimal():
            # Connect's Decimal has a scale, and accepts no other scale.
            is_same = name == DECIMAL_NAME and node.scale == column.scale
            return tree.WriteScalar(logical="decimal", fits=column) if is_same else _refused(node, column)
        case ScalarType.TIMESTAMP_NTZ:
            # Connect has no such type, so it is written only as Avro's own type.
            is_local = node.logical in ("local-timestamp-millis", "local-timestamp-micros")
            return tree.WriteScalar(logical=node.logical) if is_local else _refused(node, column)
        case _:
            # Connect treats an unknown logical type as its underlying type.
            logical = LOGICAL_OF.get(name or "")
            return tree.WriteScalar(logical=logical) if logical == AVRO_TYPES[column][1] else _refused(node, column)


def _union(writer: AvroType, columns: Columns) -> tree.WriteHow[AvroType]:
    members = writer.branches()
    branches = {branch.name: branch for branch in members}
    fields = avro_fields(columns)
    lacking = [name for name in fields if name not in branches]
    if lacking or len(branches) < len(members):
        why = f"no branch is named {lacking[0]}" if lacking else "two branches have the same name"
        return tree.Forbidden(why=f"cannot be written as {describe(writer.value)}: {why}", is_null_too=True)
    return tree.WriteFields(
        tuple(
            tree.WriteField(field=branches[name], column=column, value=_written(branches[name].type, column.type))
            for name, column in fields.items()
        )
    )


def _record(writer: AvroType, columns: Columns) -> tree.WriteHow[AvroType]:
    node, fields = writer.value, avro_fields(columns)
    wrong = _lacking(writer, columns)
    if wrong:
        return tree.Forbidden(why=f"cannot be written as {describe(node)}: {'; '.join(wrong)}")
    return tree.WriteFields(tuple(_field(field, fields.get(field.name)) for field in writer.fields("")))


def _field(field: tree.WriterField[AvroType], column: Column | None) -> tree.WriteField[AvroType]:
    if column is None:
        return tree.WriteField(field=field, column=None, value=None, missing=_missing(field))
    null, value = _null(field), _written(field.type, column.type)
    is_refused = isinstance(value.how, tree.Forbidden) and value.how.is_null_too
    missing = tree.Constant(None) if null is None and _may_be_null(field) and not is_refused else null
    return tree.WriteField(field=field, column=column, value=value, null=null, missing=missing)


def _null(field: tree.WriterField[AvroType]) -> tree.Constant | None:
    """What AvroData writes for null. Beside one type, the field's own default is lost: only connect.default counts."""
    node, value = field.type.node, field.type.value
    if field.default is not MISSING and node.kind != "union":
        return tree.Constant(field.default)
    default = None if field.type.is_union else value.props.get("connect.default")
    return None if default is None else tree.Constant(default)


def _missing(field: tree.WriterField[AvroType]) -> tree.Constant | None:
    """The value that is written for a field without a column; None if the field is required."""
    if field.default is not MISSING and field.type.is_union:
        return tree.Constant(field.default)
    return _null(field) or (tree.Constant(None) if _may_be_null(field) else None)


def _may_be_null(field: tree.WriterField[AvroType]) -> bool:
    return field.type.node.kind == "union" and field.type.is_nullable


def _refused(node: AvroNode, column: ColumnType) -> tree.Forbidden:
    return tree.Forbidden(
        why=f"is {type_name(column)}, which cannot be written as {describe(node)}, because values are not coerced"
    )
