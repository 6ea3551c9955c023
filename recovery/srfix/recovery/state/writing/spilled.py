"""Rows on their way to a comparison: put on disk by key, so that memory does not grow with them, and read back in order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Final

from srfix.recovery.state.formats.values import PLAIN
from srfix.recovery.state.rocksdb import opened
from srfix.recovery.state.views import view_directory
from srfix.recovery.state.writing.database import new_database
from srfix.recovery.state.writing.releases import Release

_RELEASE: Final = Release(4, 0)
"""Any would do: nobody but this process opens it."""


@contextmanager
def in_order(rows: Iterable[tuple[bytes, bytes | None]]) -> Iterator[Iterator[tuple[bytes, bytes]]]:
    """The last row of each key, by key, from a RocksDB in a directory of our own; None removes one.

    :raises LibraryMissingError: if rocksdict is not installed.
    :raises StateDirectoryError: if there is no room for them in the temporary directory (`TMPDIR`).
    """
    with view_directory() as folder:
        with new_database(folder / "rows", (), _RELEASE) as writer:
            for key, value in rows:
                if value is None:
                    writer.delete(PLAIN, key)
                else:
                    writer.put(PLAIN, key, value)
        with opened(folder / "rows") as database:
            yield chain.from_iterable(database.chunks(PLAIN))
