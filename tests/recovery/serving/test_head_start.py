"""A head start from the directories that real Kafka Streams left."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from srfix.recovery.serving.databases import RocksDatabase
from srfix.recovery.serving.head_start import head_start_from
from srfix.recovery.serving.partition import ServedPartition, ServedStore
from srfix.recovery.state.directory_reader import read_state_directory
from srfix.recovery.state.reading.store import open_stores
from srfix.recovery.state.writing.kinds import WrittenKind
from srfix.recovery.state.writing.stores import StoreToWrite
from srfix.serde.subjects.names import Topic
from tests.recovery.serving.records import rows_of

DATA = Path(__file__).parents[1] / "state" / "data" / "kinds" / "3.9.2" / "state"
APPLICATION = "xda9e9e-app"


def _started(tmp_path: Path, store: StoreToWrite, topic: str, *, kept_ms: int | None = None) -> ServedPartition:
    shutil.copytree(DATA, tmp_path / "state" / APPLICATION)
    served = ServedStore(
        application=APPLICATION, store=store, topic=Topic(topic), partitions=1, tombstones_kept_ms=kept_ms
    )
    part = ServedPartition(served, 0, RocksDatabase(tmp_path / "served"))
    head_start_from([tmp_path / "state"])(part)
    return part


def _on_disk(name: str, folder: Path) -> set[tuple[bytes, bytes | None, int | None, object]]:
    (state,) = read_state_directory(folder)
    stores = open_stores(state, name)
    return {(row.key, row.value, row.timestamp_ms, row.window) for store in stores for row in store.rows()}


@pytest.mark.parametrize(
    ("name", "kind", "retention_ms", "topic", "offset"),
    [
        ("ts", WrittenKind.TIMESTAMPED_KV, None, f"{APPLICATION[:7]}-ts", 1),
        ("win", WrittenKind.TIMESTAMPED_WINDOW, 10**12, f"{APPLICATION}-win-changelog", 4),
        ("sess", WrittenKind.SESSION, 10**12, f"{APPLICATION}-sess-changelog", 5),
    ],
)
def test_it_has_the_rows_and_goes_on_from_the_checkpoint(
    tmp_path: Path, name: str, kind: WrittenKind, retention_ms: int | None, topic: str, offset: int
) -> None:
    part = _started(tmp_path, StoreToWrite(name=name, kind=kind, retention_ms=retention_ms), topic)
    rows = {(row.key, row.value, row.timestamp_ms, row.window) for row in rows_of(part)}
    assert rows == _on_disk(name, tmp_path / "state")
    assert rows
    assert (part.offset, part.notes, part.progress.is_mixed) == (offset, [], True)
    part.close()


@pytest.mark.parametrize(
    ("name", "kind", "retention_ms", "topic", "kept_ms", "why"),
    [
        ("ts", WrittenKind.TIMESTAMPED_KV, None, "other", None, "it has no offset of other"),
        ("ts", WrittenKind.PLAIN_KV, None, f"{APPLICATION[:7]}-ts", None, "it is of the kind timestamped-kv"),
        ("ver", WrittenKind.VERSIONED, 10**12, f"{APPLICATION[:7]}-ver", None, "it is of the kind versioned"),
        ("ts", WrittenKind.TIMESTAMPED_KV, None, f"{APPLICATION[:7]}-ts", 0, "delete.retention.ms"),
    ],
)
def test_why_there_is_none(
    tmp_path: Path, name: str, kind: WrittenKind, retention_ms: int | None, topic: str, kept_ms: int | None, why: str
) -> None:
    store = StoreToWrite(name=name, kind=kind, retention_ms=retention_ms)
    part = _started(tmp_path, store, topic, kept_ms=kept_ms)
    assert (part.offset, rows_of(part)) == (0, [])
    assert why in part.notes[0]
    part.close()


@pytest.mark.parametrize(
    ("application", "name", "number"), [("other", "ts", 0), (APPLICATION, "none", 0), (APPLICATION, "ts", 7)]
)
def test_a_directory_of_something_else_is_said_to_be_none(
    tmp_path: Path, application: str, name: str, number: int
) -> None:
    shutil.copytree(DATA, tmp_path / "state" / APPLICATION)
    store = StoreToWrite(name=name, kind=WrittenKind.TIMESTAMPED_KV)
    served = ServedStore(application=application, store=store, topic=Topic("ts"), partitions=8)
    part = ServedPartition(served, number, RocksDatabase(tmp_path / "served"))
    head_start_from([tmp_path / "state"])(part)
    assert (part.offset, rows_of(part)) == (0, [])
    assert part.notes == [
        f"partition {number} begins without a state directory: {tmp_path / 'state' / APPLICATION} has none of it for the "
        f"store {name} of the application {application}"
    ]
    part.close()


def test_a_damaged_directory_is_none(tmp_path: Path) -> None:
    shutil.copytree(DATA, tmp_path / "state" / APPLICATION)
    for table in (tmp_path / "state" / APPLICATION / "1_0").rglob("*.sst"):
        table.write_bytes(b"\0" * table.stat().st_size)
    store = StoreToWrite(name="ts", kind=WrittenKind.TIMESTAMPED_KV)
    served = ServedStore(application=APPLICATION, store=store, topic=Topic(f"{APPLICATION[:7]}-ts"), partitions=1)
    part = ServedPartition(served, 0, RocksDatabase(tmp_path / "served"))
    head_start_from([tmp_path / "state"])(part)
    assert (part.offset, rows_of(part)) == (0, [])
    assert part.notes
    part.close()
