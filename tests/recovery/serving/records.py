"""Records as a consumer gives them, and stores made of them in one go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from srfix.recovery.serving.databases import RocksDatabase
from srfix.recovery.serving.partition import ServedPartition, ServedStore
from srfix.recovery.state.directory import StoreDirectory, StoreKind, Task
from srfix.recovery.state.reading.detection import Detected
from srfix.recovery.state.reading.rows import StateRow
from srfix.recovery.state.reading.store import StateStore
from srfix.recovery.state.writing.kinds import Release
from srfix.recovery.state.writing.stores import StoreToWrite, store_writer
from srfix.serde.subjects.names import Topic

TOPIC = Topic("shop-users-changelog")
RELEASE = Release(4, 3)


@dataclass(frozen=True, slots=True)
class Record:
    """The methods of `confluent_kafka.Message` that are asked."""

    at: int
    of_key: bytes | None
    of_value: bytes | None
    at_ms: int = 0

    def key(self) -> bytes | None:
        return self.of_key

    def value(self) -> bytes | None:
        return self.of_value

    def timestamp(self) -> tuple[int, int]:
        return 1, self.at_ms

    def headers(self) -> None:
        return None

    def offset(self) -> int:
        return self.at


def served_store(store: StoreToWrite, *, origin: str = "kafka:9092", **more: Any) -> ServedStore:
    return ServedStore(application="shop", store=store, topic=TOPIC, partitions=1, origin=origin, **more)


def opened(folder: Path, store: StoreToWrite, **more: object) -> ServedPartition:
    return ServedPartition(served_store(store, **more), 0, RocksDatabase(folder))  # type: ignore[arg-type]


def rows_of(part: ServedPartition) -> list[StateRow]:
    store, _progress = part.frozen()
    rows = list(store.rows())
    assert not store.damage
    return rows


def restored_rows(store: StoreToWrite, records: Iterable[Record], folder: Path) -> list[StateRow]:
    """The rows of a directory that `srfix state rebuild` writes of these records; its tests open it with Kafka Streams."""
    with store_writer(store, folder, RELEASE) as writer:
        for record in records:
            if record.of_key is not None:
                writer.restore(record.of_key, record.of_value, timestamp_ms=record.at_ms)
        writer.finish(())
    path = folder / store.name if store.kind.is_segmented else folder / "rocksdb" / store.name
    if not path.exists():
        return []
    kind = StoreKind.SEGMENTED if store.kind.is_segmented else StoreKind.KEY_VALUE
    directory = StoreDirectory(name=store.name, kind=kind, path=str(path))
    task = Task(name="0_0", path=str(folder), subtopology=0, partition=0)
    detected = Detected(format=store.kind.format, why="written here", is_certain=True)
    return list(
        StateStore(
            name=store.name, task=task, directory=directory, detected=detected, changelog=TOPIC, is_in_use=False
        ).rows()
    )


def in_batches(records: Sequence[Record], cuts: Iterable[int]) -> list[Sequence[Record]]:
    ends = sorted({cut % (len(records) + 1) for cut in cuts} | {len(records)})
    return [records[start:end] for start, end in zip([0, *ends], ends, strict=False) if start < end]
