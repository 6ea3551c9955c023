"""`srfix state seed-changelog` and `plan-expiry` on a real broker: reuse turned off with no row lost, killed, undone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import pytest

from parts.streams.application import lose_state
from parts.streams.model import Row, SerdeKind, StreamsSetup
from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.kraft import KraftBroker
from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.cluster.raw_record import RawRecord
from srfix.recovery.state.rocksdb import opened
from tests.stack.command import SRFIX, run_srfix
from tests.stack.scene import BOB, Scene, srfix, without_what_is_made

pytestmark = pytest.mark.stack

ANN: Final[dict[str, object]] = {"userId": 1, "fullName": "Ann Two", "homeCountry": "NL"}
CEM: Final[dict[str, object]] = {"userId": 3, "fullName": "Cem", "homeCountry": "TR"}
ROWS: Final[dict[str, Row]] = {"ann": {"USERID": 1, "FULLNAME": "Ann Two"}, "bob": {"USERID": 2, "FULLNAME": "Bob"}}
NO_REUSE: Final = {"topology.optimization": "none"}


def stored(setup: StreamsSetup) -> dict[bytes, bytes]:
    """Every row of the store on disk, with the timestamps in its values."""
    found: dict[bytes, bytes] = {}
    for database in sorted((setup.state_directory / setup.application).glob(f"*/rocksdb/{setup.store}")):
        with opened(database) as store:
            found |= dict(store.rows("keyValueWithTimestamp"))
    return found


def records(broker: KraftBroker, topic: str) -> list[RawRecord]:
    with Cluster({"bootstrap.servers": broker.bootstrap_servers}) as cluster:
        logs = cluster.watermarks(topic, range(cluster.topics()[topic]))  # type: ignore[index]
        return [record for partition, log in logs.items() for record in cluster.read(topic, partition, *log)]


def newest(broker: KraftBroker, topic: str) -> dict[tuple[int, bytes | None], tuple[Any, ...]]:
    found: dict[tuple[int, bytes | None], tuple[Any, ...]] = {}
    for record in records(broker, topic):
        found[record.partition, record.key] = (record.value, record.timestamp, record.headers)
    return {where: content for where, content in found.items() if content[0] is not None}


def test_reuse_is_turned_off_after_seeding_with_the_same_rows(scene: Scene, tmp_path: Path) -> None:
    scene.produce(("ann", ANN | {"fullName": "Ann One"}), ("bob", BOB), ("cem", CEM), ("ann", ANN), ("cem", None))
    with scene.running() as application:
        application.wait_for_commit(scene.setup.users)
        plan = tmp_path / "seed.json"
        store = ("--application", scene.setup.application, "--store", scene.setup.store)
        source = f"{scene.setup.store}={scene.setup.users}"
        ask = ("state", "seed-changelog", *store, "--source", source, "-o", str(plan))
        srfix(scene, *ask, code=2)  # it runs

    # What the reused source restores to: without a reader, the rows' bytes and timestamps.
    lose_state(scene.setup)
    with scene.start() as application:
        application.wait_for_state("RUNNING")
    reused = stored(scene.setup)
    assert set(reused) == {b"ann", b"bob"}

    # Turned off without seeding, the table is empty: the group has committed the source.
    no_reuse = replace(scene.setup, config=NO_REUSE)
    document = json.loads(srfix(scene, *ask, "--output", "json"))
    assert document["work"]["creates"] is True
    assert [(each["id"], each["registered"]) for each in document["work"]["schema_ids"]] == [(scene.writer_id, False)]
    assert scene.changelog not in scene.broker.topics
    srfix(scene, "apply", str(plan), "--yes")
    assert scene.broker.topics[scene.changelog] == scene.broker.topics[scene.setup.users]
    srfix(scene, "apply", str(plan), "--yes")  # done already

    # As the plan says: the ids are registered for the changelog's reader.
    subjects = tmp_path / "subjects.json"
    srfix(scene, "plan", "--topic", scene.changelog, "--reader", "connect", "-o", str(subjects))
    srfix(scene, "apply", str(subjects), "--yes")

    lose_state(scene.setup)
    with scene.running(setup=no_reuse) as application:
        assert sorted(map(str, application.rows())) == sorted(map(str, ROWS.items()))
    assert stored(scene.setup) == reused

    # It goes on: joins, takes what comes, and restores that too.
    with scene.running(setup=no_reuse) as application:
        assert application.join("ann") == ROWS["ann"]
        scene.produce(("bob", BOB | {"fullName": "Bob Two"}), ("cem", CEM))
        application.wait_for_row("bob", ROWS["bob"] | {"FULLNAME": "Bob Two"})
        application.wait_for_row("cem", {"USERID": 3, "FULLNAME": "Cem"})
        application.wait_for_commit(scene.setup.users)
    lose_state(scene.setup)
    with scene.running(setup=no_reuse) as application:
        assert application.query("bob") == ROWS["bob"] | {"FULLNAME": "Bob Two"}
        assert application.query("ann") == ROWS["ann"]

    # Its changelog now: a rollback leaves it.
    answer = json.loads(srfix(scene, "rollback", str(plan), "--yes", "--output", "json"))
    assert [step["outcome"] for step in answer["steps"] if not step["left_because"]] == []
    assert any("somebody else has written to" in step["left_because"] for step in answer["steps"])
    assert scene.changelog in scene.broker.topics


class Stage:
    """A compacted topic with many old keys, of which an application without any process has committed."""

    def __init__(self, broker: KraftBroker, folder: Path, keys: int) -> None:
        name = uuid4().hex[:8]
        self.broker, self.folder = broker, folder
        self.application, self.topic = f"shop-{name}", f"users-{name}"
        self.changelog = f"{self.application}-users-store-changelog"
        self.plan = folder / "plan.json"
        broker.create_topic(self.topic, 2, {"cleanup.policy": "compact"})
        self.now_ms = int(time.time() * 1000)
        old_ms = self.now_ms - 90 * 86_400_000
        broker.produce(
            ProducedRecord(
                topic=self.topic,
                partition=number % 2,
                key=f"key {number % keys}".encode(),
                value=f"value {number}".encode() * 20,
                headers=(("n", str(number).encode()),),
                timestamp_ms=old_ms + number,
            )
            for number in range(keys + keys // 10)
        )
        broker.produce(
            ProducedRecord(topic=self.topic, partition=number % 2, key=f"key {number}".encode(), value=b"young")
            for number in range(10)
        )
        with Cluster({"bootstrap.servers": broker.bootstrap_servers}) as cluster:
            ends = {partition: log[1] for partition, log in cluster.watermarks(self.topic, range(2)).items()}
        broker.commit(self.application, {(self.topic, partition): end for partition, end in ends.items()})

    def srfix(self, *arguments: str, code: int = 0) -> str:
        ran = run_srfix(*arguments, env=self.environment)
        assert ran.returncode == code, f"{arguments}: {ran.returncode} {ran.stdout}{ran.stderr}"
        return ran.stdout

    @property
    def environment(self) -> dict[str, str]:
        return os.environ | {"SRFIX_BOOTSTRAP_SERVERS": self.broker.bootstrap_servers}

    def kill_on_the_way(self, *arguments: str, events: int, more_s: float) -> bool:
        """Kills a run so long after its journal has so many lines; False if it was done before."""
        journal = Path(f"{self.plan}.journal.jsonl")
        with subprocess.Popen(
            [SRFIX, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=self.environment,
        ) as process:
            deadline = time.monotonic() + 60
            while process.poll() is None and time.monotonic() < deadline:
                if journal.exists() and journal.read_bytes().count(b"\n") >= events:
                    time.sleep(more_s)  # an instant within the step, whichever it is
                    process.kill()
                    return process.wait() == -signal.SIGKILL
                time.sleep(0.002)
            return False


@pytest.fixture
def stage(broker: KraftBroker, tmp_path: Path) -> Iterator[Stage]:
    with without_what_is_made(broker):
        yield Stage(broker, tmp_path, keys=10_000)


INSTANTS: Final = ((1, 0.0), (3, 0.0), (4, 0.02), (4, 0.1), (5, 0.0))
"""Lines of the journal, and seconds behind the last."""


def test_a_seed_that_is_killed_comes_to_the_same_end(stage: Stage) -> None:
    expected = newest(stage.broker, stage.topic)
    ask = ("--application", stage.application, "--store", "users-store", "--source", stage.topic)
    stage.srfix("state", "seed-changelog", *ask, "-o", str(stage.plan))
    kills = [stage.kill_on_the_way("apply", str(stage.plan), "--yes", events=at, more_s=s) for at, s in INSTANTS]
    assert any(kills)
    stage.srfix("apply", str(stage.plan), "--yes")
    assert newest(stage.broker, stage.changelog) == expected
    with Cluster({"bootstrap.servers": stage.broker.bootstrap_servers}) as cluster:
        configs = cluster.topic_configs(stage.changelog).values or {}
    assert (configs["cleanup.policy"], configs["message.timestamp.type"]) == ("compact", "CreateTime")
    stage.kill_on_the_way("rollback", str(stage.plan), "--yes", events=1, more_s=0.05)
    stage.srfix("rollback", str(stage.plan), "--yes")
    assert stage.changelog not in stage.broker.topics


def test_an_expiry_that_is_killed_comes_to_the_same_end_and_back(stage: Stage) -> None:
    before = newest(stage.broker, stage.topic)
    ask = ("--application", stage.application, "--topic", stage.topic, "--older-than", "30d")
    document = json.loads(stage.srfix("state", "plan-expiry", *ask, "-o", str(stage.plan), "--output", "json"))
    assert sum(each["rows"] for each in document["work"]["partitions"]) == 9_990
    instants = ((1, 0.0), (2, 0.05), (2, 0.3), (4, 0.1))
    kills = [stage.kill_on_the_way("apply", str(stage.plan), "--yes", events=at, more_s=s) for at, s in instants]
    assert any(kills)
    stage.srfix("apply", str(stage.plan), "--yes")
    young = {where: content for where, content in before.items() if content[0] == b"young"}
    assert newest(stage.broker, stage.topic) == young
    stage.kill_on_the_way("rollback", str(stage.plan), "--yes", events=1, more_s=0.5)
    stage.srfix("rollback", str(stage.plan), "--yes")
    assert newest(stage.broker, stage.topic) == before


def test_an_application_that_runs_deletes_and_gets_back_what_expired(scene: Scene, tmp_path: Path) -> None:
    users = f"compacted-{scene.setup.users}"
    scene.broker.create_topic(users, 3, {"cleanup.policy": "compact"})
    setup = replace(scene.setup, users=users, serde=SerdeKind.TEXT)
    old_ms = int(time.time() * 1000) - 90 * 86_400_000
    scene.broker.produce(
        [
            ProducedRecord(topic=users, partition=0, key=b"ann", value=b"old", timestamp_ms=old_ms),
            ProducedRecord(topic=users, partition=1, key=b"bob", value=b"young"),
        ]
    )
    plan = tmp_path / "expiry.json"
    with scene.running(setup=setup) as application:
        application.wait_for_commit(users)
        before = sorted(map(str, application.rows()))
        ask = ("--application", setup.application, "--topic", users, "--older-than", "30d", "-o", str(plan))
        srfix(scene, "state", "plan-expiry", *ask)
        srfix(scene, "apply", str(plan), "--yes")
        application.wait_for_commit(users)
        assert [key for key, _row in application.rows()] == ["bob"]
        srfix(scene, "rollback", str(plan), "--yes")
        application.wait_for_commit(users)
        assert sorted(map(str, application.rows())) == before
