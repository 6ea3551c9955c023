"""The databases of a store, and how one is written anew."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from srfix.recovery.errors import StateDirectoryError
from srfix.recovery.rebuild.change import RowChange, in_order
from srfix.recovery.state.checkpoints import CheckpointEntry
from srfix.recovery.state.directory import StoreDirectory
from srfix.recovery.state.formats.values import SESSION_WITH_HEADERS, WINDOW_WITH_HEADERS, WITH_HEADERS
from srfix.recovery.state.offsets_column_family import OFFSETS_COLUMN_FAMILY, StoreOffsets, parse_offsets
from srfix.recovery.state.rocksdb import opened
from srfix.recovery.state.writing.database import new_database
from srfix.recovery.state.writing.releases import Release
from srfix.serde.errors import UsageError

_CURRENT: Final = "CURRENT"
_HEADERS: Final = frozenset({WITH_HEADERS, SESSION_WITH_HEADERS, WINDOW_WITH_HEADERS})


def database_paths(store: StoreDirectory) -> tuple[Path, ...]:
    """The databases of a store: its directory, or each of its segments, the oldest first; none if it is no RocksDB."""
    path = Path(store.path)
    if (path / _CURRENT).is_file():
        return (path,)
    segments = [child for child in path.iterdir() if (child / _CURRENT).is_file()]
    return tuple(sorted(segments, key=lambda child: (len(child.name), child.name)))


def refuse_open(offsets: StoreOffsets, path: str) -> None:
    """:raises StateDirectoryError: if a database of Kafka Streams 4.3 or later was not closed."""
    if offsets.is_open:
        raise StateDirectoryError(
            f"{path} was left open (`status` 1 in its column family `offsets`): its process was killed. An application that "
            "runs exactly-once throws such a store away and restores it, for its rows may be ahead of what was committed. "
            "Start the application once on the directory and close it, or fill the store from its topic with "
            "`srfix state rebuild`; if the application runs at-least-once, say --take-open."
        )


def copy_database(
    source: Path, folder: Path, release: Release, change: RowChange, *, takes_open: bool = False
) -> tuple[CheckpointEntry, ...]:
    """Writes a database anew, row by row.

    :param takes_open: whether one is taken that was not closed.
    :return: how far it had come, as it says itself; nothing where it does not.
    :raises UsageError: if the release does not know one of its column families.
    :raises StateDirectoryError: if it is damaged or was left open, or the new one cannot be written.
    """
    with opened(source) as before:
        rows = in_order(before.families - {OFFSETS_COLUMN_FAMILY})
        families = dict.fromkeys(change.family(name) for name in rows)
        if not release.has_headers_stores and (unknown := _HEADERS.intersection(families)):
            raise UsageError(
                f"{source}: its rows are in {', '.join(sorted(unknown))}, and Kafka Streams {release} knows no stores with "
                "headers. Name the kind that the store is to become, such as timestamped-kv."
            )
        offsets: dict[bytes, bytes] = {}
        if OFFSETS_COLUMN_FAMILY in before.families:
            offsets = dict(before.rows(OFFSETS_COLUMN_FAMILY))
            if not takes_open:
                refuse_open(parse_offsets(offsets, path=str(source)), str(source))
        if release.keeps_offsets_in_stores:
            families[OFFSETS_COLUMN_FAMILY] = None
        with new_database(folder, families, release) as now:
            for name in rows:
                into = change.family(name)
                for key, value in change.values(name, before.rows(name)):
                    now.put(into, key, value)
            if release.keeps_offsets_in_stores:
                for key, value in offsets.items():
                    now.put(OFFSETS_COLUMN_FAMILY, key, value)
    return parse_offsets(offsets, path=str(source)).entries if offsets else ()
