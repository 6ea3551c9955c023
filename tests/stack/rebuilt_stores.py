"""Every store of the application with every store, rebuilt by srfix into one state directory."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from parts.streams.every_store.model import EveryStoreSetup
from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.state.checkpoints import checkpoint_text, parse_checkpoint
from srfix.recovery.state.directory_reader import read_state_directory
from srfix.recovery.state.writing.kinds import Release, WrittenKind
from srfix.recovery.state.writing.stores import StoreToWrite
from srfix.recovery.stores.choices import Until
from srfix.recovery.stores.rebuild.rebuild import Rebuild, rebuild
from srfix.serde.subjects.names import Topic

KINDS: Final = {
    "plain": WrittenKind.PLAIN_KV,
    "stamped": WrittenKind.TIMESTAMPED_KV,
    "everywhere": WrittenKind.TIMESTAMPED_KV,
    "windows": WrittenKind.TIMESTAMPED_WINDOW,
    "plain-windows": WrittenKind.PLAIN_WINDOW,
    "sessions": WrittenKind.SESSION,
    "suppressed-windows": WrittenKind.TIMESTAMPED_WINDOW,
    "emitted-windows": WrittenKind.TIME_FIRST_WINDOW,
    "emitted-sliding-windows": WrittenKind.INDEXED_TIME_FIRST_WINDOW,
    "emitted-sessions": WrittenKind.TIME_FIRST_SESSION,
    "pairs-outer-this-join-store": WrittenKind.PLAIN_WINDOW,
    "pairs-outer-other-join-store": WrittenKind.PLAIN_WINDOW,
    "pairs-outer-shared-join-store": WrittenKind.PLAIN_KV,
    "orders": WrittenKind.TIMESTAMPED_KV,
    "customers": WrittenKind.TIMESTAMPED_KV,
    "bought": WrittenKind.TIMESTAMPED_KV,
    "buying-subscription-store": WrittenKind.TIMESTAMPED_KV,
    "versioned": WrittenKind.VERSIONED,
    "headed": WrittenKind.HEADERS_KV,
}
WITH_HEADERS: Final = {
    "pairs-outer-this-join-store": WrittenKind.HEADERS_WINDOW,
    "pairs-outer-other-join-store": WrittenKind.HEADERS_WINDOW,
    WrittenKind.TIMESTAMPED_KV: WrittenKind.HEADERS_KV,
    WrittenKind.TIMESTAMPED_WINDOW: WrittenKind.HEADERS_WINDOW,
    WrittenKind.SESSION: WrittenKind.HEADERS_SESSION,
    WrittenKind.TIME_FIRST_WINDOW: WrittenKind.HEADERS_TIME_FIRST_WINDOW,
    WrittenKind.INDEXED_TIME_FIRST_WINDOW: WrittenKind.HEADERS_TIME_FIRST_WINDOW,
    WrittenKind.TIME_FIRST_SESSION: WrittenKind.HEADERS_TIME_FIRST_SESSION,
}
"""What `dsl.store.format=headers` makes of a store, or of the others of a kind."""
SOURCES: Final = {
    "plain": "plain",
    "stamped": "stamped",
    "everywhere": "everywhere",
    "orders": "orders",
    "customers": "customers",
    "versioned": "history",
}
"""Stores whose source topic is their changelog."""
HISTORY_MS: Final = 600_000
RETENTION_MS: Final = 1_800_000
JOIN_RETENTION_MS: Final = 620_000
"""Twice the join's difference, and its grace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuiltStores:
    """The new directory, and from where on Kafka Streams is to restore."""

    folder: Path
    """The application's folder."""
    ends: Mapping[str, Mapping[int, int]]
    """Store → partition → the first offset of its topic that is not in it."""


def rebuilt(setup: EveryStoreSetup, target: Path) -> RebuiltStores:
    """All stores, rebuilt one by one and put together.

    :param target: the application's new folder.
    """
    (state,) = read_state_directory(setup.folder)
    subtopologies = {store.name: task.subtopology for task in state.tasks for store in task.stores}
    ends: dict[str, dict[int, int]] = {}
    with Cluster({"bootstrap.servers": setup.bootstrap_servers}) as cluster:
        for store in setup.stores:
            asked = Rebuild(
                application=setup.application,
                store=store_to_write(setup, store.name),
                topic=topic_of(setup, store.name),
                until=Until.COMMITTED if store.name in SOURCES else Until.END,
                release=Release.parse(setup.version),
                subtopology=subtopologies[store.name],
            )
            one = target.parent / "one" / setup.application
            report = rebuild(asked, cluster, one, request={})
            assert isinstance(report, dict)
            ranges: list[dict[str, int]] = report["ranges"]  # type: ignore[assignment]
            ends[store.name] = {each["partition"]: each["end_offset"] for each in ranges}
            _move(one, target)
    return RebuiltStores(folder=target, ends=ends)


def topic_of(setup: EveryStoreSetup, store: str) -> Topic:
    """The topic that a store restores from."""
    source = SOURCES.get(store)
    return Topic(f"{setup.application}-{source or f'{store}-changelog'}")


def to_restore(setup: EveryStoreSetup, stores: RebuiltStores) -> dict[str, int]:
    """Store → how many records have come since it was rebuilt; those of which none has are left out."""
    found: dict[str, int] = {}
    with Cluster({"bootstrap.servers": setup.bootstrap_servers}) as cluster:
        for store, ends in stores.ends.items():
            topic = topic_of(setup, store)
            now = {partition: end for partition, (_, end) in cluster.watermarks(topic, list(ends)).items()}
            if store in SOURCES and not setup.store(store).is_global:
                places = [(str(topic), partition) for partition in ends]
                committed = cluster.committed(setup.application, places).items()
                now = {partition: offset or 0 for (_, partition), offset in committed}
            if more := sum(now[partition] - end for partition, end in ends.items()):
                found[store] = more
    return found


def store_to_write(setup: EveryStoreSetup, name: str) -> StoreToWrite:
    """A store's kind, and how long it keeps rows."""
    kind = KINDS[name]
    if setup.headers:
        kind = WITH_HEADERS.get(name) or WITH_HEADERS.get(kind, kind)
    retention_ms = None
    if kind.has_retention:
        is_join = name.startswith("pairs")
        retention_ms = HISTORY_MS if kind is WrittenKind.VERSIONED else JOIN_RETENTION_MS if is_join else RETENTION_MS
    return StoreToWrite(name=name, kind=kind, retention_ms=retention_ms)


def _move(one: Path, whole: Path) -> None:
    """Puts a store beside others: its directories, and what its tasks' checkpoints say."""
    for file in sorted(path for path in one.rglob("*") if path.is_file()):
        there = whole / file.relative_to(one)
        there.parent.mkdir(parents=True, exist_ok=True)
        if file.name == ".checkpoint" and there.exists():
            entries = [*parse_checkpoint(there.read_bytes(), path="").entries]
            there.write_bytes(checkpoint_text([*entries, *parse_checkpoint(file.read_bytes(), path="").entries]))
        else:
            file.rename(there)
    shutil.rmtree(one)
