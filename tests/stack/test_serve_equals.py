"""Rows that `srfix serve` answers are the rows that the application's own queries answer at the same offset.

The application writes all the time. What makes the offset one: the input of a partition pauses. When the application has
committed the end of its input there, everything that it wrote is in the topics that its stores restore from, so the end
of such a topic's partition is the offset of the store's. Meanwhile the other partition gets records. Orders are of customers
in the partition with the same number, so that the foreign-key join's subscriptions pause with them.
"""

from __future__ import annotations

import os
import random
import threading
import time
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote, urlencode
from uuid import uuid4

import pytest
from confluent_kafka import Producer

from parts.streams.every_store.application import EveryStoreApplication, create_topics
from parts.streams.every_store.model import EveryStoreSetup
from parts.streams.every_store.records import FIRST_MS, Source
from parts.streams.every_store.stores import Asked, EveryStore, release_of
from srfix.fixtures.broker.kraft import KraftBroker
from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.state.formats.joins import decode_combined_key, decode_subscription
from srfix.recovery.state.layouts import StoreFormat
from srfix.recovery.state.reading.rows import decoder
from srfix.recovery.stores.rows import SIDES
from srfix.recovery.stores.whereabouts import partition_of
from srfix.serde.subjects.names import Topic, changelog_topic
from tests.stack.rebuilt_stores import SOURCES, store_to_write
from tests.stack.scene import without_what_is_made
from tests.stack.serve_members import Serve
from tests.stack.test_every_store import as_answered

pytestmark = pytest.mark.stack

ROWS: Final = int(os.environ.get("SRFIX_SERVED_ROWS", "5000"))
"""At least so many has a store of each kind in the end."""
JOINS: Final = ("pairs-outer-this-join-store", "pairs-outer-shared-join-store")
"""Which keep their rows for ten minutes only."""
STORES: Final = (
    *("plain", "stamped", "headed", "versioned", "windows", "plain-windows", "sessions", "everywhere"),
    *("emitted-windows", "emitted-sliding-windows", "emitted-sessions", *JOINS, "buying-subscription-store"),
)
REUSES_SOURCES: Final = {"2.6.3": True, "3.9.2": False, "4.3.1": True, "4.3.1 with headers": False}
"""Whether tables restore from their source topics, up to the committed offset, or have changelogs."""
PAUSES: Final = ((0, 18), (1, 33), (0, 44))
"""A partition, and the minutes of records that it has got when it pauses."""
MINUTES: Final = 48
"""Of records in the end. Windows stay for 30, in segments of 15: some have gone, some are too old and still there."""
SAMPLE: Final = 15
"""So many keys are looked up in each store at each pause."""
_MINUTE_MS: Final = 60_000
_TOGETHER: Final = min(20, 1 + ROWS // 1000)
"""Records that are written every 50 ms meanwhile."""
MOST: Final = 100_000
"""Rows that an answer may have."""
_PATIENCE: Final = {"timeout": 60}
_DEADLINE_S: Final = 180.0 + ROWS / 100

TABLES: Final = (Source.PLAIN, Source.STAMPED, Source.EVERYWHERE, Source.ORDERS)
KEYS: Final = {
    Source.EVENTS: ROWS // 22,
    **dict.fromkeys(TABLES, ROWS * 6 // 5),
    Source.HISTORY: ROWS // 8,
    Source.CUSTOMERS: 90,
}
_Question = tuple[str, Mapping[str, str], tuple[str, ...]]
_GET: Final[_Question] = ("keys/{key}", {}, ("get", "key"))
_RANGE: Final[_Question] = ("keys", {"from": "key", "to": "next"}, ("range", "key", "next"))
_FETCH: Final[_Question] = ("windows/{key}", {"from": "from", "to": "to"}, ("fetch", "key", "key", "from", "to"))
_SESSIONS: Final = ("fetch", "key")
_VERSION: Final[_Question] = ("keys/{key}", {"at": "to"}, ("asOf", "key", "to"))
QUESTIONS: Final[Mapping[Asked, tuple[_Question, ...]]] = {
    Asked.PLAIN: (_GET, _RANGE),
    Asked.TIMESTAMPED: (_GET, _RANGE),
    Asked.WINDOWS: (_FETCH,),
    Asked.TIMESTAMPED_WINDOWS: (_FETCH,),
    Asked.SESSIONS: (("sessions/{key}", {}, _SESSIONS), ("keys/{key}", {}, _SESSIONS)),
    Asked.VERSIONS: (_VERSION,),
    Asked.SIDES: (),
    Asked.SUBSCRIPTIONS: (),
}
"""By kind: what srfix is asked of a key, by path and parameters, and the application, by method and arguments."""

Row = tuple[object, ...]
Rows = Counter[Row]


class Record(NamedTuple):
    source: Source
    key: str | None
    value: str | None
    timestamp_ms: int


def keys(source: Source, partition: int) -> list[str]:
    """Those of a partition; some are the beginning of others, some beyond ASCII."""
    texts = (f"{each % 10}-{'ключ' if each % 97 == 0 else ''}{each}" for each in range(KEYS[source]))
    return [text for text in texts if partition_of(text.encode(), source.partitions) == partition]


def prefixes(store: EveryStore, partition: int) -> list[str]:
    """Those that its stored keys have: each has fewer rows than an answer may have."""
    if store.asked is Asked.SUBSCRIPTIONS:
        customers = (key.encode() for key in keys(Source.CUSTOMERS, partition))
        return [f"hex:{len(key).to_bytes(4).hex()}{key.hex()}" for key in customers]
    return ["hex:0000"] if store.asked is Asked.SIDES else [*map(str, range(10))]  # a time begins so


def minutes_of(partition: int) -> Iterator[list[Record]]:
    """The records of a partition, minute by minute and without an end: updates, deletes, late and keyless ones."""
    chance = random.Random(partition)
    events, tables, histories, customers = (
        keys(of, partition) for of in (Source.EVENTS, Source.PLAIN, Source.HISTORY, Source.CUSTOMERS)
    )
    new = -(-len(tables) // (MINUTES - 2))
    for minute in count():
        start_ms = FIRST_MS + minute * _MINUTE_MS
        records = [
            Record(Source.EVENTS, key, "-" if chance.random() < 0.03 else f"e{minute}", at + more)
            for key in events
            for at in (start_ms + chance.randrange(_MINUTE_MS),)
            for more in ((0, chance.randrange(20_000)) if chance.random() < 0.1 else (0,))
        ]
        records += [
            Record(Source.RIGHTS, event.key, "r", event.timestamp_ms + chance.randrange(20_000))
            for event in records
            if chance.random() < 0.3
        ]
        for source in TABLES:
            touched = tables[minute * new : (minute + 1) * new] + chance.choices(
                tables[: (minute + 1) * new], k=new // 4
            )
            rows = [_row(source, key, minute, start_ms, chance) for key in touched]
            records += (_ordered(row, customers, chance) if source is Source.ORDERS else row for row in rows)
        records.append(Record(Source.CUSTOMERS, customers[minute % len(customers)], f"c{minute}", start_ms))
        # Its history is of ten minutes: four times as slow.
        quarter_ms = FIRST_MS + minute * _MINUTE_MS // 4
        records += (_row(Source.HISTORY, key, minute, quarter_ms, chance) for key in histories[minute % 4 :: 4])
        records.sort(key=lambda record: record.timestamp_ms)
        keyless = [Record(source, None, "nobody", start_ms) for source in (Source.EVENTS, *TABLES, Source.HISTORY)]
        yield [_late(record, chance) for record in records] + keyless


def _row(source: Source, key: str, minute: int, start_ms: int, chance: random.Random) -> Record:
    kind = chance.random()
    value = None if kind < 0.05 else "" if kind < 0.07 else f"{source.value}{minute}"
    return Record(source, key, value, start_ms + chance.randrange(_MINUTE_MS // 4))


def _ordered(row: Record, customers: list[str], chance: random.Random) -> Record:
    return row if row.value is None else row._replace(value=f"{row.value}@{chance.choice(customers)}")


def _late(record: Record, chance: random.Random) -> Record:
    back_ms = chance.randrange(15 * _MINUTE_MS) if chance.random() < 0.05 else 0
    return record._replace(timestamp_ms=max(FIRST_MS, record.timestamp_ms - back_ms))


class Input:
    """Writes what a partition gets."""

    def __init__(self, setup: EveryStoreSetup, partition: int) -> None:
        self._topics = {source: setup.topic(source) for source in Source}
        self._partition = partition
        self._minutes = minutes_of(partition)
        self._written = 0
        self._rest: list[Record] = []
        self._producer = Producer(
            {"bootstrap.servers": setup.bootstrap_servers, "queue.buffering.max.messages": 1_000_000}
        )

    def write_up_to(self, minutes: int) -> None:
        self._write(self._rest)
        self._rest = []
        while self._written < minutes:
            self._write(self._next_minute())
        assert self._producer.flush(_DEADLINE_S) == 0

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Writes some hundred records a second while the block runs; fewer if there are few in a minute of the records'
        own time, because each new segment of time costs the application more than the records do."""
        done = threading.Event()
        thread = threading.Thread(target=self._write_slowly, args=(done,))
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
            assert self._producer.flush(_DEADLINE_S) == 0

    def _write_slowly(self, done: threading.Event) -> None:
        while not done.wait(0.05):
            self._rest = self._rest or self._next_minute()
            some, self._rest = self._rest[:_TOGETHER], self._rest[_TOGETHER:]
            self._write(some)
            self._producer.poll(0)

    def _next_minute(self) -> list[Record]:
        self._written += 1
        return next(self._minutes)

    def _write(self, records: list[Record]) -> None:
        for record in records:
            self._producer.produce(
                self._topics[record.source],
                key=record.key,
                value=record.value,
                timestamp=record.timestamp_ms,
                partition=self._partition,
                headers=[("h", b"x"), ("n", None)] if record.timestamp_ms % 2 else [],
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A store, and the member that serves it."""

    store: EveryStore
    topic: Topic
    member: Serve

    def rows(self, partition: int, offset: int, path: str, **parameters: object) -> Rows:
        """Those of a partition, in an answer that is complete and up to that offset."""
        status, answer = self.member.get(
            f"/stores/{self.store.name}/{path}?{urlencode(parameters | _PATIENCE)}", timeout_s=70.0
        )
        assert status in (200, 404), answer
        assert answer["complete"], answer["failed"] or len(answer["rows"])
        assert {each["offset"] for each in answer["partitions"] if each["partition"] == partition} <= {offset}, answer
        found = (row for row in answer["rows"] if row["partition"] == partition)
        return Counter(served for row in found for served in as_served(row, self.store))

    def count(self) -> int:
        _, answer = self.member.get(f"/stores/{self.store.name}/count?{urlencode(_PATIENCE)}", timeout_s=70.0)
        assert answer["complete"], answer["failed"] or len(answer["rows"])
        return int(answer["count"])

    def wait_until(self, partition: int, offset: int) -> None:
        deadline = time.monotonic() + _DEADLINE_S
        while self._offset(partition) < offset:
            assert time.monotonic() < deadline, (self.store.name, self._offset(partition), offset)
            time.sleep(0.1)

    def _offset(self, partition: int) -> int:
        with suppress(OSError):  # it has not started yet
            _, answer = self.member.get(f"/stores/{self.store.name}")
            return next((each["offset"] for each in answer["partitions"] if each["partition"] == partition), -1)
        return -1


def as_served(row: Mapping[str, Any], store: EveryStore) -> Iterator[Row]:
    """Like `as_answered`, with no more than the application's query tells. srfix serves the rows of joins as stored."""
    assert row["errors"] == []
    key, value, subscription = _raw(row["key"]), _raw(row["value"]), None
    if store.asked is Asked.SIDES:
        for each in decoder(StoreFormat.LIST_VALUE, "default")(key or b"", value or b""):
            assert each.side is not None
            at = (row["partition"], each.key, each.value, each.timestamp_ms)
            yield (*at, (), None, None, None, SIDES[each.side], None)
        return
    if store.asked is Asked.SUBSCRIPTIONS:
        combined, told = decode_combined_key(key or b""), decode_subscription(value or b"")
        key, value = combined.primary_key, None
        subscription = (
            *(combined.foreign_key, told.version, told.instruction),
            *(told.hash, told.primary_key, told.primary_partition),
        )
    window = row["window"] and (row["window"]["start_ms"], row["window"]["end_ms"])
    # A table that restores from its source gets the records' headers, and none while it runs (4.3.1).
    headers = (
        ()
        if store.is_global
        else tuple(
            (each["name"], None if each["value"] is None else b64decode(each["value"])) for each in row["headers"]
        )
    )
    tells_all = store.asked not in (Asked.PLAIN, Asked.WINDOWS)
    yield (
        *(row["partition"], key, value),
        *((row["timestamp"], headers) if tells_all else (None, ())),
        *(window, row["valid_from_ms"], row["valid_to_ms"], row["side"], subscription),
    )


def _raw(content: Any) -> bytes | None:
    return None if content is None else b64decode(content["$raw"])


def last_ms(row: Row) -> int:
    """The start of its window, or the end of its session."""
    window = row[5]
    assert isinstance(window, tuple)
    return int(window[0] if window[1] is None else window[1])


def shown(rows: Rows, oldest_ms: int | None) -> Rows:
    return rows if oldest_ms is None else Counter({row: rows[row] for row in rows if last_ms(row) >= oldest_ms})


def differences(served: Rows, answered: Rows, where: str) -> Iterator[str]:
    for what, rows in (("missing", answered - served), ("surplus", served - answered)):
        if rows:
            yield f"{where}: {rows.total()} {what} of {answered.total()}, as {sorted(rows, key=repr)[:3]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The application beside what serves its stores."""

    setup: EveryStoreSetup
    application: EveryStoreApplication
    served: tuple[Served, ...]
    cluster: Cluster

    def wait_until_committed(self, partition: int) -> None:
        sources = [self.setup.topic(source) for source in self.setup.sources if source is not Source.EVERYWHERE]
        deadline = time.monotonic() + _DEADLINE_S
        for topics in (sources, [f"{self.setup.application}-buying-subscription-registration-topic"]):
            while True:
                committed = self.cluster.committed(self.setup.application, [(topic, partition) for topic in topics])
                if all(committed[Topic(topic), partition] == self._end(Topic(topic), partition) for topic in topics):
                    break
                assert time.monotonic() < deadline, (self.application.failure, committed)
                time.sleep(0.1)

    def assert_equal(self, partition: int) -> dict[str, int]:
        """Every row of every store in a partition that pauses; store → how many."""
        self.wait_until_committed(partition)
        rows = {each.store.name: self._compare(each, partition) for each in self.served}
        different = [text for _, texts in rows.values() for text in texts]
        assert not different, "\n".join(different)
        return {store: number for store, (number, _) in rows.items()}

    def ends(self, partition: int) -> dict[str, int]:
        """Store → the end of a partition of its topic."""
        return {each.store.name: self._end(each.topic, partition) for each in self.served}

    def _compare(self, served: Served, partition: int) -> tuple[int, list[str]]:
        """How many rows the application has, and what differs."""
        store, where = served.store, f"{served.store.name} of {self.setup.version}"
        end = self._end(served.topic, partition)
        served.wait_until(partition, end)
        known = keys(store.source, partition)
        rows: Rows = Counter()
        for prefix in prefixes(store, partition):
            rows += served.rows(partition, end, "keys", prefix=prefix, limit=MOST)
        everything = ("fetch", "0", "~") if store.asked is Asked.SESSIONS else ()
        answered = self._answered(store, partition, *everything, keys=known)
        deadline = time.monotonic() + _DEADLINE_S
        while store.is_global and answered != rows and time.monotonic() < deadline:  # nothing tells how far it has read
            time.sleep(0.1)
            answered = self._answered(store, partition)
        oldest_ms = self._oldest_shown(store, answered)
        answered = shown(answered, oldest_ms)
        different = [*differences(rows, answered, where)]
        chance = random.Random(end)
        # A history is four times as slow.
        span_ms = MINUTES * _MINUTE_MS // (4 if store.asked is Asked.VERSIONS else 1)
        for key in (*chance.sample(known, SAMPLE), "nobody", "0-"):
            from_ms, to_ms = sorted(FIRST_MS + chance.randrange(span_ms) for _ in range(2))
            asked: dict[str, str | int] = {"key": key, "next": f"{key}9", "from": from_ms, "to": to_ms}
            for path, parameters, query in QUESTIONS[store.asked]:
                given = {name: asked[of] for name, of in parameters.items()} | (
                    {"limit": MOST} if path == "keys" else {}
                )
                found = served.rows(partition, end, path.format(key=quote(key)), **given)
                answer = self._answered(store, partition, *(asked.get(word, word) for word in query))
                different += differences(found, shown(answer, oldest_ms), f"{where}, {path} of {asked}")
        assert self._end(served.topic, partition) == end
        return answered.total(), different

    def _oldest_shown(self, store: EveryStore, answered: Rows) -> int | None:
        """Up to 3.4 Streams still shows what is beyond the retention, until its segment goes; srfix shows what 3.5 does."""
        retention_ms = store_to_write(self.setup, store.name).retention_ms
        if retention_ms is None or not answered or release_of(self.setup.version) >= (3, 5):
            return None
        return max(last_ms(row) for row in answered) - retention_ms + 1

    def _answered(self, store: EveryStore, partition: int, *query: str | int, keys: list[str] | None = None) -> Rows:
        rows = self.application.rows(store.name, partition=partition, keys=keys, query=query, timeout_s=_DEADLINE_S)
        # A global store has those of both partitions, whichever is asked for.
        own = (row for row in rows if not store.is_global or partition_of(row.key, 2) == partition)
        return Counter(as_answered(row, store) for row in own)

    def _end(self, topic: Topic, partition: int) -> int:
        return self.cluster.watermarks(topic, [partition])[partition][1]


@contextmanager
def comparison(setup: EveryStoreSetup, folder: Path, *, reuses_sources: bool) -> Iterator[Comparison]:
    application = EveryStoreApplication(setup)
    with application, Cluster({"bootstrap.servers": setup.bootstrap_servers}) as cluster, ExitStack() as members:
        application.wait_for_state("RUNNING")
        served = []
        for store in setup.stores:
            if store.name not in STORES or (setup.headers and not store.has_headers):
                continue
            kept = store_to_write(setup, store.name)
            is_reused = store.is_global or (reuses_sources and store.name in SOURCES)
            topic = Topic(setup.topic(store.source)) if is_reused else changelog_topic(setup.application, store.name)
            member = Serve(
                folder / store.name,
                *("--application", setup.application, "--store", store.name, "--kind", kept.kind.value),
                *("--bootstrap-servers", setup.bootstrap_servers),
                *(("--retention-ms", str(kept.retention_ms)) if kept.retention_ms else ()),
                *(("--from-topic", topic) if is_reused else ()),
                *(("--until", "end") if store.is_global else ()),
            )
            members.callback(member.end)
            served.append(Served(store=store, topic=topic, member=member))
        yield Comparison(setup=setup, application=application, served=tuple(served), cluster=cluster)


@pytest.mark.parametrize(
    "version", ["2.6.3", "3.9.2", pytest.param("4.3.1", marks=pytest.mark.smoke), "4.3.1 with headers"]
)
def test_every_row_is_what_the_application_answers_while_it_writes(
    version: str, broker: KraftBroker, tmp_path: Path
) -> None:
    reuses_sources = REUSES_SOURCES[version]
    setup = EveryStoreSetup(
        application=f"every-{uuid4().hex[:8]}",
        bootstrap_servers=broker.bootstrap_servers,
        state_directory=tmp_path / "state",
        version=version.split()[0],
        headers=version.endswith("headers"),
        config={"topology.optimization": "all" if reuses_sources else "none"},
    )
    with without_what_is_made(broker):
        create_topics(broker, setup)
        with comparison(setup, tmp_path, reuses_sources=reuses_sources) as compared:
            inputs = [Input(setup, partition) for partition in range(2)]
            for paused, minutes in PAUSES:
                inputs[paused].write_up_to(minutes)
                with inputs[1 - paused].writing():
                    before = compared.ends(1 - paused)
                    compared.assert_equal(paused)
                    after = compared.ends(1 - paused)
                assert all(after[store] > before[store] for store in before), (before, after)
            for partition in inputs:
                partition.write_up_to(MINUTES)
            first, second = (compared.assert_equal(partition) for partition in range(2))
            for each in compared.served:
                rows = first[each.store.name] + second[each.store.name]
                assert rows >= ROWS or each.store.name in JOINS, (each.store.name, rows)
                # A list is one row of srfix.
                assert each.count() == rows or each.store.asked is Asked.SIDES, each.store.name
