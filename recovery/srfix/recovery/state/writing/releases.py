"""What a version of Kafka Streams opens: the table format of its RocksDB, and where it keeps how far its stores have come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from srfix.recovery.state.checkpoints import OffsetMeaning
from srfix.serde.errors import UsageError

_PARTS: Final = 3
_METADATA_PATCHES: Final = {(2, 6): 2, (2, 7): 1}


@dataclass(frozen=True, slots=True, order=True)
class Release:
    """A version of Kafka Streams, and what it finds on disk."""

    major: int
    minor: int
    patch: int = 0

    @classmethod
    def parse(cls, text: str) -> Release:
        """Reads `2.6.3`, or `2.6`, which is its first."""
        parts = text.split(".")
        if not 2 <= len(parts) <= _PARTS or not all(part.isascii() and part.isdecimal() for part in parts):
            raise UsageError(f"--streams-version {text}: expected the Kafka Streams version, such as 2.6.3 or 4.3.1.")
        release = cls(*(int(part) for part in parts))
        if release < cls(2, 0):
            raise UsageError(f"--streams-version {text}: srfix writes directories for Kafka Streams 2.0 and later.")
        return release

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"

    @property
    def table_format(self) -> int:
        """The newest `format_version` of a block-based table that its RocksDB surely reads: 5.18 reads 2, 6.19 to 7.9 read 5.

        One for all from 3.0 on: 9.7 and 10.1 read it as well as their own.
        """
        return 2 if self < Release(3, 0) else 5

    @property
    def strips_manifest(self) -> bool:
        """True if its RocksDB refuses the fields that newer ones write to a MANIFEST (5.18, up to Kafka Streams 2.8)."""
        return self < Release(3, 0)

    @property
    def has_headers_stores(self) -> bool:
        """True if stores may keep headers (KIP-1271)."""
        return self >= Release(4, 3)

    @property
    def keeps_offsets_in_stores(self) -> bool:
        """True if each store keeps its offsets in a column family of its own (KIP-1035); else a task has a `.checkpoint`."""
        return self >= Release(4, 3)

    @property
    def has_process_metadata(self) -> bool:
        """True if it keeps a process id in `kafka-streams-process-metadata`."""
        if self.minor_line in _METADATA_PATCHES:
            return self.patch >= _METADATA_PATCHES[self.minor_line]
        return self >= Release(2, 8)

    @property
    def minor_line(self) -> tuple[int, int]:
        return self.major, self.minor

    def offset_meaning(self, *, is_global: bool) -> OffsetMeaning:
        """What a number in its checkpoints is."""
        if is_global or self < Release(2, 6):
            return OffsetMeaning.POSITION
        return OffsetMeaning.LAST_RECORD
