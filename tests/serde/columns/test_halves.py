"""The halves of a record's columns, and what they may not hold."""

from __future__ import annotations

import pytest

from srfix.serde import ColumnError, parse_columns, print_columns
from srfix.serde.columns.half import check_key_columns, key_columns, require_string_keys

pytestmark = pytest.mark.core


class TestKeyColumns:
    """`LogicalSchema.key`."""

    @pytest.mark.parametrize(
        ("text", "key"),
        [
            ("V INT, K INT KEY, W INT, L STRING KEY", "K INTEGER KEY, L STRING KEY"),
            ("K INT PRIMARY KEY, V INT", "K INTEGER PRIMARY KEY"),
        ],
    )
    def test_the_keys_keep_their_order(self, text: str, key: str) -> None:
        assert print_columns(key_columns(parse_columns(text))) == key

    def test_a_half_may_be_empty(self) -> None:
        assert key_columns(parse_columns("A INT")) == ()


class TestCheckKeyColumns:
    """`GenericKeySerDe.checkUnsupportedSchema`."""

    @pytest.mark.parametrize(
        "type_",
        [
            "MAP<STRING, STRING>",
            "MAP<INTEGER, DOUBLE>",
            "STRUCT<F1 MAP<STRING, INTEGER>>",
            "ARRAY<STRUCT<F ARRAY<MAP<STRING, INTEGER>>>>",
        ],
    )
    def test_a_map_anywhere_in_a_key_is_refused(self, type_: str) -> None:
        message = rf"^Map keys, including types that contain maps, are not supported: the key column 'K' is {type_}, .* 6621\)"
        with pytest.raises(ColumnError, match=message):
            check_key_columns(parse_columns(f"J INT KEY, K {type_} KEY"))

    def test_all_else_may_be_a_key(self) -> None:
        check_key_columns(parse_columns("A ARRAY<STRUCT<B INT>> KEY, C DECIMAL(4, 2) KEY"))
        check_key_columns(())


class TestRequireStringKeys:
    """`AvroDataTranslator.throwOnInvalidSchema` and `KsqlJsonSerdeFactory.validateSchema`, by `SchemaWalker`."""

    @pytest.mark.parametrize(
        ("type_", "path"),
        [
            ("MAP<INT, STRING>", "A"),
            ("STRUCT<B MAP<BOOLEAN, INT>>", "A->B"),
            ("ARRAY<MAP<STRING, MAP<BIGINT, INT>>>", "A->ARRAY->MAP_VAL"),
            ("MAP<MAP<STRING, INT>, INT>", "A"),
        ],
    )
    def test_other_keys_are_refused_with_their_path(self, type_: str, path: str) -> None:
        with pytest.raises(ColumnError, match=rf"MAPs with STRING keys: {path} is MAP<.*>"):
            require_string_keys(parse_columns(f"A {type_}"), "Avro")

    def test_string_keys_are_fine(self) -> None:
        require_string_keys(parse_columns("A MAP<STRING, MAP<VARCHAR, STRUCT<B MAP<STRING, INT>>>>"), "JSON")
