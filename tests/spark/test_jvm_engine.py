"""The jvm engine beside the deserializer, row for row; and what of it sessions must not change."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from typing import Any, cast, get_args

import pytest
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from srfix.serde import BadRow, CaseRule, Reason, ResolveError, SerdeContext, deserialize_many
from srfix.serde.spark import OnBadRow, PlannedRefusal, ReadPlan, from_registry
from srfix.serde.spark.read.jvm.read import AFTER
from srfix.serde.spark.releases import lacks_arrow
from srfix.serde.wire import SchemaId, frame_id
from tests.bench import spark_data
from tests.bench.spark_by_hand import decode_with_from_avro
from tests.serde.avro_schemas import array, entries, enum, logical, record
from tests.serde.spark.read.jvm.plans import Json, plan_of, planned
from tests.spark.parity import jvm_decoded
from tests.spark.payloads import payload_of


def decoded(spark: SparkSession, plan: ReadPlan, payloads: Sequence[bytes | None]) -> list[dict[str, Any]]:
    """What the engine makes of payloads, in their order."""
    frame = spark.createDataFrame(list(enumerate(payloads)), "i int, payload binary")
    rows = frame.select("i", jvm_decoded(plan, F.col("payload")).alias("d")).collect()
    return [row["d"].asDict(recursive=True) for row in sorted(rows, key=lambda row: cast("int", row["i"]))]


def expected(plan: ReadPlan, payloads: Sequence[bytes | None]) -> list[Any]:
    """What the deserializer makes of them."""
    return list(deserialize_many(payloads, SerdeContext("t"), plan.deserializer(), on_error="quarantine"))


def same(value: object) -> object:
    """A value such that equal ones are equal, whatever Spark makes of them in Python."""
    match value:
        case float():
            return value.hex()
        case datetime.datetime():
            return value.astimezone(datetime.UTC)
        case bytearray():
            return bytes(value)
        case dict():
            return {name: same(part) for name, part in value.items()}
        case list():
            return [same(part) for part in value]
        case _:
            return value


def check(spark: SparkSession, plan: ReadPlan, payloads: Sequence[bytes | None]) -> list[str | None]:
    """Both are equal; the reasons."""
    made = decoded(spark, plan, payloads)
    for payload, wanted, got in zip(payloads, expected(plan, payloads), made, strict=True):
        if isinstance(wanted, BadRow):
            assert got["reason"] is not None, (payload, wanted, got)
            assert got["reason"] in (wanted.reason.value, Reason.DECODE_FAILED.value), (payload, wanted, got)
            assert got["message"], payload
        else:
            assert got["reason"] == (Reason.TOMBSTONE.value if wanted is None else None), (payload, wanted, got)
            assert same(got["row"]) == same(wanted), payload
        assert (got["row"] is None) == (got["reason"] is not None)
    return [got["reason"] for got in made]


@contextmanager
def settings(spark: SparkSession, **values: str) -> Iterator[None]:
    before = {name: spark.conf.get(name, None) for name in values}
    for name, value in values.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)


@pytest.mark.smoke
class TestParity:
    @pytest.mark.parametrize("rule", CaseRule)
    def test_each_case_rule_feeds_the_same_columns(self, spark: SparkSession, rule: CaseRule) -> None:
        schema = record(id="long", ID="int", Name="string", sub=record("I", x="int", X="long", Y="int"))
        value = {"id": 1, "ID": 2, "Name": "n", "sub": {"x": 3, "X": 4, "Y": 5}}
        plan = plan_of("ID BIGINT, NAME STRING, SUB STRUCT<X BIGINT, Y BIGINT>", schema, case_rule=rule)
        assert check(spark, plan, [payload_of(1, schema, value)]) == [None]

    def test_bare_values(self, spark: SparkSession) -> None:
        schemas: list[Json] = ["string", ["null", "int"], enum("A", "B")]
        payloads = [
            payload_of(number, schemas[number - 1], value) for number, value in ((1, "x"), (2, None), (2, 7), (3, "B"))
        ]
        plan = plan_of("A STRING", *schemas, wrapped=False)
        assert (
            check(spark, plan, [*payloads, payloads[0][:-1], payloads[0] + b"x"]) == [None] * 4 + ["DECODE_FAILED"] * 2
        )

    def test_entries_with_a_key_twice_keep_the_last_value(self, spark: SparkSession) -> None:
        schema = record(a=array(entries(["null", "string"], ["null", "int"])))
        values = [
            [[{"key": "k", "value": 1}, {"key": "l", "value": 2}, {"key": "k", "value": None}], []],
            [[{"key": "k", "value": 1}]],
        ]
        payloads = [payload_of(1, schema, {"a": value}) for value in values]
        for policy in ("EXCEPTION", "LAST_WIN"):
            with settings(spark, **{"spark.sql.mapKeyDedupPolicy": policy}):
                assert check(spark, plan_of("A ARRAY<MAP<STRING, INT>>", schema), payloads) == [None, None]

    def test_no_value_is_cut_to_the_columns_digits(self, spark: SparkSession) -> None:
        schema = record(
            a=logical("bytes", "decimal", precision=5, scale=2),
            b=["null", logical("bytes", "decimal", precision=38, scale=0)],
        )
        numbers = (99_999, 100_000, -99_999, -100_000, 2**64 + 5, 2**63, 10**38 - 1, 10**38)
        payloads = [
            payload_of(
                1,
                schema,
                {"a": one.to_bytes(20, "big", signed=True), "b": other and other.to_bytes(20, "big", signed=True)},
            )
            for number in numbers
            for one, other in ((number, None), (1, number))
        ]
        plan = plan_of("A DECIMAL(5, 2), B DECIMAL(38, 0)", schema)
        bad = "DECODE_FAILED"
        firsts, seconds = [None, bad, None, bad, bad, bad, bad, bad], [None, None, None, None, None, None, None, bad]
        assert check(spark, plan, payloads) == [reason for pair in zip(firsts, seconds, strict=True) for reason in pair]


@pytest.mark.smoke
class TestFramesWithoutARow:
    def test_reasons_are_those_of_the_deserializer(self, spark: SparkSession) -> None:
        bad = planned(2, {"type": "object"}, schema_type="JSON")
        refused = PlannedRefusal(
            schema_id=SchemaId(3), reason=Reason.NOT_UNDER_SUBJECT, error=ResolveError("Not here.")
        )
        plan = plan_of(
            "A INT", planned(1, record(a="int")), bad, planned(4, record(a="int", b="string")), refusals=(refused,)
        )
        payloads = [
            None,
            b"",
            b"\0",
            b"\0\0\0\0",
            b"\1",
            b"\1" * 16,
            b"\1" * 17,
            b"{}",
            b"[1]",
            b'"x"',
            b"\x7f",
            b"\xff" * 9,
        ]
        payloads += [frame_id(schema_id, b"\2") for schema_id in (1, 2, 3, 4, 5, 2**31 - 1)]
        payloads += [b"\0" + number.to_bytes(4, "big") + b"\2" for number in (0, 2**31, 2**31 + 5, 2**32 - 1)]
        made = decoded(spark, plan, payloads)
        for payload, wanted, got in zip(payloads, expected(plan, payloads), made, strict=True):
            if payload == frame_id(3, b"\2"):
                assert (got["reason"], got["message"]) == ("NOT_UNDER_SUBJECT", "Not here.")
            elif payload == frame_id(4, b"\2"):
                assert got["reason"] == "DECODE_FAILED"
            elif isinstance(wanted, BadRow):
                assert got["reason"] == wanted.reason.value
                if wanted.reason in (Reason.TOO_SHORT, Reason.BAD_MAGIC, Reason.BAD_ID):
                    assert wanted.error.message.endswith(got["message"])
            else:
                assert got["reason"] == (None if wanted else "TOMBSTONE")

    def test_what_the_plan_does_not_know_goes_to_the_fallback_alone(self, spark: SparkSession) -> None:
        refused = PlannedRefusal(schema_id=SchemaId(3), reason=Reason.UNKNOWN_ID, error=ResolveError("No."))
        plan = plan_of("A INT", record(a="int"), planned(2, "no schema"), refusals=(refused,))
        payloads = [
            None,
            frame_id(1, b"\2"),
            frame_id(1, b""),
            frame_id(2, b""),
            frame_id(3, b"\2"),
            frame_id(9, b""),
            b"{",
            b"\1" * 20,
        ]

        def fallback(payload: Column) -> Column:
            row = F.lit(None).cast("struct<A: int>")
            found = F.struct(row.alias("row"), F.hex(payload).alias("reason"), F.lit("fallback").alias("message"))
            return F.when(payload.isNotNull(), found)

        frame = spark.createDataFrame(list(enumerate(payloads)), "i int, payload binary")
        column = jvm_decoded(plan, F.col("payload"), fallback=fallback)
        made = [row["d"] for row in frame.select("i", column.alias("d")).orderBy("i").collect()]
        assert [row["reason"] for row in made[:4]] == ["TOMBSTONE", None, "DECODE_FAILED", "BAD_SCHEMA"]
        assert [(row["reason"], row["message"]) for row in made[4:]] == [
            (payload.hex().upper(), "fallback") for payload in payloads[4:] if payload
        ]

    def test_a_plan_without_schemas_knows_nothing(self, spark: SparkSession) -> None:
        assert [row["reason"] for row in decoded(spark, plan_of("A INT"), [frame_id(1, b"\2"), None])] == [
            "UNKNOWN_ID",
            "TOMBSTONE",
        ]


class TestTraps:
    """Those of Spark's Avro, by name."""

    def test_a_reader_in_other_letters_is_not_null(self, spark: SparkSession) -> None:
        schema = record(userId="long", sub=record("I", Zip="int"))
        payload = payload_of(1, schema, {"userId": 7, "sub": {"Zip": 8}})
        for sensitive in ("true", "false"):
            with settings(spark, **{"spark.sql.caseSensitive": sensitive}):
                (row,) = decoded(spark, plan_of("USERID BIGINT, SUB STRUCT<ZIP INT>", schema), [payload])
                assert row["row"] == {"USERID": 7, "SUB": {"ZIP": 8}}

    def test_a_body_that_cannot_be_read_is_no_struct_of_nulls(self, spark: SparkSession) -> None:
        schema = record(a="string")
        assert decoded(spark, plan_of("A STRING", schema), [frame_id(1, b"\x10ab")])[0]["row"] is None

    def test_a_row_of_nulls_is_a_row(self, spark: SparkSession) -> None:
        schema = record(a=["null", "string"])
        (row,) = decoded(spark, plan_of("A STRING", schema), [payload_of(1, schema, {"a": None})])
        assert row == {"row": {"A": None}, "reason": None, "message": None}

    @pytest.mark.parametrize("columns", ["A INT, B STRING", "A STRING, B STRING", "A BIGINT", "wide"])
    def test_bytes_left_over_or_missing_are_noticed(self, spark: SparkSession, columns: str) -> None:
        wide = {f"c{number}": ["null", "string"] for number in range(30)} if columns == "wide" else {}
        # A time of day is looked at, a text is cast, and the last field may take bytes of what comes after the payload.
        schema = record(
            a=logical("int", "time-millis") if columns in ("A BIGINT", "wide") else "int", **wide, b="string"
        )
        columns = columns.replace("wide", "A BIGINT, B STRING, " + ", ".join(f"{name.upper()} STRING" for name in wide))
        good = payload_of(1, schema, {"a": 5, "b": "text", **dict.fromkeys(wide)})
        marks = [AFTER[first:last] for first in range(5) for last in range(first + 1, 6) if last - first < 5]
        behind = [b"\0", b"\x80\0", *(bytes(range(size)) for size in range(1, 40)), *marks]
        behind += [one + other for one, other in product(marks, repeat=2) if not (one + other).startswith(AFTER)]
        behind += [AFTER[:4] + bytes([AFTER[4] | 0x80]), AFTER[::-1]]
        short = [good[:size] for size in range(len(good))]
        # So long that the string takes all of the mark but some bytes, or more.
        long = [good[:-5] + bytes([2 * (4 + more)]) + b"text" for more in range(1, 9)]
        payloads = [good, *(good + more for more in behind), *short, *long]
        reasons = check(spark, plan_of(columns, schema), payloads)
        assert (reasons[0], None in reasons[1:]) == (None, False)

    def test_a_nested_record_in_another_order_is_not_swapped(self, spark: SparkSession) -> None:
        schema = record(nested=record("I", y="int", x="int"), items=array(record("J", y="int", x="int")))
        plan = plan_of("NESTED STRUCT<X INT, Y INT>, ITEMS ARRAY<STRUCT<X INT, Y INT>>", schema)
        assert check(spark, plan, [frame_id(1, b"\x02\x04\x02\x06\x08\x00")]) == [None]

    def test_a_huge_length_of_a_string_is_a_bad_row(self, spark: SparkSession) -> None:
        payload = frame_id(1, b"\xfe\xff\xff\xff\x0fab")
        assert check(spark, plan_of("A STRING", record(a="string")), [payload]) == ["DECODE_FAILED"]

    def test_a_branch_that_no_union_has_is_a_bad_row(self, spark: SparkSession) -> None:
        plan = plan_of("A INT, B STRING", record(a=["null", "int"], b=enum("X", "Y")))
        payloads = [frame_id(1, body) for body in (b"\0\0", b"\4\2\0", b"\1\2\0", b"\0\4", b"\0\1", b"\x7f\0")]
        assert check(spark, plan, payloads) == [None] + ["DECODE_FAILED"] * 5

    def test_timestamps_are_not_scaled_and_decimals_not_shifted(self, spark: SparkSession) -> None:
        schema = record(a=logical("long", "timestamp-micros"), b=logical("bytes", "decimal", precision=10, scale=2))
        payload = payload_of(1, schema, {"a": 1_700_000_000_123, "b": (1234).to_bytes(2, "big")})
        assert check(spark, plan_of("A TIMESTAMP, B DECIMAL(12, 4)", schema), [payload]) == [None]

    @pytest.mark.parametrize("ansi", ["true", "false"])
    @pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles"])
    def test_a_session_changes_nothing(self, spark: SparkSession, ansi: str, zone: str) -> None:
        schema = record(a=logical("int", "date"), b="long", c="int", d=entries("string", "boolean"))
        values = [
            {"a": -719_162, "b": -62_135_596_800_000, "c": 5, "d": [{"key": "k", "value": True}]},
            {"a": -150_000, "b": -12_219_292_800_001, "c": -5, "d": []},
        ]
        payloads = [payload_of(1, schema, value) for value in values]
        plan = plan_of("A DATE, B TIMESTAMP, C STRING, D MAP<STRING, STRING>", schema)
        changed = {
            "spark.sql.ansi.enabled": ansi,
            "spark.sql.session.timeZone": zone,
            "spark.sql.avro.datetimeRebaseModeInRead": "LEGACY",
            "spark.sql.legacy.avro.allowIncompatibleSchema": "true",
            "spark.sql.legacy.castComplexTypesToString.enabled": "true",
            "spark.sql.codegen.wholeStage": ansi,
        }
        with settings(spark, **changed):
            frame = spark.createDataFrame([(payload,) for payload in payloads], "payload binary")
            column = jvm_decoded(plan, F.col("payload"))
            rows = frame.select(column.getField("row").alias("r")).select(
                F.unix_date("r.A"), F.unix_millis("r.B"), "r.C", F.to_json("r.D")
            )
            assert [tuple(row) for row in rows.collect()] == [
                (-719_162, -62_135_596_800_000, "5", '{"k":"true"}'),
                (-150_000, -12_219_292_800_001, "-5", "{}"),
            ]


class TestTheQuerysText:
    def test_it_is_at_most_twice_as_long_as_by_hand_and_without_workers_a_little_more(
        self, spark: SparkSession
    ) -> None:
        schemas = spark_data.SCHEMAS
        plan = plan_of(spark_data.COLUMNS, *(planned(schema_id, text) for schema_id, text in schemas.items()))
        topic = spark.createDataFrame([(b"",)], "value binary")
        by_hand = _texts(decode_with_from_avro(topic))
        # Without the arrow engine beside it, the query itself says what is wrong with a frame.
        for on_error, (beside, most) in product(get_args(OnBadRow), ((True, 2), (False, 2.2))):
            read = _texts(
                topic.transform(
                    from_registry(plan, on_error=on_error, workers_have_srfix=beside, unknown_ids="resolve")
                )
            )
            most = 2.3 if lacks_arrow() else most
            assert all(ours <= most * theirs for ours, theirs in zip(read, by_hand, strict=True)), (read, by_hand)

    @pytest.mark.parametrize("on_error", get_args(OnBadRow))
    @pytest.mark.parametrize("wide", [None, 50, 23])
    def test_a_stage_is_small_enough_for_hotspot_to_compile(
        self, spark: SparkSession, wide: int | None, on_error: OnBadRow
    ) -> None:
        schemas, columns = spark_data.shapes(30, with_casts=False), spark_data.COLUMNS
        if wide:
            schemas = {1: json.dumps(record(**{f"c{number}": ["null", "string"] for number in range(wide)}))}
            columns = ", ".join(f"C{number} STRING" for number in range(wide))
        plan = plan_of(columns, *(planned(schema_id, text) for schema_id, text in schemas.items()))
        topic = spark.range(1).selectExpr(
            "CAST(CAST(id AS STRING) AS BINARY) AS value",
            "CAST(id AS STRING) AS topic",
            "CAST(id AS INT) AS partition",
            "id AS offset",
        )
        read = topic.transform(from_registry(plan, engine="jvm", on_error=on_error, workers_have_srfix=False))
        assert 1_000 < _largest_method(read.select("offset", "value.*")) < _HUGE_METHOD

    def test_a_thousand_ids_are_a_few_calls_of_the_jvm(
        self, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        plan = plan_of("A INT", *[record(a="int")] * 1000)
        topic = spark.createDataFrame([(frame_id(number, b"\2"),) for number in (1, 500, 1000, 1001)], "value binary")
        literals: list[object] = []
        lit = F.lit

        def counted(value: Any) -> Column:
            literals.append(value)
            return lit(value)

        monkeypatch.setattr(F, "lit", counted)
        read = topic.transform(from_registry(plan, on_error="quarantine", workers_have_srfix=False))
        monkeypatch.undo()
        assert len(literals) < 100
        reasons = [row["_srfix_reason"] for row in read.select("_srfix_reason").collect()]
        assert reasons == [None, None, None, "UNKNOWN_ID"]


_HUGE_METHOD = 8_000
"""HotSpot's `HugeMethodLimit`: bytes of bytecode."""


def _largest_method(frame: Any) -> int:
    """The bytes of the largest method that Spark generates for a query."""
    debug = getattr(frame.sparkSession._jvm.org.apache.spark.sql.execution.debug, "package$")
    code = getattr(debug, "MODULE$").codegenString(frame._jdf.queryExecution().executedPlan())
    return max(map(int, re.findall(r"maxMethodCodeSize:(\d+)", code)))


def _texts(frame: Any) -> tuple[int, int]:
    """The lengths of all plans of a query, and of the physical one as the event log has it.

    Spark counts expressions and lambda variables for as long as a process lives: their numbers count as of one digit.
    """
    execution = frame._jdf.queryExecution()
    formatted = frame.sparkSession._jvm.org.apache.spark.sql.execution.ExplainMode.fromString("formatted")
    texts = execution.toString(), execution.explainString(formatted)
    plans, physical = (len(re.sub(r"(#|\bx_)\d+", r"\g<1>0", text)) for text in texts)
    return plans, physical
