"""Converts Connect's schemas to columns and back, like ksqlDB.

- `columns_of`: `ConnectKsqlSchemaTranslator` and `ConnectFormatSchemaTranslator.toColumns`, which use
  `SchemaConverters.ConnectToSqlConverter`. Everything becomes optional, so optionality does not matter.
- `connect_of`: `ConnectSchemas.columnsToConnectSchema`, with `SerdeUtils.applySinglesUnwrapping`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, TypedDict, assert_never

from srfix.serde.bounds import CONNECT_COLUMNS as _MAX_COLUMNS
from srfix.serde.casing import declared_name
from srfix.serde.columns.half import only_column
from srfix.serde.columns.types import (
    MAX_NESTING,
    Array,
    Column,
    Columns,
    ColumnType,
    Decimal,
    Map,
    ScalarType,
    Struct,
    usable_columns,
)
from srfix.serde.connect.schema import (
    DATE_NAME,
    DECIMAL_NAME,
    DECIMAL_PRECISION,
    DECIMAL_SCALE,
    LOCAL_TIMESTAMP_NAME,
    MICRO_TIME_NAME,
    TIME_NAME,
    TIMESTAMP_NAME,
    ConnectField,
    ConnectSchema,
    ConnectType,
    array,
    connect_type_of,
    decimal,
    logical,
    map_of,
    struct,
)
from srfix.serde.errors import ColumnError
from srfix.serde.printable import path_words
from srfix.serde.subjects.names import Role

NameRule: TypeAlias = Literal["upper", "keep"]
"""`upper`: names in upper case, like unquoted identifiers (`UPPERCASE_FIELD_NAME`, the engine's default). `keep`: the
fields' names (`ORIGINAL_FIELD_NAME`, used with KEY_SCHEMA_ID and VALUE_SCHEMA_ID)."""


class ColumnOptions(TypedDict, total=False):
    """What `columns_of` makes of a half's schema."""

    names: NameRule
    role: Role
    wrapped: bool | None


NO_PRECISION: Final = 64
"""The precision of a decimal without one (`AvroData.CONNECT_AVRO_DECIMAL_PRECISION_DEFAULT`, `DecimalUtil`)."""
SPARK_DIGITS: Final = 38
_WRAPPERS: Final = {Role.KEY: "ROWKEY", Role.VALUE: "ROWVAL"}


@dataclass(frozen=True, slots=True)
class Dropped:
    """A field that is left out, because no column type can hold it."""

    path: str
    """The field's path, by the writer's names: `->A->ARRAY->B`."""
    reason: str
    """The reason, in the engine's words."""


@dataclass(frozen=True, slots=True)
class Inferred:
    """The columns of a schema."""

    columns: Columns
    dropped: tuple[Dropped, ...] = ()
    """The fields that are left out, also those within columns."""


class _UnsupportedTypeError(Exception):
    """Raised to drop the field that holds the type (`ConnectKsqlSchemaTranslator.UnsupportedTypeException`)."""


def columns_of(
    schema: ConnectSchema,
    *,
    names: NameRule = "upper",
    role: Role = Role.VALUE,
    wrapped: bool | None = None,
    for_spark: bool = False,
    keeps_time: bool = False,
) -> Inferred:
    """The columns of a schema. For Spark, the innermost field is also left out if Spark lacks its type (TIME, unless
    `keeps_time`) or it contains itself.

    `wrapped=False` makes the whole schema one column, ROWKEY or ROWVAL (`SerdeUtils.wrapSingle`). With None, ksqlDB's
    default counts: so for every key (`DefaultSchemaInjector`), even a record, which becomes a STRUCT; not for a value.
    """
    if not (role is Role.VALUE if wrapped is None else wrapped):
        schema = struct((ConnectField(_WRAPPERS[role], schema),))
    if schema.type is not ConnectType.STRUCT:
        raise ColumnError(
            f"Columns can only be inferred from a record, but the schema is a bare {schema.type.word}. Say that the "
            f"{role.value} is not wrapped (ksqlDB's WRAP_SINGLE_VALUE=false); then it becomes the column "
            f"{_WRAPPERS[role]}."
        )
    inference = _Inference(upper=names == "upper", for_spark=for_spark, keeps_time=keeps_time)
    columns = inference.fields(schema, path="", depth=1)
    if not columns:
        reasons = "".join(f" {path_words(part.path)}: {part.reason}." for part in inference.dropped)
        whose = "Spark" if for_spark else "ksqlDB"
        raise ColumnError(f"The schema does not include any columns with types that {whose} supports.{reasons}")
    return Inferred(usable_columns(columns), tuple(inference.dropped))


class _Inference:
    def __init__(self, *, upper: bool, for_spark: bool, keeps_time: bool) -> None:
        self.dropped: list[Dropped] = []
        self._upper = upper
        self._for_spark = for_spark
        self._keeps_time = keeps_time
        # The STRUCTs on the way to the current field.
        self._open: list[tuple[ConnectField, ...]] = []
        self._count = 0

    def fields(self, schema: ConnectSchema, *, path: str, depth: int) -> Columns:
        columns: dict[str, Column] = {}
        for field in schema.fields:
            self._count += 1
            if self._count > _MAX_COLUMNS:
                raise ColumnError(
                    f"The schema has more than {_MAX_COLUMNS:,} fields, references included. Name the columns."
                )
            where = f"{path}->{field.name}"
            try:
                type_ = self._type(field.schema, path=where, depth=depth)
            except _UnsupportedTypeError as error:
                self.dropped.append(Dropped(where, str(error)))
                continue
            # A dropped field occupies no name, because the engine has not yet put the field into its SchemaBuilder.
            name = declared_name(field.name) if self._upper else field.name
            if name in columns:
                raise ColumnError(
                    f"Two fields of {path_words(path, 'the schema')} become the column {name!r} in upper case. "
                    "Infer with names='keep', or name the columns."
                )
            columns[name] = Column(name, type_)
        return tuple(columns.values())

    def _type(self, schema: ConnectSchema, *, path: str, depth: int) -> ColumnType:
        if depth > MAX_NESTING:
            raise ColumnError(
                f"The schema nests deeper than {MAX_NESTING} levels at {path_words(path)}; is it recursive? Name the columns."
            )
        match schema.type:
            case ConnectType.STRUCT:
                return self._struct(schema, path=path, depth=depth)
            case ConnectType.ARRAY:
                return Array(self._type(schema.values, path=f"{path}->ARRAY", depth=depth + 1))
            case ConnectType.MAP:
                keys = self._type(schema.keys, path=f"{path}->MAP_KEY", depth=depth + 1)
                is_key = isinstance(keys, ScalarType) and keys not in _NO_MAP_KEYS
                if not is_key or (self._for_spark and keys != ScalarType.STRING):
                    raise _UnsupportedTypeError(f"Unsupported type for map key: {connect_type_of(keys).word}")
                return Map(self._type(schema.values, path=f"{path}->MAP_VAL", depth=depth + 1))
            case _:
                if not self._for_spark:
                    return _scalar(schema, path)
                return _for_spark(schema, path, keeps_time=self._keeps_time)

    def _struct(self, schema: ConnectSchema, *, path: str, depth: int) -> Struct:
        if self._for_spark and schema.fields and any(schema.fields is fields for fields in self._open):
            raise _UnsupportedTypeError("The type contains itself, but no column type can contain itself")
        self._open.append(schema.fields)
        try:
            fields = self.fields(schema, path=path, depth=depth + 1)
        finally:
            self._open.pop()
        if self._for_spark and schema.fields and not fields:
            raise _UnsupportedTypeError("No column type fits any of its fields")
        return Struct(fields)


_LOGICAL_NAMES: Final = {
    ScalarType.DATE: DATE_NAME,
    ScalarType.TIME: TIME_NAME,
    ScalarType.TIMESTAMP: TIMESTAMP_NAME,
    ScalarType.TIMESTAMP_NTZ: LOCAL_TIMESTAMP_NAME,
}
_LOGICAL: Final = {
    (ConnectType.INT64, MICRO_TIME_NAME): ScalarType.TIME,
    **{(connect_type_of(column), name): column for column, name in _LOGICAL_NAMES.items()},
}
_WIDENED: Final = {
    ConnectType.INT8: ScalarType.INTEGER,
    ConnectType.INT16: ScalarType.INTEGER,
    ConnectType.FLOAT32: ScalarType.DOUBLE,
    **{connect_type_of(column): column for column in ScalarType if column not in _LOGICAL_NAMES},
}
_NO_MAP_KEYS: Final = (ScalarType.DOUBLE, ScalarType.BYTES, ScalarType.TIMESTAMP_NTZ)
"""The engine checks only the Connect type of the widened key: a DATE is an int32 and is accepted."""


def _scalar(schema: ConnectSchema, path: str) -> ScalarType | Decimal:
    if schema.type is ConnectType.BYTES and schema.name == DECIMAL_NAME:
        return _decimal(schema, path)
    return _LOGICAL.get((schema.type, schema.name or "")) or _WIDENED[schema.type]


def _for_spark(schema: ConnectSchema, path: str, *, keeps_time: bool) -> ScalarType | Decimal:
    if schema.name == MICRO_TIME_NAME:
        return ScalarType.BIGINT
    try:
        type_ = _scalar(schema, path)
    except ColumnError as error:
        raise _UnsupportedTypeError(error.message) from None
    if type_ is ScalarType.TIME and not keeps_time:
        raise _UnsupportedTypeError("Spark has no type TIME. Declare a column INTEGER or BIGINT for its number")
    if isinstance(type_, Decimal) and type_.precision > SPARK_DIGITS:
        raise _UnsupportedTypeError(
            f"Spark's decimals have at most {SPARK_DIGITS} digits, but this one has {type_.precision}. Declare a "
            "smaller column"
        )
    return type_


def _decimal(schema: ConnectSchema, path: str) -> Decimal:
    scale = _parameter(schema, DECIMAL_SCALE, None, path)
    precision = _parameter(schema, DECIMAL_PRECISION, NO_PRECISION, path)
    try:
        return Decimal(precision, scale)
    except ColumnError as error:
        raise ColumnError(f"The field {path_words(path)}: {error.message}") from None


def _parameter(schema: ConnectSchema, name: str, default: int | None, path: str) -> int:
    text = schema.parameters.get(name)
    if text is None and default is not None:
        return default
    try:
        return int(text or "")
    except ValueError:
        raise ColumnError(
            f"The field {path_words(path)} is a decimal whose parameter {name!r} is "
            f"{'missing' if text is None else f'{text!r}, not a number'}. Name the columns and leave it out."
        ) from None


def connect_of(columns: Columns, *, wrapped: bool = True) -> ConnectSchema:
    if wrapped:
        return struct(ConnectField(column.name, connect_schema_of(column.type)) for column in columns)
    return connect_schema_of(only_column(columns).type)


def connect_schema_of(type_: ColumnType) -> ConnectSchema:
    """The schema of a column type, optional at each level (`SchemaConverters.ConnectFromSqlConverter`)."""
    match type_:
        case ScalarType():
            return _SCALARS[type_]
        case Decimal(precision, scale):
            return decimal(scale, precision, optional=True)
        case Array(items):
            return array(connect_schema_of(items), optional=True)
        case Map(values, keys):
            return map_of(connect_schema_of(keys), connect_schema_of(values), optional=True)
        case Struct(fields):
            return struct((ConnectField(part.name, connect_schema_of(part.type)) for part in fields), optional=True)
        case _:
            assert_never(type_)


_SCALARS: Final = {
    column: logical(connect_type_of(column), _LOGICAL_NAMES.get(column), optional=True) for column in ScalarType
}
