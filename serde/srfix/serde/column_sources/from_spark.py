"""Columns from a Spark schema and back, through the JSON form that Spark documents (`StructType.jsonValue`). Needs no
pyspark.

| Spark | column | back |
|---|---|---|
| boolean, string, binary, date, timestamp | BOOLEAN, STRING, BYTES, DATE, TIMESTAMP | the same |
| timestamp_ntz | TIMESTAMP_NTZ | the same |
| byte, short, integer | INTEGER | integer |
| long | BIGINT | long |
| float, double | DOUBLE | double |
| decimal(p,s) | DECIMAL(p, s) | decimal(p,s), p ≤ 38 |
| char(n), varchar(n) | STRING | string |
| array, map with keys of type string, struct | ARRAY, MAP, STRUCT | the same, everything nullable |

Every other type is refused: Spark's time is finer than milliseconds, and the rest fits no column type.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Final, Protocol, TypeAlias, assert_never, cast, runtime_checkable

from srfix.serde.column_sources.sources import SourceField, source_columns
from srfix.serde.columns.types import (
    MAX_NESTING,
    Array,
    Columns,
    ColumnType,
    Decimal,
    Map,
    Namespace,
    ScalarType,
    Struct,
    columns_of_one_half,
    type_name,
    usable_columns,
)
from srfix.serde.connect.columns import SPARK_DIGITS, NameRule
from srfix.serde.errors import ColumnError, SchemaError
from srfix.serde.printable import path_words


@runtime_checkable
class SparkStructType(Protocol):
    """The part of `pyspark.sql.types.StructType` that srfix needs."""

    def jsonValue(self) -> dict[str, object]:
        """The schema in Spark's JSON form."""


SparkSchema: TypeAlias = SparkStructType | Mapping[str, object] | str
"""A StructType, its JSON form, or the JSON text."""

_SCALARS: Final = {
    "boolean": ScalarType.BOOLEAN,
    "byte": ScalarType.INTEGER,
    "short": ScalarType.INTEGER,
    "integer": ScalarType.INTEGER,
    "long": ScalarType.BIGINT,
    "float": ScalarType.DOUBLE,
    "double": ScalarType.DOUBLE,
    "string": ScalarType.STRING,
    "binary": ScalarType.BYTES,
    "date": ScalarType.DATE,
    "timestamp": ScalarType.TIMESTAMP,
    "timestamp_ntz": ScalarType.TIMESTAMP_NTZ,
}
_CHARACTERS: Final = re.compile(r"(?:var)?char\([0-9]+\)")
_DECIMAL: Final = re.compile(r"decimal\(\s*([0-9]{1,3})\s*,\s*(-?[0-9]{1,3})\s*\)")
_WRITTEN: Final = {type_: word for word, type_ in _SCALARS.items()}
"""The widest Spark type for each column type; it stands last in the table."""


def columns_from_spark(schema: SparkSchema, *, names: NameRule = "upper") -> Columns:
    """The columns of a Spark schema. Nullability makes no difference, and metadata is ignored.

    :raises SchemaError: if the schema is not Spark's JSON form of a struct.
    :raises ColumnError: if a field's type fits no column type (with its path), types nest too deep, or two fields get
        the same name.
    """
    return usable_columns(_Reader(names).fields(_loaded(schema), path="", depth=1))


def spark_schema(columns: Columns) -> str:
    """Spark's JSON text of columns, for `StructType.fromJson(json.loads(text))`: every field nullable, without metadata.

    Spark knows no keys, so pass only the key's or only the value's columns (`half_of`).

    :raises ColumnError: if two columns have the same name, or Spark lacks the type: TIME, a MAP with keys other than
        STRING, a DECIMAL beyond 38 digits.
    """
    usable = columns_of_one_half(columns, holder="A Spark schema")
    return json.dumps(_written_struct(usable, ""), separators=(",", ":"), ensure_ascii=False)


def _loaded(schema: SparkSchema) -> object:
    if isinstance(schema, SparkStructType):
        return schema.jsonValue()
    if not isinstance(schema, str):
        return schema
    try:
        return cast("object", json.loads(schema))
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"The Spark schema is not JSON: {error}.") from error


class _Reader:
    def __init__(self, names: NameRule) -> None:
        self._names = names

    def fields(self, struct: object, *, path: str, depth: int) -> Columns:
        fields = struct.get("fields") if isinstance(struct, Mapping) and struct.get("type") == "struct" else None
        if not isinstance(fields, list):
            raise SchemaError(
                f"{path_words(path, 'The Spark schema')} is not the JSON form of a struct. Give a StructType, or the result of "
                "its json() or jsonValue()."
            )
        read = [self._field(field, path, depth) for field in fields]
        return source_columns(read, names=self._names, where=path_words(path, "the Spark schema"))

    def _field(self, field: object, path: str, depth: int) -> SourceField:
        name = field.get("name") if isinstance(field, Mapping) else None
        if not isinstance(field, Mapping) or not isinstance(name, str) or "type" not in field:
            raise SchemaError(f"A field of {path_words(path, 'the Spark schema')} has no name or no type.")
        return name, self._type(field["type"], path=f"{path}->{name}", depth=depth), Namespace.VALUE

    def _type(self, type_: object, *, path: str, depth: int) -> ColumnType:
        if depth > MAX_NESTING:
            raise ColumnError(
                f"The Spark schema nests deeper than {MAX_NESTING} levels at {path_words(path)}. Name the columns."
            )
        if isinstance(type_, str):
            return _scalar(type_, path)
        match type_:
            case {"type": "struct"}:
                return Struct(self.fields(type_, path=path, depth=depth + 1))
            case {"type": "array", "elementType": items}:
                return Array(self._type(items, path=f"{path}->ARRAY", depth=depth + 1))
            case {"type": "map", "keyType": str(keys), "valueType": values} if _SCALARS.get(keys) is ScalarType.STRING:
                return Map(self._type(values, path=f"{path}->MAP_VAL", depth=depth + 1))
            case {"type": "map", "keyType": keys}:
                raise ColumnError(
                    f"The field {path_words(path)} is a map with keys of {_named(keys)}; they must be string."
                )
            case _:
                raise _unfit(path, _named(type_))


def _scalar(type_: str, path: str) -> ColumnType:
    if type_ in _SCALARS:
        return _SCALARS[type_]
    if _CHARACTERS.fullmatch(type_):
        return ScalarType.STRING
    match = _DECIMAL.fullmatch("decimal(10,0)" if type_ == "decimal" else type_)
    if match is None:
        raise _unfit(path, type_)
    try:
        return Decimal(int(match[1]), int(match[2]))
    except ColumnError as error:
        raise ColumnError(f"The field {path_words(path)}: {error.message}") from error


def _named(type_: object) -> str:
    return str(type_.get("type")) if isinstance(type_, Mapping) else str(type_)


def _unfit(path: str, type_: str) -> ColumnError:
    return ColumnError(
        f"The field {path_words(path)} is Spark's {type_}, which fits no column type. Cast it or leave it out."
    )


_Json: TypeAlias = "str | bool | list[_Json] | dict[str, _Json]"


def _written_struct(fields: Columns, path: str) -> _Json:
    types = ((field.name, _written(field.type, f"{path}->{field.name}")) for field in fields)
    written: _Json = [{"name": name, "type": type_, "nullable": True, "metadata": {}} for name, type_ in types]
    return {"type": "struct", "fields": written}


def _written(type_: ColumnType, path: str) -> _Json:
    match type_:
        case ScalarType() if type_ in _WRITTEN:
            return _WRITTEN[type_]
        case Decimal(precision, scale) if precision <= SPARK_DIGITS:
            return f"decimal({precision},{scale})"
        case ScalarType() | Decimal():
            raise _unwritable(path, type_name(type_))
        case Array(items):
            return {"type": "array", "elementType": _written(items, f"{path}->ARRAY"), "containsNull": True}
        case Map(values, keys):
            if keys is not ScalarType.STRING:
                raise _unwritable(path, f"MAP with keys of {type_name(keys)}")
            value_type = _written(values, f"{path}->MAP_VAL")
            return {"type": "map", "keyType": "string", "valueType": value_type, "valueContainsNull": True}
        case Struct(fields):
            return _written_struct(fields, path)
        case _:
            assert_never(type_)


def _unwritable(path: str, type_: str) -> ColumnError:
    return ColumnError(f"The column {path_words(path)} is {type_}, but Spark has no such type. Leave it out.")
