"""Payloads → messages; a body whose messages would take too much memory is refused before it is parsed.

In a payload, the message's indexes stand before the body (`MessageIndexes.readFrom`). The runtime parses the body: it
limits the depth, and checks the strings of proto3. Fields that the schema lacks are ignored.

The runtime allocates memory for all fields of a message, even if the message is empty. So two bytes of a body, which
stand for an empty message, take as much memory as a message with all fields of the schema. Only schemas with wide
repeated messages are checked, and only bodies that are long enough to exceed the limit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from srfix.serde.bounds import payload_bounds
from srfix.serde.engine import Decode
from srfix.serde.errors import DecodeError, PayloadBoundError, SchemaError, SrfixError
from srfix.serde.formats.json.budget import Budget
from srfix.serde.formats.protobuf.descriptors import class_of, messages_in
from srfix.serde.formats.protobuf.indexes import read_indexes
from srfix.serde.interface import Value
from srfix.serde.printable import counted

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


def body_decoder(make: Callable[[tuple[int, ...]], Callable[[bytes], Value]], *, framed: bool) -> Decode:
    """A decoder of payloads, with message indexes if `framed`. `make` gives the reader of a message's bodies."""
    first = make((0,))
    if not framed:
        return lambda payload, offset: first(payload[offset:] if offset else payload)

    @cache  # at most one entry for each message of the schema
    def reader_of(indexes: tuple[int, ...]) -> Callable[[bytes], Value]:
        try:
            return make(indexes)
        except IndexError:
            raise DecodeError(
                f"The payload's message indexes {list(indexes)} name no message of the writer's schema. The payload is "
                "corrupt, or its producer is not a Protobuf serializer with a registry."
            ) from None
        except SchemaError as error:  # only of this payload: others can hold other messages of the schema
            raise DecodeError(
                f"The payload's message indexes {list(indexes)} name an unusable message: {error}"
            ) from error

    def decode(payload: bytes, body_offset: int) -> Value:
        if len(payload) > body_offset and not payload[body_offset]:  # the first message
            return first(payload[body_offset + 1 :])
        try:
            indexes, start = read_indexes(payload, body_offset)
            read = reader_of(indexes)
        except DecodeError as error:
            if _is_message(first, payload[body_offset:] or b"\0"):  # a zero is no message
                error.args = (
                    f"{error.message} Without indexes, its bytes are a message of the schema: perhaps its producer omits the "
                    "indexes. It must write them (00 for the schema's first message).",
                )
            raise
        return read(payload[start:])

    return decode


def _is_message(read: Callable[[bytes], Value], body: bytes) -> bool:
    """Whether the runtime parses the bytes, even if the columns then do not fit them."""
    from google.protobuf.message import DecodeError as ParseError

    try:
        read(body)
    except SrfixError as error:
        return not isinstance(error.__cause__, ParseError)
    return True


def reader(message: Descriptor, read: Callable[[Any], Value], budget: Budget | None = None) -> Callable[[bytes], Value]:
    """The reader of a message's bodies. Without a `budget`, required fields may be missing, as with the runtime."""
    from google.protobuf.message import DecodeError as ParseError

    made = class_of(message)
    parse: Callable[[bytes], Any] = made.FromString
    measured, lacking = _room_check(message), None
    if budget is not None and any(field.is_required for part in messages_in(message) for field in part.fields):
        lacking = made.FindInitializationErrors

    def parse_checked(body: bytes) -> Any:
        if measured is not None:
            measured(body)
        parsed = made.FromString(body)
        if lacking is not None and (names := lacking(parsed)):
            raise DecodeError(f"The body lacks fields that its schema requires: {', '.join(names)}.")
        if budget is not None:
            budget.begin(len(body))
        return parsed

    if measured is not None or lacking is not None or (budget is not None and budget.is_needed):
        parse = parse_checked

    def read_body(body: bytes) -> Value:
        try:
            parsed = parse(body)
        except ParseError as error:
            raise DecodeError(
                f"The body of {counted(len(body), 'byte')} is not a message {message.full_name} ({error}). It is corrupt or "
                "cut off, or was written under another schema."
            ) from error
        return read(parsed)

    return read_body


def _room_check(message: Descriptor) -> Callable[[bytes], None] | None:
    """Refuses bodies whose messages take too much memory; None if none can. For bytes that are
    no message, the check raises the runtime's own DecodeError."""
    # Empty has no fields, so the runtime keeps every field of the bytes unparsed, as an unknown field.
    from google.protobuf.empty_pb2 import Empty
    from google.protobuf.message import DecodeError as ParseError
    from google.protobuf.unknown_fields import UnknownFieldSet

    bounds = payload_bounds()
    fields = (field for part in messages_in(message) for field in part.fields if field.is_repeated)
    # The messages that can occur in a body any number of times.
    repeated = messages_in(*{field.message_type for field in fields if field.message_type is not None})
    widest = max(map(_room, repeated), default=0)
    spare = widest / FEWEST_BYTES - bounds.values_per_byte * _VALUE
    if spare <= 0:
        return None
    longest = bounds.values * _VALUE / spare

    @cache
    def parts_of(message: Descriptor) -> dict[int, tuple[int, Descriptor]]:
        messages = ((field.number, field.message_type) for field in message.fields)
        return {number: (_room(part), part) for number, part in messages if part is not None}

    def measured(fields: Any, of: Descriptor, left: float, level: int) -> float:
        if level > LEVELS:
            raise ParseError("it nests too deep")
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
                f"The messages in the {len(body)} bytes of the body need more memory than srfix allows for a body of this size "
                f"(the memory of {values:,} values). The body is hostile or corrupt, or you must raise the limits "
                "(srfix.serde.bounds: values, values_per_byte).",
                bound="values",
            )

    return check


def _room(message: Descriptor) -> int:
    """The approximate bytes of memory for one message. A map entry includes its value, which the runtime always makes."""
    size = _MESSAGE + sum(8 if field.is_repeated else _SIZES.get(field.cpp_type, 8) for field in message.fields)
    if message.GetOptions().map_entry and (value := message.fields_by_name["value"].message_type) is not None:
        size += _room(value)
    return size
