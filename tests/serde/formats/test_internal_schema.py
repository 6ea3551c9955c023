"""The schema that ksqlDB's runtime serializer registers for its columns (facts of ksqlDB 0.10 to 0.28)."""

from __future__ import annotations

import json

import fastavro
import pytest
from hypothesis import given

from srfix.serde.columns import Columns, parse_columns
from srfix.serde.errors import ColumnError
from srfix.serde.formats.avro import KSQLDB_FULL_NAME, internal_schema
from tests.strategies import avro_columns


def _schema(text: str, full_name: str = "n.R") -> str:
    return internal_schema(parse_columns(text), full_name=full_name)


def _types(text: str) -> list[object]:
    return [field["type"][1] for field in json.loads(_schema(text))["fields"]]


class TestInternalSchema:
    def test_a_flat_one_is_exactly_this_text(self) -> None:
        assert internal_schema(parse_columns("FOO INT, `bar` STRING")) == (
            '{"type":"record","name":"KsqlDataSourceSchema","namespace":"io.confluent.ksql.avro_schemas","fields":['
            '{"name":"FOO","type":["null","int"],"default":null},'
            '{"name":"bar","type":["null","string"],"default":null}]}'
        )

    @pytest.mark.parametrize(
        ("column", "type_"),
        [
            ("BOOLEAN", "boolean"),
            ("INT", "int"),
            ("BIGINT", "long"),
            ("DOUBLE", "double"),
            ("STRING", "string"),
            ("BYTES", "bytes"),
            ("DATE", {"type": "int", "logicalType": "date"}),
            ("TIME", {"type": "int", "logicalType": "time-millis"}),
            ("TIMESTAMP", {"type": "long", "logicalType": "timestamp-millis"}),
            ("DECIMAL(4, 2)", {"type": "bytes", "scale": 2, "precision": 4, "logicalType": "decimal"}),
            ("ARRAY<INT>", {"type": "array", "items": ["null", "int"]}),
        ],
    )
    def test_each_type_is_what_ksqldb_makes_of_it(self, column: str, type_: object) -> None:
        assert _types(f"A {column}") == [type_]

    def test_a_nested_record_is_named_by_its_path_and_repeats_no_namespace(self) -> None:
        (street,) = _types("ADDRESS STRUCT<`at` STRUCT<ZIP INT>>")
        assert street == {
            "type": "record",
            "name": "R_ADDRESS",
            "fields": [
                {
                    "name": "at",
                    "type": [
                        "null",
                        {
                            "type": "record",
                            "name": "R_ADDRESS_at",
                            "fields": [{"name": "ZIP", "type": ["null", "int"], "default": None}],
                        },
                    ],
                    "default": None,
                }
            ],
        }

    def test_an_array_adds_nothing_to_the_path(self) -> None:
        (array,) = _types("A ARRAY<ARRAY<STRUCT<B INT>>>")
        assert isinstance(array, dict)
        assert array["items"][1]["items"][1]["name"] == "R_A"

    def test_a_map_is_an_array_of_entries_and_its_values_are_named_map_value(self) -> None:
        (entries,) = _types("M MAP<STRING, STRUCT<A INT>>")
        value = {
            "type": "record",
            "name": "R_M_MapValue",
            "fields": [{"name": "A", "type": ["null", "int"], "default": None}],
        }
        assert entries == {
            "type": "array",
            "items": {
                "type": "record",
                "name": "R_M",
                "fields": [
                    {"name": "key", "type": ["null", "string"], "default": None},
                    {"name": "value", "type": ["null", value], "default": None},
                ],
                "connect.internal.type": "MapEntry",
            },
        }

    def test_nothing_of_connect_is_there_but_the_map_entry(self) -> None:
        text = _schema("A DECIMAL(4, 2), B DATE, C TIMESTAMP, D STRUCT<E INT>, F MAP<STRING, INT>")
        assert text.count("connect.") == text.count("connect.internal.type") == 1

    def test_a_dot_becomes_an_underscore_in_a_field_but_not_in_the_path_of_a_record(self) -> None:
        text = "`a.b` STRUCT<C INT, D STRUCT<E INT>>"
        (field,) = json.loads(_schema(text))["fields"]
        record = field["type"][1]
        assert (field["name"], record["namespace"], record["name"]) == ("a_b", "n.R_a", "b")
        assert "namespace" not in record["fields"][1]["type"][1]
        assert record["fields"][1]["type"][1]["name"] == "b_D"

    def test_a_full_name_without_namespace_has_none(self) -> None:
        assert "namespace" not in json.loads(_schema("A INT", full_name="Plain"))

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("`2Bad` INT", r"^The column '2Bad' is not compatible with Avro: illegal initial character '2'\."),
            ("`a b` INT", r"^The column 'a b' is not compatible with Avro: illegal character ' '\."),
            ("`€` INT", r"^The column '€' is not compatible with Avro: illegal initial character '€'\."),
            ("`𝔘` INT", r"^The column '𝔘' is not compatible with Avro: illegal initial character '𝔘'\."),
            ("`a²` INT", r"^The column 'a²' is not compatible with Avro: illegal character '²'\."),
            ("`a.` STRUCT<B INT>", r"^The column 'a\.' is not compatible with Avro: empty name\."),
            ("A STRUCT<`b-c` INT>", r"^The column 'b-c' is not compatible with Avro: illegal character '-'\."),
            ("`a.2` STRUCT<B INT>", r"^The column 'a\.2' is not compatible with Avro: illegal initial character '2'"),
            ("`a.b` INT, `a_b` INT", r"^The columns 'a\.b' and 'a_b' both become the Avro field 'a_b'\."),
            (
                "A STRUCT<B STRUCT<C INT>>, A_B STRUCT<D INT>",
                r"^The columns 'B' and 'A_B' both need a nested record named 'n\.R_A_B'\.",
            ),
            (
                "A STRUCT<B STRUCT<C INT>>, A_B MAP<STRING, INT>",
                r"^The columns 'B' and 'A_B' both need a nested record named 'n\.R_A_B'\.",
            ),
        ],
    )
    def test_a_name_that_avro_does_not_allow_is_an_error(self, text: str, message: str) -> None:
        with pytest.raises(ColumnError, match=message):
            _schema(text)

    @given(avro_columns)
    def test_it_is_an_avro_schema_compact_and_stable(self, declared: Columns) -> None:
        text = internal_schema(declared)
        assert text == internal_schema(declared)
        assert text == json.dumps(json.loads(text), separators=(",", ":"))
        parsed = fastavro.parse_schema(json.loads(text))
        assert isinstance(parsed, dict)
        assert parsed["name"] == KSQLDB_FULL_NAME
