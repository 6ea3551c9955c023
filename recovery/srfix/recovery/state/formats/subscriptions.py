"""What foreign-key joins keep (2.4 and later): who has subscribed to which row of the other table.

The key is 4 bytes of length, the foreign key and the primary key (`CombinedKeySchema`). The value, behind the timestamp, is 1
byte (bit 7: the hash is null; the rest: version), 1 byte of instruction, 16 bytes of hash where it is not null, the primary
key, and from version 1 on 4 bytes of its partition (`SubscriptionWrapperSerde`).

Version 1 since 3.4; with `upgrade.from` 3.3 or older version 0 is written.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from srfix.recovery.errors import FormatError

_INT: Final = struct.Struct(">i")
_HASH_SIZE: Final = 16
_HEAD_SIZE: Final = 2
_HASH_IS_NULL: Final = 0x80
_VERSIONS: Final = (0, 1)
_INSTRUCTIONS: Final = range(4)


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinedKey:
    """The key of a subscription."""

    foreign_key: bytes
    """As the other table's key serde wrote it."""
    primary_key: bytes
    """As this table's key serde wrote it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """The value of a subscription."""

    version: int
    """0 or 1."""
    instruction: int
    """0 to 3 (`SubscriptionWrapper.Instruction`)."""
    hash: bytes | None
    """16 bytes of Murmur3 of the row that subscribes; None for a deleted one."""
    primary_key: bytes
    """As this table's key serde wrote it."""
    primary_partition: int | None = None
    """The partition of this table's row; None in version 0."""


def decode_combined_key(stored: bytes) -> CombinedKey:
    """:raises FormatError: if it is too short for the length that it begins with."""
    if len(stored) < _INT.size:
        raise FormatError(f"a key has {len(stored)} bytes, and the length in it needs {_INT.size}")
    length = int(_INT.unpack_from(stored)[0])
    if not 0 <= length <= len(stored) - _INT.size:
        raise FormatError(f"a foreign key would have {length} bytes, and {len(stored) - _INT.size} follow")
    at = _INT.size + length
    return CombinedKey(foreign_key=stored[_INT.size : at], primary_key=stored[at:])


def decode_subscription(stored: bytes) -> Subscription:
    """:raises FormatError: if it is cut short, or of a version or instruction that is not known."""
    if len(stored) < _HEAD_SIZE:
        raise FormatError(f"a subscription has {len(stored)} bytes, and its head needs {_HEAD_SIZE}")
    version, instruction = stored[0] & ~_HASH_IS_NULL, stored[1]
    _check(version, instruction)
    at = _HEAD_SIZE
    hash_: bytes | None = None
    if not stored[0] & _HASH_IS_NULL:
        hash_ = stored[at : at + _HASH_SIZE]
        at += _HASH_SIZE
    end = len(stored) - (_INT.size if version else 0)
    if at > end:
        raise FormatError(f"a subscription of {len(stored)} bytes is cut short")
    return Subscription(
        version=version,
        instruction=instruction,
        hash=hash_,
        primary_key=stored[at:end],
        primary_partition=int(_INT.unpack_from(stored, end)[0]) if version else None,
    )


def _check(version: int, instruction: int) -> None:
    if version not in _VERSIONS:
        raise FormatError(f"version {version} of subscriptions is not known")
    if instruction not in _INSTRUCTIONS:
        raise FormatError(f"instruction {instruction} of subscriptions is not known")
