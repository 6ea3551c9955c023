"""The reader's copy of a writer schema, in fastavro's parsed form, renamed to a set of columns.

It differs from what fastavro.parse_schema makes. A type that is referred to twice is the same dict, instead of a name:
cyclic where the schema is. The branches of a union, like the symbols of an enum, stand in a dict under their numbers, so
that a negative number is a KeyError instead of Python's "from the end". And a boolean is an enum of the numbers that its
two bytes are as a varint, so that any other byte is a KeyError too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, cast

from srfix.serde._column_halves import struct_of
from srfix.serde._column_types import Array, Column, Columns, ColumnType, Decimal, Map, ScalarType, Struct
from srfix.serde._connect_coercions import incompatible, refusal
from srfix.serde._connect_schema import ConnectType
from srfix.serde._fed import Unfed, unfed
from srfix.serde._time_units import reads_units, refusal_in_unit
from srfix.serde.casing import CaseRule, placements
from srfix.serde.errors import ColumnError, IncompatibleTypeError, SchemaError
from srfix.serde.formats._avro_columns import map_entry_types
from srfix.serde.formats._avro_connect import union_field_name
from srfix.serde.formats._avro_costs import CONTAINER, text_cost
from srfix.serde.formats._avro_engine import ParsedSchema, shortest
from srfix.serde.formats._avro_finish import (
    Finish,
    Target,
    each,
    each_value,
    entries_to_dict,
    finish_row,
    finish_union,
    null_as,
    unless_none,
)
from srfix.serde.formats._avro_ints import is_plain_int
from srfix.serde.formats._avro_leaves import BOOLEAN_SYMBOLS, Step, connect_type, for_array, head, leaf, unit_of
from srfix.serde.formats._avro_names import avro_fields
from srfix.serde.formats._avro_readers import DECIMAL, INT, TIME_MICROS, TIME_MILLIS
from srfix.serde.formats._avro_schema import AvroField, AvroNode, describe, nullable_branch
from srfix.serde.interface import Value

__all__ = ["DefaultOf", "Placed", "ReadPlan", "Step", "connect_default", "defaulted", "place"]

DefaultOf: TypeAlias = Callable[[AvroField, Column], Value]
"""A field of a reader's schema, with its default, and the column → the value."""

# What it makes other values of than it should.
_STRICT: Final[dict[tuple[str, str], str]] = {("int", "time-millis"): TIME_MILLIS, ("long", "time-micros"): TIME_MICROS}


class ReadPlan:
    """Makes the copies.

    :param for_columns: what no column takes is read as it is on the wire: a date that Python cannot hold disturbs nobody
        there.
    :param checks_ints: ints that are read as the writer has them fail where 32 bits do not hold them.
    :param bounds_decimals: decimals that are read as the writer has them fail beyond the bound of their bytes.
    :param as_values: the root, a record, becomes the columns' values instead of a row, as typed arrays take them: times and
        dates as numbers, and nobody sees to it that what feeds an INTEGER has 32 bits.
    :param strict: every column, and every field inside one, must be fed.
    :param default_of: makes the value of a field that the writer lacks and a reader's schema has a default for; None where
        no such schema counts.
    """

    def __init__(
        self,
        case_rule: CaseRule,
        *,
        for_columns: bool,
        checks_ints: bool = False,
        bounds_decimals: bool = False,
        as_values: bool = False,
        strict: bool = False,
        default_of: DefaultOf | None = None,
    ) -> None:
        self._case_rule = case_rule
        self._reads_units = reads_units(case_rule)
        self._for_columns = for_columns
        self._checks_ints = checks_ints
        self._bounds_decimals = bounds_decimals
        self._as_values = as_values
        self._strict = strict
        self._absent: list[str] = []
        self._defaulted: set[str] = set()
        self._default_of = default_of
        self.surplus: dict[AvroNode, int] = {}
        """What is made of a value of a type besides what fastavro gives (`Costs`)."""
        self._verbatim: dict[AvroNode, ParsedSchema] = {}

    def _add(self, node: AvroNode, cost: int) -> None:
        # A value feeds one of the places of its type.
        self.surplus[node] = max(cost, self.surplus.get(node, 0))

    def verbatim(self, node: AvroNode) -> ParsedSchema:
        """The type as the writer has it; for columns, without its logical types."""
        if node in self._verbatim:
            return self._verbatim[node]
        if node.kind == "boolean":
            return BOOLEAN_SYMBOLS
        schema = self._verbatim[node] = head(node, logical=self._logical(node))
        if node.kind == "record":
            schema["fields"] = [{"name": part.name, "type": shortest(self.verbatim(part.node))} for part in node.fields]
        elif node.kind == "union":
            schema.update({number: shortest(self.verbatim(branch)) for number, branch in enumerate(node.branches)})
        elif node.items is not None:
            schema["items" if node.kind == "array" else "values"] = shortest(self.verbatim(node.items))
        return schema

    def _logical(self, node: AvroNode) -> str | None:
        if self._checks_ints and is_plain_int(node):
            return INT
        if self._for_columns or node.logical is None:
            return None
        if self._bounds_decimals and node.logical == "decimal":
            return DECIMAL
        return _STRICT.get((node.kind, node.logical), node.logical)

    def column(self, node: AvroNode, type_: ColumnType, path: str, *, is_shared: bool = False) -> Step:
        """The type renamed and checked for a column.

        :param is_shared: other columns are fed by it too: a type without parts is left as it is on the wire.
        """
        if node.kind != "union":
            return self._value(node, type_, path, is_shared=is_shared)
        branch = nullable_branch(node)
        if branch is None:
            return self._union(node, type_, path)
        value, may_be_null = branch
        step = self._value(value, type_, path, is_shared=is_shared)
        schema = self._union_schema(node, value, step.schema)
        finish = step.finish
        if finish is not None and may_be_null and not step.is_refusal:
            finish = unless_none(finish)
        return Step(schema=schema, finish=finish, is_refusal=step.is_refusal, is_int=step.is_int)

    def _union_schema(self, node: AvroNode, value: AvroNode, renamed: ParsedSchema) -> ParsedSchema:
        schema: ParsedSchema = {"type": "union"}
        for number, part in enumerate(node.branches):
            schema[number] = shortest(renamed if part is value else self.verbatim(part))
        return schema

    def _value(self, node: AvroNode, type_: ColumnType, path: str, *, is_shared: bool) -> Step:
        kind, name = connect_type(node)
        unit = unit_of(node) if self._reads_units else None
        refused = incompatible(node.kind, type_, path) if kind is None else refusal_in_unit(kind, unit, type_, path)
        if refused is not None:
            return self._refusal(node, refused)
        assert kind is not None
        match type_:
            case Struct(fields):
                return self._record(node, fields, path)
            case Array(items):
                assert node.items is not None
                part = self.column(node.items, items, f"{path}->ARRAY")
                finish = part.whole(f"{path}->ARRAY")
                return Step(
                    schema={"type": "array", "items": shortest(part.schema)},
                    finish=None if finish is None else each(finish),
                )
            case Map(values, keys):
                return self._map(node, keys, values, path)
            case _:
                return leaf(node, kind, name, type_, path, is_shared=is_shared, unit=unit)

    def _refusal(self, node: AvroNode, refused: IncompatibleTypeError) -> Step:
        def refuse(_: Value) -> Value:
            # A new one each time: an exception that is raised twice collects tracebacks.
            raise type(refused)(refused.message, **vars(refused))

        return Step(schema=self.verbatim(node), finish=refuse, is_refusal=True)

    def _map(self, node: AvroNode, keys: ColumnType, values: ColumnType, path: str) -> Step:
        key_path, value_path = f"{path}->MAP_KEY", f"{path}->MAP_VAL"
        entry = map_entry_types(node)
        if entry is not None and node.items is not None:
            key, value = self.column(entry[0], keys, key_path), self.column(entry[1], values, value_path)
            parts = {"key": shortest(key.schema), "value": shortest(value.schema)}
            fields = [{"name": part.name, "type": parts[part.name]} for part in node.items.fields]
            items: ParsedSchema = {"type": "record", "name": node.items.name, "fields": fields}
            finish = entries_to_dict(key.whole(key_path), value.whole(value_path))
            return Step(schema={"type": "array", "items": items}, finish=finish)
        if node.kind != "map" or node.items is None:
            raise SchemaError(
                f"The schema has a map encoded as an array of entries, at {path or 'the root'}, but they are not records "
                f"of key and value: {describe(node)}."
            )
        refused = refusal(ConnectType.STRING, keys, key_path)
        if refused is not None:
            return self._refusal(node, refused)
        part = self.column(node.items, values, value_path)
        finish_value = part.whole(value_path)
        return Step(
            schema={"type": "map", "values": shortest(part.schema)},
            finish=None if finish_value is None else each_value(finish_value),
        )

    def row(self, node: AvroNode, columns: Columns) -> Step:
        """The root, as rows of columns. What feeds none of them, or not each under `strict`, is refused where it is met."""
        step = self.column(node, struct_of(columns), "")
        branch = nullable_branch(node)
        value, may_be_null = (node, _has_null(node)) if branch is None else branch
        if step.is_refusal or value.kind not in ("record", "union"):
            return step
        found = self._unfed(value, columns)
        if found is None:
            return step
        finish = unless_none(found.refuse) if may_be_null else found.refuse
        return Step(schema=step.schema, finish=finish)

    def _unfed(self, node: AvroNode, columns: Columns) -> Unfed | None:
        """Why a record's rows, or a union's, are none, now that the plan has walked it."""
        is_union = node.kind == "union"
        names = _branch_names(node) if is_union else [part.name for part in node.fields]
        what = "the union" if is_union else "the writer schema"
        placed = place(columns, names, self._case_rule, "", what=what)
        filled = {target.column.name for targets in placed.values() for target in targets}
        absent = [column.name for column in columns if column.name not in filled]
        inside = [path for path in dict.fromkeys(self._absent) if path not in absent]
        every = [column.name for column in columns]
        return unfed(every, absent, inside, names, strict=self._strict, what=what, defaulted=self._defaulted)

    def _defaults(self, node: AvroNode, columns: Columns, filled: Collection[str], path: str) -> dict[str, Value]:
        """The values of columns that nothing feeds: the defaults of the reader's schema, or null."""
        made: dict[str, Value] = {column.name: None for column in columns if column.name not in filled}
        for field, column in defaulted(node, columns, filled, self._case_rule, path):
            assert self._default_of is not None
            made[column.name] = self._default_of(field, column)
            self._defaulted.add(f"{path}->{column.name}".removeprefix("->"))
            self._add(node, text_cost(len(repr(field.default))))
        return made

    def _note_absent(self, columns: Columns, filled: Collection[str], path: str) -> None:
        where = f"{path.removeprefix('->')}->" if path else ""
        self._absent += [f"{where}{column.name}" for column in columns if column.name not in filled]

    def _record(self, node: AvroNode, columns: Columns, path: str) -> Step:
        fed = place(columns, [part.name for part in node.fields], self._case_rule, path)
        fields: list[dict[str, object]] = []
        ints: list[tuple[str, str]] = []
        finishes: list[tuple[str, Finish]] = []
        shared: list[tuple[str, tuple[Target, ...]]] = []
        direct: set[str] = set()
        as_values = self._as_values and not path
        for number, part in enumerate(node.fields):
            targets = fed.get(part.name, ())
            # No column can have this name: it is not one that can be declared.
            hidden = f"\0{number}"
            if not targets:
                fields.append({"name": hidden, "type": shortest(self.verbatim(part.node))})
            elif len(targets) == 1 and targets[0].counts:
                name, below = targets[0].column.name, f"{path}->{targets[0].avro_name}"
                step = self._field(part.node, targets[0].column.type, below)
                if as_values:
                    step = for_array(step, targets[0].column.type)
                fields.append({"name": name, "type": shortest(step.schema)})
                direct.add(name)
                if step.is_int:
                    ints.append((name, below))
                elif step.finish is not None:
                    finishes.append((name, step.finish))
            else:
                step, made = self._share(part.node, targets, path)
                fields.append({"name": hidden, "type": shortest(step.schema)})
                shared.append((hidden, made))
        names = tuple(column.name for column in columns)
        filled = direct | {name for _, made in shared for columns_, _ in made for name in columns_}
        self._note_absent(columns, filled, path)
        is_as_read = not shared and names == tuple(cast("str", part["name"]) for part in fields)
        if not is_as_read:
            self._add(node, CONTAINER + len(names))
        finish = finish_row(
            ints=tuple(ints),
            finishes=tuple(finishes),
            shared=tuple(shared),
            absent=self._defaults(node, columns, filled, path),
            picks=None if is_as_read else names,
            as_values=as_values,
        )
        return Step(schema={"type": "record", "name": node.name, "fields": fields}, finish=finish)

    def _field(self, node: AvroNode, type_: ColumnType, path: str) -> Step:
        step = self.column(node, type_, path)
        default = connect_default(node)
        # Of a type with parts it is left null: nobody but a Connect source whose schema says so writes such a default.
        if default is None or step.is_refusal or not isinstance(type_, ScalarType | Decimal):
            return step
        # Read as it is on the wire, so that the default and the values go the same way.
        raw = self.column(node, type_, path, is_shared=True)
        finish = raw.whole(path)
        value = default if finish is None else finish(default)
        if isinstance(value, str | bytes):
            self._add(node, text_cost(len(value)))
        return Step(schema=raw.schema, finish=null_as(value, finish))

    def _share(self, node: AvroNode, targets: tuple[Placed, ...], path: str) -> tuple[Step, tuple[Target, ...]]:
        """One field for several columns, or for one that a later field feeds: its type is checked all the same."""
        types = {target.column.type for target in targets}
        is_shared = len(types) > 1
        if is_shared and not all(isinstance(type_, ScalarType | Decimal) for type_ in types):
            named = ", ".join(repr(target.column.name) for target in targets)
            raise ColumnError(
                f"The columns {named} are fed by one field under the rule {self._case_rule.value!r}, but have different "
                "types with parts. Declare them with the same type, or leave one out."
            )
        if not is_shared:
            # Made once: what makes a value with parts may change what it was given.
            below = f"{path}->{targets[0].avro_name}"
            step = self.column(node, targets[0].column.type, below)
            columns = tuple(target.column.name for target in targets if target.counts)
            return step, ((columns, step.whole(below)),)
        made: list[Target] = []
        for target in targets:
            below = f"{path}->{target.avro_name}"
            step = self.column(node, target.column.type, below, is_shared=True)
            made.append(((target.column.name,), step.whole(below)))
        return step, tuple(made)

    def _union(self, node: AvroNode, type_: ColumnType, path: str) -> Step:
        values = _values_of(node)
        refused = refusal(ConnectType.STRUCT, type_, path) if values else incompatible("null", type_, path)
        if refused is not None or not isinstance(type_, Struct):
            assert refused is not None
            return self._refusal(node, refused)
        names = [union_field_name(branch) for branch in values]
        if len(set(names)) < len(names):
            raise SchemaError(
                f"Two branches of the {describe(node)}, at {path or 'the root'}, have the same name for Connect: "
                f"{', '.join(names)}. No column can tell them apart."
            )
        fed = place(type_.fields, names, self._case_rule, path, what="the union")
        self._note_absent(type_.fields, {each.column.name for placed in fed.values() for each in placed}, path)
        schema: ParsedSchema = {"type": "union"}
        refusals: list[Finish] = []
        targets: dict[str, tuple[Target, ...]] = {}
        for number, branch in enumerate(node.branches):
            if branch.kind == "null":
                schema[number] = "null"
                continue
            name, part = f"\0{number}", self.verbatim(branch)
            placed = fed.get(union_field_name(branch), ())
            if placed:
                step, targets[name] = self._share(branch, placed, path)
                part = step.schema
                if step.is_refusal:
                    refusals += [finish for _, finish in targets[name] if finish is not None]
            # The same bytes as the branch, and the value comes with its name.
            schema[number] = {"type": "record", "name": name, "fields": [{"name": name, "type": shortest(part)}]}
        self._add(node, 2 * CONTAINER + 1 + len(type_.fields))
        finish = finish_union(
            names=tuple(column.name for column in type_.fields), refusals=tuple(refusals), targets=targets
        )
        return Step(schema=schema, finish=unless_none(finish) if len(values) < len(node.branches) else finish)


def defaulted(
    node: AvroNode, columns: Columns, filled: Collection[str], case_rule: CaseRule, path: str
) -> list[tuple[AvroField, Column]]:
    """The defaults of a reader's schema that a record's columns get, where the writer lacks the field."""
    if not node.defaults:
        return []
    placed = place(columns, [part.name for part in node.defaults], case_rule, path, what="the reader's schema")
    by_name = {part.name: part for part in node.defaults}
    found = ((by_name[name], target) for name, targets in placed.items() for target in targets)
    return [(field, target.column) for field, target in found if target.counts and target.column.name not in filled]


def _values_of(union: AvroNode) -> list[AvroNode]:
    return [branch for branch in union.branches if branch.kind != "null"]


def _branch_names(union: AvroNode) -> list[str]:
    return [union_field_name(branch) for branch in _values_of(union)]


def _has_null(node: AvroNode) -> bool:
    return any(branch.kind == "null" for branch in node.branches)


@dataclass(frozen=True, slots=True)
class Placed:
    """A column that a field feeds."""

    column: Column
    """The column."""
    avro_name: str
    """Its Avro-compatible name, which paths have."""
    counts: bool
    """No later field feeds it too."""


def place(
    columns: Columns, fields: Sequence[str], case_rule: CaseRule, path: str, *, what: str = "the writer schema"
) -> dict[str, tuple[Placed, ...]]:
    """Field → the columns that it feeds, in the order in which they are filled; fields that feed none are absent.

    :raises AmbiguousFieldError: if letter case leaves it open which field feeds a column.
    :raises ColumnError: if two columns get the same Avro-compatible name.
    """
    # Columns match by their Avro-compatible names, as ksqlDB's do (`ConnectSchemas.withCompatibleSchema`).
    avro_names = avro_fields(columns)
    where = f"{what} at {path}" if path else what
    placed = placements(tuple(avro_names), fields, case_rule, where=where)
    last = {avro_name: field for field, avro_name in placed}
    fed: dict[str, tuple[Placed, ...]] = {}
    for field, avro_name in placed:
        target = Placed(avro_names[avro_name], avro_name, last[avro_name] == field)
        fed[field] = (*fed.get(field, ()), target)
    return fed


def connect_default(node: AvroNode) -> Value:
    """The default that null in a field is read as: Connect's own property, on the type beside null (the default of the
    Avro field is lost there)."""
    branch = nullable_branch(node)
    if branch is None or not branch[1]:
        return None
    default = branch[0].props.get("connect.default")
    if isinstance(default, str) and branch[0].kind in ("bytes", "fixed"):
        return default.encode("latin-1", "replace")
    return default if isinstance(default, bool | int | float | str) else None
