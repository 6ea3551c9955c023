"""PROTOBUF: Protobuf with a registry; and in `nosr`, messages under the columns' own schema without a registry."""

from srfix.serde.formats.protobuf.connect import UNION_NAME as UNION_NAME
from srfix.serde.formats.protobuf.format import EMPTY_SCHEMA as EMPTY_SCHEMA
from srfix.serde.formats.protobuf.format import HAS_LOCAL_TIMES as HAS_LOCAL_TIMES
from srfix.serde.formats.protobuf.format import as_connect as as_connect
from srfix.serde.formats.protobuf.format import check_schema as check_schema
from srfix.serde.formats.protobuf.format import columns_from_protobuf as columns_from_protobuf
from srfix.serde.formats.protobuf.format import decoder as decoder
from srfix.serde.formats.protobuf.format import encoder as encoder
from srfix.serde.formats.protobuf.format import encoder_under as encoder_under
from srfix.serde.formats.protobuf.format import field_names as field_names
from srfix.serde.formats.protobuf.format import has_hints as has_hints
from srfix.serde.formats.protobuf.format import infer_columns as infer_columns
from srfix.serde.formats.protobuf.format import java_text as java_text
from srfix.serde.formats.protobuf.format import projection as projection
from srfix.serde.formats.protobuf.format import record_name as record_name
from srfix.serde.formats.protobuf.format import validator as validator
from srfix.serde.formats.protobuf.format import values_decoder as values_decoder
from srfix.serde.formats.protobuf.internal import internal_schema as internal_schema
