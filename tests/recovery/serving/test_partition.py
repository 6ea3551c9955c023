"""A served partition against a store that is restored in one go, and what happens when it is opened again."""

from __future__ import annotations

import shutil
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from srfix.recovery.errors import StateDirectoryError
from srfix.recovery.facts.decoding import RecordDecoder
from srfix.recovery.serving.databases import RocksDatabase
from srfix.recovery.serving.partition import Progress, RestoredRow, ServedPartition
from srfix.recovery.serving.questions import Question, Served
from srfix.recovery.state.writing.kinds import WrittenKind
from srfix.recovery.state.writing.stores import StoreToWrite
from srfix.recovery.stores.choices import Until
from srfix.serde.properties.kafka_client import Isolation
from tests.examples import examples
from tests.recovery.serving.records import Record, in_batches, opened, restored_rows, rows_of

_RETENTION_MS = 600_000
_KEYS = st.sampled_from([b"a", b"b", b"ab", b"\xff\xff", b""])
_TIMES = st.integers(0, 20).map(lambda steps: steps * 100_000)
KV = StoreToWrite(name="users", kind=WrittenKind.TIMESTAMPED_KV)


def _store(kind: WrittenKind) -> StoreToWrite:
    return StoreToWrite(name="users", kind=kind, retention_ms=_RETENTION_MS if kind.has_retention else None)


@st.composite
def _records(draw: st.DrawFn, kind: WrittenKind) -> list[Record]:
    records = []
    for at in range(draw(st.integers(1, 25))):
        key, at_ms = draw(_KEYS), draw(_TIMES)
        if kind.format.is_windowed:
            key += struct.pack(">qi", at_ms, 0)
        elif kind.format.is_of_sessions:
            key += struct.pack(">qq", at_ms + draw(st.integers(0, 3)), at_ms)
        value = draw(st.one_of(st.none(), st.binary(min_size=1, max_size=3)))
        records.append(Record(2 * at, None if draw(st.integers(0, 15)) == 0 else key, value, at_ms))
    return records


@pytest.mark.parametrize("kind", WrittenKind, ids=lambda kind: kind.value)
@settings(deadline=None, max_examples=examples(40))
@given(data=st.data())
def test_it_has_the_rows_of_a_restore_however_it_was_cut_and_opened(
    kind: WrittenKind, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("served")
    store, records = _store(kind), data.draw(_records(kind))
    part = opened(folder / "ours", store)
    for number, batch in enumerate(in_batches(records, data.draw(st.lists(st.integers(0, 30), max_size=4)))):
        if number and data.draw(st.booleans()):
            part.close()
            part = opened(folder / "ours", store)
            assert part.offset == batch[0].at - 1
        part.apply(batch)  # type: ignore[arg-type]
    assert rows_of(part) == restored_rows(store, records, folder / "theirs")
    assert part.offset == records[-1].at + 1
    part.close()


def _answered(part: ServedPartition, **asked: Any) -> list[tuple[str, int | None]]:
    """The keys of rows, and when they begin."""
    served = Served(spec=part.served, decoder=RecordDecoder(None, roles=()))  # type: ignore[arg-type]
    rows = [msgspec.json.decode(row) for piece in served.chunks(part, Question(**asked)) for row in piece.rows]
    return [(row["key"]["text"], row["window"]["start_ms"] if row["window"] else row["valid_from_ms"]) for row in rows]


@pytest.mark.parametrize(
    ("kind", "oldest"), [(WrittenKind.TIMESTAMPED_WINDOW, 100_001), (WrittenKind.INDEXED_TIME_FIRST_WINDOW, 100_000)]
)
def test_windows_are_answered_as_long_as_kafka_streams_shows_them(
    kind: WrittenKind, oldest: int, tmp_path: Path
) -> None:
    part = opened(tmp_path, _store(kind))
    starts = (99_999, 100_000, 100_001, 100_000 + _RETENTION_MS)
    part.apply([Record(at, b"a" + struct.pack(">qi", start, 0), b"v") for at, start in enumerate(starts)])  # type: ignore[misc]
    assert _answered(part) == [("a", start) for start in starts if start >= oldest]


def test_versions_are_answered_as_kafka_streams_does(tmp_path: Path) -> None:
    """Neither what was deleted, nor what held before the history, unless it still holds."""
    part = opened(tmp_path, _store(WrittenKind.VERSIONED))
    deleted = ((b"d", None, 100), (b"d", b"1", 200), (b"d", None, 300))
    written = (*deleted, (b"a", b"1", 200), (b"b", b"1", 200), (b"b", b"2", 300), (b"b", b"3", 300 + _RETENTION_MS))
    part.apply([Record(at, key, value, at_ms) for at, (key, value, at_ms) in enumerate(written)])  # type: ignore[misc]
    assert sorted(_answered(part)) == [("a", 200), ("b", 200), ("b", 300), ("b", 300 + _RETENTION_MS), ("d", 200)]
    for key, at_ms, begin in (("a", 299, 200), ("b", 299, None), ("b", 300, 300), ("d", 300, None)):
        found = _answered(part, keys=(key.encode(),), at_ms=at_ms)
        assert found == ([] if begin is None else [(key, begin)])


def test_a_record_that_does_not_fit_leaves_nothing_of_its_batch(tmp_path: Path) -> None:
    part = opened(tmp_path, _store(WrittenKind.TIMESTAMPED_WINDOW))
    whole = b"a" + struct.pack(">qi", 100_000, 0)
    with pytest.raises(StateDirectoryError, match="too short"):
        part.apply([Record(0, whole, b"1"), Record(1, b"short", b"2")])  # type: ignore[list-item]
    assert (part.offset, rows_of(part)) == (0, [])
    part.apply([Record(0, whole, b"1")])  # type: ignore[list-item]
    assert [row.value for row in rows_of(part)] == [b"1"]


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"origin": "other:9092"}, "another topic"),
        ({"tombstones_kept_ms": 1}, "delete.retention.ms"),
        ({"isolation": Isolation.READ_COMMITTED}, "another --until or --isolation"),
        ({"until": Until.COMMITTED}, "another --until or --isolation"),
    ],
    ids=["of another cluster", "left alone for too long", "with aborted transactions", "up to the end"],
)
def test_rows_that_may_be_wrong_are_filled_anew(tmp_path: Path, more: dict[str, object], why: str) -> None:
    part = opened(tmp_path, KV)
    part.apply([Record(0, b"a", b"1")])  # type: ignore[list-item]
    part.close()
    time.sleep(0.01)
    part = opened(tmp_path, KV, **more)
    assert (part.offset, rows_of(part)) == (0, [])
    assert why in part.notes[0]


def test_a_head_start_that_was_not_finished_counts_for_nothing(tmp_path: Path) -> None:
    def dies() -> Iterator[RestoredRow]:
        for number in range(6_000):
            yield b"%d" % number, b"1", 0, ()
        raise KeyboardInterrupt

    part = opened(tmp_path, KV)
    with pytest.raises(KeyboardInterrupt):
        part.start_with(dies(), 7_000)
    part.close()
    part = opened(tmp_path, KV)
    assert (part.offset, rows_of(part)) == (0, [])
    part.start_with(iter([(b"a", b"1", 0, ())]), 7_000)
    assert (part.offset, [row.key for row in rows_of(part)]) == (7_000, [b"a"])


def test_a_head_start_beyond_the_end_of_its_log_is_not_shown(tmp_path: Path) -> None:
    part = opened(tmp_path, KV)
    part.start_with(iter([(b"a", b"1", 0, ())]), 100)
    part.see_end(5)
    assert (part.progress.is_mixed, part.progress.is_filled, part.lag.is_caught_up) == (True, False, False)


@pytest.mark.parametrize("batches", [[[7], [8]], [[7, 8], [9]]])
def test_a_head_start_is_shown_although_records_keep_coming(tmp_path: Path, batches: list[list[int]]) -> None:
    part = opened(tmp_path, KV)
    part.start_with(iter([(b"a", b"1", 0, ())]), 7)
    part.see_end(8)
    assert (part.progress.is_mixed, part.is_filled) == (True, False)
    for offsets in batches:
        part.apply([Record(offset, b"b", b"1") for offset in offsets])  # type: ignore[misc]
    part.see_end(20)
    assert (part.progress.is_mixed, part.is_filled) == (False, True)


def test_what_it_says_of_its_lag(tmp_path: Path) -> None:
    part = opened(tmp_path, KV)
    assert (part.lag.records, part.lag.lag_ms, part.lag.is_caught_up) == (None, None, False)
    part.apply([Record(4, b"a", b"1", at_ms=1_000)])  # type: ignore[list-item]
    part.see_end(9)
    assert part.lag.records == 4
    assert (part.lag.lag_ms or 0) > 1_000_000
    part.apply((), offset=9)
    assert (part.lag.records, part.lag.lag_ms, part.lag.is_caught_up) == (0, 0, True)
    assert isinstance(part.progress, Progress)


def test_what_was_behind_when_its_end_was_last_seen_is_as_old_as_its_last_record(tmp_path: Path) -> None:
    part = opened(tmp_path, KV)
    part.apply([Record(4, b"a", b"1", at_ms=1_000)])  # type: ignore[list-item]
    part.see_end(9, time.monotonic() - 10)
    assert part.lag.records is None
    assert (part.lag.lag_ms or 0) > 1_000_000


def test_the_end_of_another_log_does_not_make_it_filled(tmp_path: Path) -> None:
    part = opened(tmp_path, KV)
    part.apply([Record(4, b"a", b"1")])  # type: ignore[list-item]
    part.see_end(5)
    part.start_anew("its topic was deleted and made again")
    part.apply([Record(4, b"a", b"1")])  # type: ignore[list-item]
    assert (part.is_filled, part.lag.records) == (False, None)


def test_a_power_cut_does_not_bring_back_the_progress_of_rows_that_were_removed(tmp_path: Path) -> None:
    database = RocksDatabase(tmp_path / "rows")
    database.commit({0: {b"a": b"1"}}, b"1")
    database.close()
    database = RocksDatabase(tmp_path / "rows")
    database.clear()
    shutil.copytree(tmp_path / "rows", tmp_path / "image", ignore=shutil.ignore_patterns("*.log"))
    assert RocksDatabase(tmp_path / "image").progress() is None


def test_a_damaged_row_is_not_a_missing_one(tmp_path: Path) -> None:
    database = RocksDatabase(tmp_path)
    database.commit({0: {b"k": b"v" * 100}}, b"1", is_filling=True)
    database.commit({}, b"2")
    database.close()
    for table in tmp_path.glob("*.sst"):
        table.write_bytes(table.read_bytes().replace(b"v" * 50, b"w" * 50))
    database = RocksDatabase(tmp_path)
    with pytest.raises(Exception, match="Corruption"):
        database.rows(0, "rows", is_frozen=True).get("rows", b"k")


def test_a_kill_finds_all_that_was_written_since_it_was_filled(tmp_path: Path) -> None:
    database = RocksDatabase(tmp_path / "rows")

    def after_a_kill() -> tuple[bytes | None, list[bytes]]:
        image = tmp_path / "image"
        shutil.rmtree(image, ignore_errors=True)
        shutil.copytree(tmp_path / "rows", image)
        killed = RocksDatabase(image)
        rows = [key for part in killed.parts() for key, _value in killed.rows(part, "rows").rows("rows")]
        found = killed.progress(), rows
        killed.close()
        return found

    database.commit({0: {b"a": b"1"}}, b"1", is_filling=True)
    assert after_a_kill() == (None, []), "neither rows without their progress, nor the other way round"
    database.commit({0: {b"b": b"2"}}, b"2", is_filling=True)
    database.commit({0: {b"c": b"3"}}, b"3")
    assert after_a_kill() == (b"3", [b"a", b"b", b"c"])
    database.commit({0: {b"d": b"4"}}, b"4", is_filling=True)
    database.close()
    assert after_a_kill() == (b"4", [b"a", b"b", b"c", b"d"]), "closing is no kill"
