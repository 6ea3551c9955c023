"""Payload → an instance of a dataclass, with any deserializer that has columns.

>>> from dataclasses import dataclass
>>> from srfix.serde import DataclassDeserializer, JsonDeserializer
>>> @dataclass
... class Price:
...     id: int | None
...     name: str | None
>>> read = DataclassDeserializer(JsonDeserializer(Price), Price)
>>> read(b'{"Id": 7, "name": "tea"}', "prices")
Price(id=7, name='tea')

`srfix.serde.column_sources.row_classes` says which column feeds a field, and what the constructor refuses.
"""

from __future__ import annotations

from functools import partial
from typing import Generic, Protocol, TypeVar, cast, overload

from srfix.serde.arguments import check_instance, type_words, usable_context
from srfix.serde.casing import CaseRule
from srfix.serde.column_sources.row_classes import NameOf, RowBuilders, dataclass_builder, row_class
from srfix.serde.columns.types import Columns
from srfix.serde.errors import DecodeError, UsageError
from srfix.serde.interface import Context, Row
from srfix.serde.serdes.located_errors import read_from
from srfix.serde.subjects.names import Role, role_of

R = TypeVar("R")


class ColumnsDeserializer(Protocol):
    """A deserializer that knows its columns: each deserializer of `srfix.serde` that does not wrap another one."""

    @property
    def columns(self) -> Columns | None: ...
    def columns_of(self, role: Role) -> Columns | None: ...
    def row(self, payload: bytes | None, ctx: Context | str) -> Row | None: ...
    def __call__(self, payload: bytes | None, ctx: Context | str, /) -> object: ...


class DataclassDeserializer(Generic[R]):
    """Reads rows as instances of a dataclass. Another deserializer reads the rows. Thread-safe and picklable if that
    deserializer is."""

    def __init__(self, deserializer: ColumnsDeserializer, into: type[R], *, name_of: NameOf = str) -> None:
        """
        :param deserializer: a deserializer with columns, which may come from the dataclass itself.
        :param into: the dataclass. The column with a field's name feeds the field: the one with the exact name,
            otherwise one with the name in another letter case.
        :param name_of: gives a field's column name, for example fullName for full_name. If the columns come from the
            dataclass, pass the same function to `columns_from_dataclass`.
        :raises ColumnError: if class and columns do not match.
        :raises UsageError: if `into` is not a dataclass, or the deserializer has no columns.
        """
        check_instance("deserializer", deserializer)
        if row_class(into) is None:
            raise UsageError(f"into is {type_words(into)}; it must be a dataclass (the class, not an instance).")
        columns = getattr(deserializer, "columns", None)
        if columns is None:
            raise UsageError(
                f"{type(deserializer).__name__} has no columns from which {into.__qualname__} could be built. Create "
                f"it with columns={into.__qualname__}. For a deserializer of srfix.serde.confluent, pass "
                f"into={into.__qualname__} instead."
            )
        self._deserializer, self._into, self._name_of = deserializer, into, name_of
        self._builders = RowBuilders(
            columns,
            lambda role: dataclass_builder(into, deserializer.columns_of(role) or (), CaseRule.UNIQUE, name_of),
        )

    @property
    def into(self) -> type[R]:
        """The dataclass."""
        return self._into

    def __call__(self, payload: bytes | None, ctx: Context | str) -> R | None:
        """The instance; None for a null payload.

        :raises DecodeError: if the dataclass does not accept the row.
        :raises ColumnError: if this half's columns and the dataclass do not match.
        :raises SrfixError: any error of the other deserializer.
        """
        row = self._deserializer(payload, ctx)
        if row is None:
            return None
        ctx = usable_context(ctx)
        try:
            return cast("R", self._builders.of(role_of(ctx.field))(row))
        except DecodeError as error:
            raise read_from(error, ctx) from error

    @overload
    def row(self, payload: None, ctx: Context | str) -> None: ...
    @overload
    def row(self, payload: bytes, ctx: Context | str) -> Row: ...
    @overload
    def row(self, payload: bytes | None, ctx: Context | str) -> Row | None: ...
    def row(self, payload: bytes | None, ctx: Context | str) -> Row | None:
        """The row of the other deserializer; None for a null payload."""
        return self._deserializer.row(payload, ctx)

    def __reduce__(self) -> tuple[object, ...]:
        return partial(type(self), name_of=self._name_of), (self._deserializer, self._into)
