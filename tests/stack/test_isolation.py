"""What an aborted transaction wrote: restored and counted for most applications, neither for exactly-once ones."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.kraft import KraftBroker
from srfix.fixtures.registry.http.server import FixtureRegistry
from tests.cli.kept_demo import srfix
from tests.recovery.staging import PHANTOM, SOURCE_SUBJECT, W1, W2, R
from tests.recovery.world import ONE_LONG_AND_NULL, value

pytestmark = pytest.mark.stack

W1_ID, W2_ID = 1, 2


@pytest.fixture
def parts() -> Iterator[tuple[KraftBroker, FixtureRegistry]]:
    """`users`: one record of W1, which the phantom subject holds, and one of W2, which was aborted."""
    with KraftBroker(topics={"users": 1}) as broker, FixtureRegistry() as registry:
        registry.seed(SOURCE_SUBJECT, W1)
        registry.seed(SOURCE_SUBJECT, W2)
        registry.seed(PHANTOM, R)
        registry.seed(PHANTOM, W1)
        broker.produce([ProducedRecord(topic="users", partition=0, key=b"a", value=value(W1_ID))])
        write_in_transaction(broker, "somebody-else", b"b", value(W2_ID, ONE_LONG_AND_NULL), commit=False)
        broker.commit("shop", {("users", 0): 3})
        yield broker, registry


def write_in_transaction(
    broker: KraftBroker, transactional_id: str, key: bytes, payload: bytes, *, commit: bool
) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": transactional_id})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce("users", payload, key, partition=0)
    producer.flush(30)
    if commit:
        producer.commit_transaction(30)
    else:
        producer.abort_transaction(30)


def codes(parts: tuple[KraftBroker, FixtureRegistry], *options: str) -> tuple[list[str], list[str]]:
    """The codes of the findings that are no notes, and how the restore is said to read."""
    broker, registry = parts
    told = ("--bootstrap-servers", broker.bootstrap_servers, "--registry", registry.url, "--output", "json")
    found = json.loads(srfix("diagnose", *told, *options).stdout)["findings"]
    seen = {o["says"] for finding in found for o in finding["observations"] if o["kind"] == "isolation"}
    return [finding["code"] for finding in found if finding["severity"] != "note"], sorted(seen)


def test_an_application_without_transactions_restores_it(parts: tuple[KraftBroker, FixtureRegistry]) -> None:
    assert codes(parts) == (["SRF001"], ["read_uncommitted"])


def test_an_exactly_once_application_does_not(parts: tuple[KraftBroker, FixtureRegistry]) -> None:
    broker, _registry = parts
    write_in_transaction(broker, "shop-0_0", b"a", value(W1_ID), commit=True)
    broker.commit("shop", {("users", 0): 5})
    assert codes(parts) == ([], ["read_committed"])


def test_the_person_is_believed(parts: tuple[KraftBroker, FixtureRegistry]) -> None:
    assert codes(parts, "--isolation", "read_committed")[0] == []
    assert codes(parts, "--isolation", "read_uncommitted")[0] == ["SRF001"]
