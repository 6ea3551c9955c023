"""The versions of Kafka Streams for which srfix can write, and the kinds of stores: the place of their rows, their
keys, and the bytes before a value (`_KINDS`, of `state.layouts`). The time-first kinds are those of
`EmitStrategy.onWindowClose`: the plain one for time windows, the indexed one for sliding windows
(`RocksDbIndexedTimeOrderedWindowBytesStoreSupplier`). A join's window store is a plain-window one (with headers a
headers-window one), a foreign-key join's subscription store a timestamped-kv one, and an outer join's list store a
plain-kv one: their changelogs hold the stored bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Final, NamedTuple

from srfix.recovery.errors import FormatError, StateDirectoryError
from srfix.recovery.state.checkpoints import OffsetMeaning
from srfix.recovery.state.formats.values import (
    PLAIN,
    SESSION_WITH_HEADERS,
    TIMESTAMPED,
    WINDOW_WITH_HEADERS,
    WITH_HEADERS,
    Headers,
)
from srfix.recovery.state.layouts import KeyOrder, StoreFormat
from srfix.serde.errors import UsageError

_PARTS: Final = 3
_METADATA_PATCHES: Final = {(2, 6): 2, (2, 7): 1}


@dataclass(frozen=True, slots=True, order=True)
class Release:
    major: int
    minor: int
    patch: int = 0

    @classmethod
    def parse(cls, text: str) -> Release:
        """Reads `2.6.3`, or `2.6`, which means the first release of 2.6."""
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
        """The newest `format_version` of a block-based table that its RocksDB certainly reads: 5.18 reads 2, 6.19 to
        7.9 read 5. From 3.0 on it is the same for all, because 9.7 and 10.1 also read 5.
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
        first_patch = _METADATA_PATCHES.get((self.major, self.minor))
        return self >= Release(2, 8) if first_patch is None else self.patch >= first_patch

    def offset_meaning(self, *, is_global: bool) -> OffsetMeaning:
        if is_global or self < Release(2, 6):
            return OffsetMeaning.POSITION
        return OffsetMeaning.LAST_RECORD


NO_TIMESTAMP: Final = -1
"""The timestamp that Kafka Streams gives to a row without a known one (`ConsumerRecord.NO_TIMESTAMP`)."""


class WrittenKind(Enum):
    """What a store is."""

    PLAIN_KV = "plain-kv"
    TIMESTAMPED_KV = "timestamped-kv"
    HEADERS_KV = "headers-kv"
    PLAIN_WINDOW = "plain-window"
    TIMESTAMPED_WINDOW = "timestamped-window"
    HEADERS_WINDOW = "headers-window"
    TIME_FIRST_WINDOW = "time-first-window"
    INDEXED_TIME_FIRST_WINDOW = "indexed-time-first-window"
    HEADERS_TIME_FIRST_WINDOW = "headers-time-first-window"
    SESSION = "session"
    HEADERS_SESSION = "headers-session"
    TIME_FIRST_SESSION = "time-first-session"
    HEADERS_TIME_FIRST_SESSION = "headers-time-first-session"
    VERSIONED = "versioned"

    @cached_property
    def family(self) -> str:
        return _KINDS[self].family

    @cached_property
    def format(self) -> StoreFormat:
        return _KINDS[self].format

    @cached_property
    def is_segmented(self) -> bool:
        return self.format.layout.windows is not None

    @property
    def has_retention(self) -> bool:
        """True if it drops rows that are older than its retention; for a versioned store, that is the history retention."""
        return self.is_segmented or self is WrittenKind.VERSIONED


def stored(kind: WrittenKind, payload: bytes, *, timestamp_ms: int | None, headers: Headers = ()) -> bytes:
    """A value as the store holds it; `NO_TIMESTAMP` for none. For a versioned store see `writing.stores`."""
    return kind.format.layout.values[kind.family].encode(payload, timestamp_ms, headers)


def stored_keys(kind: WrittenKind, key: bytes) -> tuple[bytes, bytes | None]:
    layout = kind.format.layout
    if layout.windows is None or layout.order is not KeyOrder.TIMES_AND_KEY:
        return key, None
    try:
        own, window = layout.windows.decode(key)
        row = layout.windows.encode_time_first(own, window)
        return row, layout.windows.encode_key_first(own, window) if _KINDS[kind].has_index else None
    except FormatError as error:
        raise StateDirectoryError(
            f"the key {key.hex()} does not belong to a store of the kind {kind.value}: {error.message}. Check --kind"
        ) from None


def segment_time(kind: WrittenKind, key: bytes) -> int:
    windows = kind.format.layout.windows
    if windows is None:
        raise StateDirectoryError(f"a store of the kind {kind.value} has no segments")
    try:
        time_ms = windows.segment_time(key)
    except struct.error:
        raise StateDirectoryError(
            f"the key {key.hex()} is too short for a store of the kind {kind.value}: it has no window at its end. "
            "Check --kind"
        ) from None
    if time_ms < 0:
        raise StateDirectoryError(f"the key {key.hex()} has a window before 1970. Check --kind")
    return time_ms


def check_kind(kind: WrittenKind, release: Release) -> None:
    since = _KINDS[kind].since
    if release < since:
        raise UsageError(f"Kafka Streams {release} has no stores of the kind {kind.value}: they came with {since}.")


def check_form(form: StoreFormat, release: Release, path: str) -> None:
    """Refuses a store of a form that the release does not have; the column families of headers show themselves."""
    since = _SINCE_OF_JOINS.get(form) or min(
        (kind.since for kind in _KINDS.values() if kind.format is form), default=_FIRST
    )
    if release < since < _HEADERS:
        raise UsageError(
            f"{path}: Kafka Streams {release} has no stores of the kind {form.value}: they came with {since}. Name a later "
            "version, or use a copy of the directory without this store."
        )


class _Kind(NamedTuple):
    format: StoreFormat
    family: str
    since: Release
    has_index: bool = False


_FIRST: Final = Release(2, 0)
_STAMPS: Final = Release(2, 3)
_TIME_FIRST: Final = Release(3, 3)
_HEADERS: Final = Release(4, 3)
_SINCE_OF_JOINS: Final = {StoreFormat.SUBSCRIPTION: Release(2, 4), StoreFormat.LIST_VALUE: Release(3, 1)}


_KINDS: Final[Mapping[WrittenKind, _Kind]] = {
    WrittenKind.PLAIN_KV: _Kind(StoreFormat.PLAIN_KV, PLAIN, _FIRST),
    WrittenKind.TIMESTAMPED_KV: _Kind(StoreFormat.TIMESTAMPED_KV, TIMESTAMPED, _STAMPS),
    WrittenKind.HEADERS_KV: _Kind(StoreFormat.HEADERS_KV, WITH_HEADERS, _HEADERS),
    WrittenKind.PLAIN_WINDOW: _Kind(StoreFormat.PLAIN_WINDOW, PLAIN, _FIRST),
    WrittenKind.TIMESTAMPED_WINDOW: _Kind(StoreFormat.TIMESTAMPED_WINDOW, TIMESTAMPED, _STAMPS),
    WrittenKind.HEADERS_WINDOW: _Kind(StoreFormat.HEADERS_WINDOW, WITH_HEADERS, _HEADERS),
    WrittenKind.TIME_FIRST_WINDOW: _Kind(StoreFormat.TIME_FIRST_WINDOW, PLAIN, _TIME_FIRST),
    WrittenKind.INDEXED_TIME_FIRST_WINDOW: _Kind(StoreFormat.TIME_FIRST_WINDOW, PLAIN, _TIME_FIRST, has_index=True),
    WrittenKind.HEADERS_TIME_FIRST_WINDOW: _Kind(
        StoreFormat.TIME_FIRST_WINDOW, WINDOW_WITH_HEADERS, _HEADERS, has_index=True
    ),
    WrittenKind.SESSION: _Kind(StoreFormat.SESSION, PLAIN, _FIRST),
    WrittenKind.HEADERS_SESSION: _Kind(StoreFormat.HEADERS_SESSION, SESSION_WITH_HEADERS, _HEADERS),
    WrittenKind.TIME_FIRST_SESSION: _Kind(StoreFormat.TIME_FIRST_SESSION, PLAIN, _TIME_FIRST, has_index=True),
    WrittenKind.HEADERS_TIME_FIRST_SESSION: _Kind(
        StoreFormat.TIME_FIRST_SESSION, SESSION_WITH_HEADERS, _HEADERS, has_index=True
    ),
    WrittenKind.VERSIONED: _Kind(StoreFormat.VERSIONED, PLAIN, Release(3, 5)),
}
