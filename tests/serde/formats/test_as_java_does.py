"""What only the real classes told: each was another byte or value than theirs. `tests/stack` holds all of it against them."""

from __future__ import annotations

import json
import struct
from decimal import Decimal

import pytest

from srfix.serde import CaseRule, parse_columns
from srfix.serde.formats import avro, kafka
from srfix.serde.specs import ReadSpec, WriteSpec

pytestmark = pytest.mark.core


class TestAvro:
    @pytest.mark.parametrize(
        ("number", "body"), [(-128, "80"), (-129, "ff7f"), (128, "0080"), (-32768, "8000"), (-32769, "ff7fff")]
    )
    def test_a_decimal_has_as_few_bytes_as_hold_its_sign(self, number: int, body: str) -> None:
        # BigInteger.toByteArray, in Connect's Decimal.fromLogical.
        columns = parse_columns("A DECIMAL(9, 0)")
        text = avro.internal_schema(WriteSpec(columns=columns, wrap=False))
        encode = avro.encoder(text, WriteSpec(columns=columns, case_rule=CaseRule.EXACT, wrap=False))
        assert encode({"A": Decimal(number)}, b"").hex() == body

    def test_null_where_a_decimal_has_a_default_of_connects_is_the_default(self) -> None:
        # Struct.get, in ConnectDataTranslator.toKsqlStruct.
        number = {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2, "connect.default": "\0\u0096"}
        text = json.dumps({"type": "record", "name": "R", "fields": [{"name": "A", "type": [number, "null"]}]})
        decode = avro.decoder(text, ReadSpec(columns=parse_columns("A DECIMAL(9, 2)"), case_rule=CaseRule.KSQLDB))
        assert decode(b"\2", 0) == {"A": Decimal("1.50")}
        assert decode(b"\0\2\1", 0) == {"A": Decimal("0.01")}


class TestKafka:
    @pytest.mark.parametrize("bits", ["7ff8000000000000", "7ff8000000000001", "fff8000000000000"])
    def test_there_is_one_nan(self, bits: str) -> None:
        # Double.doubleToLongBits, in Kafka's DoubleSerializer: another NaN would be another key.
        (nan,) = struct.unpack(">d", bytes.fromhex(bits))
        encode = kafka.encoder(None, WriteSpec(columns=parse_columns("K DOUBLE")))
        assert encode({"K": nan}, b"").hex() == "7ff8000000000000"
