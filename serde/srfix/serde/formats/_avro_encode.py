"""The encode plan of a schema: made once, not per row.

fastavro tries the branches of a union one after the other on the whole value, at every level again. Here one
pass checks the row strictly, says which branch each value takes (fastavro's tuple notation), and names every
bad field with its path. Only a union of several types beside null is left to fastavro to choose from.
"""

from __future__ import annotations

from typing import Final, cast

from srfix.serde._column_types import Array, Columns, ColumnType, Map, Struct
from srfix.serde.casing import CaseRule
from srfix.serde.engine import Encode, ParsedSchema, fastavro_encoder, shortest
from srfix.serde.errors import EncodeError
from srfix.serde.formats._avro_checks import FieldCheck, RecordCheck, array_check, entries_check, map_check
from srfix.serde.formats._avro_columns import NO_PRECISION, map_entry_types
from srfix.serde.formats._avro_scalars import NULL, Check, nullable, scalar
from srfix.serde.formats._avro_schema import MISSING, AvroField, AvroNode, load, nullable_branch
from srfix.serde.formats._misfit import Misfit, encode_error

__all__ = ["encoder"]

_MARK: Final[ParsedSchema] = {"__fastavro_parsed": True, "__named_schemas": {}}


def encoder(schema_text: str, *, columns: Columns | None, case_rule: CaseRule) -> Encode:
    """An encoder for rows under a schema.

    With columns, the schema is their internal schema and a row's keys are matched to them by the case rule;
    without, the row's keys are the schema's field names, exactly.

    :raises SchemaError: if the text is not an Avro schema.
    """
    root = load(schema_text)
    plan = _Plan(CaseRule.EXACT if columns is None else case_rule)
    check = plan.check(root, None if columns is None else Struct(columns))

    def explain(value: object) -> None:
        try:
            check.careful(value)
        except Misfit as misfit:
            raise encode_error(misfit) from misfit.group()
        except RecursionError as error:
            raise EncodeError("The row nests too deep to be written.") from error

    return fastavro_encoder(plan.root_schema(root), prepare=check.fast, explain=explain)


class _Plan:
    def __init__(self, case_rule: CaseRule) -> None:
        self._case_rule = case_rule
        self._schemas: dict[tuple[AvroNode, bool], ParsedSchema] = {}
        self._records: dict[AvroNode, RecordCheck] = {}

    def root_schema(self, root: AvroNode) -> ParsedSchema | list[ParsedSchema]:
        """The schema in fastavro's parsed form, without the logical types that the checks have dealt with."""
        if root.kind == "union":
            is_free = nullable_branch(root) is None
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
        is_free = is_free or nullable_branch(node) is None
        return [shortest(self._schema(branch, is_free=is_free)) for branch in node.branches]

    def check(self, node: AvroNode, type_: ColumnType | None) -> Check:
        """How values of a type are checked; with a column's type, records have the column's names."""
        if node.kind != "union":
            return self._value(node, type_)
        branch = nullable_branch(node)
        if branch is None:
            return Check(fast=_as_it_is, careful=_as_it_is)
        value, _ = branch
        return nullable(self._value(value, type_), value.name or value.kind)

    def _value(self, node: AvroNode, type_: ColumnType | None) -> Check:
        if node.kind == "record":
            record = self._record(node, type_)
            return Check(fast=record.fast, careful=record.careful)
        if node.items is None:
            return scalar(node)
        entry = map_entry_types(node)
        if entry is not None:
            value = self.check(entry[1], type_.values if isinstance(type_, Map) else None)
            return entries_check(self.check(entry[0], None), value)
        if node.kind == "map":
            return map_check(self.check(node.items, type_.values if isinstance(type_, Map) else None))
        return array_check(self.check(node.items, type_.items if isinstance(type_, Array) else None))

    def _record(self, node: AvroNode, type_: ColumnType | None) -> RecordCheck:
        if node not in self._records:
            # Known before its fields are looked at: a recursive record finds itself here.
            self._records[node] = record = RecordCheck(self._case_rule)
            # Columns and fields correspond by position, as ksqlDB copies its rows.
            columns = type_.fields if isinstance(type_, Struct) else (None,) * len(node.fields)
            record.set_fields(
                FieldCheck(
                    name=field.name if column is None else column.name,
                    field=field.name,
                    check=self.check(field.node, None if column is None else column.type),
                    when_missing=_when_missing(field),
                )
                for column, field in zip(columns, node.fields, strict=True)
            )
        return self._records[node]


def _as_it_is(value: object) -> object:
    return value


def _when_missing(field: AvroField) -> object:
    """What is written for a field that the row lacks: its default, null if that is allowed, `MISSING`
    otherwise."""
    if field.default is not MISSING:
        return _written_default(field.node, field.default)
    is_nullable = field.node.kind == "union" and any(branch.kind == "null" for branch in field.node.branches)
    return NULL if is_nullable else MISSING


def _written_default(node: AvroNode, json: object) -> object:
    if node.kind == "union":
        if json is None:
            return NULL
        first = next(branch for branch in node.branches if branch.kind != "null")
        return (first.name or first.kind, _written_default(first, json))
    if node.kind in ("bytes", "fixed"):
        return cast("str", json).encode("latin-1")  # the specification's code points 0 to 255
    if node.kind == "record":
        given = cast("dict[str, object]", json)
        return {
            part.name: _written_default(part.node, given[part.name]) if part.name in given else _when_missing(part)
            for part in node.fields
        }
    if node.items is None:
        return json
    items = node.items
    if node.kind == "array":
        return [_written_default(items, value) for value in cast("list[object]", json)]
    return {key: _written_default(items, value) for key, value in cast("dict[str, object]", json).items()}
