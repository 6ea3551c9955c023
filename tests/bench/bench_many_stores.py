"""What many broken stores take: `diagnose`, `plan` and `apply` as a person runs them, on a real broker.

    python -m tests.bench.bench_many_stores

Two estates, one after the other, each on an empty broker and registry. `many`: 500 broken stores of 100 applications, on
2,000 topics and 10,000 subjects. `alike`: 44 broken stores beside 330 topics of one schema, none of which their groups have
committed, so that each may restore from any. `SRFIX_SCALE=0.1` makes both a tenth as large.

Requests, memory, bytes and lines do not depend on the machine: beyond their ceilings it exits with 1. Seconds are printed.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from confluent_kafka.admin import AdminClient, NewTopic

from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.kraft import KraftBroker
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.wire import frame_id
from tests.bench.bench_scale import columns, internal, schema, writer
from tests.bench.measuring import gate

SCALE: Final = float(os.environ.get("SRFIX_SCALE", "1"))
STORES, TOPICS, SUBJECTS = round(500 * SCALE), round(2_000 * SCALE), round(10_000 * SCALE)
ALIKE_STORES, ALIKE_TOPICS = round(44 * SCALE), round(330 * SCALE)
STORES_PER_APPLICATION: Final = 5
PARTITIONS: Final = 2
ROWS: Final = 3
"""Records of each partition of a source topic."""
COMPACTED: Final = {"cleanup.policy": "compact"}
AT_ONCE: Final = 200
"""Topics that are created by one request."""
MOST_SECONDS: Final = 45
MOST_MB: Final = 200
MOST_ASKED: Final = 14
"""Requests a store that a diagnosis takes."""
MOST_ONCE: Final = 70
"""Requests that do not grow with the stores: some ten for lists, and 50 latest versions that `Survey.latest` asks one by one
before a listing takes their place."""
MOST_ASKED_MORE: Final = 28
"""Those of a plan, which asks what it will meet; and of a store that may restore from any of hundreds of topics."""
MOST_JSON_MB: Final = 3
MOST_LINES: Final = 60
_NAMED: Final = re.compile(r"(?<=/)(subjects|config|mode|ids|versions)/[^/?]+")
_KIND: Final = r"\1/…"
_MEASURED: Final = """
import json, resource, subprocess, sys
code = subprocess.call(sys.argv[2:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
open(sys.argv[1], "w").write(json.dumps([code, used.ru_maxrss, used.ru_utime + used.ru_stime]))
"""
"""Runs a command in a small process: the peak that a large one sees of its child is its own, before the child begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one command took."""

    code: int
    seconds: float
    cpu_s: float
    peak_mb: float
    requests: int
    stdout: bytes
    lines: int
    """Of standard output and standard error."""


def create(broker: KraftBroker, topics: list[str]) -> None:
    """Creates the topics, and waits until the broker lists them."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
    for start in range(0, len(topics), AT_ONCE):
        new = [
            NewTopic(name, num_partitions=PARTITIONS, replication_factor=1, config=COMPACTED)
            for name in topics[start:][:AT_ONCE]
        ]
        for answer in admin.create_topics(new, request_timeout=60).values():
            answer.result(60)
    while len(broker.topics) < len(topics):
        time.sleep(0.1)


def rows(topic: str, schema_id: int) -> list[ProducedRecord]:
    """A few records of a topic, every field null."""
    value = frame_id(schema_id, b"\0" * len(columns(0)))
    return [
        ProducedRecord(topic=topic, partition=partition, key=b"%d" % key, value=value)
        for partition in range(PARTITIONS)
        for key in range(ROWS)
    ]


def stage_many(broker: KraftBroker, registry: FixtureRegistry) -> None:
    """Every application has several stores, each of a topic of its own, under a schema of its own."""
    topics = [f"topic-{number}" for number in range(TOPICS)]
    create(broker, [*topics, "logins"])
    ids = [registry.seed(f"{topic}-value", writer(number)) for number, topic in enumerate(topics)]
    for topic in topics:
        registry.seed(f"{topic}-key", schema("Key", "id"))
    for number in range(STORES):
        registry.seed(f"{application(number)}-table-{number}-changelog-value", internal(number))
    for number in range(SUBJECTS - STORES - 2 * TOPICS):
        registry.seed(f"com.example.Event{number}", schema(f"Event{number}", *columns(number)))
    broker.produce(row for number in range(STORES) for row in rows(topics[number], ids[number]))
    for first in range(0, STORES, STORES_PER_APPLICATION):
        read = range(first, min(STORES, first + STORES_PER_APPLICATION))
        broker.commit(application(first), {(topics[n], p): ROWS for n in read for p in range(PARTITIONS)})


def stage_alike(broker: KraftBroker, registry: FixtureRegistry) -> None:
    """Every topic has the schema that every store's is a projection of."""
    topics = [f"topic-{number}" for number in range(ALIKE_TOPICS)]
    create(broker, [*topics, "logins"])
    for topic in topics:
        schema_id = registry.seed(f"{topic}-value", writer(0))
    for number in range(ALIKE_STORES):
        registry.seed(f"{application(number)}-table-{number}-changelog-value", internal(0))
    broker.produce(row for topic in topics for row in rows(topic, schema_id))
    broker.produce([ProducedRecord(topic="logins", partition=0, key=b"1", value=b"{}")])
    for first in range(0, ALIKE_STORES, STORES_PER_APPLICATION):
        broker.commit(application(first), {("logins", 0): 1})


def application(store: int) -> str:
    """The application of a store, by the store's number."""
    return f"shop-{store // STORES_PER_APPLICATION}"


def run(folder: Path, broker: KraftBroker, registry: FixtureRegistry, name: str, *options: str) -> Run:
    """Runs a command of srfix on the estate, and prints what it took and what it asked of the registry."""
    where = () if name == "apply" else ("--bootstrap-servers", broker.bootstrap_servers)
    command = (sys.executable, "-m", "srfix", name, *where, "--registry", registry.url, *options)
    registry.forget_requests()
    began = time.perf_counter()
    done = subprocess.run(
        (sys.executable, "-c", _MEASURED, str(folder / "used"), *command), capture_output=True, check=True
    )
    seconds = time.perf_counter() - began
    code, peak_kb, cpu_s = json.loads((folder / "used").read_text())
    asked = Counter(f"{seen.method} {_NAMED.sub(_KIND, seen.path)}" for seen in registry.requests)
    took = Run(
        code=code,
        seconds=seconds,
        cpu_s=cpu_s,
        peak_mb=peak_kb / 1024,
        requests=asked.total(),
        stdout=done.stdout,
        lines=len((done.stdout + done.stderr).splitlines()),
    )
    print(
        f"  {name}: exit {code}, {seconds:.1f} s ({cpu_s:.1f} s CPU), {took.peak_mb:.0f} MB, {took.requests:,} requests, "
        f"{len(done.stdout):,} bytes and {took.lines:,} lines printed"
    )
    for kind, count in asked.most_common(12):
        print(f"{count:10,} × {kind}")
    if code not in (0, 1):
        print(done.stderr.decode()[-2_000:])
    return took


def held(took: Run, stores: int, most_asked: int) -> bool:
    """Prints whether a look took no more than it may."""
    print(f"    wanted {MOST_SECONDS} s, took {took.seconds:.0f}")
    requests = gate("requests a store", (took.requests - MOST_ONCE) / stores, at_most=most_asked)
    return gate("MB at the peak", took.peak_mb, at_most=MOST_MB) and requests


def main() -> int:
    """Prints what each command took; 1 if a ceiling is exceeded, or a broken store is missed."""
    holds = []
    with TemporaryDirectory() as name, KraftBroker() as broker, FixtureRegistry() as registry:
        folder = Path(name)
        stage_many(broker, registry)
        print(f"many: {STORES} broken stores, {TOPICS:,} topics, {SUBJECTS:,} subjects")
        look = run(folder, broker, registry, "diagnose", "--output", "json")
        broken = [finding for finding in json.loads(look.stdout)["findings"] if finding["severity"] == "broken"]
        holds += [gate("broken stores missed", STORES - len(broken), at_most=0), held(look, STORES, MOST_ASKED)]
        holds += [gate("MB of JSON", len(look.stdout) / 1e6, at_most=MOST_JSON_MB)]
        holds += [held(run(folder, broker, registry, "plan", "-o", str(folder / "plan.json")), STORES, MOST_ASKED_MORE)]
        repair = run(folder, broker, registry, "apply", "--yes", str(folder / "plan.json"))
        holds += [repair.code == 0, gate("lines of apply", repair.lines, at_most=MOST_LINES)]
    with TemporaryDirectory() as name, KraftBroker() as broker, FixtureRegistry() as registry:
        stage_alike(broker, registry)
        print(f"alike: {ALIKE_STORES} broken stores, {ALIKE_TOPICS} topics of one schema")
        look = run(Path(name), broker, registry, "diagnose", "--output", "json")
        holds += [
            held(look, ALIKE_STORES, MOST_ASKED_MORE),
            gate("MB of JSON", len(look.stdout) / 1e6, at_most=MOST_JSON_MB),
        ]
        found = json.loads(look.stdout)["summary"]
        print(f"    {found['findings']} findings, {found['not_looked_at']:,} things not looked at")
    return 0 if all(holds) else 1


if __name__ == "__main__":
    sys.exit(main())
