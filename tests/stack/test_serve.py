"""`srfix serve` on real parts: the rows that the application cannot read, and members that are killed and stopped."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient

from parts.streams.application import lose_state
from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.kraft import KraftBroker
from srfix.recovery.stores.whereabouts import partition_of
from srfix.serde.subjects.names import changelog_topic
from tests.stack.command import SRFIX
from tests.stack.scene import ANN, BOB, BOTH, Scene, assert_query_fails

pytestmark = pytest.mark.stack

PARTITIONS = 12
_READY_S = 40.0


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Serve:
    """A member: a process of its own."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.address = f"127.0.0.1:{_free_port()}"
        self._command = [SRFIX, "serve", "--data-dir", str(folder), "--listen", self.address, *arguments]
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def get(self, path: str, *, timeout_s: float = 5.0) -> tuple[int, Any]:
        try:
            with urllib.request.urlopen(f"http://{self.address}{path}", timeout=timeout_s) as response:
                return response.status, json.loads(response.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def is_ready(self) -> bool:
        with suppress(OSError):
            return self.get("/readyz")[0] == 200
        return False

    def end(self) -> None:
        self.process.send_signal(signal.SIGCONT)
        self.process.terminate()
        try:
            self.process.wait(15)
        finally:
            self.process.kill()


@contextmanager
def serving(members: Sequence[Serve]) -> Iterator[Sequence[Serve]]:
    with ExitStack() as stack:
        for member in members:
            stack.callback(member.end)
        deadline = time.monotonic() + _READY_S
        while not all(member.is_ready() for member in members):
            assert time.monotonic() < deadline
            time.sleep(0.2)
        yield members


@BOTH
def test_it_answers_what_the_application_cannot_read(scene: Scene, tmp_path: Path) -> None:
    scene.produce(("ann", ANN), ("bob", BOB), ("gone", BOB), ("gone", None))
    with scene.running() as application:
        application.wait_for_commit(scene.setup.users)
    lose_state(scene.setup)
    with scene.running() as application:
        assert_query_fails(scene, application)
        member = Serve(
            tmp_path,
            *("--application", scene.setup.application, "--store", f"{scene.setup.store}=USERS"),
            *("--bootstrap-servers", scene.broker.bootstrap_servers, "--registry", scene.registry.url),
            *("--key-format", "kafka", "--key-columns", "ID STRING", "--value-format", "schema"),
            *("--value-columns", "USERID BIGINT, FULLNAME STRING"),
        )
        with serving([member]):
            for key, user in (("ann", ANN), ("bob", BOB)):
                status, answer = member.get(f"/stores/{scene.setup.store}/keys/{key}")
                assert status == 200, answer
                assert answer["rows"][0]["errors"] == []
                assert answer["rows"][0]["value"]["FULLNAME"] == user["fullName"]
            assert member.get(f"/stores/{scene.setup.store}/keys/gone")[0] == 404
            assert member.get(f"/stores/{scene.setup.store}/count")[1]["count"] == 2
            asked = urllib.request.Request(
                f"http://{member.address}/query",
                data=json.dumps({"ksql": "SELECT * FROM users WHERE ID = 'ann';"}).encode(),
            )
            with urllib.request.urlopen(asked, timeout=5) as response:
                _header, row = json.loads(response.read())
            assert row["row"]["columns"] == ["ann", ANN["userId"], ANN["fullName"]]


def test_members_that_are_killed_and_stopped_are_passed_over(broker: KraftBroker, tmp_path: Path) -> None:
    application = f"app-{uuid4().hex[:8]}"
    topic = changelog_topic(application, "S")
    broker.create_topic(topic, PARTITIONS, {"cleanup.policy": "compact"})
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 5})
    values = {f"k{number % 500}": f"v{number}" for number in range(2_000)}
    for number in range(2_000):
        key = f"k{number % 500}"
        producer.produce(topic, key=key, value=f"v{number}", partition=partition_of(key.encode(), PARTITIONS))
    producer.flush()
    arguments = ("--application", application, "--store", "S", "--bootstrap-servers", broker.bootstrap_servers)
    group = ("--group", f"serve-{application}", "--standbys", "2", "--kind", "timestamped-kv")
    members = [Serve(tmp_path / str(number), *arguments, *group) for number in range(3)]

    def ask_everything(*asked: Serve) -> float:
        """All keys, of these members in turn; the longest time that one took."""
        longest = 0.0
        for number, (key, value) in enumerate(values.items()):
            began = time.monotonic()
            status, answer = asked[number % len(asked)].get(f"/stores/S/keys/{key}")
            longest = max(longest, time.monotonic() - began)
            assert (status, answer["rows"][0]["value"]["text"]) == (200, value)
        return longest

    first, second, third = members
    with serving(members):
        ask_everything(*members)
        second.process.kill()
        assert ask_everything(first, third) < 1.5
        second.process.wait()
        second.start()
        third.process.send_signal(signal.SIGSTOP)
        assert ask_everything(first) < 1.5
        third.process.send_signal(signal.SIGCONT)
        deadline = time.monotonic() + _READY_S
        while not all(member.is_ready() for member in members):
            assert time.monotonic() < deadline
            time.sleep(0.2)
        ask_everything(*members)
        os.kill(first.process.pid, signal.SIGTERM)
        assert first.process.wait(15) == 0
        ask_everything(second, third)


def test_a_topic_that_is_made_again_is_read_again(broker: KraftBroker, tmp_path: Path) -> None:
    """While the member runs, and while it does not; longer than before, so that no offset shows it."""
    topic = f"users-{uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})

    def make_again(key: str, count: int) -> None:
        with suppress(KafkaException):
            admin.delete_topics([topic])[topic].result(10)
        broker.create_topic(topic, 1)
        broker.produce(ProducedRecord(topic=topic, partition=0, key=key.encode(), value=b"v") for _ in range(count))

    def answers(member: Serve, *keys: str) -> list[int]:
        return [member.get(f"/stores/{topic}/keys/{key}")[0] for key in keys]

    make_again("ann", 1)
    member = Serve(tmp_path, "--topic", topic, "--bootstrap-servers", broker.bootstrap_servers)
    with serving([member]):
        assert answers(member, "ann", "bob") == [200, 404]
        make_again("bob", 5)
        deadline = time.monotonic() + _READY_S
        while answers(member, "ann", "bob") != [404, 200]:
            assert time.monotonic() < deadline
            time.sleep(0.2)
        assert "its topic was deleted and made again" in member.get("/stores")[1]["notes"][-1]
    make_again("cyd", 9)
    member.start()
    with serving([member]):
        assert answers(member, "bob", "cyd") == [404, 200]
