"""Writes one RocksDB that a version of Kafka Streams can open: written with rocksdict, without the parts that an older
RocksDB refuses.

There is no write-ahead log, compaction is universal, and up to Kafka Streams 2.8 the MANIFEST is without tags 8193 and 8201.
OPTIONS, LOG and LOCK are left out: Kafka Streams makes its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from srfix.recovery.errors import LibraryMissingError, StateDirectoryError
from srfix.recovery.state.formats.values import PLAIN
from srfix.recovery.state.rocksdb import opened, view_directory
from srfix.recovery.state.writing.kinds import Release
from srfix.recovery.state.writing.manifest import strip_manifest
from srfix.serde.files import sync

if TYPE_CHECKING:
    from rocksdict import ColumnFamily, Options, Rdict, WriteBatch


_BLOCK_SIZE: Final = 4096
_MEMTABLE_SIZE: Final = 16 << 20
_BATCH: Final = 1000
_DEFAULT: Final = "default"
_LEFT_OUT: Final = ("rocksdict-config.json", "LOCK", "LOG*", "OPTIONS-*")


class RowWriter(Protocol):
    """The rows of a store, or of one of its segments, as they are written."""

    def put(self, family: str, key: bytes, value: bytes) -> None: ...

    def delete(self, family: str, key: bytes) -> None: ...

    def delete_prefix(self, family: str, prefix: bytes) -> None: ...

    def get(self, family: str, key: bytes) -> bytes | None: ...


class DatabaseWriter:
    """A database that is being written; rows are written in batches, and the last row of a key counts."""

    def __init__(self, database: Rdict, families: Iterable[str], folder: Path) -> None:
        from rocksdict import WriteOptions

        self._database = database
        self._folder = folder
        self._handles: dict[str, ColumnFamily] = {name: database.get_column_family_handle(name) for name in families}
        self._options = WriteOptions()
        # A property, although the library's stubs say that it is a method.
        self._options.disable_wal = True  # type: ignore[method-assign,assignment]
        self._batch = self._new_batch()
        self._has_deleted: set[str] = set()
        self._read: dict[str, Rdict] = {}

    def put(self, family: str, key: bytes, value: bytes) -> None:
        self._batch.put(key, value, self._handles[family])
        self._write_if(self._batch.len() >= _BATCH)

    def delete(self, family: str, key: bytes) -> None:
        self._has_deleted.add(family)
        self._batch.delete(key, self._handles[family])
        self._write_if(self._batch.len() >= _BATCH)

    def delete_prefix(self, family: str, prefix: bytes) -> None:
        """Removes all rows whose keys have this beginning, whose bytes must not all be `ff`."""
        self._has_deleted.add(family)
        end = (int.from_bytes(prefix, "big") + 1).to_bytes(len(prefix), "big")
        self._batch.delete_range(prefix, end, self._handles[family])
        self._write_if(self._batch.len() >= _BATCH)

    def get(self, family: str, key: bytes) -> bytes | None:
        self._write_if(not self._batch.is_empty())
        if family not in self._read:
            self._read[family] = self._database.get_column_family(family)
        value = self._read[family].get(key)
        return value if isinstance(value, bytes) else None

    def finish(self) -> None:
        """Writes all rows to tables, and closes the database. Deleted rows leave no trace."""
        self._write_if(not self._batch.is_empty())
        with in_words(self._folder):
            for name in self._handles:
                family = self._database.get_column_family(name)
                family.flush()
                if name in self._has_deleted:
                    family.compact_range(None, None)
            self.close()

    def close(self) -> None:
        # An open handle keeps the database open.
        for family in (*self._read.values(), *map(self._database.get_column_family, self._handles)):
            family.close()
        self._read.clear()
        self._handles.clear()
        self._database.close()

    def _write_if(self, wanted: bool) -> None:
        if wanted:
            with in_words(self._folder):
                self._database.write(self._batch, self._options)
            self._batch = self._new_batch()

    @staticmethod
    def _new_batch() -> WriteBatch:
        from rocksdict import WriteBatch

        return WriteBatch(raw_mode=True)


@contextmanager
def new_database(folder: Path, families: Iterable[str], release: Release) -> Iterator[DatabaseWriter]:
    """A new database in a new folder, with `default` and these families; complete and synced at the end."""
    if folder.exists() and any(folder.iterdir()):
        raise StateDirectoryError(f"{folder} is not empty; a new database needs a folder of its own.")
    folder.mkdir(parents=True, exist_ok=True)
    names = tuple(dict.fromkeys((_DEFAULT, *families)))
    with in_words(folder):
        writer = DatabaseWriter(_created(folder, names, release), names, folder)
    try:
        yield writer
    except BaseException:
        writer.close()
        raise
    writer.finish()
    with in_words(folder):
        _settle(folder, release)


def _created(folder: Path, names: Iterable[str], release: Release) -> Rdict:
    from rocksdict import Rdict

    whole = _options(release)
    whole.create_if_missing(True)
    whole.create_missing_column_families(True)
    return Rdict(str(folder), options=whole, column_families={name: _options(release) for name in names})


def _options(release: Release) -> Options:
    from rocksdict import BlockBasedOptions, ChecksumType, DBCompactionStyle, DBCompressionType, Options

    tables = BlockBasedOptions()
    tables.set_block_size(_BLOCK_SIZE)
    tables.set_format_version(release.table_format)
    tables.set_checksum_type(ChecksumType.crc32c())
    options = Options(raw_mode=True)
    options.set_block_based_table_factory(tables)
    options.set_compression_type(DBCompressionType.none())
    options.set_compaction_style(DBCompactionStyle.universal())
    options.set_write_buffer_size(_MEMTABLE_SIZE)
    return options


@contextmanager
def in_words(folder: Path) -> Iterator[None]:
    """Turns what RocksDB, or the file system, says about a folder into an error of srfix."""
    try:
        yield
    except ImportError:
        raise LibraryMissingError from None
    except OSError as error:
        raise StateDirectoryError(
            f"{folder} cannot be written: {error.strerror or error}. Check the permissions, and how much room is left."
        ) from error
    except Exception as error:  # rocksdict raises bare Exception for whatever RocksDB says
        if type(error) is not Exception:
            raise
        raise StateDirectoryError(
            f"{folder} cannot be written: RocksDB says {error}. Check how much room is left, and run again."
        ) from error


def _settle(folder: Path, release: Release) -> None:
    for pattern in _LEFT_OUT:
        for file in folder.glob(pattern):
            file.unlink()
    if release.strips_manifest:
        for manifest in folder.glob("MANIFEST-*"):
            manifest.write_bytes(strip_manifest(manifest.read_bytes(), path=str(manifest)))
    for file in folder.iterdir():
        sync(file)
    sync(folder)


_RELEASE: Final = Release(4, 0)
"""Any value would do, because only this process opens the database."""


@contextmanager
def in_order(rows: Iterable[tuple[bytes, bytes | None]]) -> Iterator[Iterator[tuple[bytes, bytes]]]:
    """The last row of each key, by key, sorted with a RocksDB in a temporary directory; None removes a key."""
    with view_directory() as folder:
        with new_database(folder / "rows", (), _RELEASE) as writer:
            for key, value in rows:
                if value is None:
                    writer.delete(PLAIN, key)
                else:
                    writer.put(PLAIN, key, value)
        with opened(folder / "rows") as database:
            yield chain.from_iterable(database.chunks(PLAIN))
