"""How fastavro reads a writer's types without parts for columns without parts, and the remaining steps.

If fastavro's own value is the column's value, it is used. Otherwise the raw value is read, and Connect's coercions
convert it. srfix's own logical types make fastavro refuse values that it would misread:

| logical type | on | refuses |
|---|---|---|
| `INT` | int | more than 32 bits: fastavro reads 64 |
| `DECIMAL` | bytes, fixed | more bytes than `PayloadBounds.decimal_bytes`: their conversion is quadratic |
| `TIME_MILLIS`, `TIME_MICROS` | int, long | a time outside of a day: fastavro turns a negative number into another time |

They occur only in the reader's copy of a schema. fastavro looks up logical types by name, in one table for the process
(its documented way to add types); no other library uses these names.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, cast

from fastavro.read import LOGICAL_READERS

from srfix.serde.bounds import payload_bounds
from srfix.serde.columns.types import ColumnType, Decimal, ScalarType
from srfix.serde.connect.coercions import EPOCH, coercion
from srfix.serde.connect.schema import DATE_NAME, DECIMAL_NAME, NARROW, TIME_NAME, TIMESTAMP_NAME
from srfix.serde.connect.time_units import MICROS
from srfix.serde.formats.avro.engine import ParsedSchema
from srfix.serde.formats.avro.read.finish import (
    Finish,
    chain,
    check_int,
    decimal_of_bytes,
    decimal_of_unscaled,
    promotion,
)
from srfix.serde.formats.avro.schema import AvroNode
from srfix.serde.formats.avro.writer_type import AvroType
from srfix.serde.java_ints import INT_MAX, INT_MIN
from srfix.serde.projection.tree import Projected, Scalar

INT: Final = "srfix-int"
DECIMAL: Final = "srfix-decimal"
TIME_MILLIS: Final = "srfix-time-millis"
TIME_MICROS: Final = "srfix-time-micros"

_DAY_MICROS: Final = 86_400 * MICROS


def _int(number: int, _writer: object = None, _reader: object = None) -> int:
    if INT_MIN <= number <= INT_MAX:
        return number
    raise OverflowError(f"an int of {number}, which needs more than 32 bits")


def _decimal(value: bytes, writer: Mapping[object, object] | None, _reader: object = None) -> decimal.Decimal:
    scale = (writer or {}).get("scale")
    if not value:  # as fastavro
        return decimal.Decimal(0).scaleb(-scale if isinstance(scale, int) else 0)
    return decimal_of_unscaled(value, scale if isinstance(scale, int) else 0, payload_bounds().decimal_bytes, "")


def _time_millis(number: int, _writer: object = None, _reader: object = None) -> datetime.time:
    return _time_micros(number * 1000)


def _time_micros(number: int, _writer: object = None, _reader: object = None) -> datetime.time:
    if 0 <= number < _DAY_MICROS:
        return (EPOCH + datetime.timedelta(microseconds=number)).time()
    raise OverflowError(f"the time of day is {number} µs, but a day has only {_DAY_MICROS}")


LOGICAL_READERS[f"int-{INT}"] = _int
LOGICAL_READERS[f"bytes-{DECIMAL}"] = _decimal
LOGICAL_READERS[f"fixed-{DECIMAL}"] = _decimal
LOGICAL_READERS[f"int-{TIME_MILLIS}"] = _time_millis
LOGICAL_READERS[f"long-{TIME_MICROS}"] = _time_micros


# fastavro silently rounds a decimal to its schema's precision. With a huge precision it cannot round.
_NEVER_ROUND: Final = 1_000_000
BOOLEAN_SYMBOLS: Final[ParsedSchema] = {"type": "enum", "symbols": {0: False, -1: True}}
"""A boolean: the bytes 0 and 1, read by fastavro as the number of a symbol (zigzag). Any other byte is a KeyError."""
# The writer's logical types whose fastavro value is already the column's value.
_READ_BY_FASTAVRO: Final[dict[tuple[str | None, ScalarType], str]] = {
    (DATE_NAME, ScalarType.DATE): "date",
    (TIME_NAME, ScalarType.TIME): TIME_MILLIS,
    (TIMESTAMP_NAME, ScalarType.TIMESTAMP): "timestamp-millis",
}
_MICROS_READ_BY_FASTAVRO: Final = {ScalarType.TIME: TIME_MICROS, ScalarType.TIMESTAMP: "timestamp-micros"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadStep:
    """A type that was renamed for a column, and the remaining steps."""

    schema: ParsedSchema
    finish: Finish | None = None
    """The function that makes the column's value; None if fastavro's value is used unchanged."""
    is_refusal: bool = False
    """True if `finish` always fails, also on null, because the type does not feed the column."""
    is_int: bool = False
    """True if nothing has checked yet that the int fits 32 bits; the caller does."""

    def whole(self, path: str) -> Finish | None:
        return check_int(path) if self.is_int else self.finish


def leaf(value: Projected[AvroType], scalar: Scalar, *, is_shared: bool) -> ReadStep:
    """The type for a column without parts. If the field feeds several columns (`is_shared`), its raw value is read."""
    node, column, path = value.writer.value, scalar.type, value.path
    reader = node.read_as or node
    if scalar.name == DECIMAL_NAME and isinstance(column, Decimal):
        finish: Finish | None = decimal_of_bytes(reader.scale, column, path)
    else:
        finish = coercion(scalar.connect, scalar.name, column, path, per_second=scalar.per_second)
    schema = head(node, logical=None)
    if reader is not node:  # the raw value is converted to the reader's type, then to the column's
        finish = chain(promotion(node.kind, reader.kind, path), finish)
    elif node.kind == "boolean":
        return ReadStep(schema=BOOLEAN_SYMBOLS, finish=finish)
    elif not is_shared and (logical := _read_by_fastavro(scalar)) is not None:
        return ReadStep(schema=head(node, logical=logical))
    elif scalar.connect in NARROW:
        finish = chain(narrowed(scalar.connect.bits), finish)
    if node.kind != "int":
        return ReadStep(schema=schema, finish=finish)
    if finish is None:
        return ReadStep(schema=schema, is_int=True)
    return ReadStep(schema=schema, finish=chain(check_int(path), finish))


def _read_by_fastavro(scalar: Scalar) -> str | None:
    if not isinstance(scalar.type, ScalarType):
        return None
    by_name = _READ_BY_FASTAVRO.get((scalar.name, scalar.type))
    return by_name or (_MICROS_READ_BY_FASTAVRO.get(scalar.type) if scalar.per_second == MICROS else None)


def for_array(step: ReadStep, column: ColumnType) -> ReadStep:
    """A typed array checks the range of numbers itself, and takes days and milliseconds as numbers."""
    if column == ScalarType.INTEGER and step.is_int:
        return replace(step, is_int=False)
    if column in (ScalarType.DATE, ScalarType.TIMESTAMP) and step.finish is None:
        return replace(step, schema=_as_number(step.schema))
    return step


def _as_number(schema: ParsedSchema) -> ParsedSchema:
    """Removes a logical type that fastavro reads, if the array wants its numbers; also in a union."""
    return {
        key: _as_number(cast("ParsedSchema", part)) if isinstance(part, dict) else part
        for key, part in schema.items()
        if key != "logicalType" or part not in ("date", "timestamp-millis")
    }


def narrowed(bits: int) -> Finish:
    """AvroData casts an int whose connect.type is int8 or int16: Java's `byteValue` and `shortValue` cut."""
    half = 1 << (bits - 1)
    return lambda value: ((cast("int", value) + half) & (2 * half - 1)) - half


def head(node: AvroNode, *, logical: str | None) -> ParsedSchema:
    """A type without its parts; symbols are stored under their numbers."""
    schema: ParsedSchema = {"type": node.kind}
    if node.name:
        schema["name"] = node.name
    if node.kind == "enum":
        schema["symbols"] = dict(enumerate(node.symbols))
    elif node.kind == "fixed":
        schema["size"] = node.size
    if logical is not None:
        schema["logicalType"] = logical
        if logical == "decimal":
            schema.update(precision=_NEVER_ROUND, scale=node.scale)
        elif logical == DECIMAL:
            schema["scale"] = node.scale
    return schema
