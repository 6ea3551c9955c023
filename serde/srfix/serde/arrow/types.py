"""pyarrow, which is an extra and takes half a second to load; columns as an Arrow schema, and back.

| column | Arrow type that is written | Arrow types that are also read |
|---|---|---|
| BOOLEAN | `bool` | |
| INTEGER | `int32` | `int8`, `int16`, `uint8`, `uint16` |
| BIGINT | `int64` | `uint32` |
| DOUBLE | `double` | `halffloat`, `float` |
| STRING | `string` | `large_string`, `string_view` |
| BYTES | `binary` | `large_binary`, `binary_view`, `fixed_size_binary` |
| DECIMAL(p, s) | `decimal128`, from 39 digits on `decimal256` | `decimal32`, `decimal64` |
| DATE | `date32` | `date64` |
| TIME | `time64[us]` | the other units |
| TIMESTAMP | `timestamp[us, tz=UTC]` | the other units, any zone |
| TIMESTAMP_NTZ | `timestamp[us]` | the other units, without a zone |
| ARRAY | `list` | `large_list`, `fixed_size_list`, `list_view`, `large_list_view` |
| MAP | `map` | |
| STRUCT | `struct` | |

Everything may be null, except a map's keys. Dictionary-encoded, run-end-encoded and extension types are read like their
value types. Spark knows every written type except `decimal256`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Final, assert_never

from srfix.serde.casing import is_same
from srfix.serde.column_sources.given import GivenColumns, given_columns
from srfix.serde.columns.types import (
    Array,
    Column,
    Columns,
    ColumnType,
    Decimal,
    Map,
    ScalarType,
    Struct,
    columns_of_one_half,
    usable_columns,
)
from srfix.serde.errors import ColumnError, UsageError
from srfix.serde.interface import OnError

if TYPE_CHECKING:
    import pyarrow as pa


def pyarrow() -> ModuleType:
    """The module.

    :raises UsageError: if it is not installed.
    """
    return _loaded("pyarrow")


def pyarrow_compute() -> ModuleType:
    """pyarrow's compute functions.

    :raises UsageError: if it is not installed.
    """
    return _loaded("pyarrow.compute")


def _loaded(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError as error:
        raise UsageError(
            f"Arrow batches need pyarrow, which cannot be imported ({error}). Install the extra: srfix[arrow]."
        ) from error


def one_array(parts: Sequence[pa.Array], what: str) -> pa.Array:
    arrow = pyarrow()
    problem: Exception | None = None
    array: object = None
    try:
        array = parts[0] if len(parts) == 1 else arrow.concat_arrays(parts)
    except (arrow.ArrowInvalid, TypeError) as error:
        problem = error
    if not isinstance(array, arrow.Array):
        raise UsageError(
            f"In this batch {what} would have more than the 2 GiB that one Arrow array can hold. Make batches smaller."
        ) from problem
    return array


_DECIMAL128_DIGITS: Final = 38
_DECIMAL256_DIGITS: Final = 76


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonFields:
    """The names of the fields about bad rows."""

    reason: str
    """A `Reason`'s word; null for a good row."""
    message: str
    """The error's message; null if there is no error."""
    payload: str
    """The original bytes of a bad row; null for a good row or a tombstone."""


def reason_fields(columns: Columns) -> ReasonFields:
    """Names that differ from all columns, ignoring case: `_srfix_reason` and so on. If a column has such a name, these
    names get one more underscore in front."""
    alike = ((column.name, column.name.lstrip("_")) for column in columns)
    front = "_" * max((len(name) - len(bare) + 1 for name, bare in alike if is_same(bare[:5], "srfix")), default=1)
    return ReasonFields(reason=f"{front}srfix_reason", message=f"{front}srfix_message", payload=f"{front}srfix_payload")


def arrow_schema(columns: GivenColumns, *, on_error: OnError = "fail", with_reason: bool = False) -> pa.Schema:
    """The schema of the batches that `to_arrow` makes.

    :raises ColumnError: if the columns cannot be used, or a DECIMAL has more than 76 digits.
    :raises UsageError: if pyarrow is not installed.
    """
    pa = pyarrow()
    columns = columns_of_one_half(given_columns(columns), holder="An Arrow schema")
    fields = [pa.field(column.name, arrow_type(column.type, column.name)) for column in columns]
    names = reason_fields(columns)
    if with_reason or on_error == "quarantine":
        fields.append(pa.field(names.reason, pa.string()))
    if on_error == "quarantine":
        fields += [pa.field(names.message, pa.string()), pa.field(names.payload, pa.binary())]
    return pa.schema(fields)


def arrow_type(type_: ColumnType, column: str) -> pa.DataType:
    """A column's type.

    :raises ColumnError: if it is a DECIMAL of more than 76 digits.
    """
    pa = pyarrow()
    match type_:
        case ScalarType():
            return _SCALARS[type_](pa)
        case Decimal(precision, scale):
            if precision > _DECIMAL256_DIGITS:
                raise ColumnError(
                    f"The column {column!r} holds a DECIMAL of {precision} digits, but a decimal of Arrow has at "
                    f"most {_DECIMAL256_DIGITS}. Declare it smaller, or as STRING."
                )
            return (pa.decimal128 if precision <= _DECIMAL128_DIGITS else pa.decimal256)(precision, scale)
        case Array(items):
            return pa.list_(arrow_type(items, column))
        case Map(values, keys):
            return pa.map_(arrow_type(keys, column), arrow_type(values, column))
        case Struct(fields):
            return pa.struct([pa.field(field.name, arrow_type(field.type, column)) for field in fields])
        case _:
            assert_never(type_)


_SCALARS: Final = {
    ScalarType.BOOLEAN: lambda pa: pa.bool_(),
    ScalarType.INTEGER: lambda pa: pa.int32(),
    ScalarType.BIGINT: lambda pa: pa.int64(),
    ScalarType.DOUBLE: lambda pa: pa.float64(),
    ScalarType.STRING: lambda pa: pa.string(),
    ScalarType.BYTES: lambda pa: pa.binary(),
    ScalarType.DATE: lambda pa: pa.date32(),
    ScalarType.TIME: lambda pa: pa.time64("us"),
    ScalarType.TIMESTAMP: lambda pa: pa.timestamp("us", tz="UTC"),
    ScalarType.TIMESTAMP_NTZ: lambda pa: pa.timestamp("us"),
}


def columns_from_arrow(schema: pa.Schema) -> Columns:
    """The columns for the values of batches with this schema. They have exactly the fields' names.

    :raises ColumnError: if no column type corresponds to a field's type, or names are not distinct.
    :raises UsageError: if pyarrow is not installed.
    """
    return usable_columns(tuple(Column(field.name, _column_type(field.type, field.name)) for field in schema))


def _column_type(type_: pa.DataType, path: str) -> ColumnType:
    pa = pyarrow()
    types = pa.types
    for kind, tests in TESTS.items():
        if is_any(type_, tests):
            return kind
    if types.is_decimal(type_) and 0 <= type_.scale <= type_.precision:
        return Decimal(type_.precision, type_.scale)
    if types.is_dictionary(type_) or types.is_run_end_encoded(type_):
        return _column_type(type_.value_type, path)
    if isinstance(type_, pa.BaseExtensionType):
        return _column_type(type_.storage_type, path)
    if types.is_timestamp(type_):
        return ScalarType.TIMESTAMP_NTZ if type_.tz is None else ScalarType.TIMESTAMP
    if types.is_map(type_):
        keys = _column_type(type_.key_type, f"{path}->MAP_KEY")
        return Map(_column_type(type_.item_type, f"{path}->MAP_VAL"), keys)
    if is_any(type_, LISTS):
        return Array(_column_type(type_.value_type, f"{path}->ARRAY"))
    if types.is_struct(type_):
        return Struct(tuple(Column(field.name, _column_type(field.type, f"{path}->{field.name}")) for field in type_))
    raise ColumnError(
        f"No column type corresponds to the Arrow type {type_}, at {path!r}. Cast it to a type that a column has, or "
        "leave it out."
    )


LISTS: Final = ("is_list", "is_large_list", "is_fixed_size_list", "is_list_view", "is_large_list_view")
TESTS: Final[dict[ScalarType, tuple[str, ...]]] = {
    ScalarType.BOOLEAN: ("is_boolean",),
    ScalarType.INTEGER: ("is_int8", "is_int16", "is_int32", "is_uint8", "is_uint16"),
    ScalarType.BIGINT: ("is_int64", "is_uint32"),
    ScalarType.DOUBLE: ("is_floating",),
    ScalarType.STRING: ("is_string", "is_large_string", "is_string_view"),
    ScalarType.BYTES: ("is_binary", "is_large_binary", "is_binary_view", "is_fixed_size_binary"),
    ScalarType.DATE: ("is_date",),
    ScalarType.TIME: ("is_time",),
}


def is_any(type_: pa.DataType, tests: Iterable[str]) -> bool:
    """By names in `pyarrow.types`, of which older versions of pyarrow lack the newest."""
    types = pyarrow().types
    return any(hasattr(types, test) and getattr(types, test)(type_) for test in tests)
