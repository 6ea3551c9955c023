"""Rows → JSON_SR: `JsonSchemaData.fromConnectData` with `decimal.format=NUMERIC`, and `ConnectSRSchemaDataTranslator`."""

from __future__ import annotations

import datetime
from decimal import Decimal as Number

import pytest

from srfix.serde import CaseRule, ColumnError, EncodeError, SchemaError, parse_columns
from srfix.serde.formats import json_schema
from srfix.serde.specs import ReadSpec, WriteSpec

_PREFIX = b"\0\0\0\0\x07"
_A = '{"type":"object","properties":{"a":{"type":"integer"}}}'


def _written(columns: str, row: object, *, rule: CaseRule = CaseRule.KSQLDB, wrapped: bool = True) -> str:
    parsed = parse_columns(columns)
    text = json_schema.internal_schema(WriteSpec(columns=parsed, wrap=wrapped))
    payload = json_schema.encoder(text, WriteSpec(columns=parsed, case_rule=rule, wrap=wrapped))(row, _PREFIX)
    assert payload.startswith(_PREFIX)
    return payload[5:].decode()


def _under(schema: str, columns: str, row: object) -> str:
    return json_schema.encoder_under(schema, WriteSpec(columns=parse_columns(columns)))(row, b"").decode()


class TestEncoder:
    @pytest.mark.parametrize(
        ("column", "value", "expected"),
        [
            ("BOOLEAN", True, "true"),
            ("INT", -1, "-1"),
            ("BIGINT", 2**63 - 1, "9223372036854775807"),
            ("DOUBLE", 1e10, "1.0E10"),
            ("DOUBLE", float("nan"), '"NaN"'),  # Jackson's QUOTE_NON_NUMERIC_NUMBERS
            ("STRING", "é\x1f", '"é\\u001F"'),
            ("BYTES", b"ab", '"YWI="'),
            ("DECIMAL(6, 2)", Number("1.5"), "1.50"),
            ("DECIMAL(30, 20)", Number("0.12345678901234567890"), "0.12345678901234567890"),
            ("DECIMAL(9, 9)", Number("1e-9"), "1E-9"),  # BigDecimal.toString
            ("DATE", datetime.date(1969, 12, 31), "-1"),
            ("TIME", datetime.time(0, 0, 1), "1000"),
            ("TIMESTAMP", datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC), "0"),
            ("ARRAY<INT>", [1, None], "[1,null]"),
            ("MAP<STRING, INT>", {"k": 1, "l": None}, '[{"key":"k","value":1},{"key":"l","value":null}]'),
            ("MAP<STRING, INT>", {}, "[]"),
            ("STRUCT<X INT, Y MAP<STRING, INT>>", {"X": 1, "Y": {"a": 1}}, '{"X":1,"Y":[{"key":"a","value":1}]}'),
            ("STRING", None, "null"),  # written, not left out
        ],
    )
    def test_values_are_written_as_the_registrys_converter_does(
        self, column: str, value: object, expected: str
    ) -> None:
        assert _written(f"A {column}", {"A": value}) == f'{{"A":{expected}}}'

    def test_a_bare_value_is_written_without_its_column(self) -> None:
        assert _written("K MAP<STRING, INT>", {"K": {"a": 1}}, wrapped=False) == '[{"key":"a","value":1}]'

    def test_a_null_key_of_a_map_is_written(self) -> None:
        # The entries' key is nullable: what is read comes back.
        row = {"A": {None: 1, "k": 2}}
        assert _written("A MAP<STRING, INT>", row) == '{"A":[{"key":null,"value":1},{"key":"k","value":2}]}'
        assert _written("A MAP<STRING, INT>", {"A": [{"key": None, "value": 1}]}) == '{"A":[{"key":null,"value":1}]}'

    def test_a_column_that_the_row_lacks_is_null_and_keys_go_by_the_case_rule(self) -> None:
        assert _written("A INT, B INT", {"a": 1}, rule=CaseRule.UNIQUE) == '{"A":1,"B":null}'

    def test_a_row_that_does_not_fit_is_refused_with_its_paths(self) -> None:
        with pytest.raises(EncodeError) as raised:
            _written("A DECIMAL(4, 2), M MAP<STRING, INT>", {"A": Number("1.234"), "M": {"k": "x"}})
        assert raised.value.paths[0] == "->A"

    def test_without_columns_json_is_written_as_it_is(self) -> None:
        encode = json_schema.encoder("{}", WriteSpec())
        assert encode({"a": [1, None]}, _PREFIX) == _PREFIX + b'{"a":[1,null]}'


class TestEncoderUnder:
    def test_names_are_exact_and_missing_ones_get_their_default_or_null_or_are_left_out(self) -> None:
        schema = (
            '{"type":"object","properties":{"a":{"type":"integer","connect.index":0},'
            '"d":{"type":"string","default":"x","connect.index":1},'
            '"n":{"oneOf":[{"type":"null"},{"type":"string"}],"connect.index":2},"o":{"type":"string","connect.index":3}}}'
        )
        assert _under(schema, "`a` BIGINT", {"a": 1}) == '{"a":1,"d":"x","n":null}'

    def test_null_is_the_default_where_there_is_one(self) -> None:
        # Connect's Struct.get, then fromConnectData
        schema = '{"type":"object","properties":{"a":{"type":["string"],"default":"x"}}}'
        with pytest.raises(SchemaError):  # a oneOf of one is a STRUCT to Connect
            _under(schema, "`a` STRING", {"a": None})
        assert _under(schema.replace('["string"]', '"string"'), "`a` STRING", {"a": None}) == '{"a":"x"}'

    def test_decimals_of_defaults_keep_their_digits(self) -> None:
        schema = (
            '{"type":"object","properties":{"a":{"type":"integer"},"d":{"type":"number","connect.type":"bytes","title":'
            '"org.apache.kafka.connect.data.Decimal","connect.parameters":{"scale":"2"},"default":1.10}}}'
        )
        assert '"d":1.10' in _under(schema, "`a` BIGINT", {"a": 1})

    @pytest.mark.parametrize("row", [{"a": None}, {}])
    def test_null_is_refused_where_the_schema_does_not_allow_it(self, row: object) -> None:
        with pytest.raises(EncodeError, match=r"a is null; the schema neither allows null"):
            _under(_A, "`a` BIGINT", row)

    def test_a_column_that_the_schema_misses_is_refused(self) -> None:
        with pytest.raises(SchemaError, match=r"^The columns have 'A', but the schema has no property with exactly "):
            _under(_A, "A BIGINT", {"A": 1})

    def test_a_property_that_is_required_and_has_no_column_is_refused(self) -> None:
        schema = '{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["b"]}'
        with pytest.raises(SchemaError, match=r"^The schema requires the property b"):
            _under(schema, "`a` BIGINT", {"a": 1})

    @pytest.mark.parametrize(
        ("schema", "column"),
        [
            ('{"type":"integer"}', "INT"),  # int64 and int32: Connect's Struct.put refuses it
            ('{"type":"string"}', "INT"),
            ('{"type":"integer","connect.type":"int32"}', "DATE"),
            ('{"type":"array","items":{"type":"string"}}', "ARRAY<INT>"),
        ],
    )
    def test_a_column_of_another_type_is_refused(self, schema: str, column: str) -> None:
        with pytest.raises(SchemaError, match=r"Declare the column with the schema's type\.$"):
            _under(f'{{"type":"object","properties":{{"a":{schema}}}}}', f"`a` {column}", {"a": None})

    def test_maps_are_written_as_the_schema_has_them(self) -> None:
        as_object = '{"type":"object","connect.type":"map","additionalProperties":{"type":"integer"}}'
        text = f'{{"type":"object","properties":{{"m":{as_object}}}}}'
        assert _under(text, "`m` MAP<STRING, BIGINT>", {"m": {"k": 1}}) == '{"m":{"k":1}}'
        internal = json_schema.internal_schema(WriteSpec(columns=parse_columns("M MAP<STRING, BIGINT>")))
        assert _under(internal, "M MAP<STRING, BIGINT>", {"M": {"k": 1}}) == '{"M":[{"key":"k","value":1}]}'

    def test_what_is_written_is_valid(self) -> None:
        columns = parse_columns("A INT, B DECIMAL(4, 2), S STRUCT<X DATE, L ARRAY<STRING>>")
        text = json_schema.internal_schema(WriteSpec(columns=columns))
        row = {"A": 1, "B": Number("1.25"), "S": {"X": datetime.date(2020, 1, 1), "L": ["a", None]}}
        body = json_schema.encoder_under(text, WriteSpec(columns=columns))(row, b"")
        json_schema.validator(text)(body)
        assert json_schema.decoder(text, ReadSpec(columns=columns, case_rule=CaseRule.EXACT))(body, 0) == row

    def test_columns_must_be_usable(self) -> None:
        with pytest.raises(ColumnError):
            json_schema.encoder_under("{}", WriteSpec(columns=()))
