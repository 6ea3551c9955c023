"""Writing columns under a schema that exists, as ksqlDB does with KEY_SCHEMA_ID and VALUE_SCHEMA_ID
(`AvroSRSchemaDataTranslator`, then Connect's `Struct` and AvroData).

| the schema | the columns | what is written |
|---|---|---|
| a field | a column of its name | the value, if its type is the same to Connect: nothing is coerced, not even INT to long |
| a field, not optional | null | its default; refused without one |
| a field | no column | its default; null if it is optional; refused if it is neither |
| no field | a column | refused |

A field of null and one other type has no default but the property connect.default: AvroData loses the field's own. A
union of several types is a STRUCT of its branches, as it is read: the one that is not null is written.

Two differences from the engine, where it would lose data without a word. A field of a STRUCT that the schema lacks is
refused, at every level; ksqlDB drops it below the first. And fields are matched by name alone; some ksqlDB releases take a
value by its position.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from srfix.serde._column_halves import only_column, struct_of
from srfix.serde._column_types import Array, Column, Columns, ColumnType, Decimal, Map, ScalarType, Struct, type_name
from srfix.serde._connect_coercions import connect_type_of, ensure_fit
from srfix.serde._connect_schema import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME
from srfix.serde.casing import CaseRule
from srfix.serde.engine import Encode
from srfix.serde.errors import CoercionError, EncodeError, SchemaError
from srfix.serde.formats._avro_checks import FieldCheck, RecordCheck, array_check, entries_check, map_check
from srfix.serde.formats._avro_columns import map_entry_types
from srfix.serde.formats._avro_connect import union_field_name
from srfix.serde.formats._avro_defaults import connect_default, default_of
from srfix.serde.formats._avro_encode import WritePlan, bare, encode_checked
from srfix.serde.formats._avro_leaves import connect_type
from srfix.serde.formats._avro_names import avro_fields
from srfix.serde.formats._avro_scalars import NULL, Check, Convert, nullable, scalar
from srfix.serde.formats._avro_schema import MISSING, AvroField, AvroNode, describe, load, nullable_branch
from srfix.serde.formats._misfit import Misfit

__all__ = ["encoder_under"]

_LOGICAL = {
    DATE_NAME: "date",
    TIME_NAME: "time-millis",
    TIMESTAMP_NAME: "timestamp-millis",
    DECIMAL_NAME: "decimal",
}
_LOGICAL_OF = {
    ScalarType.DATE: "date",
    ScalarType.TIME: "time-millis",
    ScalarType.TIMESTAMP: "timestamp-millis",
}


def encoder_under(
    schema_text: str,
    *,
    columns: Columns,
    references: tuple[str, ...] = (),
    wrapped: bool = True,
    cut_times: bool = False,
) -> Encode:
    """An encoder for rows of columns under a schema that was not made of them. A row has the columns' exact names.

    :param references: the texts that the schema refers to, in the order of registration.
    :param cut_times: times finer than milliseconds are cut down; refused otherwise.
    :param wrapped: False writes the bare value of the only column; null is for the caller to write, as no payload.
    :raises SchemaError: if the text is not an Avro schema, or its root is not a record and `wrapped` is True.
    :raises EncodeError: if the root lacks a field for a column, or has one without a default that no column fills.
    :raises ColumnError: if two columns become one Avro name, or several are to be un-wrapped.
    """
    root = load(schema_text, references)
    under = _Under(cut_times=cut_times)
    if wrapped:
        branch = nullable_branch(root)
        if branch is None or branch[0].kind != "record":
            raise SchemaError(f"Columns are written as a record, but the schema is a {describe(root)}.")
        _check_root(branch[0], columns)
        check = under.check(root, struct_of(columns))
    else:
        column = only_column(columns)
        check = bare(under.check(root, column.type), column.name, CaseRule.EXACT)
    schema = WritePlan(CaseRule.EXACT, free_unions=False).root_schema(root)
    return encode_checked(root, schema, check)


def _check_root(record: AvroNode, columns: Columns) -> None:
    """What no row of these columns could be written for."""
    wrong = _lacking(record, columns)
    if wrong:
        raise EncodeError(
            f"Rows of these columns cannot be written under the record {record.name}: {'; '.join(wrong)}.",
            paths=tuple(
                f"->{column.name}" for column in columns if column.name.replace(".", "_") not in _names(record)
            ),
        )


def _names(record: AvroNode) -> frozenset[str]:
    return frozenset(field.name for field in record.fields)


def _lacking(record: AvroNode, columns: Columns) -> list[str]:
    fields = avro_fields(columns)
    misses = [f"the schema misses field with name: {name}" for name in fields if name not in _names(record)]
    required = [
        f"missing default value for required Avro field: [{field.name}], which no column fills"
        for field in record.fields
        if field.name not in fields and default_of(field) is MISSING
    ]
    return misses + required


class _Under:
    def __init__(self, *, cut_times: bool) -> None:
        self._cut_times = cut_times

    def check(self, node: AvroNode, type_: ColumnType) -> Check:
        """How values of a column are checked under a type."""
        if node.kind != "union":
            return self._value(node, type_)
        branch = nullable_branch(node)
        if branch is None:
            return self._union(node, type_.fields) if isinstance(type_, Struct) else _null_only(node, type_)
        value, is_optional = branch
        tagged = nullable(self._value(value, type_), value.name or value.kind)
        return tagged if is_optional else _without_null(tagged)

    def _union(self, union: AvroNode, columns: Columns) -> Check:
        """A STRUCT of a union's branches, as a union is read: the one that is not null is written."""
        branches = {union_field_name(branch): branch for branch in union.branches if branch.kind != "null"}
        fields = avro_fields(columns)
        lacking = [name for name in fields if name not in branches]
        if lacking or len(branches) < sum(branch.kind != "null" for branch in union.branches):
            why = f"no branch is named {lacking[0]}" if lacking else "two branches have the same name"
            return _refusing(f"cannot be written as {describe(union)}: {why}")
        tags = {column.name: branches[name].name or branches[name].kind for name, column in fields.items()}
        record = RecordCheck(CaseRule.EXACT)
        record.set_fields(
            FieldCheck(
                name=column.name,
                field=column.name,
                check=_none_or(self.check(branches[name], column.type)),
                when_missing=None,
            )
            for name, column in fields.items()
        )
        is_optional = len(branches) < len(union.branches)

        def convert(inner: Convert) -> Convert:
            def convert_union(value: object) -> object:
                given = cast("dict[str, object]", {} if value is None else inner(value))
                chosen = [(tags[name], part) for name, part in given.items() if part is not None]
                if len(chosen) > 1:
                    raise Misfit([("", "has several values, and a union holds one")])
                if not chosen and not is_optional:
                    raise Misfit([("", "is null, and the schema does not allow that")])
                return chosen[0] if chosen else NULL

            return convert_union

        return Check(fast=convert(record.fast), careful=convert(record.careful))

    def _value(self, node: AvroNode, type_: ColumnType) -> Check:
        kind, name = connect_type(node)
        if kind is not connect_type_of(type_):
            return _refused(node, type_)
        match type_:
            case Struct(fields):
                return self._record(node, fields) if node.kind == "record" else _refused(node, type_)
            case Array(items):
                assert node.items is not None
                return array_check(self.check(node.items, items))
            case Map(values, keys):
                entry = map_entry_types(node)
                if entry is not None:
                    return entries_check(self.check(entry[0], keys), self.check(entry[1], values))
                if node.kind != "map" or node.items is None:
                    return _refused(node, type_)
                return map_check(self.check(node.items, values))
            case Decimal():
                # Connect's Decimal has a scale, and takes no other.
                is_same = name == DECIMAL_NAME and node.scale == type_.scale
                return _decimal(node, type_) if is_same else _refused(node, type_)
            case _:
                logical = _LOGICAL.get(name or "")
                if type_ is ScalarType.TIMESTAMP_NTZ:
                    # Connect has no such type: it is written by Avro's own, and as nothing else.
                    is_local = node.logical in ("local-timestamp-millis", "local-timestamp-micros")
                    return scalar(node, cut_times=self._cut_times) if is_local else _refused(node, type_)
                if logical != _LOGICAL_OF.get(type_):
                    return _refused(node, type_)
                # By Connect's eyes: a logical type that it does not know is what it is made of.
                return scalar(replace(node, logical=logical), cut_times=self._cut_times)

    def _record(self, node: AvroNode, columns: Columns) -> Check:
        wrong = _lacking(node, columns)
        if wrong:
            return _refusing(f"cannot be written as {describe(node)}: {'; '.join(wrong)}")
        fields = avro_fields(columns)
        record = RecordCheck(CaseRule.EXACT)
        record.set_fields(
            [self._field(field, fields[field.name]) for field in node.fields if field.name in fields],
            {field.name: default_of(field) for field in node.fields if field.name not in fields},
        )
        return Check(fast=record.fast, careful=record.careful)

    def _field(self, field: AvroField, column: Column) -> FieldCheck:
        check = self.check(field.node, column.type)
        default = default_of(field)
        if field.node.kind != "union" and default is not MISSING:
            check = _null_is(default, check)
        elif (connects := connect_default(field.node, field.name)) is not MISSING:
            check = _null_is(connects, check)
        try:
            missing = check.careful(None)
        except Misfit:
            missing = MISSING
        return FieldCheck(name=column.name, field=field.name, check=check, when_missing=missing)


def _null_is(default: object, check: Check) -> Check:
    """Connect's `Struct.get`: null where the schema has a default is the default."""

    def fast(value: object) -> object:
        return default if value is None else check.fast(value)

    def careful(value: object) -> object:
        return default if value is None else check.careful(value)

    return Check(fast=fast, careful=careful)


def _none_or(check: Check) -> Check:
    def convert(inner: Convert) -> Convert:
        return lambda value: None if value is None else inner(value)

    return Check(fast=convert(check.fast), careful=convert(check.careful))


def _without_null(check: Check) -> Check:
    """A union of one type: it has a branch to name, but not null."""

    def convert(inner: Convert) -> Convert:
        def convert_present(value: object) -> object:
            if value is None:
                raise Misfit([("", "is null, and the schema does not allow that")])
            return inner(value)

        return convert_present

    return Check(fast=convert(check.fast), careful=convert(check.careful))


def _refused(node: AvroNode, type_: ColumnType) -> Check:
    return _refusing(f"is {type_name(type_)}, which is not written as {describe(node)}: nothing is coerced")


def _null_only(node: AvroNode, type_: ColumnType) -> Check:
    if any(branch.kind == "null" for branch in node.branches):
        return nullable(_refused(node, type_), "null")
    return _refused(node, type_)


def _refusing(sentence: str) -> Check:
    def refuse(_: object) -> object:
        raise Misfit([("", sentence)])

    return Check(fast=refuse, careful=refuse)


def _decimal(node: AvroNode, column: Decimal) -> Check:
    fit, check = ensure_fit(column, ""), scalar(replace(node, logical="decimal"))

    def convert(value: object) -> object:
        written = check.careful(value)
        try:
            fit(value)  # type: ignore[arg-type]
        except CoercionError as error:
            raise Misfit.needs(f"a number that fits {type_name(column)} without rounding", value) from error
        return written

    return Check(fast=convert, careful=convert)
