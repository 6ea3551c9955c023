"""A task's directory that is being written, and its checkpoint, which its stores share up to Kafka Streams 4.2."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from srfix.recovery.state.checkpoints import CheckpointEntry, checkpoint_text
from srfix.recovery.state.writing.releases import Release

_CHECKPOINT: Final = ".checkpoint"


class TaskFolder:
    """Gathers the entries of the task's checkpoint; `finish` writes them."""

    def __init__(self, path: Path, release: Release) -> None:
        path.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._release = release
        self._entries: dict[tuple[str, int], CheckpointEntry] = {}
        self._is_wanted = not release.keeps_offsets_in_stores

    def has_come_to(self, entries: Iterable[CheckpointEntry]) -> None:
        """Notes how far a store has come. Where stores keep that themselves, the file says it only if it is there anyway."""
        self._entries.update({(entry.topic, entry.partition): entry for entry in entries})

    def keeps_checkpoint(self, entries: Iterable[CheckpointEntry]) -> None:
        """Takes over the entries of a checkpoint file, which Kafka Streams 4.3 and later read once and then delete."""
        self._is_wanted = True
        self.has_come_to(entries)

    def finish(self) -> None:
        """Writes the checkpoint; none without entries, as Kafka Streams does."""
        known = [self._entries[place] for place in sorted(self._entries) if self._entries[place].offset is not None]
        if known and self._is_wanted:
            (self.path / _CHECKPOINT).write_bytes(checkpoint_text(known))
