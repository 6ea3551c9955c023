"""Payload → row, as confluent_kafka's `DeserializingConsumer` calls it, and as anybody can.

| class | payloads |
|---|---|
| `AvroDeserializer(resolver, columns=…)` | Avro under a registered schema |
| `JsonSchemaDeserializer(resolver, columns=…)` | JSON under a registered JSON Schema (ksqlDB's JSON_SR) |
| `SchemaDeserializer(resolver, columns=…)` | either, as the schema says |
| `JsonDeserializer(columns=…)` | plain JSON |
| `KafkaDeserializer(columns)` | a key or value of one column, as Kafka's own serializers write it |
| `WindowedDeserializer(deserializer, …)` | a windowed key: a key of any of these, and its window |

With columns a row has exactly those, in their order, fed by the writer's fields under the case rule; a column that no
field feeds is None. Columns that are marked as KEY make the keys, the others the values (by `ctx.field`); where none is
marked, all make either. `wrap` says whether a single column stands in a record: None is ksqlDB's default, by which a
key's does not. A bare null is `{column: None}`; None, whatever the columns, is a null payload.
"""

from __future__ import annotations

from srfix.serde._column_types import Columns
from srfix.serde._framed_deserializer import FramedDeserializer
from srfix.serde._schemaless import SchemalessDeserializer
from srfix.serde.formats.table import Format

__all__ = [
    "AvroDeserializer",
    "JsonDeserializer",
    "JsonSchemaDeserializer",
    "KafkaDeserializer",
    "SchemaDeserializer",
]


class AvroDeserializer(FramedDeserializer):
    """Reads Avro payloads in the registry's framing.

    `AvroDeserializer(ById(registry))` gives records as the writer has them. With `columns` a row has exactly
    those, in their order, fed by the writer's fields under the case rule; a column that no field feeds is
    None, and arrays of map entries are dicts. Thread-safe; picklable if its resolver is (the plans are made
    anew).
    """

    _formats = (Format.AVRO,)


class JsonSchemaDeserializer(FramedDeserializer):
    """Reads JSON payloads under a JSON Schema, in the registry's framing: ksqlDB's JSON_SR.

    `JsonSchemaDeserializer(ById(registry))` gives documents as they are; with `columns` rows, as `AvroDeserializer`.
    Thread-safe; picklable if its resolver is.
    """

    _formats = (Format.JSON_SR,)


class SchemaDeserializer(FramedDeserializer):
    """Reads payloads in the registry's framing by the serde of their schema's type: Avro or JSON Schema.

    For topics that hold both, or of which one does not know. Thread-safe; picklable if its resolver is.
    """

    _formats = (Format.AVRO, Format.JSON_SR)


class JsonDeserializer(SchemalessDeserializer):
    """Reads plain JSON: no registry, no framing.

    `JsonDeserializer()` gives documents as they are; `JsonDeserializer(columns)` rows, as ksqlDB reads them. Thread-safe
    and picklable.
    """

    _format = Format.JSON


class KafkaDeserializer(SchemalessDeserializer):
    """Reads a key or value of one column, as Kafka's own serializers write it: ksqlDB's default format of keys.

    The row is `{column: value}`. Thread-safe and picklable.
    """

    _format = Format.KAFKA

    def __init__(self, columns: Columns) -> None:
        """:raises ColumnError: if a half has several columns, or the format cannot hold the type."""
        super().__init__(columns, wrap=False)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self._columns,)
