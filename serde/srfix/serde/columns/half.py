"""Which columns a key or a value is made of, and whether its only one stands bare."""

from __future__ import annotations

from dataclasses import dataclass, replace

from srfix.serde.columns.halves import check_key_columns, is_wrapped, only_column
from srfix.serde.columns.types import Columns, Namespace, usable_columns
from srfix.serde.errors import ColumnError
from srfix.serde.subjects.names import Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Half:
    """A key or a value, as its format gets it."""

    columns: Columns
    """Its columns."""
    wrapped: bool
    """False if the body is the bare value of the only one."""


def roles_of(columns: Columns) -> tuple[Role, ...]:
    """The halves that columns are marked for; the value alone where none is marked."""
    marked = {Role.KEY if column.namespace.is_key else Role.VALUE for column in columns}
    return tuple(role for role in Role if role in marked)


def half_of(columns: Columns, role: Role, wrap: bool | None) -> Half:
    """The half of the columns that a key or a value is made of; all of them where none is marked as KEY.

    `wrap` None is ksqlDB's default (`is_wrapped`).
    """
    usable_columns(columns)
    is_key = role is Role.KEY
    half = columns
    if any(column.namespace.is_key for column in columns):
        # Without the marks: a format makes a STRUCT of them, whose fields are never keys.
        half = tuple(
            replace(column, namespace=Namespace.VALUE) for column in columns if column.namespace.is_key == is_key
        )
    if not half:
        raise ColumnError(
            f"All columns are marked as KEY, so there is none for a {role.value}. Declare the columns of the {role.value} "
            "too, or leave the marks out."
        )
    if is_key:
        check_key_columns(half)
    if wrap is None:
        wrap = is_wrapped(half, role)
    if not wrap:
        only_column(half)
    return Half(columns=half, wrapped=wrap)
