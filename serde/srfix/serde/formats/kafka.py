"""The format KAFKA: one bare value in Kafka's own serialization. It is ksqlDB's default format for keys (`KafkaFormat`,
`KafkaSerdeFactory`).

| column | bytes | Kafka's class |
|---|---|---|
| INTEGER | 4, big-endian | `IntegerSerializer` |
| BIGINT | 8, big-endian | `LongSerializer` |
| DOUBLE | 8, IEEE 754 big-endian | `DoubleSerializer` |
| STRING | UTF-8 | `StringSerializer` |
| BYTES | the bytes | `ByteBufferSerializer` |

A null has no bytes: the record has a null key, or is a tombstone. Java's `StringDeserializer` replaces bytes that are
not UTF-8 by U+FFFD. srfix refuses them, because otherwise another key would be written back.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Final, TypeAlias

from srfix.serde.columns.text import print_columns
from srfix.serde.columns.types import Column, Columns, Decimal, ScalarType, type_name, usable_columns
from srfix.serde.engine import Decode, Encode
from srfix.serde.errors import ColumnError, DecodeError, EncodeError, TrailingBytesError, TruncatedBodyError
from srfix.serde.formats.avro import AvroNode
from srfix.serde.formats.avro.write.scalars import scalar
from srfix.serde.formats.rows.checks import record_of
from srfix.serde.formats.rows.value_check import Misfit, bare_value, encode_error, or_none
from srfix.serde.interface import Value
from srfix.serde.printable import counted
from srfix.serde.specs import ReadSpec, WriteSpec

HAS_LOCAL_TIMES = False

_Read: TypeAlias = Callable[[bytes], Value]
_Write: TypeAlias = Callable[[object], bytes]


def decoder(schema_text: str | None, spec: ReadSpec, references: tuple[str, ...] = ()) -> Decode:
    column = _only(spec.columns)
    name, (read, _, _) = column.name, _CODECS[column.type]

    def decode(payload: bytes, body_offset: int) -> Value:
        return {name: read(payload[body_offset:] if body_offset else payload)}

    return decode


def encoder(schema_text: str | None, spec: WriteSpec, references: tuple[str, ...] = ()) -> Encode:
    """The case rule matches the only column's key in a row. There are no times to cut."""
    column = _only(spec.columns)
    name, (_, avro_type, write) = column.name, _CODECS[column.type]
    record = record_of(spec.case_rule, {name: or_none(scalar(AvroNode(kind=avro_type)))})

    def encode(row: object, prefix: bytes) -> bytes:
        try:
            return prefix + write(bare_value(record.careful(row), name))
        except Misfit as misfit:
            raise encode_error(misfit) from misfit.group()
        except UnicodeEncodeError as error:
            raise EncodeError(
                f"{name} contains half a surrogate pair, which cannot be encoded.", paths=(f"->{name}",)
            ) from error

    return encode


def _only(columns: Columns | None) -> Column:
    if columns is None:
        raise ColumnError(
            "In the KAFKA format, the bytes do not show their type: name the column, such as 'ID BIGINT'."
        )
    if len(usable_columns(columns)) != 1:
        raise ColumnError(f"The KAFKA format only supports a single column. Got: {print_columns(columns)}.")
    (column,) = columns
    if column.type not in _CODECS:
        word = "DECIMAL" if isinstance(column.type, Decimal) else type_name(column.type)
        raise ColumnError(
            f"The KAFKA format does not support the type {word}, of column {column.name!r}; it has INTEGER, BIGINT, "
            "DOUBLE, STRING and BYTES. Use another format."
        )
    return column


def _fixed(layout: str, java: str) -> _Read:
    packed = struct.Struct(layout)
    unpack, size = packed.unpack, packed.size

    def read(body: bytes) -> Value:
        if len(body) == size:
            value: int | float = unpack(body)[0]
            return value
        kind = TruncatedBodyError if len(body) < size else TrailingBytesError
        raise kind(
            f"The data has {counted(len(body), 'byte')}, but {java} needs {size}. The column's type is wrong, or the producer "
            "uses another serializer."
        )

    return read


def _text(body: bytes) -> Value:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise DecodeError(
            f"The body of {counted(len(body), 'byte')} is not UTF-8, at {error.start}. To read it nevertheless, declare "
            "the column as BYTES."
        ) from error


def _double_bytes(value: object) -> bytes:
    # `Double.doubleToLongBits` gives the same NaN for every sign and payload.
    return _DOUBLE.pack(value if value == value else math.nan)


_DOUBLE: Final = struct.Struct(">d")
_CODECS: Final[dict[object, tuple[_Read, str, _Write]]] = {
    ScalarType.INTEGER: (_fixed(">i", "IntegerDeserializer"), "int", struct.Struct(">i").pack),
    ScalarType.BIGINT: (_fixed(">q", "LongDeserializer"), "long", struct.Struct(">q").pack),
    ScalarType.DOUBLE: (_fixed(">d", "DoubleDeserializer"), "double", _double_bytes),
    ScalarType.STRING: (_text, "string", lambda value: str(value).encode()),
    ScalarType.BYTES: (lambda body: body, "bytes", lambda value: bytes(value)),  # type: ignore[call-overload]  # checked
}
"""For a column, the reader, Avro's type that accepts the same values, and the writer."""
