"""What Spark's Avro is told for a plan, and what it is not trusted with."""

from __future__ import annotations

import io
import json
import pickle
from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from srfix.serde import CaseRule, EngineRefusedError, Reason, ResolveError, SubjectVersionError
from srfix.serde.columns.text import print_type
from srfix.serde.columns.types import ColumnType
from srfix.serde.formats.table import Format
from srfix.serde.spark import PlannedRefusal, PlannedSchema
from srfix.serde.spark.read.jvm.leaves import Bounds, EntriesToMap, OfFields, OfItems, OfValues, makes
from srfix.serde.spark.read.jvm.read import AFTER, MARK, MARKED, MAX_SHAPES, JvmRead, jvm_read
from srfix.serde.wire import SchemaId
from tests.serde.avro_schemas import MILLIS, array, decimal, entries, enum, fixed, logical, map_of, record
from tests.serde.fuzz.engine_schemas import writer_schema
from tests.serde.spark.read.jvm.plans import Json, plan_of, planned
from tests.strategies import column_types


def nested(levels: int) -> Json:
    return array(nested(levels - 1)) if levels else "int"


def rows_of(read: JvmRead, number: int = 0) -> tuple[dict[str, Any], dict[str, Any]]:
    """The records of a row in the writer's and the reader's schema of a shape."""
    shape = read.shapes[number]
    writer, reader = json.loads(shape.writer_schema), json.loads(shape.reader_schema)
    return {**writer, "fields": writer["fields"][1:-1]}, {**reader, "fields": reader["fields"][:-1]}


def reader_types(read: JvmRead, number: int = 0) -> list[Any]:
    return [part["type"] for part in rows_of(read, number)[1]["fields"]]


def reasons_of(*args: Any, **options: Any) -> tuple[str, ...]:
    with pytest.raises(EngineRefusedError) as caught:
        jvm_read(plan_of(*args, **options))
    assert all(f"\n- {reason}" in caught.value.message for reason in caught.value.reasons)
    return caught.value.reasons


class TestTheSchemas:
    def test_the_readers_fields_stand_in_the_columns_order(self) -> None:
        read = jvm_read(plan_of("B STRING, A INT", record(a="int", junk=["null", "int", "string"], b="string")))
        writer, reader = rows_of(read)
        assert [(part["name"], part["type"]) for part in writer["fields"]] == [
            ("A", "int"),
            ("f1", ["null", "int", "string"]),
            ("B", "string"),
        ]
        assert [(part["name"], part["type"]) for part in reader["fields"]] == [("B", "string"), ("A", "int")]

    def test_records_are_projected_at_every_level(self) -> None:
        inner = record("I", x="int", Y="string")
        schema = record(a=["null", array(map_of(inner))])
        _, reader = rows_of(jvm_read(plan_of("A ARRAY<MAP<STRING, STRUCT<Y STRING, Z INT, X BIGINT>>>", schema)))
        (field,) = reader["fields"]
        projected = field["type"][1]["items"]["values"]
        names_and_types = [(part["name"], part["type"]) for part in projected["fields"]]
        assert names_and_types == [("f1", "string"), ("none1", "null"), ("f0", "long")]

    @pytest.mark.parametrize(
        ("columns", "types", "is_exact"),
        [
            ("A BIGINT, B STRING, C DECIMAL(20, 2), D BOOLEAN", ("int", enum("x"), decimal(20, 2), "boolean"), True),
            ("A DATE, B TIMESTAMP, C DOUBLE, D BYTES", ("int", MILLIS, "float", fixed(3)), True),
            ("A ARRAY<BIGINT>, B MAP<STRING, DOUBLE>", (array("int"), map_of("double")), True),
            ("A INT, NONE STRING, NOT1 DECIMAL(9, 2), NOR2 TIMESTAMP", ("int",), True),
            ("A STRING", ("int",), False),
            ("A STRING", ("boolean",), False),
            ("A DECIMAL(10, 2)", (decimal(9, 1),), False),
            ("A DECIMAL(5, 2)", (decimal(5, 2),), False),  # read with more digits, and looked at
            ("A STRUCT<X INT>", (record("I", x="int"),), False),
            ("A ARRAY<STRING>", (array("int"),), False),
            ("A MAP<STRING, STRING>", (map_of("long"),), False),
            ("A MAP<STRING, INT>", (entries("string", "int"),), False),
            ("A INT, B ARRAY<INT>", ("int",), False),
        ],
    )
    def test_what_has_the_columns_names_and_types_needs_no_cast(
        self, columns: str, types: tuple[Json, ...], is_exact: bool
    ) -> None:
        (shape,) = jvm_read(plan_of(columns, record(**dict(zip("abcd", types, strict=False))))).shapes
        assert shape.is_exact is is_exact

    @pytest.mark.parametrize(
        ("columns", "fields"),
        [
            ("`a-b` INT", ("a-b",)),
            ("a INT, A INT", ("a", "A")),
            ("A INT, f0 INT", ("A", "f0")),
            ("A INT, `_SRFIX_mark` INT", ("A", "_SRFIX_mark")),
        ],
    )
    def test_so_is_what_cannot_be_read_under_the_columns_names(self, columns: str, fields: tuple[str, ...]) -> None:
        schema: Json = {"type": "record", "name": "R", "fields": [{"name": name, "type": "int"} for name in fields]}
        columns = columns.replace("f0", "`f0`").replace("a INT, A", "`a` INT, A")
        read = jvm_read(plan_of(columns, schema, case_rule=CaseRule.EXACT))
        assert not read.shapes[0].is_exact
        assert {part["name"] for part in rows_of(read)[0]["fields"]} == {f"f{n}" for n in range(len(fields))}

    def test_schemas_that_differ_in_names_alone_are_one_shape(self) -> None:
        lower, upper = record("a.Lower", id="long", name="string"), record("b.Upper", ID="long", NAME="string")
        read = jvm_read(plan_of("ID BIGINT, NAME STRING", lower, record(name="string", id="long"), upper))
        assert [shape.schema_ids for shape in read.shapes] == [(1, 3), (2,)]
        assert read.schema_ids == (1, 2, 3)

    def test_a_named_type_that_is_referred_to_twice_is_projected_twice(self) -> None:
        inner = record("I", x="int", y="int")
        read = jvm_read(plan_of("A STRUCT<X INT>, B STRUCT<Y INT>", record(a=inner, b="I")))
        _, reader = rows_of(read)
        assert [part["type"]["fields"][0]["name"] for part in reader["fields"]] == ["f0", "f1"]
        assert reader["fields"][0]["type"]["name"] != reader["fields"][1]["type"]["name"]

    def test_names_aliases_defaults_and_docs_that_java_refuses_do_not_matter(self) -> None:
        field: Json = {"name": "a-b", "type": "int", "default": "no int", "aliases": ["c"]}
        schema = record() | {"aliases": ["x.Y"], "doc": "d", "fields": [field]}
        text = jvm_read(plan_of("`A-B` INT", schema)).shapes[0].writer_schema
        assert all(word not in text for word in ("aliases", "doc", "default", "a-b"))

    @pytest.mark.parametrize(("rule", "unit"), [(CaseRule.UNIQUE, "micros"), (CaseRule.KSQLDB, "millis")])
    def test_logical_types_of_the_writer_are_never_on_its_side(self, rule: CaseRule, unit: str) -> None:
        schema = record(A=MILLIS, B=logical("long", "timestamp-micros"))
        read = jvm_read(plan_of("A BIGINT, B TIMESTAMP", schema, case_rule=rule))
        writer, reader = rows_of(read)
        assert [part["type"] for part in writer["fields"]] == ["long", "long"]
        assert [part["type"] for part in reader["fields"]] == ["long", logical("long", f"timestamp-{unit}")]

    def test_around_the_row_are_the_framing_and_a_mark(self) -> None:
        shape = jvm_read(plan_of("A INT", record(a="int"))).shapes[0]
        written, known = (json.loads(text)["fields"] for text in (shape.writer_schema, shape.reader_schema))
        assert [part["type"] for part in written] == [fixed(5, "f"), "int", "long"]
        assert [part["name"] for part in written[1:]] == [part["name"] for part in known] == ["A", MARK]
        assert fastavro.schemaless_reader(io.BytesIO(AFTER), "long", None) == MARKED
        assert AFTER[0] not in AFTER[1:], "fewer bytes left over cannot look like those"
        assert 0 not in AFTER, "a number in more bytes than it needs ends with zero"

    def test_it_is_made_once_for_a_plan_and_does_not_travel_with_it(self) -> None:
        plan = plan_of("A INT", record(a="int"))
        small = len(pickle.dumps(plan))
        read = jvm_read(plan)
        assert jvm_read(plan) is read
        assert len(pickle.dumps(plan)) == small
        travelled = pickle.loads(pickle.dumps(plan))
        assert (jvm_read(travelled), jvm_read(travelled) is read) == (read, False)
        assert jvm_read(replace(plan, schemas=())).shapes == ()


ACCEPTED: list[tuple[str, Json, Json]] = [
    ("BOOLEAN", "boolean", "boolean"),
    ("INT", "int", "int"),
    ("INT", logical("int", "date"), "int"),
    ("BIGINT", "int", "long"),
    ("BIGINT", "long", "long"),
    ("BIGINT", logical("long", "time-micros"), "long"),
    ("DOUBLE", "float", "double"),
    ("DOUBLE", "double", "double"),
    ("STRING", "string", "string"),
    ("STRING", logical("string", "uuid"), "string"),
    ("STRING", "int", "int"),
    ("STRING", "long", "long"),
    ("STRING", "boolean", "boolean"),
    ("BYTES", "bytes", "bytes"),
    ("DATE", "int", logical("int", "date")),
    ("DATE", logical("int", "date"), logical("int", "date")),
    ("TIMESTAMP", "int", MILLIS),
    ("TIMESTAMP", "long", MILLIS),
    ("TIMESTAMP", logical("long", "timestamp-micros"), logical("long", "timestamp-micros")),
    ("TIMESTAMP", ["long", "null"], ["null", MILLIS]),
    ("TIMESTAMP", ["long"], MILLIS),
    ("DECIMAL(30, 6)", decimal(20, 2), decimal(26, 2)),
]


class TestAcceptedTypes:
    @pytest.mark.parametrize(("column", "writer", "reader"), ACCEPTED, ids=str)
    def test_a_type_is_read_as(self, column: str, writer: Json, reader: Json) -> None:
        read = jvm_read(plan_of(f"A {column}", record(a=writer)))
        assert reader_types(read) == [reader]
        assert read.shapes[0].fix is None

    def test_a_decimal_of_few_digits_in_bytes_is_read_with_more_and_looked_at(self) -> None:
        read = jvm_read(plan_of("A DECIMAL(5, 2)", record(a=decimal(5, 1))))
        assert reader_types(read)[0]["precision"] == 19
        assert read.shapes[0].fix == OfFields(fields=(("A", Bounds(low=-1000, high=1000)),))

    def test_a_time_of_day_is_looked_at_wherever_it_is(self) -> None:
        schema = record(a=array(map_of(["null", logical("int", "time-millis")])))
        read = jvm_read(plan_of("A ARRAY<MAP<STRING, BIGINT>>", schema))
        within = Bounds(low=-1, high=86_400_001)
        assert read.shapes[0].fix == OfFields(fields=(("A", OfItems(items=OfValues(values=within))),))

    def test_what_is_looked_at_in_one_schema_is_not_in_another_of_the_same_types(self) -> None:
        """A time of day and a plain int are the same text to Spark: as one shape, the plain ints out of a day were bad."""
        time, plain = record(a=logical("int", "time-millis")), record(a="int")
        for writers in ((time, plain), (plain, time)):
            shapes = jvm_read(plan_of("A INT", *writers)).shapes
            assert [shape.schema_ids for shape in shapes] == [(1,), (2,)]
            assert [shape.fix is None for shape in shapes] == [writer is plain for writer in writers]

    def test_entries_become_a_map(self) -> None:
        schema = record(a=["null", entries(["null", "string"], "int")], b="int")
        read = jvm_read(plan_of("A MAP<STRING, INT>, B INT", schema))
        fix = read.shapes[0].fix
        assert fix == OfFields(fields=(("A", EntriesToMap(key="key", value="value", values=None)), ("B", None)))
        assert makes(fix)


REFUSED: list[tuple[str, Json, str]] = [
    ("STRUCT<`int` INT, `string` STRING>", ["null", "int", "string"], "a union of several types is a STRUCT"),
    ("INT", ["null"], "it can only be null"),
    ("INT", "null", "null does not feed a column of int32"),
    ("INT", "long", "int64 does not feed a column of int32"),
    ("STRING", "double", "the text of a floating-point number depends on the JVM"),
    ("DECIMAL(10, 2)", decimal(10, 4), "its scale is 4 but the column's is 2: Spark would round"),
    ("DECIMAL(10, 2)", decimal(40, 39), "Spark's decimals have scales from 0 to 38"),
    ("DECIMAL(10, 2)", decimal(9, 2, fixed(4)), "has 9 digits, but the column wants 10"),
    ("DECIMAL(10, 2)", "bytes", "one type is a decimal and the other is plain bytes"),
    ("BYTES", decimal(4, 2), "one type is a decimal and the other is plain bytes"),
    ("INT", {"type": "int", "connect.type": "int16"}, "Connect cuts the number to 8 or 16 bits (connect.type)"),
    ("STRING", ["null", {"type": "string", "connect.default": "x"}], "null is read as its connect.default, 'x'"),
    ("DATE", logical("int", "time-millis"), "int32 (time-millis) does not feed a column of DATE"),
    ("TIMESTAMP", logical("long", "timestamp-nanos"), "a TIMESTAMP holds only whole microseconds"),
    ("INT", array("null"), "it has an array whose items take no bytes"),
]


class TestRefusals:
    @pytest.mark.parametrize(("column", "writer", "why"), REFUSED, ids=[why for _, _, why in REFUSED])
    def test_a_type_that_spark_reads_otherwise_is_refused(self, column: str, writer: Json, why: str) -> None:
        (reason,) = reasons_of(f"A {column}", record(a=writer))
        assert reason.startswith("Schema id 1: ")
        assert why in reason
        if "items take no bytes" not in why:
            assert f"column A ({column.split('<')[0].replace('INT', 'INTEGER')})" in reason

    @pytest.mark.parametrize(
        ("schema", "why"),
        [
            (record(a="int", next=["null", "R"]), "the schema is recursive"),
            (["null", record(a="int")], "its root is a union of null, record R, not a record"),
            ([record(a="int"), record("S", a="int")], "its root is a union of record R, record S, not a record"),
            (record(a="int", b=fixed(2**30)), "the fixed type F has 1,073,741,824 bytes"),
            (record(a="int", b=nested(150)), "its types nest deeper than 100 levels"),
            (
                record(a="int", b=["null", logical("int", "date"), "int"]),
                "a union of null, int (date), int, but Java",
            ),
            (record(a=["null", ["int"]]), "a union of null, union of int, but Java refuses that"),
            (planned(1, {"type": "object"}, schema_type="JSON"), "its format is not Avro"),
        ],
    )
    def test_a_schema_that_spark_must_not_read_is_refused(self, schema: Json | PlannedSchema, why: str) -> None:
        (reason,) = reasons_of("A INT", schema, format=None)
        assert reason.startswith(f"Schema id 1: {why}") or f"it has {why}" in reason

    def test_bare_bytes_are_refused(self) -> None:
        (reason,) = reasons_of("A BYTES", "bytes", wrapped=False)
        assert "bare bytes are written without their length" in reason

    @pytest.mark.parametrize("other", [Format.JSON, Format.JSON_SR, Format.KAFKA])
    def test_other_formats_are_refused(self, other: Format) -> None:
        (reason,) = reasons_of("A INT", format=other)
        assert f"the plan's format is {other.name}" in reason

    def test_a_field_for_two_columns_is_refused(self) -> None:
        (reason,) = reasons_of("A INT, `a` INT", record(a="int"), case_rule=CaseRule.KSQLDB_2020)
        assert "field a feeds several columns, 'A', 'a', under the rule 'ksqldb-2020'" in reason

    def test_an_earlier_field_whose_values_count_is_refused(self) -> None:
        schema = record(A=logical("int", "time-millis"), a="int")
        (reason,) = reasons_of("A BIGINT", schema, case_rule=CaseRule.KSQLDB)
        assert reason.endswith(
            "a later field feeds the column, but a bad value of this field must still make the row bad."
        )

    def test_of_too_many_shapes_those_of_the_fewest_and_oldest_schemas_are_left(self) -> None:
        shapes = [record(a="int", **{f"f{n}": "int" for n in range(number)}) for number in range(MAX_SHAPES + 2)]
        read = jvm_read(plan_of("A INT", *shapes, shapes[0]))
        assert (len(read.shapes), read.left) == (MAX_SHAPES, (2, 3))
        assert read.shape_ids == read.schema_ids == (1, *range(4, MAX_SHAPES + 4))
        assert "2 schemas (2, 3) have shapes beyond the 30" in read.left_over
        assert jvm_read(plan_of("A INT", *shapes[2:])).left == ()

    def test_every_reason_is_named(self) -> None:
        bad = record(a="double", b=record("I", x=["int", "string"], y="long"))
        reasons = reasons_of("A STRING, B STRUCT<X INT, Y INT>", bad, record(a="string"), bad)
        assert [(reason.split(":")[0], reason.split()[4]) for reason in reasons] == [
            (f"Schema id {number}", column) for number in (1, 3) for column in ("A", "B->X", "B->Y")
        ]


@pytest.mark.core
class TestVerdicts:
    def test_a_collision_is_what_the_deserializer_says(self) -> None:
        (verdict,) = jvm_read(plan_of("`aA` INT", record(aa="int", AA="int"))).verdicts
        assert (verdict.schema_ids, verdict.reason, verdict.is_refusal) == ((1,), Reason.AMBIGUOUS_CASE, False)
        assert "'aa', 'AA'" in verdict.message

    @pytest.mark.parametrize(
        ("rule", "expected"),
        [(CaseRule.UNIQUE, 1), (CaseRule.EXACT, 1), (CaseRule.KSQLDB, 2), (CaseRule.KSQLDB_2020, 2)],
    )
    def test_each_rule_is_the_deserializers(self, rule: CaseRule, expected: int) -> None:
        schema = record(Id="int", ID="int", id="int")
        fields = rows_of(jvm_read(plan_of("ID INT", schema, case_rule=rule)))[0]["fields"]
        assert [part["name"] for part in fields].index("ID") == expected

    def test_a_schema_of_another_type_is_a_bad_schema(self) -> None:
        for bad in (planned(5, {"type": "object"}, schema_type="JSON"), planned(5, '{"type": "no such"}')):
            (verdict,) = jvm_read(plan_of("A INT", bad)).verdicts
            assert (verdict.schema_ids, verdict.reason) == ((5,), Reason.BAD_SCHEMA)

    def test_a_problem_of_the_plan_is_taken_as_it_is(self) -> None:
        problem = SubjectVersionError("Not here.")
        (verdict,) = jvm_read(plan_of("A INT", replace(planned(1, record(a="int")), problem=problem))).verdicts
        assert (verdict.reason, verdict.message) == (Reason.NOT_UNDER_SUBJECT, "Not here.")

    def test_refused_ids_are_asked_again_by_others(self) -> None:
        refusals = tuple(
            PlannedRefusal(schema_id=SchemaId(number), reason=Reason.UNKNOWN_ID, error=ResolveError("No such id."))
            for number in (7, 9)
        )
        read = jvm_read(plan_of("A INT", record(a="int"), refusals=refusals))
        (verdict,) = read.verdicts
        assert (verdict.schema_ids, verdict.message, verdict.is_refusal) == ((7, 9), "No such id.", True)
        assert read.schema_ids == (1,)


def _renamed(schema: Json) -> Iterator[str]:
    """All names of named types."""
    match schema:
        case {"name": str(name), "type": "record" | "fixed" | "enum"}:
            yield name
    parts = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    for part in parts:
        yield from _renamed(part)


class TestWhateverTheSchema:
    @given(
        seeds=st.lists(st.integers(0, 2**32), min_size=1, max_size=3),
        type_=column_types(st.sampled_from("aBC")),
        case_rule=st.sampled_from(CaseRule),
        wrapped=st.booleans(),
    )
    def test_it_is_refused_in_words_or_gives_schemas_that_parse(
        self, seeds: list[int], type_: ColumnType, case_rule: CaseRule, wrapped: bool
    ) -> None:
        columns = f"A {print_type(type_)}"
        schemas: list[Json] = [writer_schema(Random(seed)) for seed in seeds]
        roots: list[Json] = [record(a=each, b="int") for each in schemas]
        try:
            read = jvm_read(plan_of(columns, *(roots if wrapped else schemas), case_rule=case_rule, wrapped=wrapped))
        except EngineRefusedError:
            return
        for shape in read.shapes:
            for text in (shape.writer_schema, shape.reader_schema):
                parsed = json.loads(text)
                fastavro.parse_schema(parsed)
                names = list(_renamed(parsed))
                assert len(set(names)) == len(names)
        assert len(read.schema_ids) == len(schemas)
