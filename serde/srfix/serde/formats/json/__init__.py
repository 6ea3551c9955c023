"""Plain JSON, without a schema: ksqlDB's JSON format. Reading follows `KsqlJsonDeserializer`, writing Connect's
`JsonConverter` with `schemas.enable=false` and `decimal.format=NUMERIC` (`KsqlJsonSerdeFactory`)."""

from srfix.serde.formats.json.budget import Budget, cost_of_default
from srfix.serde.formats.json.decode import HAS_LOCAL_TIMES, column_decoder, decoder
from srfix.serde.formats.json.encode import check_encoder, column_check, column_encoder, encoder
from srfix.serde.formats.json.kernel import Description, native_decoder, number
from srfix.serde.formats.json.kernel import Part as NativePart
from srfix.serde.formats.json.parse import parse, parse_exact
from srfix.serde.formats.json.scalars import base64_bytes, double_of_number, integer_of_number
