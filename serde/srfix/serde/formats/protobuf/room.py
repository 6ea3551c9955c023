"""Limits the memory that the runtime uses to parse a body.

The runtime allocates memory for all fields of a message, even if the message is empty. So two bytes of a body, which stand for
an empty message, take as much memory as a message with all fields of the schema. Only schemas with wide repeated messages are
checked, and only bodies that are long enough to exceed the limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from srfix.serde.bounds import payload_bounds
from srfix.serde.errors import PayloadBoundError
from srfix.serde.formats.protobuf.descriptors import messages_in

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor

FEWEST_BYTES: Final = 2
"""The fewest bytes of a message in a message: its field number, and the length 0."""
_VALUE: Final = 40
"""The bytes of memory that count as one value (`PayloadBounds`)."""
_MESSAGE: Final = 32
_SIZES: Final = {7: 1, 9: 16}
"""`FieldDescriptor.cpp_type` → bytes: bool, and string. Every other type takes at most eight."""
LEVELS: Final = 100
"""The deepest nesting that the runtime reads."""
_GROUP: Final = 3
_DELIMITED: Final = 2
"""Wire types."""


def room_check(message: Descriptor) -> Callable[[bytes], None] | None:
    """Refuses bodies whose messages take too much memory (no message: the runtime's DecodeError); None if none can."""
    # Empty has no fields, so the runtime keeps every field of the bytes unparsed, as an unknown field.
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
        if level > LEVELS:
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
                f"The messages in the {len(body)} bytes of the body take more memory than {values:,} values, the limit for a "
                "body of this size. The body is hostile or corrupt, or you must raise the limits (srfix.serde.bounds: values, "
                "values_per_byte).",
                bound="values",
            )

    return check


def has_required(message: Descriptor) -> bool:
    """Whether the message, or a message in it, has a `required` field (proto2)."""
    return any(field.is_required for part in messages_in(message) for field in part.fields)


def _repeated(message: Descriptor) -> Iterator[Descriptor]:
    """The types of messages that can occur in a body any number of times."""
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
    """The approximate bytes of memory for one message. A map entry includes its value, which the runtime always makes."""
    size = _MESSAGE + sum(8 if field.is_repeated else _SIZES.get(field.cpp_type, 8) for field in message.fields)
    if message.GetOptions().map_entry and (value := message.fields_by_name["value"].message_type) is not None:
        size += _room(value)
    return size
