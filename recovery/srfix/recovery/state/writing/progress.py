"""How far a store has come, as its task's `.checkpoint` says it, or the store itself from Kafka Streams 4.3 on."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from srfix.recovery.state.checkpoints import CheckpointEntry, OffsetMeaning
from srfix.recovery.state.writing.releases import Release
from srfix.serde.subjects.names import Topic

_LONG: Final = struct.Struct(">q")
_VERSION: Final = "0"
_CLOSED: Final = 0
_STATUS: Final = b"status"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a store has come with one partition of the topic that it restores from."""

    topic: Topic
    """The topic: a changelog, or the source topic where that is reused."""
    partition: int
    """Its partition."""
    next_offset: int
    """The first record that is not in the store: where the next restore begins."""


def checkpoint_entries(progress: Iterable[Progress], meaning: OffsetMeaning) -> tuple[CheckpointEntry, ...]:
    """The entries of a checkpoint, by topic and partition; none where no record is in a store yet."""
    less = 1 if meaning is OffsetMeaning.LAST_RECORD else 0
    return tuple(
        CheckpointEntry(topic=each.topic, partition=each.partition, offset=each.next_offset - less)
        for each in sorted(progress, key=lambda each: (each.topic, each.partition))
        if each.next_offset > 0
    )


def checkpoint_text(entries: Iterable[CheckpointEntry]) -> bytes:
    """A checkpoint file with the entries whose offset is known (`OffsetCheckpoint.write`)."""
    known = [f"{entry.topic} {entry.partition} {entry.offset}" for entry in entries if entry.offset is not None]
    return "".join(f"{line}\n" for line in (_VERSION, str(len(known)), *known)).encode()


def offsets_rows(entries: Iterable[CheckpointEntry]) -> dict[bytes, bytes]:
    """The rows of a store's column family `offsets`, closed."""
    rows = {
        f"{entry.topic}-{entry.partition}".encode(): _LONG.pack(entry.offset)
        for entry in entries
        if entry.offset is not None
    }
    return rows | {_STATUS: _LONG.pack(_CLOSED)}


def as_written_by(
    entries: Iterable[CheckpointEntry], *, before: Release, now: Release, is_global: bool
) -> tuple[CheckpointEntry, ...]:
    """The entries of another release's checkpoint, as this one means them."""
    read = before.offset_meaning(is_global=is_global)
    starts = ((entry, entry.restore_start(read)) for entry in entries)
    return checkpoint_entries(
        (
            Progress(topic=entry.topic, partition=entry.partition, next_offset=start)
            for entry, start in starts
            if start is not None
        ),
        now.offset_meaning(is_global=is_global),
    )
