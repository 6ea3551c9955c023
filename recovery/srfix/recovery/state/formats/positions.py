"""Positions: how far a store has come with the topics that its rows come from (`PositionSerde`, KIP-796).

`[1B version 0][4B topics]{[4B length][topic][4B partitions]{[4B partition][8B offset]}}`. Kafka Streams 4.3 makes the
buffer too large, so that zeros follow; they are ignored.
"""

from __future__ import annotations

import struct
from typing import Final, TypeAlias

from srfix.recovery.errors import FormatError

Place: TypeAlias = tuple[str, int, int]
"""Topic, partition and offset."""

_INT: Final = struct.Struct(">i")
_PAIR: Final = struct.Struct(">iq")
_VERSION: Final = 0


def decode_position(stored: bytes) -> tuple[Place, ...]:
    """In the order of the bytes. :raises FormatError: if it is cut short, of another version, or a number in it is negative."""
    if not stored:
        raise FormatError("its position is empty")
    if stored[0] != _VERSION:
        raise FormatError(f"its position has version {stored[0]} instead of {_VERSION}")
    found: list[Place] = []
    try:
        at = 1
        topics = _count(stored, at)
        at += _INT.size
        for _ in range(topics):
            length = _count(stored, at)
            at += _INT.size
            raw = stored[at : at + length]
            if len(raw) != length:
                raise FormatError("its position is cut short")
            topic = raw.decode("utf-8")
            at += length
            pairs = _count(stored, at)
            at += _INT.size
            for _ in range(pairs):
                partition, offset = _PAIR.unpack_from(stored, at)
                at += _PAIR.size
                found.append((topic, partition, offset))
    except (struct.error, UnicodeDecodeError):
        raise FormatError("its position is cut short or garbled") from None
    return tuple(found)


def _count(stored: bytes, at: int) -> int:
    count = int(_INT.unpack_from(stored, at)[0])
    if count < 0:
        raise FormatError(f"its position would have {count} topics, bytes or partitions")
    return count
