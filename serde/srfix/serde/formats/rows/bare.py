"""Columns that JSON can hold, and the bare value of a row that is written without its record."""

from __future__ import annotations

from collections.abc import Mapping

from srfix.serde.columns.halves import only_column, require_string_keys
from srfix.serde.columns.types import Columns, usable_columns
from srfix.serde.formats.rows.misfit import Misfit


def check_json_columns(columns: Columns, *, wrapped: bool) -> None:
    """:raises ColumnError: if the columns cannot be used, a MAP's keys are not STRING, or there are several un-wrapped."""
    require_string_keys(usable_columns(columns), "JSON")
    if not wrapped:
        only_column(columns)


def bare_value(row: object, name: str) -> object:
    """The value of the only column."""
    value = row.get(name) if isinstance(row, Mapping) else None
    if value is None:
        raise Misfit(
            [(f"->{name}", "is null: un-wrapped, that is a record without these bytes, so give None for the whole row")]
        )
    return value
