"""The databases in which srfix keeps the partitions that it serves: rows, and how far their log was read, in one write.

A database has numbered parts, one for each segment of a window or session store; every other store has only part 0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, cast

from srfix.recovery.errors import StateDirectoryError
from srfix.recovery.state.rocksdb import CURRENT, ROWS_IN_A_CHUNK, OpenedDatabase, behind
from srfix.recovery.state.writing.database import in_words

if TYPE_CHECKING:
    from rocksdict import BlockBasedOptions, ColumnFamily, Options, Rdict

_PROGRESS: Final = b"progress"
_PART: Final = "part-"
_MEMTABLES_SIZE: Final = 16 << 20
"""How much a database keeps in memory before it writes it out."""
_MEMTABLE_SIZE: Final = 8 << 20
"""To a larger one, which no processor's cache holds, rows are added more slowly."""
_MOST_MEMTABLES: Final = 4
_CACHE_SIZE: Final = 64 << 20
"""Of what is read, for all databases together."""
_MOST_UNMERGED: Final = 8
"""How many such files it leaves side by side before it merges them. With fewer, each row is written more often."""
_MOST_PARTS: Final = 1_000
_PROPERTIES: Final = {"rows": "rocksdb.estimate-num-keys", "bytes": "rocksdb.live-sst-files-size"}


Changes: TypeAlias = Mapping[int, Mapping[bytes, bytes | None]]
"""By part and key: the new value, or None to remove the row."""


class PartitionDatabase(Protocol):
    """One partition of a store. One thread writes; any thread may read."""

    is_near: bool
    """True if a look-up waits for no other machine."""

    def progress(self) -> bytes | None:
        """What the last batch committed; None for a new database."""

    def parts(self) -> Sequence[int]:
        """The parts that may have rows, ascending."""

    def rows(self, part: int, family: str, *, is_frozen: bool = False) -> OpenedDatabase:
        """The rows of one of `parts`, or of part 0, under the name of the column family that Kafka Streams would give them.

        :param is_frozen: True for the rows as they are now, whatever is written later, where the database can do that.
        """

    def commit(self, changes: Changes, progress: bytes, *, is_filling: bool = False) -> None:
        """Writes all changes and the progress: they become visible, and durable, together.

        :param is_filling: True if they may become durable later: a kill then takes away the last ones, with their progress.
        """

    def drop(self, part: int) -> None:
        """Removes a part with all its rows."""

    def clear(self) -> None:
        """Removes everything, the progress first."""

    def measured(self) -> Mapping[str, int]:
        """What it knows of itself: `rows` (estimated), `bytes`, `cache_hits`, `cache_misses`."""

    def close(self) -> None: ...


MakeDatabase = Callable[[str, int], PartitionDatabase]
"""A store's name, and a partition → its database, made if there is none."""


class _Frozen(OpenedDatabase):
    """The rows of a part as they were at one moment: those of a cursor of RocksDB, which outlives what is dropped or closed.
    (The iterators of rocksdict's snapshots see later rows, too.)"""

    def __init__(self, family: str, rows: Rdict) -> None:
        super().__init__({family: rows})
        self._cursor = rows.iter()

    def chunks(
        self, family: str, *, start: bytes | None = None, size: int = ROWS_IN_A_CHUNK
    ) -> Iterator[list[tuple[bytes, bytes]]]:
        cursor, last = self._cursor, start or b""
        cursor.seek(last)
        while chunk := list(islice(behind(cursor), size)):
            yield chunk
            last = chunk[-1][0]
            cursor.seek(last)  # it may have been moved meanwhile
            cursor.next()
        cursor.status()

    def get(self, family: str, key: bytes) -> bytes | None:
        self._cursor.seek(key)
        self._cursor.status()  # a damaged row is not a missing one
        is_there = self._cursor.valid() and self._cursor.key() == key
        return cast("bytes", self._cursor.value()) if is_there else None


class RocksDatabase:
    """A RocksDB of srfix's own. What is written while it is filled goes to no write-ahead log, which would cost a fifth of
    the filling: a killed process finds what was flushed, of all column families together. What comes later is logged.

    :raises StateDirectoryError: if the folder cannot be written, or is damaged.
    :raises LibraryMissingError: without rocksdict.
    """

    is_near = True

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._has_unlogged = False
        with in_words(folder):
            from rocksdict import Rdict

            folder.mkdir(parents=True, exist_ok=True)
            options = self._options = _options()
            options.enable_statistics()
            options.create_if_missing(True)
            families = Rdict.list_cf(str(folder), _options()) if (folder / CURRENT).is_file() else []
            self._whole = Rdict(str(folder), options, column_families={name: _options() for name in families} or None)
            self._parts = {
                int(name.removeprefix(_PART)): self._whole.get_column_family(name)
                for name in families
                if name.startswith(_PART)
            } or {0: self._new(0)}

    def progress(self) -> bytes | None:
        found = self._whole.get(_PROGRESS)
        return found if isinstance(found, bytes) else None

    def parts(self) -> Sequence[int]:
        return sorted(self._parts)

    def rows(self, part: int, family: str, *, is_frozen: bool = False) -> OpenedDatabase:
        rows = self._parts[part]
        return _Frozen(family, rows) if is_frozen else OpenedDatabase({family: rows})

    def _new(self, part: int) -> Rdict:
        return self._whole.create_column_family(f"{_PART}{part}", _options())

    def _handle(self, part: int) -> ColumnFamily:
        if part not in self._parts:
            if len(self._parts) >= _MOST_PARTS:
                raise StateDirectoryError(
                    f"{self._folder} would have more than {_MOST_PARTS:,} segments. Check --retention-ms."
                )
            self._parts[part] = self._new(part)
        return self._whole.get_column_family_handle(f"{_PART}{part}")

    def commit(self, changes: Changes, progress: bytes, *, is_filling: bool = False) -> None:
        from rocksdict import WriteBatch, WriteOptions

        how = WriteOptions()
        how.disable_wal = is_filling  # type: ignore[method-assign,assignment]
        with in_words(self._folder):
            if self._has_unlogged and not is_filling:
                for family in (*self._parts.values(), self._whole):  # the progress last: it is never ahead of the rows
                    family.flush()
            batch = WriteBatch(raw_mode=True)
            for part, rows in changes.items():
                handle = self._handle(part)
                for key, value in rows.items():
                    if value is None:
                        batch.delete(key, handle)
                    else:
                        batch.put(key, value, handle)
            batch.put(_PROGRESS, progress)
            self._whole.write(batch, how)
            self._has_unlogged = is_filling

    def drop(self, part: int) -> None:
        self._parts.pop(part).close()
        self._whole.drop_column_family(f"{_PART}{part}")

    def clear(self) -> None:
        self._whole.delete(_PROGRESS)
        self._whole.flush()  # parts are dropped at once, also on the disk
        for part in self.parts():
            self.drop(part)
        self._parts[0] = self._new(0)

    def measured(self) -> Mapping[str, int]:
        parts = [self._parts[part] for part in self.parts()]
        sums = {what: sum(part.property_int_value(name) or 0 for part in parts) for what, name in _PROPERTIES.items()}
        counts = re.findall(
            r"^rocksdb\.block\.cache\.(hit|miss) COUNT : (\d+)$", self._options.get_statistics() or "", re.M
        )
        return sums | {{"hit": "cache_hits", "miss": "cache_misses"}[what]: int(count) for what, count in counts}

    def close(self) -> None:
        for part in self._parts.values():  # an open part keeps the database open
            part.close()
        self._parts.clear()
        self._whole.close()


@cache
def _tables() -> BlockBasedOptions:
    from rocksdict import BlockBasedOptions, Cache

    tables = BlockBasedOptions()
    tables.set_block_cache(Cache(_CACHE_SIZE))
    return tables


def _options() -> Options:
    from rocksdict import DBCompressionType, Options

    options = Options(raw_mode=True)
    options.set_write_buffer_size(_MEMTABLE_SIZE)
    options.set_max_write_buffer_number(_MOST_MEMTABLES)
    options.set_db_write_buffer_size(_MEMTABLES_SIZE)
    options.set_compression_type(DBCompressionType.none())  # as in Kafka Streams: it would be a third of the filling
    options.set_block_based_table_factory(_tables())
    options.set_atomic_flush(True)
    options.set_level_zero_file_num_compaction_trigger(_MOST_UNMERGED)
    return options
