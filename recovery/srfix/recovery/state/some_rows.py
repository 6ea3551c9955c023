"""The first rows of a key-value store's database, whole: for those who compare rows, and not only count them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from srfix.recovery.state.formats.values import StoredValue
from srfix.recovery.state.rocksdb import OpenedDatabase, opened
from srfix.recovery.state.stored_rows import ROW_FAMILIES, stored_value


def some_rows(database: Path, *, most: int) -> dict[bytes, StoredValue]:
    """Up to so many rows, by key, taken apart; the first ones in the order of their keys.

    :raises LibraryMissingError: if rocksdict is not installed.
    :raises StateDirectoryError: if it is no RocksDB, cannot be read, or a row has another form.
    """
    with opened(database) as store:
        rows: dict[bytes, StoredValue] = {}
        for key, value in islice(_rows(store), most):
            rows.setdefault(key, value)
        return rows


def _rows(store: OpenedDatabase) -> Iterator[tuple[bytes, StoredValue]]:
    # The newest family first: what stands in an older one is of a version before.
    for family in (name for name in reversed(ROW_FAMILIES) if name in store.families):
        for key, value in store.rows(family):
            yield key, stored_value(family, value)
