"""Our serdes in confluent_kafka's SerializingProducer and DeserializingConsumer, on a broker and a registry."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import DeserializingConsumer, Message, Producer, SerializingProducer
from confluent_kafka.error import ValueDeserializationError, ValueSerializationError

from srfix.fixtures.registry import FixtureRegistry
from srfix.serde.columns import parse_columns
from srfix.serde.deserializer import AvroDeserializer
from srfix.serde.errors import EncodeError, SubjectVersionError
from srfix.serde.registry import RegistryClient
from srfix.serde.resolve import ById, UnderOneSubject
from srfix.serde.serializer import AvroSerializer
from srfix.serde.subjects import ChangelogSubject

COLUMNS = parse_columns("ID BIGINT, TAGS MAP<STRING, INT>")
KEY = '"string"'
DEADLINE_S = 30.0


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    # librdkafka's mock cluster lives as long as the client that carries it.
    carrier = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "unused"})
    brokers = carrier.list_topics(timeout=DEADLINE_S).brokers.values()
    yield ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
    carrier.flush(DEADLINE_S)


@pytest.fixture
def registry() -> Iterator[RegistryClient]:
    with FixtureRegistry() as server, RegistryClient(server.url) as client:
        yield client


def _produce(bootstrap: str, registry: RegistryClient, topic: str, *records: tuple[object, object]) -> None:
    producer = SerializingProducer(
        {
            "bootstrap.servers": bootstrap,
            "key.serializer": AvroSerializer.for_schema(registry, KEY),
            "value.serializer": AvroSerializer(registry, COLUMNS),
        }
    )
    for key, value in records:
        producer.produce(topic, key=key, value=value, headers=[("trace", b"1")])
    assert producer.flush(DEADLINE_S) == 0


def _consumer(bootstrap: str, topic: str, key: object, value: object) -> DeserializingConsumer:
    consumer = DeserializingConsumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"group-of-{topic}",
            "auto.offset.reset": "earliest",
            "key.deserializer": key,
            "value.deserializer": value,
        }
    )
    consumer.subscribe([topic])
    return consumer


def _poll(consumer: DeserializingConsumer) -> Message:
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        message = consumer.poll(0.2)
        if message is not None:
            assert message.error() is None
            return message
    raise AssertionError("no record came in time")


def test_rows_and_tombstones_make_the_round_trip(bootstrap: str, registry: RegistryClient) -> None:
    row = {"ID": 7, "TAGS": {"a": 1, "b": None}}
    _produce(bootstrap, registry, "round-trip", ("k1", row), ("k2", None))
    read_value = AvroDeserializer(UnderOneSubject(registry), columns=COLUMNS)
    consumer = _consumer(bootstrap, "round-trip", AvroDeserializer(ById(registry)), read_value)
    try:
        messages = [_poll(consumer), _poll(consumer)]
    finally:
        consumer.close()
    assert sorted((str(message.key()), message.value()) for message in messages) == [("k1", row), ("k2", None)]
    assert registry.subjects() == ("round-trip-key", "round-trip-value")


def test_a_row_that_does_not_fit_is_a_serialization_error_with_ours_as_its_cause(
    bootstrap: str, registry: RegistryClient
) -> None:
    with pytest.raises(ValueSerializationError, match=r"->ID needs an integer") as caught:
        _produce(bootstrap, registry, "bad-row", ("k", {"ID": "x"}))
    assert isinstance(caught.value.__context__, EncodeError)


def test_the_incident_is_a_deserialization_error_with_the_historical_words(
    bootstrap: str, registry: RegistryClient
) -> None:
    _produce(bootstrap, registry, "incident", ("k", {"ID": 1}))
    phantom = ChangelogSubject(application="app", store="store")
    read = AvroDeserializer(UnderOneSubject(registry, phantom))
    consumer = _consumer(bootstrap, "incident", AvroDeserializer(ById(registry)), read)
    try:
        with pytest.raises(
            ValueDeserializationError, match=r"Error retrieving Avro value schema version for id \d+"
        ) as caught:
            _poll(consumer)
    finally:
        consumer.close()
    assert isinstance(caught.value.__context__, SubjectVersionError)
