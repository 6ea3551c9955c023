"""Versioned stores written record by record: each version is where Kafka Streams puts it, and what is too old is gone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from srfix.recovery import StateDirectoryError
from srfix.recovery.state.formats.values import PLAIN
from srfix.recovery.state.formats.versioned import versioned_segment_interval_ms
from srfix.recovery.state.layouts import StoreFormat
from srfix.recovery.state.reading.rows import StateRow, decoder
from srfix.recovery.state.rocksdb import opened
from srfix.recovery.state.writing.kinds import Release, WrittenKind
from srfix.recovery.state.writing.stores import StoreToWrite, store_writer

RETENTION_MS = 60_000
INTERVAL_MS = 20_000
LATEST = "ff" * 8
Put = tuple[bytes, bytes | None, int]


def written(folder: Path, puts: Iterable[Put]) -> tuple[dict[bytes, bytes], int]:
    """The rows, and how many records were too old."""
    store = StoreToWrite(name="v", kind=WrittenKind.VERSIONED, retention_ms=RETENTION_MS)
    with store_writer(store, folder, Release(3, 9, 2)) as writer:
        for key, value, timestamp_ms in puts:
            writer.restore(key, value, timestamp_ms=timestamp_ms)
        writer.finish(())
    with opened(folder / "rocksdb" / "v") as database:
        return dict(database.rows(PLAIN)), writer.rows.late


def rows_of(folder: Path, *puts: Put) -> dict[str, str]:
    return {key.hex(): value.hex() for key, value in written(folder, puts)[0].items()}


def versions(rows: dict[bytes, bytes]) -> set[tuple[bytes, bytes, int, int | None]]:
    """Key, value, from, to of each version."""
    read = decoder(StoreFormat.VERSIONED, PLAIN)
    found: Iterator[StateRow] = (row for key, value in rows.items() for row in read(key, value))
    return {(row.key, row.value, row.valid_from_ms or 0, row.valid_to_ms) for row in found if row.value is not None}


class TestRows:
    def test_a_tombstone_that_nothing_precedes_is_a_row_of_its_own(self, tmp_path: Path) -> None:
        rows = rows_of(tmp_path, (b"k1", None, 1000))
        assert rows == {bytes(8).hex() + "6b31": "00000000000003e8" * 3 + "ffffffff"}
        ((key, value),) = rows.items()
        # It says nothing to who reads versions.
        assert [*decoder(StoreFormat.VERSIONED, PLAIN)(bytes.fromhex(key), bytes.fromhex(value))] == []

    def test_a_tombstone_at_the_time_of_the_latest_takes_it_away_without_a_trace(self, tmp_path: Path) -> None:
        assert rows_of(tmp_path, (b"k1", b"v1", 1000), (b"k1", None, 1000)) == {}

    def test_a_version_that_is_split_lies_where_it_ends(self, tmp_path: Path) -> None:
        rows, _ = written(tmp_path, [(b"k", b"a", 1000), (b"k", b"c", 50_000), (b"k", b"b", 5000)])
        assert sorted(key.hex() for key in rows) == ["0" * 16 + "6b", "0" * 15 + "26b", LATEST + "6b"]
        assert versions(rows) == {(b"k", b"a", 1000, 5000), (b"k", b"b", 5000, 50_000), (b"k", b"c", 50_000, None)}

    def test_one_that_is_too_old_is_left_out_and_so_is_an_old_segment(self, tmp_path: Path) -> None:
        puts = [(b"k", b"a", 1000), (b"k", b"b", 2000), (b"o", b"c", 100_000), (b"k", b"late", 39_999)]
        rows, late = written(tmp_path, puts)
        assert late == 1
        # The latest one of a key never goes.
        assert versions(rows) == {(b"k", b"b", 2000, None), (b"o", b"c", 100_000, None)}

    def test_a_time_before_1970_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(StateDirectoryError, match="key 6b has the timestamp -1"):
            written(tmp_path, [(b"k", b"a", -1)])


def as_a_dictionary_has_it(puts: list[Put]) -> set[tuple[bytes, bytes, int, int | None]]:
    """Each version holds until the next later one of its key; those that ended in a segment that is too old are gone."""
    newest, kept = -1, dict[bytes, dict[int, bytes | None]]()
    for key, value, timestamp_ms in puts:
        if timestamp_ms >= newest - RETENTION_MS:
            newest = max(newest, timestamp_ms)
            kept.setdefault(key, {})[timestamp_ms] = value
    oldest = max(newest - RETENTION_MS, 0) // INTERVAL_MS
    return {
        (key, value, start, end)
        for key, by_time in kept.items()
        for start, end in pairwise([*sorted(by_time), None])
        if start is not None and (value := by_time[start]) is not None and (end is None or end // INTERVAL_MS >= oldest)
    }


times = st.integers(0, 100).map(lambda number: number * 2000)
puts = st.one_of(
    st.tuples(st.sampled_from([b"", b"a", b"ab"]), st.binary(max_size=4), times),
    # A tombstone at the time of a value takes it away without a trace: see above.
    st.tuples(st.sampled_from([b"", b"a", b"ab"]), st.none(), times.map(lambda time_ms: time_ms + 1)),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(puts=st.lists(puts, max_size=60))
def test_any_records_leave_what_a_dictionary_would_hold(
    tmp_path_factory: pytest.TempPathFactory, puts: list[Put]
) -> None:
    rows, _ = written(tmp_path_factory.mktemp("versions"), puts)
    assert versions(rows) == as_a_dictionary_has_it(puts)


def test_the_interval_follows_from_the_history(tmp_path: Path) -> None:
    store = StoreToWrite(name="v", kind=WrittenKind.VERSIONED, retention_ms=RETENTION_MS)
    assert store.interval_ms == versioned_segment_interval_ms(RETENTION_MS) == INTERVAL_MS
