"""Avro's schema resolution: the aliases, the defaults and the promotions of a reader's schema.

A writer schema is rewritten once, like in Java's `Schema.applyAliases`: its fields get the reader's names, and its
records the defaults. A record or enum is resolved if it has the reader's name (ignoring namespaces), or one of the
reader's aliases: another record type in the topic gets no defaults. A symbol that the reader's enum lacks becomes the
enum's default.

`connect.coercions` decides which types feed a column. If Avro promotes a type and Connect does not
(`Resolver.ReadingAction`), the node stores the promoted type:

| writer | reader |
|---|---|
| int, long | float, double |
| string | bytes |
| bytes | string |

In a reader's union, the branch of the writer's own kind counts (a named type: of its name, otherwise the first record
that has its fields), otherwise the first branch to which the type can be promoted (`Resolver.ReaderUnion`).

A union of several types is a STRUCT. If only one of the two schemas has such a union, the writer's type becomes this:

- One type under several types: a record of one field, which is named like the branch. It has the same bytes.
- Several types under one type: a union whose values are read as the reader's type (`AvroNode.read_as`).

If Avro does not resolve a branch of such a union, or a record under a reader's union (null and one type count here),
or a record in a record without any field of the reader's, no column reads it, and a row with such a value is bad. If
both schemas have null, null is read beside types that Avro does not resolve (`AvroNode.reads_null`). A type that only
the column does not fit makes null bad, too, as without a reader.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import replace
from functools import lru_cache
from typing import Final

from srfix.serde.bounds import payload_bounds
from srfix.serde.casing import CaseRule, have_in_common
from srfix.serde.errors import SchemaError
from srfix.serde.formats.avro.connect import union_field_name
from srfix.serde.formats.avro.schema import AvroField, AvroNode, load, nullable_branch
from srfix.serde.formats.rows.value_check import MISSING
from srfix.serde.specs import ReaderSchema

_PROMOTED: Final = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "string": ("bytes",),
    "bytes": ("string",),
}
"""Avro's promotions."""
_WIDER: Final = (("int", "long"), ("float", "double"))
"""Those that Connect accepts anyway."""
_NULL: Final = AvroNode(kind="null")


@lru_cache(maxsize=256)
def resolved_root(
    text: str,
    references: tuple[str, ...],
    reader: ReaderSchema | None,
    case_rule: CaseRule,
    columns: tuple[str, ...] | None = None,
) -> AvroNode:
    """The graph of a writer schema with the reader's names and defaults. For `KSQLDB_2020` a union of one type is a
    STRUCT with that type: AvroConverter wrapped it up to 7.6."""
    if case_rule is CaseRule.KSQLDB_2020:
        root = load(text, references, wraps_single_types=True)
    else:
        root = load(text, references)
    if reader is None:
        return root
    reader_root = load(reader.text, reader.references)
    is_row_of_one = (
        columns is not None
        and _has_several(reader_root)
        and not have_in_common(columns, map(union_field_name, _values(reader_root)))
    )
    try:
        return _Resolution(reader_root).node(root, reader_root, is_member=is_row_of_one)
    except RecursionError:
        raise SchemaError("The types of writer and reader nest too deep to be resolved.") from None


class _Resolution:
    def __init__(self, root: AvroNode) -> None:
        self._root = root
        """The reader's."""
        self._done: dict[tuple[AvroNode, AvroNode, bool], AvroNode] = {}
        self._likes: dict[tuple[AvroNode, AvroNode], bool] = {}

    def node(self, writer: AvroNode, reader: AvroNode, *, is_member: bool = False) -> AvroNode:
        """The writer's type. `is_member`: it is one of several types of a union, which is a STRUCT already."""
        key = writer, reader, is_member
        resolution = self._done.get(key)
        if resolution is not None:
            return resolution
        _check_pairs(self._done)
        is_apart = not any(self._resolves(value, reader) for value in _values(writer))
        made = self._done[key] = replace(writer, reads_null=is_apart and _has_null(writer) and _has_null(reader))
        if writer.kind == "union":
            self._union(made, writer, reader, is_member=is_member)
            return made
        counterpart = self._branch_for(writer, reader)
        promoted = _promoted(writer, reader) if counterpart is None else None
        branch = counterpart or promoted
        if branch is not None and writer.kind != "null" and _has_several(reader) and not is_member:
            # A STRUCT of the reader's union, with the same bytes; its other members are null.
            field = AvroField(name=union_field_name(branch), node=made, default=MISSING)
            self._done[key] = AvroNode(kind="record", fields=(field,), defaults=_null_members(reader))
        if promoted is not None and (is_member or (writer.kind, promoted.kind) not in _WIDER):
            made.read_as = promoted
        # If only null stands beside the reader's type, Connect may read another type as it, but no other record.
        is_other_record = writer.kind == "record" and (reader.kind == "union" or self._is_foreign(writer, reader))
        if branch is None and (_has_several(reader) or is_other_record):
            made.read_as = None if writer.kind == "null" else _NULL
        if counterpart is None:
            return self._done[key]
        if writer.kind == "record":
            self._record(made, writer, counterpart)
        elif writer.kind == "enum":
            default = counterpart.props.get("default")
            if isinstance(default, str) and default in counterpart.symbols:
                made.symbols = tuple(symbol if symbol in counterpart.symbols else default for symbol in writer.symbols)
                made.written_symbols = writer.symbols
                made.props = {**writer.props, "default": default}
        elif writer.items is not None and counterpart.items is not None:
            made.items = self.node(writer.items, counterpart.items)
        return self._done[key]

    def _union(self, made: AvroNode, writer: AvroNode, reader: AvroNode, *, is_member: bool) -> None:
        has_several, only = _has_several(writer), nullable_branch(reader)
        if not has_several or only is None:
            is_member = is_member or has_several
            made.branches = tuple(self.node(branch, reader, is_member=is_member) for branch in writer.branches)
            made.defaults = _null_members(reader) if has_several else ()
            for branch, member in zip(writer.branches if has_several else (), made.branches, strict=False):
                # The member of the STRUCT has the reader's name. Avro may read several records as one.
                counterpart = self._branch_for(branch, reader) if branch.name else None
                if counterpart is not None:
                    member.name = counterpart.name
            return
        made.read_as = only[0]
        made.branches = tuple(
            self.node(branch, reader)
            if branch.kind == "null" or self._resolves(branch, reader)
            else replace(branch, read_as=_NULL)
            for branch in writer.branches
        )

    def _record(self, made: AvroNode, writer: AvroNode, reader: AvroNode) -> None:
        names = {part.name for part in writer.fields}
        reader_names = {part.name for part in reader.fields}
        feeds: dict[str, AvroField] = {part.name: part for part in reader.fields if part.name in names}
        for part in reader.fields:
            if part.name in names:
                continue
            # If a field has the exact name of a reader's field, it feeds no other field.
            alias = next(
                (one for one in part.aliases if one in names and one not in reader_names and one not in feeds), None
            )
            if alias is not None:
                feeds[alias] = part
        made.fields = tuple(self._field(part, feeds.get(part.name)) for part in writer.fields)
        fed = {part.name for part in feeds.values()}
        made.defaults = tuple(part for part in reader.fields if part.name not in fed and part.default is not MISSING)

    def _field(self, part: AvroField, reader: AvroField | None) -> AvroField:
        if reader is None:
            return part
        written = None if part.name == reader.name else part.name
        return replace(part, name=reader.name, node=self.node(part.node, reader.node), written=written)

    def _branch_for(self, writer: AvroNode, reader: AvroNode) -> AvroNode | None:
        """The reader's type for a writer's type that is not a union; None if the reader has no type of this kind."""
        of_kind = [branch for branch in _branches(reader) if branch.kind == writer.kind]
        if writer.kind not in ("record", "enum", "fixed"):
            return of_kind[0] if of_kind else None
        alike = [branch for branch in of_kind if _short(writer.name) in map(_short, (branch.name, *branch.aliases))]
        alike = [branch for branch in alike if branch.name == writer.name] or alike
        if not alike and writer.kind == "record" and reader.kind == "union":
            alike = [branch for branch in of_kind if self._has_fields(writer, branch)]
        return alike[0] if alike else None

    def _has_fields(self, writer: AvroNode, reader: AvroNode) -> bool:
        """Whether Avro reads a writer's record as a branch with another name (`Resolver.ReaderUnion.hasMatchError`)."""
        if (writer, reader) not in self._likes:
            _check_pairs(self._likes)
            nodes = {part.name: part.node for part in writer.fields}
            self._likes[writer, reader] = all(
                self._resolves(nodes[part.name], part.node) if part.name in nodes else part.default is not MISSING
                for part in reader.fields
            )
        return self._likes[writer, reader]

    def _is_foreign(self, writer: AvroNode, reader: AvroNode) -> bool:
        """Whether a record in a record would be a STRUCT of nulls or defaults. (At the root, the row has NOTHING_FED.)"""
        names, other_names = ([part.name for part in node.fields] for node in (writer, reader))
        return reader.kind == "record" and reader is not self._root and not have_in_common(names, other_names)

    def _resolves(self, writer: AvroNode, reader: AvroNode) -> bool:
        """Whether Avro reads some value of the writer's type as the reader's."""
        return writer.kind == "union" or (self._branch_for(writer, reader) or _promoted(writer, reader)) is not None


def _check_pairs(pairs: Sized) -> None:
    if len(pairs) >= payload_bounds().schema_parts:
        raise SchemaError(
            f"The schemas of writer and reader have more than {payload_bounds().schema_parts:,} pairs of types "
            "(srfix.serde.bounds: schema_parts)."
        )


def _null_members(reader: AvroNode) -> tuple[AvroField, ...]:
    """The fields of a union's STRUCT, for those that the writer lacks."""
    members = []
    for other in _values(reader):
        props = {name: value for name, value in other.props.items() if name != "connect.default"}
        nullable = AvroNode(kind="union", branches=(_NULL, replace(other, props=props)))
        members.append(AvroField(name=union_field_name(other), node=nullable, default=None))
    return tuple(members)


def _promoted(writer: AvroNode, reader: AvroNode) -> AvroNode | None:
    """The reader's type to which a writer's type is promoted: of several, the one whose field gets the value."""
    kinds = _PROMOTED.get(writer.kind, ())
    return next((branch for branch in _branches(reader) if branch.kind in kinds), None)


def _branches(node: AvroNode) -> Sequence[AvroNode]:
    return node.branches if node.kind == "union" else (node,)


def _values(node: AvroNode) -> Sequence[AvroNode]:
    return [branch for branch in _branches(node) if branch.kind != "null"]


def _has_null(node: AvroNode) -> bool:
    return len(_values(node)) < len(_branches(node))


def _has_several(node: AvroNode) -> bool:
    return len(_values(node)) > 1


def _short(name: str) -> str:
    return name.rpartition(".")[2]
