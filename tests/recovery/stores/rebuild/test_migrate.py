"""Directories that real Kafka Streams left, written anew: every row is there, and where the stores have come to."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from srfix.recovery import StateDirectoryError
from srfix.recovery.errors import RowsUnreadableError
from srfix.recovery.state.directory import ApplicationState
from srfix.recovery.state.directory_reader import read_state_directory
from srfix.recovery.state.formats.values import PLAIN, TIMESTAMPED, WITH_HEADERS
from srfix.recovery.state.reading.store import open_stores
from srfix.recovery.state.rocksdb import opened
from srfix.recovery.state.writing.database import new_database
from srfix.recovery.state.writing.kinds import Release, WrittenKind
from srfix.recovery.stores.choices import OnError
from srfix.recovery.stores.rebuild.change import StoreChange
from srfix.recovery.stores.rebuild.migrate import Migration, migrate
from srfix.serde import DecodeError, UsageError

KINDS = Path(__file__).parents[2] / "state" / "data" / "kinds"

Rows = dict[tuple[str, str, str], dict[bytes, bytes]]


def state_of(folder: Path) -> ApplicationState:
    (state,) = read_state_directory(folder)
    return state


def rows_of(state: ApplicationState, *, offsets: bool = False) -> Rows:
    """The rows of every database and column family; empty ones are left out."""
    found: Rows = {}
    for task in state.tasks:
        for store in task.stores:
            for path in store.existing_databases():
                with opened(path) as database:
                    for family in database.families:
                        rows = dict(database.rows(family))
                        if rows and (family == "offsets") == offsets:
                            found[task.name, str(path.relative_to(task.path)), family] = rows
    return found


def left_open(folder: Path) -> None:
    """A database as Kafka Streams 4.3 leaves it that is killed."""
    with new_database(folder, [TIMESTAMPED, "offsets"], Release(4, 3, 1)) as database:
        database.put(TIMESTAMPED, b"k", bytes(8) + b"v")
        database.put("offsets", b"users-0", (7).to_bytes(8, "big"))
        database.put("offsets", b"status", (1).to_bytes(8, "big"))


def migrated(state: ApplicationState, target: Path, version: str, **changes: StoreChange) -> ApplicationState:
    """The directory written anew for a release, some stores of it changed."""
    migrate(state, target, Migration(release=Release.parse(version), changes=changes), request={})
    return state_of(target)


def files_of(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(folder)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize(
    ("version", "now"),
    [
        ("4.3.1", "4.1.2"),
        *(
            pytest.param(*one, marks=pytest.mark.slow)
            for one in (("2.6.3", "4.3.1"), ("2.6.3", "2.7.0"), ("3.9.2", "3.5"), ("4.3.1", "4.3.1"))
        ),
    ],
)
def test_every_store_has_its_rows_and_says_where_it_has_come_to(tmp_path: Path, version: str, now: str) -> None:
    state = state_of(KINDS / version / "state")
    before = files_of(KINDS / version / "state")
    new = migrated(state, tmp_path / state.application, now)
    assert rows_of(new) == rows_of(state)
    assert files_of(KINDS / version / "state") == before
    for task, moved in zip(state.tasks, new.tasks, strict=True):
        assert moved.name == task.name
        if task.checkpoint is not None:
            assert moved.checkpoint is not None
            assert set(moved.checkpoint.entries) == set(task.checkpoint.entries)
        elif now != "4.3.1":
            known = {entry for store in task.stores if store.offsets for entry in store.offsets.entries}
            assert known <= set(moved.checkpoint.entries if moved.checkpoint else ())
    if (version, now) == ("4.3.1", "4.3.1"):
        assert rows_of(new, offsets=True) == rows_of(state, offsets=True)


TS = ("1_0", os.path.join("rocksdb", "ts"))


class TestKind:
    def test_a_plain_store_gets_timestamps_that_nobody_knows(self, tmp_path: Path) -> None:
        state = state_of(KINDS / "2.6.3" / "state")
        change = StoreChange(kind=WrittenKind.TIMESTAMPED_KV)
        before, after = rows_of(state), rows_of(migrated(state, tmp_path / "a", "2.7", plain=change))
        place = ("0_0", os.path.join("rocksdb", "plain"))
        assert after[(*place, TIMESTAMPED)] == {
            key: b"\xff" * 8 + value for key, value in before[(*place, PLAIN)].items()
        }
        assert (*place, PLAIN) not in after

    def test_a_table_gets_headers_and_loses_them_again(self, tmp_path: Path) -> None:
        state = state_of(KINDS / "2.6.3" / "state")
        before = rows_of(state)[(*TS, TIMESTAMPED)]
        with_headers = migrated(state, tmp_path / "a", "4.3", ts=StoreChange(kind=WrittenKind.HEADERS_KV))
        assert rows_of(with_headers)[(*TS, WITH_HEADERS)] == {key: b"\x00" + value for key, value in before.items()}
        with pytest.raises(UsageError, match=r"column families with headers .* Kafka Streams 4\.1\.2 does not have"):
            migrated(with_headers, tmp_path / "b", "4.1.2")
        back = migrated(with_headers, tmp_path / "c", "4.1.2", ts=StoreChange(kind=WrittenKind.TIMESTAMPED_KV))
        assert rows_of(back)[(*TS, TIMESTAMPED)] == before


def no_odd_one(payload: bytes) -> bytes:
    if payload[-1] % 2:
        raise DecodeError("it is odd")
    return payload[::-1]


class TestPayload:
    @pytest.mark.parametrize("version", ["4.3.1-headers", pytest.param("3.9.2", marks=pytest.mark.slow)])
    def test_every_value_of_every_kind_of_store_is_changed_and_nothing_else(self, tmp_path: Path, version: str) -> None:
        state = state_of(KINDS / version / "state")
        changed = set(state.stores) - {"fkj-subscription-store"}
        changes = {store: StoreChange(payload=lambda payload: b"new " + payload) for store in changed}
        new = migrated(state, tmp_path / "a", version.partition("-")[0], **changes)
        after = {(store.name, store.partition): set(store) for store in open_stores(new)}
        for store in open_stores(state):
            expected = {
                row if row.value is None or store.name not in changed else row._replace(value=b"new " + row.value)
                for row in store
            }
            assert after[store.name, store.partition] == expected, store.name
        assert rows_of(new).keys() == rows_of(state).keys()

    def test_rows_that_cannot_be_are_listed_and_nothing_is_completed(self, tmp_path: Path) -> None:
        state = state_of(KINDS / "2.6.3" / "state")
        migration = Migration(release=Release(2, 7), changes={"ts": StoreChange(payload=no_odd_one)})
        with pytest.raises(RowsUnreadableError, match=r"task 1_0, store ts, key .*: it is odd"):
            migrate(state, tmp_path / "a", migration, request={})
        assert list(tmp_path.iterdir()) == []

        migrate(state, tmp_path / "a", replace(migration, on_error=OnError.KEEP_RAW), request={})
        before, after = rows_of(state), rows_of(state_of(tmp_path / "a"))
        assert after == before | {
            (*TS, TIMESTAMPED): {
                key: value if value[-1] % 2 else value[:8] + value[8:][::-1]
                for key, value in before[(*TS, TIMESTAMPED)].items()
            }
        }


class TestRefused:
    @pytest.mark.parametrize(
        ("store", "change", "said"),
        [
            ("fkj-subscription-store", StoreChange(payload=bytes.upper), "whose rows hold only the hash"),
            ("win", StoreChange(kind=WrittenKind.SESSION), "cannot change it to the kind session"),
            ("win", StoreChange(kind=WrittenKind.TIME_FIRST_WINDOW), "cannot change it to the kind time-first-window"),
            ("ver", StoreChange(kind=WrittenKind.TIMESTAMPED_KV), "cannot change it to the kind timestamped-kv"),
            ("ts", StoreChange(kind=WrittenKind.PLAIN_WINDOW), "cannot change it to the kind plain-window"),
            ("nope", StoreChange(), "has no store 'nope'"),
        ],
    )
    def test_what_no_store_becomes(self, tmp_path: Path, store: str, change: StoreChange, said: str) -> None:
        with pytest.raises(UsageError, match=said):
            migrated(state_of(KINDS / "3.9.2" / "state"), tmp_path / "a", "3.9.2", **{store: change})
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        ("task", "kind", "before", "since"),
        [
            ("6_0", "versioned", "3.4.1", "3.5.0"),
            ("3_0", "time-first-(window|session)", "3.2.3", "3.3.0"),
            ("5_0", "subscription", "2.3.1", "2.4.0"),
            ("1_0", "timestamped-kv", "2.2.2", "2.3.0"),
        ],
    )
    def test_a_store_that_the_release_does_not_have(
        self, tmp_path: Path, task: str, kind: str, before: str, since: str
    ) -> None:
        shutil.copytree(KINDS / "3.9.2" / "state" / task, tmp_path / "old" / task)
        state = state_of(tmp_path / "old")
        with pytest.raises(
            UsageError, match=f"Streams {before} has no stores of the kind {kind}: they came with {since}"
        ):
            migrated(state, tmp_path / "a", before)
        assert [path.name for path in tmp_path.iterdir()] == ["old"]
        assert rows_of(migrated(state, tmp_path / "a", since)) == rows_of(state)

    def test_a_damaged_table_completes_nothing(self, tmp_path: Path) -> None:
        shutil.copytree(KINDS / "2.6.3" / "state", tmp_path / "old")
        (table, *_) = sorted((tmp_path / "old" / "1_0" / "rocksdb" / "ts").glob("*.sst"))
        content = bytearray(table.read_bytes())
        content[3] ^= 0xFF
        table.write_bytes(content)
        with pytest.raises(StateDirectoryError, match="cannot be read as a RocksDB"):
            migrated(state_of(tmp_path / "old"), tmp_path / "a", "2.7")
        assert [path.name for path in tmp_path.iterdir()] == ["old"]

    def test_a_segment_that_lost_a_file_completes_nothing(self, tmp_path: Path) -> None:
        for segment in ("w.0", "w.60000"):
            with new_database(tmp_path / "app" / "0_0" / "w" / segment, [TIMESTAMPED], Release(4, 1, 2)) as database:
                database.put(TIMESTAMPED, bytes(13), bytes(8) + b"v")
        (tmp_path / "app" / "0_0" / "w" / "w.60000" / "CURRENT").unlink()
        with pytest.raises(StateDirectoryError, match=r"w\.60000 is not a RocksDB database: it has no file CURRENT"):
            migrated(state_of(tmp_path / "app"), tmp_path / "a", "4.1.2")
        assert [path.name for path in tmp_path.iterdir()] == ["app"]

    def test_a_store_that_a_killed_process_left_open(self, tmp_path: Path) -> None:
        left_open(tmp_path / "app" / "0_0" / "rocksdb" / "s")
        state = state_of(tmp_path / "app")
        migration = Migration(release=Release(4, 1, 2), changes={})
        with pytest.raises(StateDirectoryError, match=r"s was left open .*--take-open"):
            migrate(state, tmp_path / "a", migration, request={})
        assert not (tmp_path / "a").exists()
        migrate(state, tmp_path / "a", replace(migration, takes_open=True), request={})
        assert (tmp_path / "a" / "0_0" / ".checkpoint").read_text() == "0\n1\nusers 0 7\n"

    def test_a_segment_that_a_killed_process_left_open(self, tmp_path: Path) -> None:
        left_open(tmp_path / "app" / "0_0" / "w" / "w.0")
        with pytest.raises(StateDirectoryError, match=r"w(\.0)? was left open"):
            migrated(state_of(tmp_path / "app"), tmp_path / "a", "4.3")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["app"]

    @pytest.mark.skipif(os.name == "nt", reason="POSIX record locks")
    def test_one_that_a_process_uses(self, tmp_path: Path) -> None:
        state = replace(state_of(KINDS / "2.6.3" / "state"), is_in_use=True)
        with pytest.raises(StateDirectoryError, match=r"a process holds its lock"):
            migrated(state, tmp_path / "a", "2.7")


@pytest.mark.slow
def test_another_releases_checkpoint_is_turned(tmp_path: Path) -> None:
    state = state_of(KINDS / "2.6.3" / "state")
    migration = Migration(release=Release(2, 5, 1), before=Release(2, 6, 3), changes={})
    migrate(state, tmp_path / "a", migration, request={})
    for task, moved in zip(state.tasks, state_of(tmp_path / "a").tasks, strict=True):
        if task.checkpoint is not None:
            assert moved.checkpoint is not None
            more = 0 if task.is_global else 1
            assert {entry.offset for entry in moved.checkpoint.entries} == {
                entry.offset + more for entry in task.checkpoint.entries if entry.offset is not None
            }
