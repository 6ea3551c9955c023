"""Writers' types of both formats, as their decoders see them."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from srfix.serde._column_types import Columns, ColumnType, Decimal, ScalarType, Struct, type_name
from srfix.serde._connect_coercions import connect_type_of, incompatible, refusal_of_values
from srfix.serde._connect_columns import NO_PRECISION, connect_schema_of
from srfix.serde._connect_schema import DECIMAL_NAME, DECIMAL_PRECISION, DECIMAL_SCALE, ConnectSchema, ConnectType
from srfix.serde._half import Half
from srfix.serde._resolved import ResolvedSchema
from srfix.serde._time_units import TimeUnit, as_written, reads_units, refusal_in_unit, time_unit
from srfix.serde.casing import CaseRule, match_keys, placements
from srfix.serde.errors import IncompatibleTypeError
from srfix.serde.formats._avro_columns import map_entry_types
from srfix.serde.formats._avro_connect import union_field_name
from srfix.serde.formats._avro_leaves import connect_type, unit_of
from srfix.serde.formats._avro_plan import Placed, connect_default, defaulted, place
from srfix.serde.formats._avro_resolution import ReaderSchema, resolved_root
from srfix.serde.formats._avro_schema import AvroNode, describe, nullable_branch
from srfix.serde.formats._json_schema_connect import connect_schema, is_union
from srfix.serde.formats.table import Format
from srfix.serde.spark._feeds import Feeds, Writer, feeds_of
from srfix.serde.spark.interface import Feed

__all__ = ["planned_feeds"]

_SAME: Final = {
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
"""The Avro type and logical type that is the column's."""
_LOGICAL: Final = "org.apache.kafka.connect.data."
_SHOWN_CHARACTERS: Final = 40
_BY_KEYS: Final = "by each document's keys, whatever the schema says"


def planned_feeds(
    format_: Format,
    resolved: ResolvedSchema,
    half: Half,
    case_rule: CaseRule,
    *,
    strict: bool = False,
    reader: ReaderSchema | None = None,
) -> Feeds:
    """What a writer schema feeds.

    :param reader: the Avro schema whose aliases and defaults count.
    :raises SchemaError: if the text is not a schema of the format.
    :raises AmbiguousFieldError: if letter case leaves it open which field feeds a column.
    """
    text, references = resolved.schema.text, resolved.references
    if format_ is Format.AVRO:
        return feeds_of(
            _AvroWriter(resolved_root(text, references, reader), case_rule),
            half.columns,
            case_rule,
            wrapped=half.wrapped,
            strict=strict,
        )
    writer = connect_schema(text, references)
    if case_rule is CaseRule.KSQLDB_2020:
        return _by_keys(writer, half)
    return feeds_of(_ConnectWriter(writer, case_rule), half.columns, case_rule, wrapped=half.wrapped, strict=strict)


def _by_keys(writer: ConnectSchema, half: Half) -> Feeds:
    """JSON_SR up to 0.28.1: the schema does not count. Its properties tell which keys are to be expected."""
    if not half.wrapped:
        return Feeds(feeds=(Feed(column=half.columns[0].name, field="", detail=_BY_KEYS),))
    columns = [column.name for column in half.columns]
    keys = match_keys(columns, [part.name for part in writer.fields], CaseRule.KSQLDB_2020, where="the writer schema")
    return Feeds(feeds=tuple(Feed(column=column, field=keys.get(column), detail=_BY_KEYS) for column in columns))


class _AvroWriter:
    def __init__(self, node: AvroNode, case_rule: CaseRule) -> None:
        branch = nullable_branch(node)
        self._case_rule = case_rule
        self._beside_null = node
        self._node, self.is_nullable = (node, _has_null(node)) if branch is None else branch

    def refusal(self, column: ColumnType, path: str) -> IncompatibleTypeError | None:
        kind, _ = connect_type(self._node)
        if kind is None or (kind is ConnectType.STRUCT and not self._values):
            return incompatible("null", column, path)
        return refusal_in_unit(kind, self._unit, column, path)

    def refusal_of_values(self, column: ScalarType | Decimal, path: str) -> IncompatibleTypeError | None:
        kind, name = connect_type(self._node)
        assert kind is not None
        return refusal_of_values(kind, name, column, path)

    def detail(self, column: ColumnType) -> str | None:
        return _details(self._is_same(column), self._word, column, connect_default(self._beside_null))

    def as_written(self, column: ColumnType) -> TimeUnit | None:
        return as_written(self._unit, column)

    @property
    def _unit(self) -> TimeUnit | None:
        return unit_of(self._node) if reads_units(self._case_rule) else None

    @property
    def _word(self) -> str:
        kind, _ = connect_type(self._node)
        word = describe(self._node)
        return f"{word} ({kind.word})" if kind in (ConnectType.INT8, ConnectType.INT16) else word

    @property
    def _values(self) -> bool:
        return self._node.kind != "union" or any(branch.kind != "null" for branch in self._node.branches)

    def _is_same(self, column: ColumnType) -> bool:
        node = self._node
        if isinstance(column, Decimal):
            digits = (node.precision or NO_PRECISION, node.scale)
            return node.connect_logical == "decimal" and digits == (column.precision, column.scale)
        if isinstance(column, ScalarType):
            kind, _ = connect_type(node)
            return (node.kind, node.logical) == _SAME[column] and kind is connect_type_of(column)
        return not (isinstance(column, Struct) and node.kind == "union")

    def fields(self) -> Mapping[str, Writer]:
        node = self._node
        if node.kind == "union":
            return {
                union_field_name(part): _AvroWriter(part, self._case_rule)
                for part in node.branches
                if part.kind != "null"
            }
        return {part.name: _AvroWriter(part.node, self._case_rule) for part in node.fields}

    def items(self) -> Writer:
        assert self._node.items is not None
        return _AvroWriter(self._node.items, self._case_rule)

    def entries(self) -> tuple[Writer, Writer]:
        entry = map_entry_types(self._node)
        key, value = (AvroNode(kind="string"), self._node.items) if entry is None else entry
        assert value is not None
        return _AvroWriter(key, self._case_rule), _AvroWriter(value, self._case_rule)

    def place(self, columns: Columns, case_rule: CaseRule, path: str) -> Mapping[str, Sequence[Placed]]:
        return place(columns, tuple(self.fields()), case_rule, path)

    def written(self, field: str) -> str:
        return next((part.written for part in self._node.fields if part.name == field and part.written), field)

    def defaults(self, columns: Columns, filled: Collection[str], case_rule: CaseRule, path: str) -> Mapping[str, str]:
        found = defaulted(self._node, columns, filled, case_rule, path)
        return {column.name: _shown(field.default) for field, column in found}


class _ConnectWriter:
    def __init__(self, schema: ConnectSchema, case_rule: CaseRule) -> None:
        self._schema = schema
        self._case_rule = case_rule
        self.is_nullable = schema.optional

    def refusal(self, column: ColumnType, path: str) -> IncompatibleTypeError | None:
        return refusal_in_unit(self._schema.type, self._unit, column, path)

    def refusal_of_values(self, column: ScalarType | Decimal, path: str) -> IncompatibleTypeError | None:
        return refusal_of_values(self._schema.type, self._schema.name, column, path)

    def detail(self, column: ColumnType) -> str | None:
        return _details(self._is_same(column), self._word, column, self._schema.default)

    def as_written(self, column: ColumnType) -> TimeUnit | None:
        return as_written(self._unit, column)

    @property
    def _unit(self) -> TimeUnit | None:
        schema = self._schema
        return time_unit(schema.type, None, schema.name) if reads_units(self._case_rule) else None

    @property
    def _word(self) -> str:
        schema = self._schema
        if is_union(schema):
            return "oneOf"
        return f"{schema.type.word} ({_logical_word(schema)})" if _is_logical(schema) else schema.type.word

    def _is_same(self, column: ColumnType) -> bool:
        schema = self._schema
        if isinstance(column, Decimal):
            digits = (schema.parameters.get(DECIMAL_PRECISION, str(NO_PRECISION)), schema.parameters.get(DECIMAL_SCALE))
            return schema.name == DECIMAL_NAME and digits == (str(column.precision), str(column.scale))
        if isinstance(column, ScalarType):
            own = connect_schema_of(column)
            return schema.type is own.type and (schema.name if _is_logical(schema) else None) == own.name
        return not is_union(schema)

    def fields(self) -> Mapping[str, Writer]:
        return {part.name: _ConnectWriter(part.schema, self._case_rule) for part in self._schema.fields}

    def items(self) -> Writer:
        return _ConnectWriter(self._schema.values, self._case_rule)

    def entries(self) -> tuple[Writer, Writer]:
        schema, rule = self._schema, self._case_rule
        return _ConnectWriter(schema.keys, rule), _ConnectWriter(schema.values, rule)

    def written(self, field: str) -> str:
        return field

    def defaults(self, columns: Columns, filled: Collection[str], case_rule: CaseRule, path: str) -> Mapping[str, str]:
        return {}

    def place(self, columns: Columns, case_rule: CaseRule, path: str) -> Mapping[str, Sequence[Placed]]:
        by_name = {column.name: column for column in columns}
        where = f"the writer schema{f' at {path}' if path else ''}"
        placed = placements(tuple(by_name), tuple(self.fields()), case_rule, where=where)
        last = {name: field for field, name in placed}
        fed: dict[str, list[Placed]] = {}
        for field, name in placed:
            fed.setdefault(field, []).append(Placed(by_name[name], name, last[name] == field))
        return fed


def _has_null(node: AvroNode) -> bool:
    return node.kind == "null" or any(branch.kind == "null" for branch in node.branches)


def _is_logical(schema: ConnectSchema) -> bool:
    return schema.name is not None and schema.name.startswith(_LOGICAL)


def _logical_word(schema: ConnectSchema) -> str:
    word = (schema.name or "").removeprefix(_LOGICAL)
    if schema.name != DECIMAL_NAME:
        return word
    return f"{word} {schema.parameters.get(DECIMAL_PRECISION, NO_PRECISION)}, {schema.parameters.get(DECIMAL_SCALE)}"


def _details(is_same: bool, word: str, column: ColumnType, default: object) -> str | None:
    said = [] if is_same else [f"{word} to {type_name(column)}"]
    if default is not None:
        said.append(f"null as {_shown(default)}")
    return "; ".join(said) or None


def _shown(default: object) -> str:
    shown = json.dumps(default, ensure_ascii=False, default=str)
    return shown if len(shown) <= _SHOWN_CHARACTERS else f"{shown[:_SHOWN_CHARACTERS]}…"
