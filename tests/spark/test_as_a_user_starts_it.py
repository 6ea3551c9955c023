"""Spark as a user starts it: a process of its own, which finds no jars and no session, and brings both itself.

Jars that `ADD JARS` brings are seen by the calling thread alone (`_pyspark.sessions`): a session of the tests' fixtures has
them on `spark.jars`, where every thread sees them, and would show nothing.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Final

from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.kraft import KraftBroker
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.spark.releases import takes_jars_later
from srfix.serde.wire import frame_id
from tests.cli.kept_demo import environment

TIMEOUT_S: Final = 300.0
ROWS: Final = 20
USER: Final = '{"type": "record", "name": "User", "fields": [{"name": "name", "type": "string"}]}'
IN_OTHER_THREADS: Final = """
import json, sys, threading
from concurrent.futures import ThreadPoolExecutor
from srfix.serde.registry.client import RegistryClient
from srfix.serde.spark import plan_read, read_topic, start_session

servers, url, topic = sys.argv[1:]
early = ThreadPoolExecutor(1)
early.submit(threading.get_ident).result()  # it runs before there is a session
counts = []
for session in range(2):  # the second in the same JVM
    spark = start_session("a user's", config={"spark.ui.enabled": "false"})
    plan = plan_read(RegistryClient(url), topic, "NAME STRING")

    def count(_=None):
        return read_topic(spark, plan, bootstrap_servers=servers).where("value.NAME = 'Ada'").count()

    with ThreadPoolExecutor(2) as late:
        counts += [count(), early.submit(count).result(), *late.map(count, range(2))]
    spark.stop()
print(json.dumps(counts))
"""


def seeded(broker: KraftBroker, registry: FixtureRegistry, topic: str) -> tuple[str, str, str]:
    schema_id = registry.seed(f"{topic}-value", USER)
    broker.create_topic(topic, 2)
    payload = frame_id(schema_id, b"\x06Ada")
    broker.produce(ProducedRecord(topic=topic, partition=n % 2, key=b"%d" % n, value=payload) for n in range(ROWS))
    return broker.bootstrap_servers, registry.url, topic


def started(*command: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
        env=environment(),
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    return done


def test_every_thread_reads_a_topic(broker: KraftBroker, registry: FixtureRegistry) -> None:
    done = started(sys.executable, "-c", IN_OTHER_THREADS, *seeded(broker, registry, "as-a-user-reads"))
    said = done.stdout.splitlines()
    assert len(said) == 1 or not takes_jars_later(), "Ivy's words"
    assert json.loads(said[-1]) == [ROWS] * 8
