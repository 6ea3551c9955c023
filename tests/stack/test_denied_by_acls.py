"""A diagnosis by users who may not see everything: it goes on, says which ACL to ask for, and calls nothing healthy."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from parts.guarded_broker.broker import GuardedBroker
from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery.cluster.answers import Commit
from srfix.recovery.cluster.cluster import Cluster
from tests.cli.kept_demo import srfix
from tests.recovery.staging import W1, R
from tests.recovery.world import value

pytestmark = pytest.mark.stack

PASSWORD = "secret-of-users"
USERS = ("one-group", "one-topic", "no-source", "no-changelogs", "no-configs", "nobody")


def options(config: Mapping[str, str]) -> list[str]:
    return [text for name, setting in config.items() for text in ("-X", f"{name}={setting}")]


@dataclass(frozen=True)
class Report:
    code: int
    document: dict[str, Any]

    @property
    def broken(self) -> list[str]:
        return [f["application"] for f in self.document["findings"] if f["code"] == "SRF001"]

    def skipped(self, *, could_hide: bool = True) -> dict[str, str]:
        return {s["what"]: s["reason"] for s in self.document["skipped"] if s["could_hide_a_finding"] is could_hide}


@dataclass(frozen=True)
class Estate:
    """Two applications with the incident, `shop` on `users` and `desk` on `orders`."""

    broker: GuardedBroker
    registry: FixtureRegistry

    def diagnose(self, user: str, *arguments: str) -> Report:
        settings = options(self.broker.user_config(user))
        done = srfix("diagnose", "--registry", self.registry.url, "--output", "json", *settings, *arguments)
        assert done.stdout, done.stderr
        assert PASSWORD not in done.stdout + done.stderr
        return Report(done.returncode, json.loads(done.stdout))


@pytest.fixture(scope="module")
def estate() -> Iterator[Estate]:
    with ExitStack() as stack:
        broker = stack.enter_context(
            GuardedBroker(topics={"users": 1, "orders": 1}, users=dict.fromkeys(USERS, PASSWORD))
        )
        registry = stack.enter_context(FixtureRegistry())
        # Each has fields of its own, so that no store may be the other topic's global table.
        for application, topic, key in (("shop", "users", "userId"), ("desk", "orders", "orderId")):
            writer = registry.seed(f"{topic}-value", W1.replace("userId", key))
            registry.seed(f"{application}-store-changelog-value", R.replace("USERID", key.upper()))
            broker.produce([ProducedRecord(topic=topic, partition=0, key=b"k", value=value(writer))])
            broker.commit(application, {(topic, 0): 1})
        for user in USERS[:-1]:
            broker.allow(user, "GROUP", "shop" if user == "one-group" else "*", "DESCRIBE")
            broker.allow(user, "TOPIC", "users", "READ", *(() if user == "no-configs" else ("DESCRIBE_CONFIGS",)))
            broker.allow(user, "TOPIC", "orders", "DESCRIBE" if user == "one-topic" else "READ")
            if user != "no-changelogs":
                broker.allow(user, "TOPIC", "*", "DESCRIBE")
        broker.deny("no-source", "TOPIC", "orders", "DESCRIBE")
        yield Estate(broker, registry)


class TestAGroupThatMayNotBeAsked:
    def test_the_other_application_is_examined(self, estate: Estate) -> None:
        report = estate.diagnose("one-group")
        assert (report.code, report.broken) == (1, ["shop"])
        reason = report.skipped()["the committed offsets of group 'desk'"]
        assert "The ACL to ask for is Describe on group 'desk'." in reason

    def test_its_application_when_named_is_not_called_healthy(self, estate: Estate) -> None:
        report = estate.diagnose("one-group", "--application", "desk")
        assert (report.code, report.broken) == (2, [])
        reason = report.skipped()["store store of application desk"]
        assert "The ACL to ask for is Describe on group 'desk'." in reason
        assert "So srfix does not know what a restore loads" in reason

    def test_an_application_that_may_be_asked_is_not_held_up_by_the_groups_that_its_name_would_allow(
        self, estate: Estate
    ) -> None:
        estate.registry.seed("shop-store-of-it-changelog-value", R)
        report = estate.diagnose("one-group", "--application", "shop")
        assert (report.code, report.broken) == (1, ["shop", "shop"])
        assert report.skipped() == {}


class TestATopicThatMayNotBeRead:
    def test_the_other_stores_are_examined(self, estate: Estate) -> None:
        report = estate.diagnose("one-topic")
        assert report.code == 1
        assert set(report.broken) == {"shop"}
        assert "The ACL to ask for is Read on topic 'orders'." in report.skipped()["store store of application desk"]

    def test_nothing_found_is_not_healthy(self, estate: Estate) -> None:
        assert estate.diagnose("one-topic", "--application", "desk").code == 2


class TestATopicThatMayNotBeDescribed:
    def test_another_topic_is_not_taken_for_the_source(self, estate: Estate) -> None:
        report = estate.diagnose("no-source", "--application", "desk")
        assert (report.code, report.broken) == (2, [])
        reason = report.skipped()["store store of application desk"]
        assert "restore from orders, which this user" in reason
        assert "Describe and Read on topic 'orders'" in reason

    def test_a_store_whose_changelog_may_exist_unseen_is_no_suspect(self, estate: Estate) -> None:
        report = estate.diagnose("no-changelogs", "--application", "desk")
        assert (report.code, report.broken) == (2, [])
        reason = report.skipped()["the subjects of desk-store-changelog"]
        assert "Ask for the ACL Describe on topic 'desk-store-changelog'" in reason

    def test_it_is_examined_once_the_person_says_where_it_restores_from(self, estate: Estate) -> None:
        report = estate.diagnose("no-changelogs", "--application", "desk", "--source", "store=orders")
        assert (report.code, report.broken) == (1, ["desk"])


class TestAConfigurationThatMayNotBeAsked:
    def test_it_is_said_and_hides_nothing_worse(self, estate: Estate) -> None:
        report = estate.diagnose("no-configs", "--application", "shop", "--store", "store")
        assert report.broken == ["shop"]
        reason = report.skipped(could_hide=False)["cleanup.policy of topic users"]
        assert "the ACL to ask for is DescribeConfigs on topic 'users'" in reason


class TestNoRightAtAll:
    @pytest.mark.parametrize("arguments", [(), ("--application", "shop")])
    def test_nothing_is_called_healthy(self, estate: Estate, arguments: tuple[str, ...]) -> None:
        report = estate.diagnose("nobody", *arguments)
        assert (report.code, report.document["findings"], report.document["summary"]["healthy"]) == (2, [], False)
        assert report.skipped()

    def test_a_wrong_password_is_said_and_not_repeated(self, estate: Estate) -> None:
        config = {**estate.broker.user_config("one-group"), "sasl.password": "not-the-secret"}
        done = srfix("diagnose", "--registry", estate.registry.url, *options(config))
        assert (done.returncode, done.stdout) == (2, "")
        assert "Authentication failed at the Kafka cluster" in done.stderr
        assert "not-the-secret" not in done.stderr

    def test_doctor_names_the_acl_before_an_incident(self, estate: Estate, tmp_path: Path) -> None:
        config = estate.broker.user_config("one-group").items()
        (tmp_path / "user.properties").write_text("".join(f"{name}={value}\n" for name, value in config))
        told = ("--registry", estate.registry.url, "--kafka-config", tmp_path / "user.properties")
        done = srfix("doctor", *told, "--application", "desk")
        assert done.returncode == 2, done.stderr
        assert "Describe on the group 'desk'" in " ".join(done.stdout.split())


class TestReadOnly:
    def test_asking_creates_no_topic(self, estate: Estate) -> None:
        with Cluster({"bootstrap.servers": estate.broker.bootstrap_servers}) as cluster:
            cluster.topics()
            assert cluster.hidden_topics(["made-by-asking"]) == frozenset()
            estate.diagnose("no-changelogs")
            assert set(cluster.topics()) <= {"users", "orders", "__consumer_offsets"}

    def test_many_groups_are_answered_as_each_by_itself(self, estate: Estate) -> None:
        every = [("users", 0), ("orders", 0)]
        groups = ["shop", *(f"gone-{number}" for number in range(200)), "desk"]
        with Cluster({"bootstrap.servers": estate.broker.bootstrap_servers}) as cluster:
            many = cluster.committed_by(groups, every)
            one_by_one = {group: cluster.committed(group, every) for group in groups[-3:]}
        assert many == {
            group: {("users", 0): Commit(offset=1, metadata="AQAAAAAAAAAA")}
            if group == "shop"
            else {("orders", 0): Commit(offset=1, metadata="AQAAAAAAAAAA")}
            if group == "desk"
            else {}
            for group in groups
        }
        assert one_by_one == {
            "gone-198": {("users", 0): None, ("orders", 0): None},
            "gone-199": {("users", 0): None, ("orders", 0): None},
            "desk": {("users", 0): None, ("orders", 0): 1},
        }
