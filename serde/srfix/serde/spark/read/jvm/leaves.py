"""Types without parts: which of them Spark reads exactly like the deserializer, and the conversions (`Fix`) that neither
Avro's resolution nor a cast can do, as data from which `_pyspark.jvm` makes columns.

| writer | column | read as |
|---|---|---|
| boolean | BOOLEAN, STRING | boolean; cast |
| int | INTEGER, STRING | int; cast |
| int | BIGINT | long, by Avro's promotion |
| int | DATE | date |
| int, long | TIMESTAMP | timestamp-millis, by promotion from int |
| long timestamp-micros | TIMESTAMP | timestamp-micros; as timestamp-millis under ksqlDB's own case rules |
| long local-timestamp-millis, -micros | TIMESTAMP_NTZ | the same |
| long | BIGINT, STRING | long; cast |
| float, double | DOUBLE | double, by promotion from float |
| string, enum | STRING | the same |
| bytes, fixed | BYTES | the same |
| decimal | DECIMAL of no smaller scale | decimal of the writer's scale; cast |
| a type that a reader's schema promotes | the reader's type | the reader's type, by Avro's promotion; cast from float |

`connect` decides the unit of the writer's days and instants, and the columns that accept them. Nanoseconds are left to
the arrow engine, which checks each value. Of the other logical types, only those count that Connect's AvroData knows.
The reader's schema tells Spark how to read the number.

A time-millis is checked (`Bounds`), and so is a decimal of at most 18 digits in bytes: Spark silently cuts a number
that is longer than 64 bits (`AvroDeserializer.createDecimal`), so it is read with 19 digits and compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias, cast

from srfix.serde.columns.types import Decimal, ScalarType
from srfix.serde.connect.coercions import DAY_MS, Coercion
from srfix.serde.connect.columns import SPARK_DIGITS
from srfix.serde.connect.schema import DECIMAL_NAME, TIME_NAME, ConnectType
from srfix.serde.connect.time_units import MICROS, MILLIS
from srfix.serde.formats.avro import AvroNode
from srfix.serde.projection.tree import Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    low: int
    high: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OfFields:
    fields: tuple[tuple[str, Fix | None], ...]
    """All fields, in order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfItems:
    items: Fix


@dataclass(frozen=True, slots=True, kw_only=True)
class OfValues:
    values: Fix


@dataclass(frozen=True, slots=True, kw_only=True)
class EntriesToMap:
    """Turns an array of entries into a map. If a key occurs twice, the last value counts; a null key cannot be read."""

    key: str
    value: str
    values: Fix | None


Fix: TypeAlias = Bounds | OfFields | OfItems | OfValues | EntriesToMap


def makes(fix: Fix | None) -> bool:
    """Whether the fix changes the value; a `Bounds` only checks it."""
    match fix:
        case None | Bounds():
            return False
        case EntriesToMap():
            return True
        case OfFields(fields=fields):
            return any(makes(part) for _, part in fields)
        case OfItems(items=part) | OfValues(values=part):
            return makes(part)


def without_voids(fix: Fix | None, reader: object) -> Fix | None:
    """Without the parts for fields that are null by default: Spark allows no array function on a void."""
    if reader == "null":
        return None
    match fix:
        case OfFields(fields=fields):
            types = {
                field["name"]: field["type"] for field in cast("list[dict[str, object]]", _inside(reader, "fields"))
            }
            left = tuple((name, without_voids(part, types[name])) for name, part in fields)
            return OfFields(fields=left) if any(part is not None for _, part in left) else None
        case OfItems(items=part):
            items = without_voids(part, _inside(reader, "items"))
            return None if items is None else OfItems(items=items)
        case OfValues(values=part):
            values = without_voids(part, _inside(reader, "values"))
            return None if values is None else OfValues(values=values)
        case None | Bounds() | EntriesToMap():
            return fix


def _inside(reader: object, word: str) -> object:
    return cast("Mapping[str, object]", reader)[word]


_LONG_DIGITS: Final = 18
"""Up to this number of digits, Spark keeps a decimal in 64 bits (`Decimal.MAX_LONG_DIGITS`)."""
_LONG_BYTES: Final = 8

_DATE: Final = {"type": "int", "logicalType": "date"}
_MILLIS: Final = {"type": "long", "logicalType": "timestamp-millis"}
_MICROS: Final = {"type": "long", "logicalType": "timestamp-micros"}
_LOCAL_MILLIS: Final = {"type": "long", "logicalType": "local-timestamp-millis"}
_LOCAL_MICROS: Final = {"type": "long", "logicalType": "local-timestamp-micros"}
_CAST_TO_TEXT: Final = {ConnectType.INT32: "int", ConnectType.INT64: "long", ConnectType.BOOLEAN: "boolean"}
_MILLIS_OF: Final = {Coercion.TIMESTAMP: _MILLIS, Coercion.TIMESTAMP_NTZ: _LOCAL_MILLIS}
_OF_COLUMNS: Final[dict[ScalarType, object]] = {
    ScalarType.BOOLEAN: "boolean",
    ScalarType.INTEGER: "int",
    ScalarType.BIGINT: "long",
    ScalarType.DOUBLE: "double",
    ScalarType.STRING: "string",
    ScalarType.BYTES: "bytes",
    ScalarType.DATE: _DATE,
    ScalarType.TIMESTAMP: _MICROS,
    ScalarType.TIMESTAMP_NTZ: _LOCAL_MICROS,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaf:
    reader: object | None
    """None for the writer's own type."""
    fix: Fix | None = None
    is_exact: bool = True
    """Otherwise a cast gives the column's type."""


@dataclass(frozen=True, slots=True)
class Unfit:
    why: str
    """It continues `schema id 7, column A (STRING), writer type double:`."""


def leaf(node: AvroNode, scalar: Scalar) -> Leaf | Unfit:
    kind, name, column = scalar.connect, scalar.name, scalar.type
    if node.read_as is not None:
        return _promoted(node.read_as.kind, scalar)
    if isinstance(column, Decimal) or name == DECIMAL_NAME:
        if isinstance(column, Decimal) and name == DECIMAL_NAME:
            return _decimal(node, column)
        return Unfit("one type is a decimal and the other is plain bytes, so no row with such a value can be read")
    if kind in (ConnectType.STRING, ConnectType.BYTES):
        return Leaf(reader=None)
    if kind in (ConnectType.INT8, ConnectType.INT16):
        return Unfit("Connect cuts the number to 8 or 16 bits (connect.type), which Spark does not do")
    is_text = scalar.coercion is Coercion.TEXT
    reader = _CAST_TO_TEXT.get(kind) if is_text else _OF_COLUMNS.get(column)
    if reader is None:
        if is_text:
            return Unfit("the text of a floating-point number depends on the JVM")
        return Unfit("Spark has no such type, or reads it as another type")
    if scalar.coercion in _MILLIS_OF and scalar.per_second != MICROS:
        if scalar.per_second != MILLIS:
            return Unfit(
                f"a {column.value} holds only whole microseconds, so each value must be checked, which Spark does "
                "not do"
            )
        reader = _MILLIS_OF[scalar.coercion]
    is_exact = not is_text
    if name != TIME_NAME:
        return Leaf(reader=reader, is_exact=is_exact)
    if not isinstance(reader, str):
        return Unfit("a time of day is read as days or milliseconds since 1970, and can then no longer be checked")
    return Leaf(reader=reader, fix=Bounds(low=-1, high=DAY_MS + 1), is_exact=is_exact)


def _promoted(reader: str, scalar: Scalar) -> Leaf | Unfit:
    """A type that a reader's schema promotes. Spark's Avro does this if the reader's own type is requested."""
    if scalar.coercion is not Coercion.SAME or scalar.name is not None:
        return Unfit(
            f"the reader's schema turns the value into a {reader}, and the column then needs another conversion; Spark's "
            "Avro does only one of the two"
        )
    return Leaf(reader=reader, is_exact=reader != "float")


def reader_of(type_: ScalarType | Decimal) -> object | None:
    if isinstance(type_, Decimal):
        return {"type": "bytes", "logicalType": "decimal", "precision": type_.precision, "scale": type_.scale}
    return _OF_COLUMNS.get(type_)


def _decimal(node: AvroNode, column: Decimal) -> Leaf | Unfit:
    scale = node.scale
    if not 0 <= scale <= SPARK_DIGITS:
        return Unfit(f"Spark's decimals have scales from 0 to {SPARK_DIGITS}")
    if scale > column.scale:
        return Unfit(
            f"its scale is {scale} but the column's is {column.scale}: Spark would round. Declare the column with "
            "the writer's scale"
        )
    digits = column.precision - column.scale + scale
    # The digits that this number of bytes always holds (`LogicalTypes.Decimal.maxPrecision`).
    widest = len(str(2 ** (8 * node.size - 1))) - 1 if node.size else 0
    if node.kind == "bytes":
        widest = SPARK_DIGITS
    if digits > widest:
        return Unfit(f"a fixed type of {node.size} bytes has {widest} digits, but the column wants {digits}")
    # Spark itself fails on numbers with more digits.
    is_cut = digits <= _LONG_DIGITS and (node.kind == "bytes" or node.size > _LONG_BYTES)
    if not is_cut and digits >= max(scale, 1):
        is_exact = (digits, scale) == (column.precision, column.scale)
        return Leaf(reader=_decimal_type(node, digits, scale), is_exact=is_exact)
    precision = max(_LONG_DIGITS + 1, scale)
    if precision > widest:
        return Unfit(f"a fixed type of {node.size} bytes has {widest} digits, but {precision} are needed to check it")
    bound = 10 ** (column.precision - column.scale)
    return Leaf(reader=_decimal_type(node, precision, scale), fix=Bounds(low=-bound, high=bound), is_exact=False)


def _decimal_type(node: AvroNode, precision: int, scale: int) -> dict[str, object]:
    # A fixed type's name and size come from the writer; the code that puts it into a schema adds them.
    return {"type": node.kind, "logicalType": "decimal", "precision": precision, "scale": scale}
