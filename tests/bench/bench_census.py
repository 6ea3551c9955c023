"""How much CPU a census takes beside a bare `consume(500)` loop over the same records.

    python tests/bench/bench_census.py [--records N] [--partitions 64] [--rounds 5] [--run 5000]

The broker runs in a process of its own. CPU time is this whole process's, librdkafka's threads included. All read
with the same consumer configuration but for the prefetch: the bare loop has librdkafka's defaults, the census fetches
less ahead and looks again sooner, which is part of what it does to be quick. Between them stands the bare loop that
asks each message for its partition, key, value and headers, and does nothing with them: what a census in Python
cannot do without. Rounds are interleaved, the median of the ratios counts. Prints whether the census reaches half the
rate of the bare loop, nine tenths with the native kernel; a miss is no failure.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from statistics import median

from confluent_kafka import Consumer, Message, TopicPartition

from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.recovery import CensusRequest, LocalCensus
from srfix.serde import Topic
from srfix.serde.native import kernel
from srfix.serde.wire import frame_id

TOPIC = "bench"
WANTED_RATIO = 0.5 if kernel() is None else 0.9
RECORDS_PER_KEY = 4
TOMBSTONE_EVERY = 200


def records(options: argparse.Namespace, per_partition: int) -> Iterator[ProducedRecord]:
    """In runs of one partition: a fetch from the embedded broker answers with one produced batch a partition, where
    a real one answers with up to 1 MiB, whatever the batches were."""
    keys = max(1, per_partition // RECORDS_PER_KEY)
    rest = b"x" * options.value_size
    for start in range(0, per_partition, options.run):
        for partition in range(options.partitions):
            for number in range(start, min(start + options.run, per_partition)):
                key = f"customer-{number % keys:08d}".encode()
                value = frame_id(1 + 3 * number // per_partition, (b"%d" % number + rest)[: options.value_size])
                yield ProducedRecord(
                    topic=TOPIC,
                    partition=partition,
                    key=key if options.unframed_keys else frame_id(9, key),
                    value=None if number % TOMBSTONE_EVERY == TOMBSTONE_EVERY - 1 else value,
                )


def serve(options: argparse.Namespace, per_partition: int) -> None:
    """The other process: a broker with the records, until its stdin ends."""
    with EmbeddedBroker(topics={TOPIC: options.partitions}) as broker:
        broker.produce(records(options, per_partition))
        print(broker.bootstrap_servers, flush=True)
        sys.stdin.read()


def touch(batch: list[Message]) -> None:
    """What no census can do without: each message is asked for its partition, key, value and headers."""
    for ask in (Message.partition, Message.key, Message.value, Message.headers):
        list(map(ask, batch))


def touched(servers: str, partitions: int, total: int) -> None:
    bare(servers, partitions, total, touch)


def bare(
    servers: str, partitions: int, total: int, look: Callable[[list[Message]], object] = lambda _batch: None
) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "bench",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_uncommitted",
            "enable.partition.eof": True,
            "check.crcs": True,
        }
    )
    consumer.assign([TopicPartition(TOPIC, partition, 0) for partition in range(partitions)])
    seen = 0
    while seen < total:
        batch = consumer.consume(500, 5)
        look(batch)
        seen += len(batch)
    consumer.close()


def census(servers: str, partitions: int, total: int) -> None:
    counted = LocalCensus({"bootstrap.servers": servers}).count(
        CensusRequest(topic=Topic(TOPIC), partitions=tuple(range(partitions)), committed=None)
    )
    assert sum(partition.records for partition in counted.partitions) == total


def cpu_ns(read: Callable[[str, int, int], None], servers: str, partitions: int, total: int) -> float:
    began = time.process_time()
    read(servers, partitions, total)
    return (time.process_time() - began) / total * 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--partitions", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--unframed-keys", action="store_true", help="plain keys, as ksqlDB's KAFKA format")
    parser.add_argument(
        "--value-size", type=int, default=200, help="bytes of a value's body; 5 MiB fit a partition (default 200)"
    )
    parser.add_argument("--run", type=int, default=5_000, help="records of a partition in a row (default 5000)")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    per_partition = max(1, options.records // options.partitions)
    total = per_partition * options.partitions
    if options.serve:
        serve(options, per_partition)
        return
    command = [sys.executable, __file__, "--serve", *sys.argv[1:]]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as broker:
        assert broker.stdin is not None
        assert broker.stdout is not None
        servers = broker.stdout.readline().strip()
        rounds = []
        for number in range(options.rounds + 1):
            spent = [cpu_ns(read, servers, options.partitions, total) for read in (bare, touched, census)]
            if number:  # the first warms up
                rounds.append(spent)
                told = ", ".join(
                    f"{name} {ns:5.0f} ns" for name, ns in zip(("bare", "touched", "census"), spent, strict=True)
                )
                print(f"round {number}: {told} a record", flush=True)
        broker.stdin.close()
    ratio = median(bare_ns / census_ns for bare_ns, _, census_ns in rounds)
    print(
        f"census in {'Python' if kernel() is None else 'the kernel'}: {total} records in {options.partitions} partitions, "
        "median CPU a record: "
        f"bare {median(spent[0] for spent in rounds):.0f} ns, "
        f"asked for what stands in each message {median(spent[1] for spent in rounds):.0f} ns, "
        f"census {median(spent[2] for spent in rounds):.0f} ns; "
        f"rate {ratio:.2f} of the bare loop's (wanted: {WANTED_RATIO}): {'held' if ratio >= WANTED_RATIO else 'MISSED'}"
    )


if __name__ == "__main__":
    main()
