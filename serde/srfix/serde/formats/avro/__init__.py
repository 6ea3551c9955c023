"""Avro: the internal schema of columns, and the codecs for any Avro schema."""

from srfix.serde.formats.avro.connect import UNION_NAME, map_entry_types
from srfix.serde.formats.avro.engine import ParsedSchema, fastavro_decoder, with_plain_times
from srfix.serde.formats.avro.format import (
    EMPTY_SCHEMA,
    HAS_LOCAL_TIMES,
    as_connect,
    check_schema,
    columns_from_avro,
    field_names,
    has_hints,
    infer_columns,
    java_text,
    record_name,
    validator,
)
from srfix.serde.formats.avro.internal_schema import KSQLDB_FULL_NAME, internal_schema, key_full_name
from srfix.serde.formats.avro.java_text import full_name, java_schema
from srfix.serde.formats.avro.read.decoder import decoder, projection, values_decoder
from srfix.serde.formats.avro.schema import (
    Analysis,
    AvroNode,
    describe,
    every_node,
    has_decimals,
    load,
    nullable_branch,
)
from srfix.serde.formats.avro.write.encoder import encoder, encoder_under
from srfix.serde.formats.avro.writer_type import AvroType
