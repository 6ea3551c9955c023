"""Windowed keys: a key in any format, and its window.

| kind | bytes | where | Kafka's class |
|---|---|---|---|
| `TIME` | key, start | topics of tumbling and hopping windows | `TimeWindowedSerializer` |
| `SESSION` | key, end, start | topics and stores of session windows | `SessionWindowedSerializer`, `SessionKeySchema` |
| `TIME_STORE` | key, start, sequence number | window stores and their changelogs | `WindowKeySchema` |

Times are 8-byte big-endian milliseconds since the epoch, the sequence number 4 bytes. The key's own length is not
written: the rest of the bytes is the key. Nothing in the bytes shows their kind, and a wrong kind gives another key and
other times. Window stores that emit final results order their entries by time first since Kafka 3.3 (KAFKA-13785); this
module does not read those.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, Generic, TypeVar

from srfix.serde.errors import DecodeError, TruncatedBodyError, UsageError
from srfix.serde.java_ints import INT_MAX, LONG_MAX

K = TypeVar("K")

_TIME: Final = struct.Struct(">q")
_TIMES: Final = struct.Struct(">qq")
_STORED: Final = struct.Struct(">qi")


class WindowKind(Enum):
    """The form of the window's bytes, which stand after the key's bytes."""

    TIME = "time"
    """Tumbling or hopping, in a topic."""
    SESSION = "session"
    """Session."""
    TIME_STORE = "time-store"
    """Tumbling or hopping, in a state store."""


@dataclass(frozen=True, slots=True)
class Window:
    """The start and the end of a window.

    :raises UsageError: if a time is negative or beyond 64 bits, or the end is before the start (Kafka Streams' `Window`).
    """

    start_ms: int
    """Inclusive, in milliseconds since the epoch."""
    end_ms: int | None = None
    """Exclusive for time windows, inclusive for sessions. None if it is not known: the bytes of time windows have no
    end."""
    sequence_number: int | None = None
    """Distinguishes entries of a window store that keeps duplicates. None outside of stores."""

    def __post_init__(self) -> None:
        _require(self.start_ms, LONG_MAX, "start")
        if self.end_ms is not None:
            _require(self.end_ms, LONG_MAX, "end")
            if self.end_ms < self.start_ms:
                raise UsageError(f"A window cannot end ({self.end_ms}) before it starts ({self.start_ms}).")
        if self.sequence_number is not None:
            _require(self.sequence_number, INT_MAX, "sequence number")

    def with_size(self, size_ms: int) -> Window:
        """The same window with its end, from a known size (`TimeWindowedDeserializer`'s `window.size.ms`). The end
        stays within 64 bits.

        :raises UsageError: if the size is not positive.
        """
        if size_ms < 1:
            raise UsageError(f"A window cannot have a size of {size_ms} ms. Give its size in milliseconds, at least 1.")
        return replace(self, end_ms=min(self.start_ms + size_ms, LONG_MAX))


def _require(number: object, greatest: int, what: str) -> None:
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number <= greatest:
        raise UsageError(f"The {what} of a window must be a whole number from 0 to {greatest}, not {number!r}.")


@dataclass(frozen=True, slots=True)
class WindowedKey(Generic[K]):
    """A key within a window."""

    key: K
    """The key in its format's form."""
    window: Window
    """Its window."""


def split(payload: bytes, kind: WindowKind) -> tuple[bytes, Window]:
    match kind:
        case WindowKind.TIME:
            key, (start,) = _cut(payload, _TIME, kind)
            end = number = None
        case WindowKind.SESSION:
            key, (end, start) = _cut(payload, _TIMES, kind)
            number = None
        case WindowKind.TIME_STORE:
            key, (start, number) = _cut(payload, _STORED, kind)
            end = None
    try:
        return key, Window(start, end, number)
    except UsageError as error:
        raise DecodeError(
            f"The last bytes of a key of {len(payload)} bytes are not a window of the kind {kind.value!r}: "
            f"{error.message} The key has another kind of window, or none."
        ) from error


def join(key: bytes, window: Window, kind: WindowKind) -> bytes:
    """The bytes of a windowed key; `split` is its inverse, except for the end of a time window."""
    if kind is not WindowKind.TIME_STORE and window.sequence_number is not None:
        raise UsageError(f"A window key of the kind {kind.value!r} has no sequence number; leave it out.")
    match kind:
        case WindowKind.TIME:
            return key + _TIME.pack(window.start_ms)
        case WindowKind.SESSION:
            if window.end_ms is None:
                raise UsageError("The end of a session window is part of the key: set end_ms.")
            return key + _TIMES.pack(window.end_ms, window.start_ms)
        case WindowKind.TIME_STORE:
            return key + _STORED.pack(window.start_ms, window.sequence_number or 0)


def _cut(payload: bytes, layout: struct.Struct, kind: WindowKind) -> tuple[bytes, tuple[int, ...]]:
    size = len(payload) - layout.size
    if size < 0:
        raise TruncatedBodyError(
            f"A windowed key of the kind {kind.value!r} has at least {layout.size} bytes, but this one has "
            f"{len(payload)}. It was cut off, or the topic's keys are not windowed."
        )
    return payload[:size], layout.unpack_from(payload, size)
