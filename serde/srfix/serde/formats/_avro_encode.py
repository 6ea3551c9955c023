"""The encode plan of a schema: made once, not per row.

fastavro tries the branches of a union one after the other on the whole value, at every level again. Here one
pass checks the row strictly, says which branch each value takes (fastavro's tuple notation), and names every
bad field with its path. Only a union of several types beside null is left to fastavro to choose from.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, cast

from srfix.serde._column_types import Array, Column, Columns, ColumnType, Map, Struct
from srfix.serde.casing import CaseRule, match_fields
from srfix.serde.engine import Encode, ParsedSchema, fastavro_encoder
from srfix.serde.errors import AmbiguousFieldError, EncodeError
from srfix.serde.formats._avro_columns import NO_PRECISION, map_entry_types
from srfix.serde.formats._avro_scalars import NULL, Convert, scalar, tagged
from srfix.serde.formats._avro_schema import MISSING, AvroField, AvroNode, load, nullable_branch
from srfix.serde.formats._misfit import Misfit, encode_error

__all__ = ["encoder"]

_MARK: Final[ParsedSchema] = {"__fastavro_parsed": True, "__named_schemas": {}}
_KEY_SHAPES = 256
"""How many different key tuples of rows a record remembers."""


def encoder(schema_text: str, *, columns: Columns | None, case_rule: CaseRule) -> Encode:
    """An encoder for rows under a schema.

    With columns, the schema is their internal schema and a row's keys are matched to them by the case rule;
    without, the row's keys are the schema's field names, exactly.

    :raises SchemaError: if the text is not an Avro schema.
    """
    root = load(schema_text)
    plan = _Plan(CaseRule.EXACT if columns is None else case_rule)
    convert = plan.convert(root, None if columns is None else Struct(columns))

    def prepare(value: object) -> object:
        try:
            return convert(value)
        except Misfit as misfit:
            raise encode_error(misfit) from misfit.group()
        except RecursionError as error:
            raise EncodeError("The row nests too deep to be written.") from error

    return fastavro_encoder(plan.root_schema(root), prepare=prepare)


class _Plan:
    def __init__(self, case_rule: CaseRule) -> None:
        self._case_rule = case_rule
        self._schemas: dict[AvroNode, ParsedSchema] = {}
        self._records: dict[AvroNode, _RecordConvert] = {}

    def root_schema(self, root: AvroNode) -> ParsedSchema | list[ParsedSchema]:
        """The schema in fastavro's parsed form."""
        if root.kind == "union":
            return [self._schema(branch) | _MARK for branch in root.branches]
        return self._schema(root) | _MARK

    def _schema(self, node: AvroNode) -> ParsedSchema:
        # A type that is referred to twice is the same dict, so the result is cyclic where the schema is.
        if node in self._schemas:
            return self._schemas[node]
        schema = self._schemas[node] = {"type": node.kind}
        if node.name:
            schema["name"] = node.name
        if node.logical is not None:
            schema["logicalType"] = node.logical
            if node.logical == "decimal":
                schema.update({"precision": node.precision or NO_PRECISION, "scale": node.scale})
        if node.kind == "enum":
            schema["symbols"] = list(node.symbols)
        elif node.kind == "fixed":
            schema["size"] = node.size
        elif node.kind == "record":
            schema["fields"] = [
                {"name": part.name, "type": self._reference(part.node)} for part in node.fields
            ]
        elif node.items is not None:
            schema["items" if node.kind == "array" else "values"] = self._reference(node.items)
        return schema

    def _reference(self, node: AvroNode) -> object:
        return (
            [self._schema(branch) for branch in node.branches] if node.kind == "union" else self._schema(node)
        )

    def convert(self, node: AvroNode, type_: ColumnType | None) -> Convert:
        """What checks a value for a type, and tags it where the type is a union of null and one other."""
        if node.kind != "union":
            return self._value(node, type_, None)
        branch = nullable_branch(node)
        if branch is None:
            return lambda value: value
        value, may_be_null = branch
        tag = value.name or value.kind
        convert = self._value(value, type_, tag if may_be_null else None)
        return convert if may_be_null else lambda value: (tag, convert(value))

    def _value(self, node: AvroNode, type_: ColumnType | None, tag: str | None) -> Convert:
        if node.kind == "record":
            return tagged(self._record(node, type_), tag)
        if node.items is None:
            return scalar(node, tag)
        entry = map_entry_types(node)
        if entry is not None:
            value_type = type_.values if isinstance(type_, Map) else None
            entries = _Entries(self.convert(entry[0], None), self.convert(entry[1], value_type))
            return tagged(entries, tag)
        if node.kind == "map":
            return tagged(
                _MapConvert(self.convert(node.items, type_.values if isinstance(type_, Map) else None)), tag
            )
        return tagged(
            _array(self.convert(node.items, type_.items if isinstance(type_, Array) else None)), tag
        )

    def _record(self, node: AvroNode, type_: ColumnType | None) -> Convert:
        if node not in self._records:
            # Known before its fields are looked at: a recursive record finds itself here.
            self._records[node] = record = _RecordConvert(self._case_rule)
            columns: tuple[Column | None, ...] = (
                type_.fields if isinstance(type_, Struct) else (None,) * len(node.fields)
            )
            # Columns and fields correspond by position, as ksqlDB copies its rows.
            record.fields = tuple(
                (
                    field.name if column is None else column.name,
                    field.name,
                    self.convert(field.node, None if column is None else column.type),
                    _when_missing(field),
                )
                for column, field in zip(columns, node.fields, strict=True)
            )
            record.names = frozenset(name for name, *_ in record.fields)
        return self._records[node]


class _RecordConvert:
    """Mapping → dict by field name, every value checked."""

    __slots__ = ("_case_rule", "_fit", "fields", "names")

    def __init__(self, case_rule: CaseRule) -> None:
        self._case_rule = case_rule
        self._fit = lru_cache(maxsize=_KEY_SHAPES)(self._match)
        self.fields: tuple[tuple[str, str, Convert, object], ...] = ()
        """Name in the row, name in the schema, what checks the value, what stands for a missing one."""
        self.names: frozenset[str] = frozenset()

    def __call__(self, row: object) -> object:
        if not isinstance(row, Mapping):
            raise Misfit.needs("a mapping", row)
        bad: list[tuple[str, str]] = []
        if not self.names.issuperset(row):
            row = self._renamed(row, bad)
        values: dict[str, object] = {}
        get = row.get
        for name, field, convert, default in self.fields:
            value = get(name, MISSING)
            try:
                values[field] = convert(value) if value is not MISSING else default
            except Misfit as misfit:
                bad.extend(misfit.under(f"->{name}"))
            if value is MISSING and default is MISSING:
                bad.append((f"->{name}", "is missing, and the schema has no default for it"))
        if bad:
            raise Misfit(bad)
        return values

    def _renamed(self, row: Mapping[object, object], bad: list[tuple[str, str]]) -> Mapping[object, object]:
        matched, unknown = self._fit(tuple(row))
        bad.extend(unknown)
        return {name: row[key] for name, key in matched.items()}

    def _match(self, keys: tuple[object, ...]) -> tuple[dict[str, str], tuple[tuple[str, str], ...]]:
        names = [key for key in keys if isinstance(key, str)]
        try:
            matched = match_fields(
                [name for name, *_ in self.fields], names, self._case_rule, where="the row"
            )
        except AmbiguousFieldError as error:
            raise Misfit([("", f"has keys that leave a choice: {error.message}")]) from error
        used = set(matched.values())
        unknown = tuple((f"->{key}", "has no column or field to go to") for key in keys if key not in used)
        return matched, unknown


def _array(convert: Convert) -> Convert:
    def convert_array(values: object) -> object:
        if not isinstance(values, list | tuple):
            raise Misfit.needs("a list", values)
        items: list[object] = []
        bad: list[tuple[str, str]] = []
        for number, value in enumerate(values):
            try:
                items.append(convert(value))
            except Misfit as misfit:
                bad.extend(misfit.under(f"[{number}]"))
        if bad:
            raise Misfit(bad)
        return items

    return convert_array


class _MapConvert:
    """Mapping with string keys → dict."""

    __slots__ = ("_convert",)

    def __init__(self, convert: Convert) -> None:
        self._convert = convert

    def __call__(self, values: object) -> object:
        if not isinstance(values, Mapping):
            raise Misfit.needs("a mapping with string keys", values)
        items: dict[str, object] = {}
        bad: list[tuple[str, str]] = []
        for key, value in values.items():
            try:
                if not isinstance(key, str):
                    raise Misfit.needs("a string as its key", key)
                items[key] = self._convert(value)
            except Misfit as misfit:
                bad.extend(misfit.under(f"->{key}"))
        if bad:
            raise Misfit(bad)
        return items


class _Entries:
    """Mapping, or a list of entries as such → list of entries."""

    __slots__ = ("_convert_array", "_convert_map", "_key")

    def __init__(self, key: Convert, value: Convert) -> None:
        self._key = key
        self._convert_map = _MapConvert(value)
        self._convert_array = _array(lambda entry: self._entry(entry, value))

    def __call__(self, values: object) -> object:
        if isinstance(values, list | tuple):
            return self._convert_array(values)
        converted = cast("dict[str, object]", self._convert_map(values))
        return [{"key": self._key(key), "value": value} for key, value in converted.items()]

    def _entry(self, entry: object, value: Convert) -> object:
        if not isinstance(entry, Mapping) or entry.keys() != {"key", "value"}:
            raise Misfit.needs("a map entry: a mapping of 'key' and 'value'", entry)
        return {"key": self._key(entry["key"]), "value": value(entry["value"])}


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
            part.name: _written_default(part.node, given[part.name])
            if part.name in given
            else _when_missing(part)
            for part in node.fields
        }
    if node.items is None:
        return json
    items = node.items
    if node.kind == "array":
        return [_written_default(items, value) for value in cast("list[object]", json)]
    return {key: _written_default(items, value) for key, value in cast("dict[str, object]", json).items()}
