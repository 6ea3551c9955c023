"""The decode plan of a writer schema for a set of columns: made once, not per record.

An Avro body carries no names, so the writer's fields are renamed to the columns in a copy of the writer
schema, and the reader makes rows with the right names at no cost. What is left per row is only what the plan
needs: fields that no column declares are dropped, columns that no field feeds become None, arrays of map
entries become dicts.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import itemgetter
from typing import TypeAlias, cast

from srfix.serde._column_types import (
    BIGINT,
    STRING,
    Array,
    Columns,
    ColumnType,
    Decimal,
    Map,
    ScalarType,
    Struct,
    type_name,
)
from srfix.serde.casing import CaseRule, match_fields
from srfix.serde.engine import Decode, ParsedSchema, fastavro_decoder, shortest
from srfix.serde.errors import IncompatibleTypeError, TrailingBytesError
from srfix.serde.formats._avro_columns import map_entry_types, scalar_of
from srfix.serde.formats._avro_names import avro_fields
from srfix.serde.formats._avro_schema import MAX_LEVELS, AvroNode, analyse, describe, load, nullable_branch
from srfix.serde.formats._avro_skim import skim
from srfix.serde.interface import Row, Value

__all__ = ["decoder"]

_Finish: TypeAlias = Callable[[Value], Value]
# fastavro rounds a decimal to its schema's precision without a word. Far beyond any precision, it cannot.
_NEVER_ROUND = 1_000_000


def decoder(
    schema_text: str, *, columns: Columns | None, case_rule: CaseRule, references: tuple[str, ...] = ()
) -> Decode:
    """A decoder for bodies written under a schema; without columns the rows are as fastavro gives them.

    :param references: the texts that the schema refers to, in the order of registration.

    :raises SchemaError: if the text is not an Avro schema.
    :raises IncompatibleTypeError: if a writer's type cannot feed its column.
    :raises AmbiguousFieldError: if letter case leaves it open which field feeds a column.
    """
    root = load(schema_text, references)
    plan = _Plan(case_rule)
    finish: _Finish | None = None
    if columns is None:
        schema = plan.verbatim(root)
    else:
        schema, finish = plan.column(root, Struct(columns), "")
    schema = schema | {"__fastavro_parsed": True, "__named_schemas": {}}
    analysis = analyse(root)
    guard: Callable[[bytes, int], object] | None = None
    if analysis.has_unbounded_arrays:
        guard = partial(_check, root)
    elif analysis.is_recursive:
        # A loop through the schema costs a byte at least, so a short body cannot go deep.
        guard = partial(_check_longer, root, MAX_LEVELS // analysis.node_count)
    return fastavro_decoder(schema, guard=guard, finish=finish, explain=partial(_check, root))


def _check(root: AvroNode, payload: bytes, body_offset: int) -> None:
    end = skim(payload, body_offset, root)
    if end != len(payload):
        raise TrailingBytesError(
            f"{len(payload) - end} bytes are left over behind the last field, of a body of "
            f"{len(payload) - body_offset}: it "
            "was written under another schema, or is corrupt."
        )


def _check_longer(root: AvroNode, safe_bytes: int, payload: bytes, body_offset: int) -> None:
    if len(payload) - body_offset > safe_bytes:
        _check(root, payload, body_offset)


class _Plan:
    """Makes the reader's copy of a writer schema, in fastavro's parsed form.

    Two things differ from what fastavro.parse_schema makes. A type that is referred to twice is the same
    dict, instead of a name: cyclic where the schema is. And the branches of a union, like the symbols of an
    enum, stand in a dict under their numbers, so that a negative number is a KeyError instead of Python's
    "from the end".
    """

    def __init__(self, case_rule: CaseRule) -> None:
        self._case_rule = case_rule
        self._verbatim: dict[AvroNode, ParsedSchema] = {}

    def verbatim(self, node: AvroNode) -> ParsedSchema:
        """The type as the writer has it."""
        if node in self._verbatim:
            return self._verbatim[node]
        schema = self._verbatim[node] = _head(node, logical=node.logical)
        if node.kind == "record":
            schema["fields"] = [{"name": part.name, "type": shortest(self.verbatim(part.node))} for part in node.fields]
        elif node.kind == "union":
            schema.update({number: shortest(self.verbatim(branch)) for number, branch in enumerate(node.branches)})
        elif node.items is not None:
            schema["items" if node.kind == "array" else "values"] = shortest(self.verbatim(node.items))
        return schema

    def column(self, node: AvroNode, type_: ColumnType, path: str) -> tuple[ParsedSchema, _Finish | None]:
        """The type renamed and checked for a column, and what is left to do with each value."""
        branch = nullable_branch(node)
        if branch is None:
            raise _incompatible(node, type_, path)
        value, may_be_null = branch
        schema, finish = self._value(value, type_, path)
        if node.kind != "union":
            return schema, finish
        union: ParsedSchema = {"type": "union"}
        union.update(
            {
                number: shortest(schema if part is value else self.verbatim(part))
                for number, part in enumerate(node.branches)
            }
        )
        return union, _unless_none(finish) if finish is not None and may_be_null else finish

    def _value(self, node: AvroNode, type_: ColumnType, path: str) -> tuple[ParsedSchema, _Finish | None]:
        match type_:
            case Struct(fields) if node.kind == "record":
                return self._record(node, fields, path)
            case Array(items) if node.kind == "array" and node.items is not None:
                schema, finish = self.column(node.items, items, f"{path}->ARRAY")
                return {"type": "array", "items": shortest(schema)}, None if finish is None else _each(finish)
            case Map(values) if node.kind == "map" and node.items is not None:
                schema, finish = self.column(node.items, values, f"{path}->MAP_VAL")
                return {"type": "map", "values": shortest(schema)}, None if finish is None else _each_value(finish)
            case Map(values):
                return self._map_entries(node, type_, values, path)
            case ScalarType() | Decimal() if _feeds(scalar_of(node), type_):
                logical = node.connect_logical
                return _head(node, logical=logical), None
        raise _incompatible(node, type_, path)

    def _record(self, node: AvroNode, columns: Columns, path: str) -> tuple[ParsedSchema, _Finish | None]:
        # Columns match by their Avro-compatible names, as ksqlDB's do
        # (`ConnectSchemas.withCompatibleSchema`).
        avro_names = avro_fields(columns)
        matched = match_fields(
            tuple(avro_names),
            [part.name for part in node.fields],
            self._case_rule,
            where=f"the writer schema at {path}" if path else "the writer schema",
        )
        fed = {field: avro_names[avro_name] for avro_name, field in matched.items()}
        fields: list[dict[str, object]] = []
        finishes: list[tuple[str, _Finish]] = []
        for number, part in enumerate(node.fields):
            column = fed.get(part.name)
            if column is None:
                # No column can have this name: it is not one that can be declared.
                fields.append({"name": f"\0{number}", "type": shortest(self.verbatim(part.node))})
                continue
            schema, finish = self.column(part.node, column.type, f"{path}->{column.name}")
            fields.append({"name": column.name, "type": shortest(schema)})
            if finish is not None:
                finishes.append((column.name, finish))
        names = tuple(column.name for column in columns)
        absent = tuple(name for name in names if name not in {column.name for column in fed.values()})
        picks = names if names != tuple(cast("str", part["name"]) for part in fields) else None
        finish_row = _finish_row(tuple(finishes), absent, picks) if finishes or picks is not None else None
        return {"type": "record", "name": node.name, "fields": fields}, finish_row

    def _map_entries(
        self, node: AvroNode, type_: ColumnType, values: ColumnType, path: str
    ) -> tuple[ParsedSchema, _Finish | None]:
        entry = map_entry_types(node)
        if entry is None or node.items is None:
            raise _incompatible(node, type_, path)
        key, _ = self.column(entry[0], STRING, f"{path}->MAP_KEY")
        value, finish = self.column(entry[1], values, f"{path}->MAP_VAL")
        fields = [{"name": part.name, "type": key if part.name == "key" else value} for part in node.items.fields]
        items: ParsedSchema = {"type": "record", "name": node.items.name, "fields": fields}
        return {"type": "array", "items": items}, _entries_to_dict(finish)


def _head(node: AvroNode, *, logical: str | None) -> ParsedSchema:
    schema: ParsedSchema = {"type": node.kind}
    if node.name:
        schema["name"] = node.name
    if node.kind == "enum":
        schema["symbols"] = dict(enumerate(node.symbols))
    elif node.kind == "fixed":
        schema["size"] = node.size
    if logical is not None:
        schema["logicalType"] = logical
        if logical == "decimal":
            schema.update(precision=_NEVER_ROUND, scale=node.scale)
    return schema


def _feeds(writer: ScalarType | Decimal | None, column: ScalarType | Decimal) -> bool:
    if isinstance(writer, Decimal) and isinstance(column, Decimal):
        return writer.scale <= column.scale and writer.precision - writer.scale <= column.precision - column.scale
    return writer is not None and (writer == column or (writer, column) in _WIDENINGS)


# FLOAT to DOUBLE and enum to STRING need no word: `scalar_of` says DOUBLE and STRING for them.
_WIDENINGS = {(ScalarType.INTEGER, BIGINT)}


def _incompatible(node: AvroNode, type_: ColumnType, path: str) -> IncompatibleTypeError:
    what = type_name(type_)
    return IncompatibleTypeError(
        f"The writer's {describe(node)} cannot feed the column type {what}, at {path or 'the root'}. "
        "Declare the column as "
        "what the writer has, or leave it out.",
        path=path,
        writer_type=describe(node),
        column_type=what,
    )


def _unless_none(finish: _Finish) -> _Finish:
    return lambda value: None if value is None else finish(value)


def _each(finish: _Finish) -> _Finish:
    return lambda values: [finish(value) for value in cast("list[Value]", values)]


def _each_value(finish: _Finish) -> _Finish:
    return lambda values: {key: finish(value) for key, value in cast("Row", values).items()}


def _entries_to_dict(finish: _Finish | None) -> _Finish:
    # A key that comes twice: the last one counts, as in the Java map that AvroData fills.
    if finish is None:
        return lambda entries: {entry["key"]: entry["value"] for entry in cast("list[dict[str, str]]", entries)}
    return lambda entries: {cast("str", entry["key"]): finish(entry["value"]) for entry in cast("list[Row]", entries)}


def _finish_row(
    finishes: tuple[tuple[str, _Finish], ...], absent: tuple[str, ...], picks: tuple[str, ...] | None
) -> _Finish:
    nothing: Row = dict.fromkeys(absent)
    pick = itemgetter(*picks) if picks is not None and len(picks) > 1 else None

    def finish_row(value: Value) -> Value:
        row = cast("Row", value)
        for name, finish in finishes:
            row[name] = finish(row[name])
        if picks is None:
            return row
        if nothing:
            row.update(nothing)
        if pick is None:
            return {name: row[name] for name in picks}
        return dict(zip(picks, pick(row), strict=True))

    return finish_row
