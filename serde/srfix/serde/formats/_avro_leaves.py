"""A writer's types without parts, for columns without parts: how fastavro is to read them, and what is left to do.

fastavro's own reading is taken where it gives what the column holds; elsewhere a value is read as it is on the wire, and made
into the column's by Connect's coercions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, cast

from srfix.serde._column_types import ColumnType, Decimal, ScalarType
from srfix.serde._connect_coercions import coercion
from srfix.serde._connect_schema import DATE_NAME, DECIMAL_NAME, TIME_NAME, TIMESTAMP_NAME, ConnectType
from srfix.serde._time_units import MICROS, MILLIS, TimeUnit, time_unit
from srfix.serde.formats._avro_connect import to_connect
from srfix.serde.formats._avro_engine import ParsedSchema
from srfix.serde.formats._avro_finish import Finish, chain, check_int, decimal_of_bytes
from srfix.serde.formats._avro_readers import DECIMAL, TIME_MICROS, TIME_MILLIS
from srfix.serde.formats._avro_schema import AvroNode

__all__ = ["BOOLEAN_SYMBOLS", "Step", "connect_type", "for_array", "head", "leaf", "unit_of"]

# fastavro rounds a decimal to its schema's precision without a word. Far beyond any precision, it cannot.
_NEVER_ROUND: Final = 1_000_000
BOOLEAN_SYMBOLS: Final[ParsedSchema] = {"type": "enum", "symbols": {0: False, -1: True}}
"""A boolean: the bytes 0 and 1, as fastavro reads the number of a symbol (zigzag). Any other byte is a KeyError."""
# What fastavro makes of a writer's logical type as it is in the column.
_READ_BY_FASTAVRO: Final = {
    (DATE_NAME, ScalarType.DATE): "date",
    (TIME_NAME, ScalarType.TIME): TIME_MILLIS,
    (TIMESTAMP_NAME, ScalarType.TIMESTAMP): "timestamp-millis",
}
_MICROS_READ_BY_FASTAVRO: Final = {ScalarType.TIME: TIME_MICROS, ScalarType.TIMESTAMP: "timestamp-micros"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A type renamed for a column, and what is left to do."""

    schema: ParsedSchema
    """In fastavro's parsed form."""
    finish: Finish | None = None
    """What makes the column's value; None if it is read as such."""
    is_refusal: bool = False
    """`finish` fails always, on null too: the type does not feed the column."""
    is_int: bool = False
    """It is an int as it is: somebody must see to its having 32 bits."""

    def whole(self, path: str) -> Finish | None:
        """`finish`, and the check of an int."""
        return check_int(path) if self.is_int else self.finish


def leaf(
    node: AvroNode,
    kind: ConnectType,
    name: str | None,
    column: ScalarType | Decimal,
    path: str,
    *,
    is_shared: bool,
    unit: TimeUnit | None,
) -> Step:
    """The type for a column without parts.

    :param kind: its Connect type, which the column takes (`refusal_in_unit`).
    :param name: its Connect name; of a logical type it counts.
    :param unit: what its numbers are; None where the column says so.
    :param is_shared: other columns are fed by it too: it is left as it is on the wire.
    """
    if name == DECIMAL_NAME and isinstance(column, Decimal):
        return Step(schema=head(node, logical=None), finish=decimal_of_bytes(node.scale, column, path))
    if node.kind == "boolean":
        return Step(schema=BOOLEAN_SYMBOLS, finish=coercion(kind, name, column, path))
    if name is not None and isinstance(column, ScalarType) and not is_shared:
        logical = _READ_BY_FASTAVRO.get((name, column))
        if logical is not None:
            return Step(schema=head(node, logical=logical))
    per_second = MILLIS if unit is None else unit.per_second or MILLIS
    if per_second == MICROS and isinstance(column, ScalarType) and not is_shared:
        logical = _MICROS_READ_BY_FASTAVRO.get(column)
        if logical is not None:
            return Step(schema=head(node, logical=logical))
    schema = head(node, logical=None)
    finish = coercion(kind, name, column, path, per_second=per_second)
    if kind in _NARROW:
        finish = chain(_narrowed(_NARROW[kind]), finish)
    if node.kind != "int":
        return Step(schema=schema, finish=finish)
    return (
        Step(schema=schema, is_int=True)
        if finish is None
        else Step(schema=schema, finish=chain(check_int(path), finish))
    )


def for_array(step: Step, column: ColumnType) -> Step:
    """The step for a column that becomes a typed array, which looks at the bounds of numbers itself: an INTEGER is not
    checked, and of DATE and of TIMESTAMP in milliseconds the number is left."""
    if column == ScalarType.INTEGER and step.is_int:
        return replace(step, is_int=False)
    if column in (ScalarType.DATE, ScalarType.TIMESTAMP) and step.finish is None:
        return replace(step, schema=_as_number(step.schema))
    return step


def _as_number(schema: ParsedSchema) -> ParsedSchema:
    """Without a logical type that fastavro reads, if its numbers are the array's; of a union too."""
    return {
        key: _as_number(cast("ParsedSchema", part)) if isinstance(part, dict) else part
        for key, part in schema.items()
        if key != "logicalType" or part not in _ARRAY_NUMBERS
    }


_ARRAY_NUMBERS: Final = ("date", "timestamp-millis")
"""Of a typed array of days and of milliseconds."""


_NARROW: Final = {ConnectType.INT8: 8, ConnectType.INT16: 16}


def _narrowed(bits: int) -> Finish:
    """AvroData casts an int whose connect.type is int8 or int16: Java's `byteValue` and `shortValue` cut."""
    half = 1 << (bits - 1)
    return lambda value: ((cast("int", value) + half) & (2 * half - 1)) - half


def connect_type(node: AvroNode) -> tuple[ConnectType | None, str | None]:
    """The type and the logical name that AvroData gives it; None for null, which it refuses."""
    match node.kind:
        case "null":
            return None, None
        case "record" | "union":
            return ConnectType.STRUCT, None
        case "map":
            return ConnectType.MAP, None
        case "array":
            is_map = node.items is not None and node.items.is_map_entry
            return (ConnectType.MAP if is_map else ConnectType.ARRAY), None
        case _:
            schema = to_connect(node)
            return schema.type, schema.name


def unit_of(node: AvroNode) -> TimeUnit | None:
    """What the schema says that the type's numbers are; None if it says nothing."""
    if node.kind not in ("int", "long"):
        return None
    kind, _ = connect_type(node)
    assert kind is not None
    return time_unit(kind, node.logical, node.props.get("connect.name"))


def head(node: AvroNode, *, logical: str | None) -> ParsedSchema:
    """A type without what it is made of; symbols under their numbers."""
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
