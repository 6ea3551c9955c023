"""A versioned store, and stores whose stored rows stand in their changelog, beside their topics."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.state.directory_reader import read_state_directory
from srfix.recovery.state.formats.values import PLAIN, TIMESTAMPED, encode_timestamped
from srfix.recovery.state.layouts import StoreFormat
from srfix.recovery.state.reading.store import StateStore, open_stores
from srfix.recovery.state.writing.kinds import Release, WrittenKind
from srfix.recovery.state.writing.stores import StoreToWrite
from srfix.recovery.stores.difference_kinds import Comparison, DifferenceKind
from srfix.recovery.stores.differences import compared
from srfix.recovery.stores.rebuild.rebuild import rebuild
from tests.recovery.state.reading.test_batches import Database, opened
from tests.recovery.state.reading.test_real_directories import (
    DATA,
    TWO_AT_FIRST,
    VERSIONS,
    raw_rows,
    state_of,
    stored,
    value_of,
)
from tests.recovery.stores.rebuild.topics import TopicOfRecords, rebuild_of

FOREVER_MS: Final = 1_000_000_000
Put = tuple[bytes, bytes | None, int]
"""Key, value and timestamp."""


def records_of(puts: Sequence[Put]) -> list[RawRecord]:
    return [
        RawRecord(partition=0, offset=offset, key=key, value=value, timestamp=timestamp)
        for offset, (key, value, timestamp) in enumerate(puts)
    ]


def versioned(folder: Path, puts: Sequence[Put], *, retention_ms: int = FOREVER_MS) -> StateStore:
    written = StoreToWrite(name="s", kind=WrittenKind.VERSIONED, retention_ms=retention_ms)
    asked = rebuild_of(written, release=Release(3, 9, 2))
    rebuild(asked, TopicOfRecords({0: records_of(puts)}), folder / "shop", request={})
    (state,) = read_state_directory(folder / "shop")
    (store,) = open_stores(state, form=StoreFormat.VERSIONED)
    return store


def beside(store: StateStore, records: Sequence[RawRecord], *, end: int, is_cut: bool = False) -> dict[str, int]:
    return counts(compared(store, records, is_cut=is_cut, end=end))


def counts(found: Comparison) -> dict[str, int]:
    return {kind.value: count for kind, count in found.counts.items() if count}


BASE: Final[list[Put]] = [(b"a", b"1", 1_000), (b"b", b"x", 2_000), (b"a", b"2", 3_000), (b"a", None, 5_000)]


class TestVersions:
    @pytest.mark.slow
    @settings(max_examples=25, deadline=None)
    @given(
        puts=st.lists(
            st.tuples(
                st.sampled_from([b"", b"a", b"a\0", b"b"]),
                st.sampled_from([b"", b"x", b"y", None]),
                st.integers(0, 40).map(lambda number: number * 1_000),
            ),
            min_size=1,
            max_size=12,
        ),
        retention_ms=st.sampled_from([6_000, 15_000, FOREVER_MS]),
    )
    def test_a_store_that_a_restore_has_filled_differs_in_nothing(self, puts: list[Put], retention_ms: int) -> None:
        folder = Path(mkdtemp())
        try:
            store = versioned(folder, puts, retention_ms=retention_ms)
            found = beside(store, records_of(puts), end=len(puts))
        finally:
            shutil.rmtree(folder)
        assert set(found) <= {"not-known"}, found

    def test_a_version_that_the_store_lacks_is_missing_and_one_that_ended_is_stale(self, tmp_path: Path) -> None:
        more: list[Put] = [*BASE, (b"b", None, 6_000), (b"c", b"new", 7_000)]
        store = versioned(tmp_path, BASE)
        assert beside(store, records_of(more), end=len(more)) == {"missing": 1, "stale": 1}
        other: list[Put] = [(b"a", b"other", 1_000), *BASE[1:]]
        assert beside(store, records_of(other), end=len(other)) == {"other-bytes": 1}

    def test_a_version_that_no_record_made_is_extra_where_no_record_can_have_gone(self, tmp_path: Path) -> None:
        store = versioned(tmp_path, BASE)
        fewer = [BASE[0], *BASE[2:]]
        assert beside(store, records_of(fewer), end=3) == {"extra": 1}
        assert beside(store, records_of(fewer), end=3, is_cut=True) == {"not-known": 1}
        assert beside(store, records_of(fewer), end=4) == {"not-known": 1}  # the last offset is gone
        compacted = [record for record in records_of(BASE) if record.offset in (1, 3)]
        assert beside(store, compacted, end=4) == {"not-known": 2}  # the history of a
        assert beside(store, [], end=4) == {"not-known": 3}
        assert beside(store, [], end=0) == {"extra": 3}

    def test_a_tombstone_of_the_same_time_takes_a_version_away(self, tmp_path: Path) -> None:
        gone: list[Put] = [*BASE, (b"b", None, 2_000)]
        store = versioned(tmp_path, BASE)
        assert beside(store, records_of(gone), end=len(gone)) == {"not-known": 1}  # it was late
        soon: list[Put] = [BASE[0], BASE[1], (b"b", None, 2_000), *BASE[2:]]
        assert beside(store, records_of(soon), end=len(soon), is_cut=True) == {"extra": 1}

    @pytest.mark.parametrize("late", [b"x", None])
    def test_what_comes_late_at_the_time_of_a_version_may_have_been_left_out(
        self, tmp_path: Path, late: bytes | None
    ) -> None:
        puts: list[Put] = [(b"k", b"v", 0), (b"k", b"w", 7_000), (b"k", late, 0)]
        store = versioned(tmp_path, puts, retention_ms=6_000)
        assert beside(store, records_of(puts), end=len(puts)) == {"not-known": 1}

    def test_a_late_version_may_hold_on_past_a_tombstone_that_left_no_trace(self, tmp_path: Path) -> None:
        puts: list[Put] = [(b"b", b"x", 8_000), (b"b", None, 8_000), (b"b", b"late", 3_000), *BASE[:3]]
        store = versioned(tmp_path, puts)
        assert [row.valid_to_ms for row in store.rows() if row.value == b"late"] == [None]
        assert beside(store, records_of(puts), end=len(puts)) == {"not-known": 1}

    def test_history_is_missing_only_where_no_later_record_can_have_gone(self, tmp_path: Path) -> None:
        fewer: list[Put] = [(b"b", b"0", 0), (b"b", b"1", 1_000), *BASE[:1], (b"a", b"3", 4_000)]
        more: list[Put] = [*fewer[:3], (b"a", b"2", 2_000), *fewer[3:]]
        store, records = versioned(tmp_path, fewer), records_of(more)
        assert beside(store, records, end=5) == {"missing": 1, "stale": 1}
        assert beside(store, records[1:], end=5, is_cut=True) == {"missing": 1, "stale": 1, "not-known": 1}
        gap = [*records[:4], replace(records[4], offset=7)]
        assert beside(store, gap, end=8) == {"not-known": 1, "stale": 1}

    def test_history_that_the_store_has_let_go_is_not_known(self, tmp_path: Path) -> None:
        later: list[Put] = [*BASE, (b"d", b"1", 100_000), (b"d", b"2", 101_000)]
        store = versioned(tmp_path, later, retention_ms=6_000)
        assert beside(store, records_of(later), end=len(later)) == {"not-known": 2}


class TestStoredRows:
    def test_the_list_of_a_join_is_compared_as_it_is_stored(self, tmp_path: Path) -> None:
        key = (1_000).to_bytes(8, "big") + b"\1k1"
        value = b"\1" + (1).to_bytes(4, "big") + (3).to_bytes(4, "big") + b"\1v1"
        store = opened(tmp_path, StoreFormat.LIST_VALUE, [Database(0, {PLAIN: {key: value}})])
        found = compared(store, records_of([(key, value, 1)]), end=1)
        assert (found.same, counts(found)) == (1, {})
        assert beside(store, records_of([(key, b"\1", 1)]), end=1) == {"other-bytes": 1}
        assert beside(store, [], end=0) == {"extra": 1}
        assert beside(store, [], end=9, is_cut=True) == {"not-known": 1}
        gone = replace(records_of([(key, None, 1)])[0], offset=8)
        assert beside(store, [gone], end=9, is_cut=True) == {"extra": 1}

    def test_a_subscription_is_compared_without_its_timestamp_and_has_no_schema_id(self, tmp_path: Path) -> None:
        key, value = (2).to_bytes(4, "big") + b"fkpk", b"\0\0" + bytes(16) + b"pk"
        rows = {TIMESTAMPED: {key: encode_timestamped(value, 5)}}
        store = opened(tmp_path, StoreFormat.SUBSCRIPTION, [Database(0, rows)])
        assert compared(store, records_of([(key, value, 5)]), end=1).same == 1
        (shown,) = compared(store, records_of([(key, b"\0\0\0\0\1" + value, 5)]), end=1).shown
        assert (shown.kind, shown.store_id, shown.topic_id) == (DifferenceKind.OTHER_BYTES, None, None)


AS_STORED: Final = {
    version: {"fkj-subscription-store"} | ({"oj-outer-shared-join-store"} if version != "2.6.3" else set())
    for version in VERSIONS
}
"""By version the stores that stand in their changelogs as they are; 2.6.3 has no list stores."""


def records_of_stored(version: str, store: StateStore) -> list[RawRecord]:
    """The records that made the rows of a store, by the listing of what RocksDB holds."""
    if store.format is StoreFormat.VERSIONED:
        rows = stored(version, store)
        puts = {(row.key, row.valid_from_ms or 0): row.value for row in rows}
        for row in rows:
            if row.valid_to_ms is not None:
                puts.setdefault((row.key, row.valid_to_ms), None)
        return records_of([(key, puts[key, at], at) for key, at in sorted(puts, key=lambda put: put[1])])
    raw = next(raw for path, raw in raw_rows(DATA / version).items() if f"{path}/".endswith(f"/{store.name}/"))
    return records_of([(key, value_of(family, value)[0], 1) for family, key, value in raw.rows()])


@pytest.mark.parametrize("version", TWO_AT_FIRST)
class TestRealDirectories:
    def test_what_real_streams_left_is_as_its_records_say(self, version: str) -> None:
        seen = set()
        for store in open_stores(state_of(version)):
            if store.format in (StoreFormat.VERSIONED, StoreFormat.LIST_VALUE, StoreFormat.SUBSCRIPTION):
                records = records_of_stored(version, store)
                found = compared(store, records, end=len(records))
                held = [record for record in records if record.value is not None]
                assert (found.same, counts(found), store.damage) == (len(held), {}, []), store.name
                seen.add(store.name)
        assert seen == AS_STORED[version] | ({"ver"} if version != "2.6.3" else set())

    def test_without_its_oldest_record_a_row_or_version_is_extra_or_not_known(self, version: str) -> None:
        for name in AS_STORED[version] | ({"ver"} if version != "2.6.3" else set()):
            (store,) = open_stores(state_of(version), name)
            rest = [replace(each, offset=offset) for offset, each in enumerate(records_of_stored(version, store)[1:])]
            assert beside(store, rest, end=len(rest)) == {"extra": 1}
            assert beside(store, rest, end=len(rest) + 1, is_cut=True) == {"not-known": 1}
