"""Which partition a key goes to, as Java's clients and Kafka Streams say (`Utils.murmur2`, `BuiltInPartitioner`).

Windowed keys go where their inner key does. The bytes are those that the serializer wrote, a schema id in front of them
included: one logical key under two ids may lie in two partitions.
"""

from __future__ import annotations

import struct
from typing import Final

_SEED: Final = 0x9747B28C
_M: Final = 0x5BD1E995
_R: Final = 24
_MASK: Final = 0xFFFFFFFF
_WORD: Final = struct.Struct("<I")


def murmur2(data: bytes) -> int:
    """The hash of Java's clients, as a signed 32-bit integer."""
    length = len(data)
    whole = length & ~3
    result = (_SEED ^ length) & _MASK
    for (word,) in _WORD.iter_unpack(data[:whole]):
        mixed = word * _M & _MASK
        mixed = (mixed ^ mixed >> _R) * _M & _MASK
        result = (result * _M & _MASK) ^ mixed
    if whole != length:
        result = (result ^ int.from_bytes(data[whole:], "little")) * _M & _MASK
    result = (result ^ result >> 13) * _M & _MASK
    result ^= result >> 15
    return result - (1 << 32) if result >> 31 else result


def partition_of(key: bytes, partitions: int) -> int:
    """The partition of a key among so many.

    :raises ValueError: if there are no partitions.
    """
    if partitions < 1:
        raise ValueError("There must be a partition.")
    return (murmur2(key) & 0x7FFFFFFF) % partitions
