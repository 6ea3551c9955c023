"""`row` for every deserializer whose call may also give a bare value: the row with the type dict, for type checkers."""

from __future__ import annotations

from typing import Protocol, overload

from srfix.serde.arguments import usable_context
from srfix.serde.errors import DecodeError
from srfix.serde.interface import Context, Row, Value
from srfix.serde.serdes.located_errors import read_from


class _Call(Protocol):
    def __call__(self, payload: bytes | None, ctx: Context | str, /) -> Value: ...


class RowReader:
    @overload
    def row(self: _Call, payload: None, ctx: Context | str) -> None: ...
    @overload
    def row(self: _Call, payload: bytes, ctx: Context | str) -> Row: ...
    @overload
    def row(self: _Call, payload: bytes | None, ctx: Context | str) -> Row | None: ...
    def row(self: _Call, payload: bytes | None, ctx: Context | str) -> Row | None:
        """The row with the type dict for type checkers; None for a null payload.

        :raises DecodeError: if the payload is not a record but a bare value, or null.
        :raises SrfixError: as a call.
        """
        return None if payload is None else record_of(self(payload, ctx), usable_context(ctx))


def record_of(value: Value, ctx: Context | None) -> Row:
    if isinstance(value, dict):
        return value
    what = "null" if value is None else f"a bare {type(value).__name__}"
    error = DecodeError(f"The payload is {what}, not a record. Call the deserializer itself, which gives any value.")
    raise error if ctx is None else read_from(error, ctx)
