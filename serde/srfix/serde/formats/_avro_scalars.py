"""What the Avro types without parts take from a row: strict, and never rounding.

Each checker returns the value as fastavro's writer wants it and raises `Misfit` otherwise. A tag makes it a
nullable union's checker: None is allowed, and the value is paired with the name of its branch. The common
case comes first in each, because they run once per field and row.
"""

from __future__ import annotations

import datetime
import decimal
import uuid
from collections.abc import Callable
from typing import Final, TypeAlias

from srfix.serde.formats._avro_columns import NO_PRECISION
from srfix.serde.formats._avro_schema import AvroNode
from srfix.serde.formats._misfit import Misfit

__all__ = ["Convert", "NULL", "scalar", "tagged"]

Convert: TypeAlias = Callable[[object], object]
NULL: Final = ("null", None)
"""The null branch, in fastavro's tuple notation."""

_FLOAT_MAX = 3.4028235677973366e38
_RANGES = {"int": (-(2**31), 2**31 - 1), "long": (-(2**63), 2**63 - 1)}


def tagged(convert: Convert, tag: str | None) -> Convert:
    """The same for a nullable union; unchanged without a tag."""
    if tag is None:
        return convert
    return lambda value: NULL if value is None else (tag, convert(value))


def scalar(node: AvroNode, tag: str | None) -> Convert:
    """The checker of a type without parts."""
    match (node.kind, node.logical):
        case ("int" | "long", "date"):
            return tagged(_date, tag)
        case ("int", "time-millis") | ("long", "time-micros"):
            return tagged(_time, tag)
        case ("long", "timestamp-millis" | "timestamp-micros"):
            return tagged(_timestamp, tag)
        case ("long", "local-timestamp-millis" | "local-timestamp-micros"):
            return tagged(_local_timestamp, tag)
        case ("bytes" | "fixed", "decimal"):
            return tagged(_decimal(node.precision or NO_PRECISION, node.scale), tag)
        case ("string", "uuid"):
            return tagged(_uuid, tag)
        case ("int" | "long", _):
            return _integer(*_RANGES[node.kind], tag)
        case ("string", _):
            return _of_type(str, "a string", tag)
        case ("boolean", _):
            return _of_type(bool, "a boolean", tag)
        case ("bytes", _):
            return _of_type(bytes, "bytes", tag)
        case ("double", _):
            return _double(tag)
        case ("float", _):
            return tagged(_float, tag)
        case ("enum", _):
            return tagged(_enum(node), tag)
        case ("fixed", _):
            return tagged(_fixed(node.size), tag)
        case _:
            return _null


def _of_type(kind: type, what: str, tag: str | None) -> Convert:
    def plain(value: object) -> object:
        if isinstance(value, kind):
            return value
        raise Misfit.needs(what, value)

    def nullable(value: object) -> object:
        if type(value) is kind:
            return (tag, value)
        return NULL if value is None else (tag, plain(value))

    return plain if tag is None else nullable


def _integer(low: int, high: int, tag: str | None) -> Convert:
    def plain(value: object) -> object:
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return value
        raise Misfit.needs(f"an integer from {low} to {high}", value)

    def nullable(value: object) -> object:
        if type(value) is int and low <= value <= high:
            return (tag, value)
        return NULL if value is None else (tag, plain(value))

    return plain if tag is None else nullable


def _double(tag: str | None) -> Convert:
    def plain(value: object) -> object:
        if isinstance(value, float):
            return value
        # 2**53 + 1 has no double: an integer is taken only if nothing of it is lost.
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= 2**53:
            return float(value)
        raise Misfit.needs("a float", value)

    def nullable(value: object) -> object:
        if type(value) is float:
            return (tag, value)
        return NULL if value is None else (tag, plain(value))

    return plain if tag is None else nullable


def _float(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= 2**24:
        return float(value)
    if isinstance(value, float) and not _FLOAT_MAX <= abs(value) < float("inf"):
        return value
    raise Misfit.needs("a float of 32 bits", value)


def _date(value: object) -> object:
    # A datetime is a date to Python; as a DATE it would lose its time.
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return value
    raise Misfit.needs("a date", value)


def _time(value: object) -> object:
    if isinstance(value, datetime.time) and value.tzinfo is None:
        return value
    raise Misfit.needs("a time without zone", value)


def _timestamp(value: object) -> object:
    # fastavro takes a naive datetime for one in the machine's own time zone.
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value
    raise Misfit.needs("a datetime with a time zone", value)


def _local_timestamp(value: object) -> object:
    if isinstance(value, datetime.datetime) and value.tzinfo is None:
        return value
    raise Misfit.needs("a datetime without time zone", value)


def _uuid(value: object) -> object:
    if isinstance(value, uuid.UUID | str):
        return value
    raise Misfit.needs("a UUID", value)


def _decimal(precision: int, scale: int) -> Convert:
    def convert(value: object) -> object:
        if not isinstance(value, decimal.Decimal) or not value.is_finite():
            raise Misfit.needs(f"a finite decimal.Decimal for DECIMAL({precision}, {scale})", value)
        exponent = value.as_tuple().exponent
        assert isinstance(exponent, int)
        if exponent < -scale or (value and value.adjusted() >= precision - scale):
            raise Misfit.needs(f"a number that fits DECIMAL({precision}, {scale}) without rounding", value)
        # Not the zero itself: fastavro raises 10 to the power of its exponent, whatever that is.
        return value if value else decimal.Decimal((0, (0,), -scale))

    return convert


def _enum(node: AvroNode) -> Convert:
    symbols = frozenset(node.symbols)

    def convert(value: object) -> object:
        if isinstance(value, str) and value in symbols:
            return value
        raise Misfit.needs(f"one of {', '.join(node.symbols)}", value)

    return convert


def _fixed(size: int) -> Convert:
    def convert(value: object) -> object:
        if isinstance(value, bytes) and len(value) == size:
            return value
        raise Misfit.needs(f"{size} bytes", value)

    return convert


def _null(value: object) -> object:
    if value is None:
        return None
    raise Misfit.needs("None", value)
