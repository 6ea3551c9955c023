"""Checkpoints of Kafka Streams: the topics from which the stores of a task restore, and the offsets that they have
reached.

`.checkpoint` is UTF-8 text: `0` (the version), the number of entries, then `<topic> <partition> <offset>` per line
(`OffsetCheckpoint`); `<store>.position` (3.2 to 4.2) has the same form. Streams writes a temporary file and moves it,
so a reader never meets half a file: a truncated file was damaged later.

It names topics, never stores. A missing file proves nothing: 2.6.0 to 2.6.3 delete it after they load it, so a thread
that dies before its first commit leaves none.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

from srfix.recovery.errors import FormatError, StateDirectoryError
from srfix.serde import bounds
from srfix.serde.files import read_file
from srfix.serde.printable import counted
from srfix.serde.subjects.names import Topic

_VERSION: Final = 0
_OFFSET_UNKNOWN: Final = -4
_NUMBER: Final = re.compile(r"-?[0-9]{1,19}")


class OffsetMeaning(Enum):
    """What the number in a checkpoint means."""

    POSITION = "position"
    """The next record to restore: up to Streams 2.5, and for global stores in every version."""
    LAST_RECORD = "last record"
    """The last record in the store: Streams 2.6.0 and later."""
    UNKNOWN = "unknown"
    """One of the two: it is not known which Streams wrote it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointEntry:
    topic: Topic
    partition: int
    offset: int | None
    """As written; see `OffsetMeaning`. None for -4 (`OFFSET_UNKNOWN`): restored, but nothing flushed yet."""

    def restore_start(self, meaning: OffsetMeaning) -> int | None:
        """The offset at which the next restore begins, inclusive; None for the log's start; in doubt the lower one."""
        if self.offset is None:
            return None
        return self.offset + 1 if meaning is OffsetMeaning.LAST_RECORD else self.offset


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    path: str
    entries: tuple[CheckpointEntry, ...]

    @property
    def topics(self) -> tuple[Topic, ...]:
        return tuple(sorted({entry.topic for entry in self.entries}))


def read_checkpoint(path: Path) -> Checkpoint:
    return parse_checkpoint(read_file(path, most_bytes=bounds.MOST_EVIDENCE_BYTES), path=str(path))


def parse_checkpoint(content: bytes, *, path: str) -> Checkpoint:
    try:
        lines = content.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise _bad(path, content.count(b"\n", 0, error.start) + 1, "it is not UTF-8 text") from None
    if lines[-1] == "":
        lines.pop()
    if not lines:
        raise _bad(path, 1, "the file is empty; a checkpoint starts with the version, 0")
    version = _integer(lines[0].strip(), path, 1, "the version")
    if version != _VERSION:
        raise _bad(path, 1, f"version {version} is not known; Kafka Streams writes {_VERSION}")
    if len(lines) < 2:
        raise _bad(path, 2, "the file ends before the number of entries")
    announced = _integer(lines[1].strip(), path, 2, "the number of entries")
    entries = tuple(_entry(line, path, number) for number, line in enumerate(lines[2:], start=3))
    offsets: dict[tuple[Topic, int], int] = {}
    for number, entry in enumerate(entries, start=3):
        first = offsets.setdefault((entry.topic, entry.partition), number)
        if first != number:
            raise _bad(path, number, f"line {first} already has {entry.topic} {entry.partition}")
    if len(entries) != announced:
        raise _bad(path, len(lines), f"the file announces {announced} entries, but has {len(entries)}")
    return Checkpoint(path=path, entries=entries)


def _entry(line: str, path: str, number: int) -> CheckpointEntry:
    pieces = line.split()
    if len(pieces) != 3:
        raise _bad(path, number, "it is not '<topic> <partition> <offset>'")
    topic, partition_text, offset_text = pieces
    partition = _integer(partition_text, path, number, "the partition")
    if partition < 0:
        raise _bad(path, number, f"the partition {partition} is negative")
    offset = _integer(offset_text, path, number, "the offset")
    if offset < 0 and offset != _OFFSET_UNKNOWN:
        raise _bad(
            path,
            number,
            f"the offset {offset} is negative; the only negative value allowed is {_OFFSET_UNKNOWN} (unknown)",
        )
    return CheckpointEntry(topic=Topic(topic), partition=partition, offset=None if offset < 0 else offset)


def _integer(text: str, path: str, number: int, what: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise _bad(path, number, f"{what} is not a number: {text[:40]!r}")
    return int(text)


def _bad(path: str, line: int, problem: str) -> StateDirectoryError:
    return StateDirectoryError(
        f"{path}, line {line}: {problem}. The file is damaged, or it is not a checkpoint of Kafka Streams; take a "
        "fresh copy of the state directory, with the application stopped."
    )


def checkpoint_entries(starts: Iterable[tuple[Topic, int, int]], meaning: OffsetMeaning) -> tuple[CheckpointEntry, ...]:
    """The entries of a checkpoint, from the offsets of the first records that are not in the store; not for 0."""
    less = 1 if meaning is OffsetMeaning.LAST_RECORD else 0
    return tuple(
        CheckpointEntry(topic=topic, partition=partition, offset=start - less)
        for topic, partition, start in sorted(starts)
        if start > 0
    )


def checkpoint_text(entries: Iterable[CheckpointEntry]) -> bytes:
    """A checkpoint file with the entries whose offset is known (`OffsetCheckpoint.write`)."""
    lines = [f"{entry.topic} {entry.partition} {entry.offset}" for entry in entries if entry.offset is not None]
    return "".join(f"{line}\n" for line in (str(_VERSION), str(len(lines)), *lines)).encode()


def with_meaning(
    entries: Iterable[CheckpointEntry], before: OffsetMeaning, now: OffsetMeaning
) -> tuple[CheckpointEntry, ...]:
    starts = ((entry.topic, entry.partition, entry.restore_start(before)) for entry in entries)
    places = ((topic, partition, start) for topic, partition, start in starts if start is not None)
    return checkpoint_entries(places, now)


OFFSETS_COLUMN_FAMILY: Final = "offsets"
"""Its name (`RocksDBStore.OFFSETS_COLUMN_FAMILY_NAME`)."""

_INT: Final = struct.Struct(">i")
_PAIR: Final = struct.Struct(">iq")
_POSITION_VERSION: Final = 0
_LONG: Final = struct.Struct(">q")
_STATUS: Final = b"status"
_OPEN, _CLOSED = 1, 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOffsets:
    """The offsets that a store of 4.3 or later keeps itself, in its column family `offsets` (KIP-1035), instead of a
    `.checkpoint`.

    | key (UTF-8) | value |
    |---|---|
    | `<topic>-<partition>` | the offset, 8 bytes, big-endian |
    | `status` | 8 bytes, 1 = open, 0 = closed |
    | `position` | the offsets of the input topics (`PositionSerde`), zero-padded; a global store has none |

    A position is `[1B version 0][4B topics]{[4B length][topic][4B partitions]{[4B partition][8B offset]}}`: Kafka
    Streams 4.3 makes the buffer too large, so zeros follow (KIP-796).

    Unlike a checkpoint file it belongs to one store: the topic in it is the one that this store restores from.
    """

    entries: tuple[CheckpointEntry, ...]
    is_open: bool
    """True if it was not closed: the application runs, or it died."""
    position: tuple[CheckpointEntry, ...] | None
    """The offsets in the input topics from which its rows come; None if it keeps none (a global store)."""

    @property
    def topics(self) -> tuple[Topic, ...]:
        return tuple(sorted({entry.topic for entry in self.entries}))

    @property
    def restores_from_nowhere(self) -> bool:
        """True if it was closed with a position, but without a topic that it restores from (seen on 4.3.1)."""
        return not (self.is_open or self.entries) and bool(self.position)


def parse_offsets(rows: Mapping[bytes, bytes], *, path: str) -> StoreOffsets:
    entries: list[CheckpointEntry] = []
    is_open = False
    position: tuple[CheckpointEntry, ...] | None = None
    for key, value in sorted(rows.items()):
        if key == b"position":
            try:
                position = decode_position(value)
            except FormatError as error:
                raise _bad_rows(path, error.message) from None
            continue
        if len(value) != _LONG.size:
            raise _bad_rows(path, f"the row {key!r} has {counted(len(value), 'byte')} instead of 8")
        number = int(_LONG.unpack(value)[0])
        if key == _STATUS:
            is_open = number == _OPEN
            continue
        topic, dash, partition = key.decode("utf-8", "replace").rpartition("-")
        if not (dash and topic and partition.isascii() and partition.isdecimal()):
            raise _bad_rows(path, f"the row {key!r} is not named <topic>-<partition>")
        if number < 0 and number != _OFFSET_UNKNOWN:
            raise _bad_rows(path, f"the offset {number} of {key!r} is negative")
        offset = None if number < 0 else number
        entries.append(CheckpointEntry(topic=Topic(topic), partition=int(partition), offset=offset))
    return StoreOffsets(entries=tuple(entries), is_open=is_open, position=position)


def offsets_rows(entries: Iterable[CheckpointEntry]) -> dict[bytes, bytes]:
    rows = {
        f"{entry.topic}-{entry.partition}".encode(): _LONG.pack(entry.offset)
        for entry in entries
        if entry.offset is not None
    }
    return rows | {_STATUS: _LONG.pack(_CLOSED)}


def _bad_rows(path: str, problem: str) -> StateDirectoryError:
    return StateDirectoryError(
        f"{path}, column family {OFFSETS_COLUMN_FAMILY}: {problem}. Kafka Streams 4.3 or later did not write it, or "
        "it is damaged; take a fresh copy of the state directory, with the application stopped."
    )


def decode_position(stored: bytes) -> tuple[CheckpointEntry, ...]:
    """The offsets of the input topics, in the order of the bytes; the zeros after them are ignored. A FormatError if it
    is cut short, of another version, or has a negative number."""
    if not stored:
        raise FormatError("its position is empty")
    if stored[0] != _POSITION_VERSION:
        raise FormatError(f"its position has version {stored[0]} instead of {_POSITION_VERSION}")
    entries: list[CheckpointEntry] = []
    at = 1

    def count() -> int:
        nonlocal at
        number = int(_INT.unpack_from(stored, at)[0])
        at += _INT.size
        if number < 0:
            raise FormatError(f"its position claims {number} topics, bytes or partitions")
        return number

    try:
        for _ in range(count()):
            length = count()
            raw = stored[at : at + length]
            at += length
            if len(raw) != length:
                raise FormatError("its position is cut short")
            topic = Topic(raw.decode("utf-8"))
            for _ in range(count()):
                partition, offset = _PAIR.unpack_from(stored, at)
                at += _PAIR.size
                entries.append(CheckpointEntry(topic=topic, partition=partition, offset=offset))
    except (struct.error, UnicodeDecodeError):
        raise FormatError("its position is cut short or garbled") from None
    return tuple(entries)
