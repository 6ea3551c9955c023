"""A writer schema for Spark's `from_avro`, and the part of it that columns want, as the reader schema.

Names are not in the bytes, so both are made anew with names of our own: what letters a writer uses, and where it repeats
itself, is no matter to Spark, and writers that differ in names alone are one. The reader's record has its fields in the
columns' order. At the root they are called as the columns are, where Avro has such names: what is read then is the row. Else,
and below, a cast by position names them (`Projected.is_exact`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from srfix.serde._column_types import Array, Column, Columns, ColumnType, Decimal, Map, ScalarType, Struct, type_name
from srfix.serde._connect_coercions import incompatible
from srfix.serde._time_units import reads_units, refusal_in_unit
from srfix.serde.casing import CaseRule, are_distinct
from srfix.serde.errors import IncompatibleTypeError
from srfix.serde.formats._avro_columns import map_entry_types
from srfix.serde.formats._avro_leaves import connect_type, unit_of
from srfix.serde.formats._avro_plan import connect_default, defaulted, place
from srfix.serde.formats._avro_schema import AvroField, AvroNode, analyse, describe, nullable_branch
from srfix.serde.spark._jvm_defaults import default_of
from srfix.serde.spark._jvm_fixes import Entries, Fix, OfFields, OfItems, OfValues
from srfix.serde.spark._jvm_leaves import Unfit, leaf, reader_of

__all__ = ["Json", "Projected", "Unrepresentable", "project", "record"]

Json: TypeAlias = object
"""A part of an Avro schema."""

_MAX_LEVELS: Final = 100
_MAX_TYPES: Final = 5_000
_MAX_FIXED_BYTES: Final = 2**24
_AVRO_NAME: Final = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_OUR_NAME: Final = re.compile("f[0-9]+")


class Unrepresentable(Exception):
    """Sentences that say what cannot be read exactly."""

    def __init__(self, *reasons: str) -> None:
        super().__init__(*reasons)
        self.reasons = reasons


@dataclass(frozen=True, slots=True, kw_only=True)
class Projected:
    """A type of the writer's, and how it is read."""

    writer: Json
    """In Avro's JSON, with names of our own."""
    reader: Json
    """The same for the reader."""
    fix: Fix | None = None
    """What neither Avro's resolution nor a cast does."""
    is_exact: bool = False
    """Spark makes the column's type of it, names and all, but for what may be null: no cast is needed."""


# Void casts to everything.
_VOID: Final = Projected(writer="null", reader="null")


def _nothing(type_: ColumnType) -> Projected:
    """How a column is read that nothing feeds."""
    if not isinstance(type_, ScalarType | Decimal) or (reader := reader_of(type_)) is None:
        return _VOID
    return Projected(writer="null", reader=["null", reader], is_exact=True)


def project(root: AvroNode, columns: Columns, case_rule: CaseRule, *, wrapped: bool) -> Projected:
    """How bodies of a writer schema are read into columns: a record at the root, of the columns in their order.

    :param columns: those that the plan of the deserializer takes, with this schema.
    :param wrapped: False says that bodies are bare values of the only column; a record around them has the same bytes.
    :raises Unrepresentable: with everything that stands in the way.
    """
    analysis = analyse(root)
    if analysis.is_recursive:
        raise Unrepresentable("the schema is recursive: a body decides how deep Spark goes, and Spark has no such type")
    if analysis.has_unbounded_arrays:
        raise Unrepresentable(
            "it has an array of items that take no bytes: a few bytes would make Spark build millions"
        )
    projection = _Projection(case_rule)
    own = _can_be_fields([column.name for column in columns])
    if not wrapped:
        return projection.bare(root, columns[0], own=own)
    if root.kind != "record":
        raise Unrepresentable(f"the root is a {describe(root)}, not a record")
    return projection.record(root, columns, "", level=0, own=own)


def _can_be_fields(names: Sequence[str]) -> bool:
    """Whether the reader's fields can be called as the columns are: not if Avro has no such name, Spark would find two that
    differ in case alone, or one is ours."""
    return are_distinct(names) and all(_AVRO_NAME.fullmatch(name) and not _OUR_NAME.fullmatch(name) for name in names)


class _Projection:
    def __init__(self, case_rule: CaseRule) -> None:
        self._case_rule = case_rule
        self._reads_units = reads_units(case_rule)
        self._names = 0

    def bare(self, root: AvroNode, column: Column, *, own: bool) -> Projected:
        if root.kind == "bytes":
            raise Unrepresentable("bare bytes are written without their length, which Spark looks for")
        part = self._column(root, column.type, "", level=0)
        name, field = self._name(), column.name if own else "f0"
        return Projected(
            writer=record(name, [(field, part.writer)]),
            reader=record(name, [(field, part.reader)]),
            fix=None if part.fix is None else OfFields(fields=((field, part.fix),)),
            is_exact=own and part.is_exact,
        )

    def record(
        self,
        node: AvroNode,
        columns: Columns,
        path: str,
        *,
        level: int,
        own: bool = False,
    ) -> Projected:
        """
        :param own: whether fields that feed columns are called as the columns are; else they have names of ours.
        """
        fed, reasons = self._fed(node, columns, path)
        name = self._name()
        writer: list[tuple[str, Json]] = []
        parts: dict[str, tuple[str, Projected]] = {}
        for number, field in enumerate(node.fields):
            column, counts = fed.get(field.name, (None, False))
            field_name = f"f{number}"
            try:
                part = None if column is None else self._field(field, column, path, counts=counts, level=level)
                if column is not None and part is not None and counts:
                    field_name = column.name if own else field_name
                    parts[column.name] = field_name, part
                writer.append((field_name, self._verbatim(field.node, level + 1) if part is None else part.writer))
            except Unrepresentable as error:
                reasons += error.reasons
        if reasons:
            raise Unrepresentable(*reasons)
        defaults = {
            column.name: self._default(field, column, path, level=level)
            for field, column in defaulted(node, columns, tuple(parts), self._case_rule, path)
        }
        fixes: list[tuple[str, Fix | None]] = []
        reader: list[Json] = []
        is_exact = own
        for number, column in enumerate(columns):
            if column.name in parts:
                field_name, part = parts[column.name]
                reader.append({"name": field_name, "type": part.reader})
            elif column.name in defaults:
                part, default = defaults[column.name]
                field_name = column.name if own else f"default{number}"
                reader.append({"name": field_name, "type": part.reader, "default": default})
            else:
                part = _nothing(column.type) if own else _VOID
                field_name = column.name if own else f"none{number}"
                reader.append({"name": field_name, "type": part.reader, "default": None})
            fixes.append((field_name, part.fix))
            is_exact = is_exact and part.is_exact
        needs_fix = any(fix is not None for _, fix in fixes)
        return Projected(
            writer=record(name, writer),
            reader={"type": "record", "name": name, "fields": reader},
            fix=OfFields(fields=tuple(fixes)) if needs_fix else None,
            is_exact=is_exact,
        )

    def _fed(self, node: AvroNode, columns: Columns, path: str) -> tuple[dict[str, tuple[Column, bool]], list[str]]:
        """Field → column, and whether no later field feeds it too; and what stands in the way."""
        fed: dict[str, tuple[Column, bool]] = {}
        reasons: list[str] = []
        for field, placed in place(columns, [part.name for part in node.fields], self._case_rule, path).items():
            fed[field] = placed[0].column, placed[0].counts
            if len(placed) > 1:
                names = ", ".join(repr(target.column.name) for target in placed)
                where = f" of {path.removeprefix('->')}" if path else ""
                reasons.append(
                    f"the writer's field {field}{where} feeds several columns, {names}, under the rule "
                    f"{self._case_rule.value!r}, and Spark reads a field once"
                )
        return fed, reasons

    def _field(self, field: AvroField, column: Column, path: str, *, counts: bool, level: int) -> Projected | None:
        below = f"{path}->{column.name}"
        default = connect_default(field.node)
        if default is not None and isinstance(column.type, ScalarType | Decimal):
            raise _unfit(field.node, column.type, below, f"null is read as its connect.default, {default!r}")
        part = self._column(field.node, column.type, below, level=level + 1)
        if counts:
            return part
        if part.fix is not None:
            raise _unfit(
                field.node,
                column.type,
                below,
                "a later field feeds the column, but its values count as bad all the same",
            )
        return None

    def _default(self, field: AvroField, column: Column, path: str, *, level: int) -> tuple[Projected, Json]:
        """How a default of the reader's schema is read: as a value of its type would be."""
        part = self._field(field, column, path, counts=True, level=level)
        assert part is not None
        made = default_of(field.node, part.reader, field.default)
        if made is None:
            raise _unfit(
                field.node,
                column.type,
                f"{path}->{column.name}",
                "Java does not take the default of the reader's schema",
            )
        reader, default = made
        return replace(part, reader=reader, is_exact=part.is_exact and reader == part.reader), default

    def _column(self, node: AvroNode, type_: ColumnType, path: str, *, level: int) -> Projected:
        if node.kind != "union":
            return self._value(node, type_, path, level=level)
        branch = nullable_branch(node)
        if branch is None:
            why = "a union of several types is a STRUCT for the deserializer, and Spark's differs"
            raise _unfit(node, type_, path, why if len(node.branches) > 1 else "no value of it is anything but null")
        value, may_be_null = branch
        branches = _branches(node)
        part = self._value(value, type_, path, level=level + 1)
        writer = [part.writer if one is value else self._verbatim(one, level + 1) for one in branches]
        reader = ["null", part.reader] if may_be_null else part.reader
        return Projected(writer=writer, reader=reader, fix=part.fix, is_exact=part.is_exact)

    def _value(self, node: AvroNode, type_: ColumnType, path: str, *, level: int) -> Projected:
        kind, _ = connect_type(node)
        unit = unit_of(node) if self._reads_units else None
        refused = incompatible(node.kind, type_, path) if kind is None else refusal_in_unit(kind, unit, type_, path)
        if refused is not None:
            raise _mismatch(node, type_, path, refused)
        assert kind is not None
        match type_:
            case Struct(fields):
                return self.record(node, fields, path, level=level)
            case Array(items):
                assert node.items is not None
                part = self._column(node.items, items, f"{path}->ARRAY", level=level + 1)
                return Projected(
                    writer={"type": "array", "items": part.writer},
                    reader={"type": "array", "items": part.reader},
                    fix=None if part.fix is None else OfItems(items=part.fix),
                    is_exact=part.is_exact,
                )
            case Map(values, keys):
                return self._map(node, keys, values, path, level=level)
            case _:
                return self._leaf(node, type_, path, level=level)

    def _leaf(self, node: AvroNode, type_: ScalarType | Decimal, path: str, *, level: int) -> Projected:
        kind, name = connect_type(node)
        assert kind is not None
        found = leaf(node, kind, name, type_, unit_of(node) if self._reads_units else None)
        if isinstance(found, Unfit):
            raise _unfit(node, type_, path, found.why)
        writer = self._verbatim(node, level)
        reader = writer if found.reader is None else found.reader
        if isinstance(reader, dict) and isinstance(writer, dict):
            reader = writer | reader
        if node.written_symbols and isinstance(writer, dict):
            # What the reader's enum lacks is its default, for Java as well.
            reader = writer | {"symbols": list(dict.fromkeys(node.symbols)), "default": node.props["default"]}
        return Projected(writer=writer, reader=reader, fix=found.fix, is_exact=found.is_exact)

    def _map(self, node: AvroNode, keys: ColumnType, values: ColumnType, path: str, *, level: int) -> Projected:
        entry = map_entry_types(node)
        if entry is None:
            assert node.kind == "map"
            assert node.items is not None
            part = self._column(node.items, values, f"{path}->MAP_VAL", level=level + 1)
            return Projected(
                writer={"type": "map", "values": part.writer},
                reader={"type": "map", "values": part.reader},
                fix=None if part.fix is None else OfValues(values=part.fix),
                is_exact=part.is_exact and keys is ScalarType.STRING,
            )
        assert node.items is not None
        key = self._column(entry[0], keys, f"{path}->MAP_KEY", level=level + 2)
        value = self._column(entry[1], values, f"{path}->MAP_VAL", level=level + 2)
        name, parts = self._name(), {"key": key, "value": value}
        # Defaults at either level of Connect's do not count in entries, for the deserializer.
        fields = [part.name for part in node.items.fields]
        return Projected(
            writer={"type": "array", "items": record(name, [(field, parts[field].writer) for field in fields])},
            reader={"type": "array", "items": record(name, [("key", key.reader), ("value", value.reader)])},
            fix=Entries(key="key", value="value", values=value.fix),
        )

    def _verbatim(self, node: AvroNode, level: int) -> Json:
        """The writer's type, logical types left out."""
        if level > _MAX_LEVELS:
            raise Unrepresentable(f"its types nest deeper than {_MAX_LEVELS} levels")
        match node.kind:
            case "record":
                name = self._name()
                fields = [(f"f{n}", self._verbatim(part.node, level + 1)) for n, part in enumerate(node.fields)]
                return record(name, fields)
            case "enum":
                return {"type": "enum", "name": self._name(), "symbols": list(node.written_symbols or node.symbols)}
            case "fixed":
                if node.size > _MAX_FIXED_BYTES:
                    raise Unrepresentable(
                        f"the fixed type {node.name} has {node.size:,} bytes, which Spark takes at once"
                    )
                return {"type": "fixed", "name": self._name(), "size": node.size}
            case "array" | "map":
                assert node.items is not None
                items = self._verbatim(node.items, level + 1)
                return {"type": node.kind, "items" if node.kind == "array" else "values": items}
            case "union":
                return [self._verbatim(branch, level + 1) for branch in _branches(node)]
            case _:
                return node.kind

    def _name(self) -> str:
        self._names += 1
        if self._names > _MAX_TYPES:
            raise Unrepresentable(f"it has more than {_MAX_TYPES:,} named types, references followed")
        return f"t{self._names}"


def record(name: str, fields: Iterable[tuple[str, Json]]) -> Json:
    """A record in Avro's JSON."""
    return {"type": "record", "name": name, "fields": [{"name": name, "type": type_} for name, type_ in fields]}


def _branches(node: AvroNode) -> tuple[AvroNode, ...]:
    unnamed = [branch.kind for branch in node.branches if not branch.name]
    if "union" in unnamed or len(set(unnamed)) < len(unnamed):
        raise Unrepresentable(f"it has a {describe(node)}, which Java refuses")
    return node.branches


def _unfit(node: AvroNode, type_: ColumnType, path: str, why: str) -> Unrepresentable:
    return Unrepresentable(
        f"column {path.removeprefix('->') or 'at the root'} ({type_name(type_)}), writer type {describe(node)}: {why}"
    )


def _mismatch(node: AvroNode, type_: ColumnType, path: str, error: IncompatibleTypeError) -> Unrepresentable:
    return _unfit(
        node,
        type_,
        path,
        f"{error.writer_type} does not feed a column of {error.column_type}, so rows that hold it cannot be read",
    )
