"""Stores written and read again: rows, column families, segments, and how far they have come."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from srfix.recovery import StateDirectoryError
from srfix.recovery.state.checkpoints import (
    CheckpointEntry,
    OffsetMeaning,
    checkpoint_entries,
    checkpoint_text,
    parse_checkpoint,
    with_meaning,
)
from srfix.recovery.state.directory_reader import read_state_directory
from srfix.recovery.state.formats.values import PLAIN, TIMESTAMPED
from srfix.recovery.state.rocksdb import opened
from srfix.recovery.state.writing.kinds import Release, WrittenKind, segment_time
from srfix.recovery.state.writing.stores import StoreToWrite, store_writer
from srfix.serde import Topic, UsageError

RELEASES = ("2.5.1", "2.6.3", "2.7.0", "3.9.2", "4.2.0", "4.3.1")
ENTRIES = (CheckpointEntry(topic=Topic("users"), partition=1, offset=41),)


def rows_of(folder: Path, family: str) -> dict[bytes, bytes]:
    with opened(folder) as database:
        return dict(database.rows(family))


@pytest.mark.parametrize("version", RELEASES)
class TestKeyValue:
    def test_the_last_record_of_a_key_counts_and_a_tombstone_removes(self, tmp_path: Path, version: str) -> None:
        release = Release.parse(version)
        store = StoreToWrite(name="s", kind=WrittenKind.TIMESTAMPED_KV)
        with store_writer(store, tmp_path, release) as writer:
            writer.restore(b"a", b"1", timestamp_ms=1000)
            writer.restore(b"b", b"2", timestamp_ms=1000)
            writer.restore(b"a", b"3", timestamp_ms=None)
            writer.restore(b"b", None, timestamp_ms=2000)
            writer.restore(b"c", b"", timestamp_ms=0)
            writer.finish(ENTRIES)
        folder = tmp_path / "rocksdb" / "s"
        assert rows_of(folder, TIMESTAMPED) == {b"a": b"\xff" * 8 + b"3", b"c": bytes(8)}
        assert rows_of(folder, PLAIN) == {}
        assert {file.name.partition("-")[0] for file in folder.iterdir()} & {"OPTIONS", "LOG", "LOCK"} == set()
        assert not (folder / "rocksdict-config.json").exists()

    def test_what_it_says_of_itself_is_read(self, tmp_path: Path, version: str) -> None:
        release = Release.parse(version)
        task = tmp_path / "shop" / "0_1"
        with store_writer(StoreToWrite(name="s", kind=WrittenKind.PLAIN_KV), task, release) as writer:
            writer.finish(ENTRIES)
        (state,) = read_state_directory(tmp_path)
        offsets = state.tasks[0].stores[0].offsets
        if release.keeps_offsets_in_stores:
            assert offsets is not None
            assert (offsets.entries, offsets.is_open) == (ENTRIES, False)
        else:
            assert offsets is None


values = st.one_of(st.none(), st.binary(max_size=20))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=25)
@given(records=st.lists(st.tuples(st.binary(max_size=3), values, st.integers(0, 2**40)), max_size=40), data=st.data())
def test_any_records_leave_what_a_dictionary_would_hold(
    tmp_path_factory: pytest.TempPathFactory, records: list[tuple[bytes, bytes | None, int]], data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("store")
    release = Release.parse(data.draw(st.sampled_from(RELEASES)))
    expected: dict[bytes, bytes] = {}
    with store_writer(StoreToWrite(name="s", kind=WrittenKind.PLAIN_KV), folder, release) as writer:
        for key, value, timestamp_ms in records:
            writer.restore(key, value, timestamp_ms=timestamp_ms)
            if value is None:
                expected.pop(key, None)
            else:
                expected[key] = value
        writer.finish(())
    assert rows_of(folder / "rocksdb" / "s", PLAIN) == expected


class TestSegments:
    def key(self, start_ms: int) -> bytes:
        return b"k1" + start_ms.to_bytes(8, "big") + bytes(4)

    def test_what_is_older_than_the_retention_goes_as_in_a_restore(self, tmp_path: Path) -> None:
        store = StoreToWrite(name="w", kind=WrittenKind.PLAIN_WINDOW, retention_ms=120_000)
        with store_writer(store, tmp_path, Release(2, 6, 3)) as writer:
            writer.restore(self.key(0), b"gone", timestamp_ms=0)
            writer.restore(self.key(600_000), b"v", timestamp_ms=0)
            writer.restore(self.key(60_000), b"late", timestamp_ms=0)
            writer.finish(())
            assert writer.rows.late == 1
        assert [path.name for path in (tmp_path / "w").iterdir()] == ["w.600000"]

    def test_a_session_lies_where_it_ends(self) -> None:
        key = bytes.fromhex("6b31000000000000138800000000000003e8")  # the facts' golden vector: start 1000, end 5000
        assert segment_time(WrittenKind.SESSION, key) == 5000
        assert segment_time(WrittenKind.PLAIN_WINDOW, bytes.fromhex("6b31000000000000ea6000000000")) == 60_000

    def test_a_key_without_a_window_is_refused(self, tmp_path: Path) -> None:
        store = StoreToWrite(name="w", kind=WrittenKind.SESSION, retention_ms=120_000)
        with (
            pytest.raises(StateDirectoryError, match="key 6b31 is too short"),
            store_writer(store, tmp_path, Release(2, 6, 3)) as writer,
        ):
            writer.restore(b"k1", b"v", timestamp_ms=0)


class TestKinds:
    def test_a_release_without_them_is_refused(self, tmp_path: Path) -> None:
        store = StoreToWrite(name="s", kind=WrittenKind.HEADERS_KV)
        with pytest.raises(UsageError, match=r"4\.2\.0 has no stores of the kind headers-kv"):
            store_writer(store, tmp_path, Release(4, 2)).__enter__()

    def test_a_retention_belongs_to_windows(self) -> None:
        with pytest.raises(UsageError, match="give --retention"):
            StoreToWrite(name="s", kind=WrittenKind.SESSION)
        with pytest.raises(UsageError, match="leave out --retention"):
            StoreToWrite(name="s", kind=WrittenKind.PLAIN_KV, retention_ms=1)


class TestProgress:
    @pytest.mark.parametrize(
        ("version", "is_global", "offset"), [("2.5.1", False, 42), ("2.6.3", False, 41), ("4.3.1", True, 42)]
    )
    def test_the_number_means_what_the_release_takes_it_for(self, version: str, is_global: bool, offset: int) -> None:
        meaning = Release.parse(version).offset_meaning(is_global=is_global)
        starts = [(Topic("users"), 0, 42)]
        (entry,) = checkpoint_entries(starts, meaning)
        assert entry.offset == offset
        assert entry.restore_start(meaning) == 42

    def test_an_empty_store_has_none(self) -> None:
        starts = [(Topic("users"), 0, 0)]
        assert checkpoint_entries(starts, OffsetMeaning.LAST_RECORD) == ()

    def test_another_releases_number_is_turned_into_this_ones(self) -> None:
        entries = (CheckpointEntry(topic=Topic("users"), partition=0, offset=42),)
        old, new = Release(2, 5), Release(2, 6)
        (entry,) = with_meaning(entries, old.offset_meaning(is_global=False), new.offset_meaning(is_global=False))
        assert entry.offset == 41
        assert (
            with_meaning((entry,), new.offset_meaning(is_global=False), old.offset_meaning(is_global=False)) == entries
        )
        assert with_meaning(entries, old.offset_meaning(is_global=True), new.offset_meaning(is_global=True)) == entries

    @given(
        entries=st.dictionaries(
            st.tuples(st.from_regex(r"[a-zA-Z0-9._-]{1,12}", fullmatch=True), st.integers(0, 99)),
            st.integers(0, 2**62),
            max_size=6,
        )
    )
    def test_a_checkpoint_is_read_as_it_was_written(self, entries: dict[tuple[str, int], int]) -> None:
        written = tuple(
            CheckpointEntry(topic=Topic(topic), partition=partition, offset=offset)
            for (topic, partition), offset in entries.items()
        )
        assert parse_checkpoint(checkpoint_text(written), path="").entries == written


@pytest.mark.parametrize(
    ("version", "has_it"),
    [("2.6.1", False), ("2.6.2", True), ("2.7.0", False), ("2.7.1", True), ("2.5.1", False), ("2.8.0", True)],
)
def test_process_metadata(version: str, has_it: bool) -> None:
    assert Release.parse(version).has_process_metadata is has_it
