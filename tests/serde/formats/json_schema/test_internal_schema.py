"""The JSON Schemas that ksqlDB registers (`JsonSchemaData.fromConnectSchema`), in the key order of Everit's `ToStringVisitor`
and HashMaps, beyond `tests/serde/rules/test_registered_schemas.py`, which has every type. The texts were compared with
Everit's 1.14.3 builders, 800 of them."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given

from srfix.serde import ColumnError, Columns, Role, parse_columns
from srfix.serde.formats import json_schema
from srfix.serde.specs import WriteSpec
from tests.strategies import columns as any_columns


class TestInternalSchema:
    def test_properties_stand_in_the_order_of_a_hash_map_and_have_their_index(self) -> None:
        text = json_schema.internal_schema(
            WriteSpec(columns=parse_columns("ORDERTIME BIGINT, ITEMID STRING, `key` INT, `value` INT"))
        )
        properties = json.loads(text)["properties"]
        indices = [(name, part["connect.index"]) for name, part in properties.items()]
        assert indices == [("ORDERTIME", 0), ("ITEMID", 1), ("value", 3), ("key", 2)]

    def test_names_are_escaped_as_jackson_escapes_them(self) -> None:
        text = json_schema.internal_schema(WriteSpec(columns=parse_columns('"a\x1f\\u001f""é" INT')))
        assert '"a\\u001F\\\\u001f\\"é"' in text

    def test_a_map_of_other_keys_is_refused(self) -> None:
        with pytest.raises(ColumnError, match=r"MAPs with STRING keys: A is MAP<INTEGER, INTEGER>\."):
            json_schema.internal_schema(WriteSpec(columns=parse_columns("A MAP<INT, INT>")))

    def test_a_key_holds_no_map(self) -> None:
        with pytest.raises(ColumnError, match=r"^Map keys, including types that contain maps"):
            json_schema.internal_schema(
                WriteSpec(columns=parse_columns("A STRUCT<M MAP<STRING, INT>>"), wrap=False), role=Role.KEY
            )

    def test_only_a_single_column_is_unwrapped(self) -> None:
        with pytest.raises(ColumnError, match=r"^Only a single column can be un-wrapped.*: A, B\."):
            json_schema.internal_schema(WriteSpec(columns=parse_columns("A INT, B INT"), wrap=False))

    @given(any_columns)
    def test_the_columns_come_back(self, columns: Columns) -> None:
        text = json_schema.internal_schema(WriteSpec(columns=columns))
        assert json_schema.columns_from_json_schema(text, names="keep") == columns
        assert re.match(r'^\{"type":"object","properties":\{', text)
