"""What Spark's own Avro is told. That its bytes are the serializers' is in tests/spark/test_writing.py."""

from __future__ import annotations

import json
import re

import pytest

from srfix.serde import BadRowError, EngineRefusedError
from srfix.serde.spark import plan_write, srfix_error_of
from srfix.serde.spark.frame_types import ddl, word_of
from srfix.serde.spark.write.decisions import bad_row_words, frame_row
from srfix.serde.spark.write.jvm import JvmWrite, jvm_write
from tests.serde.fakes import MemoryRegistry
from tests.serde.fakes import spark_struct as struct

Json = dict[str, object]


def told(columns: str, frame: Json, *, cut_times: bool = False) -> JvmWrite:
    """What Spark is told for a frame."""
    plan = plan_write(MemoryRegistry(), "t", columns, cut_times=cut_times)
    return jvm_write(plan, frame_row(plan, frame, None, "value"))


class TestJvmWrite:
    def test_fields_have_numbers_and_logical_types_are_gone(self) -> None:
        write = told("ID BIGINT, `AT` TIMESTAMP, D DATE", struct(d="date", id="integer", At="timestamp"))
        assert json.loads(write.schema)["fields"] == [
            {"name": "f0", "type": ["null", "long"]},
            {"name": "f1", "type": ["null", "long"]},
            {"name": "f2", "type": ["null", "int"]},
        ]
        before, behind = "named_struct('f0', CAST(`id` AS bigint), 'f1', ", ", 'f2', unix_date(`d`))"
        at = "IF(`At` IS NULL OR unix_micros(`At`) % 1000 = 0, unix_millis(`At`), raise_error("
        assert write.row.startswith(f"{before}{at}")
        assert "AT needs whole milliseconds" in write.row
        assert write.row.endswith(behind)
        assert write.is_null is None

    def test_times_are_cut_where_that_is_asked_for(self) -> None:
        write = told("`AT` TIMESTAMP", struct(At="timestamp"), cut_times=True)
        assert write.row == "named_struct('f0', unix_millis(`At`))"

    def test_a_struct_that_is_right_is_not_put_together_again(self) -> None:
        write = told("S STRUCT<A BIGINT, B STRING>", struct(value=struct(s=struct(b="string", a="long"))))
        assert write.row == "`value`"
        assert write.is_null == "`value` IS NULL"
        (field,) = json.loads(write.schema)["fields"]
        assert field["name"] == "s"
        assert [part["name"] for part in field["type"][1]["fields"]] == ["a", "b"]

    def test_fields_that_differ_by_case_alone_are_taken_by_position(self) -> None:
        plan = plan_write(MemoryRegistry(), "t", "S STRUCT<`userId` INT, `USERID` STRING>")
        row = frame_row(plan, struct(s=struct(USERID="string", userId="integer")), None, "value")
        cast = "CAST(`s` AS struct<c0: string, c1: int>)"
        by_position = f"named_struct('f0', {cast}.c1, 'f1', {cast}.c0)"
        assert f"named_struct('f0', IF(`s` IS NULL, NULL, {by_position}))" in jvm_write(plan, row).row

    def test_a_recursive_schema_is_refused(self) -> None:
        text = '{"type":"record","name":"R","fields":[{"name":"next","type":["null","R"]}]}'
        plan = plan_write(MemoryRegistry(), "t", schema=text)
        with pytest.raises(EngineRefusedError) as caught:
            jvm_write(plan, frame_row(plan, struct(next="void"), None, "value"))
        assert caught.value.reasons == ("the schema is recursive",)

    def test_columns_under_a_schema_of_others_are_refused(self) -> None:
        registry = MemoryRegistry()
        registry.seed("t-value", '{"type":"record","name":"R","fields":[{"name":"A","type":"int"}]}')
        plan = plan_write(registry, "t", "A INT", version=1)
        with pytest.raises(EngineRefusedError, match="by Connect's rules"):
            jvm_write(plan, frame_row(plan, struct(A="integer"), None, "value"))

    @pytest.mark.parametrize("type_", [["null", "int", "string"], ["string"]])
    def test_a_union_of_several_types_is_refused(self, type_: list[str]) -> None:
        text = json.dumps({"type": "record", "name": "R", "fields": [{"name": "a", "type": type_}]})
        plan = plan_write(MemoryRegistry(), "t", schema=text)
        with pytest.raises(EngineRefusedError) as caught:
            jvm_write(plan, frame_row(plan, struct(a="string"), None, "value"))
        assert f"a is written as a union of {', '.join(type_)}" in caught.value.reasons[0]

    def test_every_reason_is_named(self) -> None:
        with pytest.raises(EngineRefusedError) as caught:
            told("A INT, B TIME, C DOUBLE", struct(a="long", b="time(6)", c="long"))
        assert caught.value.reasons == (
            "A is bigint, but not every such value fits int",
            "B is time(6): Spark has no exact conversion from it to int (time-millis)",
            "C is bigint, but not every such value fits double",
        )


class TestExplain:
    def test_it_says_what_feeds_what_of_a_frame(self) -> None:
        plan = plan_write(MemoryRegistry(), "t", "ID BIGINT, S STRUCT<A INT, B INT>, NOBODY INT")
        frame = struct(value=struct(id="integer", s=struct(b="integer")), key="binary")
        explained = plan.explain(frame, extended=True).splitlines()
        assert explained[explained.index("  of the frame:") + 1 :] == [
            "    the row is the struct 'value'",
            "    ID ← id int",
            "    S ← s struct<`b`: int>",
            "    S->A ← not in the frame: null",
            "    S->B ← b int",
            "    NOBODY ← not in the frame: null",
            "  engine: jvm, every cast is exact",
        ]

    @pytest.mark.parametrize(
        ("type_", "engine"),
        [
            ("long", "engine: arrow; jvm cannot be used: ID is bigint, but not every such value fits int"),
            ("string", "engine: none. The frame's rows cannot be written as values of topic 't': ID is string"),
        ],
    )
    def test_it_says_which_engine_writes_it(self, type_: str, engine: str) -> None:
        plan = plan_write(MemoryRegistry(), "t", "ID INT")
        assert engine in plan.explain(struct(id=type_), extended=True).splitlines()[-1]


class TestSql:
    def test_types_in_words(self) -> None:
        map_ = {"type": "map", "keyType": "string", "valueType": {"type": "array", "elementType": "long"}}
        assert ddl(struct(m=map_)) == "struct<`m`: map<string, array<bigint>>>"
        assert word_of("varchar(3)") == "string"
        assert word_of({"type": "udt", "sqlType": struct()}) == "struct"


@pytest.mark.core
class TestBadRowWords:
    def test_the_driver_makes_an_error_of_them(self) -> None:
        plan = plan_write(MemoryRegistry(), "t", "ID INT")
        before, behind = bad_row_words(plan, "''")
        said = f"{_text(before)}A is null.{_text(behind)}"
        error = srfix_error_of(RuntimeError(f"[USER_RAISED_EXCEPTION] {said} SQLSTATE: P0001"))
        assert isinstance(error, BadRowError)
        assert error.message == said
        assert (error.topic, error.reason.value) == ("t", "ENCODE_FAILED")


def _text(sql: str) -> str:
    """What the SQL of constants gives."""
    found = re.findall(r"X'([0-9a-f]*)', 'UTF-8'|'([^']*)'", sql)
    return "".join(bytes.fromhex(coded).decode() or plain for coded, plain in found)
