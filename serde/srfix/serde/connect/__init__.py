"""Connect's schemas as values, and what ksqlDB's columns take from them."""

from srfix.serde.connect.coercions import (
    Coerce,
    Coercion,
    coercion,
    coercion_of,
    connect_type_of,
    ensure_fit,
    incompatible,
    refusal_of_values,
    shown_number,
)
from srfix.serde.connect.columns import (
    NO_PRECISION,
    Dropped,
    Inferred,
    NameRule,
    columns_of,
    connect_of,
    connect_schema_of,
)
from srfix.serde.connect.decimal_fit import NOT_FITTING, DecimalFit, decimal_fit
from srfix.serde.connect.generations import Generation, WrittenBy, has_connect_properties
from srfix.serde.connect.java_text import decimal_text, double_text
from srfix.serde.connect.schema import (
    DATE_NAME,
    DECIMAL_NAME,
    DECIMAL_PRECISION,
    DECIMAL_SCALE,
    LOCAL_TIMESTAMP_NAME,
    TIME_NAME,
    TIMESTAMP_NAME,
    ConnectField,
    ConnectSchema,
    ConnectType,
    complete,
    map_of,
    optional,
    primitive,
    struct,
)
from srfix.serde.connect.time_units import (
    MICROS,
    MILLIS,
    NANOS,
    TimeUnit,
    as_written,
    column_of,
    reads_units,
    refusal_in_unit,
    time_unit,
)
