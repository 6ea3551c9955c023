"""The column family `offsets` of a store of Streams 4.3 and later (KIP-1035), which took the place of `.checkpoint`.

| key (UTF-8) | value |
|---|---|
| `<topic>-<partition>` | the offset, 8 bytes, big-endian |
| `status` | 8 bytes, 1 = open, 0 = closed |
| `position` | the offsets of the input topics (`PositionSerde`), zero-padded; a global store has none |

A position is `[1B version 0][4B topics]{[4B length][topic][4B partitions]{[4B partition][8B offset]}}`: Kafka Streams 4.3 makes
the buffer too large, so that zeros follow (KIP-796).

Unlike a checkpoint file it belongs to one store: the topic in it is the one that this store restores from.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from srfix.recovery.errors import FormatError, StateDirectoryError
from srfix.recovery.state.checkpoints import CheckpointEntry
from srfix.serde.subjects.names import Topic

OFFSETS_COLUMN_FAMILY: Final = "offsets"
"""Its name (`RocksDBStore.OFFSETS_COLUMN_FAMILY_NAME`)."""

Place: TypeAlias = tuple[str, int, int]
"""Topic, partition and offset."""

_INT: Final = struct.Struct(">i")
_PAIR: Final = struct.Struct(">iq")
_POSITION_VERSION: Final = 0
_LONG: Final = struct.Struct(">q")
_OFFSET_UNKNOWN: Final = -4
_STATUS: Final = b"status"
_OPEN, _CLOSED = 1, 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOffsets:
    """What a store of 4.3 and later says of itself."""

    entries: tuple[CheckpointEntry, ...]
    """The topic that it restores from, by partition."""
    is_open: bool
    """True if it was not closed: the application runs, or it died."""
    position: tuple[CheckpointEntry, ...] | None
    """The offsets of the input topics that its rows come from; None if it keeps none (a global store)."""

    @property
    def topics(self) -> tuple[Topic, ...]:
        """The topics that the store restores from: one, unless something is odd."""
        return tuple(sorted({entry.topic for entry in self.entries}))

    @property
    def restores_from_nowhere(self) -> bool:
        """True if it was closed with the position of rows that were put, and with no topic that it restores from.

        Both are written by one commit (seen on 4.3.1, without logging).
        """
        return not (self.is_open or self.entries) and bool(self.position)


def parse_offsets(rows: Mapping[bytes, bytes], *, path: str) -> StoreOffsets:
    """The offsets in the rows of the column family.

    :param path: the store's directory, for messages.
    """
    entries: list[CheckpointEntry] = []
    is_open = False
    position: tuple[CheckpointEntry, ...] | None = None
    for key, value in sorted(rows.items()):
        if key == b"position":
            position = parse_position(value, path=path)
            continue
        if len(value) != _LONG.size:
            raise _bad(path, f"the row {key!r} has {len(value)} bytes instead of 8")
        number = int(_LONG.unpack(value)[0])
        if key == _STATUS:
            is_open = number == _OPEN
            continue
        topic, dash, partition = key.decode("utf-8", "replace").rpartition("-")
        if not (dash and topic and partition.isascii() and partition.isdecimal()):
            raise _bad(path, f"the row {key!r} is not named <topic>-<partition>")
        if number < 0 and number != _OFFSET_UNKNOWN:
            raise _bad(path, f"the offset {number} of {key!r} is negative")
        offset = None if number < 0 else number
        entries.append(CheckpointEntry(topic=Topic(topic), partition=int(partition), offset=offset))
    return StoreOffsets(entries=tuple(entries), is_open=is_open, position=position)


def offsets_rows(entries: Iterable[CheckpointEntry]) -> dict[bytes, bytes]:
    """The rows of a store's column family `offsets`, closed."""
    rows = {
        f"{entry.topic}-{entry.partition}".encode(): _LONG.pack(entry.offset)
        for entry in entries
        if entry.offset is not None
    }
    return rows | {_STATUS: _LONG.pack(_CLOSED)}


def parse_position(content: bytes, *, path: str) -> tuple[CheckpointEntry, ...]:
    """The offsets of the input topics in a position; the zeros behind it are ignored.

    :param path: the store's directory, for messages.
    """
    try:
        places = decode_position(content)
    except FormatError as error:
        raise _bad(path, error.message) from None
    return tuple(
        CheckpointEntry(topic=Topic(topic), partition=partition, offset=offset) for topic, partition, offset in places
    )


def _bad(path: str, problem: str) -> StateDirectoryError:
    return StateDirectoryError(
        f"{path}, column family {OFFSETS_COLUMN_FAMILY}: {problem}. It was not written by Kafka Streams 4.3 or later, "
        "or it is damaged; take a fresh copy of the state directory, with the application stopped."
    )


def decode_position(stored: bytes) -> tuple[Place, ...]:
    """In the order of the bytes. :raises FormatError: if it is cut short, of another version, or a number in it is negative."""
    if not stored:
        raise FormatError("its position is empty")
    if stored[0] != _POSITION_VERSION:
        raise FormatError(f"its position has version {stored[0]} instead of {_POSITION_VERSION}")
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
