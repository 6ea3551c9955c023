"""Registries that answer from memory; fastavro, and confluent-kafka's serdes, with as little around them as they allow."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib.metadata import version
from io import BytesIO
from struct import Struct
from typing import Final, Literal, cast

import fastavro
from confluent_kafka.schema_registry import Schema as ConfluentSchema
from confluent_kafka.schema_registry import SchemaRegistryClient, topic_subject_name_strategy
from confluent_kafka.schema_registry.common.json_schema import _HAS_ORJSON
from confluent_kafka.serialization import MessageField, SerializationContext

from srfix.serde.interface import Row
from srfix.serde.resolve.policies import ById
from srfix.serde.schemas.models import RegisteredSchema, Schema, SchemaVersion
from srfix.serde.wire import SchemaId, prefix_id_bytes

TOPIC: Final = "bench"
CTX: Final = SerializationContext(TOPIC, MessageField.VALUE)
"""What all serdes are called with."""
BY_TOPIC: Final = {"subject.name.strategy": topic_subject_name_strategy}
"""Configuration of confluent-kafka's serdes: its default strategy would ask the registry for associations first."""
_SCHEMA_ID: Final = SchemaId(1)
_HEAD: Final = Struct(">bI")
PREFIX: Final = prefix_id_bytes(_SCHEMA_ID)
"""The five bytes in front of every payload."""


class MemoryRegistry:
    """For our serdes: one schema, under every id; it is registered under 1."""

    def __init__(self, text: str, schema_type: str = "AVRO") -> None:
        self._schema = Schema(text=text, schema_type=schema_type)

    def schema_by_id(self, schema_id: int, *, subject: str | None = None) -> RegisteredSchema:
        return RegisteredSchema(schema_id=SchemaId(schema_id), schema=self._schema)

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


def _parsed(schema: str) -> dict[object, object]:
    return cast("dict[object, object]", fastavro.parse_schema(json.loads(schema)))


def bare_decoding(schema: str, reader: str | None = None) -> Callable[[bytes], Row]:
    """fastavro's reading of framed payloads."""
    read, head, parsed = fastavro.schemaless_reader, _HEAD, _parsed(schema)
    reader_schema = None if reader is None else _parsed(reader)

    def decode(payload: bytes) -> Row:
        stream = BytesIO(payload)
        _magic, _schema_id = head.unpack(stream.read(5))
        return cast("Row", read(stream, parsed, reader_schema))

    return decode


def bare_encoding(schema: str) -> Callable[[Mapping[str, object]], bytes]:
    """fastavro's writing of framed payloads."""
    write, head, parsed = fastavro.schemaless_writer, _HEAD, _parsed(schema)

    def encode(row: Mapping[str, object]) -> bytes:
        stream = BytesIO()
        stream.write(head.pack(0, 1))
        write(stream, parsed, row)
        return stream.getvalue()

    return encode


def versions() -> str:
    """Who is compared."""
    names = ("confluent-kafka", "fastavro", "orjson", "pyarrow")
    orjson = "with orjson" if _HAS_ORJSON else "WITHOUT orjson"
    return f"{', '.join(f'{name} {version(name)}' for name in names)}; confluent-kafka runs {orjson}"
