"""Plain JSON, without a schema: ksqlDB's JSON format."""

from srfix.serde.formats.json.budget import Budget, cost_of_default
from srfix.serde.formats.json.decode import column_decoder, plain_decoder
from srfix.serde.formats.json.encode import check_encoder, column_check, column_encoder, plain_encoder
from srfix.serde.formats.json.format import HAS_LOCAL_TIMES, decoder, encoder
from srfix.serde.formats.json.kernel import MOST_DIGITS, Description, NotTakenError, native_decoder, number, price
from srfix.serde.formats.json.kernel import Part as NativePart
from srfix.serde.formats.json.numbers import double_of_number, integer_of_number
from srfix.serde.formats.json.parse import parse, parse_exact
from srfix.serde.formats.json.scalars import base64_bytes
