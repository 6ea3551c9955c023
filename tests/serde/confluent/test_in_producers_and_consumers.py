"""In confluent_kafka's SerializingProducer and DeserializingConsumer, on a broker and a registry."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import DeserializingConsumer, Message, Producer, SerializingProducer
from confluent_kafka.error import ValueDeserializationError, ValueSerializationError

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.confluent.avro import AvroDeserializer, AvroSerializer
from srfix.serde.confluent.framing import header_schema_id_serializer
from srfix.serde.confluent.json import JSONDeserializer, JSONSerializer
from srfix.serde.errors import EncodeError, TrailingBytesError

RECORD = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}'
JSON = '{"title":"K","type":"object"}'
DEADLINE_S = 30.0


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    # librdkafka's mock cluster lives as long as the client that carries it.
    carrier = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "unused"})
    brokers = carrier.list_topics(timeout=DEADLINE_S).brokers.values()
    yield ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
    carrier.flush(DEADLINE_S)


def _producer(bootstrap: str, url: str) -> SerializingProducer:
    return SerializingProducer(
        {
            "bootstrap.servers": bootstrap,
            "key.serializer": JSONSerializer(JSON, url),
            "value.serializer": AvroSerializer(url, RECORD, conf={"schema.id.serializer": header_schema_id_serializer}),
        }
    )


def _poll(consumer: DeserializingConsumer) -> Message:
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        message = consumer.poll(0.2)
        if message is not None:
            assert message.error() is None
            return message
    raise AssertionError("no record came in time")


def _consumer(bootstrap: str, url: str, topic: str) -> DeserializingConsumer:
    consumer = DeserializingConsumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"group-of-{topic}",
            "auto.offset.reset": "earliest",
            "key.deserializer": JSONDeserializer(None, schema_registry_client=url),
            "value.deserializer": AvroDeserializer(url),
        }
    )
    consumer.subscribe([topic])
    return consumer


def test_records_with_schema_ids_in_headers_make_the_round_trip(bootstrap: str, server: FixtureRegistry) -> None:
    producer = _producer(bootstrap, server.url)
    producer.produce("drop-in", key={"k": 1}, value={"a": 7}, headers=[])
    producer.produce("drop-in", key={"k": 2}, value=None, headers=[])
    assert producer.flush(DEADLINE_S) == 0
    consumer = _consumer(bootstrap, server.url, "drop-in")
    try:
        messages = [_poll(consumer), _poll(consumer)]
    finally:
        consumer.close()
    found: list[tuple[object, object, bool]] = [
        (message.key(), message.value(), message.headers() is None) for message in messages
    ]
    assert sorted(found, key=str) == [({"k": 1}, {"a": 7}, False), ({"k": 2}, None, True)]


def test_our_errors_are_the_causes_of_theirs(bootstrap: str, server: FixtureRegistry) -> None:
    with pytest.raises(ValueSerializationError, match=r"A value for topic 'bad': The value does not fit") as caught:
        _producer(bootstrap, server.url).produce("bad", key={}, value={"a": "x"}, headers=[])
    assert isinstance(caught.value.__context__, EncodeError)
    schema_id = server.seed("bad-value", RECORD)
    plain = Producer({"bootstrap.servers": bootstrap})
    plain.produce("bad", b"\0" + schema_id.to_bytes(4, "big") + b"\x02more")
    assert plain.flush(DEADLINE_S) == 0
    consumer = _consumer(bootstrap, server.url, "bad")
    try:
        with pytest.raises(ValueDeserializationError, match="4 bytes are left over") as read:
            _poll(consumer)
    finally:
        consumer.close()
    assert isinstance(read.value.__context__, TrailingBytesError)
