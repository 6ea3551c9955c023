"""Rows as columns, and what is sought: the same as a plain walk over all rows, one by one, of random stores of each kind."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parts.state_directory import write_database
from srfix.recovery.errors import FormatError
from srfix.recovery.state.directory_reader import read_state_directory
from srfix.recovery.state.formats.joins import (
    CombinedKey,
    JoinSideKey,
    Side,
    SidedValue,
    encode_list,
    encode_sided_value,
)
from srfix.recovery.state.formats.values import (
    PLAIN,
    SESSION_WITH_HEADERS,
    TIMESTAMPED,
    WINDOW_WITH_HEADERS,
    WITH_HEADERS,
    encode_aggregate_with_headers,
    encode_timestamped,
    encode_with_headers,
)
from srfix.recovery.state.formats.versioned import (
    VersionedRecord,
    encode_latest,
    encode_versioned_key,
    encode_versioned_segment,
)
from srfix.recovery.state.formats.windows import SESSIONS, WINDOWS, StoredWindow
from srfix.recovery.state.layouts import StoreFormat
from srfix.recovery.state.reading.rows import StateRow, decoder
from srfix.recovery.state.reading.store import StateStore, open_stores
from tests.recovery.state.encoding import encode_combined_key, encode_join_side_key

NEWEST_FIRST: Final = (WITH_HEADERS, WINDOW_WITH_HEADERS, SESSION_WITH_HEADERS, TIMESTAMPED, PLAIN)
FAMILIES: Final = {
    StoreFormat.PLAIN_KV: (PLAIN,),
    StoreFormat.TIMESTAMPED_KV: (TIMESTAMPED, PLAIN),
    StoreFormat.HEADERS_KV: (WITH_HEADERS, TIMESTAMPED),
    StoreFormat.VERSIONED: (PLAIN,),
    StoreFormat.LIST_VALUE: (PLAIN,),
    StoreFormat.SUBSCRIPTION: (TIMESTAMPED, PLAIN),
    StoreFormat.PLAIN_WINDOW: (PLAIN,),
    StoreFormat.TIMESTAMPED_WINDOW: (TIMESTAMPED, PLAIN),
    StoreFormat.HEADERS_WINDOW: (WITH_HEADERS, TIMESTAMPED),
    StoreFormat.JOIN_WINDOW: (PLAIN,),
    StoreFormat.TIME_FIRST_WINDOW: (WINDOW_WITH_HEADERS, PLAIN),
    StoreFormat.SESSION: (PLAIN,),
    StoreFormat.HEADERS_SESSION: (SESSION_WITH_HEADERS, PLAIN),
    StoreFormat.TIME_FIRST_SESSION: (SESSION_WITH_HEADERS, PLAIN),
}
"""Where the rows of each kind lie; in the second of two those that an upgrade has not moved yet."""
EXAMPLES: Final = int(os.environ.get("SRFIX_STORES", "40"))
"""Each makes databases, which is slow."""
SEGMENT_MS: Final = 60_000
KEYS = st.lists(st.sampled_from([b"\0", b"\1", b"a", b"\x7f", b"\xff"]), max_size=3).map(b"".join)
TIMES = st.sampled_from([0, 1, 255, 256, 30_000, SEGMENT_MS - 1])
STAMPS = st.sampled_from([None, 0, 1_700_000_000_000])
HEADERS = st.sampled_from([(), (), (("h", b"x"), ("n", None))])


@dataclass(frozen=True)
class Database:
    """One of a store's: by its segment's start, its rows by column family."""

    start_ms: int
    families: dict[str, dict[bytes, bytes]]


@st.composite
def values(draw: st.DrawFn, form: StoreFormat, family: str) -> bytes:
    payload = draw(st.binary(max_size=3))
    if form is StoreFormat.TIME_FIRST_SESSION:
        return payload
    if (form is StoreFormat.TIME_FIRST_WINDOW and family == PLAIN) or family == TIMESTAMPED:
        return encode_timestamped(payload, draw(STAMPS))
    if family == SESSION_WITH_HEADERS:
        return encode_aggregate_with_headers(payload, None, draw(HEADERS))
    return payload if family == PLAIN else encode_with_headers(payload, draw(STAMPS), draw(HEADERS))


@st.composite
def versioned(draw: st.DrawFn) -> tuple[bytes, bytes]:
    key, payload = draw(KEYS), draw(st.binary(max_size=3))
    if draw(st.booleans()):
        latest = VersionedRecord(payload=payload, valid_from_ms=draw(TIMES), valid_to_ms=None)
        return encode_versioned_key(key, -1), encode_latest(latest)
    times = sorted(draw(st.lists(st.integers(0, 2**40), min_size=2, max_size=4, unique=True)), reverse=True)
    records = [
        VersionedRecord(payload=draw(st.sampled_from([payload, None])), valid_from_ms=begin, valid_to_ms=end)
        for end, begin in pairwise(times)
    ]
    segment = draw(st.sampled_from([0, 1, 255, 2**40]))
    return encode_versioned_key(key, segment), encode_versioned_segment(records)


@st.composite
def stored(draw: st.DrawFn, form: StoreFormat, family: str, start_ms: int) -> list[tuple[bytes, bytes]]:
    """A row as it is stored; with its entry of the index, where there is one."""
    if form is StoreFormat.VERSIONED:
        return [draw(versioned())]
    key = draw(KEYS)
    if form is StoreFormat.LIST_VALUE:
        sides = draw(st.permutations(list(Side)))
        sided = [SidedValue(payload=draw(st.binary(max_size=3)), side=side) for side in sides]
        at = JoinSideKey(key=key, timestamp_ms=draw(TIMES), side=Side.LEFT)
        return [(encode_join_side_key(at), encode_list([encode_sided_value(each) for each in sided]))]
    value = draw(values(form, family))
    if form is StoreFormat.SUBSCRIPTION:
        return [(encode_combined_key(CombinedKey(foreign_key=draw(KEYS), primary_key=key)), value)]
    if form.is_key_value:
        return [(key, value)]
    time_ms = start_ms + draw(TIMES)
    if form.is_of_sessions:
        window = StoredWindow(max(time_ms - draw(TIMES), 0), time_ms)
    else:
        window = StoredWindow(time_ms, None, draw(st.integers(0, 2)) if form is StoreFormat.JOIN_WINDOW else 0)
    windows = SESSIONS if form.is_of_sessions else WINDOWS
    if form in (StoreFormat.TIME_FIRST_SESSION, StoreFormat.TIME_FIRST_WINDOW):
        return [(windows.encode_time_first(key, window), value), (windows.encode_key_first(key, window), b"")]
    return [(windows.encode(key, window), value)]


@st.composite
def stores(draw: st.DrawFn) -> tuple[StoreFormat, tuple[Database, ...]]:
    form = draw(st.sampled_from(list(StoreFormat)))
    newest, *older = FAMILIES[form]
    families = [newest, *(older if draw(st.integers(0, 3)) == 0 else [])]
    is_segmented = form.is_windowed or form.is_of_sessions
    starts = draw(st.sampled_from([(0, SEGMENT_MS), (SEGMENT_MS, 1_700_000_040_000)])) if is_segmented else (0,)
    has_index = draw(st.booleans())
    # Of another form in each kind, plain key-value stores apart.
    odd = st.tuples(st.sampled_from([b"\0", b"a", b"\2\3", b"\xff" * 7]), st.just(b""))
    databases = []
    for start in starts:
        found = {}
        for family in families:
            rows = draw(st.lists(stored(form, family, start), max_size=12))
            index = len(rows[0]) if rows and has_index else 1
            found[family] = dict(each for row in rows for each in row[:index])
            found[family].update(draw(st.lists(odd, max_size=2)))
        databases.append(Database(start, found))
    return form, tuple(databases)


def opened(folder: Path, form: StoreFormat, databases: Iterable[Database]) -> StateStore:
    task = folder / "shop" / "0_0"
    for each in databases:
        is_segmented = form.is_windowed or form.is_of_sessions
        folder_of = f"users/users.{each.start_ms}" if is_segmented else "rocksdb/users"
        write_database(task / folder_of, each.families)
    (state,) = read_state_directory(folder)
    (store,) = open_stores(state, form=form)
    return store


def walk(form: StoreFormat, databases: Iterable[Database]) -> Iterator[StateRow | tuple[int, str]]:
    """Every row, one by one; of one that has another form where it stands, and its key."""
    for each in databases:
        newest: dict[bytes, str] = {}
        for family in reversed(NEWEST_FIRST):
            newest |= dict.fromkeys(each.families.get(family, ()), family)
        for number, key in enumerate(sorted(newest)):
            try:
                yield from decoder(form, newest[key])(key, each.families[newest[key]][key])
            except FormatError as error:
                yield number, f"key {key.hex()}: {error.message}"


def as_a_walk_finds(form: StoreFormat, databases: tuple[Database, ...], size: int, data: st.DataObject) -> None:
    found = list(walk(form, databases))
    rows = [each for each in found if isinstance(each, StateRow)]
    with tempfile.TemporaryDirectory() as folder:
        store = opened(Path(folder), form, databases)
        batches = list(store.batches(size=size))
        assert [row for batch in batches for row in batch.rows()] == rows
        assert all(len(batch) == len(list(batch.rows())) > 0 for batch in batches)
        odd = [(damage.rows_before, damage.problem) for damage in store.damage]
        assert odd == [each for each in found if not isinstance(each, StateRow)]
        sought(store, rows, data)


@settings(max_examples=8)
@given(told=stores(), data=st.data())
def test_columns_and_what_is_sought_are_what_a_walk_finds(
    told: tuple[StoreFormat, tuple[Database, ...]], data: st.DataObject
) -> None:
    as_a_walk_finds(*told, 3, data)


@pytest.mark.slow
@settings(max_examples=EXAMPLES)
@given(told=stores(), size=st.sampled_from([1, 3, 1_000]), data=st.data())
def test_so_they_are_of_many_stores(
    told: tuple[StoreFormat, tuple[Database, ...]], size: int, data: st.DataObject
) -> None:
    as_a_walk_finds(*told, size, data)


def sought(store: StateStore, rows: list[StateRow], data: st.DataObject) -> None:
    draw = data.draw
    keys = KEYS | st.sampled_from([row.key for row in rows] or [b""])
    key, other = draw(keys), draw(keys)
    assert list(store.rows_of(key)) == [row for row in rows if row.key == key]
    lower, upper = draw(st.sampled_from([(key, other), (None, key), (key, None)]))
    within = [row for row in rows if (lower is None or row.key >= lower) and (upper is None or row.key <= upper)]
    assert list(store.range(lower, upper)) == within
    assert list(store.prefix(key)) == [row for row in rows if row.key.startswith(key)]
    if store.format.is_key_value:
        assert store.get(key) == next((row for row in rows if row.key == key), None)
    elif store.format is StoreFormat.VERSIONED:
        assert sorted(store.history(key), key=repr) == sorted((row for row in rows if row.key == key), key=repr)
    times = st.sampled_from([-1, 0, 1, 256, SEGMENT_MS - 1, SEGMENT_MS, SEGMENT_MS + 255, 1_700_000_040_001, 2**64])
    first, last = draw(st.none() | times), draw(st.none() | times)
    of = draw(st.sampled_from([key, None]))
    spans = [
        (row, row.window.start_ms, row.window.start_ms if row.window.end_ms is None else row.window.end_ms)
        for row in rows
        if row.window is not None and of in (None, row.key)
    ]
    if store.format.is_windowed:
        expected = [row for row, at, _ in spans if (first is None or at >= first) and (last is None or at <= last)]
        assert list(store.fetch(of, from_ms=first, to_ms=last)) == expected
    elif store.format.is_of_sessions:
        expected = [row for row, at, end in spans if (first is None or end >= first) and (last is None or at <= last)]
        assert list(store.sessions(of, earliest_end_ms=first, latest_start_ms=last)) == expected


def test_a_short_key_hides_no_version_behind_it(tmp_path: Path) -> None:
    key = encode_versioned_key(b"k", -1)
    latest = VersionedRecord(payload=b"v", valid_from_ms=7, valid_to_ms=None)
    rows = {b"\0": b"", b"\2\3": b"", key: encode_latest(latest)}
    store = opened(tmp_path, StoreFormat.VERSIONED, [Database(0, {PLAIN: rows})])
    assert [(row.value, row.timestamp_ms) for row in store.rows_of(b"k")] == [(b"v", 7)]
    assert [row.key for row in store.range(b"a", b"k")] == [row.key for row in store.prefix(b"k")] == [b"k"]


def test_the_last_window_of_a_segment_is_in_it(tmp_path: Path) -> None:
    databases = [
        Database(start, {PLAIN: {WINDOWS.encode(b"k", StoredWindow(at)): b"v"}})
        for start, at in ((0, SEGMENT_MS - 1), (SEGMENT_MS, SEGMENT_MS))
    ]
    store = opened(tmp_path, StoreFormat.PLAIN_WINDOW, databases)

    def starts(from_ms: int | None, to_ms: int | None) -> list[int]:
        found = store.fetch(b"k", from_ms=from_ms, to_ms=to_ms)
        return [row.window.start_ms for row in found if row.window is not None]

    assert starts(SEGMENT_MS - 1, None) == [SEGMENT_MS - 1, SEGMENT_MS]
    assert starts(None, SEGMENT_MS - 1) == [SEGMENT_MS - 1]
    assert starts(SEGMENT_MS, SEGMENT_MS) == [SEGMENT_MS]
