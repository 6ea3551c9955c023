"""The traps of Spark, of its Avro, its data sources, its packaging and its streams: each has a test that is named after it.

What Spark does by itself is shown beside what is done about it: where a later Spark does otherwise, a test here fails, and
what was done about it may go. Modules and tests are named without their `test_`.

| trap | module | test |
|---|---|---|
| jars of Spark's own version cannot be had | serde/spark/packages | for_4_3_they_are_the_versions_that_were_seen_to_work |
| the Kafka source of 4.1 breaks streams on 4.3 | serde/spark/packages | for_4_1_the_kafka_source_is_that_of_4_1 |
| each version may have to be another one | serde/spark/packages | each_version_can_be_given_and_leaves_the_others |
| JAVA_GATEWAY_EXITED says nothing of jars | serde/spark/session/session | with_packages_it_is_they |
| JAVA_GATEWAY_EXITED says nothing of Java | spark/packages | without_java_it_is_not_the_gateway_that_is_blamed |
| Avro and Kafka are not bundled | spark/packages | a_session_that_lacks_jars_says_which_and_start_session_brings_them |
| AVRO_NOT_LOADED_SQL_FUNCTIONS_UNUSABLE | serde/spark/packages | what_spark_says_names_the_jar |
| filters are pushed below and decode again | spark/reading | from_avro_stands_in_the_plan_once_whatever_is_filtered_by |
| a filter calls a Python function again | spark/reading | a_function_in_python_is_called_once_for_each_row |
| inline(array(NULL)) keeps the row | spark/traps | inline_of_an_array_of_null_keeps_the_row |
| the positional cast fails the job under ANSI | spark/traps | a_positional_cast_that_narrows_fails_the_job |
| try_cast makes fields null | spark/traps | try_cast_makes_a_field_null_and_keeps_the_struct |
| narrowing must be refused when planning | spark/jvm_engine | narrowing_is_refused_where_a_cast_would_fail_the_job |
| a reader's name in other letters is null | spark/traps | a_reader_field_in_other_letters_is_null_in_every_row |
| caseSensitive is ignored by from_avro | spark/jvm_engine | a_reader_in_other_letters_is_not_null |
| aliases need the full name | serde/spark/jvm/read | names_aliases_defaults_and_docs_that_java_refuses_do_not_matter |
| the projection must go into nested records | serde/spark/jvm/read | records_are_projected_at_every_level |
| a nested record in another order is swapped | spark/traps | a_nested_record_in_another_order_is_not_swapped |
| userId and USERID in one writer | spark/jvm_engine | a_writer_with_userid_twice_is_read |
| time-micros is bigint or time(6) by version | spark/traps | a_time_micros_is_its_number_on_every_version |
| a top-level union of records fails | spark/traps | a_top_level_union_is_refused_by_jvm_and_read_by_arrow |
| a recursive schema fails or is cut | spark/traps | a_recursive_schema_is_refused_by_jvm_and_read_by_arrow |
| recursion is refused by name | serde/spark/jvm/read | a_recursive_schema_is_refused |
| a wrong writer of the same shape | spark/traps | an_id_of_another_subject_is_noticed_though_its_shape_is_the_same |
| bytes left over are not noticed | spark/traps | bytes_left_over_are_noticed_by_us_and_not_by_spark |
| a huge length | spark/jvm_engine | a_huge_length_of_a_string_is_a_bad_row |
| ids are garbage where there is no frame | spark/traps | unframed_json_and_two_bytes_have_no_schema_id |
| ids up to 2^31 - 1 | spark/census | what_counts_as_framed_is_what_wire_peek_says |
| the target's logical types shift decimals | spark/traps | a_targets_scale_in_the_reader_schema_shifts_decimals |
| the target's logical types scale times | spark/traps | a_targets_unit_in_the_reader_schema_scales_times |
| logical types are never on the reader's side | serde/spark/jvm/read | logical_types_of_the_writer_are_never_on_its_side |
| PERMISSIVE's struct of nulls | spark/traps | a_permissive_failure_is_a_struct_of_nulls_for_spark_and_a_reason_for_us |
| a row of nulls is a row | spark/jvm_engine | a_row_of_nulls_is_a_row |
| a bad row without its bytes | spark/bad_rows | every_bad_row_has_its_bytes_its_place_and_its_reason_and_is_counted |
| a strict job says where | spark/bad_rows | the_job_fails_and_says_where_even_if_nobody_looks_at_the_row |
| branches are limited | serde/spark/jvm/read | of_too_many_shapes_those_of_the_fewest_and_oldest_schemas_are_left |
| a branch for each id is slow | spark/traps | a_hundred_ids_of_one_shape_are_one_branch |
| a union of several types is member0, member1 | serde/spark/jvm/read | a_type_that_spark_reads_otherwise_is_refused |
| a branch that no union has | spark/jvm_engine | a_branch_that_no_union_has_is_a_bad_row |
| rebasing of ancient dates by the session | spark/jvm_engine | a_session_changes_nothing |
| decimals of more than 64 bits are cut | spark/jvm_engine | no_value_is_cut_to_the_columns_digits |
| a map key that comes twice | spark/jvm_engine | entries_with_a_key_twice_keep_the_last_value |
| keys of maps that are no strings | spark/traps | keys_of_maps_that_are_no_strings_are_refused_when_planning |
| to_avro of a null struct is a tombstone | spark/traps | to_avro_of_a_null_struct_is_a_tombstone_nobody_asked_for |
| a tombstone only where it is said | spark/writing | a_null_struct_is_no_tombstone_by_accident |
| to_avro promotes nothing | spark/writing | both_engines_write_what_the_serializer_writes |
| a cast before to_avro may lose | spark/writing | a_cast_that_could_lose_is_not_spark_s |
| a timestamp in a plain long | spark/traps | a_timestamp_is_not_written_as_a_plain_long |
| timestamps are floored to milliseconds | spark/writing | a_schema_s_own_types_are_written_exactly |
| timestamp_ntz, map keys, columns to spare | spark/writing | what_no_serializer_takes_is_nobody_s |
| a required field that is missing, default or not | spark/writing | a_required_field_that_is_missing |
| a column to spare | spark/writing | a_column_to_spare |
| a null in an array of no nulls is an internal error | spark/writing | the_jvm_engine_fails_in_our_words |
| to_avro matches names by caseSensitive | spark/traps | case_sensitive_sessions_write_the_same_bytes |
| letter case that leaves a choice | serde/spark/write/jvm | letter_case_that_leaves_a_choice_is_refused |
| from_json matches keys exactly | spark/parity | the_other_formats_are_the_arrow_engines |
| reader schemas are fixed when planned | spark/stream | schemas_that_are_born_while_a_stream_runs_are_read_without_a_restart |
| an optimistic redo has written nulls | spark/traps | an_unknown_id_is_never_a_row_of_nulls |
| what is unknown goes to Python alone | spark/jvm_engine | what_the_plan_does_not_know_goes_to_the_fallback_alone |
| a registry call for each record | spark/arrow_engine | an_unknown_id_costs_a_request_a_worker_not_one_a_row |
| executors ask for what the driver knows | serde/spark/worker/decode | nothing_for_ids_of_the_plan |
| a phantom subject is hidden by reads by id | serde/spark/read/plan | the_failing_readers_policy_refuses_the_id |
| ids in headers need includeHeaders | serde/spark/read/kafka_options | headers_are_read_and_lost_data_fails_the_job |
| a stream that is killed | spark/stream | a_stream_that_was_killed_and_then_stopped_loses_and_doubles_nothing |
| the first batch decides on the Arrow schema | spark/source_tasks | every_type_is_exactly_what_spark_declares |
| a second batch of another schema | spark/source_tasks | every_batch_is_of_the_same_schema |
| batches are used as they are | spark/source_tasks | a_batch_has_as_many_records_as_was_asked_for |
| columns are not pruned | spark/source | there_is_no_column_pruning_but_by_a_schema |
| pushFilters fails the read | spark/source_tasks | filters_are_not_pushed |
| no partitions are one of None | spark/source_tasks | an_empty_topic_is_read_by_one_task_of_nothing |
| options are texts in any letters | serde/spark/source/options | names_come_in_any_letter_case_as_spark_hands_them_over |
| every pyspark_ module is imported | spark/source_tasks | the_module_that_spark_looks_up_loads_nothing_of_srfix |
| the default save mode is an error | spark/source | the_default_save_mode_is_sparks_error_and_overwrite_is_ours |
| writers share no state with the driver | spark/source_tasks | writers_travel_by_value |
| commit and stop may never be called | spark/source_tasks | nothing_depends_on_commit |
| AvailableNow ends | spark/source_tasks | available_now_ends_at_what_there_was |
| micro-batches without a limit | spark/source_tasks | no_micro_batch_reads_more_than_the_limit |
| ReadLimit does not exist in 4.1 | spark/traps | without_read_limits_the_source_reads_all_there_is |
| simple stream readers read in the driver | spark/traps | nothing_private_of_pyspark_is_used |
| offsets are JSON of flat values | serde/spark/source/offsets | it_is_the_same_text_whatever_the_order |
| a topic created anew | spark/source_tasks | a_topic_that_was_created_anew_is_an_error_or_read_from_its_start |
| _jvm, _jdf and sparkContext are not on Connect | spark/connect | it_works_on_connect |
| private doors open on classic sessions only | spark/traps | nothing_private_of_pyspark_is_used |
| live ids per key: null values, moved partitions | spark/census | of_all_that_a_producer_may_do |
| compacted logs | spark/census | of_a_compacted_log |
| workers run the python3 of the PATH | spark/traps | workers_of_a_local_session_run_this_python |
| a bare ModuleNotFoundError | spark/shipping | says_how_srfix_gets_there_and_reads_once_the_zip_is_there |
| a zip without entries for folders | spark/shipping | is_told_of_a_wheel_that_was_renamed |
| a wheel to --py-files | spark/traps | what_is_shipped_is_a_zip_with_its_folders_and_no_wheel |
| --py-files | spark/shipping | spark_submit_needs_nothing_else_on_driver_and_workers |
| pandas 3 | spark/traps | pandas_is_pinned_below_3 |
| Arrow's string and time units | spark/arrow_engine | arrow_types_are_those_that_spark_takes_without_a_cast |
| bars on standard error | spark/traps | no_session_of_ours_writes_bars |
"""

from __future__ import annotations

import ast
import decimal
import io
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Final

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro, to_avro

from parts.pyfiles import build
from srfix.cli.commands.shared import spark_session
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.errors import ColumnError, EngineRefusedError
from srfix.serde.registry.client import RegistryClient
from srfix.serde.resolve.policies import UnderOneSubject
from srfix.serde.spark.interface import Engine
from srfix.serde.spark.jvm.read import jvm_read
from srfix.serde.spark.read.planning import plan_read
from srfix.serde.spark.reading import from_registry
from srfix.serde.spark.releases import lacks_source
from srfix.serde.spark.session.session import start_session
from srfix.serde.spark.write.plan import plan_write
from srfix.serde.spark.writing import to_registry
from srfix.serde.subjects.strategies import TopicSubject
from srfix.serde.wire import frame_id
from tests.serde.fakes import MemoryRegistry
from tests.serde.spark.jvm.plans import array, entries, logical, plan_of, record
from tests.spark.conftest import RAISED
from tests.spark.jvm_writers import payload_of
from tests.spark.parity import HAS_ARROW, Compared, Payloads, compare

ROOT: Final = Path(__file__).parents[2]
MILLIS: Final = 1_592_265_600_000
PRICE: Final = '{"type":"record","name":"R","fields":[{"name":"a","type":%s}]}'
"""A record of a field, for Spark."""


def of(type_: str) -> str:
    return PRICE % type_


class TestTheTable:
    LINES: Final = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in (__doc__ or "").splitlines()
        if line.startswith("| ") and not line.startswith("| trap")
    ]

    def test_every_trap_has_a_test_that_exists(self) -> None:
        tests: dict[str, set[str]] = {}
        for _, module, test in self.LINES:
            if module not in tests:
                tree = ast.parse((ROOT / "tests" / _file(module)).read_text(encoding="utf-8"))
                tests[module] = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
            assert f"test_{test}" in tests[module], (module, test)

    def test_every_test_here_is_a_traps(self) -> None:
        tree = ast.parse(Path(__file__).read_text(encoding="utf-8"))
        here = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and "test_" in node.name[:5]}
        of_the_table = {"test_every_trap_has_a_test_that_exists", "test_every_test_here_is_a_traps"}
        assert here - of_the_table == {f"test_{test}" for _, module, test in self.LINES if module == "spark/traps"}


def _file(module: str) -> str:
    folder, _, name = module.rpartition("/")
    return f"{folder}/test_{name}.py"


@pytest.fixture(scope="module")
def alone(spark: SparkSession) -> Row:
    """What Spark makes of things by itself."""
    price, long = of('{"type":"bytes","logicalType":"decimal","precision":10,"scale":2}'), of('"long"')
    millis = of('{"type":"long","logicalType":"timestamp-millis"}')
    spelt = of('["null","long"],"default":null').replace('"a"', '"A"')

    def read(body: bytes, writer: str, reader: str | None = None) -> object:
        options = {"mode": "PERMISSIVE"} if reader is None else {"mode": "FAILFAST", "avroSchema": reader}
        return from_avro(F.lit(body), writer, options)

    def id_of(payload: bytes) -> object:
        return F.conv(F.hex(F.substring(F.lit(payload), 2, 4)), 16, 10)

    null = F.lit(None).cast("struct<a: int>")
    made = {
        "permissive": read(b"\x10ab", of('"string"')),
        "letters": read(b"\x0e", long, spelt),
        "scale": read(b"\x04\x04\xd2", price, price.replace('"scale":2', '"scale":4')),
        "unit": read(payload_of(1, record(a="long"), {"a": MILLIS})[5:], millis, millis.replace("millis", "micros")),
        "left_over": read(b"\x02rest", of('"int"')),
        "try_cast": F.expr("try_cast(named_struct('a', 5000000000L, 'b', 1L) AS STRUCT<a: INT, b: INT>)"),
        "tombstone": F.concat(F.lit(frame_id(1, b"")), to_avro(null)),
        "json": id_of(b'{"a":1}'),
        "two_bytes": id_of(b"\0\0"),
    }
    columns = [column.alias(name) for name, column in made.items()]  # type: ignore[attr-defined]
    (row,) = spark.range(1).select(*columns).collect()
    found: Row = row
    return found


class Cases:
    """Plans and payloads of several tests: one job reads them all."""

    UNION: Final = [record(a="int"), record("S", a="int")]
    RECURSIVE: Final = record(a="int", next=["null", "R"])
    SWAPPED: Final = record(nested=record("I", y="int", x="int"), items=array(record("J", y="int", x="int")))
    PLANS: Final = {
        "permissive": (plan_of("A STRING", record(a="string")), [frame_id(1, b"\x10ab")]),
        "left over": (plan_of("A INT", record(a="int")), [frame_id(1, b"\x02rest")]),
        "union": (plan_of("A INT", UNION), [frame_id(1, b"\x02\x0e")]),
        "recursive": (plan_of("A INT", RECURSIVE), [frame_id(1, b"\x0e\x02\x10\x00")]),
        "swapped": (
            plan_of("NESTED STRUCT<X INT, Y INT>, ITEMS ARRAY<STRUCT<X INT, Y INT>>", SWAPPED),
            [frame_id(1, b"\x02\x04\x02\x06\x08\x00")],
        ),
        "unframed": (plan_of("A INT", record(a="int")), [b'{"a":1}', b"\0\0"]),
        "unknown": (plan_of("A INT, B STRING", record(a="int", b="string")), [frame_id(2, b"\x02\x02x")]),
        "time-micros": (
            plan_of("A BIGINT", record(a=logical("long", "time-micros"))),
            [payload_of(1, record(a="long"), {"a": 86_399_999_999})],
        ),
        "scale": (
            plan_of("A DECIMAL(12, 4)", record(a=logical("bytes", "decimal", precision=10, scale=2))),
            [frame_id(1, b"\x04\x04\xd2")],
        ),
        "unit": (
            plan_of("A TIMESTAMP", record(a=logical("long", "timestamp-millis"))),
            [payload_of(1, record(a="long"), {"a": MILLIS})],
        ),
    }


@pytest.fixture(scope="module")
def ours(spark: SparkSession) -> dict[str, list[Compared]]:
    """What both engines make of the same."""
    given = [Payloads(plan=plan, payloads=payloads) for plan, payloads in Cases.PLANS.values()]
    found = iter(compare(spark, given))
    return {name: [next(found) for _ in payloads] for name, (_, payloads) in Cases.PLANS.items()}


def reasons(compared: list[Compared]) -> list[tuple[str | None, str | None]]:
    """What arrow says (where there is none: the deserializer), and what jvm does; rows are null."""
    assert all(each.arrow_agrees and each.deserializer.row is None for each in compared)
    assert all(each.jvm is not None and each.jvm.row is None for each in compared)
    return [(each.deserializer.reason, None if each.jvm is None else each.jvm.reason) for each in compared]


def row(compared: list[Compared]) -> object:
    """The row, of all."""
    (each,) = compared
    assert each.arrow_agrees
    assert each.jvm == each.deserializer
    assert each.deserializer.reason is None
    return each.deserializer.row


class TestReading:
    def test_a_permissive_failure_is_a_struct_of_nulls_for_spark_and_a_reason_for_us(
        self, alone: Row, ours: dict[str, list[Compared]]
    ) -> None:
        assert alone["permissive"] == Row(a=None)
        assert reasons(ours["permissive"]) == [("TRUNCATED", "DECODE_FAILED")]

    def test_bytes_left_over_are_noticed_by_us_and_not_by_spark(
        self, alone: Row, ours: dict[str, list[Compared]]
    ) -> None:
        assert alone["left_over"] == Row(a=1)
        assert reasons(ours["left over"]) == [("TRAILING_BYTES", "DECODE_FAILED")]

    def test_a_reader_field_in_other_letters_is_null_in_every_row(self, alone: Row) -> None:
        assert alone["letters"] == Row(A=None)

    def test_a_targets_scale_in_the_reader_schema_shifts_decimals(
        self, alone: Row, ours: dict[str, list[Compared]]
    ) -> None:
        assert alone["scale"] == Row(a=decimal.Decimal("0.1234"))
        assert row(ours["scale"]) == {"A": decimal.Decimal("12.3400")}

    def test_a_targets_unit_in_the_reader_schema_scales_times(
        self, alone: Row, ours: dict[str, list[Compared]]
    ) -> None:
        assert alone["unit"]["a"].year == 1970
        assert row(ours["unit"]) == {"A": "2020-06-16 00:00:00"}

    def test_a_time_micros_is_its_number_on_every_version(self, ours: dict[str, list[Compared]]) -> None:
        assert row(ours["time-micros"]) == {"A": 86_399_999_999}

    def test_a_nested_record_in_another_order_is_not_swapped(self, ours: dict[str, list[Compared]]) -> None:
        assert row(ours["swapped"]) == {"NESTED": {"X": 2, "Y": 1}, "ITEMS": [{"X": 4, "Y": 3}]}

    def test_a_top_level_union_is_refused_by_jvm_and_read_by_arrow(self, ours: dict[str, list[Compared]]) -> None:
        (each,) = ours["union"]
        assert each.jvm is None
        assert each.arrow_agrees

    def test_a_recursive_schema_is_refused_by_jvm_and_read_by_arrow(self, ours: dict[str, list[Compared]]) -> None:
        (each,) = ours["recursive"]
        assert each.jvm is None
        assert each.arrow_agrees
        assert (each.deserializer.row, each.deserializer.reason) == ({"A": 7}, None)

    def test_unframed_json_and_two_bytes_have_no_schema_id(self, alone: Row, ours: dict[str, list[Compared]]) -> None:
        assert (alone["json"], alone["two_bytes"]) == ("576791098", "0")
        assert reasons(ours["unframed"]) == [("BAD_MAGIC", "BAD_MAGIC"), ("TOO_SHORT", "TOO_SHORT")]

    def test_an_unknown_id_is_never_a_row_of_nulls(self, ours: dict[str, list[Compared]]) -> None:
        assert reasons(ours["unknown"]) == [("UNKNOWN_ID", "UNKNOWN_ID")]

    def test_an_id_of_another_subject_is_noticed_though_its_shape_is_the_same(
        self, spark: SparkSession, registry: FixtureRegistry
    ) -> None:
        own = registry.seed("users-value", of('"int"'))
        other = registry.seed("others-value", of('"int"').replace('"R"', '"Other"'))
        with RegistryClient(registry.url) as client:
            policy = UnderOneSubject(client, TopicSubject())
            plan = plan_read(client, "users", "A INT", policy=policy, ids=[other])
            good, bad = compare(
                spark, [Payloads(plan=plan, payloads=[frame_id(own, b"\x0e"), frame_id(other, b"\x0e")])]
            )
        assert row([good]) == {"A": 7}
        assert reasons([bad]) == [("NOT_UNDER_SUBJECT", "NOT_UNDER_SUBJECT")]

    def test_try_cast_makes_a_field_null_and_keeps_the_struct(self, alone: Row) -> None:
        assert alone["try_cast"] == Row(a=None, b=1)

    def test_a_positional_cast_that_narrows_fails_the_job(self, spark: SparkSession) -> None:
        before = spark.conf.get("spark.sql.ansi.enabled") or "false"
        spark.conf.set("spark.sql.ansi.enabled", "true")  # as it is by default from Spark 4.0 on
        try:
            with pytest.raises(RAISED, match="CAST_OVERFLOW"):
                spark.sql("SELECT CAST(named_struct('a', id + 5000000000L) AS STRUCT<a: INT>) FROM range(1)").collect()
        finally:
            spark.conf.set("spark.sql.ansi.enabled", before)
        with pytest.raises(EngineRefusedError):
            jvm_read(plan_of("A STRUCT<B INT>", record(a=record("I", b="long"))))

    def test_inline_of_an_array_of_null_keeps_the_row(self, spark: SparkSession) -> None:
        plan = plan_of("A INT", record(a="int"))
        frame = spark.createDataFrame([(1, None), (2, frame_id(1, b"\x0e"))], "i INT, value BINARY")
        read = frame.transform(from_registry(plan, engine="jvm", workers_have_srfix=False)).orderBy("i")
        assert read.select("i", "value").collect() == [Row(i=1, value=None), Row(i=2, value=Row(A=7))]

    def test_a_hundred_ids_of_one_shape_are_one_branch(self) -> None:
        fields = ("id", "ID", "Id", "iD")
        (shape,) = jvm_read(plan_of("ID INT", *(record(f"R{n}", **{fields[n % 4]: "int"}) for n in range(100)))).shapes
        assert shape.schema_ids == tuple(range(1, 101))

    def test_keys_of_maps_that_are_no_strings_are_refused_when_planning(self) -> None:
        plan = plan_of("A MAP<INT, STRING>", record(a=entries("int", "string")))
        with pytest.raises(ColumnError, match="MAP"):
            plan.spark_schema()
        with pytest.raises(EngineRefusedError, match="MAP"):
            jvm_read(plan)


class TestWriting:
    def test_to_avro_of_a_null_struct_is_a_tombstone_nobody_asked_for(self, alone: Row) -> None:
        assert alone["tombstone"] is None

    def test_case_sensitive_sessions_write_the_same_bytes(self, spark: SparkSession) -> None:
        plan = plan_write(MemoryRegistry(), "t", "USERID INT, NESTED STRUCT<ZIP INT>")
        frame = spark.sql("SELECT 7 AS userId, named_struct('zip', 8) AS nested")
        spark.conf.set("spark.sql.caseSensitive", "true")
        try:
            engines: list[Engine] = ["jvm", "arrow"] if HAS_ARROW else ["jvm"]
            written = [frame.transform(to_registry(plan, engine=each)).select("value").collect() for each in engines]
        finally:
            spark.conf.unset("spark.sql.caseSensitive")
        assert [[bytes(row["value"]) for row in rows] for rows in written] == [
            [frame_id(1, b"\x02\x0e\x02\x02\x10")]
        ] * len(engines)

    def test_a_timestamp_is_not_written_as_a_plain_long(self, spark: SparkSession) -> None:
        plan = plan_write(MemoryRegistry(), "t", schema=of('"long"'))
        frame = spark.sql("SELECT TIMESTAMP'2020-01-01 00:00:00' AS a")
        with pytest.raises(ColumnError, match=r"->a is timestamp, which is not written as long"):
            frame.transform(to_registry(plan))


class TestDataSource:
    @pytest.mark.skipif(lacks_source() is not None, reason=str(lacks_source()))
    def test_without_read_limits_the_source_reads_all_there_is(self) -> None:
        """As on PySpark 4.1."""
        code = (
            "import sys, pyspark.sql.datasource\n"
            "sys.modules['pyspark.sql.streaming.datasource'] = None\n"
            "from srfix.serde.spark._pyspark import source\n"
            "print(source.HAS_ADMISSION_CONTROL, hasattr(source, 'LimitedStreamReader'))"
        )
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
        assert ran.stdout.split() == ["False", "False"], ran.stderr

    def test_nothing_private_of_pyspark_is_used(self) -> None:
        private = re.compile(r"\._(jvm|jdf|jc|jsc|jsparkSession|sc)\b|\bsparkContext\b|SimpleDataSource")
        sources = [
            *(ROOT / "serde" / "srfix" / "serde" / "spark").rglob("*.py"),
            *(ROOT / "recovery" / "srfix" / "recovery").rglob("*spark*.py"),
            ROOT / "serde" / "pyspark_srfix.py",
        ]
        assert len(sources) > 20
        found = {path.name: private.findall(path.read_text(encoding="utf-8")) for path in sources}
        # Progress and interruption of jobs, and a plan that is made and not printed: on classic sessions alone, for which all
        # three ask first.
        assert {name for name, uses in found.items() if uses} == {"kafka_look.py", "listening.py", "spark_jobs.py"}


class TestPackaging:
    def test_workers_of_a_local_session_run_this_python(
        self, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("PYSPARK_PYTHON")
        assert start_session("again", master="local[2]", packages=()) is spark
        assert os.environ["PYSPARK_PYTHON"] == sys.executable

    def test_what_is_shipped_is_a_zip_with_its_folders_and_no_wheel(self, tmp_path: Path) -> None:
        shipped = build(tmp_path)
        assert shipped.suffix == ".zip"
        with zipfile.ZipFile(io.BytesIO(shipped.read_bytes())) as archive:
            names = set(archive.namelist())
        assert {"srfix/", "srfix/serde/", "srfix/serde/spark/", "pyspark_srfix.py"} <= names
        assert "srfix/__init__.py" not in names

    def test_pandas_is_pinned_below_3(self) -> None:
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
            "optional-dependencies"
        ]
        (pandas,) = (need for need in extras["spark"] if need.startswith("pandas"))
        assert pandas.endswith("<3")

    def test_no_session_of_ours_writes_bars(self) -> None:
        assert spark_session._QUIET["spark.ui.showConsoleProgress"] == "false"
