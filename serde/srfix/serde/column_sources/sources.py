"""The step that all sources of columns share: turning their names into column names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from srfix.serde.casing import declared_name
from srfix.serde.columns.types import Column, Columns, ColumnType, Namespace
from srfix.serde.connect.columns import NameRule
from srfix.serde.errors import ColumnError

SourceField: TypeAlias = tuple[str, ColumnType, Namespace]
"""The source's name, and the column made from it."""


def source_columns(fields: Iterable[SourceField], *, names: NameRule, where: str) -> Columns:
    """Columns for the fields, in their order. `where` names the schema or dataclass, for the message."""
    sources: dict[str, str] = {}
    columns: list[Column] = []
    for source, type_, namespace in fields:
        if not source:
            raise ColumnError(f"A field of {where} has an empty name. Give it one.")
        name = declared_name(source) if names == "upper" else source
        if name in sources:
            raise ColumnError(
                f"Two fields of {where} become the column {name!r}: {sources[name]!r} and {source!r}. "
                "Take them with names='keep', or rename one."
            )
        sources[name] = source
        columns.append(Column(name, type_, namespace))
    return tuple(columns)
