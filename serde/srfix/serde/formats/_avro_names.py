"""Avro names of columns, as ksqlDB makes them."""

from __future__ import annotations

import re

from srfix.serde._column_types import Column, Columns
from srfix.serde.errors import ColumnError

__all__ = ["avro_fields", "check_name"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def avro_fields(columns: Columns) -> dict[str, Column]:
    """The columns by the names of their Avro fields: "." becomes "_", nothing else changes (ksqlDB's
    `AvroSchemas`).

    :raises ColumnError: if two columns get the same field.
    """
    fields: dict[str, Column] = {}
    for column in columns:
        name = column.name.replace(".", "_")
        if name in fields:
            raise ColumnError(
                f"The columns {fields[name].name!r} and {column.name!r} both become the Avro field "
                f"{name!r}. Rename one of them."
            )
        fields[name] = column
    return fields


def check_name(name: str, *, column: str) -> str:
    """:raises ColumnError: unless Avro allows the name."""
    if not _NAME.fullmatch(name):
        character = next((c for i, c in enumerate(name) if not _NAME.fullmatch(c if i == 0 else f"_{c}")), "")
        where = "initial character" if name[:1] == character else "character"
        raise ColumnError(
            f"The column {column!r} is not compatible with Avro: illegal {where} {character!r}. Avro names "
            "have the letters "
            "A to Z, digits and _, and do not start with a digit."
        )
    return name
