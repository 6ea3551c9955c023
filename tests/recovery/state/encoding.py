"""The inverses of what srfix reads in stores and never writes: for tests, which make such rows."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final

from srfix.recovery.errors import FormatError
from srfix.recovery.state.checkpoints import CheckpointEntry
from srfix.recovery.state.formats.joins import CombinedKey, JoinSideKey, Subscription

_INT: Final = struct.Struct(">i")
_LONG: Final = struct.Struct(">q")
_PAIR: Final = struct.Struct(">iq")
_HASH_SIZE: Final = 16
_HASH_IS_NULL: Final = 0x80
_VERSION: Final = 0
_VERSIONS: Final = (0, 1)
_INSTRUCTIONS: Final = range(4)


def encode_join_side_key(key: JoinSideKey) -> bytes:
    """:raises FormatError: if the timestamp is no 64-bit number."""
    try:
        return _LONG.pack(key.timestamp_ms) + bytes([key.side.value]) + key.key
    except struct.error:
        raise FormatError(f"{key.timestamp_ms} is no timestamp: it needs more than 64 bits") from None


def encode_position(entries: Iterable[CheckpointEntry]) -> bytes:
    """Without zeros behind it. :raises FormatError: if a number is too great for its bytes, or a topic is no UTF-8."""
    by_topic: dict[str, list[tuple[int, int | None]]] = {}
    for entry in entries:
        by_topic.setdefault(entry.topic, []).append((entry.partition, entry.offset))
    parts = [bytes([_VERSION]), _INT.pack(len(by_topic))]
    try:
        for topic, pairs in by_topic.items():
            raw = topic.encode()
            parts += [_INT.pack(len(raw)), raw, _INT.pack(len(pairs)), *(_PAIR.pack(*pair) for pair in pairs)]
    except struct.error as error:
        raise FormatError(f"a number of a position is too great for its bytes: {error}") from None
    except UnicodeEncodeError:
        raise FormatError("a topic of a position cannot be written in UTF-8") from None
    return b"".join(parts)


def encode_combined_key(key: CombinedKey) -> bytes:
    """The inverse of `decode_combined_key`."""
    return _INT.pack(len(key.foreign_key)) + key.foreign_key + key.primary_key


def encode_subscription(value: Subscription) -> bytes:
    """:raises FormatError: if a part is none that a subscription has."""
    _check(value.version, value.instruction)
    if value.hash is not None and len(value.hash) != _HASH_SIZE:
        raise FormatError(f"the hash of a subscription has {_HASH_SIZE} bytes, not {len(value.hash)}")
    if (value.primary_partition is None) != (value.version == 0):
        raise FormatError(f"version {value.version} has {'no' if value.version == 0 else 'a'} partition")
    first = value.version | (_HASH_IS_NULL if value.hash is None else 0)
    try:
        last = b"" if value.primary_partition is None else _INT.pack(value.primary_partition)
    except struct.error:
        raise FormatError(f"{value.primary_partition} is no partition: it needs more than 32 bits") from None
    return b"".join((bytes([first, value.instruction]), value.hash or b"", value.primary_key, last))


def _check(version: int, instruction: int) -> None:
    if version not in _VERSIONS or instruction not in _INSTRUCTIONS:
        raise FormatError(f"there is no subscription of version {version} with instruction {instruction}")
