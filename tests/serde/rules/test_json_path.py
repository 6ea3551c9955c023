"""Every JSON node by every column type, read by plain JSON and, as up to 0.28.1, by JSON_SR.

| column | takes |
|---|---|
| BOOLEAN | a boolean only |
| INTEGER, BIGINT, DOUBLE | a number, narrowed as Java does; a string that is parsed as that type |
| STRING | everything: a scalar's text, an object's compact JSON, `[a, b]` of an array |
| DATE, TIME, TIMESTAMP | days, milliseconds of a day, milliseconds: a number or a string of one |
| DECIMAL | a number or a string of one, that fits |
| BYTES | a string of base64 |
| ARRAY / MAP, STRUCT | an array / an object |

A node of another class is refused with its path, its Jackson class and the SQL type, null never. Sources:
`KsqlJsonDeserializer`, `JsonSerdeUtils`; what values of one type become is in
`test_json_scalars`.
"""

from __future__ import annotations

import datetime
import decimal
from typing import Final

import pytest

from srfix.serde.casing import CaseRule
from srfix.serde.columns.text import parse_columns
from srfix.serde.deserializer import JsonDeserializer, JsonSchemaDeserializer
from srfix.serde.errors import CoercionError, IncompatibleTypeError
from srfix.serde.interface import SerdeContext
from srfix.serde.resolve.policies import ById
from srfix.serde.wire import SchemaId, frame_id
from tests.serde.fakes import MemoryRegistry

VALUE: Final = SerdeContext("t")
DAY_2: Final = datetime.date(1970, 1, 3)
MILLIS_2: Final = datetime.time(0, 0, 0, 2000)
AT_2: Final = datetime.datetime(1970, 1, 1, 0, 0, 0, 2000, tzinfo=datetime.UTC)

NODES: Final = {
    "BooleanNode": "true",
    "IntNode": "2",
    "LongNode": "4294967298",
    "BigIntegerNode": "36893488147419103234",
    "DecimalNode": "2.5",
    "TextNode": '"2"',
    "ArrayNode": "[2]",
    "ObjectNode": '{"x":2}',
}
SQL_TYPES: Final = {
    "BOOLEAN": "BOOLEAN",
    "INT": "INTEGER",
    "BIGINT": "BIGINT",
    "DOUBLE": "DOUBLE",
    "STRING": "STRING",
    "BYTES": "BYTES",
    "DATE": "DATE",
    "TIME": "TIME",
    "TIMESTAMP": "TIMESTAMP",
    "DECIMAL(5, 2)": "DECIMAL(5, 2)",
    "ARRAY<INT>": "ARRAY<INT>",
    "MAP<STRING, INT>": "MAP<VARCHAR, INT>",
    "STRUCT<X INT>": "STRUCT<X INT>",
}
OF_2: Final[dict[str, object]] = {
    "INT": 2,
    "BIGINT": 2,
    "DOUBLE": 2.0,
    "STRING": "2",
    "DATE": DAY_2,
    "TIME": MILLIS_2,
    "TIMESTAMP": AT_2,
    "DECIMAL(5, 2)": decimal.Decimal("2.00"),
}
TAKEN: Final[dict[str, dict[str, object]]] = {
    "BooleanNode": {"BOOLEAN": True, "STRING": "true"},
    "IntNode": OF_2,
    # (int) 2³²+2, and what is refused by its value
    "LongNode": {"INT": 2, "BIGINT": 4294967298, "DOUBLE": 4294967298.0, "STRING": "4294967298"}
    | {"TIMESTAMP": datetime.datetime(1970, 2, 19, 17, 2, 47, 298000, tzinfo=datetime.UTC)}
    | {"DATE": CoercionError, "TIME": CoercionError, "DECIMAL(5, 2)": CoercionError},
    # BigInteger.intValue, longValue: 2⁶⁵+2
    "BigIntegerNode": {"INT": 2, "BIGINT": 2, "DOUBLE": 36893488147419103234.0, "STRING": "36893488147419103234"}
    | {"DATE": DAY_2, "TIME": MILLIS_2, "TIMESTAMP": AT_2, "DECIMAL(5, 2)": CoercionError},
    "DecimalNode": OF_2 | {"DOUBLE": 2.5, "STRING": "2.5", "DECIMAL(5, 2)": decimal.Decimal("2.50")},
    "TextNode": OF_2 | {"BYTES": CoercionError},
    "ArrayNode": {"ARRAY<INT>": [2], "STRING": "[2]"},
    "ObjectNode": {"MAP<STRING, INT>": {"x": 2}, "STRUCT<X INT>": {"X": 2}, "STRING": '{"x":2}'},
}


def _plain(body: str, column: str) -> object:
    return JsonDeserializer(parse_columns(f"F {column}"), case_rule=CaseRule.KSQLDB)(body.encode(), VALUE)


def _json_sr_of_2020(body: str, column: str) -> object:
    registry = MemoryRegistry()
    # What the schema says does not count: 0.28.1 skipped five bytes.
    schema_id = registry.seed("t-value", '{"type":"object"}', schema_type="JSON")
    read = JsonSchemaDeserializer(ById(registry), columns=parse_columns(f"F {column}"), case_rule=CaseRule.KSQLDB_2020)
    return read(frame_id(SchemaId(schema_id), body.encode()), VALUE)


@pytest.mark.parametrize("read", [_plain, _json_sr_of_2020])
@pytest.mark.parametrize("column", SQL_TYPES)
class TestEveryPair:
    @pytest.mark.parametrize("node", NODES)
    def test_a_node_is_taken_or_refused(self, read: object, node: str, column: str) -> None:
        assert callable(read)
        body = f'{{"f":{NODES[node]}}}'
        expected = TAKEN[node].get(column, IncompatibleTypeError)
        if not isinstance(expected, type):
            row = read(body, column)
            assert (row["F"], type(row["F"])) == (expected, type(expected))
            return
        with pytest.raises(expected) as raised:
            read(body, column)
        error = raised.value
        assert isinstance(error, IncompatibleTypeError | CoercionError)
        assert error.path == "$.F"
        if isinstance(error, IncompatibleTypeError):
            assert (error.writer_type, error.column_type) == (node, SQL_TYPES[column])

    @pytest.mark.parametrize("body", ['{"f":null}', '{"F":null}', "{}", '{"g":1}'])
    def test_null_is_null_and_so_is_what_is_not_there(self, read: object, column: str, body: str) -> None:
        assert callable(read)
        assert read(body, column) == {"F": None}
