"""The tree of what feeds which column holds all that a decoder needs to know."""

from __future__ import annotations

import dataclasses
import json
from typing import TypeAlias

import pytest

from srfix.serde import AmbiguousFieldError, CaseRule, NothingFedError, ReaderSchema, parse_columns
from srfix.serde.columns.types import STRING
from srfix.serde.connect.coercions import Coercion
from srfix.serde.connect.schema import ConnectType
from srfix.serde.formats.avro.read.decoder import decoder
from srfix.serde.formats.avro.read.resolution import resolved_root
from srfix.serde.formats.avro.writer_type import AvroType
from srfix.serde.formats.json_schema.connect import JsonType, connect_schema
from srfix.serde.projection.tree import Entries, Fields, Items, Projected, Projection, Refused, Scalar, Target
from srfix.serde.projection.walk import project
from srfix.serde.specs import ReadSpec
from tests.serde.avro_schemas import record

Json: TypeAlias = object
MICROS: Json = {"type": "long", "logicalType": "timestamp-micros"}


def _projection(
    schema: Json, columns: str, rule: CaseRule = CaseRule.UNIQUE, *, wrapped: bool = True, reader: Json = None
) -> Projection[AvroType]:
    resolved = resolved_root(
        json.dumps(schema), (), None if reader is None else ReaderSchema(text=json.dumps(reader)), CaseRule.UNIQUE
    )
    return project(AvroType(resolved), ReadSpec(columns=parse_columns(columns), case_rule=rule, wrap=wrapped))


def _fields(projected: Projected[AvroType]) -> Fields[AvroType]:
    assert isinstance(projected.how, Fields)
    return projected.how


def _targets(schema: Json, columns: str, rule: CaseRule = CaseRule.UNIQUE) -> tuple[Target[AvroType], ...]:
    return _fields(_projection(schema, columns, rule).root).targets


def _scalar(schema: Json, columns: str, rule: CaseRule = CaseRule.UNIQUE) -> Scalar:
    (target,) = _targets(schema, columns, rule)
    assert isinstance(target.value.how, Scalar)
    return target.value.how


class TestProject:
    def test_a_target_names_the_field_by_its_place_in_the_body(self) -> None:
        found = _targets(record(x="int", userId="long"), "USERID BIGINT")
        assert [(one.field.number, one.field.name, one.column.name) for one in found] == [(1, "userId", "USERID")]

    def test_a_field_without_a_target_says_how_long_it_is(self) -> None:
        of = _fields(_projection(record(x="int", userId="long"), "USERID BIGINT").root)
        assert of.by_field()[0] == ()
        assert of.fields[0].type.node.kind == "int"

    def test_under_ksqldbs_rule_the_last_field_counts_and_those_before_are_read(self) -> None:
        found = _targets(record(userId="int", USERID="int"), "USERID INT", CaseRule.KSQLDB)
        assert [(one.field.number, one.counts) for one in found] == [(0, False), (1, True)]

    def test_what_letter_case_leaves_open_is_refused(self) -> None:
        with pytest.raises(AmbiguousFieldError):
            _projection(record(userId="int", USERID="int"), "`userid` INT")

    @pytest.mark.parametrize(
        ("writer", "column", "coercion"),
        [
            ("int", "BIGINT", Coercion.SAME),
            ("int", "STRING", Coercion.TEXT),
            ("string", "STRING", Coercion.SAME),
            ({"type": "int", "logicalType": "date"}, "DATE", Coercion.DATE),
            (MICROS, "TIMESTAMP", Coercion.TIMESTAMP),
            (
                {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2},
                "DECIMAL(4, 2)",
                Coercion.DECIMAL,
            ),
        ],
    )
    def test_a_value_has_one_coercion(self, writer: Json, column: str, coercion: Coercion) -> None:
        assert _scalar(record(a=writer), f"A {column}").coercion is coercion

    @pytest.mark.parametrize(("rule", "per_second"), [(CaseRule.UNIQUE, 1_000_000), (CaseRule.KSQLDB, 1_000)])
    def test_the_case_rule_says_whether_units_count(self, rule: CaseRule, per_second: int) -> None:
        assert _scalar(record(a=MICROS), "A TIMESTAMP", rule).per_second == per_second

    def test_an_int_that_connect_cuts_is_named(self) -> None:
        assert _scalar(record(a={"type": "int", "connect.type": "int8"}), "A INT").connect is ConnectType.INT8

    def test_null_and_its_default(self) -> None:
        nullable: Json = ["null", {"type": "int", "connect.default": 5}]
        (target,) = _targets(record(a=nullable), "A INT")
        assert (target.value.writer.is_nullable, target.value.default) == (True, 5)
        (items,) = _targets(record(a={"type": "array", "items": nullable}), "A ARRAY<INT>")
        assert isinstance(items.value.how, Items)
        assert items.value.how.items.default is None

    def test_a_type_that_does_not_feed_its_column_is_refused_where_it_stands(self) -> None:
        entries = record(m={"type": "map", "values": "string"})
        (target,) = _targets(entries, "M MAP<STRING, INT>")
        assert isinstance(target.value.how, Entries)
        assert isinstance(target.value.how.values.how, Refused)
        assert target.value.how.values.path == "->M->MAP_VAL"

    def test_branches_have_their_numbers(self) -> None:
        (target,) = _targets(record(u=["null", "int", "string"]), "U STRUCT<`string` STRING>")
        assert [(one.field.number, one.column.name) for one in _fields(target.value).targets] == [(2, "string")]

    def test_paths_have_the_columns_own_names(self) -> None:
        (target,) = _targets(record(a_b="int"), "`a.b` INT")
        assert target.value.path == "->a.b"

    def test_a_recursive_schema_is_followed_as_far_as_the_columns_go(self) -> None:
        (target,) = _targets(record("R", v="int", next=["null", "R"]), "NEXT STRUCT<V INT>")
        assert [one.value.path for one in _fields(target.value).targets] == ["->NEXT->V"]

    def test_a_schema_that_feeds_nothing_has_no_rows(self) -> None:
        found = _projection(record(x="int"), "A INT").unfed
        assert found is not None
        assert isinstance(found.error(), NothingFedError)

    def test_a_tree_is_frozen(self) -> None:
        projection = _projection("int", "A INT", wrapped=False)
        assert projection.root.path == ""
        with pytest.raises(dataclasses.FrozenInstanceError):
            projection.root.path = "x"  # type: ignore[misc]  # that is the test

    def test_json_schemas_make_the_same_tree(self) -> None:
        text = json.dumps({"type": "object", "properties": {"userId": {"type": "integer"}, "x": {"type": "string"}}})
        root = project(JsonType(connect_schema(text)), ReadSpec(columns=parse_columns("USERID STRING, X STRING"))).root
        assert isinstance(root.how, Fields)
        assert [(one.field.name, one.column.type, one.value.path) for one in root.how.targets] == [
            ("userId", STRING, "->USERID"),
            ("x", STRING, "->X"),
        ]


class TestDefaults:
    WRITER: Json = record(a="int")

    def _reader(self, default: Json, type_: Json) -> Json:
        fields = [{"name": "a", "type": "int"}, {"name": "home", "type": type_, "default": default}]
        return {"type": "record", "name": "R", "fields": fields}

    def test_a_column_that_nothing_feeds_has_the_readers_default(self) -> None:
        (absent,) = _fields(_projection(self.WRITER, "A INT, HOME INT", reader=self._reader(7, "int")).root).absent
        assert absent.default is not None
        assert absent.default.field.default == 7

    def test_fields_inside_a_default_are_matched_by_the_case_rule(self) -> None:
        # As the jvm engine has matched them; fastavro's plan compared them exactly, and read null.
        reader = self._reader({"city": "Bern"}, record("Home", city="string"))
        decode = decoder(
            json.dumps(self.WRITER),
            ReadSpec(
                columns=parse_columns("A INT, HOME STRUCT<CITY STRING>"),
                reader_schema=ReaderSchema(text=json.dumps(reader)),
            ),
        )
        assert decode(b"\x02", 0) == {"A": 1, "HOME": {"CITY": "Bern"}}
