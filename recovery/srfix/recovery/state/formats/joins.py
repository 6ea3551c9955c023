"""The rows that joins keep: records of streams until a window closes, and subscriptions to rows of another table.

Outer and left joins of two streams (3.1 and later) have lists of values by time, side and key:

| part | bytes | class |
|---|---|---|
| key | 8 bytes of timestamp, `01` left or `00` right, the key | `TimestampedKeyAndJoinSideSerializer` |
| list | `01`, 4 bytes of number, then for each 4 bytes of length and the bytes; length -1 for null | `ListSerializer` |
| an entry | `01` left or `00` right, the value | `LeftOrRightValueSerializer` |

A list of entries of one length may have another form (`00`), which these stores do not use.

Foreign-key joins (2.4 and later) have subscriptions. The key is 4 bytes of length, the foreign key and the primary key
(`CombinedKeySchema`). The value, after the timestamp, is 1 byte (bit 7: the hash is null; the rest: version), 1 byte of
instruction, 16 bytes of hash if it is not null, the primary key, and from version 1 on 4 bytes of its partition
(`SubscriptionWrapperSerde`). Streams writes version 1 since 3.4; with `upgrade.from` 3.3 or older it writes version 0.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from srfix.recovery.errors import FormatError
from srfix.serde.printable import counted

_VARIABLE_SIZE: Final = 1
_NULL: Final = -1
_LONG: Final = struct.Struct(">q")
_INT: Final = struct.Struct(">i")
_HEAD: Final = struct.Struct(">bi")
_HASH_SIZE: Final = 16
_HEAD_SIZE: Final = 2
_HASH_IS_NULL: Final = 0x80
_VERSIONS: Final = (0, 1)
_INSTRUCTIONS: Final = range(4)


class Side(Enum):
    """The side of a join."""

    RIGHT = 0
    """The other stream."""
    LEFT = 1
    """This stream."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinSideKey:
    key: bytes
    timestamp_ms: int
    side: Side


@dataclass(frozen=True, slots=True, kw_only=True)
class SidedValue:
    payload: bytes
    side: Side


def decode_join_side_key(stored: bytes) -> JoinSideKey:
    if len(stored) < _LONG.size + 1:
        raise FormatError(f"a key has {counted(len(stored), 'byte')}, and its time and side need {_LONG.size + 1}")
    timestamp = int(_LONG.unpack_from(stored)[0])
    return JoinSideKey(key=stored[_LONG.size + 1 :], timestamp_ms=timestamp, side=_side(stored[_LONG.size]))


def decode_sided_value(stored: bytes) -> SidedValue:
    if not stored:
        raise FormatError("an entry of a join's list is empty, but it needs at least one byte, for its side")
    return SidedValue(payload=stored[1:], side=_side(stored[0]))


def encode_sided_value(value: SidedValue) -> bytes:
    return bytes([value.side.value]) + value.payload


def decode_list(stored: bytes) -> tuple[bytes | None, ...]:
    if len(stored) < _HEAD.size:
        raise FormatError(f"a list has {counted(len(stored), 'byte')}, and its head needs {_HEAD.size}")
    strategy, count = _HEAD.unpack_from(stored)
    if strategy != _VARIABLE_SIZE:
        raise FormatError(f"a list begins with {strategy}, but lists of joins begin with {_VARIABLE_SIZE}")
    if count < 0:
        raise FormatError(f"a list claims {count} entries")
    entries: list[bytes | None] = []
    at = _HEAD.size
    for _ in range(count):  # ends at the first entry that is cut short, even if the list announces more
        if len(stored) - at < _INT.size:
            raise FormatError(f"a list of {count} entries is cut short at entry {len(entries) + 1}")
        length = int(_INT.unpack_from(stored, at)[0])
        at += _INT.size
        if length == _NULL:
            entries.append(None)
            continue
        if length < 0 or length > len(stored) - at:
            raise FormatError(
                f"entry {len(entries) + 1} of a list claims {counted(length, 'byte')}, but {len(stored) - at} follow"
            )
        entries.append(stored[at : at + length])
        at += length
    if at != len(stored):
        raise FormatError(f"a list has {counted(len(stored) - at, 'byte')} too many after its entries")
    return tuple(entries)


def encode_list(entries: Sequence[bytes | None]) -> bytes:
    parts = [_HEAD.pack(_VARIABLE_SIZE, len(entries))]
    for entry in entries:
        parts += [_INT.pack(_NULL)] if entry is None else [_INT.pack(len(entry)), entry]
    return b"".join(parts)


def _side(number: int) -> Side:
    try:
        return Side(number)
    except ValueError:
        raise FormatError(f"the side of a join is 0 or 1, not {number}") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinedKey:
    foreign_key: bytes
    primary_key: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    version: int
    instruction: int
    """0 to 3 (`SubscriptionWrapper.Instruction`)."""
    hash: bytes | None
    """16 bytes of Murmur3 of the subscribing row; None for a deleted row."""
    primary_key: bytes
    primary_partition: int | None = None
    """The partition of this table's row; None in version 0."""


def decode_combined_key(stored: bytes) -> CombinedKey:
    if len(stored) < _INT.size:
        raise FormatError(f"a key has {counted(len(stored), 'byte')}, and the length in it needs {_INT.size}")
    length = int(_INT.unpack_from(stored)[0])
    if not 0 <= length <= len(stored) - _INT.size:
        raise FormatError(f"a foreign key claims {counted(length, 'byte')}, but {len(stored) - _INT.size} follow")
    at = _INT.size + length
    return CombinedKey(foreign_key=stored[_INT.size : at], primary_key=stored[at:])


def decode_subscription(stored: bytes) -> Subscription:
    if len(stored) < _HEAD_SIZE:
        raise FormatError(f"a subscription has {counted(len(stored), 'byte')}, and its head needs {_HEAD_SIZE}")
    version, instruction = stored[0] & ~_HASH_IS_NULL, stored[1]
    if version not in _VERSIONS:
        raise FormatError(f"version {version} of subscriptions is not known")
    if instruction not in _INSTRUCTIONS:
        raise FormatError(f"instruction {instruction} of subscriptions is not known")
    at = _HEAD_SIZE
    hash_: bytes | None = None
    if not stored[0] & _HASH_IS_NULL:
        hash_ = stored[at : at + _HASH_SIZE]
        at += _HASH_SIZE
    end = len(stored) - (_INT.size if version else 0)
    if at > end:
        raise FormatError(f"a subscription of {counted(len(stored), 'byte')} is cut short")
    return Subscription(
        version=version,
        instruction=instruction,
        hash=hash_,
        primary_key=stored[at:end],
        primary_partition=int(_INT.unpack_from(stored, end)[0]) if version else None,
    )
