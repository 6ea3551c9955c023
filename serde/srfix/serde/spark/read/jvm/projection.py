"""A projection as two schemas for Spark's `from_avro`: the writer's schema, and as the reader's schema the part that
columns want. Names are not in the bytes, so both have srfix's own: a writer's letter case and repeated names do not
matter to Spark. Where Avro does not allow the columns' names, a cast by position restores them (`Schemas.is_exact`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NoReturn, TypeAlias

from srfix.serde.casing import CaseRule, are_distinct
from srfix.serde.columns.types import Columns, Decimal, ScalarType, type_name
from srfix.serde.formats.avro import Analysis, AvroNode, AvroType, describe, map_entry_types
from srfix.serde.printable import path_words
from srfix.serde.projection.tree import Absent, Entries, Fields, Items, Projected, Projection, Refused, Scalar, Target
from srfix.serde.spark.read.jvm.defaults import default_of
from srfix.serde.spark.read.jvm.leaves import (
    EntriesToMap,
    Fix,
    OfFields,
    OfItems,
    OfValues,
    Unfit,
    leaf,
    reader_of,
    without_voids,
)

Json: TypeAlias = object

_MAX_LEVELS: Final = 100
_MAX_TYPES: Final = 5_000
_MAX_FIXED_BYTES: Final = 2**24
_AVRO_NAME: Final = re.compile("[A-Za-z_][A-Za-z0-9_]*")
OUR_PREFIX: Final = "_srfix"
_OUR_NAME: Final = re.compile(f"f[0-9]+|(?i:{OUR_PREFIX}).*")


class Unrepresentable(Exception):
    def __init__(self, *reasons: str) -> None:
        super().__init__(*reasons)
        self.reasons = reasons


@dataclass(frozen=True, slots=True, kw_only=True)
class Schemas:
    writer: Json
    reader: Json
    fix: Fix | None = None
    skips_items: bool = False
    is_exact: bool = False
    """True if Spark gives the column's type, including names but not nullability, so that no cast is needed."""


# Void can be cast to any type.
_VOID: Final = Schemas(writer="null", reader="null")


def schemas(projection: Projection[AvroType]) -> Schemas:
    """As a root record with the columns in their order. A record around a bare value has the same bytes as the value."""
    root = projection.root
    analysis = Analysis(root.writer.node)
    if analysis.is_recursive:
        raise Unrepresentable("the schema is recursive: a body decides how deep Spark goes, and Spark has no such type")
    if analysis.has_unbounded_arrays:
        raise Unrepresentable(
            "it has an array whose items take no bytes, so a few bytes would make Spark build millions of items"
        )
    if root.writer.node.is_bare_bytes:
        raise Unrepresentable("bare bytes are written without their length, but Spark expects it")
    made, names = _Schemas(), tuple(column.name for column in projection.columns)
    own = names_in_spark(names) == names and all(map(_AVRO_NAME.fullmatch, names))
    if not projection.is_wrapped:
        return replace(made.bare(root, projection.columns[0].name, own=own), skips_items=made.skips_items)
    if root.writer.node.kind != "record":
        raise Unrepresentable(f"its root is a {describe(root.writer.node)}, not a record")
    assert isinstance(root.how, Fields)
    return replace(made.record(root.how, level=0, own=own), skips_items=made.skips_items)


def names_in_spark(columns: Sequence[str]) -> tuple[str, ...]:
    """Other names if two of the columns' differ only in case (for Spark they are equal), or one is srfix's."""
    if are_distinct(columns) and not any(map(_OUR_NAME.fullmatch, columns)):
        return tuple(columns)
    return tuple(f"c{number}" for number in range(len(columns)))


class _Schemas:
    def __init__(self) -> None:
        self._names = 0
        self.skips_items = False

    def bare(self, root: Projected[AvroType], column: str, *, own: bool) -> Schemas:
        part = self._column(root, level=0)
        name, field = self._name(), column if own else "f0"
        return Schemas(
            writer=record(name, [(field, part.writer)]),
            reader=record(name, [(field, part.reader)]),
            fix=None if part.fix is None else OfFields(fields=((field, part.fix),)),
            is_exact=own and part.is_exact,
        )

    def record(self, of: Fields[AvroType], *, level: int, own: bool = False) -> Schemas:
        """A record whose fields have the names of their columns, or (if not `own`) names of srfix."""
        fed = of.by_field()
        reasons = [_several(targets) for targets in fed.values() if len(targets) > 1]
        name = self._name()
        writer: list[tuple[str, Json]] = []
        parts: dict[str, tuple[dict[str, Json], Schemas]] = {}
        for field in of.fields:
            target = next(iter(fed[field.number]), None)
            field_name = f"f{field.number}"
            try:
                part = None if target is None else self._target(target, level=level)
                if target is not None and part is not None:
                    field_name = target.column.name if own else field_name
                    parts[target.column.name] = {"name": field_name, "type": part.reader}, part
                writer.append((field_name, self._verbatim(field.type.node, level + 1) if part is None else part.writer))
            except Unrepresentable as error:
                reasons += error.reasons
        if reasons:
            raise Unrepresentable(*reasons)
        for absent in of.absent:
            parts[absent.column.name] = self._absent(absent, of.columns, level=level, own=own)
        read = [parts[column.name] for column in of.columns]
        fixes = tuple((str(field["name"]), part.fix) for field, part in read)
        return Schemas(
            writer=record(name, writer),
            reader={"type": "record", "name": name, "fields": [field for field, _ in read]},
            fix=OfFields(fields=fixes) if any(fix is not None for _, fix in fixes) else None,
            is_exact=own and all(part.is_exact for _, part in read),
        )

    def _target(self, target: Target[AvroType], *, level: int) -> Schemas | None:
        """None if a later field feeds the column."""
        part = self._field(target.value, level=level)
        if not target.counts and part.fix is not None:
            why = "a later field feeds the column, but a bad value of this field must still make the row bad"
            _refuse(target.value, why)
        return part if target.counts else None

    def _field(self, value: Projected[AvroType], *, level: int) -> Schemas:
        default = value.writer.default
        if default is not None and isinstance(value.column, ScalarType | Decimal):
            _refuse(value, f"null is read as its connect.default, {default!r}")
        return self._column(value, level=level + 1)

    def _absent(
        self, absent: Absent[AvroType], columns: Columns, *, level: int, own: bool
    ) -> tuple[dict[str, Json], Schemas]:
        column, number = absent.column, columns.index(absent.column)
        default: Json = None
        if absent.default is not None:
            part, default = self._default(absent.default, level=level)
        elif own and isinstance(column.type, ScalarType | Decimal) and (reader := reader_of(column.type)) is not None:
            part = Schemas(writer="null", reader=["null", reader], is_exact=True)
        else:
            part = _VOID
        name = column.name if own else f"{'none' if absent.default is None else 'default'}{number}"
        return {"name": name, "type": part.reader, "default": default}, part

    def _default(self, default: Target[AvroType], *, level: int) -> tuple[Schemas, Json]:
        part = self._field(default.value, level=level)
        made = default_of(default.field.type.node, part.reader, default.field.default)
        if made is None:
            _refuse(default.value, "Java does not accept the default of the reader's schema")
        reader, json = made
        fix = without_voids(part.fix, reader)
        return replace(part, reader=reader, fix=fix, is_exact=part.is_exact and reader == part.reader), json

    def _column(self, value: Projected[AvroType], *, level: int) -> Schemas:
        writer = value.writer
        if isinstance(value.how, Refused) and value.how.reads_null:
            types = [self._refused(one, level) if one.kind != "null" else "null" for one in _branches(writer.node)]
            return replace(_VOID, writer=types or "null")
        if writer.value is writer.node:
            if isinstance(value.how, Fields) and value.how.is_choice:
                return self._choice(value, value.how, level=level + 1)
            if writer.is_union:
                why = "a union of several types is a STRUCT for the deserializer, but another one for Spark"
                _refuse(value, why if len(writer.node.branches) > 1 else "it can only be null")
            return self._value(value, level=level)
        branches = _branches(writer.node)
        part = self._value(value, level=level + 1)
        return replace(
            part,
            writer=[part.writer if one is writer.value else self._verbatim(one, level + 1) for one in branches],
            reader=["null", part.reader] if writer.is_nullable else part.reader,
        )

    def _choice(self, value: Projected[AvroType], of: Fields[AvroType], *, level: int) -> Schemas:
        """A union under one type of the reader: Java's resolution chooses, and fails for the branches that do not fit."""
        writer: list[Json] = ["null"] * len(_branches(value.writer.node))
        read: list[Schemas] = []
        for number, (target,) in of.by_field().items():
            if isinstance(target.value.how, Refused):
                writer[number] = self._refused(target.field.type.node, level)
            else:
                read.append(self._value(target.value, level=level))
                writer[number] = read[-1].writer
        if not read or any((one.reader, one.fix) != (read[0].reader, read[0].fix) for one in read):
            _refuse(value, "its branches are not all read in the same way")
        first = read[0]
        fields = first.reader.get("fields") if isinstance(first.reader, dict) else None
        if fields and len(read) < len(of.targets) and all("default" in field for field in fields):
            _refuse(value, "Java would read any other record as this one, because no field of the writer feeds it")
        reader = ["null", first.reader] if value.writer.is_nullable else first.reader
        return replace(first, writer=writer, reader=reader, is_exact=all(one.is_exact for one in read))

    def _refused(self, node: AvroNode, level: int) -> Json:
        """For Java a record's name does not count. This record has the same bytes, but none of the reader's fields."""
        return record(self._name(), [("refused", self._verbatim(node, level + 1))])

    def _value(self, value: Projected[AvroType], *, level: int) -> Schemas:
        node = value.writer.value
        match value.how:
            case Refused(error):
                raise _unfit(
                    node,
                    value,
                    f"{error.writer_type} does not feed a column of {error.column_type}, so rows that hold it cannot be read",
                )
            case Fields():
                return self.record(value.how, level=level)
            case Items(items):
                part = self._column(items, level=level + 1)
                if part.reader == "double" and part.writer not in ("float", "double"):
                    # Java's Avro 1.12.0 (Spark 4.0) would make a float of an int or a long, and a double of the float.
                    part = replace(part, reader=["null", "double"])
                return _many("array", "items", part, None if part.fix is None else OfItems(items=part.fix))
            case Entries():
                return self._map(node, value.how, level=level)
            case Scalar():
                return self._leaf(value, value.how, level=level)

    def _leaf(self, value: Projected[AvroType], scalar: Scalar, *, level: int) -> Schemas:
        node = value.writer.value
        outcome = leaf(node, scalar)
        if isinstance(outcome, Unfit):
            raise _unfit(node, value, outcome.why)
        writer = self._verbatim(node, level)
        reader = writer if outcome.reader is None else outcome.reader
        if isinstance(reader, dict) and isinstance(writer, dict):
            reader = writer | reader
        if node.written_symbols and isinstance(writer, dict):
            # Also in Java, a symbol that the reader's enum lacks becomes the enum's default.
            reader = writer | {"symbols": list(dict.fromkeys(node.symbols)), "default": node.props["default"]}
        return Schemas(writer=writer, reader=reader, fix=outcome.fix, is_exact=outcome.is_exact)

    def _map(self, node: AvroNode, entries: Entries[Projected[AvroType]], *, level: int) -> Schemas:
        assert node.items is not None
        if map_entry_types(node) is None:
            part = self._column(entries.values, level=level + 1)
            return _many("map", "values", part, None if part.fix is None else OfValues(values=part.fix))
        parts = {
            "key": self._column(entries.keys, level=level + 2),
            "value": self._column(entries.values, level=level + 2),
        }
        name = self._name()
        return Schemas(
            writer={
                "type": "array",
                "items": record(name, [(part.name, parts[part.name].writer) for part in node.items.fields]),
            },
            reader={"type": "array", "items": record(name, [(part, parts[part].reader) for part in parts])},
            fix=EntriesToMap(key="key", value="value", values=parts["value"].fix),
        )

    def _verbatim(self, node: AvroNode, level: int) -> Json:
        """The writer's type without logical types."""
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
                        f"the fixed type {node.name} has {node.size:,} bytes, which Spark allocates at once"
                    )
                return {"type": "fixed", "name": self._name(), "size": node.size}
            case "array" | "map":
                assert node.items is not None
                self.skips_items = True
                items = self._verbatim(node.items, level + 1)
                return {"type": node.kind, "items" if node.kind == "array" else "values": items}
            case "union":
                return [self._verbatim(branch, level + 1) for branch in _branches(node)]
            case _:
                return node.kind

    def _name(self) -> str:
        self._names += 1
        if self._names > _MAX_TYPES:
            raise Unrepresentable(f"it has more than {_MAX_TYPES:,} named types, references included")
        return f"t{self._names}"


def _many(kind: str, word: str, part: Schemas, fix: Fix | None) -> Schemas:
    writer, reader = ({"type": kind, word: type_} for type_ in (part.writer, part.reader))
    return Schemas(writer=writer, reader=reader, fix=fix, is_exact=part.is_exact)


def record(name: str, fields: Iterable[tuple[str, Json]]) -> Json:
    return {"type": "record", "name": name, "fields": [{"name": name, "type": type_} for name, type_ in fields]}


def _branches(node: AvroNode) -> tuple[AvroNode, ...]:
    unnamed = [branch.kind for branch in node.branches if not branch.name]
    if "union" in unnamed or len(set(unnamed)) < len(unnamed):
        raise Unrepresentable(f"it has a {describe(node)}, but Java refuses that")
    return node.branches


def _several(targets: Sequence[Target[AvroType]]) -> str:
    names = ", ".join(repr(target.column.name) for target in targets)
    field, path = targets[0].field.name, targets[0].value.path
    inside = path.removesuffix(f"->{targets[0].column.name}").removeprefix("->")
    where = f" of {inside}" if inside else ""
    return (
        f"the writer's field {field}{where} feeds several columns, {names}, under the rule "
        f"{CaseRule.KSQLDB_2020.value!r}, but Spark reads a field only once"
    )


def _refuse(value: Projected[AvroType], why: str) -> NoReturn:
    raise _unfit(value.writer.node, value, why)


def _unfit(node: AvroNode, value: Projected[AvroType], why: str) -> Unrepresentable:
    where = path_words(value.path, "at the root")
    return Unrepresentable(f"column {where} ({type_name(value.column)}), writer type {describe(node)}: {why}")
