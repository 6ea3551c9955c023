"""`srfix serve` that is killed while it fills a store: when it has resumed, the rows are the topic's last values."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final
from zlib import crc32

import pytest
from confluent_kafka import Producer

from srfix.fixtures.broker.kraft import KraftBroker
from srfix.serde.subjects.names import changelog_topic
from tests.stack.command import run_srfix
from tests.stack.serve_members import Serve, wait_until

pytestmark = pytest.mark.stack

PARTITIONS: Final = 6
RECORDS: Final = 200_000
KEYS: Final = 10_000
HOUR_MS: Final = 3_600_000
NOW_MS: Final = 1_700_000_000_000
KINDS: Final = {
    "table": ("--kind", "timestamped-kv"),
    "table-with-a-head-start": ("--kind", "timestamped-kv"),
    "windows": ("--kind", "timestamped-window", "--retention-ms", str(10**12)),
}


@dataclass(slots=True, kw_only=True)
class Changelog:
    """A topic, and what a reader of the whole topic has: the last value and timestamp of each key and window."""

    broker: KraftBroker
    store: str
    rows: dict[tuple[str, int | None], tuple[str, int]] = field(default_factory=dict)
    ends: dict[int, int] = field(default_factory=lambda: dict.fromkeys(range(PARTITIONS), 0))
    options: tuple[str, ...] = ()
    """More options of the member that serves it."""

    @property
    def place(self) -> tuple[str, ...]:
        kind = KINDS[self.store]
        return (
            *kind,
            "--application",
            "shop",
            "--store",
            self.store,
            "--bootstrap-servers",
            self.broker.bootstrap_servers,
        )

    def write(self, count: int) -> None:
        settings = {"bootstrap.servers": self.broker.bootstrap_servers, "linger.ms": 20, "batch.num.messages": 100}
        producer = Producer(settings | {"enable.idempotence": True, "log_level": 0})
        written = sum(self.ends.values())
        chance = Random(written)
        for number in range(written, written + count):
            key, timestamp = f"k{chance.randrange(KEYS)}", NOW_MS + number
            start = NOW_MS + chance.randrange(3) * HOUR_MS if self.store == "windows" else None
            value = None if chance.random() < 0.2 else f"v{number}"
            if value is None:
                self.rows.pop((key, start), None)
            else:
                self.rows[key, start] = value, timestamp
            # Kafka Streams writes the start of a window behind the key, and a sequence number, which is 0.
            key_bytes = key.encode() + (b"" if start is None else start.to_bytes(8, "big") + bytes(4))
            partition = crc32(key.encode()) % PARTITIONS
            self.ends[partition] += 1
            producer.produce(
                changelog_topic("shop", self.store),
                key=key_bytes,
                value=value,
                partition=partition,
                timestamp=timestamp,
            )
            if number % 10_000 == 0:
                producer.flush(60)
        assert producer.flush(60) == 0


@pytest.fixture(scope="module", params=KINDS)
def changelog(
    broker: KraftBroker, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Changelog:
    store = request.param
    broker.create_topic(changelog_topic("shop", store), PARTITIONS, {"cleanup.policy": "compact"})
    changelog = Changelog(broker=broker, store=store)
    changelog.write(RECORDS // 2)
    if store.endswith("head-start"):
        folder = tmp_path_factory.mktemp("state") / "state"
        topic = ("--from-topic", changelog_topic("shop", store), "--until", "end", "--out", str(folder))
        built = run_srfix(
            *("state", "rebuild", *changelog.place, *topic, "--streams-version", "3.9.2", "--subtopology", "0"),
            env=dict(os.environ),
        )
        assert built.returncode == 0, built.stderr
        changelog.options = ("--state-dir", str(folder))
    changelog.write(RECORDS // 2)
    return changelog


@contextmanager
def filling(changelog: Changelog, folder: Path) -> Iterator[Serve]:
    """A member that holds the partitions."""
    member = Serve(folder, *changelog.place, *changelog.options)
    try:
        wait_until(lambda: member.listens() and len(positions(member, changelog.store)) == PARTITIONS)
        yield member
    finally:
        member.end()


def positions(member: Serve, store: str) -> dict[int, int]:
    """How far each partition is that it holds."""
    status, answer = member.get(f"/stores/{store}")
    assert status == 200
    return {part["partition"]: part["offset"] for part in answer["partitions"]}


def read_first(member: Serve, store: str) -> int:
    """How far all partitions are together, when the member has read its first records."""
    began = at = sum(positions(member, store).values())
    while at == began < RECORDS:
        at = sum(positions(member, store).values())
    return at


@pytest.fixture(scope="module")
def filling_s(changelog: Changelog, tmp_path_factory: pytest.TempPathFactory) -> float:
    """How long it reads when nobody kills it."""
    with filling(changelog, tmp_path_factory.mktemp("served")) as member:
        read_first(member, changelog.store)
        began = time.monotonic()
        wait_until(lambda: positions(member, changelog.store) == changelog.ends)
        return time.monotonic() - began


@pytest.mark.parametrize("kills", [1, pytest.param(17, marks=pytest.mark.slow)])
def test_killed_at_any_instant_it_has_every_row_when_it_has_resumed(
    changelog: Changelog, filling_s: float, tmp_path: Path, kills: int
) -> None:
    chance, read = Random(kills), list[int]()
    for number in range(kills):
        folder = tmp_path / str(number)
        with filling(changelog, folder) as member:
            read_first(member, changelog.store)
            time.sleep(chance.uniform(0, filling_s))
            read.append(sum(positions(member, changelog.store).values()))
            time.sleep(chance.uniform(0, 0.05))
            member.kill()
        with filling(changelog, folder) as member:
            wait_until(member.is_ready)
            status, answer = member.get(f"/stores/{changelog.store}/all?limit=100000&timeout=60", timeout_s=60)
        assert (status, answer.get("complete")) == (200, True), answer
        assert {part["partition"]: part["offset"] for part in answer["partitions"]} == changelog.ends
        assert {
            (row["key"]["text"], row["window"] and row["window"]["start_ms"]): (row["value"]["text"], row["timestamp"])
            for row in answer["rows"]
        } == changelog.rows
        shutil.rmtree(folder)
    print(
        f"{changelog.store}: killed {kills} times in {filling_s:.1f} s, when it had read to {sorted(read)} of {RECORDS}"
    )
