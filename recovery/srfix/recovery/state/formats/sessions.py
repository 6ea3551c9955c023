"""Keys of session stores: the key, and from when to when its session goes.

| form | bytes | where |
|---|---|---|
| usual | key, end, start | session stores, their changelogs and topics (`SessionKeySchema`) |
| time first | `00`, end, start, key | stores that emit final results, 3.3 and later (`TimeFirstSessionKeySchema`) |
| key first | `01`, key, end, start | the index in the same database, with empty values (`KeyFirstSessionKeySchema`) |
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
_TIMES: Final = struct.Struct(">qq")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionKey:
    """A key within a session."""

    key: bytes
    """As the key's serde wrote it."""
    start_ms: int
    """The first record's time, in milliseconds since the epoch."""
    end_ms: int
    """The last record's time, inclusive."""


def decode_session_key(stored: bytes) -> SessionKey:
    """:raises FormatError: if it is too short, or its last bytes are no session."""
    try:
        key, window = split(stored, WindowKind.SESSION)
    except (DecodeError, UsageError) as error:
        raise FormatError(error.message.rstrip(".")) from None
    return SessionKey(key=key, start_ms=window.start_ms, end_ms=window.end_ms if window.end_ms is not None else -1)


def encode_session_key(key: SessionKey) -> bytes:
    """:raises FormatError: if a time is negative or too great, or the end is before the start."""
    try:
        return join(key.key, Window(key.start_ms, key.end_ms), WindowKind.SESSION)
    except UsageError as error:
        raise FormatError(error.message.rstrip(".")) from None


def decode_time_first_session_key(stored: bytes) -> SessionKey:
    """:raises FormatError: if it does not begin with `00`, is too short, or its times are no session."""
    _require(stored, _TIME_FIRST)
    return decode_session_key(stored[1 + _TIMES.size :] + stored[1 : 1 + _TIMES.size])


def encode_time_first_session_key(key: SessionKey) -> bytes:
    """:raises FormatError: as `encode_session_key`."""
    usual = encode_session_key(key)
    return b"".join((_TIME_FIRST, usual[len(key.key) :], key.key))


def decode_key_first_session_key(stored: bytes) -> SessionKey:
    """:raises FormatError: if it does not begin with `01`, is too short, or its times are no session."""
    _require(stored, _KEY_FIRST)
    return decode_session_key(stored[1:])


def encode_key_first_session_key(key: SessionKey) -> bytes:
    """:raises FormatError: as `encode_session_key`."""
    return _KEY_FIRST + encode_session_key(key)


def _require(stored: bytes, first: bytes) -> None:
    if not stored.startswith(first) or len(stored) < 1 + _TIMES.size:
        raise FormatError(f"a key of {len(stored)} bytes is none of the form that begins with {first.hex()}")
