"""The range of Java's whole numbers: Avro's int and long, ksqlDB's INTEGER and BIGINT, schema ids, partitions."""

from __future__ import annotations

from typing import Final, TypeGuard

INT_MIN: Final = -(2**31)
INT_MAX: Final = 2**31 - 1
LONG_MIN: Final = -(2**63)
LONG_MAX: Final = 2**63 - 1


def is_int(value: object) -> TypeGuard[int]:
    """True for a whole number of 32 bits; False for a bool."""
    return isinstance(value, int) and not isinstance(value, bool) and INT_MIN <= value <= INT_MAX


def written_varint(number: int) -> bytes:
    """A whole number of 32 bits as a zigzag varint (`ByteUtils.writeVarint`)."""
    number = number << 1 ^ number >> 31
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    written.append(number)
    return bytes(written)


def read_varint(data: bytes, start: int, end: int) -> tuple[int, int]:
    """The whole number of 32 bits whose zigzag varint begins at `start`, and where the varint ends.

    :raises IndexError: if it does not end before `end`.
    :raises ValueError: if it has more than 32 bits.
    """
    number = 0
    for place in range(5):
        if start + place >= end:
            raise IndexError
        byte = data[start + place]
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80 and number <= 0xFFFF_FFFF:
            return number >> 1 ^ -(number & 1), start + place + 1
    raise ValueError


def is_long(value: object) -> TypeGuard[int]:
    """True for a whole number of 64 bits; False for a bool."""
    return isinstance(value, int) and not isinstance(value, bool) and LONG_MIN <= value <= LONG_MAX
