"""Records in the changelog of a suppression (`suppress`), header `v` = 3, since 2.6.0: the store itself is in memory.

The value is: the record's context, the prior, the old and the new value, each as 4 bytes of length and the bytes (-1 for null;
-2 for an old value that is the prior one), and 8 bytes of the time that the buffer sorts by (`BufferValue`). The context: 8
bytes of timestamp, 8 of offset, the topic with 4 bytes of length before it, 4 bytes of partition, 4 bytes of the number of
headers, each with 4 bytes of length before its name and its value, -1 for null (`ProcessorRecordContext`).
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from srfix.recovery.errors import FormatError

_INT: Final = struct.Struct(">i")
_LONG: Final = struct.Struct(">q")
_NULL: Final = -1
_SAME_AS_PRIOR: Final = -2


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordContext:
    """Where the record in a buffer came from."""

    timestamp_ms: int
    """Milliseconds since the epoch."""
    offset: int
    topic: str
    partition: int
    headers: tuple[tuple[str, bytes | None], ...] | None = ()
    """Its headers; None where none were kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferedValue:
    """What a suppression holds back of a key."""

    context: RecordContext
    prior: bytes | None
    """The value that was emitted last."""
    old: bytes | None
    """The old value of the newest change."""
    new: bytes | None
    """The new value of the newest change."""
    buffer_time_ms: int
    """What it is emitted by."""


def decode_buffered_value(stored: bytes) -> BufferedValue:
    """:raises FormatError: if it is cut short, or has another form."""
    reader = _Reader(stored)
    context = _context(reader)
    prior = reader.sized("the prior value")
    length = reader.number("the old value's length")
    old = prior if length == _SAME_AS_PRIOR else reader.block(length, "the old value")
    new = reader.sized("the new value")
    time = reader.long("the time of the buffer")
    reader.end()
    return BufferedValue(context=context, prior=prior, old=old, new=new, buffer_time_ms=time)


def encode_buffered_value(value: BufferedValue) -> bytes:
    """The inverse of `decode_buffered_value`.

    :raises FormatError: if a number is too great for its bytes, or a text is no UTF-8.
    """
    context = value.context
    parts: list[bytes] = []
    try:
        parts += [_LONG.pack(context.timestamp_ms), _LONG.pack(context.offset), _sized(context.topic.encode())]
        parts += [_INT.pack(context.partition), _INT.pack(_NULL if context.headers is None else len(context.headers))]
        for name, content in context.headers or ():
            parts += [_sized(name.encode()), _sized(content)]
        is_same = value.old is not None and value.old == value.prior
        parts += [_sized(value.prior), _INT.pack(_SAME_AS_PRIOR) if is_same else _sized(value.old), _sized(value.new)]
        parts.append(_LONG.pack(value.buffer_time_ms))
    except struct.error as error:
        raise FormatError(f"a number is too great for its bytes: {error}") from None
    except UnicodeEncodeError:
        raise FormatError("the topic or a header's name of a buffered record cannot be written in UTF-8") from None
    return b"".join(parts)


def _context(reader: _Reader) -> RecordContext:
    timestamp, offset = reader.long("the timestamp"), reader.long("the offset")
    topic = reader.sized("the topic")
    partition = reader.number("the partition")
    count = reader.number("the number of headers")
    if topic is None or count < _NULL:
        raise FormatError("a buffered record has no topic" if topic is None else f"it would have {count} headers")
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        name, content = reader.sized("a header's name"), reader.sized("a header")
        if name is None:
            raise FormatError("a header of a buffered record has no name")
        headers.append((name.decode("utf-8", "replace"), content))
    return RecordContext(
        timestamp_ms=timestamp,
        offset=offset,
        topic=topic.decode("utf-8", "replace"),
        partition=partition,
        headers=None if count == _NULL else tuple(headers),
    )


class _Reader:
    """Reads from the front, and says what is cut short."""

    def __init__(self, stored: bytes) -> None:
        self._stored = stored
        self._at = 0

    def number(self, what: str) -> int:
        return int(_INT.unpack(self._take(_INT.size, what))[0])

    def long(self, what: str) -> int:
        return int(_LONG.unpack(self._take(_LONG.size, what))[0])

    def sized(self, what: str) -> bytes | None:
        return self.block(self.number(what), what)

    def block(self, length: int, what: str) -> bytes | None:
        return None if length == _NULL else self._take(length, what)

    def end(self) -> None:
        if self._at != len(self._stored):
            raise FormatError(f"{len(self._stored) - self._at} bytes are left behind a buffered record")

    def _take(self, length: int, what: str) -> bytes:
        if not 0 <= length <= len(self._stored) - self._at:
            left = len(self._stored) - self._at
            raise FormatError(f"{what} of a buffered record would have {length} bytes, and {left} follow")
        self._at += length
        return self._stored[self._at - length : self._at]


def _sized(payload: bytes | None) -> bytes:
    return _INT.pack(_NULL) if payload is None else _INT.pack(len(payload)) + payload
