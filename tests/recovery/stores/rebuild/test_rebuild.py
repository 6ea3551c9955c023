"""A store rebuilt from a topic in memory: the range of a restore, and what it leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from srfix.recovery import StateDirectoryError
from srfix.recovery.errors import RowsUnreadableError
from srfix.recovery.state.directory_reader import read_state_directory
from srfix.recovery.state.formats.values import TIMESTAMPED
from srfix.recovery.state.formats.windows import WINDOWS, StoredWindow
from srfix.recovery.state.reading.store import open_stores
from srfix.recovery.state.rocksdb import opened
from srfix.recovery.state.writing.kinds import Release, WrittenKind
from srfix.recovery.state.writing.stores import StoreToWrite
from srfix.recovery.stores.choices import OnError, Until
from srfix.recovery.stores.rebuild.rebuild import Rebuild, rebuild
from srfix.serde import DecodeError, UsageError
from srfix.serde.properties.kafka_client import Isolation
from tests.recovery.stores.rebuild.topics import TopicOfRecords, rebuild_of, record

FIRST = [(b"a", b"1"), (None, b"no key"), (b"b", b"2"), (b"a", b"3"), (b"b", None), (b"c", b"4")]
RECORDS = {
    0: [record(offset, key, value) for offset, (key, value) in enumerate(FIRST, 3)],
    1: [record(0, b"d", b"5", partition=1)],
    2: [],
}


def asked(
    version: str = "2.6.3", *, store: str = "s", kind: WrittenKind = WrittenKind.TIMESTAMPED_KV, **changed: Any
) -> Rebuild:
    written = StoreToWrite(name=store, kind=kind, retention_ms=3_600_000 if kind.has_retention else None)
    given: dict[str, Any] = {"until": Until.COMMITTED, "isolation": Isolation.READ_UNCOMMITTED}
    return rebuild_of(written, release=Release.parse(version), **(given | changed))


def end_of(tmp_path: Path, **changed: Any) -> dict[str, Any]:
    """The report of a rebuild of all that the topic holds."""
    report = rebuild(asked(until=Until.END, **changed), TopicOfRecords(RECORDS), tmp_path / "shop", request={})
    assert isinstance(report, dict)
    return report


def rows(target: Path, task: str = "0_0", store: str = "s") -> dict[bytes, tuple[int, bytes]]:
    with opened(target / task / "rocksdb" / store) as database:
        return {key: (int.from_bytes(row[:8], "big"), row[8:]) for key, row in database.rows(TIMESTAMPED)}


def checkpoint(target: Path, task: str) -> str:
    return (target / task / ".checkpoint").read_text(encoding="utf-8")


class TestRange:
    @pytest.mark.core
    def test_is_up_to_what_is_committed(self, tmp_path: Path) -> None:
        target = tmp_path / "shop"
        report = rebuild(asked(), TopicOfRecords(RECORDS, {0: 8, 1: None}), target, request={})
        assert rows(target) == {b"a": (6000, b"3")}
        assert checkpoint(target, "0_0") == "0\n1\nusers 0 7\n"
        # Nothing of it would be restored: Kafka Streams makes that task itself.
        assert sorted(path.name for path in target.iterdir()) == ["0_0"]
        assert isinstance(report, dict)
        assert report["ranges"] == [
            {"partition": 0, "start_offset": 3, "end_offset": 8},
            {"partition": 1, "start_offset": 0, "end_offset": 0},
            {"partition": 2, "start_offset": 0, "end_offset": 0},
        ]
        assert report["stores"] == [{"task": "0_0", "store": "s", "rows": 4, "rewritten": 0, "kept_raw": 0, "late": 0}]

    @pytest.mark.parametrize(
        ("version", "committed", "said"), [("2.6.3", 80, 8), ("2.5.1", 8, 8)], ids=["beyond the end", "a position"]
    )
    def test_the_checkpoint_is_no_longer_than_the_log_and_up_to_2_5_a_position(
        self, tmp_path: Path, version: str, committed: int, said: int
    ) -> None:
        rebuild(asked(version), TopicOfRecords(RECORDS, {0: committed}), tmp_path / "shop", request={})
        assert checkpoint(tmp_path / "shop", "0_0") == f"0\n1\nusers 0 {said}\n"

    def test_to_the_end(self, tmp_path: Path) -> None:
        target = tmp_path / "shop"
        end_of(tmp_path)
        assert rows(target) == {b"a": (6000, b"3"), b"c": (8000, b"4")}
        assert rows(target, "0_1") == {b"d": (0, b"5")}
        assert (checkpoint(target, "0_0"), checkpoint(target, "0_1")) == ("0\n1\nusers 0 8\n", "0\n1\nusers 1 0\n")

    def test_of_committed_records_ends_at_the_last_stable_offset(self, tmp_path: Path) -> None:
        topic = TopicOfRecords(RECORDS)
        topic.stable[0] = 6
        rebuild(asked(until=Until.END, isolation=Isolation.READ_COMMITTED), topic, tmp_path / "shop", request={})
        assert checkpoint(tmp_path / "shop", "0_0") == "0\n1\nusers 0 5\n"
        assert topic.isolations == {Isolation.READ_COMMITTED}

    def test_a_global_store_takes_all_partitions_to_their_ends(self, tmp_path: Path) -> None:
        target = tmp_path / "shop"
        rebuild(asked(subtopology=None), TopicOfRecords(RECORDS, {0: 1}), target, request={})
        assert rows(target, "global") == {b"a": (6000, b"3"), b"c": (8000, b"4"), b"d": (0, b"5")}
        assert checkpoint(target, "global") == "0\n2\nusers 0 9\nusers 1 1\n"

    def test_from_4_3_on_the_store_says_it_itself(self, tmp_path: Path) -> None:
        target = tmp_path / "shop"
        rebuild(asked("4.3.1"), TopicOfRecords(RECORDS, {0: 8}), target, request={})
        assert not (target / "0_0" / ".checkpoint").exists()
        with opened(target / "0_0" / "rocksdb" / "s") as database:
            assert dict(database.rows("offsets")) == {b"users-0": (7).to_bytes(8, "big"), b"status": bytes(8)}

    @pytest.mark.parametrize(
        ("partitions", "said"),
        [(None, "group 'shop' has committed nothing for users"), ((1, 7), "partitions 0 to 2; 7 is not one of them")],
    )
    def test_what_is_not_there_is_refused(self, tmp_path: Path, partitions: tuple[int, ...] | None, said: str) -> None:
        with pytest.raises(UsageError, match=said):
            rebuild(asked(partitions=partitions), TopicOfRecords(RECORDS), tmp_path / "shop", request={})
        assert list(tmp_path.iterdir()) == []


def bad_threes(payload: bytes) -> bytes:
    if payload == b"3":
        raise DecodeError("it is a three")
    return b"R" + payload


class TestRewritten:
    def test_only_what_is_left_is_written_anew(self, tmp_path: Path) -> None:
        seen: list[bytes] = []

        def change(payload: bytes) -> bytes:
            seen.append(payload)
            return b"R" + payload

        target = tmp_path / "shop"
        end_of(tmp_path, payload=change)
        assert rows(target) == {b"a": (6000, b"R3"), b"c": (8000, b"R4")}
        assert sorted(seen) == [b"3", b"4", b"5"]
        assert checkpoint(target, "0_0") == "0\n1\nusers 0 8\n"

    def test_a_row_that_cannot_be_is_named_and_nothing_is_completed(self, tmp_path: Path) -> None:
        with pytest.raises(RowsUnreadableError, match="task 0_0, store s, key 61: it is a three"):
            end_of(tmp_path, payload=bad_threes)
        assert list(tmp_path.iterdir()) == []

    def test_or_it_is_kept(self, tmp_path: Path) -> None:
        report = end_of(tmp_path, payload=bad_threes, on_error=OnError.KEEP_RAW)
        assert rows(tmp_path / "shop") == {b"a": (6000, b"3"), b"c": (8000, b"R4")}
        assert report["unreadable"] == [{"task": "0_0", "store": "s", "key": "61", "problem": "it is a three"}]


def test_every_value_of_a_kind_with_more_than_one_behind_a_timestamp_is_written_anew(tmp_path: Path) -> None:
    keys = [WINDOWS.encode(b"k", StoredWindow(60_000 * number)) for number in range(3)]
    records = [record(offset, keys[offset % 3], b"v%d" % offset) for offset in range(6)]
    target, kind = tmp_path / "shop", WrittenKind.HEADERS_TIME_FIRST_WINDOW
    request = asked("4.3.1", until=Until.END, payload=lambda payload: b"R" + payload, kind=kind)
    report = rebuild(request, TopicOfRecords({0: records}), target, request={})
    assert isinstance(report, dict)
    assert report["unreadable_rows"] == 0
    (state,) = read_state_directory(target)
    (store,) = open_stores(state, form=kind.format)
    assert {row.value for row in store} == {b"Rv3", b"Rv4", b"Rv5"}


class TestBeside:
    def test_the_other_stores_of_the_application_are_taken_over(self, tmp_path: Path) -> None:
        end_of(tmp_path / "old", store="other")
        old = tmp_path / "old" / "shop" / "0_0" / ".checkpoint"
        old.write_text("0\n2\nusers 0 2\nother-topic 0 5\n", encoding="utf-8")
        (beside,) = read_state_directory(tmp_path / "old")
        target = tmp_path / "new" / "shop"
        rebuild(asked(beside=beside), TopicOfRecords(RECORDS, {0: 8}), target, request={})
        assert rows(target) == {b"a": (6000, b"3")}
        assert rows(target, store="other") == {b"a": (6000, b"3"), b"c": (8000, b"4")}
        assert checkpoint(target, "0_0") == "0\n2\nother-topic 0 5\nusers 0 7\n"
        assert rows(target, "0_1", "other") == {b"d": (0, b"5")}


class TestTarget:
    def test_one_that_exists_is_left_alone(self, tmp_path: Path) -> None:
        (tmp_path / "shop").mkdir()
        with pytest.raises(StateDirectoryError, match="shop exists already"):
            end_of(tmp_path)
        assert list((tmp_path / "shop").iterdir()) == []

    def test_what_is_not_ours_is_left_alone(self, tmp_path: Path) -> None:
        foreign = tmp_path / ".shop.srfix-unfinished"
        foreign.mkdir()
        (foreign / "letter.txt").write_text("dear", encoding="utf-8")
        with pytest.raises(StateDirectoryError, match="not from an unfinished run of srfix"):
            end_of(tmp_path)
        assert (foreign / "letter.txt").read_text(encoding="utf-8") == "dear"

    def test_two_runs_do_not_meet(self, tmp_path: Path) -> None:
        def other_run(payload: bytes) -> bytes:
            with pytest.raises(StateDirectoryError, match=r"Another srfix process is building .*shop"):
                end_of(tmp_path)
            return payload

        end_of(tmp_path, payload=other_run)
        assert [path.name for path in tmp_path.iterdir()] == ["shop"]
