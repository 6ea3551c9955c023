"""The tree of which column is written as which field holds all that an encoder needs to know."""

from __future__ import annotations

import json
from typing import TypeAlias

import pytest

from srfix.serde import EncodeError, SchemaError, parse_columns
from srfix.serde.columns.half import struct_of
from srfix.serde.formats.avro.schema import load
from srfix.serde.formats.avro.write.encoder import encoder, encoder_under
from srfix.serde.formats.avro.write.trees import written
from srfix.serde.formats.avro.writer_type import AvroType
from srfix.serde.projection.tree import Constant, Entries, Free, Items, WriteField, WriteFields, WriteScalar
from srfix.serde.specs import WriteSpec

pytestmark = pytest.mark.core

Json: TypeAlias = object


def _record(*fields: Json, name: str = "R") -> Json:
    return {"type": "record", "name": name, "fields": list(fields)}


def _field(name: str, type_: Json, **more: Json) -> Json:
    return {"name": name, "type": type_, **more}


def _fields(schema: Json, columns: str | None) -> tuple[WriteField[AvroType], ...]:
    type_ = None if columns is None else struct_of(parse_columns(columns))
    how = written(load(json.dumps(schema)), type_).how
    assert isinstance(how, WriteFields)
    return how.fields


class TestWritten:
    def test_columns_are_fields_by_position(self) -> None:
        found = _fields(_record(_field("a_b", "int"), _field("c", "int")), "`a.b` INT, C INT")
        assert [(one.field.name, one.key) for one in found] == [("a_b", "a.b"), ("c", "C")]

    def test_without_columns_a_row_has_the_schemas_names(self) -> None:
        assert [one.key for one in _fields(_record(_field("a", "int")), None)] == ["a"]

    @pytest.mark.parametrize(
        ("field", "missing"),
        [
            (_field("a", "int"), None),
            (_field("a", "int", default=3), Constant(3)),
            (_field("a", ["null", "int"]), Constant(None)),
            (_field("a", ["null", "int"], default=None), Constant(None)),
        ],
    )
    def test_what_a_row_lacks_is_its_default(self, field: Json, missing: Constant | None) -> None:
        (found,) = _fields(_record(field), None)
        assert (found.missing, found.null) == (missing, None)

    def test_parts_are_gone_into(self) -> None:
        schema = _record(
            _field("a", {"type": "array", "items": "int"}),
            _field("m", {"type": "map", "values": "int"}),
            _field("s", {"type": "long", "logicalType": "timestamp-millis"}),
            _field("u", ["int", "string"]),
        )
        hows = [one.value.how for one in _fields(schema, None) if one.value is not None]
        assert isinstance(hows[0], Items)
        assert isinstance(hows[1], Entries)
        assert hows[2:] == [WriteScalar(logical="timestamp-millis"), Free()]

    def test_a_record_that_contains_itself_is_a_tree_that_does(self) -> None:
        schema = _record(_field("next", ["null", "R"]))
        (found,) = _fields(schema, None)
        assert found.value is not None
        assert isinstance(found.value.how, WriteFields)
        assert found.value.how.fields[0] is found
        encode = encoder(json.dumps(schema), WriteSpec())
        assert encode({"next": {"next": None}}, b"") == b"\x02\x00"

    def test_another_number_of_columns_is_refused(self) -> None:
        with pytest.raises(
            SchemaError, match=r"^The record R has 1 fields, but there are 2 columns, so it is not the schema of these"
        ):
            _fields(_record(_field("a", "int")), "A INT, B INT")


def test_null_in_a_union_without_null_is_refused_in_the_same_words_by_both_matchings() -> None:
    text = json.dumps(_record(_field("a", ["int"])))
    by_position = encoder(text, WriteSpec())
    by_name = encoder_under(text, WriteSpec(columns=parse_columns("`a` INT")))
    for encode in (by_position, by_name):
        with pytest.raises(EncodeError, match=r"^1 field does not fit: a is null"):
            encode({"a": None}, b"")
