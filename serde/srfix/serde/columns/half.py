"""The columns of a key or a value, the types that it may not hold, and whether its only column stands bare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from srfix.serde.columns.text import print_type
from srfix.serde.columns.types import STRING, Column, Columns, ColumnType, Map, Struct, parts_of, usable_columns
from srfix.serde.errors import ColumnError
from srfix.serde.printable import path_words
from srfix.serde.subjects.names import Role


def key_columns(columns: Columns) -> Columns:
    """The columns of the key, in their order (ksqlDB's `LogicalSchema.key`)."""
    return tuple(column for column in columns if column.namespace.is_key)


def only_column(columns: Columns) -> Column:
    if len(columns) != 1:
        raise ColumnError(
            f"Only a single column can be un-wrapped, but there are {len(columns)}: "
            f"{', '.join(column.name for column in columns)}. Leave them wrapped, or give only one."
        )
    return columns[0]


def struct_of(columns: Columns) -> Struct:
    """The columns as one STRUCT without marks: the half itself says whether it is a key."""
    return Struct(tuple(Column(column.name, column.type) for column in columns))


def check_key_columns(columns: Columns) -> None:
    """ksqlDB's `GenericKeySerDe` for the columns of a key, which applies to all formats."""
    for column in columns:
        if any(isinstance(part, Map) for _, part in _parts(column.type, "")):
            raise ColumnError(
                f"Map keys, including types that contain maps, are not supported: the key column {column.name!r} is "
                f"{print_type(column.type)}, and equal maps may be written as different bytes (ksql issue 6621). "
                "Leave the MAP in the value."
            )


def require_string_keys(columns: Columns, format_word: str) -> None:
    """Makes the checks of ksqlDB's `AvroDataTranslator` and `KsqlJsonSerdeFactory` for every MAP, also nested ones."""
    for column in columns:
        for path, part in _parts(column.type, f"->{column.name}"):
            if isinstance(part, Map) and part.keys is not STRING:
                raise ColumnError(
                    f"{format_word} only supports MAPs with STRING keys: {path_words(path)} is {print_type(part)}. "
                    "Declare its keys STRING."
                )


def _parts(type_: ColumnType, path: str) -> Iterator[tuple[str, ColumnType]]:
    """The type and all types in it, with the paths that ksqlDB's errors use."""
    yield path, type_
    for name, part in parts_of(type_):
        yield from _parts(part, f"{path}->{name}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Half:
    columns: Columns
    wrapped: bool
    """False if the body is the bare value of the only column."""


def roles_of(columns: Columns) -> tuple[Role, ...]:
    """The halves for which there are columns; only the value if no column is marked as KEY."""
    marked = {Role.KEY if column.namespace.is_key else Role.VALUE for column in columns}
    return tuple(role for role in Role if role in marked)


def half_of(columns: Columns, role: Role, wrap: bool | None) -> Half:
    """The columns of a key or a value; all if none is marked as KEY. With `wrap` None, ksqlDB's default counts: only a
    single KEY column is not in a record (`SerdeFeaturesFactory.buildKeyFeatures`, `.buildValueFeatures`)."""
    usable_columns(columns)
    is_key = role is Role.KEY
    half = columns
    if key_columns(columns):
        # The marks are removed, because a format makes a STRUCT of the columns, and a STRUCT's fields are never keys.
        half = struct_of(tuple(column for column in columns if column.namespace.is_key == is_key)).fields
    if not half:
        raise ColumnError(
            f"All columns are marked as KEY, so no column is left for a {role.value}. Declare columns for the "
            f"{role.value}, too, or remove the marks."
        )
    if is_key:
        check_key_columns(half)
    if wrap is None:
        wrap = not (is_key and len(half) == 1)
    if not wrap:
        only_column(half)
    return Half(columns=half, wrapped=wrap)
