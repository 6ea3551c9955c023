"""A strict reader of Protobuf's wire format, which shares nothing with the runtime: it says whether bytes are a message of a
generated schema, and which (https://protobuf.dev/programming-guides/encoding)."""

from __future__ import annotations

import struct
from typing import Any, Final

from tests.serde.formats.protobuf.strategies import Enum, Field, Message, SchemaCase, fields_of


class Refused(Exception):
    """The bytes are no message."""


class Beyond(Exception):
    """What the specification leaves open."""


_LONGEST: Final = 10
_DEEPEST: Final = 90
_FIXED: Final = {"fixed32": "<I", "sfixed32": "<i", "float": "<f", "fixed64": "<Q", "sfixed64": "<q", "double": "<d"}


def named_message(case: SchemaCase, others: tuple[Message, ...], body: bytes) -> tuple[Message, bytes]:
    """The message that a payload's indexes name, and its bytes.

    :raises Refused: if they name none.
    :raises Beyond: if it is the message of a map's entries.
    """
    count, at = _index(body, 0)
    if count == 0:
        return case.root, body[at:]
    if count < 0:
        raise Refused("fewer than no indexes")
    indexes = []
    for _ in range(min(count, 40)):
        index, at = _index(body, at)
        if index < 0:
            raise Refused("a negative index")
        indexes.append(index)
    messages = (case.root, *others)
    if count > 2 or indexes[0] >= len(messages):
        raise Refused("no such message")
    if count == 2:
        entries = sum(field.is_map for field in messages[indexes[0]].fields)
        if indexes[1] >= entries:
            raise Refused("no such message")
        raise Beyond
    return messages[indexes[0]], body[at:]


def _index(body: bytes, at: int) -> tuple[int, int]:
    number = 0
    for place in range(5):
        if at + place >= len(body):
            raise Refused("cut off")
        byte = body[at + place]
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at + place + 1
    raise Refused("beyond 32 bits")


def message_of(message: Message, body: bytes, *, is_proto2: bool) -> dict[str, Any]:
    """The fields that are set: what the runtime would be given to write.

    :raises Refused: if the bytes are no such message.
    :raises Beyond: if the specification says nothing.
    """
    value = _Reader(is_proto2=is_proto2).message(message, body, {})
    _check_required(message, value)
    return value


def _check_required(message: Message, value: dict[str, Any]) -> None:
    for field in fields_of(message).values():
        if field.label == "required" and field.name not in value:
            raise Refused("a required field is missing")
        if isinstance(field.type, Message) and field.name in value:
            part = value[field.name]
            parts = part.values() if field.is_map else part if field.label == "repeated" else [part]
            for each in parts:
                _check_required(field.type, each)


class _Reader:
    def __init__(self, *, is_proto2: bool) -> None:
        self._is_proto2 = is_proto2

    def message(self, message: Message, body: bytes, value: dict[str, Any]) -> dict[str, Any]:
        by_number = {field.number: field for field in fields_of(message).values()}
        at = 0
        while at < len(body):
            number, wire_type, at = _tag(body, at)
            raw, at = _raw(body, at, number, wire_type, 0)
            field = by_number.get(number)
            if field is not None:
                self._put(message, field, wire_type, raw, value)
        return value

    def _put(self, message: Message, field: Field, wire_type: int, raw: Any, value: dict[str, Any]) -> None:
        if field.is_map:
            if wire_type == 2:
                self._entry(field, raw, value)
            return
        if field.label == "repeated":
            items = self._items(field.type, wire_type, raw)
            if items:
                value.setdefault(field.name, []).extend(items)
            return
        old = value.get(field.name) if isinstance(field.type, Message) else None
        items = self._items(field.type, wire_type, raw, packed=False, old=old)
        if not items:
            return
        if field in message.oneof:
            for other in message.oneof:
                value.pop(other.name, None)
        value[field.name] = items[-1]

    def _entry(self, field: Field, raw: bytes, value: dict[str, Any]) -> None:
        entry = Message("", (Field("key", 1, field.label, "optional"), Field("value", 2, field.type, "optional")))
        known = _Reader(is_proto2=self._is_proto2)
        read = known.message(entry, raw, {})
        if _has_unknown(field, raw, is_proto2=self._is_proto2):
            raise Beyond  # to upb the whole entry is an unknown field then, to Java and C++ the entry without it is one
        empty: Any = (
            {} if isinstance(field.type, Message) else 0 if isinstance(field.type, Enum) else _default(field.type)
        )
        value.setdefault(field.name, {})[read.get("key", _default(field.label))] = read.get("value", empty)

    def _items(
        self,
        type_: str | Enum | Message,
        wire_type: int,
        raw: Any,
        *,
        packed: bool = True,
        old: dict[str, Any] | None = None,
    ) -> list[Any]:
        """The values; none of another wire type, which is an unknown field."""
        if isinstance(type_, Message):
            return [self.message(type_, raw, old or {})] if wire_type == 2 else []
        if type_ == "bytes":
            return [raw] if wire_type == 2 else []
        if type_ == "string":
            return [self._text(raw)] if wire_type == 2 else []
        wanted = _wire_type(type_)
        if wire_type == wanted:
            return self._known(type_, [_scalar(type_, raw)])
        if wire_type == 2 and packed:
            return self._known(type_, _packed(type_, wanted, raw))
        return []

    def _known(self, type_: str | Enum, items: list[Any]) -> list[Any]:
        if self._is_proto2 and isinstance(type_, Enum):
            return [item for item in items if item in type_.numbers]
        return items

    def _text(self, raw: bytes) -> str:
        try:
            return raw.decode()
        except UnicodeDecodeError:
            if self._is_proto2:
                raise Beyond from None
            raise Refused("no UTF-8") from None


def _has_unknown(field: Field, raw: bytes, *, is_proto2: bool) -> bool:
    """Whether an entry has a field that no entry has, or, of proto2, an enum's number that the enum has not."""
    at = 0
    while at < len(raw):
        number, wire_type, at = _tag(raw, at)
        part, at = _raw(raw, at, number, wire_type, 0)
        type_ = {1: field.label, 2: field.type}.get(number)
        if type_ is None or wire_type != (
            2 if isinstance(type_, Message) or type_ in ("string", "bytes") else _wire_type(type_)
        ):
            return True
        if is_proto2 and isinstance(type_, Enum) and _scalar(type_, part) not in type_.numbers:
            return True
    return False


def _default(type_: str) -> Any:
    return {"string": "", "bytes": b"", "bool": False, "float": 0.0, "double": 0.0}.get(type_, 0)


def _wire_type(type_: str | Enum) -> int:
    if isinstance(type_, str) and type_ in _FIXED:
        return 5 if struct.calcsize(_FIXED[type_]) == 4 else 1
    return 0


def _packed(type_: str | Enum, wire_type: int, raw: bytes) -> list[Any]:
    items, at = [], 0
    while at < len(raw):
        part, at = _raw(raw, at, 1, wire_type, 0)
        items.append(_scalar(type_, part))
    return items


def _scalar(type_: str | Enum, raw: Any) -> Any:
    if isinstance(type_, str) and type_ in _FIXED:
        return struct.unpack(_FIXED[type_], raw)[0]
    match type_:
        case "bool":
            return raw != 0
        case "uint32":
            return raw % 2**32
        case "uint64":
            return raw
        case "int64":
            return _signed(raw, 64)
        case "sint32":
            return _zigzag(raw % 2**32)
        case "sint64":
            return _zigzag(raw)
        case _:  # int32, an enum
            return _signed(raw % 2**32, 32)


def _signed(number: int, bits: int) -> int:
    return number - (1 << bits) if number >> bits - 1 else number


def _zigzag(number: int) -> int:
    return (number >> 1) ^ -(number & 1)


def _varint(body: bytes, at: int, *, most: int) -> tuple[int, int]:
    """:param most: bytes; more of them than the number needs are left open."""
    number = 0
    for place in range(_LONGEST):
        if at + place >= len(body):
            raise Refused("cut off")
        byte = body[at + place]
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            if place >= most or number >= 2**64:
                raise Beyond
            return number, at + place + 1
    raise Refused("a number of more than ten bytes")


def _tag(body: bytes, at: int) -> tuple[int, int, int]:
    tag, at = _varint(body, at, most=5)
    if tag >= 2**32:
        raise Beyond
    if not tag >> 3:
        raise Refused("no field has the number 0")
    return tag >> 3, tag & 7, at


def _raw(body: bytes, at: int, number: int, wire_type: int, level: int) -> tuple[Any, int]:
    """What stands behind a tag: a number, bytes, or None for a group, which no generated schema has."""
    match wire_type:
        case 0:
            return _varint(body, at, most=_LONGEST)
        case 1 | 5:
            size = 8 if wire_type == 1 else 4
        case 2:
            size, at = _varint(body, at, most=5)
        case 3:
            return None, _group_end(body, at, number, level)
        case _:
            raise Refused("an end without a beginning, or no wire type")
    if at + size > len(body):
        raise Refused("cut off")
    return body[at : at + size], at + size


def _group_end(body: bytes, at: int, number: int, level: int) -> int:
    if level > _DEEPEST:
        raise Beyond
    while at < len(body):
        inner, wire_type, at = _tag(body, at)
        if wire_type == 4:
            if inner != number:
                raise Refused("the end of another group")
            return at
        _, at = _raw(body, at, inner, wire_type, level + 1)
    raise Refused("a group without end")
