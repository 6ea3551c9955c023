"""Schemas at which Avro for Python balks, or of which Connect makes something of its own: values as the real AvroConverter
7.0.16 gives them (the stack compares).

| schema | Avro | AvroConverter |
|---|---|---|
| a decimal whose precision and scale are none | bytes: the logical type is ignored | a decimal of that scale |
| a union of one type | the type | a STRUCT of it up to 7.6, the type from 7.7 on |
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Final

import pytest

from srfix.serde.casing import CaseRule
from srfix.serde.columns.text import parse_columns
from srfix.serde.errors import SchemaError
from srfix.serde.formats import avro
from srfix.serde.formats.avro.connect import connect_schema
from srfix.serde.specs import ReadSpec

BODY: Final = bytes.fromhex("020404d2")
DECIMALS: Final = {
    "scale beyond precision": ({"precision": 2, "scale": 6}, "0.001234"),
    "scale beyond the default precision": ({"precision": 64, "scale": 127}, "1.234E-124"),
    "negative scale": ({"precision": 5, "scale": -2}, "123400"),
    "negative precision": ({"precision": -6, "scale": 2}, "12.34"),
    "fraction": ({"precision": 6.0, "scale": 2}, "12.34"),
    "scale as text": ({"precision": 6, "scale": "2"}, "1234"),
}


def schema(type_: object) -> str:
    fields = [{"name": "id", "type": "int"}, {"name": "f", "type": type_}]
    return json.dumps({"type": "record", "name": "R", "fields": fields})


def decimal(**properties: object) -> dict[str, object]:
    return {"type": "bytes", "logicalType": "decimal", **properties}


def read(text: str, columns: str | None, body: bytes = BODY, rule: CaseRule = CaseRule.KSQLDB) -> object:
    return avro.decoder(text, ReadSpec(columns=None if columns is None else parse_columns(columns), case_rule=rule))(
        body, 0
    )


class TestInvalidDecimals:
    @pytest.mark.parametrize(("properties", "value"), DECIMALS.values(), ids=DECIMALS)
    def test_bytes_to_avro_and_of_its_scale_to_connect(self, properties: dict[str, object], value: str) -> None:
        text = schema(decimal(**properties))
        assert read(text, None) == {"id": 1, "f": b"\x04\xd2"}
        assert read(text, "ID INT") == {"ID": 1}
        assert read(text, "F DECIMAL(400, 200)") == {"F": Decimal(value)}

    def test_a_fixed_type_that_is_too_small(self) -> None:
        text = schema({"type": "fixed", "name": "F", "size": 2, "logicalType": "decimal", "precision": 10, "scale": 2})
        body = bytes.fromhex("0204d2")
        assert read(text, None, body) == {"id": 1, "f": b"\x04\xd2"}
        assert read(text, "ID INT, F DECIMAL(9, 2)", body) == {"ID": 1, "F": Decimal("12.34")}

    @pytest.mark.parametrize("precision", ["6", None, True])
    def test_a_precision_that_is_no_number_is_refused_where_it_is_asked_for(self, precision: object) -> None:
        text = schema(decimal(precision=precision, scale=2))
        assert read(text, "ID INT") == {"ID": 1}
        with pytest.raises(SchemaError, match="precision of a decimal must be a number"):
            read(text, "F DECIMAL(9, 2)")
        with pytest.raises(SchemaError, match="precision of a decimal must be a number"):
            connect_schema(text)


class TestUnionsOfOne:
    def test_a_struct_to_the_engines_of_2020(self) -> None:
        text, body = schema(["string"]), bytes.fromhex("02000261")
        assert read(text, None, body) == {"id": 1, "f": "a"}
        assert read(text, "F STRING", body) == {"F": "a"}
        assert read(text, "F STRUCT<string STRING>", body, CaseRule.KSQLDB_2020) == {"F": {"STRING": "a"}}

    def test_inside_and_at_the_root(self) -> None:
        items = schema({"type": "array", "items": ["int"]})
        body = bytes.fromhex("02020006") + b"\0"
        assert read(items, "F ARRAY<INT>", body) == {"F": [3]}
        assert read(items, "F ARRAY<STRUCT<`int` INT>>", body, CaseRule.KSQLDB_2020) == {"F": [{"int": 3}]}
        assert read('["int"]', "`int` INT", b"\0\x06", CaseRule.KSQLDB_2020) == {"int": 3}
