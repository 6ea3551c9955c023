"""A decoded value as the row that a type checker knows it to be."""

from __future__ import annotations

from srfix.serde.errors import DecodeError
from srfix.serde.interface import Context, Row, Value
from srfix.serde.serdes.located_errors import read_from


def record_of(value: Value, ctx: Context | None) -> Row:
    """The record."""
    if isinstance(value, dict):
        return value
    what = "null" if value is None else f"a bare {type(value).__name__}"
    error = DecodeError(f"The payload is {what}, and no record. Call the deserializer itself, which gives any value.")
    raise error if ctx is None else read_from(error, ctx)
