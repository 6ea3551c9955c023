"""Avro's schema resolution: the aliases, the defaults and the promotions of a reader's schema.

Users who read with the newest schema, or with their own, expect the behaviour of every Avro reader: a renamed field is
found by its alias, a field that the writer lacks has its default, a symbol that the reader's enum lacks becomes the
enum's default, and a number or a string becomes the reader's type. Names are not in the bytes. So a writer schema is
rewritten once, like in Java's `Schema.applyAliases`: its fields get the reader's names, and its records get the
defaults. All code that reads, explains or projects writer schemas uses the rewritten ones.

A writer's record or enum is resolved under the same condition as in Avro: it has the reader's name (ignoring
namespaces), or one of the reader's aliases. Another record type in the topic gets no defaults.

`connect.coercions` decides which types feed a column: an int feeds a BIGINT, as in Avro, and also a STRING, which Avro
does not allow. If Avro promotes a type and Connect does not (`Resolver.ReadingAction`), the node stores the promoted
type:

| writer | reader |
|---|---|
| int, long | float, double |
| string | bytes |
| bytes | string |

In a reader's union, the first branch of the writer's own kind counts, otherwise the first branch to which the type can
be promoted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final

from srfix.serde.bounds import payload_bounds
from srfix.serde.casing import CaseRule
from srfix.serde.errors import SchemaError
from srfix.serde.formats.avro.schema import AvroField, AvroNode, load
from srfix.serde.formats.rows.value_check import MISSING
from srfix.serde.specs import ReaderSchema

_PROMOTED: Final = {
    "int": ("float", "double"),
    "long": ("float", "double"),
    "string": ("bytes",),
    "bytes": ("string",),
}
"""Avro's promotions, except those that Connect accepts anyway."""
_WIDER: Final = {"int": ("long",), "float": ("double",)}


@lru_cache(maxsize=256)
def resolved_root(text: str, references: tuple[str, ...], reader: ReaderSchema | None, case_rule: CaseRule) -> AvroNode:
    """The graph of a writer schema with the reader's names and defaults; unchanged if there is no reader's schema.

    For `KSQLDB_2020` a union of one type is a STRUCT with that type; for the other rules it is the type itself:
    AvroConverter wrapped it up to 7.6, but not since 7.7.
    """
    if case_rule is CaseRule.KSQLDB_2020:
        root = load(text, references, wraps_single_types=True)
    else:
        root = load(text, references)
    if reader is None:
        return root
    try:
        return _Resolution().node(root, load(reader.text, reader.references))
    except RecursionError:
        raise SchemaError("The types of writer and reader nest too deep to be resolved.") from None


class _Resolution:
    def __init__(self) -> None:
        self._done: dict[tuple[AvroNode, AvroNode], AvroNode] = {}

    def node(self, writer: AvroNode, reader: AvroNode) -> AvroNode:
        resolution = self._done.get((writer, reader))
        if resolution is not None:
            return resolution
        if len(self._done) >= payload_bounds().schema_parts:
            raise SchemaError(
                f"The schemas of writer and reader have more than {payload_bounds().schema_parts:,} pairs of types "
                "(srfix.serde.bounds: schema_parts)."
            )
        made = self._done[writer, reader] = replace(writer)
        if writer.kind == "union":
            made.branches = tuple(self.node(branch, reader) for branch in writer.branches)
            return made
        counterpart = _branch_for(writer, reader)
        if counterpart is None:
            made.read_as = _promoted(writer, reader)
            return made
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
        return made

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


def _branch_for(writer: AvroNode, reader: AvroNode) -> AvroNode | None:
    """The reader's type for a writer's type that is not a union; None if the reader has no type of this kind."""
    alike = [branch for branch in _branches(reader) if branch.kind == writer.kind]
    if writer.kind in ("record", "enum", "fixed"):
        alike = [branch for branch in alike if _are_one(writer, branch)]
        alike = [branch for branch in alike if branch.name == writer.name] or alike
    return alike[0] if alike else None


def _promoted(writer: AvroNode, reader: AvroNode) -> AvroNode | None:
    """The reader's type to which a writer's type is promoted; None if there is none, or if Connect accepts the type
    anyway. Among several types it is the one whose field gets the value."""
    branches = [branch for branch in _branches(reader) if branch.kind != "null"]
    kinds = _PROMOTED.get(writer.kind, ())
    if len(branches) > 1:
        kinds = (*_WIDER.get(writer.kind, ()), *kinds)
    return next((branch for branch in branches if branch.kind in kinds), None)


def _branches(node: AvroNode) -> Sequence[AvroNode]:
    return node.branches if node.kind == "union" else (node,)


def _are_one(writer: AvroNode, reader: AvroNode) -> bool:
    """Whether Avro treats a named type of the writer as a named type of the reader."""
    return _short(writer) in (_short(reader), *(alias.rpartition(".")[2] for alias in reader.aliases))


def _short(node: AvroNode) -> str:
    return node.name.rpartition(".")[2]
