"""Keys of window and session stores: the key, with the times of its window.

| form | windows | sessions |
|---|---|---|
| usual (`WindowKeySchema`, `SessionKeySchema`) | key, start, number | key, end, start |
| time first (`TimeFirstWindowKeySchema`, `TimeFirstSessionKeySchema`) | `00`, start, key, number | `00`, end, start, key |
| key first (`KeyFirstWindowKeySchema`, `KeyFirstSessionKeySchema`) | `01`, key, start, number | `01`, key, end, start |

All their changelogs, and topics of sessions, have the usual form, too. Rows of stores that emit final results (3.3 and
later) have the time first; rows of the index in the same database have the key first, and empty values.

Times are 8 bytes of milliseconds since the epoch, the number 4 bytes. It is 0 except in the windows of stream-stream
joins, where it counts from 1 and distinguishes the entries of one window. The end of a window is not stored.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from srfix.recovery.errors import FormatError
from srfix.serde.errors import DecodeError, UsageError
from srfix.serde.printable import counted
from srfix.serde.windowed import Window, WindowKind, join, split

INDEX: Final = b"\1"
_TIME_FIRST: Final = b"\0"
_TIME_SIZE: Final = 8
_new = tuple.__new__
"""Makes windows without a Python call for each."""


class StoredWindow(NamedTuple):
    start_ms: int
    """Inclusive, in milliseconds since the epoch."""
    end_ms: int | None = None
    """Inclusive, for a session; None for other windows, whose size is not stored."""
    sequence_number: int = 0
    """The number of the row among several rows of a key and window, in the windows of stream-stream joins."""

    @property
    def last_ms(self) -> int:
        """The time that decides its segment: a window's start, a session's end."""
        return self.start_ms if self.end_ms is None else self.end_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowedKeys:
    """Reads and writes keys with their windows; the two formats are `WINDOWS` and `SESSIONS`."""

    kind: WindowKind
    tail: struct.Struct
    """The bytes after the key in the usual form; the first of them are the time that decides a row's segment."""
    times_size: int
    """How many of these bytes come before the key if times come first."""
    windows_of: Callable[[bytes], list[StoredWindow] | None]
    """The windows in many tails, one after the other; None if one of them is no window."""

    @property
    def behind_first_time(self) -> int:
        return self.tail.size - _TIME_SIZE

    def decode(self, stored: bytes) -> tuple[bytes, StoredWindow]:
        """The key and its window; a FormatError if it is too short, or its last bytes are no window."""
        try:
            key, window = split(stored, self.kind)
        except (DecodeError, UsageError) as error:
            raise FormatError(error.message.rstrip(".")) from None
        return key, StoredWindow(window.start_ms, window.end_ms, window.sequence_number or 0)

    def decode_many(self, stored: list[bytes]) -> tuple[Sequence[bytes], Sequence[StoredWindow]] | None:
        size = self.tail.size
        tails = b"".join([key[-size:] for key in stored])
        windows = self.windows_of(tails) if len(tails) == size * len(stored) else None
        return None if windows is None else ([key[:-size] for key in stored], windows)

    def encode(self, key: bytes, window: StoredWindow) -> bytes:
        """:raises FormatError: if a time or the number is negative or too great, or a session's end is before its start."""
        number = window.sequence_number if self.kind is WindowKind.TIME_STORE else None
        try:
            return join(key, Window(window.start_ms, window.end_ms, number), self.kind)
        except UsageError as error:
            raise FormatError(error.message.rstrip(".")) from None

    def decode_time_first(self, stored: bytes) -> tuple[bytes, StoredWindow]:
        self._require(stored, _TIME_FIRST)
        begin, end = 1 + self.times_size, len(stored) - (self.tail.size - self.times_size)
        return self.decode(stored[begin:end] + stored[1:begin] + stored[end:])

    def encode_time_first(self, key: bytes, window: StoredWindow) -> bytes:
        tail = self.encode(b"", window)
        return b"".join((_TIME_FIRST, tail[: self.times_size], key, tail[self.times_size :]))

    def decode_key_first(self, stored: bytes) -> tuple[bytes, StoredWindow]:
        self._require(stored, INDEX)
        return self.decode(stored[1:])

    def encode_key_first(self, key: bytes, window: StoredWindow) -> bytes:
        return INDEX + self.encode(key, window)

    def segment_time(self, stored: bytes) -> int:
        """The time that decides the segment of a key of the usual form, in milliseconds."""
        return int(self.tail.unpack(stored[-self.tail.size :])[0])

    def _require(self, stored: bytes, first: bytes) -> None:
        if not stored.startswith(first) or len(stored) < 1 + self.tail.size:
            raise FormatError(
                f"a key of {counted(len(stored), 'byte')} does not have the form that begins with {first.hex()}"
            )


_WINDOW: Final = struct.Struct(">qi")
_SESSION: Final = struct.Struct(">qq")


def _windows_of(tails: bytes) -> list[StoredWindow] | None:
    windows = list(_WINDOW.iter_unpack(tails))
    if any(start < 0 or number < 0 for start, number in windows):
        return None
    return [_new(StoredWindow, (start, None, number)) for start, number in windows]


def _sessions_of(tails: bytes) -> list[StoredWindow] | None:
    sessions = list(_SESSION.iter_unpack(tails))
    if not all(0 <= start <= end for end, start in sessions):
        return None
    return [_new(StoredWindow, (start, end, 0)) for end, start in sessions]


WINDOWS: Final = WindowedKeys(kind=WindowKind.TIME_STORE, tail=_WINDOW, times_size=_TIME_SIZE, windows_of=_windows_of)
SESSIONS: Final = WindowedKeys(
    kind=WindowKind.SESSION, tail=_SESSION, times_size=2 * _TIME_SIZE, windows_of=_sessions_of
)
