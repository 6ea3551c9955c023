"""Avro schemas of columns, beyond `tests/serde/rules/test_registered_schemas.py`, which has every type.

Sources: `ConnectSchemas`, `AvroSchemas`, `AvroData`.
"""

from __future__ import annotations

import json
from typing import Any

import fastavro
import pytest
from hypothesis import given

from srfix.serde import Column, ColumnError, Columns, Role, WrittenBy, parse_columns
from srfix.serde.columns.types import INTEGER, Array, Map
from srfix.serde.formats.avro.internal_schema import KSQLDB_FULL_NAME, internal_schema, key_full_name
from srfix.serde.specs import WriteSpec
from tests.serde.avro_schemas import record
from tests.strategies import avro_columns


def _schema(text: str, full_name: str = "n.R") -> str:
    return internal_schema(WriteSpec(columns=parse_columns(text), full_name=full_name))


def _types(text: str) -> list[object]:
    return [field["type"][1] for field in json.loads(_schema(text))["fields"]]


class TestInternalSchema:
    def test_a_flat_one_is_exactly_this_text(self) -> None:
        assert internal_schema(WriteSpec(columns=parse_columns("FOO INT, `bar` STRING"))) == (
            '{"type":"record","name":"KsqlDataSourceSchema","namespace":"io.confluent.ksql.avro_schemas","fields":['
            '{"name":"FOO","type":["null","int"],"default":null},'
            '{"name":"bar","type":["null","string"],"default":null}]}'
        )

    def test_a_nested_record_is_named_by_its_path_and_repeats_no_namespace(self) -> None:
        (address,) = _types("ADDRESS STRUCT<`at` STRUCT<ZIP INT>>")
        at = record("R_ADDRESS_at", ZIP=["null", "int"])
        at["fields"][0]["default"] = None
        expected = record("R_ADDRESS", at=["null", at])
        expected["fields"][0]["default"] = None
        assert address == expected

    def test_an_array_adds_nothing_to_the_path(self) -> None:
        (array,) = _types("A ARRAY<ARRAY<STRUCT<B INT>>>")
        assert isinstance(array, dict)
        assert array["items"][1]["items"][1]["name"] == "R_A"

    def test_a_dot_becomes_an_underscore_in_a_field_but_not_in_the_path_of_a_record(self) -> None:
        text = "`a.b` STRUCT<C INT, D STRUCT<E INT>>"
        (field,) = json.loads(_schema(text))["fields"]
        inner = field["type"][1]
        assert (field["name"], inner["namespace"], inner["name"]) == ("a_b", "n.R_a", "b")
        assert "namespace" not in inner["fields"][1]["type"][1]
        assert inner["fields"][1]["type"][1]["name"] == "b_D"

    def test_a_full_name_without_namespace_has_none(self) -> None:
        assert "namespace" not in json.loads(_schema("A INT", full_name="Plain"))

    def test_spaces_around_the_full_name_do_not_count(self) -> None:
        """KsqlAvroSerdeFactory."""
        assert _schema("A INT", full_name=" n.R ") == _schema("A INT", full_name="n.R")

    @pytest.mark.parametrize("full_name", ["", " ", "n.", "1n.R", "n.R-S", "n. R"])
    def test_a_full_name_that_is_no_avro_name_is_an_error(self, full_name: str) -> None:
        with pytest.raises(ColumnError, match=r"^The column 'the root' is not compatible with Avro"):
            _schema("A INT", full_name=full_name)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("`2Bad` INT", r"column '2Bad' is not compatible with Avro: illegal initial character '2'\."),
            ("`a b` INT", r"column 'a b' is not compatible with Avro: illegal character ' '\."),
            ("`€` INT", r"column '€' is not compatible with Avro: illegal initial character '€'\."),
            ("`𝔘` INT", r"column '𝔘' is not compatible with Avro: illegal initial character '𝔘'\."),
            ("`a²` INT", r"column 'a²' is not compatible with Avro: illegal character '²'\."),
            ("`a.` STRUCT<B INT>", r"column 'a\.' is not compatible with Avro: empty name\."),
            ("A STRUCT<`b-c` INT>", r"column 'b-c' is not compatible with Avro: illegal character '-'\."),
            ("`a.2` STRUCT<B INT>", r"column 'a\.2' is not compatible with Avro: illegal initial character '2'"),
            ("`a.b` INT, `a_b` INT", r"columns 'a\.b' and 'a_b' both become the Avro field 'a_b'\."),
            ("A STRUCT<B STRUCT<C INT>>, A_B STRUCT<D INT>", r"'B' and 'A_B' both need .* record named 'n\.R_A_B'\."),
            ("A STRUCT<B STRUCT<C INT>>, A_B MAP<STRING, INT>", r"'B' and 'A_B' both need .* named 'n\.R_A_B'\."),
        ],
    )
    def test_a_name_that_avro_does_not_allow_is_an_error(self, text: str, message: str) -> None:
        with pytest.raises(ColumnError, match=message):
            _schema(text)

    @given(avro_columns)
    def test_it_is_an_avro_schema_compact_and_stable(self, declared: Columns) -> None:
        text = internal_schema(WriteSpec(columns=declared))
        assert text == internal_schema(WriteSpec(columns=declared))
        assert text == json.dumps(json.loads(text), separators=(",", ":"))
        parsed = fastavro.parse_schema(json.loads(text))
        assert isinstance(parsed, dict)
        assert parsed["name"] == KSQLDB_FULL_NAME


def _created(text: str, **more: Any) -> object:
    return json.loads(
        internal_schema(WriteSpec(columns=parse_columns(text), full_name="n.R", written_by=WrittenBy.CREATE, **more))
    )


def _first(schema: object) -> object:
    assert isinstance(schema, dict)
    return schema["fields"][0]["type"][1]


CONNECT = "org.apache.kafka.connect.data"


class TestConnectsProperties:
    """`AvroData.fromConnectSchema` with `connect.meta.data` on, as CREATE registers, and off (ksql#9238)."""

    def test_a_flat_one_is_exactly_this_text(self) -> None:
        text = internal_schema(WriteSpec(columns=parse_columns("FOO INT"), written_by=WrittenBy.CREATE))
        assert text == (
            '{"type":"record","name":"KsqlDataSourceSchema","namespace":"io.confluent.ksql.avro_schemas","fields":['
            '{"name":"FOO","type":["null","int"],"default":null}],'
            '"connect.name":"io.confluent.ksql.avro_schemas.KsqlDataSourceSchema"}'
        )

    @pytest.mark.parametrize(
        ("column", "type_"),
        [
            (
                "DECIMAL(4, 2)",
                '{"type":"bytes","scale":2,"precision":4,"connect.version":1,"connect.parameters":{"scale":"2",'
                f'"connect.decimal.precision":"4"}},"connect.name":"{CONNECT}.Decimal","logicalType":"decimal"}}',
            ),
            ("DATE", f'{{"type":"int","connect.version":1,"connect.name":"{CONNECT}.Date","logicalType":"date"}}'),
            (
                "MAP<STRING, INT>",
                '{"type":"array","items":{"type":"record","name":"R_A","fields":['
                '{"name":"key","type":["null","string"],"default":null},{"name":"value","type":["null","int"],"default":null}'
                '],"connect.internal.type":"MapEntry"},"connect.name":"n.R_A"}',
            ),
            (
                "STRUCT<B INT>",
                '{"type":"record","name":"R_A","fields":[{"name":"B","type":["null","int"],"default":null}],'
                '"connect.name":"n.R_A"}',
            ),
        ],
    )
    def test_the_order_of_the_properties(self, column: str, type_: str) -> None:
        assert json.dumps(_first(_created(f"A {column}")), separators=(",", ":")) == type_


def test_several_columns_cannot_be_unwrapped() -> None:
    """SerdeUtils.applySinglesUnwrapping."""
    with pytest.raises(ColumnError, match=r"^Only a single column can be un-wrapped.*: A, B\."):
        internal_schema(WriteSpec(columns=parse_columns("A INT, B INT"), wrap=False))


class TestMapsAndKeys:
    def test_other_keys_than_string_are_refused(self) -> None:
        """AvroUtil.throwOnInvalidSchema."""
        columns = (Column("A", Array(Map(INTEGER, INTEGER))),)
        with pytest.raises(ColumnError, match=r"MAPs with STRING keys: A->ARRAY is "):
            internal_schema(WriteSpec(columns=columns))

    @pytest.mark.parametrize("wrapped", [True, False])
    def test_a_key_holds_no_map(self, wrapped: bool) -> None:
        """GenericKeySerDe, ksql#6621."""
        columns = parse_columns("A STRUCT<M MAP<STRING, INT>>")
        with pytest.raises(ColumnError, match=r"^Map keys, including types that contain maps"):
            internal_schema(WriteSpec(columns=columns, wrap=wrapped), role=Role.KEY)
        assert internal_schema(WriteSpec(columns=columns, wrap=wrapped), role=Role.VALUE)

    @pytest.mark.parametrize(
        ("source", "name"),
        [
            ("INPUT", "InputKey"),
            ("MY_TABLE", "MyTableKey"),
            ("_A__B", "ABKey"),
            ("my-source", "My-sourceKey"),
            ("", "Key"),
        ],
    )
    def test_the_name_of_a_key_is_the_sources_in_camel_case(self, source: str, name: str) -> None:
        """AvroFormat.getKeySchemaName."""
        assert key_full_name(source) == f"io.confluent.ksql.avro_schemas.{name}"

    def test_a_name_that_is_taken_twice_by_the_same_type_is_written_once(self) -> None:
        """AvroSchemas names by path; org.apache.avro.Schema writes an equal record once."""
        text = internal_schema(
            WriteSpec(columns=parse_columns("A STRUCT<B STRUCT<C INT>>, A_B STRUCT<C INT>"), full_name="n.R")
        )
        assert text.count('"name":"R_A_B"') == 1
        assert json.loads(text)["fields"][1]["type"] == ["null", "R_A_B"]
