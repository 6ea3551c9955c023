"""The logical column types, without any text form."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from sys import intern
from typing import Final, TypeAlias

from srfix.serde.bounds import COLUMN_LEVELS, DIGITS
from srfix.serde.errors import ColumnError
from srfix.serde.java_ints import INT_MAX

MAX_PRECISION: Final = INT_MAX
"""The most digits of a DECIMAL, which is Java's int. A schema may claim more."""
MAX_DIGITS: Final = DIGITS
"""The most digits of a value, whatever its column allows."""
MAX_NESTING: Final = COLUMN_LEVELS


class ScalarType(Enum):
    BOOLEAN = "BOOLEAN"
    INTEGER = "INTEGER"
    BIGINT = "BIGINT"
    DOUBLE = "DOUBLE"
    STRING = "STRING"
    BYTES = "BYTES"
    DATE = "DATE"
    TIME = "TIME"
    TIMESTAMP = "TIMESTAMP"
    TIMESTAMP_NTZ = "TIMESTAMP_NTZ"
    """A type of Spark, not of ksqlDB: the time on a clock in an unknown zone, so not an instant."""


BOOLEAN: Final = ScalarType.BOOLEAN
INTEGER: Final = ScalarType.INTEGER
BIGINT: Final = ScalarType.BIGINT
DOUBLE: Final = ScalarType.DOUBLE
STRING: Final = ScalarType.STRING
BYTES: Final = ScalarType.BYTES
DATE: Final = ScalarType.DATE
TIME: Final = ScalarType.TIME
TIMESTAMP: Final = ScalarType.TIMESTAMP
TIMESTAMP_NTZ: Final = ScalarType.TIMESTAMP_NTZ
PYTHON_TYPES: Final[dict[ScalarType, type]] = {
    ScalarType.STRING: str,
    ScalarType.BOOLEAN: bool,
    ScalarType.INTEGER: int,
    ScalarType.BIGINT: int,
    ScalarType.DOUBLE: float,
    ScalarType.BYTES: bytes,
    ScalarType.DATE: datetime.date,
    ScalarType.TIME: datetime.time,
    ScalarType.TIMESTAMP: datetime.datetime,
    ScalarType.TIMESTAMP_NTZ: datetime.datetime,
}
"""The type of a value in a row."""


@dataclass(frozen=True, slots=True)
class Decimal:
    precision: int
    scale: int
    """Digits after the point."""

    def __post_init__(self) -> None:
        if self.precision < 1 or not 0 <= self.scale <= self.precision:
            raise ColumnError(
                f"DECIMAL({self.precision}, {self.scale}) is not a type: the precision must be at least 1 "
                "and the scale between 0 and the precision."
            )
        if self.precision > MAX_PRECISION:
            shown = str(self.precision) if self.precision < 10**20 else "more than 10^20"
            raise ColumnError(f"A DECIMAL has at most {MAX_PRECISION:,} digits here, but the precision is {shown}.")


@dataclass(frozen=True, slots=True)
class Array:
    """A list of values of one type; items may be null."""

    items: ColumnType


@dataclass(frozen=True, slots=True)
class Map:
    """Values by keys; values may be null. Formats accept only STRING keys (`require_string_keys`)."""

    values: ColumnType
    keys: ColumnType = STRING


@dataclass(frozen=True, slots=True)
class Struct:
    fields: tuple[Column, ...]

    def __post_init__(self) -> None:
        check_columns(self.fields, what="fields of one STRUCT")
        for field in self.fields:
            if field.namespace.is_key:
                raise ColumnError(f"The field {field.name!r} of a STRUCT is declared a key. Only columns can be keys.")


ColumnType: TypeAlias = ScalarType | Decimal | Array | Map | Struct


class Namespace(Enum):
    """The half of a record that holds a column (ksqlDB's `Column.Namespace`, with the kind of the key)."""

    VALUE = "VALUE"
    KEY = "KEY"
    PRIMARY_KEY = "PRIMARY KEY"

    @property
    def is_key(self) -> bool:
        return self is not Namespace.VALUE


@dataclass(frozen=True, slots=True)
class Column:
    """A column, or a field of a STRUCT.

    :raises ColumnError: if the name is empty.
    """

    name: str
    """The name as declared: upper case unless it was quoted."""
    type: ColumnType
    """Its type."""
    namespace: Namespace = Namespace.VALUE
    """The half that holds it; a field of a STRUCT is never a key."""

    def __post_init__(self) -> None:
        if not self.name:
            raise ColumnError("A column has an empty name. Give it one.")
        # The name is interned, because rows are dicts with it as the key, and a dict finds an interned name faster.
        object.__setattr__(self, "name", intern(str(self.name)))


Columns: TypeAlias = tuple[Column, ...]


def check_columns(columns: Iterable[Column], *, what: str) -> None:
    names: set[str] = set()
    for column in columns:
        if column.name in names:
            raise ColumnError(
                f"There are two {what} named {column.name!r}. Names must be different; a difference in letter case is "
                "enough if they are quoted."
            )
        names.add(column.name)


def columns_of_one_half(columns: Columns, *, holder: str) -> Columns:
    """Checks the columns of a holder without halves, such as a frame or an Arrow batch."""
    try:
        check_columns(usable_columns(columns), what="columns")
    except ColumnError as error:
        raise ColumnError(
            f"{error.message} {holder} is for keys or for values: give only the key's or only the value's columns."
        ) from None
    return columns


def nesting(columns: Columns) -> int:
    """How deep the types nest: 1 for flat columns. Works without recursion."""
    deepest = 0
    stack: list[tuple[ColumnType, int]] = [(column.type, 1) for column in columns]
    while stack:
        type_, depth = stack.pop()
        deepest = max(deepest, depth)
        stack.extend((part, depth + 1) for _, part in parts_of(type_))
    return deepest


def has_decimals(columns: Columns) -> bool:
    return any(isinstance(type_, Decimal) for type_ in scalars_of(columns))


def scalars_of(columns: Columns) -> Iterator[ColumnType]:
    stack: list[ColumnType] = [column.type for column in columns]
    while stack:
        type_ = stack.pop()
        if isinstance(type_, ScalarType | Decimal):
            yield type_
        stack.extend(part for _, part in parts_of(type_))


def parts_of(type_: ColumnType) -> Iterator[tuple[str, ColumnType]]:
    """The types directly within a type, with their names in the paths of ksqlDB's errors."""
    match type_:
        case Array(items):
            yield "ARRAY", items
        case Map(values, keys):
            yield "MAP_KEY", keys
            yield "MAP_VAL", values
        case Struct(fields):
            yield from ((field.name, field.type) for field in fields)


def usable_columns(columns: Columns) -> Columns:
    """Checks the columns as a whole; aggregates and joins repeat the key among the values (`LogicalSchema`)."""
    if not columns:
        raise ColumnError('The column list is empty. Give at least one column, such as "ID BIGINT".')
    if nesting(columns) > MAX_NESTING:
        raise ColumnError(f"The column types nest deeper than {MAX_NESTING} levels. Flatten the innermost ones.")
    keys = [column for column in columns if column.namespace.is_key]
    check_columns(keys, what="columns of the key")
    values = (column for column in columns if not column.namespace.is_key)
    check_columns(values, what="columns of the value" if keys else "columns")
    if {Namespace.KEY, Namespace.PRIMARY_KEY} <= {column.namespace for column in columns}:
        raise ColumnError("The columns mix KEY and PRIMARY KEY. A stream has KEY columns, a table PRIMARY KEY columns.")
    return columns


def type_name(type_: ColumnType) -> str:
    """The type without its parts, for errors: `STRUCT`, not its fields."""
    match type_:
        case ScalarType():
            return type_.value
        case Decimal(precision, scale):
            return f"DECIMAL({precision}, {scale})"
        case Array():
            return "ARRAY"
        case Map():
            return "MAP"
        case Struct():
            return "STRUCT"
