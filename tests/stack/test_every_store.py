"""A store of every kind on real Kafka Streams: srfix reads from disk what the application's own queries answer, and rebuilds
what it opens and goes on from.
"""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Final
from uuid import uuid4

import pytest

from parts.streams.every_store.application import EveryStoreApplication, create_topics, produce
from parts.streams.every_store.model import AnsweredRow, EveryStoreSetup
from parts.streams.every_store.records import Source, source_records
from parts.streams.every_store.stores import Asked, EveryStore
from srfix.fixtures.broker.kraft import KraftBroker
from srfix.recovery import Cluster
from srfix.recovery.state.directory import ApplicationState
from srfix.recovery.state.directory_reader import read_state_directory
from srfix.recovery.state.formats.joins import decode_subscription
from srfix.recovery.state.formats.values import Headers
from srfix.recovery.state.formats.windows import WINDOWS
from srfix.recovery.state.layouts import StoreFormat
from srfix.recovery.state.reading.rows import StateRow
from srfix.recovery.state.reading.store import StateStore, open_stores
from srfix.recovery.state.writing.kinds import Release, WrittenKind
from srfix.recovery.stores.difference_kinds import DifferenceKind
from srfix.recovery.stores.differences import ranges_to_compare
from srfix.recovery.stores.rebuild.change import StoreChange
from srfix.recovery.stores.rebuild.migrate import Migration, migrate
from tests.recovery.state.suppression import decode_buffered_value
from tests.stack.rebuilt_stores import RebuiltStores, rebuilt, to_restore, topic_of
from tests.stack.scene import without_what_is_made

pytestmark = pytest.mark.stack

ROUNDS: Final = 30
"""Of records, before the first close; as many come after it."""
REBUILT_ROUNDS: Final = 20
"""Of them, those that the rebuilt directory knows; what the others make is restored."""
MIGRATED: Final = ("2.7.0", "4.3.1 with headers")
"""Of which the rebuilt directory is migrated too: its store `plain` gets timestamps."""
VERSIONS: Final = {"2.6.3": False, "2.7.0": False, "3.9.2": False, "4.3.1": False, "4.3.1 with headers": True}
FORMATS: Final = {
    "plain": StoreFormat.PLAIN_KV,
    "stamped": StoreFormat.TIMESTAMPED_KV,
    "everywhere": StoreFormat.TIMESTAMPED_KV,
    "windows": StoreFormat.TIMESTAMPED_WINDOW,
    "plain-windows": StoreFormat.PLAIN_WINDOW,
    "sessions": StoreFormat.SESSION,
    "suppressed-windows": StoreFormat.TIMESTAMPED_WINDOW,
    "emitted-windows": StoreFormat.TIME_FIRST_WINDOW,
    "emitted-sliding-windows": StoreFormat.TIME_FIRST_WINDOW,
    "emitted-sessions": StoreFormat.TIME_FIRST_SESSION,
    "pairs-outer-this-join-store": StoreFormat.JOIN_WINDOW,
    "pairs-outer-other-join-store": StoreFormat.JOIN_WINDOW,
    "pairs-outer-shared-join-store": StoreFormat.LIST_VALUE,
    "orders": StoreFormat.TIMESTAMPED_KV,
    "customers": StoreFormat.TIMESTAMPED_KV,
    "bought": StoreFormat.TIMESTAMPED_KV,
    "buying-subscription-store": StoreFormat.SUBSCRIPTION,
    "versioned": StoreFormat.VERSIONED,
    "headed": StoreFormat.HEADERS_KV,
}
WITH_HEADERS: Final = {
    StoreFormat.TIMESTAMPED_KV: StoreFormat.HEADERS_KV,
    StoreFormat.TIMESTAMPED_WINDOW: StoreFormat.HEADERS_WINDOW,
    StoreFormat.SESSION: StoreFormat.HEADERS_SESSION,
}
"""What `dsl.store.format=headers` makes of the others."""

Rows = Counter[tuple[object, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What the application answered, and what lay on disk, at each point of its life."""

    setup: EveryStoreSetup
    answered: Mapping[str, Rows]
    """By store, of the first run."""
    suppressed: Mapping[bytes, bytes | None]
    """The last value of each key in the changelog of what `suppress` holds back."""
    closed: Path
    """A copy of the application's folder after the first run."""
    compared: Mapping[str, tuple[int, Mapping[DifferenceKind, int]]]
    """By store that stands in its changelog as it is, or by versions: how many are the same, and how others differ."""
    read: Mapping[str, Rows]
    """By store, what srfix reads there, which has left every file as it was."""
    later: EveryStoreSetup
    """The application from its second start on."""
    answered_before: Mapping[str, Rows]
    """By store, of the first run after `REBUILT_ROUNDS`."""
    rebuilt: RebuiltStores
    """The stores at that time, rebuilt from their topics."""

    def flushed(self, store: str, answered: Mapping[str, Rows]) -> Rows:
        """What is on disk of a store after it restored, and then took further records.

        2.6.3 flushes when it commits, and so does a global store of 2.7.0; from 2.8 on what was restored is flushed; from 4.3
        on only what fills a memtable. The rest is flushed after 10,000 changelog records, or by a clean close.
        """
        version = self.setup.version
        if version == "2.6.3" or (version == "2.7.0" and self.setup.store(store).is_global):
            return answered[store]
        return (self.answered if version == "3.9.2" else self.answered_before)[store]


def new_setup(broker: KraftBroker, folder: Path, version: str) -> EveryStoreSetup:
    return EveryStoreSetup(
        application=f"every-{uuid4().hex[:8]}",
        bootstrap_servers=broker.bootstrap_servers,
        state_directory=folder / "state",
        version=version.split()[0],
        headers=VERSIONS[version],
        # The next start takes a dead one's place at once.
        config={"group.instance.id": "one"},
    )


def answers(application: EveryStoreApplication, setup: EveryStoreSetup) -> dict[str, Rows]:
    return {
        store.name: Counter(as_answered(row, store) for row in application.rows(store.name)) for store in setup.stores
    }


def as_answered(row: AnsweredRow, store: EveryStore) -> tuple[object, ...]:
    """What the disk can tell of a row: the size of a window is not there."""
    is_session = store.asked is Asked.SESSIONS
    window = None if row.window is None else (row.window[0], row.window[1] if is_session else None)
    return (
        *(row.partition, row.key, row.value, row.timestamp_ms, row.headers or (), window),
        *(row.valid_from_ms, row.valid_to_ms, row.side),
        row.subscription
        and (
            *(row.subscription.foreign_key, row.subscription.version, row.subscription.instruction),
            *(row.subscription.hash, row.key, row.subscription.primary_partition),
        ),
    )


def as_read(row: StateRow, store: StateStore) -> tuple[object, ...]:
    window = None if row.window is None else (row.window.start_ms, row.window.end_ms)
    value, subscription = row.value, None
    if store.format is StoreFormat.SUBSCRIPTION:
        assert value is not None
        told = decode_subscription(value)
        value = None
        subscription = (
            *(row.foreign_key, told.version, told.instruction),
            *(told.hash, told.primary_key, told.primary_partition),
        )
    # In the windows of a join a timestamp would be the window's start; `plain` is asked without its timestamps.
    timestamp = None if store.format is StoreFormat.JOIN_WINDOW or store.name == "plain" else row.timestamp_ms
    headers: Headers = () if store.format is StoreFormat.JOIN_WINDOW else row.headers
    return (
        *(store.partition, row.key, value, timestamp, headers, window),
        *(row.valid_from_ms, row.valid_to_ms, None if row.side is None else row.side.name.lower()),
        subscription,
    )


def state_of(folder: Path) -> ApplicationState:
    (application,) = read_state_directory(folder)
    return application


def on_disk(folder: Path) -> dict[str, Rows]:
    """The rows of every store; a tombstone of a versioned store is no answer to any query."""
    found: dict[str, Rows] = {}
    for store in open_stores(state_of(folder)):
        rows = found.setdefault(store.name, Counter())
        rows.update(
            as_read(row, store) for row in store if row.value is not None or store.format is not StoreFormat.VERSIONED
        )
        assert not store.damage
    return found


def headless(stores: Mapping[str, Rows]) -> dict[str, Rows]:
    return {store: without_headers(rows) for store, rows in stores.items()}


def read_until(folder: Path, expected: Mapping[str, Rows], *, timeout_s: float = 20.0) -> dict[str, Rows]:
    """What is on disk once it is what is expected, or the time is up: global stores are flushed after they answer."""
    deadline = time.monotonic() + timeout_s
    while (found := headless(on_disk(folder))) != expected and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def is_in_use(setup: EveryStoreSetup) -> bool | None:
    return state_of(setup.folder).is_in_use


def expected_formats(setup: EveryStoreSetup) -> dict[str, StoreFormat]:
    with_headers = WITH_HEADERS if setup.headers else {}
    formats = {store.name: with_headers.get(FORMATS[store.name], FORMATS[store.name]) for store in setup.stores}
    return formats | {"plain": StoreFormat.TIMESTAMPED_KV if setup.plain_has_timestamps else StoreFormat.PLAIN_KV}


@pytest.fixture(scope="module", params=VERSIONS)
def run(request: pytest.FixtureRequest, broker: KraftBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with without_what_is_made(broker):
        yield first_run(broker, tmp_path_factory.mktemp("every"), request.param)


def first_run(broker: KraftBroker, folder: Path, version: str) -> Run:
    setup = new_setup(broker, folder, version)
    later = replace(setup, plain_has_timestamps=version in MIGRATED)
    create_topics(broker, setup)
    produce(setup, source_records(rounds=REBUILT_ROUNDS))
    with EveryStoreApplication(setup) as application:
        application.wait_for_state("RUNNING")
        application.wait_for_records()
        answered_before = answers(application, setup)
        new = rebuilt(setup, folder / "rebuilt" / setup.application)
        produce(setup, source_records(first_round=REBUILT_ROUNDS, rounds=ROUNDS - REBUILT_ROUNDS))
        application.wait_for_records()
        answered = answers(application, setup)
        suppressed = {record.key: record.value for record in application.changelog("suppressed-store")}
    closed = folder / "closed" / setup.application
    shutil.copytree(setup.folder, closed)
    if later != setup:
        migrated(new.folder, setup.version)
    before = files_of(closed)
    beside = beside_changelogs(setup, closed)
    read = on_disk(closed)
    assert files_of(closed) == before
    return Run(
        setup=setup,
        answered=answered,
        suppressed=suppressed,
        closed=closed,
        compared=beside,
        read=read,
        later=later,
        answered_before=answered_before,
        rebuilt=new,
    )


def beside_changelogs(setup: EveryStoreSetup, folder: Path) -> dict[str, tuple[int, Mapping[DifferenceKind, int]]]:
    """What `srfix state diff` finds of versioned stores, of joins' lists and of subscriptions."""
    found: dict[str, tuple[int, Mapping[DifferenceKind, int]]] = {}
    with Cluster({"bootstrap.servers": setup.bootstrap_servers}) as cluster:
        for store in open_stores(state_of(folder)):
            if store.format in (StoreFormat.VERSIONED, StoreFormat.LIST_VALUE, StoreFormat.SUBSCRIPTION):
                told = ranges_to_compare(cluster, topic_of(setup, store.name), group=None).part(cluster, store)
                same, counts = found.get(store.name, (0, {}))
                found[store.name] = same + told.same, Counter(counts) + Counter(told.counts)
    return found


class TestClosed:
    def test_what_stands_in_its_changelog_as_it_is_or_by_versions_differs_in_nothing(self, run: Run) -> None:
        told = {store for store in run.answered if FORMATS[store] in (StoreFormat.VERSIONED, StoreFormat.SUBSCRIPTION)}
        told |= {store for store in run.answered if FORMATS[store] is StoreFormat.LIST_VALUE}
        assert set(run.compared) == told
        for store, (same, counts) in run.compared.items():
            assert same, store
            assert set(counts) <= {DifferenceKind.NOT_KNOWN}, (store, counts)

    def test_every_row_is_what_the_application_answered(self, run: Run) -> None:
        assert sorted(run.read) == sorted(run.answered)
        for store, rows in run.answered.items():
            assert rows, store
            assert run.read[store] == rows, store

    def test_what_suppress_holds_back_is_in_its_changelog_alone(self, run: Run) -> None:
        assert "suppressed-store" not in run.read
        held = {key: decode_buffered_value(value).new for key, value in run.suppressed.items() if value is not None}
        windows = {(row[1], row[5]): row[2] for row in run.answered["suppressed-windows"]}
        # What is emitted within a commit never gets there; what is emitted later leaves a tombstone.
        assert held
        for key, value in held.items():
            own, at = WINDOWS.decode(key + bytes(4))  # without the sequence number
            assert windows[own, (at.start_ms, None)] == value

    def test_each_kind_is_told_by_what_lies_there(self, run: Run) -> None:
        detected = {store.name: store.format for store in open_stores(state_of(run.closed))}
        assert detected == expected_formats(run.setup)


class TestRebuilt:
    def test_every_row_is_what_the_application_answered(self, run: Run) -> None:
        read = on_disk(run.rebuilt.folder)
        assert sorted(read) == sorted(run.answered_before)
        for store, rows in run.answered_before.items():
            assert without_headers(read[store]) == without_headers(rows), store

    def test_each_kind_is_told_by_what_lies_there(self, run: Run) -> None:
        detected = {store.name: store.format for store in open_stores(state_of(run.rebuilt.folder))}
        assert detected == expected_formats(run.later)


class TestRunning:
    def test_a_rebuilt_directory_goes_on_and_every_flushed_row_is_read_while_it_runs_and_after_a_kill(
        self, run: Run
    ) -> None:
        """It starts on the rebuilt directory, takes further records, is killed, and started again."""
        setup = run.later
        shutil.rmtree(setup.folder)
        shutil.copytree(run.rebuilt.folder, setup.folder)
        came_after = to_restore(setup, run.rebuilt)
        assert set(came_after) == set(run.answered)
        with EveryStoreApplication(setup) as application:
            application.wait_for_state("RUNNING")
            assert restored(application) == came_after
            assert_answers(application, setup, run.answered)
            produce(setup, source_records(first_round=ROUNDS, rounds=ROUNDS))
            application.wait_for_records()
            answered = answers(application, setup)
            flushed = {store.name: without_headers(run.flushed(store.name, answered)) for store in setup.stores}
            assert is_in_use(setup) is True
            assert read_until(setup.folder, flushed) == flushed
            application.kill()
        assert is_in_use(setup) is False
        assert headless(on_disk(setup.folder)) == flushed
        with EveryStoreApplication(setup) as application:
            application.wait_for_state("RUNNING")
            application.wait_for_records()
            again = answers(application, setup)
        found = on_disk(setup.folder)
        assert_windows(again["windows"], 2 * ROUNDS)
        if versions := found.get("versioned"):
            # After a restart Streams looks into those segments alone that it has written to since: the disk has all.
            assert again["versioned"] < versions
            assert {row[1:] for row in versions} == all_versions(2 * ROUNDS)
            again["versioned"] = versions
        assert found == again


def restored(application: EveryStoreApplication) -> dict[str, int]:
    """Store → the records that it has restored; what suppress holds back is in memory and always restored."""
    return {store: records for store, records in application.restored.items() if store != "suppressed-store"}


def assert_answers(application: EveryStoreApplication, setup: EveryStoreSetup, expected: Mapping[str, Rows]) -> None:
    found = answers(application, setup)
    for store, rows in expected.items():
        if store == "versioned":
            # After a restart Streams looks into those segments alone that it has written to since: the disk has all.
            assert found[store] <= rows
        else:
            assert without_headers(found[store]) == without_headers(rows), store


def without_headers(rows: Rows) -> Rows:
    """Tables get their records' headers when they are restored, and none when they are processed."""
    headers = 4
    return Counter({(*row[:headers], *row[headers + 1 :]): count for row, count in rows.items()})


def assert_windows(rows: Rows, rounds: int) -> None:
    """The store `windows` has what its aggregation makes of the records, whatever was rebuilt in between."""
    expected: dict[tuple[bytes, int], list[bytes]] = {}
    for record in source_records(rounds=rounds):
        if record.source is Source.EVENTS:
            assert record.value is not None
            start_ms = record.timestamp_ms - record.timestamp_ms % 60_000
            expected.setdefault((record.key, start_ms), []).append(record.value)
    window = 5
    found = {(row[1], row[window]): row[2] for row in rows}
    assert found == {(key, (start_ms, None)): b"+".join(values) for (key, start_ms), values in expected.items()}


def migrated(folder: Path, version: str) -> None:
    """Writes an application's folder anew, the store `plain` with timestamps."""
    new = folder.with_name("migrated")
    changes = {"plain": StoreChange(kind=WrittenKind.TIMESTAMPED_KV)}
    migrate(state_of(folder), new, Migration(release=Release.parse(version), changes=changes), request={})
    shutil.rmtree(folder)
    new.rename(folder)


def all_versions(rounds: int) -> set[tuple[object, ...]]:
    """What a versioned store makes of the records, whatever their order: each holds until the next one of its key."""
    by_key: dict[bytes, dict[int, bytes | None]] = {}
    for record in source_records(rounds=rounds):
        if record.source is Source.HISTORY:
            by_key.setdefault(record.key, {})[record.timestamp_ms] = record.value
    return {
        (key, value, start, (), None, start, end, None, None)
        for key, versions in by_key.items()
        for start, end in pairwise([*sorted(versions), None])
        if start is not None and (value := versions[start]) is not None
    }
