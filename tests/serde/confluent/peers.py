"""confluent-kafka's serdes, beside which ours stand, and what both are called with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from confluent_kafka._types import HeadersType
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient, topic_subject_name_strategy
from confluent_kafka.schema_registry import avro as confluent_avro
from confluent_kafka.schema_registry import json_schema as confluent_json
from confluent_kafka.serialization import MessageField, SerializationContext

Conf: TypeAlias = "Mapping[str, object] | None"
TOPIC = "t"
BY_TOPIC: Mapping[str, object] = {"subject.name.strategy": topic_subject_name_strategy}
"""Their default asks the registry for associations; ours is the topic's."""


def context(
    *, field: MessageField = MessageField.VALUE, topic: str = TOPIC, headers: HeadersType | None = None
) -> SerializationContext:
    """The context that both are called with."""
    return SerializationContext(topic, field, headers)


def mock_client() -> SchemaRegistryClient:
    """A registry in memory, of confluent-kafka's."""
    return SchemaRegistryClient.new_client({"url": "mock://"})


def _conf(conf: Conf) -> dict[str, object]:
    given = dict(conf or {})
    named = any(key.startswith("subject.name.strategy") for key in given)
    return given if named else {**BY_TOPIC, **given}


def their_avro_serializer(
    client: SchemaRegistryClient, schema: str | Schema | None, conf: Conf = None, to_dict: object = None
) -> confluent_avro.AvroSerializer:
    made: confluent_avro.AvroSerializer = confluent_avro.AvroSerializer(client, schema, to_dict, _conf(conf))
    return made


def their_avro_deserializer(
    client: SchemaRegistryClient, schema: str | Schema | None = None, conf: Conf = None, *, names: bool = False
) -> confluent_avro.AvroDeserializer:
    made: confluent_avro.AvroDeserializer = confluent_avro.AvroDeserializer(client, schema, None, names, _conf(conf))
    return made


def their_json_serializer(
    client: SchemaRegistryClient, schema: str | Schema | None, conf: Conf = None
) -> confluent_json.JSONSerializer:
    made: confluent_json.JSONSerializer = confluent_json.JSONSerializer(schema, client, None, _conf(conf))
    return made


def their_json_deserializer(
    client: SchemaRegistryClient, schema: str | Schema | None = None, conf: Conf = None
) -> confluent_json.JSONDeserializer:
    made: confluent_json.JSONDeserializer = confluent_json.JSONDeserializer(schema, None, client, _conf(conf))
    return made
