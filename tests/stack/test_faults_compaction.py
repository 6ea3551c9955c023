"""A census while the broker compacts what it reads: it meets fewer records, and counts the same live keys."""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final
from uuid import uuid4

import pytest
from confluent_kafka import Producer

from srfix.fixtures.broker.kraft import KraftBroker
from srfix.serde.wire import frame_id
from tests.cli.kept_demo import TIMEOUT_S
from tests.stack.compaction import COMPACT, configure, offsets, wait_until
from tests.stack.scene import without_what_is_made
from tests.stack.test_faults_broker_restarted import scanning, wait_until_it_reads

pytestmark = pytest.mark.stack

RECORDS: Final = 40_000
PARTITIONS: Final = 2


class Log:
    """A topic with many records that compaction would remove, and the id that each key has at last."""

    def __init__(self, broker: KraftBroker) -> None:
        self.broker = broker
        self.topic = f"users-{uuid4().hex[:8]}"
        self.latest: dict[bytes, int] = {}
        broker.create_topic(self.topic, PARTITIONS, {"cleanup.policy": "delete", "segment.bytes": "100000"})
        settings = {"bootstrap.servers": broker.bootstrap_servers, "batch.num.messages": 10, "linger.ms": 100}
        producer = Producer(settings | {"log_level": 0})
        for number in range(RECORDS):
            # Keys go on coming back, ever less often: every id that is written is some keys' last.
            key = f"k{number % (500 + number // 10)}".encode()
            schema_id = 1 + number // 4_000
            if number % 97:
                self.latest[key] = schema_id
            else:
                self.latest.pop(key, None)
            value = frame_id(schema_id, b"body") if number % 97 else None
            producer.produce(self.topic, partition=hash_of(key), key=key, value=value)
            producer.poll(0)
        assert producer.flush(30) == 0

    def records(self) -> int:
        return sum(len(of) for of in offsets(self.broker, self.topic).values())


def hash_of(key: bytes) -> int:
    return sum(key) % PARTITIONS


@pytest.fixture
def log(broker: KraftBroker) -> Iterator[Log]:
    with without_what_is_made(broker):
        yield Log(broker)


def test_what_compaction_removes_under_a_census_does_not_change_the_live_keys(broker: KraftBroker, log: Log) -> None:
    with scanning(broker, topic=log.topic) as scan:
        wait_until_it_reads(scan.stderr, log.topic)
        # Held where it is: how long the broker takes to compact is nobody's promise.
        scan.send_signal(signal.SIGSTOP)
        configure(broker, log.topic, {name: text for name, text in COMPACT.items() if name != "segment.bytes"})
        wait_until(lambda: log.records() < RECORDS // 2)
        scan.send_signal(signal.SIGCONT)
        out, err = scan.communicate(timeout=TIMEOUT_S)
    assert scan.returncode == 0, err
    (topic,) = json.loads(out)["topics"]
    partitions: list[Any] = topic["roles"]["value"]["partitions"]
    assert log.records() <= sum(partition["records"] for partition in partitions) < RECORDS
    counted: Counter[int] = Counter()
    for partition in partitions:
        assert partition["stopped_early"] is None
        counted.update({count["id"]: count["live_keys"] for count in partition["ids"] if count["live_keys"]})
    assert counted == Counter(log.latest.values())
    assert topic["partial"] is False
