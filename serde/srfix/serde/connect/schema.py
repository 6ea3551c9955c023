"""`org.apache.kafka.connect.data.Schema` as Python values. ksqlDB goes through it (`ConnectFormat`), so its rules work
on this model: the type words in its errors, optionality, and the names that carry a logical type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from typing import Final

from srfix.serde.columns.types import Array, ColumnType, Decimal, Map, ScalarType, Struct
from srfix.serde.errors import SchemaError

CONNECT_DATA: Final = "org.apache.kafka.connect.data."
"""The package of Connect's logical types, which their names begin with."""
DECIMAL_NAME: Final = f"{CONNECT_DATA}Decimal"
"""`Decimal.LOGICAL_NAME`, on BYTES."""
DATE_NAME: Final = f"{CONNECT_DATA}Date"
"""`Date.LOGICAL_NAME`, on INT32."""
TIME_NAME: Final = f"{CONNECT_DATA}Time"
"""`Time.LOGICAL_NAME`, on INT32."""
TIMESTAMP_NAME: Final = f"{CONNECT_DATA}Timestamp"
"""`Timestamp.LOGICAL_NAME`, on INT64."""
LOCAL_TIMESTAMP_NAME: Final = "srfix.LocalTimestamp"
"""The name for a TIMESTAMP_NTZ column, on INT64, in microseconds. Connect has no such type, and srfix writes no schema
with it."""
MICRO_TIME_NAME: Final = "srfix.MicroTime"
"""The name for a time of day in microseconds, on INT64: a TIME column, but for Spark, which has no TIME, a BIGINT."""
DECIMAL_SCALE: Final = "scale"
"""`Decimal.SCALE_FIELD`: the parameter that every Decimal has."""
DECIMAL_PRECISION: Final = "connect.decimal.precision"
"""The parameter of the precision (`AvroData.CONNECT_AVRO_DECIMAL_PRECISION_PROP`, ksqlDB's `DecimalUtil`)."""

_NO_PARAMETERS: Final[Mapping[str, str]] = {}
"""A schema without parameters. srfix does not distinguish Connect's null from its empty map."""


class ConnectType(Enum):
    """`Schema.Type`."""

    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    BOOLEAN = "boolean"
    STRING = "string"
    BYTES = "bytes"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"

    @property
    def word(self) -> str:
        """The lower-case name in errors (`Schema.Type.getName`)."""
        return self.value

    @property
    def is_primitive(self) -> bool:
        """True for all types except ARRAY, MAP and STRUCT (`Schema.Type.isPrimitive`)."""
        return self not in (ConnectType.ARRAY, ConnectType.MAP, ConnectType.STRUCT)

    @property
    def bits(self) -> int:
        return int(self.value.removeprefix("int"))


NARROW: Final = (ConnectType.INT8, ConnectType.INT16)
NARROW_BY_WORD: Final = {type_.word: type_ for type_ in NARROW}
"""The types that the property `connect.type` can name."""
_COLUMN_TYPES: Final[dict[object, ConnectType]] = {
    ScalarType.BOOLEAN: ConnectType.BOOLEAN,
    ScalarType.INTEGER: ConnectType.INT32,
    ScalarType.BIGINT: ConnectType.INT64,
    ScalarType.DOUBLE: ConnectType.FLOAT64,
    ScalarType.STRING: ConnectType.STRING,
    ScalarType.BYTES: ConnectType.BYTES,
    ScalarType.DATE: ConnectType.INT32,
    ScalarType.TIME: ConnectType.INT32,
    ScalarType.TIMESTAMP: ConnectType.INT64,
    ScalarType.TIMESTAMP_NTZ: ConnectType.INT64,
    Decimal: ConnectType.BYTES,
    Array: ConnectType.ARRAY,
    Map: ConnectType.MAP,
    Struct: ConnectType.STRUCT,
}


def connect_type_of(column: ColumnType) -> ConnectType:
    """The Connect type of a column (`SchemaConverters.sqlToConnectConverter`)."""
    return _COLUMN_TYPES[column if isinstance(column, ScalarType) else type(column)]


@dataclass(frozen=True, slots=True)
class ConnectField:
    name: str
    schema: ConnectSchema


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ConnectSchema:
    """A type. Equality is structural, so it works only for schemas that are not recursive (cyclic: see `complete`)."""

    type: ConnectType
    name: str | None = None
    """The name of a STRUCT or of a logical type."""
    version: int | None = None
    optional: bool = False
    parameters: Mapping[str, str] = field(default_factory=lambda: _NO_PARAMETERS, hash=False)
    """Other properties, in the order in which they were set."""
    default: object = field(default=None, hash=False)
    """The default value; None means no default, as in Connect."""
    doc: str | None = None
    fields: tuple[ConnectField, ...] = field(default=(), hash=False)
    key_schema: ConnectSchema | None = field(default=None, hash=False)
    value_schema: ConnectSchema | None = field(default=None, hash=False)
    """The schema of the values of a MAP or an ARRAY."""

    def __post_init__(self) -> None:
        _check_field_names(self.fields)

    def __repr__(self) -> str:
        mark = "?" if self.optional else ""
        return f"<{self.type.word}{mark}{f' {self.name}' if self.name else ''}>"

    @property
    def values(self) -> ConnectSchema:
        return _require(self, self.value_schema)

    @property
    def keys(self) -> ConnectSchema:
        return _require(self, self.key_schema)


def _require(schema: ConnectSchema, part: ConnectSchema | None) -> ConnectSchema:
    if part is None:
        raise ValueError(f"A {schema.type.word} has no such part.")
    return part


def _check_field_names(fields: Iterable[ConnectField]) -> None:
    seen: set[str] = set()
    for part in fields:
        if part.name in seen:
            raise SchemaError(f"Cannot create field because of field name duplication {part.name}")
        seen.add(part.name)


def primitive(type_: ConnectType, *, optional: bool = False) -> ConnectSchema:
    return ConnectSchema(type=type_, optional=optional)


def array(values: ConnectSchema, *, optional: bool = False) -> ConnectSchema:
    return ConnectSchema(type=ConnectType.ARRAY, value_schema=values, optional=optional)


def map_of(keys: ConnectSchema, values: ConnectSchema, *, optional: bool = False) -> ConnectSchema:
    return ConnectSchema(type=ConnectType.MAP, key_schema=keys, value_schema=values, optional=optional)


def struct(fields: Iterable[ConnectField], *, name: str | None = None, optional: bool = False) -> ConnectSchema:
    return ConnectSchema(type=ConnectType.STRUCT, fields=tuple(fields), name=name, optional=optional)


def complete(schema: ConnectSchema, fields: Iterable[ConnectField]) -> None:
    """Gives a STRUCT its fields, once, while the graph is built: only so can a STRUCT contain itself."""
    parts = tuple(fields)
    _check_field_names(parts)
    object.__setattr__(schema, "fields", parts)


def optional(schema: ConnectSchema, *, optional: bool = True) -> ConnectSchema:
    return schema if schema.optional is optional else replace(schema, optional=optional)


def decimal(scale: int, precision: int | None = None, *, optional: bool = False) -> ConnectSchema:
    """`Decimal.builder(scale)`; with the parameter that ksqlDB and AvroData use for the precision, if it is given."""
    parameters = {DECIMAL_SCALE: str(scale)}
    if precision is not None:
        parameters[DECIMAL_PRECISION] = str(precision)
    return replace(logical(ConnectType.BYTES, DECIMAL_NAME, optional=optional), parameters=parameters)


def logical(type_: ConnectType, name: str | None, *, optional: bool = False) -> ConnectSchema:
    """A type without parts. All of Connect's logical types have the version 1."""
    version = None if name in (None, LOCAL_TIMESTAMP_NAME) else 1
    return ConnectSchema(type=type_, name=name, version=version, optional=optional)


date = partial(logical, ConnectType.INT32, DATE_NAME)
time = partial(logical, ConnectType.INT32, TIME_NAME)
timestamp = partial(logical, ConnectType.INT64, TIMESTAMP_NAME)
"""`Date.builder()`, `Time.builder()`, `Timestamp.builder()`."""
