"""What ksqlDB prints of a stream or a table, pasted where columns are asked for.

Sources: `Console.formatFieldType`, `SchemaInfo.toTypeString`, `SqlFormatter`; before 0.10, `Console.formatFieldType` of 5.x.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde import Column, ColumnError, Columns, parse_columns, print_columns
from srfix.serde.columns.types import Array, ColumnType, Decimal, Map, Namespace, ScalarType, Struct
from tests.strategies import avro_names, column_types

DESCRIBED = """
Name                 : USERS
 Field   | Type
------------------------------------------------------------------------------
 ID      | BIGINT           (primary key) (Window type: TUMBLING)
 Name    | VARCHAR(STRING)
 PRICE   | DECIMAL(6, 2)
 ADDRESS | STRUCT<STREET VARCHAR(STRING), zip-code INTEGER, L ARRAY<MAP<STRING, DOUBLE>>>
 HEADS   | ARRAY<STRUCT<KEY VARCHAR(STRING), VALUE BYTES>> (headers)
 HEAD    | BYTES            (header('x'))
------------------------------------------------------------------------------
For runtime statistics and query details run: DESCRIBE <Stream,Table> EXTENDED;
"""
HEADS = " Field | Type\n-----------\n"


class TestDescribe:
    def test_its_table_is_taken_with_the_lines_around_it(self) -> None:
        assert print_columns(parse_columns(DESCRIBED)) == (
            "ID BIGINT PRIMARY KEY, `Name` STRING, PRICE DECIMAL(6, 2), "
            "ADDRESS STRUCT<STREET STRING, `zip-code` INTEGER, L ARRAY<MAP<STRING, DOUBLE>>>"
        )

    def test_before_0_10_the_key_was_the_systems(self) -> None:
        text = """
         Field   | Type
        -------------------------------------
         ROWTIME | BIGINT           (system)
         ROWKEY  | VARCHAR(STRING)  (system)
         USERID  | VARCHAR(STRING)  (key)
         GENDER  | VARCHAR(STRING)
        -------------------------------------
        """
        assert print_columns(parse_columns(text)) == "ROWKEY STRING KEY, USERID STRING, GENDER STRING"

    @pytest.mark.parametrize(
        "text",
        [
            " ID      | BIGINT           (key)\n name    | VARCHAR(STRING)",
            "ID | BIGINT (key)\r\n\r\nname | VARCHAR(STRING)\r\n--------\r\nFor runtime statistics and query details",
            "----------\n ID | BIGINT (key)\n name | VARCHAR(STRING)\n H | BYTES (header('x'))\n",
        ],
    )
    def test_its_rows_are_taken_without_the_line_of_heads(self, text: str) -> None:
        assert print_columns(parse_columns(text)) == "ID BIGINT KEY, `name` STRING"

    def test_a_column_list_is_never_taken_for_rows(self) -> None:
        assert parse_columns("`a | b` INT, -- c | d\nE INT") == (
            Column("a | b", ScalarType.INTEGER),
            Column("E", ScalarType.INTEGER),
        )

    @given(
        st.lists(st.tuples(avro_names, column_types(avro_names)), min_size=1, max_size=4, unique_by=lambda one: one[0])
    )
    def test_whatever_it_prints_is_read_back(self, fields: list[tuple[str, ColumnType]]) -> None:
        columns = tuple(Column(name, type_) for name, type_ in fields)
        for namespace, mark in ((Namespace.KEY, "(key)"), (Namespace.PRIMARY_KEY, "(primary key)")):
            declared = (replace(columns[0], namespace=namespace), *columns)
            described = _described(declared, mark)
            assert parse_columns(described) == declared
            assert parse_columns(described.partition("\n")[2]) == declared  # without the line of heads


def _described(columns: Columns, mark: str) -> str:
    width = max(len(column.name) for column in columns)
    rows = [
        f" {column.name:<{width}} | {_type(column.type):<16}{' ' + mark if column.namespace.is_key else ''}"
        for column in columns
    ]
    return "\n".join([f" {'Field':<{width}} | Type", "-" * 40, *rows, "-" * 40, "For runtime statistics"])


def _type(type_: ColumnType) -> str:
    """`SchemaInfo.toTypeString`."""
    match type_:
        case Array(items):
            return f"ARRAY<{_type(items)}>"
        case Map(values, keys):
            return f"MAP<{_type(keys)}, {_type(values)}>"
        case Struct(fields):
            return f"STRUCT<{', '.join(f'{field.name} {_type(field.type)}' for field in fields) or ' '}>"
        case Decimal(precision, scale):
            return f"DECIMAL({precision}, {scale})"
        case _:
            return "VARCHAR(STRING)" if type_.value == "STRING" else type_.value


class TestCreate:
    @pytest.mark.parametrize(
        "text",
        [
            "CREATE TABLE USERS (ID INTEGER PRIMARY KEY, V STRING) WITH (KAFKA_TOPIC='u)', PARTITIONS=1, WRAP=true);",
            "create or replace source table if not exists `users` (id INT PRIMARY KEY, v VARCHAR)",
            "-- the users\nCREATE TABLE USERS (ID INT PRIMARY KEY, H BYTES HEADER('x'), V STRING);",
        ],
    )
    def test_its_columns_are_taken(self, text: str) -> None:
        assert print_columns(parse_columns(text)) == "ID INTEGER PRIMARY KEY, V STRING"

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (
                HEADS + " A | MONEY",
                r"^The type of A in what DESCRIBE printed cannot be read: .* expected a type: BOOLEAN",
            ),
            (HEADS + " A | BIGINT BIGINT", r"has 'BIGINT' at character 8; expected the end of the type\.$"),
            (HEADS + " A", r"^In the output of DESCRIBE, the line 'A' is not \"name \| type\""),
            (HEADS + "", r"^The column list is empty\."),
            ("CREATE TABLE T AS SELECT * FROM S;", r"expected '\(' and the columns; if the statement has none"),
            ("CREATE OR REPLACE VIEW V (A INT)", r"has 'VIEW' at character 19; expected STREAM or TABLE"),
            ("CREATE STREAM S (A INT) WITH (X='", r"quote that is never closed"),
            ("CREATE STREAM S (A INT) WITH (X=1", r"has the end of the text at character 34; expected '\)'\.$"),
            ("CREATE STREAM S (A INT); SELECT", r"has 'SELECT' at character 26; expected the end of the statement\.$"),
            ("Name : USERS\n ID | BIGINT", r"'ID \| BIGINT'\), but the line 'Name : USERS' is not "),
            ("ID | BIGINT\nNAME | STRI", r"^The type of NAME .* cannot be read: .* expected a type: "),
            ("ID | BIGINT | KEY", r"^The type of ID in a line like DESCRIBE's, "),
        ],
    )
    def test_what_is_no_columns_is_said(self, text: str, message: str) -> None:
        with pytest.raises(ColumnError, match=message):
            parse_columns(text)
