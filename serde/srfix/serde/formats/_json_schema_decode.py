"""JSON bodies → rows under columns, through Connect: `JsonSchemaData.toConnectData` under the writer's schema, then
`ConnectDataTranslator`, as ksqlDB reads JSON_SR since 0.28.2 (ksql#9130).

| writer | JSON |
|---|---|
| boolean, string | the same |
| int8 … int64 | a number, cut to whole and to the type's bits, as Java does |
| float32, float64 | a number, or one of the strings NaN, Infinity, -Infinity, as Jackson writes them |
| Date, Time | a whole number of 32 bits; Timestamp: any whole number |
| bytes | a string of base64 |
| Decimal | a number with all its digits, or a string of base64 |
| array, struct | an array, an object |
| map | an array of `{"key": …, "value": …}`; an object if its keys are strings that cannot be null |
| a oneOf | what the first alternative takes; among objects the one with most names in common |

Null is the default of the writer's type, else null if the type allows it, else refused; a property that is absent is the
default, else null. What ksqlDB does not refuse, but reads as something that is not there, is refused here: a string where
the schema says number (0 in JsonSchemaData), anything but a string for a string (null), a scalar for an array (empty).

A body is parsed quickly first, with fractions as doubles. Where that could matter it is parsed again with every digit, and
that reading decides.
"""

from __future__ import annotations

import base64
import decimal
import struct
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias, cast

from srfix.serde._column_types import Array, Columns, ColumnType, Decimal, Map, ScalarType, Struct, type_name
from srfix.serde._connect_coercions import Coerce, coercion, refusal
from srfix.serde._connect_schema import (
    DATE_NAME,
    DECIMAL_NAME,
    DECIMAL_SCALE,
    TIME_NAME,
    ConnectField,
    ConnectSchema,
    ConnectType,
)
from srfix.serde.casing import CaseRule, placements
from srfix.serde.engine import Decode
from srfix.serde.errors import CoercionError, DecodeError, SchemaError
from srfix.serde.formats._avro_finish import decimal_of_bytes
from srfix.serde.formats._json_numbers import double_of_number, integer_of_number
from srfix.serde.formats._json_parse import parse, parse_exact
from srfix.serde.formats._json_schema_connect import is_union
from srfix.serde.interface import Row, Value

__all__ = ["connect_decoder"]

_Read: TypeAlias = Callable[[object], Value]
"""A JSON node, null too, → the column's value."""
_Convert: TypeAlias = Callable[[object], Value]
"""A JSON node that is not null → the writer's value."""
_Step: TypeAlias = "tuple[str, str, type | None, _Read, Value, bool]"
"""Field, column, the Python type that is taken as it is, what reads anything else, what stands for an absent property,
and whether that has to be read first."""

_MISSING: Final = object()
_BITS: Final = {ConnectType.INT8: 8, ConnectType.INT16: 16, ConnectType.INT32: 32, ConnectType.INT64: 64}
_INT_MIN, _INT_MAX = -(2**31), 2**31 - 1
_LONG_MIN, _LONG_MAX = -(2**63), 2**63 - 1
_FLOAT: Final = struct.Struct(">f")
_NOT_FINITE: Final = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


def connect_decoder(writer: ConnectSchema, columns: Columns, *, case_rule: CaseRule, wrapped: bool) -> Decode:
    """Rows of the columns; with `wrapped=False` the body is the bare value of the only one.

    :raises AmbiguousFieldError: if letter case leaves it open which field feeds a column.
    """
    plan = _Plan(case_rule)
    single = None if wrapped else columns[0]
    read = plan.read(writer, Struct(columns) if single is None else single.type, "")
    every_digit = any(_has_decimals(column.type) for column in columns)

    def decode(payload: bytes, body_offset: int) -> Value:
        body = payload[body_offset:] if body_offset else payload
        if not every_digit:
            try:
                value = read(parse(body))
                return value if single is None else {single.name: value}
            except (DecodeError, _InexactError, RecursionError):
                pass  # the exact reading has the words, if it fails too
        try:
            value = read(parse_exact(body))
        except RecursionError as error:
            raise DecodeError("The JSON nests too deep to be made into a row.") from error
        return value if single is None else {single.name: value}

    return decode


class _InexactError(Exception):
    """A double stands where its digits count."""


def _has_decimals(type_: ColumnType) -> bool:
    match type_:
        case Array(inner) | Map(inner):
            return _has_decimals(inner)
        case Struct(fields):
            return any(_has_decimals(field.type) for field in fields)
    return isinstance(type_, Decimal)


class _Plan:
    def __init__(self, case_rule: CaseRule) -> None:
        self._case_rule = case_rule

    def read(self, writer: ConnectSchema, column: ColumnType, path: str) -> _Read:
        """What reads a node of the writer's type for a column. A type that does not fit is refused when it is called,
        null or not, as `ConnectDataTranslator.validateSchema` does."""
        refused = refusal(writer.type, column, path)
        if refused is not None:
            error = refused

            def refuse(_: object) -> Value:
                raise error

            return refuse
        return _with_null(writer, self._of_node(writer, column, path), path)

    def _of_node(self, writer: ConnectSchema, column: ColumnType, path: str) -> _Read:
        match column:
            case Struct():
                return self._union(writer, column, path) if is_union(writer) else self._struct(writer, column, path)
            case Array(items):
                return _array(self.read(writer.values, items, f"{path}->ARRAY"), path)
            case Map(values, keys):
                return _map(
                    writer,
                    self.read(writer.keys, keys, f"{path}->MAP_KEY"),
                    self.read(writer.values, values, f"{path}->MAP_VAL"),
                    path,
                )
            case ScalarType() | Decimal():
                return _leaf(writer, column, path)

    def _steps(self, writer: ConnectSchema, column: Struct, path: str) -> tuple[_Step, ...]:
        fields = {part.name: part.schema for part in writer.fields}
        types = {part.name: part.type for part in column.fields}
        where = f"the writer schema{f' at {path}' if path else ''}"
        steps: list[_Step] = []
        for field, name in placements(tuple(types), tuple(fields), self._case_rule, where=where):
            inner = f"{path}->{name}"
            read = self.read(fields[field], types[name], inner)
            default = fields[field].default
            is_refused = refusal(fields[field].type, types[name], inner) is not None
            exact = None if is_refused else _taken_as_it_is(fields[field], types[name])
            # A default is read for each row: it may be a list, which the row's owner may change.
            steps.append((field, name, exact, read, None, is_refused or default is not None))
        return tuple(steps)

    def _struct(self, writer: ConnectSchema, column: Struct, path: str) -> _Read:
        steps = self._steps(writer, column, path)
        nulls: Row = {part.name: None for part in column.fields}

        def read(node: object) -> Value:
            if type(node) is not dict:
                raise _wrong_node(node, "an object", column, path)
            row = nulls.copy()
            get = node.get
            for field, name, exact, value_of, absent, is_read in steps:
                value = get(field, _MISSING)
                if type(value) is exact:
                    row[name] = cast("Value", value)
                elif value is not _MISSING:
                    row[name] = value_of(value)
                else:
                    row[name] = value_of(None) if is_read else absent
            return row

        return read

    def _union(self, writer: ConnectSchema, column: Struct, path: str) -> _Read:
        steps = self._steps(writer, column, path)
        nulls: Row = {part.name: None for part in column.fields}

        def read(node: object) -> Value:
            chosen = _alternative(writer.fields, node)
            if chosen is None:
                raise _wrong_node(node, "one of the alternatives of the writer's oneOf", column, path)
            row = nulls.copy()
            for field, name, _, value_of, _, is_read in steps:
                if field == chosen:
                    row[name] = value_of(node)
                elif is_read:
                    row[name] = value_of(None)
            return row

        return read


def _with_null(writer: ConnectSchema, read: _Read, path: str) -> _Read:
    default = writer.default
    if default is not None:
        return lambda node: read(default if node is None else node)
    if writer.optional:
        return lambda node: None if node is None else read(node)

    def required(node: object) -> Value:
        if node is None:
            raise DecodeError(
                f"At {path or 'the root'}, the body is null, and the writer's schema does not allow it: "
                f"the type {writer.type.word} is required."
            )
        return read(node)

    return required


def _taken_as_it_is(writer: ConnectSchema, column: ColumnType) -> type | None:
    match column:
        case ScalarType.STRING if writer.type is ConnectType.STRING and not _is_logical(writer):
            return str
        case ScalarType.BOOLEAN if not _is_logical(writer):
            return bool
        case ScalarType.DOUBLE if writer.type is ConnectType.FLOAT64 and not _is_logical(writer):
            return float
    return None


def _is_logical(writer: ConnectSchema) -> bool:
    return writer.name is not None and writer.name.startswith("org.apache.kafka.connect.data.")


def _array(items: _Read, path: str) -> _Read:
    def read(node: object) -> Value:
        if type(node) is not list:
            raise _wrong_node(node, "an array", None, path)
        return [items(item) for item in node]

    return read


def _map(writer: ConnectSchema, keys: _Read, values: _Read, path: str) -> _Read:
    if writer.keys.type is ConnectType.STRING and not writer.keys.optional:

        def read_object(node: object) -> Value:
            if type(node) is not dict:
                raise _wrong_node(node, "an object, as a map with string keys is written", None, path)
            return {_key(keys(name), path): values(value) for name, value in node.items()}

        return read_object

    def read_entries(node: object) -> Value:
        if type(node) is not list:
            raise _wrong_node(node, "an array of entries, as this map is written", None, path)
        made: dict[str, Value] = {}
        for entry in node:
            if type(entry) is not dict or len(entry) != 2:
                raise _wrong_node(entry, "an entry of two, key and value", None, path)
            made[_key(keys(entry.get("key")), path)] = values(entry.get("value"))
        return made

    return read_entries


def _key(key: Value, path: str) -> str:
    if isinstance(key, str):
        return key
    raise CoercionError(f"A key of the map at {path} is null.", path=f"{path}->MAP_KEY", column_type="STRING")


def _leaf(writer: ConnectSchema, column: ScalarType | Decimal, path: str) -> _Read:
    convert = _convert(writer, column, path)
    coerce: Coerce | None
    if isinstance(column, Decimal) and writer.name == DECIMAL_NAME:
        coerce = None  # the conversion has made it fit
    else:
        coerce = coercion(writer.type, writer.name, column, path)
    if coerce is None:
        return convert
    then = coerce
    if writer.type is ConnectType.BYTES:
        return lambda _: then(None)  # bytes for a DECIMAL, or a Decimal for BYTES: refused, whatever it is
    return lambda node: then(convert(node))


def _convert(writer: ConnectSchema, column: ScalarType | Decimal, path: str) -> _Convert:
    if writer.name in (DATE_NAME, TIME_NAME):
        return _int32(column, path)
    if writer.name == DECIMAL_NAME and isinstance(column, Decimal):
        return _decimal(writer, column, path)
    match writer.type:
        case ConnectType.BOOLEAN:
            return _of(bool, "a boolean", column, path)
        case ConnectType.STRING:
            return _of(str, "a string", column, path)
        case ConnectType.BYTES:
            return _bytes(column, path)
        case ConnectType.FLOAT32 | ConnectType.FLOAT64:
            return _float(writer.type is ConnectType.FLOAT32, column, path)
        case _:
            return _integer(_BITS[writer.type], column, path)


def _of(kind: type, what: str, column: ColumnType, path: str) -> _Convert:
    def convert(node: object) -> Value:
        if type(node) is kind:
            return node  # type: ignore[return-value]  # a bool or a str
        raise _wrong_node(node, what, column, path)

    return convert


def _integer(bits: int, column: ColumnType, path: str) -> _Convert:
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1

    def convert(node: object) -> Value:
        if type(node) is int and low <= node <= high:
            return node
        if type(node) is int or isinstance(node, decimal.Decimal):
            try:
                return integer_of_number(node, bits)
            except ValueError:
                raise _wrong_node(node, "a number of at most 1,000 digits", column, path) from None
        if type(node) is float:
            raise _InexactError
        raise _wrong_node(node, "a number", column, path)

    return convert


def _int32(column: ColumnType, path: str) -> _Convert:
    def convert(node: object) -> Value:
        if type(node) is int and _INT_MIN <= node <= _INT_MAX:
            return node
        raise _wrong_node(node, "a whole number of 32 bits", column, path)

    return convert


def _float(is_narrow: bool, column: ColumnType, path: str) -> _Convert:
    def convert(node: object) -> Value:
        match node:
            case bool():
                raise _wrong_node(node, "a number", column, path)
            case float():
                value = node
            case int() | decimal.Decimal():
                value = double_of_number(node)
            case str() if node in _NOT_FINITE:
                value = _NOT_FINITE[node]
            case _:
                raise _wrong_node(node, "a number", column, path)
        return _narrowed(value) if is_narrow else value

    return convert


def _narrowed(value: float) -> float:
    try:
        narrow: float = _FLOAT.unpack(_FLOAT.pack(value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return narrow


def _bytes(column: ColumnType, path: str) -> _Convert:
    def convert(node: object) -> Value:
        if type(node) is not str:
            raise _wrong_node(node, "a string of base64", column, path)
        return _decoded(node, column, path)

    return convert


def _decoded(text: str, column: ColumnType, path: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        raise CoercionError(
            f"The string at {path or 'the root'} is not base64 ({error}).", path=path, column_type=type_name(column)
        ) from error


def _decimal(writer: ConnectSchema, column: Decimal, path: str) -> _Convert:
    fit = coercion(ConnectType.BYTES, DECIMAL_NAME, column, path)
    assert fit is not None
    given = writer.parameters.get(DECIMAL_SCALE, "")
    of_bytes = decimal_of_bytes(int(given), column, path) if given.isascii() and given.isdigit() else None

    def convert(node: object) -> Value:
        if type(node) is int:
            if node.bit_length() > 4096:
                raise _wrong_node(node, "a number of at most 1,000 digits", column, path)
            return fit(decimal.Decimal(node))
        if isinstance(node, decimal.Decimal):
            return fit(node)
        if type(node) is float:
            raise _InexactError
        if type(node) is not str:
            raise _wrong_node(node, "a number, or a string of base64", column, path)
        if of_bytes is None:
            raise SchemaError(f"The writer's Decimal at {path} has no scale, so its bytes are no number.")
        return of_bytes(_decoded(node, column, path))  # type: ignore[no-any-return]

    return convert


def _alternative(fields: tuple[ConnectField, ...], node: object) -> str | None:
    """The field of a union that a node belongs to (`isInstanceOfSchemaTypeForSimpleSchema`, `matchStructSchema`)."""
    best, most = None, -1
    for field in fields:
        if _is_instance(field.schema, node):
            return field.name
        if field.schema.type is ConnectType.STRUCT and isinstance(node, Mapping):
            common = sum(part.name in node for part in field.schema.fields)
            if common > most:
                best, most = field.name, common
    return best


def _is_instance(schema: ConnectSchema, node: object) -> bool:
    is_number = isinstance(node, int | float | decimal.Decimal) and not isinstance(node, bool)
    match schema.type:
        case ConnectType.INT8 | ConnectType.INT16 | ConnectType.INT32 | ConnectType.INT64:
            return type(node) is int
        case ConnectType.FLOAT32 | ConnectType.FLOAT64:
            return is_number
        case ConnectType.BOOLEAN:
            return type(node) is bool
        case ConnectType.STRING:
            return type(node) is str
        case ConnectType.BYTES:
            return is_number and type(node) is not int
        case ConnectType.ARRAY:
            return type(node) is list
        case ConnectType.MAP:
            return isinstance(node, list | dict)
    return False


_NODES: Final = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    decimal.Decimal: "a number",
    type(None): "null",
}


def _wrong_node(node: object, wanted: str, column: ColumnType | None, path: str) -> CoercionError:
    """The body has another kind of JSON than its schema says. It is not quoted: it may be personal."""
    return CoercionError(
        f"At {path or 'the root'}, the body has {_NODES.get(type(node), 'something')}, where the writer's schema needs "
        f"{wanted}.",
        path=path,
        column_type="" if column is None else type_name(column),
    )
