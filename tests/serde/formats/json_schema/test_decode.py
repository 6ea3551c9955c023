"""JSON_SR bodies → rows: `JsonSchemaData.toConnectData`, then `ConnectDataTranslator`.

The case rules are those of Avro (`ConnectDataTranslator.toKsqlStruct`): writers' fields in the order of the Connect schema.
"""

from __future__ import annotations

import base64
import datetime
import json
import re
from decimal import Decimal as Number

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde.casing import CaseRule
from srfix.serde.columns.text import parse_columns
from srfix.serde.columns.types import Columns
from srfix.serde.errors import (
    AmbiguousFieldError,
    CoercionError,
    ColumnError,
    DecodeError,
    IncompatibleTypeError,
    OutOfRangeError,
    SchemaError,
    TrailingBytesError,
    TruncatedBodyError,
)
from srfix.serde.formats import json_schema
from srfix.serde.interface import Value
from srfix.serde.specs import ReadSpec, WriteSpec
from tests.strategies import columns_and_row

_CONNECT = "org.apache.kafka.connect.data"


def _read(
    schema: str, columns: str, body: str | bytes, *, rule: CaseRule = CaseRule.KSQLDB, wrapped: bool = True
) -> Value:
    decode = json_schema.decoder(schema, ReadSpec(columns=parse_columns(columns), case_rule=rule, wrap=wrapped))
    return decode(b"\0\0\0\0\x07" + (body.encode() if isinstance(body, str) else body), 5)


def _one(schema: str, column: str, body: str) -> Value:
    """One property, read into one column."""
    row = _read(f'{{"type":"object","properties":{{"a":{schema}}}}}', f"A {column}", f'{{"a":{body}}}')
    assert isinstance(row, dict)
    return row["A"]


def _integer(connect_type: str) -> str:
    return f'{{"type":"integer","connect.type":"{connect_type}"}}'


def _logical(name: str, type_: str = "integer", connect_type: str = "int32", more: str = "") -> str:
    return f'{{"type":"{type_}","connect.type":"{connect_type}","title":"{_CONNECT}.{name}"{more}}}'


_BYTES = '{"type":"string","connect.type":"bytes"}'
_DECIMAL = _logical("Decimal", "number", "bytes", ',"connect.parameters":{"scale":"2","connect.decimal.precision":"6"}')
_FLOAT32 = '{"type":"number","connect.type":"float32"}'
_UTC = datetime.UTC


class TestValues:
    @pytest.mark.parametrize(
        ("schema", "column", "body", "expected"),
        [
            (_integer("int32"), "INT", "2147483647", 2147483647),
            ('{"type":"integer"}', "BIGINT", "9223372036854775807", 9223372036854775807),
            # Java's narrowing: JsonNode.intValue, longValue
            (_integer("int32"), "INT", "1.9", 1),
            (_integer("int32"), "INT", "1e3", 1000),
            (_integer("int32"), "INT", "2147483648", -2147483648),
            (_integer("int8"), "INT", "200", -56),
            ('{"type":"integer"}', "BIGINT", "9007199254740993.0", 9007199254740993),
            ('{"type":"number"}', "DOUBLE", "3", 3.0),
            ('{"type":"number"}', "STRING", "3", "3.0"),
            ('{"type":"number"}', "DOUBLE", "1e400", float("inf")),
            ('{"type":"number"}', "DOUBLE", '"-Infinity"', float("-inf")),
            (_FLOAT32, "DOUBLE", "1e300", float("inf")),
            ('{"enum":["x"]}', "STRING", '"x"', "x"),
            # a logical type is its number to all but its own column
            (_integer("int32"), "DATE", "-1", datetime.date(1969, 12, 31)),
            (_logical("Time"), "TIME", "3723004", datetime.time(1, 2, 3, 4000)),
            (_logical("Time"), "BIGINT", "86400000", 86400000),
            (_integer("int32"), "TIME", "0", datetime.time(0)),
            (_logical("Timestamp", connect_type="int64"), "TIMESTAMP", "1", datetime.datetime(1970, 1, 1, 0, 0, 0, 1000, _UTC)),
            (_logical("Timestamp", connect_type="int64"), "BIGINT", "1577836800000", 1577836800000),
            ('{"type":"integer"}', "TIMESTAMP", "0", datetime.datetime(1970, 1, 1, tzinfo=_UTC)),
            # decimals keep every digit, and get the column's scale
            (_DECIMAL, "DECIMAL(6, 2)", "12.3", Number("12.30")),
            (_DECIMAL, "DECIMAL(6, 2)", "1234.00", Number("1234.00")),
            (_DECIMAL, "DECIMAL(38, 20)", "0.12345678901234567890", Number("0.12345678901234567890")),
            (_DECIMAL, "DECIMAL(38, 0)", "1234567890123456789012345678901", Number("1234567890123456789012345678901")),
            (_DECIMAL, "DECIMAL(6, 2)", json.dumps(base64.b64encode(b"\x04\xd2").decode()), Number("12.34")),
            # Connect's Decimal.toLogical takes a negative scale, as Integer.parseInt reads it: 1 is 1E+2
            (_DECIMAL.replace('"2"', '"-2"'), "DECIMAL(6, 2)", '"AQ=="', Number("100.00")),
            (_DECIMAL.replace('"2"', '"+2"'), "DECIMAL(6, 2)", '"AQ=="', Number("0.01")),
            ('{"type":"array","items":{"type":"integer"}}', "ARRAY<STRING>", "[1,2]", ["1", "2"]),
            ('{"type":"array","items":{"type":["integer","null"]}}', "ARRAY<BIGINT>", "[1,null]", [1, None]),
            (
                '{"type":"object","connect.type":"map","additionalProperties":{"type":"integer"}}',
                "MAP<STRING, BIGINT>",
                '{"k":1}',
                {"k": 1},
            ),
            (
                '{"type":"array","connect.type":"map","items":{"type":"object","properties":{"key":{"type":"integer"},'
                '"value":{"type":["null","string"]}}}}',
                "MAP<STRING, STRING>",
                '[{"key":1,"value":"a"},{"value":null,"key":2},{"key":1,"value":"b"}]',
                {"1": "b", "2": None},
            ),
            (  # a null key, where the schema allows one: ConnectDataTranslator.toKsqlMap puts it
                '{"type":"array","connect.type":"map","items":{"type":"object","properties":{"key":{"type":["null","string"]},'
                '"value":{"type":"string"}}}}',
                "MAP<STRING, STRING>",
                '[{"key":null,"value":"a"}]',
                {None: "a"},
            ),
            # base64 as Jackson takes it: spaces between the groups of four, several runs
            ('{"type":"string","connect.type":"bytes"}', "BYTES", '" AQI= "', b"\x01\x02"),
            ('{"type":"string","connect.type":"bytes"}', "BYTES", '"AQI=AQI="', b"\x01\x02\x01\x02"),
            (
                '{"type":"object","properties":{"x":{"type":"string"}}}',
                "STRUCT<X STRING, Y INT>",
                '{"x":"a"}',
                {"X": "a", "Y": None},
            ),
            # null and absence
            ('{"type":["null","string"]}', "STRING", "null", None),
            ('{"oneOf":[{"type":"null"},{"type":"integer"}]}', "BIGINT", "null", None),
            ('{"type":"string","default":"d"}', "STRING", "null", "d"),
            ('{"type":"array","items":{"type":"string"},"default":["d"]}', "ARRAY<STRING>", "null", ["d"]),
        ],
    )  # fmt: skip
    def test_they_are_read_as_the_engine_reads_them(self, schema: str, column: str, body: str, expected: Value) -> None:
        value = _one(schema, column, body)
        assert value == expected
        assert type(value) is type(expected)
        assert str(value) == str(expected)  # scales, too

    def test_a_decimal_has_no_negative_zero_and_a_double_keeps_its_own_with_every_digit_too(self) -> None:
        schema = json.dumps({"type": "object", "properties": {"A": json.loads(_DECIMAL), "B": {"type": "number"}}})
        read = json_schema.decoder(schema, ReadSpec(columns=parse_columns("A DECIMAL(6, 2), B DOUBLE")))
        assert repr(read(b'{"A":-0.0,"B":-0.0}', 0)) == "{'A': Decimal('0.00'), 'B': -0.0}"

    @pytest.mark.parametrize(
        ("schema", "column", "body", "error"),
        [
            ('{"type":"string"}', "STRING", "5", CoercionError),  # null in JsonSchemaData
            ('{"type":"integer"}', "BIGINT", '"5"', CoercionError),  # 0 in JsonSchemaData
            ('{"type":"boolean"}', "BOOLEAN", "1", CoercionError),  # false in JsonSchemaData
            ('{"type":"number"}', "DOUBLE", "true", CoercionError),
            ('{"type":"integer"}', "BIGINT", "{}", CoercionError),
            ('{"type":"array","items":{"type":"string"}}', "ARRAY<STRING>", '"a"', CoercionError),  # [] there
            ('{"type":"object","properties":{}}', "STRUCT<X INT>", "[]", CoercionError),
            (_BYTES, "BYTES", '"?"', CoercionError),
            (_BYTES, "BYTES", "1", CoercionError),
            (_logical("Date"), "DATE", "1.0", CoercionError),  # JsonNode.isInt
            (_logical("Date"), "DATE", "2147483648", CoercionError),
            (_logical("Date"), "DATE", '"2020-01-01"', CoercionError),
            (_logical("Date"), "DATE", "2000000000", OutOfRangeError),  # no year of Python's
            (_logical("Time"), "TIME", "-1", CoercionError),
            (_logical("Time"), "INT", "86400001", CoercionError),
            (_DECIMAL, "DECIMAL(6, 2)", "12.345", OutOfRangeError),
            (_DECIMAL, "DECIMAL(6, 2)", "12345.6", OutOfRangeError),
            (_DECIMAL, "DECIMAL(6, 2)", "1e999999", OutOfRangeError),
            (_DECIMAL, "DECIMAL(6, 2)", "true", CoercionError),
            ('{"type":"string"}', "STRING", "null", DecodeError),  # required: Connect's, not JSON Schema's
            ('{"type":"array","items":{"type":"string"}}', "ARRAY<STRING>", "[null]", DecodeError),
            (
                '{"type":"object","connect.type":"map","additionalProperties":{"type":"integer"}}',
                "MAP<STRING, BIGINT>",
                "[]",
                CoercionError,
            ),
            (
                '{"type":"array","connect.type":"map","items":{"type":"object","properties":{"key":{"type":["null","string"]},'
                '"value":{"type":"string"}}}}',
                "MAP<STRING, STRING>",
                '[{"key":"a","value":"a","more":1}]',
                CoercionError,
            ),
        ],
    )  # fmt: skip
    def test_what_does_not_fit_is_refused(self, schema: str, column: str, body: str, error: type[DecodeError]) -> None:
        with pytest.raises(error) as raised:
            _one(schema, column, body)
        assert re.search(r"[Aa]t A\b", raised.value.message)
        if isinstance(raised.value, CoercionError):
            assert raised.value.path.startswith("->A")


class TestTypes:
    """`test_connect_path` has every pair of types, and what is within nothing."""

    def test_an_absent_property_of_a_wrong_type_is_refused_too(self) -> None:
        with pytest.raises(
            IncompatibleTypeError, match=r"^At A, .* cannot read the writer's type string as type int32"
        ):
            _read('{"type":"object","properties":{"a":{"type":"string"}}}', "A INT", "{}")

    def test_the_root_has_an_empty_path(self) -> None:
        with pytest.raises(IncompatibleTypeError) as raised:
            _read('{"type":"string"}', "A INT", '"a"')
        assert (raised.value.path, raised.value.writer_type, raised.value.column_type) == ("", "string", "struct")


class TestCase:
    _TWO = (
        '{"type":"object","properties":{"FOO":{"type":["null","string"],"connect.index":0},'
        '"foo":{"type":["null","string"],"connect.index":1}}}'
    )

    def test_unique_prefers_the_exact_name(self) -> None:
        assert _read(self._TWO, "FOO STRING", '{"FOO":"a","foo":"b"}', rule=CaseRule.UNIQUE) == {"FOO": "a"}

    def test_unique_refuses_what_is_not_decided(self) -> None:
        with pytest.raises(AmbiguousFieldError, match=r"^Column 'Foo' could be fed by several fields"):
            _read(self._TWO, "`Foo` STRING", "{}", rule=CaseRule.UNIQUE)

    def test_exact_takes_no_other(self) -> None:
        row = _read(self._TWO, "`Foo` STRING, `foo` STRING", '{"foo":"b"}', rule=CaseRule.EXACT)
        assert row == {"Foo": None, "foo": "b"}

    def test_keys_of_maps_are_data(self) -> None:
        text = '{"type":"object","connect.type":"map","additionalProperties":{"type":"string"}}'
        assert _one(text, "MAP<STRING, STRING>", '{"a":"x","A":"y"}') == {"a": "x", "A": "y"}


class TestUnions:
    _FIELD = "IO.CONFLUENT.CONNECT.JSON.ONEOF.FIELD"
    _SCHEMA = (
        '{"oneOf":[{"type":"null"},{"type":"string"},{"type":"integer"},{"type":"object","properties":{"a":{"type":'
        '"string"}}},{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}]}'
    )

    @pytest.mark.parametrize(
        ("body", "expected"),
        [
            ("null", None),
            ('"x"', (0, "x")),
            ("5", (1, 5)),
            ('{"a":"x"}', (2, {"A": "x"})),  # of several with as many names in common the first
            ('{"a":"x","b":"y"}', (3, {"A": "x", "B": "y"})),
            ("{}", (2, {"A": None})),
        ],
    )
    def test_the_alternative_that_takes_the_node_has_it(self, body: str, expected: tuple[int, object] | None) -> None:
        row = self._row(body)
        if expected is not None:
            wanted: dict[str, object] = {f"{self._FIELD}.{number}": None for number in range(4)}
            wanted[f"{self._FIELD}.{expected[0]}"] = expected[1]
            assert row == {"P": wanted}
        else:
            assert row == {"P": None}

    def test_a_node_that_no_alternative_takes_is_refused(self) -> None:
        with pytest.raises(CoercionError, match=r"^At P, the body has a boolean, but"):
            self._row("true")

    def _row(self, body: str) -> Value:
        text = f'{{"type":"object","properties":{{"p":{self._SCHEMA}}}}}'
        columns = json_schema.columns_from_json_schema(text)
        return json_schema.decoder(text, ReadSpec(columns=columns, case_rule=CaseRule.KSQLDB))(
            f'{{"p":{body}}}'.encode(), 0
        )


class TestRoot:
    def test_an_unwrapped_column_is_the_whole_body(self) -> None:
        assert _read('{"type":"integer"}', "K BIGINT", "5", wrapped=False) == {"K": 5}
        assert _read('{"type":["null","integer"]}', "K BIGINT", "null", wrapped=False) == {"K": None}

    def test_null_is_no_row_where_the_schema_allows_it(self) -> None:
        text = '{"oneOf":[{"type":"null"},{"type":"object","properties":{"a":{"type":"string"}}}]}'
        assert _read(text, "A STRING", "null") is None

    def test_null_is_refused_where_it_does_not(self) -> None:
        with pytest.raises(DecodeError, match=r"^At the root, the body is null, and .* does not allow"):
            _read('{"type":"object","properties":{"a":{"type":"string"}}}', "A STRING", "null")

    def test_without_columns_the_json_comes_as_it_is(self) -> None:
        decode = json_schema.decoder("not even looked at", ReadSpec())
        assert decode(b'\0\0\0\0\x01{"a":[1,2.5,"x",null]}', 5) == {"a": [1, 2.5, "x", None]}

    def test_a_schema_is_needed_for_columns(self) -> None:
        with pytest.raises(SchemaError, match=r"^JSON_SR bodies cannot be read without the schema"):
            json_schema.decoder(None, ReadSpec(columns=parse_columns("A INT")))

    def test_a_map_has_string_keys(self) -> None:
        with pytest.raises(ColumnError, match=r"^JSON only supports MAPs with STRING keys"):
            json_schema.decoder("{}", ReadSpec(columns=parse_columns("A MAP<INT, INT>")))

    def test_only_one_column_is_unwrapped(self) -> None:
        with pytest.raises(ColumnError, match=r"^Only a single column can be un-wrapped, but there are 2: "):
            json_schema.decoder("{}", ReadSpec(columns=parse_columns("A INT, B INT"), wrap=False))

    def test_a_body_that_is_cut_off_or_extended_is_refused(self) -> None:
        text = '{"type":"object","properties":{"a":{"type":"string"}}}'
        with pytest.raises(TruncatedBodyError):
            _read(text, "A STRING", '{"a":"')
        with pytest.raises(TrailingBytesError):
            _read(text, "A STRING", '{"a":"x"}{')
        with pytest.raises(DecodeError, match=r"too deep"):
            _read(text, "A STRING", '{"a":' + "[" * 100_000)

    def test_a_recursive_writer_schema_is_read_as_deep_as_the_columns_go(self) -> None:
        text = '{"type":"object","properties":{"next":{"oneOf":[{"type":"null"},{"$ref":"#"}]},"n":{"type":"integer"}}}'
        row = _read(
            text, "N BIGINT, NEXT STRUCT<N BIGINT, NEXT STRUCT<N BIGINT>>", '{"n":1,"next":{"n":2,"next":{"n":3}}}'
        )
        assert row == {"N": 1, "NEXT": {"N": 2, "NEXT": {"N": 3}}}


class TestProperties:
    @given(columns_and_row, st.sampled_from([CaseRule.UNIQUE, CaseRule.EXACT]))
    def test_what_is_written_under_the_internal_schema_is_read(
        self, given_: tuple[Columns, dict[str, object]], rule: CaseRule
    ) -> None:
        columns, row = given_
        text = json_schema.internal_schema(WriteSpec(columns=columns))
        payload = json_schema.encoder(text, WriteSpec(columns=columns, case_rule=rule))(row, b"\0\0\0\0\x01")
        if b'Infinity"' not in payload:  # a text, where the engine's schema says number
            json_schema.validator(text)(payload[5:])
        assert json_schema.decoder(text, ReadSpec(columns=columns, case_rule=rule))(payload, 5) == row
