"""`srfix serve` on real parts: the rows that the application cannot read, and members that are killed and stopped."""

from __future__ import annotations

import json
import os
import socket
import time
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from functools import partial
from pathlib import Path
from random import Random
from shutil import rmtree
from signal import SIGCONT, SIGSTOP
from statistics import median
from typing import Final
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, KafkaException
from confluent_kafka.admin import AdminClient

from parts.streams.application import lose_state
from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.kraft import KraftBroker
from srfix.serde.subjects.names import changelog_topic
from tests.stack.networks import Host, add_network, own_network
from tests.stack.scene import ANN, BOB, BOTH, Scene, assert_query_fails
from tests.stack.serve_load import Load, Topic
from tests.stack.serve_members import Serve, serving, wait_until

pytestmark = pytest.mark.stack

KEYS: Final = 120
PARTITIONS: Final = 12
LONGEST_GAP_S: Final = 1.5
"""Beyond what a key waits on this machine when nothing happens."""
UNDISTURBED: Final = "nothing"
PREFIXES: Final = {"clients": "198.18.1", "broker": "198.18.2", "members": "198.18.3"}
"""The networks of members that can be cut off; the test itself is the address .1 in each."""


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
            *("--application", scene.setup.application, "--store", scene.setup.store),
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
                data=json.dumps({"ksql": f"SELECT * FROM `{scene.setup.store}` WHERE ID = 'ann';"}).encode(),
            )
            with urllib.request.urlopen(asked, timeout=5) as response:
                _header, row = json.loads(response.read())
            assert row["row"]["columns"] == ["ann", ANN["userId"], ANN["fullName"]]


def members_topic(broker: KraftBroker, application: str) -> Topic:
    topic = Topic(broker.bootstrap_servers, changelog_topic(application, "S"))
    broker.create_topic(topic.name, PARTITIONS, {"cleanup.policy": "compact"})
    for number in range(10 * KEYS):
        topic.write(f"k{number % KEYS}", f"v{number}")
    topic.flush()
    return topic


def options(broker: KraftBroker, application: str) -> list[str]:
    store = ["--application", application, "--store", "S", "--kind", "timestamped-kv"]
    group = ["--group", f"serve-{application}", "--standbys", "2"]
    return [*store, *group, "--bootstrap-servers", broker.bootstrap_servers]


def undisturbed(load: Load) -> list[float]:
    load.go_on(2)
    return load.gaps()


def assert_all_right(load: Load, gaps: Mapping[str, Sequence[float]]) -> None:
    """Nothing was wrong, and nobody was silent.

    :param gaps: what was done → the gap of each key.
    """
    print(load.told())
    for what, of_keys in gaps.items():
        print(f"{what}: gap of a key {median(of_keys):.3f} s in the median, {max(of_keys):.3f} s at most")
    assert load.problems == []
    assert load.wrong() == []


class BrokerOfHosts(KraftBroker):
    """A broker for whoever is in the network `broker`."""

    def _settings(self, settings: dict[str, str], folder: Path) -> dict[str, str]:
        self._bootstrap_servers = self._bootstrap_servers.replace("127.0.0.1", f"{PREFIXES['broker']}.1")
        listeners = settings["listeners"].replace("PLAINTEXT://127.0.0.1", "PLAINTEXT://0.0.0.0")
        return settings | {"listeners": listeners, "advertised.listeners": f"PLAINTEXT://{self._bootstrap_servers}"}


@pytest.mark.parametrize(("kills", "stops"), [(3, 1), pytest.param(20, 3, marks=pytest.mark.slow)])
def test_members_that_are_killed_and_stopped(broker: KraftBroker, tmp_path: Path, kills: int, stops: int) -> None:
    """One that lost its disk has the same rows again, and one that was stopped says nothing old when it goes on."""
    application, chance = f"app-{uuid4().hex[:8]}", Random(kills)
    topic = members_topic(broker, application)
    members = [Serve(tmp_path / str(number), *options(broker, application)) for number in range(3)]
    load = Load(topic, members, "/stores/S")
    with serving(members):
        with load.running():
            gaps = {UNDISTURBED: undisturbed(load)}
            for number in range(kills):
                member = members[number % 3]
                moment = load.lose(member, member.kill)
                # It comes back while the coordinator still counts on it, or when others have its partitions.
                load.go_on(chance.choice((2, 9)))
                gaps[f"kill {number}"] = load.gaps(moment)
                if number % 3 == 0:
                    rmtree(member.folder)
                moment = time.monotonic()
                member.start()
                wait_until(member.is_ready)
                load.come_back(member)
                load.go_on(1)
                gaps[f"return {number}"] = load.gaps(moment)
            for member in members[:stops]:
                moment = load.lose(member, partial(member.process.send_signal, SIGSTOP))
                load.go_on(chance.choice((2, 9)))
                member.process.send_signal(SIGCONT)
                load.come_back(member)
                load.go_on(2)
                gaps[f"stop {member.address}"] = load.gaps(moment)
        assert_all_right(load, gaps)
        assert max(max(of_keys) for of_keys in gaps.values()) <= LONGEST_GAP_S + max(gaps[UNDISTURBED])
        refilled, *others = members
        for member in others:
            member.end()
        status, answer = refilled.get(f"/stores/S/all?limit={2 * KEYS}")
        assert (status, answer["complete"]) == (200, True), answer
        assert {row["key"]["text"]: row["value"]["text"] for row in answer["rows"]} == topic.rows()


@pytest.mark.skipif(os.geteuid() != 0, reason="root alone may make networks")
@pytest.mark.parametrize(
    "cuts",
    [
        [("members", "broker")],
        pytest.param([("members",), ("broker",), ("members", "broker", "clients")], marks=pytest.mark.slow),
    ],
)
def test_members_that_are_cut_off(tmp_path: Path, cuts: Sequence[Sequence[str]]) -> None:
    """Whom it cannot reach, and who cannot reach it, changes; it goes on, and is whole again when the cut is over."""
    application = f"app-{uuid4().hex[:8]}"
    with own_network(), ExitStack() as stack:
        for network, prefix in PREFIXES.items():
            add_network(network, f"{prefix}.1")
        hosts = [Host(f"m{number}", {net: f"{PREFIXES[net]}.{number + 10}" for net in PREFIXES}) for number in range(3)]
        for host in hosts:
            stack.callback(host.close)
        broker = stack.enter_context(BrokerOfHosts())
        topic = members_topic(broker, application)
        members = [
            Serve(
                tmp_path / host.networks["members"],
                *options(broker, application),
                *("--listen", "0.0.0.0:8088", "--advertise", f"{host.networks['members']}:8088"),
                address=f"{host.networks['clients']}:8088",
                entered=host.entered,
            )
            for host in hosts
        ]
        load = Load(topic, members, "/stores/S")
        with serving(members), load.running():
            gaps = {UNDISTURBED: undisturbed(load)}
            for number, networks in enumerate(cuts):
                member, host = members[number % 3], hosts[number % 3]
                moment, is_lost = time.monotonic(), "clients" in networks
                if is_lost:
                    load.lose(member, partial(host.cut, *networks))
                else:
                    host.cut(*networks)
                load.go_on(8)
                host.link(*networks)
                if is_lost:
                    load.come_back(member)
                wait_until(lambda: all(member.is_ready() for member in members))
                load.go_on(1)
                gaps[f"cut from {', '.join(networks)}"] = load.gaps(moment)
        assert_all_right(load, gaps)


def test_whoever_joins_the_group_without_the_credentials_gets_no_request(broker: KraftBroker, tmp_path: Path) -> None:
    """Nor partitions: the members, which have the credentials, go on together."""
    application = f"app-{uuid4().hex[:8]}"
    topic = members_topic(broker, application)
    one, other = members = [
        Serve(tmp_path / name, *options(broker, application), token="of-members") for name in ("one", "other")
    ]
    with serving(members), socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        joining = {"group.id": f"serve-{application}", "client.id": f"srfix-serve@{address}"}
        with closing(Consumer({"bootstrap.servers": broker.bootstrap_servers} | joining)) as consumer:
            consumer.subscribe([topic.name])
            wait_until(lambda: consumer.poll(0.1) is not None or bool(consumer.assignment()))
            wait_until(lambda: all(address in str(member.get("/stores")[1]["problems"]) for member in members))
            seen_s = time.time()
            wait_until(lambda: hears(one, other, seen_s + 1) and hears(other, one, seen_s + 1))
            assert all(member.is_ready() and member.listens() for member in members)
            listener.setblocking(False)
            with pytest.raises(BlockingIOError):
                listener.accept()
            status, answer = one.get(f"/stores/S/all?limit={2 * KEYS}")
            assert (status, answer["complete"]) == (200, True), answer
            assert {row["key"]["text"]: row["value"]["text"] for row in answer["rows"]} == topic.rows()


def hears(member: Serve, other: Serve, since_s: float) -> bool:
    """True if a member has had a heartbeat of another since that time."""
    heard = member.get("/clusterStatus")[1]["clusterStatus"].get(other.address, {})
    return int(heard.get("lastStatusUpdateMs", 0)) > since_s * 1000


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
        wait_until(lambda: answers(member, "ann", "bob") == [404, 200])
        # The broker may say besides that the log has no such offset.
        wait_until(lambda: "its topic was deleted and made again" in str(member.get("/stores")[1]["notes"]))
        wait_until(lambda: answers(member, "ann", "bob") == [404, 200])
    make_again("cyd", 9)
    member.start()
    with serving([member]):
        assert answers(member, "bob", "cyd") == [404, 200]
