"""Messages → Connect's schemas: `ProtobufData.toConnectSchema` of Confluent Platform 7.7, with the default settings that ksqlDB
keeps (such as `enhanced.protobuf.schema.support`).

| Protobuf | Connect |
|---|---|
| int32, sint32, sfixed32 | int32; int8, int16 if the field's `confluent.field_meta` says so (`connect.type`) |
| uint32, fixed32, every 64-bit type | int64 |
| float, double, bool, string, bytes | float32, float64, boolean, string, bytes |
| an enum | string: the value's name |
| `confluent.type.Decimal` | Decimal; precision and scale come from `confluent.field_meta` |
| `google.type.Date`, `google.type.TimeOfDay`, `google.protobuf.Timestamp` | Date, Time, Timestamp |
| `google.protobuf.StringValue` and the like | the type of their `value`; a struct if `unwrapPrimitives` is off |
| a message, a map, repeated | struct, map, array |
| a group | nothing: it is left out |
| a oneof | a struct `<name>_<number>` with the oneof's fields; it stands before the message's other fields |

ksqlDB 0.25 and later switch `unwrapPrimitives` on for new statements; statements of older servers keep STRUCT<VALUE T> (ksql
pull request 8934). Both kinds of columns are read: the declared type decides.

Every type is optional, because ksqlDB treats it so. A proto3 field with `optional` is an ordinary field (since 7.0; before, it
was a oneof).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from srfix.serde.columns.types import ColumnType, Struct
from srfix.serde.connect.schema import (
    NARROW_BY_WORD,
    ConnectField,
    ConnectSchema,
    ConnectType,
    array,
    complete,
    date,
    decimal,
    map_of,
    primitive,
    struct,
    time,
    timestamp,
)
from srfix.serde.connect.time_units import TimeUnit, time_unit
from srfix.serde.errors import SchemaError
from srfix.serde.formats.connect_type import ConnectWriterType
from srfix.serde.formats.protobuf.descriptors import Compiled, message_of, oneofs_of
from srfix.serde.java_ints import is_int
from srfix.serde.projection.tree import WriterField

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor, OneofDescriptor

UNION_NAME: Final = "io.confluent.connect.protobuf.Union"
"""The prefix of the name of a oneof's STRUCT (`ProtobufData.PROTOBUF_TYPE_UNION`)."""
_WRAPPED: Final = ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
WRAPPERS: Final = frozenset(f"google.protobuf.{name}Value" for name in _WRAPPED)
"""The messages of `google/protobuf/wrappers.proto`."""
# The values of FieldDescriptor.TYPE_*, copied so that this module does not load the runtime.
STRING: Final = 9
UNSIGNED_64: Final = (4, 6)
"""uint64, fixed64."""
_TYPES: Final = {
    1: ConnectType.FLOAT64,
    2: ConnectType.FLOAT32,
    8: ConnectType.BOOLEAN,
    12: ConnectType.BYTES,
    **dict.fromkeys((STRING, 14), ConnectType.STRING),
    **dict.fromkeys((5, 15, 17), ConnectType.INT32),
    **dict.fromkeys((3, 4, 6, 7, 13, 16, 18), ConnectType.INT64),
}
_TIMES: Final = {"google.type.Date": date, "google.type.TimeOfDay": time, "google.protobuf.Timestamp": timestamp}
_NANOS: Final = {"google.type.TimeOfDay": "time-nanos", "google.protobuf.Timestamp": "timestamp-nanos"}
_INT: Final = re.compile(r"[+-]?[0-9]{1,10}", re.ASCII)


def connect_schema(compiled: Compiled, message: Descriptor, *, unwrap_primitives: bool = True) -> ConnectSchema:
    """The Connect schema of a message. A message that contains itself gives a cyclic schema."""
    try:
        return _Conversion(compiled, WRAPPERS if unwrap_primitives else frozenset()).message(message)
    except RecursionError:
        raise SchemaError("The schema's messages nest too deep, imports included.") from None


def parts(message: Descriptor) -> Iterator[tuple[str, FieldDescriptor | OneofDescriptor]]:
    """The parts of a message's STRUCT by name, in order: first the oneofs, then the fields that are in no oneof."""
    oneofs = oneofs_of(message)
    for oneof in oneofs:
        yield f"{oneof.name}_{oneof.index}", oneof
    for field in message.fields:
        if field.containing_oneof not in oneofs and field.type != field.TYPE_GROUP:
            yield field.name, field


def is_map(field: FieldDescriptor) -> bool:
    """Whether a field has the shape of a map, as `ProtobufData` checks it: ksqlDB registers maps without the word `map`."""
    return is_registered_map(field) and not any(part.is_repeated for part in message_of(field).fields)


def is_registered_map(field: FieldDescriptor) -> bool:
    """Whether it is a map, or what ksqlDB registers for a MAP of ARRAYs or of MAPs, which is an ARRAY of STRUCTs."""
    if not field.is_repeated or field.type != field.TYPE_MESSAGE:
        return False
    entry = message_of(field)
    return (
        entry.name.endswith("Entry")
        and [part.name for part in entry.fields] == ["key", "value"]
        and not any(len(oneof.name) < 2 or oneof.name[1:] not in ("key", "value") for oneof in entry.oneofs)
    )


class _Conversion:
    def __init__(self, compiled: Compiled, unwrapped: frozenset[str]) -> None:
        self._compiled = compiled
        self._unwrapped = unwrapped
        self._messages: dict[str, ConnectSchema] = {}

    def message(self, message: Descriptor) -> ConnectSchema:
        if message.full_name in self._unwrapped:
            return primitive(_TYPES[message.fields[0].type], optional=True)
        schema = self._messages.get(message.full_name)
        if schema is None:
            schema = ConnectSchema(type=ConnectType.STRUCT, name=message.full_name, optional=True)
            self._messages[message.full_name] = schema
            complete(schema, [ConnectField(name, self._part(part)) for name, part in parts(message)])
        return schema

    def _part(self, part: Any) -> ConnectSchema:
        """The schema of a oneof, or of a field."""
        if hasattr(part, "fields"):
            fields = (ConnectField(field.name, self._part(field)) for field in part.fields)
            return struct(fields, name=f"{UNION_NAME}.{part.full_name}", optional=True)
        if is_map(part):
            key, value = message_of(part).fields
            return map_of(self._part(key), self._part(value), optional=True)
        message, meta = part.message_type, partial(self._compiled.meta, part)
        if part.enum_type is not None:
            type_ = ConnectSchema(type=ConnectType.STRING, name=part.enum_type.full_name, optional=True)
        elif message is None:
            connect = _TYPES[part.type]
            if connect is ConnectType.INT32:
                connect = NARROW_BY_WORD.get(meta().get("connect.type", ""), connect)
            type_ = primitive(connect, optional=True)
        elif message.full_name == "confluent.type.Decimal":
            type_ = decimal(_number(meta().get("scale")) or 0, _number(meta().get("precision")), optional=True)
        elif message.full_name in _TIMES:
            type_ = _TIMES[message.full_name](optional=True)
        else:
            type_ = self.message(message)
        return array(type_, optional=True) if part.is_repeated else type_


def _number(text: str | None) -> int | None:
    """The number as `Integer.parseInt` reads it; None if the text is not such a number."""
    return int(text) if text is not None and _INT.fullmatch(text) and is_int(int(text)) else None


@dataclass(frozen=True, slots=True, eq=False)
class ProtoType(ConnectWriterType):
    """A Protobuf type, for the projection's walk (`projection.tree`)."""

    field: FieldDescriptor | None
    """The field that has this type; None for a oneof, and for the schema's message unless it is a wrapper."""
    holds: Descriptor | OneofDescriptor | None
    """The message or oneof that contains its parts; None for a type without parts."""

    @classmethod
    def of_message(cls, compiled: Compiled, message: Descriptor, *, is_bare: bool) -> ProtoType:
        """The root. A message such as `google.protobuf.StringValue` is its value if the body is the only column's, bare."""
        schema = connect_schema(compiled, message)
        if schema.type is ConnectType.STRUCT:
            return cls(schema, None, message)
        return cls(schema, message.fields[0], None) if is_bare else cls(_struct_of(schema), None, message)

    @property
    def is_union(self) -> bool:
        return (self.schema.name or "").startswith(UNION_NAME)

    @property
    def unit(self) -> TimeUnit | None:
        message = None if self.field is None else self.field.message_type
        nanos = None if message is None else _NANOS.get(message.full_name)
        return ConnectWriterType.unit.__get__(self) if nanos is None else time_unit(ConnectType.INT64, nanos, None)

    @property
    def word(self) -> str:
        return "oneof" if self.is_union else ConnectWriterType.word.__get__(self)

    @property
    def is_held(self) -> bool:
        """Whether the value stands in one of the wrapper messages. It must not be a STRUCT."""
        return self.field is not None and self.field.message_type is not None and not self.is_logical

    @property
    def value_field(self) -> FieldDescriptor:
        """The field of a value without parts; of a value in a wrapper message, the field of that message."""
        assert self.field is not None
        return message_of(self.field).fields[0] if self.is_held else self.field

    def under(self, column: ColumnType) -> ProtoType:
        """A STRUCT takes a field's wrapper message as it is, any other column its value."""
        message = None if self.field is None else self.field.message_type
        has_parts = self.connect in (ConnectType.ARRAY, ConnectType.MAP, ConnectType.STRUCT)
        if not isinstance(column, Struct) or message is None or has_parts or message.full_name not in WRAPPERS:
            return self
        return ProtoType(_struct_of(self.schema), self.field, message)

    def fields(self, path: str) -> tuple[WriterField[ProtoType], ...]:
        holds: Any = self.holds
        members = ((part.name, part) for part in holds.fields) if self.is_union else parts(holds)
        return tuple(
            WriterField(number=number, name=name, written=name, type=_typed(field.schema, part))
            for number, (field, (name, part)) in enumerate(zip(self.schema.fields, members, strict=True))
        )

    def items(self) -> ProtoType:
        return _typed(self.schema.values, self.field)

    def entries(self, path: str) -> tuple[ProtoType, ProtoType]:
        assert self.field is not None
        key, value = message_of(self.field).fields
        return _typed(self.schema.keys, key), _typed(self.schema.values, value)


def _struct_of(value: ConnectSchema) -> ConnectSchema:
    return struct((ConnectField("value", value),), optional=True)


def _typed(schema: ConnectSchema, part: Any) -> ProtoType:
    if hasattr(part, "fields"):
        return ProtoType(schema, None, part)
    return ProtoType(schema, part, part.message_type if schema.type is ConnectType.STRUCT else None)
