"""Bounds the memory that the runtime takes for a parsed body.

A parsed message takes memory for all fields of its schema, even if the body only has the two bytes that say that the message
is there. Only schemas with wide repeated messages are checked, and only bodies that could take more memory than is allowed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from srfix.serde.bounds import payload_bounds
from srfix.serde.errors import PayloadBoundError

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor, FieldDescriptor

FEWEST_BYTES: Final = 2
"""The bytes of an empty message in a message: its field number, and its length 0."""
_VALUE: Final = 40
"""How many bytes of memory a value takes (`PayloadBounds`)."""
_MESSAGE: Final = 32
_SIZES: Final = {7: 1, 9: 16}
"""Bytes by `FieldDescriptor.cpp_type`: bool and string. All other types have at most eight bytes."""
_LEVELS: Final = 100
"""How deep the runtime reads."""
_GROUP: Final = 3
_DELIMITED: Final = 2
"""Wire types."""


def room_check(message: Descriptor) -> Callable[[bytes], None] | None:
    """A function that raises a PayloadBoundError for a body whose messages take too much memory; None if no body can.

    For bytes that are not a message, it raises the runtime's own DecodeError.
    """
    # An Empty has no fields, so the runtime keeps all fields of a body as unknown ones, without parsing their messages.
    from google.protobuf.empty_pb2 import Empty
    from google.protobuf.message import DecodeError
    from google.protobuf.unknown_fields import UnknownFieldSet

    bounds = payload_bounds()
    widest = max(map(_room, _repeated(message)), default=0)
    spare = widest / FEWEST_BYTES - bounds.values_per_byte * _VALUE
    if spare <= 0:
        return None
    longest = bounds.values * _VALUE / spare

    parts: dict[str, dict[int, tuple[int, Descriptor]]] = {}

    def parts_of(message: Descriptor) -> dict[int, tuple[int, Descriptor]]:
        known = parts.get(message.full_name)
        if known is None:
            messages = ((field.number, field.message_type) for field in message.fields)
            known = parts[message.full_name] = {
                number: (_room(part), part) for number, part in messages if part is not None
            }
        return known

    def measured(fields: Any, of: Descriptor, left: float, level: int) -> float:
        if level > _LEVELS:
            raise DecodeError("it nests too deep")
        known = parts_of(of)
        for field in fields:
            size, part = known.get(field.field_number, (0, None))
            if part is None or field.wire_type not in (_DELIMITED, _GROUP):
                continue
            left -= size
            if left < 0:
                return left
            inner = field.data
            if not inner:
                continue
            if field.wire_type == _DELIMITED:
                inner = UnknownFieldSet(Empty.FromString(inner))
            left = measured(inner, part, left, level + 1)
        return left

    def check(body: bytes) -> None:
        if len(body) <= longest:
            return
        values = bounds.budget(len(body))
        if measured(UnknownFieldSet(Empty.FromString(body)), message, values * _VALUE, 0) < 0:
            raise PayloadBoundError(
                f"The messages in the {len(body)} bytes of the body take more room than {values:,} values, the limit for a "
                "body of its size. It is hostile or corrupt, or you must raise the limits (srfix.serde.bounds: values, "
                "values_per_byte).",
                bound="values",
            )

    return check


def has_required(message: Descriptor) -> bool:
    """Whether a field of it, or of a message in it, is `required` (proto2)."""
    return any(field.is_required for field in _fields(message))


def _fields(message: Descriptor) -> Iterator[FieldDescriptor]:
    left, seen = [message], {message.full_name}
    while left:
        for field in left.pop().fields:
            yield field
            if field.message_type is not None and field.message_type.full_name not in seen:
                seen.add(field.message_type.full_name)
                left.append(field.message_type)


def _repeated(message: Descriptor) -> Iterator[Descriptor]:
    """The messages that a body can contain any number of times."""
    left, seen = [(message, False)], set[tuple[str, bool]]()
    while left:
        holder, many = left.pop()
        for field in holder.fields:
            part, is_many = field.message_type, many or field.is_repeated
            if part is None or (part.full_name, is_many) in seen:
                continue
            seen.add((part.full_name, is_many))
            left.append((part, is_many))
            if is_many:
                yield part


def _room(message: Descriptor) -> int:
    """The memory of a message, roughly, in bytes. A map's entry includes its value, which the runtime always makes."""
    size = _MESSAGE + sum(8 if field.is_repeated else _SIZES.get(field.cpp_type, 8) for field in message.fields)
    if message.GetOptions().map_entry and (value := message.fields_by_name["value"].message_type) is not None:
        size += _room(value)
    return size
