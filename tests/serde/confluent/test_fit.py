"""Our serdes in confluent_kafka's SerializingProducer and DeserializingConsumer, on a broker and a registry."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import DeserializingConsumer, Message, Producer, SerializingProducer
from confluent_kafka.error import ValueDeserializationError, ValueSerializationError

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import confluent
from srfix.serde.columns.text import parse_columns
from srfix.serde.confluent.framing import header_schema_id_serializer as our_header_serializer
from srfix.serde.deserializer import AvroDeserializer
from srfix.serde.errors import EncodeError, SubjectVersionError, TrailingBytesError
from srfix.serde.registry.client import RegistryClient
from srfix.serde.resolve.policies import ById, UnderOneSubject
from srfix.serde.serializer import AvroSerializer
from srfix.serde.subjects.strategies import ChangelogSubject

COLUMNS = parse_columns("ID BIGINT, TAGS MAP<STRING, INT>")
KEY = '"string"'
RECORD = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'
DEADLINE_S = 30.0


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    # librdkafka's mock cluster lives as long as the client that carries it.
    carrier = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "unused"})
    brokers = carrier.list_topics(timeout=DEADLINE_S).brokers.values()
    yield ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
    carrier.flush(DEADLINE_S)


def _produce(bootstrap: str, ours: RegistryClient, topic: str, *records: tuple[object, object]) -> None:
    producer = SerializingProducer(
        {
            "bootstrap.servers": bootstrap,
            "key.serializer": AvroSerializer.for_schema(ours, KEY),
            "value.serializer": AvroSerializer(ours, COLUMNS),
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


def _two(consumer: DeserializingConsumer) -> list[Message]:
    """The next two records; the consumer is closed."""
    try:
        return [_poll(consumer), _poll(consumer)]
    finally:
        consumer.close()


def _cause(consumer: DeserializingConsumer, match: str) -> BaseException | None:
    """What made the error that the next record is; the consumer is closed."""
    try:
        with pytest.raises(ValueDeserializationError, match=match) as caught:
            _poll(consumer)
    finally:
        consumer.close()
    return caught.value.__context__


def _poll(consumer: DeserializingConsumer) -> Message:
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        message = consumer.poll(0.2)
        if message is not None:
            assert message.error() is None
            return message
    raise AssertionError("no record came in time")


def test_rows_and_tombstones_make_the_round_trip(bootstrap: str, ours: RegistryClient) -> None:
    row = {"ID": 7, "TAGS": {"a": 1, "b": None}}
    _produce(bootstrap, ours, "round-trip", ("k1", row), ("k2", None))
    read_value = AvroDeserializer(UnderOneSubject(ours), columns=COLUMNS)
    messages = _two(_consumer(bootstrap, "round-trip", AvroDeserializer(ById(ours)), read_value))
    assert sorted((str(message.key()), message.value()) for message in messages) == [("k1", row), ("k2", None)]
    assert ours.subjects() == ("round-trip-key", "round-trip-value")


def test_a_row_that_does_not_fit_is_a_serialization_error_by_ours(bootstrap: str, ours: RegistryClient) -> None:
    with pytest.raises(ValueSerializationError, match=r"ID needs an integer") as caught:
        _produce(bootstrap, ours, "bad-row", ("k", {"ID": "x"}))
    assert isinstance(caught.value.__context__, EncodeError)


def test_the_incident_is_a_deserialization_error_in_the_old_words(bootstrap: str, ours: RegistryClient) -> None:
    _produce(bootstrap, ours, "incident", ("k", {"ID": 1}))
    phantom = ChangelogSubject(application="app", store="store")
    read = AvroDeserializer(UnderOneSubject(ours, phantom))
    consumer = _consumer(bootstrap, "incident", AvroDeserializer(ById(ours)), read)
    cause = _cause(consumer, r"Error retrieving Avro value schema version for id \d+")
    assert isinstance(cause, SubjectVersionError)


class TestTheDropIn:
    def producer(self, bootstrap: str, url: str) -> SerializingProducer:
        conf = {"schema.id.serializer": our_header_serializer}
        return SerializingProducer(
            {
                "bootstrap.servers": bootstrap,
                "key.serializer": confluent.JSONSerializer('{"title":"K","type":"object"}', url),
                "value.serializer": confluent.AvroSerializer(url, RECORD, conf=conf),
            }
        )

    def consumer(self, bootstrap: str, url: str, topic: str) -> DeserializingConsumer:
        read_key = confluent.JSONDeserializer(None, schema_registry_client=url)
        return _consumer(bootstrap, topic, read_key, confluent.AvroDeserializer(url))

    def test_records_with_schema_ids_in_headers_make_the_round_trip(
        self, bootstrap: str, server: FixtureRegistry
    ) -> None:
        producer = self.producer(bootstrap, server.url)
        producer.produce("drop-in", key={"k": 1}, value={"a": 7}, headers=[])
        producer.produce("drop-in", key={"k": 2}, value=None, headers=[])
        assert producer.flush(DEADLINE_S) == 0
        found: list[tuple[object, object, bool]] = [
            (message.key(), message.value(), message.headers() is None)
            for message in _two(self.consumer(bootstrap, server.url, "drop-in"))
        ]
        assert sorted(found, key=str) == [({"k": 1}, {"a": 7}, False), ({"k": 2}, None, True)]

    def test_our_errors_are_the_causes_of_theirs(self, bootstrap: str, server: FixtureRegistry) -> None:
        with pytest.raises(ValueSerializationError, match="A value for topic 'bad': The value does not fit") as caught:
            self.producer(bootstrap, server.url).produce("bad", key={}, value={"a": "x"}, headers=[])
        assert isinstance(caught.value.__context__, EncodeError)
        schema_id = server.seed("bad-value", RECORD)
        plain = Producer({"bootstrap.servers": bootstrap})
        plain.produce("bad", b"\0" + schema_id.to_bytes(4, "big") + b"\x02more")
        assert plain.flush(DEADLINE_S) == 0
        cause = _cause(self.consumer(bootstrap, server.url, "bad"), "4 of the body's 5 bytes are left over")
        assert isinstance(cause, TrailingBytesError)
