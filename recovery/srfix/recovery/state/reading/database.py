"""The rows of one database of a store, many at a time; damage is noted beside them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Final, Protocol, TypeAlias, TypeVar

from srfix.recovery.errors import FormatError, LibraryMissingError, NotPermittedError, StateDirectoryError
from srfix.recovery.ids_in_words import enumerated
from srfix.recovery.state.checkpoints import OFFSETS_COLUMN_FAMILY
from srfix.recovery.state.formats.values import PLAIN, TIMESTAMPED, VALUES, WITH_HEADERS, StoredValue
from srfix.recovery.state.layouts import StoreFormat
from srfix.recovery.state.reading.rows import Decode, RowBatch, StateRow, decoder, decoder_of_many
from srfix.recovery.state.reading.seeking import Interval, Where
from srfix.recovery.state.rocksdb import OpenedDatabase, Opening, opened, salvaged

_T = TypeVar("_T")
_SAVED: Final = (
    "RocksDB then repaired srfix's view of the database and saved some rows after the damaged part; srfix also read these "
    "rows. If the damaged part overwrote or deleted a row, that row appears in its older state"
)


class Note(Protocol):
    def __call__(self, read: int, problem: str, ends_it: bool, *, is_shut: bool = False) -> None:
        """`problem` is a clause; `ends_it` if the rest is unreadable; `is_shut` if it is only not permitted."""


_Stored: TypeAlias = tuple[Decode, bytes, bytes]


@dataclass(slots=True)
class _Reached:
    key: bytes | None = None
    rows: int = 0

    def past(self, intervals: Iterable[Interval]) -> Iterator[Interval]:
        for interval in intervals:
            if self.key is None:
                yield interval
                continue
            following = self.key + b"\0"
            if interval.end is None or interval.end > following:
                yield Interval(following if interval.start is None else max(interval.start, following), interval.end)


def read_batches(
    path: Path,
    form: StoreFormat,
    where: Where,
    note: Note,
    *,
    size: int,
    salvages: bool,
    is_in_use: bool | None,
    opening: Opening = opened,
) -> Iterator[RowBatch]:
    """The rows of a database, by stored key, at most `size` stored rows together. Damage is noted. While a process
    writes the database, a table that the database does not name yet is no damage."""
    reached = _Reached()

    def read(database: OpenedDatabase) -> Iterator[RowBatch]:
        return _batches(database, form, where, note, reached, size)

    return _noting(path, read, note, reached, salvages=salvages, is_in_use=is_in_use, opening=opening)


def look_up(
    path: Path,
    form: StoreFormat,
    key: bytes,
    note: Note,
    *,
    salvages: bool,
    is_in_use: bool | None,
    opening: Opening = opened,
) -> StateRow | None:
    def read(database: OpenedDatabase) -> Iterator[StateRow]:
        for family in _of_rows(database):
            value = database.get(family, key)
            if value is not None:
                yield from decoder(form, family)(key, value)
                return

    rows = tuple(_noting(path, read, note, _Reached(), salvages=salvages, is_in_use=is_in_use, opening=opening))
    return rows[0] if rows else None


def _noting(
    path: Path,
    read: Callable[[OpenedDatabase], Iterator[_T]],
    note: Note,
    reached: _Reached,
    *,
    salvages: bool,
    is_in_use: bool | None,
    opening: Opening,
) -> Iterator[_T]:
    """What `read` gives of a database, or of the rows that can be saved of a damaged one."""
    try:
        with opening(path) as database:
            if not is_in_use:
                _note_unlisted(path, database, note, salvages=salvages)
            yield from read(database)
    except LibraryMissingError:
        raise
    except NotPermittedError as error:
        note(reached.rows, error.message, True, is_shut=True)
    except StateDirectoryError as error:
        problem, before = error.message.removesuffix("."), reached.rows
        try:
            if salvages:
                with salvaged(path) as database:
                    saved = read(database)
                    first = next(saved, None)
                    if first is not None:
                        note(before, f"{problem}. {_SAVED}", False)
                        yield first
                        yield from saved
                        return
        except StateDirectoryError:
            pass  # it is damaged too far; the problem says how
        note(before, problem, True)


def _note_unlisted(path: Path, database: OpenedDatabase, note: Note, *, salvages: bool) -> None:
    """:raises StateDirectoryError: if the rows should be salvaged, because RocksDB's repair includes these tables."""
    if not database.unlisted:
        return
    names = enumerated(database.unlisted, most=8)
    problem = (
        f"{path} has table files that its MANIFEST does not name ({names}), so srfix does not read their rows: the "
        "MANIFEST was cut, or a process was killed while it wrote these files"
    )
    if salvages:
        raise StateDirectoryError(problem)
    note(0, problem, False)


def _batches(
    database: OpenedDatabase, form: StoreFormat, where: Where, note: Note, reached: _Reached, size: int
) -> Iterator[RowBatch]:
    families = _of_rows(database)
    first, *older = families
    if not any(next(database.rows(family), None) for family in older):
        decode, decode_many = decoder(form, first), decoder_of_many(form, first)
        for pairs in _pairs(database, first, reached.past(where(database, families)), size):
            batch = None if decode_many is None else decode_many(pairs)
            if batch is None:
                batch = _one_by_one([(decode, key, value) for key, value in pairs], note, reached.rows)
            reached.rows += len(pairs)
            reached.key = pairs[-1][0]
            if len(batch):
                yield batch
        return
    for interval in reached.past(where(database, families)):
        for stored in _newest(database, form, families, interval, size):
            batch = _one_by_one(stored, note, reached.rows)
            reached.rows += len(stored)
            reached.key = stored[-1][1] if stored else reached.key
            if len(batch):
                yield batch


def some_rows(database: Path, *, most: int) -> dict[bytes, StoredValue]:
    """The first complete rows of a key-value store's database, by key, for callers that do more than count them."""
    with opened(database) as store:
        # The newest family first: rows in an older family are from an earlier version.
        stored = (
            (key, VALUES[family].decode(value))
            for family in (WITH_HEADERS, TIMESTAMPED, PLAIN)
            if family in store.families
            for key, value in store.rows(family)
        )
        rows: dict[bytes, StoredValue] = {}
        for key, value in islice(stored, most):
            rows.setdefault(key, value)
        return rows


def _of_rows(database: OpenedDatabase) -> list[str]:
    families = [family for family in VALUES if family in database.families]
    if not families:
        row_families = sorted(database.families - {OFFSETS_COLUMN_FAMILY})
        others = f", but {', '.join(row_families)}" if row_families else ""
        raise StateDirectoryError(f"it has none of the column families of a store{others}.")
    return families


def _pairs(
    database: OpenedDatabase, family: str, intervals: Iterable[Interval], size: int
) -> Iterator[list[tuple[bytes, bytes]]]:
    for interval in intervals:
        for pairs in database.chunks(family, start=interval.start, size=size):
            if interval.end is None or pairs[-1][0] < interval.end:
                yield pairs
                continue
            within = pairs[: bisect_left(pairs, interval.end, key=itemgetter(0))]
            if within:
                yield within
            break


def _newest(
    database: OpenedDatabase, form: StoreFormat, families: Sequence[str], interval: Interval, size: int
) -> Iterator[list[_Stored]]:
    """For a key in several column families, only the newest row."""

    def ranked(rank: int, family: str) -> Iterator[tuple[bytes, int, bytes]]:
        for pairs in _pairs(database, family, (interval,), size):
            for key, value in pairs:
                yield key, rank, value

    decoders = [decoder(form, family) for family in families]
    last: bytes | None = None
    stored_rows: list[_Stored] = []
    try:
        for key, rank, value in merge(*(ranked(rank, family) for rank, family in enumerate(families))):
            if key != last:
                stored_rows.append((decoders[rank], key, value))
            last = key
            if len(stored_rows) == size:
                yield stored_rows
                stored_rows = []
    except Exception:  # an error of RocksDB: the rows before the damage are given first
        yield stored_rows
        raise
    yield stored_rows


def _one_by_one(stored: Iterable[_Stored], note: Note, read: int) -> RowBatch:
    rows: list[StateRow] = []
    for number, (decode, key, value) in enumerate(stored, read):
        try:
            rows.extend(decode(key, value))
        except FormatError as error:
            note(number, f"key {key[:40].hex()}: {error.message}", False)
    return RowBatch.of(rows)
