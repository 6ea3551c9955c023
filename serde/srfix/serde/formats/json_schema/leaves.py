"""JSON nodes without parts → a column's value: `JsonSchemaData.toConnectData`, then `ConnectDataTranslator`."""

from __future__ import annotations

import decimal
import re
import struct
from collections.abc import Callable
from typing import Final, TypeAlias

from srfix.serde.columns.types import ColumnType, Decimal, ScalarType, type_name
from srfix.serde.connect.coercions import Coerce, coercion
from srfix.serde.connect.schema import DATE_NAME, DECIMAL_NAME, DECIMAL_SCALE, TIME_NAME, ConnectSchema, ConnectType
from srfix.serde.errors import CoercionError, SchemaError
from srfix.serde.formats.avro.read.finish import decimal_of_bytes
from srfix.serde.formats.json import base64_bytes, double_of_number, integer_of_number
from srfix.serde.interface import Value
from srfix.serde.java_ints import INT_MAX, INT_MIN
from srfix.serde.printable import path_words
from srfix.serde.projection.tree import Scalar

Read: TypeAlias = Callable[[object], Value]
"""A JSON node → a value."""

_FLOAT: Final = struct.Struct(">f")
_SCALE: Final = re.compile(r"[+-]?[0-9]+")
_NOT_FINITE: Final = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


class InexactError(Exception):
    """A double was read, but its exact digits matter."""


def leaf(writer: ConnectSchema, scalar: Scalar, path: str) -> Read:
    column = scalar.type
    convert = _convert(writer, column, path)
    coerce: Coerce | None
    if isinstance(column, Decimal) and writer.name == DECIMAL_NAME:
        coerce = None  # the conversion has already made the value fit
    else:
        coerce = coercion(writer.type, scalar.name, column, path, per_second=scalar.per_second)
    if coerce is None:
        return convert
    then = coerce
    if writer.type is ConnectType.BYTES:
        return lambda _: then(None)  # bytes for a DECIMAL, or a Decimal for BYTES: every value is refused
    return lambda node: then(convert(node))


def _convert(writer: ConnectSchema, column: ScalarType | Decimal, path: str) -> Read:
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
            return _integer(writer.type.bits, column, path)


def _of(kind: type, what: str, column: ColumnType, path: str) -> Read:
    def convert(node: object) -> Value:
        if type(node) is kind:
            return node  # type: ignore[return-value]  # a bool or a str
        raise wrong_node(node, what, column, path)

    return convert


def _integer(bits: int, column: ColumnType, path: str) -> Read:
    low, high = -(1 << bits - 1), (1 << bits - 1) - 1

    def convert(node: object) -> Value:
        if type(node) is int and low <= node <= high:
            return node
        if type(node) is int or isinstance(node, decimal.Decimal):
            try:
                return integer_of_number(node, bits)
            except ValueError:
                raise wrong_node(node, "a number of at most 1,000 digits", column, path) from None
        if type(node) is float:
            raise InexactError
        raise wrong_node(node, "a number", column, path)

    return convert


def _int32(column: ColumnType, path: str) -> Read:
    def convert(node: object) -> Value:
        if type(node) is int and INT_MIN <= node <= INT_MAX:
            return node
        raise wrong_node(node, "a whole number of 32 bits", column, path)

    return convert


def _float(is_narrow: bool, column: ColumnType, path: str) -> Read:
    def convert(node: object) -> Value:
        kind = type(node)
        if kind is decimal.Decimal or kind is int or kind is float:
            # A double is used unchanged, even a negative zero.
            value: float = node if kind is float else _double(node)  # type: ignore[arg-type, assignment]
        elif kind is str and node in _NOT_FINITE:
            value = _NOT_FINITE[node]
        else:
            raise wrong_node(node, "a number", column, path)
        return _narrowed(value) if is_narrow else value

    return convert


def _double(number: int | decimal.Decimal) -> float:
    value = double_of_number(number)
    return -value if not value and isinstance(number, decimal.Decimal) and number.is_signed() else value


def _narrowed(value: float) -> float:
    try:
        narrow: float = _FLOAT.unpack(_FLOAT.pack(value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
    return narrow


def _bytes(column: ColumnType, path: str) -> Read:
    def convert(node: object) -> Value:
        if type(node) is not str:
            raise wrong_node(node, "a string of base64", column, path)
        return _decoded(node, column, path)

    return convert


def _decoded(text: str, column: ColumnType, path: str) -> bytes:
    try:
        return base64_bytes(text)
    except ValueError as error:
        raise CoercionError(
            f"The string at {path_words(path)} is not base64 ({error}).", path=path, column_type=type_name(column)
        ) from error


def _decimal(writer: ConnectSchema, column: Decimal, path: str) -> Read:
    fit = coercion(ConnectType.BYTES, DECIMAL_NAME, column, path)
    assert fit is not None
    scale = writer.parameters.get(DECIMAL_SCALE, "")
    of_bytes = decimal_of_bytes(int(scale), column, path) if _SCALE.fullmatch(scale) else None

    def convert(node: object) -> Value:
        if type(node) is int:
            if node.bit_length() > 4096:
                raise wrong_node(node, "a number of at most 1,000 digits", column, path)
            return fit(decimal.Decimal(node))
        if isinstance(node, decimal.Decimal):
            return fit(node if node else node.copy_abs())  # a BigDecimal has no negative zero
        if type(node) is float:
            raise InexactError
        if type(node) is not str:
            raise wrong_node(node, "a number, or a string of base64", column, path)
        if of_bytes is None:
            raise SchemaError(
                f"The writer's Decimal at {path_words(path)} has no scale, so its bytes do not give a number."
            )
        return of_bytes(_decoded(node, column, path))  # type: ignore[no-any-return]

    return convert


_NODES: Final = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "a boolean",
    **dict.fromkeys((int, float, decimal.Decimal), "a number"),
    type(None): "null",
}


def wrong_node(node: object, wanted: str, column: ColumnType | None, path: str) -> CoercionError:
    """A body with another JSON than its schema says. The error does not quote the body: it may hold personal data."""
    return CoercionError(
        f"At {path_words(path)}, the body has {_NODES.get(type(node), 'something')}, but the writer's schema needs "
        f"{wanted}.",
        path=path,
        column_type="" if column is None else type_name(column),
    )
