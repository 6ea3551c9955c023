"""Which Avro schema may follow which: the rules of Java's SchemaCompatibility, where Python differs too.

| the reader's                         | may read the writer's                                  |
|--------------------------------------|--------------------------------------------------------|
| long, float, double                  | narrower numbers: int; int, long; int, long, float     |
| string / bytes                       | bytes / string                                         |
| field with a default                 | a record without the field                             |
| field without a default              | a record that has it, by name or by the reader's alias |
| enum with a default                  | any symbols                                            |
| named type, a namespace apart        | the same name: the namespace plays no part             |
| named type with an alias             | the type that the alias names in full                  |
| union                                | what one of its branches reads; each branch of a union |
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Final

import pytest

from srfix.serde import CompatibilityLevel, SchemaError, UsageError, incompatibilities
from srfix.serde.schemas.models import Json
from tests.serde.avro_schemas import field, record_of


def record(*fields: Json, name: str = "R", **more: Json) -> str:
    return json.dumps(record_of(name, *fields, **more))


def reads(reader: str, writer: str) -> bool:
    return not incompatibilities(new=reader, existing=[writer], level="BACKWARD")


class TestPromotions:
    READABLE: Final = {
        "long": {"int"},
        "float": {"int", "long"},
        "double": {"int", "long", "float"},
        "string": {"bytes"},
        "bytes": {"string"},
    }
    PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")

    @pytest.mark.parametrize("reader", PRIMITIVES)
    def test_a_primitive_reads_itself_and_what_is_promoted_to_it(self, reader: str) -> None:
        found = {writer for writer in self.PRIMITIVES if reads(json.dumps(reader), json.dumps(writer))}
        assert found == {reader, *self.READABLE.get(reader, ())}


class TestFields:
    def test_a_new_field_needs_a_default(self) -> None:
        old = record(field("f1"))
        (reason,) = incompatibilities(new=record(field("f1"), field("f3", "int")), existing=[old], level="BACKWARD")
        assert reason.startswith("The new schema cannot read the existing one: the reader's field 'f3'")
        assert reason.endswith(" at /fields/1.")
        assert reads(record(field("f1"), field("f3", ["null", "int"], default=None)), old)
        assert reads(record(field("f1"), field("f3", "int", default="x")), old), "a bad default is a default"

    def test_a_removed_field_is_no_matter_and_letter_case_tells_fields_apart(self) -> None:
        assert reads(record(field("f1")), record(field("f1"), field("f2")))
        assert not reads(record(field("F1")), record(field("f1")))

    def test_an_alias_of_the_reader_finds_the_field(self) -> None:
        assert reads(record(field("new", aliases=["old"])), record(field("old")))
        assert not reads(record(field("new")), record(field("old", aliases=["new"])))

    def test_every_reason_is_given_in_a_stable_order(self) -> None:
        reasons = incompatibilities(
            new=record(field("a", "int"), field("c"), field("b")),
            existing=[record(field("a"))],
            level="BACKWARD",
        )
        assert reasons == tuple(sorted(reasons))
        assert len(reasons) == 3


class TestNames:
    def test_another_name_is_refused(self) -> None:
        assert not reads(record(name="Q"), record(name="A"))

    def test_the_namespace_plays_no_part(self) -> None:
        assert reads(record(name="a.R"), record(name="b.R"))
        assert reads(record(namespace="a"), record())

    def test_an_alias_counts_by_its_full_name_in_the_readers_namespace(self) -> None:
        reader = record(name="n.New", aliases=["Old"])
        assert reads(reader, record(name="n.Old"))
        assert not reads(reader, record(name="other.Old"))
        assert reads(record(name="n.New", aliases=["other.Old"]), record(name="other.Old"))
        assert reads(record(name="New", aliases=["Old"]), record(name="Old"))
        assert reads(record(name="Ž"), record(name="Ž"))


class TestEnumsAndFixed:
    def test_a_missing_symbol_needs_a_default(self) -> None:
        writer = '{"type":"enum","name":"E","symbols":["A","B","C"]}'
        (reason,) = incompatibilities(
            new='{"type":"enum","name":"E","symbols":["A"]}', existing=[writer], level="BACKWARD"
        )
        assert "the reader's enum lacks the symbols B, C at /symbols" in reason
        assert reads('{"type":"enum","name":"E","symbols":["A"],"default":"A"}', writer)

    def test_a_fixed_keeps_its_size(self) -> None:
        one, two = (f'{{"type":"fixed","name":"F","size":{size}}}' for size in (1, 2))
        assert reads(one, one)
        assert not reads(two, one)


class TestWherePythonsLibraryDiffers:
    def test_an_error_is_a_record(self) -> None:
        error = json.dumps({"type": "error", "name": "R", "fields": []})
        assert reads(error, error)
        assert reads(record(), error)

    @pytest.mark.parametrize(
        "kind",
        [
            {"type": "string", "logicalType": "made-up"},
            {"type": "string", "logicalType": "date"},
            {"type": "fixed", "name": "D", "size": 1, "logicalType": "decimal", "precision": 99},
        ],
    )
    def test_a_logical_type_neither_warns_nor_counts(self, kind: Json) -> None:
        assert reads(record(field("f", kind)), record(field("f", kind)))

    def test_a_recursive_schema_ends(self) -> None:
        node = record(field("next", ["null", "R"]))
        assert reads(node, node)


class TestLevels:
    V1 = record(field("a"))
    V2 = record(field("a"), field("b", default=""))
    V3_WITHOUT_DEFAULT = record(field("a"), field("b"))

    @pytest.mark.parametrize(
        ("level", "accepted"),
        [
            ("NONE", True),
            ("BACKWARD", True),  # V2 has the field
            ("BACKWARD_TRANSITIVE", False),  # V1 has not
            ("FORWARD", True),
            ("FORWARD_TRANSITIVE", True),
            ("FULL", True),
            ("FULL_TRANSITIVE", False),
        ],
    )
    def test_only_transitive_levels_look_past_the_latest(self, level: str, accepted: bool) -> None:
        reasons = incompatibilities(new=self.V3_WITHOUT_DEFAULT, existing=[self.V1, self.V2], level=level)
        assert (not reasons) == accepted

    def test_forward_asks_the_other_way_round(self) -> None:
        (reason,) = incompatibilities(new=record(), existing=[self.V1], level="FORWARD")
        assert reason.startswith("The existing schema cannot read the new one: the reader's field 'a'")
        assert incompatibilities(new=record(), existing=[self.V1], level="BACKWARD") == ()

    @pytest.mark.parametrize("level", CompatibilityLevel)
    def test_the_first_schema_is_accepted_and_each_may_follow_itself(self, level: CompatibilityLevel) -> None:
        for text in (self.V1, self.V2, self.V3_WITHOUT_DEFAULT):
            for existing in ([], [text, text]):
                assert incompatibilities(new=text, existing=existing, level=level.value) == ()

    def test_an_unknown_level_is_named(self) -> None:
        with pytest.raises(UsageError, match="The compatibility level 'backward' is not known;"):
            incompatibilities(new='"int"', existing=[], level="backward")

    def test_another_schema_type_is_named(self) -> None:
        with pytest.raises(UsageError, match=r"^srfix compares schemas of the types AVRO and PROTOBUF, not 'JSON'\.$"):
            incompatibilities(new="{}", existing=[], level="BACKWARD", schema_type="JSON")


class TestBadSchemas:
    @pytest.mark.parametrize(
        "text",
        [
            "",
            "not json",
            "1",
            "null",
            "[1]",
            '{"type":"recor"}',
            '{"type":"record","name":"A"}',
            '{"type":"record","name":"A","fields":[1]}',
            '{"type":"record","name":"A","fields":[{"name":"f"}]}',
            '{"type":"record","name":"B-D","fields":[]}',
            '{"type":"record","name":"A","fields":[{"name":"f-g","type":"int"}]}',
            '{"type":"enum","name":"E","symbols":1}',
        ],
    )
    def test_each_is_a_schema_error_on_either_side(self, text: str) -> None:
        with pytest.raises(SchemaError, match="The text is not an Avro schema"):
            incompatibilities(new=text, existing=[], level="NONE")
        with pytest.raises(SchemaError):
            incompatibilities(new='"int"', existing=[text], level="FULL")


@pytest.mark.slow
class TestImport:
    def test_importing_the_module_does_not_load_avro(self) -> None:
        code = "import sys, srfix.serde.compatibility; sys.exit('avro' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
