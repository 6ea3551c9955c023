"""The encode plan of a schema: made once, not per row.

fastavro tries the branches of a union one after the other on the whole value, at every level again. Here one
pass checks the row strictly, says which branch each value takes (fastavro's tuple notation), and names every
bad field with its path. Only a union of several types beside null is left to fastavro to choose from.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Final, cast

from srfix.serde._column_halves import only_column, struct_of
from srfix.serde._column_types import Array, Columns, ColumnType, Map, Struct
from srfix.serde.casing import CaseRule
from srfix.serde.engine import Encode
from srfix.serde.errors import EncodeError, SchemaError
from srfix.serde.formats._avro_checks import FieldCheck, RecordCheck, array_check, entries_check, map_check
from srfix.serde.formats._avro_columns import NO_PRECISION, map_entry_types
from srfix.serde.formats._avro_defaults import when_missing
from srfix.serde.formats._avro_engine import ParsedSchema, fastavro_encoder, shortest
from srfix.serde.formats._avro_scalars import WHOLE_MILLISECONDS, Check, Convert, nullable, scalar
from srfix.serde.formats._avro_schema import MISSING, AvroNode, has_milliseconds, load, nullable_branch
from srfix.serde.formats._misfit import Misfit, encode_error

__all__ = ["WritePlan", "bare", "encode_checked", "encoder"]

_BARE: Final = "\0"
"""Where the bare value stands until it is taken out."""
_MARK: Final[ParsedSchema] = {"__fastavro_parsed": True, "__named_schemas": {}}


def encoder(
    schema_text: str | None,
    *,
    columns: Columns | None,
    case_rule: CaseRule,
    references: tuple[str, ...] = (),
    wrapped: bool = True,
    cut_times: bool = False,
) -> Encode:
    """An encoder for rows under a schema.

    With columns, the schema is their internal schema, column for field, and a row's keys are matched to them by the case
    rule; without, the row's keys are the schema's field names, exactly. A root of the Avro type bytes, a decimal too, is
    the whole body, without Avro's length: so Confluent's serializers write it (`AbstractKafkaAvroSerializer`,
    confluent-kafka).

    :param references: the texts that the schema refers to, in the order of registration.
    :param wrapped: False writes the bare value of the only column. Null has no bytes then: the engine's payload is null
        (`KsqlConnectSerializer`), which is for the caller to write.
    :param cut_times: times finer than the schema's are cut down; refused otherwise.
    :raises SchemaError: if the text is not an Avro schema, or not the one of the columns.
    :raises ColumnError: if there are several columns, or none, and `wrapped` is False.
    """
    if schema_text is None:
        raise SchemaError("Avro rows cannot be written without a schema.")
    root = load(schema_text, references)
    plan = WritePlan(CaseRule.EXACT if columns is None else case_rule, cut_times=cut_times)
    if columns is None:
        check = plan.check(root, None)
    elif wrapped:
        check = plan.check(root, struct_of(columns))
    else:
        column = only_column(columns)
        check = bare(plan.check(root, column.type), column.name, case_rule)
    return encode_checked(root, plan.root_schema(root), check)


def bare(check: Check, name: str, case_rule: CaseRule) -> Check:
    """A row of one column → what is written of it: its value."""
    row = RecordCheck(case_rule)
    value = check if check.tag is not None else Check(fast=check.fast, careful=_unless_none(check.careful))
    row.set_fields([FieldCheck(name=name, field=_BARE, check=value, when_missing=MISSING)])

    def fast(given: object) -> object:
        return cast("dict[str, object]", row.fast(given))[_BARE]

    def careful(given: object) -> object:
        return cast("dict[str, object]", row.careful(given))[_BARE]

    return Check(fast=fast, careful=careful)


def _unless_none(careful: Convert) -> Convert:
    def check(value: object) -> object:
        if value is None:
            raise Misfit(
                [("", "is null, and un-wrapped there are no bytes for that: the payload is null, a tombstone")]
            )
        return careful(value)

    return check


def encode_checked(root: AvroNode, schema: ParsedSchema | list[ParsedSchema], check: Check) -> Encode:
    """An encoder of values that a check makes ready."""

    def explain(value: object) -> None:
        try:
            check.careful(value)
        except Misfit as misfit:
            raise encode_error(misfit) from misfit.group()
        except RecursionError as error:
            raise EncodeError("The row nests too deep to be written.") from error

    if root.kind != "bytes":
        return fastavro_encoder(schema, prepare=check.fast, explain=explain)

    def encode(value: object, prefix: bytes) -> bytes:
        try:
            return prefix + cast("bytes", check.fast(value))
        except Misfit:
            explain(value)
            raise

    return encode


class WritePlan:
    """How values are checked, and the schema that they are written under.

    :param cut_times: whether times finer than the schema's are cut.
    :param free_unions: whether fastavro chooses the branch of a union of several types; if not, a check has.
    """

    def __init__(self, case_rule: CaseRule, *, free_unions: bool = True, cut_times: bool = False) -> None:
        self._case_rule = case_rule
        self._cut_times = cut_times
        self._free_unions = free_unions
        self._schemas: dict[tuple[AvroNode, bool], ParsedSchema] = {}
        self._records: dict[AvroNode, RecordCheck] = {}

    def root_schema(self, root: AvroNode) -> ParsedSchema | list[ParsedSchema]:
        """The schema in fastavro's parsed form, without the logical types that the checks have dealt with."""
        if root.kind == "union":
            is_free = self._free_unions and nullable_branch(root) is None
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
        is_free = is_free or (self._free_unions and nullable_branch(node) is None)
        return [shortest(self._schema(branch, is_free=is_free)) for branch in node.branches]

    def check(self, node: AvroNode, type_: ColumnType | None) -> Check:
        """How values of a type are checked; with a column's type, records have the column's names."""
        if node.kind != "union":
            return self._value(node, type_)
        branch = nullable_branch(node)
        if branch is None:
            # fastavro chooses, and cuts.
            convert = _as_it_is if self._cut_times or not has_milliseconds(node) else _whole_milliseconds
            return Check(fast=convert, careful=convert)
        value, _ = branch
        return nullable(self._value(value, type_), value.name or value.kind)

    def _value(self, node: AvroNode, type_: ColumnType | None) -> Check:
        if node.kind == "record":
            record = self._record(node, type_)
            return Check(fast=record.fast, careful=record.careful)
        if node.items is None:
            return scalar(node, cut_times=self._cut_times)
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
            if len(columns) != len(node.fields):
                raise SchemaError(
                    f"The record {node.name} has {len(node.fields)} fields, but there are {len(columns)} columns for it: "
                    "it is not their schema. `encoder_under` writes columns under a schema that exists."
                )
            record.set_fields(
                FieldCheck(
                    name=field.name if column is None else column.name,
                    field=field.name,
                    check=self.check(field.node, None if column is None else column.type),
                    when_missing=when_missing(field),
                )
                for column, field in zip(columns, node.fields, strict=True)
            )
        return self._records[node]


def _as_it_is(value: object) -> object:
    return value


def _whole_milliseconds(value: object) -> object:
    """The value, if no time in it is finer."""
    stack = [value]
    while stack:
        part = stack.pop()
        if isinstance(part, datetime.datetime | datetime.time):
            offset = part.utcoffset()
            if part.microsecond % 1000 or (offset is not None and offset.microseconds % 1000):
                raise Misfit.needs(WHOLE_MILLISECONDS, part)
        elif isinstance(part, Mapping):
            stack.extend(part.values())
        elif isinstance(part, list | tuple):
            stack.extend(part)
    return value
