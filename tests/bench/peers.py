"""Registries that answer from memory, and confluent-kafka's serdes with as little around them as they allow."""

from __future__ import annotations

from importlib.metadata import version
from typing import Final, Literal

from confluent_kafka.schema_registry import Schema as ConfluentSchema
from confluent_kafka.schema_registry import SchemaRegistryClient, topic_subject_name_strategy
from confluent_kafka.schema_registry.common.json_schema import _HAS_ORJSON
from confluent_kafka.serialization import MessageField, SerializationContext

from srfix.serde.registry.models import RegisteredSchema, Schema, SchemaVersion
from srfix.serde.resolve.policies import ById
from srfix.serde.wire import SchemaId, prefix_id_bytes

__all__ = ["BY_TOPIC", "CTX", "PREFIX", "MemoryRegistry", "by_id", "confluent_client", "versions"]

TOPIC: Final = "bench"
CTX: Final = SerializationContext(TOPIC, MessageField.VALUE)
"""What all serdes are called with."""
BY_TOPIC: Final = {"subject.name.strategy": topic_subject_name_strategy}
"""Configuration of confluent-kafka's serdes: its default strategy would ask the registry for associations first."""
_SCHEMA_ID: Final = SchemaId(1)
PREFIX: Final = prefix_id_bytes(_SCHEMA_ID)
"""The five bytes in front of every payload."""


class MemoryRegistry:
    """For our serdes: one schema, with the id 1."""

    def __init__(self, text: str, schema_type: str = "AVRO") -> None:
        self._schema = Schema(text=text, schema_type=schema_type)

    def schema_by_id(self, schema_id: int, *, subject: str | None = None) -> RegisteredSchema:
        return RegisteredSchema(schema_id=_SCHEMA_ID, schema=self._schema)

    def version(self, subject: str, version: int | Literal["latest"], *, deleted: bool = False) -> SchemaVersion:
        raise AssertionError("no schema here refers to another")

    def register(self, subject: str, schema: Schema) -> SchemaId:
        return _SCHEMA_ID


def by_id(text: str, schema_type: str = "AVRO") -> ById:
    """A resolver of one schema, with the id 1."""
    return ById(MemoryRegistry(text, schema_type))


def confluent_client(text: str, schema_type: str = "AVRO") -> SchemaRegistryClient:
    """For confluent-kafka's serdes, and our drop-ins: one schema, with the id 1."""
    client = SchemaRegistryClient.new_client({"url": "mock://"})
    client.register_schema(f"{TOPIC}-value", ConfluentSchema(text, schema_type))
    return client


def versions() -> str:
    """Who is compared."""
    names = ("confluent-kafka", "fastavro", "orjson", "pyarrow")
    orjson = "with orjson" if _HAS_ORJSON else "WITHOUT orjson"
    return f"{', '.join(f'{name} {version(name)}' for name in names)}; confluent-kafka runs {orjson}"
