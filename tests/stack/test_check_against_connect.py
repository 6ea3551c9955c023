"""What `srfix check` foretells is what Confluent's real AvroConverter does with each record, before the repair and after it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from parts.damage import (
    mirrored_topic_under_a_renamed_subject,
    producers_name_subjects_by_the_record,
)
from srfix.fixtures.broker.kraft import KraftBroker
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery.cluster.cluster import Cluster
from srfix.serde.registry.client import RegistryClient
from srfix.serde.wire import schema_id_of
from tests.cli.kept_demo import srfix
from tests.stack.connect_rows import Connect, connect
from tests.stack.scene import without_what_is_made

pytestmark = pytest.mark.stack

RECORD_NAME = "io.confluent.kafka.serializers.subject.RecordNameStrategy"


@pytest.fixture(scope="module")
def converters() -> Iterator[Connect]:
    with connect() as running:
        yield running


def foretold(document: dict[str, Any], role: str) -> dict[int, bool]:
    return {asked["id"]: asked["readable"] for asked in document["roles"][role]["ids"]}


def read(
    converters: Connect, broker: KraftBroker, registry: FixtureRegistry, topic: str, *, is_key: bool, **settings: str
) -> dict[int, str | None]:
    """Per id what the converter dies of; None if it reads it."""
    with Cluster({"bootstrap.servers": broker.bootstrap_servers}) as cluster:
        partitions = range(cluster.topics()[topic])  # type: ignore[index]
        marks = cluster.watermarks(topic, partitions)
        records = [record for p, (start, end) in marks.items() for record in cluster.read(topic, p, start, end)]
    payloads = [payload for record in records if (payload := record.key if is_key else record.value) is not None]
    # A converter of its own for each question: it remembers what it found.
    told = converters.convert(registry.url, topic, payloads, is_key=is_key, **settings)
    return {int(schema_id_of(payload)): error for payload, error in zip(payloads, told, strict=True)}


@pytest.mark.parametrize(
    ("damage", "policy", "options", "settings"),
    [
        pytest.param(
            mirrored_topic_under_a_renamed_subject, "delete", ("--reader", "connect"), {}, marks=pytest.mark.smoke
        ),
        (producers_name_subjects_by_the_record, "compact", ("--reader", "connect"), {}),
        (
            mirrored_topic_under_a_renamed_subject,
            "compact",
            ("--reader", "connect", "--strategy", "record"),
            {"value_subject_name_strategy": RECORD_NAME, "key_subject_name_strategy": RECORD_NAME},
        ),
    ],
    ids=["mirrored", "by the record", "a reader with RecordNameStrategy"],
)
def test_the_ids_that_fail_are_those_that_were_foretold_and_after_the_repair_all_are_read(
    damage: ModuleType,
    options: tuple[str, ...],
    settings: dict[str, str],
    policy: str,
    broker: KraftBroker,
    registry: FixtureRegistry,
    converters: Connect,
    tmp_path: Path,
) -> None:
    env = {"SRFIX_BOOTSTRAP_SERVERS": broker.bootstrap_servers, "SRFIX_REGISTRY": registry.url}

    def check(code: int) -> dict[str, Any]:
        done = srfix("check", damage.TOPIC, *options, "--output", "json", env=env)
        assert done.returncode == code, done.stdout + done.stderr
        document: dict[str, Any] = json.loads(done.stdout)
        assert document["cleanup_policy"] == policy
        return document

    def run(*arguments: str) -> None:
        done = srfix(*arguments, env=env, cwd=tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr

    with without_what_is_made(broker), RegistryClient(registry.url) as client:
        for topic, partitions in damage.TOPICS.items():
            broker.create_topic(topic, partitions, {"cleanup.policy": policy})
        damage.stage(broker, client)
        before = registry.dump()
        document = check(1)
        roles = [role for role in ("key", "value") if document["roles"][role]["ids"]]
        for role in roles:
            told = read(converters, broker, registry, damage.TOPIC, is_key=role == "key", **settings)
            assert {schema_id: error is None for schema_id, error in told.items()} == foretold(document, role)
            for schema_id, error in told.items():
                assert error is not None
                assert f"Error retrieving Avro {role} schema version for id {schema_id}" in error

        run("plan", "--topic", damage.TOPIC, *options, "-o", "plan.json")
        run("apply", "plan.json", "--yes")
        run("verify", "plan.json")
        after = check(0)
        for role in roles:
            told = read(converters, broker, registry, damage.TOPIC, is_key=role == "key", **settings)
            assert set(told.values()) == {None}
            assert set(foretold(after, role).values()) == {True}
        run("rollback", "plan.json.journal.jsonl", "--yes")
        assert registry.dump() == before
