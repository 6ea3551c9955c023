"""What is foretold of a reader with `use.latest.version` is what confluent-kafka's own deserializer does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext

from parts.damage import (
    latest_version_does_not_resolve_old_records,
    latest_version_is_soft_deleted,
    mirrored_topic_under_a_renamed_subject,
)
from srfix.recovery.facts.topics import TopicReader
from srfix.serde.subjects.names import Role
from srfix.serde.wire import schema_id_of
from tests.recovery.topic_check.looking import look
from tests.recovery.world import World, world_of


@contextmanager
def staged(damage: ModuleType, *, is_healthy: bool) -> Iterator[World]:
    with world_of(damage.TOPICS) as world:
        damage.stage(world.broker, world.client(), is_healthy=is_healthy)
        yield world


def read(world: World, topic: str, *, latest: bool) -> dict[int, bool]:
    """Per id whether confluent-kafka reads it."""
    context = SerializationContext(topic, MessageField.VALUE)
    outcome: dict[int, bool] = {}
    marks = world.cluster.watermarks(topic, range(world.cluster.topics()[topic]))  # type: ignore[index]
    with SchemaRegistryClient({"url": world.registry.url, "max.retries": 0}) as client:
        reader = AvroDeserializer(client, conf={"use.latest.version": latest, "subject.name.strategy.type": "TOPIC"})
        for partition, (start, end) in marks.items():
            for record in world.cluster.read(topic, partition, start, end):
                assert record.value is not None
                try:
                    reader(record.value, context)
                except Exception:  # noqa: BLE001 - whatever it dies of
                    outcome[int(schema_id_of(record.value))] = False
                else:
                    outcome[int(schema_id_of(record.value))] = True
    return outcome


@pytest.mark.parametrize("is_healthy", [False, True])
@pytest.mark.parametrize(
    "damage",
    [
        latest_version_is_soft_deleted,
        latest_version_does_not_resolve_old_records,
        mirrored_topic_under_a_renamed_subject,
    ],
    ids=lambda damage: damage.__name__.rpartition(".")[2],
)
def test_the_ids_that_fail_are_those_that_were_foretold(damage: ModuleType, is_healthy: bool) -> None:
    with staged(damage, is_healthy=is_healthy) as world:
        for reader, latest in ((TopicReader.LATEST, True), (TopicReader.PLAIN, False)):
            found = look(world, topic=damage.TOPIC, reader=reader, roles=(Role.VALUE,)).answers.role(Role.VALUE)
            assert found is not None
            foretold = {int(asked.schema_id): asked.reads for asked in found.ids}
            assert read(world, damage.TOPIC, latest=latest) == foretold
            assert set(foretold.values()) == {is_healthy or not latest}
