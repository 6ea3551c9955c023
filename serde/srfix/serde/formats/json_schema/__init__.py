"""JSON under a registered JSON Schema, like ksqlDB's JSON_SR."""

from srfix.serde.formats.json_schema.connect import UNION_NAME
from srfix.serde.formats.json_schema.format import (
    EMPTY_SCHEMA,
    HAS_LOCAL_TIMES,
    as_connect,
    check_schema,
    columns_from_json_schema,
    decoder,
    encoder,
    encoder_under,
    field_names,
    has_hints,
    infer_columns,
    internal_schema,
    java_text,
    projection,
    record_name,
    values_decoder,
)
from srfix.serde.formats.json_schema.validate import FirstMisfit, first_misfit_of, validator
