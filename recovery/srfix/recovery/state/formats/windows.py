"""Keys of window stores: the key, the start of its window, and a number that tells entries of one window apart.

| form | bytes | where |
|---|---|---|
| usual | key, start, number | window stores, and the changelogs of all of them (`WindowKeySchema`) |
| time first | `00`, start, key, number | stores that emit final results, 3.3 and later (`TimeFirstWindowKeySchema`) |
| key first | `01`, key, start, number | the index in the same database, with empty values (`KeyFirstWindowKeySchema`) |

The start is 8 bytes of milliseconds, the number 4 bytes: 0 but in the windows of stream-stream joins, where it counts from 1.
The end of a window is not stored.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from srfix.recovery.errors import FormatError
from srfix.serde.errors import DecodeError, UsageError
from srfix.serde.windowed import Window, WindowKind, join, split

_TIME_FIRST: Final = b"\0"
_KEY_FIRST: Final = b"\1"
_START: Final = struct.Struct(">q")
_NUMBER: Final = struct.Struct(">i")


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowStoreKey:
    """A key within a window."""

    key: bytes
    """As the key's serde wrote it."""
    start_ms: int
    """The start of the window, in milliseconds since the epoch."""
    sequence_number: int = 0
    """Which of several entries of the same key and window."""


def decode_window_store_key(stored: bytes) -> WindowStoreKey:
    """:raises FormatError: if it is too short, or its last bytes are no window."""
    try:
        key, window = split(stored, WindowKind.TIME_STORE)
    except (DecodeError, UsageError) as error:
        raise FormatError(error.message.rstrip(".")) from None
    return WindowStoreKey(key=key, start_ms=window.start_ms, sequence_number=window.sequence_number or 0)


def encode_window_store_key(key: WindowStoreKey) -> bytes:
    """:raises FormatError: if the start or the number is negative or too great."""
    try:
        return join(key.key, Window(key.start_ms, None, key.sequence_number), WindowKind.TIME_STORE)
    except UsageError as error:
        raise FormatError(error.message.rstrip(".")) from None


def decode_time_first_window_key(stored: bytes) -> WindowStoreKey:
    """:raises FormatError: if it does not begin with `00`, or is too short."""
    _require(stored, _TIME_FIRST)
    start = int(_START.unpack_from(stored, 1)[0])
    number = int(_NUMBER.unpack_from(stored, len(stored) - _NUMBER.size)[0])
    return _checked(stored[1 + _START.size : -_NUMBER.size], start, number)


def encode_time_first_window_key(key: WindowStoreKey) -> bytes:
    """:raises FormatError: if the start or the number is negative or too great."""
    usual = encode_window_store_key(key)
    size = len(key.key)
    return b"".join((_TIME_FIRST, usual[size : size + _START.size], key.key, usual[size + _START.size :]))


def decode_key_first_window_key(stored: bytes) -> WindowStoreKey:
    """:raises FormatError: if it does not begin with `01`, or is too short."""
    _require(stored, _KEY_FIRST)
    return decode_window_store_key(stored[1:])


def encode_key_first_window_key(key: WindowStoreKey) -> bytes:
    """:raises FormatError: if the start or the number is negative or too great."""
    return _KEY_FIRST + encode_window_store_key(key)


def _require(stored: bytes, first: bytes) -> None:
    if not stored.startswith(first) or len(stored) < 1 + _START.size + _NUMBER.size:
        raise FormatError(f"a key of {len(stored)} bytes is none of the form that begins with {first.hex()}")


def _checked(key: bytes, start: int, number: int) -> WindowStoreKey:
    if start < 0 or number < 0:
        raise FormatError(f"a window cannot start at {start}, nor have number {number}")
    return WindowStoreKey(key=key, start_ms=start, sequence_number=number)
