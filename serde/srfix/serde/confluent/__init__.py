"""Drop-in for confluent-kafka's schema registry serdes. `srfix.serde.confluent.avro` lists the differences of all serdes,
`.json_schema` and `.protobuf` list those of their formats."""

from srfix.serde.confluent.asynchronous import (
    AsyncAvroDeserializer,
    AsyncAvroSerializer,
    AsyncJSONDeserializer,
    AsyncJSONSerializer,
    AsyncProtobufDeserializer,
    AsyncProtobufSerializer,
)
from srfix.serde.confluent.avro import AvroDeserializer, AvroSerializer
from srfix.serde.confluent.framing import (
    SchemaId,
    dual_schema_id_deserializer,
    header_schema_id_serializer,
    prefix_schema_id_deserializer,
    prefix_schema_id_serializer,
)
from srfix.serde.confluent.json_schema import JSONDeserializer, JSONSerializer
from srfix.serde.confluent.protobuf import ProtobufDeserializer, ProtobufSerializer
from srfix.serde.confluent.strategies import (
    FALLBACK_TYPE,
    KAFKA_CLUSTER_ID,
    record_subject_name_strategy,
    reference_subject_name_strategy,
    topic_record_subject_name_strategy,
    topic_subject_name_strategy,
)

__all__ = [
    "AsyncAvroDeserializer",
    "AsyncAvroSerializer",
    "AsyncJSONDeserializer",
    "AsyncJSONSerializer",
    "AsyncProtobufDeserializer",
    "AsyncProtobufSerializer",
    "AvroDeserializer",
    "AvroSerializer",
    "FALLBACK_TYPE",
    "JSONDeserializer",
    "JSONSerializer",
    "KAFKA_CLUSTER_ID",
    "ProtobufDeserializer",
    "ProtobufSerializer",
    "SchemaId",
    "dual_schema_id_deserializer",
    "header_schema_id_serializer",
    "prefix_schema_id_deserializer",
    "prefix_schema_id_serializer",
    "record_subject_name_strategy",
    "reference_subject_name_strategy",
    "topic_record_subject_name_strategy",
    "topic_subject_name_strategy",
]
