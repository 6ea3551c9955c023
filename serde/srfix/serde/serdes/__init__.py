"""What serializers and deserializers of all formats share, framed and schemaless."""

from srfix.serde.serdes.framed_deserializer import FramedDeserializer
from srfix.serde.serdes.framed_reader import FramedReader
from srfix.serde.serdes.framed_serializer import TOPIC_SUBJECT, FramedSerializer, OwnOptions
from srfix.serde.serdes.framed_writer import FramedWriter
from srfix.serde.serdes.located_errors import ABOUT_THE_PAYLOAD, read_from, words_of_reading, written_to
from srfix.serde.serdes.plans import ColumnPlans, EncodeOrNone, decode_plan
from srfix.serde.serdes.records import record_of
from srfix.serde.serdes.schema_choices import SettledSchema
from srfix.serde.serdes.schemaless import SchemalessDeserializer, SchemalessSerializer
