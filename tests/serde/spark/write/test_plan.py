"""What is written under, decided and registered before any job."""

from __future__ import annotations

import datetime
import json
import pickle
from typing import Any

import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.casing import CaseRule
from srfix.serde.columns.types import BIGINT, INTEGER, STRING, Column
from srfix.serde.connect.generations import Generation
from srfix.serde.errors import ColumnError, ResolveError, UsageError
from srfix.serde.formats.table import Format
from srfix.serde.interface import SerdeContext
from srfix.serde.registry.client import RegistryClient
from srfix.serde.schemas.errors import IncompatibleSchemaError
from srfix.serde.schemas.models import Schema
from srfix.serde.serializer import AvroSerializer
from srfix.serde.spark.read.plan import NEWEST, plan_read
from srfix.serde.spark.write.plan import WritePlan, plan_write
from srfix.serde.subjects.names import Role
from srfix.serde.subjects.strategies import FixedSubject, RecordSubject
from srfix.serde.wire import Framing
from tests.serde.fakes import spark_struct

EMULATE = "8.2"
COLUMNS = "ID BIGINT, NAME STRING"
NEWEST_TEXT = """{"type": "record", "name": "R", "fields": [
    {"name": "id", "type": "long"},
    {"name": "Seen", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
    {"name": "u", "type": ["null", "int", "string"]},
    {"name": "At", "type": {"type": "long", "logicalType": "time-micros"}}
]}"""
OTHER = '{"type":"record","name":"Other","fields":[{"name":"id","type":"long"}]}'


class TestPlanWrite:
    def test_the_schema_is_under_its_subject_when_the_plan_is_there(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        plan = plan_write(client, "users", COLUMNS)
        assert registry.writes == 1
        assert client.version("users-value", 1).schema_id == plan.schema_id == 1
        assert plan.subject == "users-value"
        assert plan.prefix == b"\0\0\0\0\1"
        assert plan.record_header is None

    def test_rows_are_written_without_another_question(self, registry: FixtureRegistry, client: RegistryClient) -> None:
        plan = plan_write(client, "users", COLUMNS)
        asked = len(registry.requests)
        there: WritePlan = pickle.loads(pickle.dumps(plan))
        row = {"id": 7, "Name": "Ada"}
        payload = there.serializer()(row, there.context())
        assert len(registry.requests) == asked
        assert payload == AvroSerializer(client, plan.columns)(row, SerdeContext("users"))

    def test_protobuf_by_its_word_and_with_nulls(self, client: RegistryClient) -> None:
        pytest.importorskip("grpc_tools")
        plan = plan_write(client, "users", COLUMNS, format="protobuf", nullable_representation="optional")
        assert plan.format is Format.PROTOBUF
        there: WritePlan = pickle.loads(pickle.dumps(plan))
        payload = there.serializer()({"ID": None, "NAME": ""}, there.context())
        assert payload == b"\0\0\0\0\1" + b"\0" + b"\x12\0"
        read = plan_read(client, "users", COLUMNS, format="protobuf")
        assert read.deserializer()(payload, there.context()) == {"ID": None, "NAME": ""}
        bare = plan_write(None, "users", COLUMNS, format="protobuf_nosr", nullable_representation="wrapper")
        assert bare.serializer()({"ID": None, "NAME": ""}, bare.context()) == b"\x12\0"
        plain = plan_read(None, "users", COLUMNS, format="protobuf_nosr")
        wrapped = plan_read(None, "users", COLUMNS, format="protobuf_nosr", nullable_representation="wrapper")
        assert plain.deserializer()(b"\x12\0", bare.context()) == {"ID": 0, "NAME": ""}
        assert wrapped.deserializer()(b"\x12\0", bare.context()) == {"ID": None, "NAME": ""}
        assert wrapped != plain
        with pytest.raises(UsageError, match="is only for Protobuf under the columns' own schema"):
            plan_read(client, "users", COLUMNS, format="protobuf", nullable_representation="wrapper")

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"format": "proto"}, "format is 'proto'; it must be a Format, or one of the words"),
            ({"nullable_representation": "optional"}, "nullable_representation is only for Protobuf"),
            ({"format": "protobuf", "nullable_representation": "x"}, "'optional', 'wrapper' or None, not 'x'"),
        ],
    )
    def test_words_that_are_none(self, client: RegistryClient, options: dict[str, Any], message: str) -> None:
        with pytest.raises(UsageError, match=message):
            plan_write(client, "users", COLUMNS, **options)

    @pytest.mark.parametrize("option", [{"full_name": "a.B"}, {"nullable_representation": "optional"}])
    def test_a_given_schema_says_how_nulls_are_written(self, client: RegistryClient, option: dict[str, Any]) -> None:
        with pytest.raises(UsageError, match="schema= already says how rows are written"):
            plan_write(client, "users", schema='syntax = "proto3"; message A {}', format="protobuf", **option)

    def test_a_frame_s_schema_gives_the_columns(self, client: RegistryClient) -> None:
        frame = spark_struct(id="long", n="string")
        assert plan_write(client, "users", frame).columns == (Column("ID", BIGINT), Column("N", STRING))
        kept = plan_write(client, "others", frame, names="keep")
        assert kept.columns == (Column("id", BIGINT), Column("n", STRING))

    def test_an_incompatible_schema_is_refused_and_nothing_is_written(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        plan_write(client, "users", COLUMNS)
        before = registry.dump()
        with pytest.raises(IncompatibleSchemaError) as caught:
            plan_write(client, "users", "ID BIGINT, NAME DOUBLE")
        assert caught.value.__notes__ == ["No job was started, so nothing was written to the topic 'users'."]
        assert registry.dump() == before

    def test_without_registering_the_schema_must_be_there(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        with pytest.raises(ResolveError, match=r"is not registered under 'users-value'"):
            plan_write(client, "users", COLUMNS, register=False)
        registered = plan_write(client, "users", COLUMNS)
        found = plan_write(client, "users", COLUMNS, register=False)
        assert found.schema_id == registered.schema_id
        assert registry.writes == 1

    def test_the_subject_may_be_any(self, client: RegistryClient) -> None:
        assert plan_write(client, "users", COLUMNS, subjects=FixedSubject(value="fixed")).subject == "fixed"
        of_record = {"subjects": RecordSubject(), "full_name": "a.B", "generation": Generation.FROM_0_29}
        by_record = plan_write(client, "users", "D DATE", **of_record)  # type: ignore[arg-type]
        assert by_record.subject == "a.B"
        assert by_record.schema is not None
        assert '"connect.name":"org.apache.kafka.connect.data.Date"' in by_record.schema.text

    def test_an_exact_schema_is_written_under_as_it_is(self, client: RegistryClient) -> None:
        plan = plan_write(client, "users", schema=OTHER)
        assert plan.schema == Schema(text=OTHER)
        assert plan.columns is None
        assert plan.case_rule is CaseRule.EXACT
        assert plan.serializer()({"id": 3}, plan.context()) == b"\0\0\0\0\1\6"

    def test_a_schema_that_exists_is_found_by_its_id_or_version(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        schema_id = registry.seed("users-value", OTHER)
        for plan in (
            plan_write(client, "users", schema_id=schema_id),
            plan_write(client, "users", version="latest"),
            plan_write(client, "users", (Column("id", BIGINT),), version=1),
        ):
            assert plan.schema_id == schema_id
            assert plan.serializer()({"id": 3}, plan.context()) == plan.prefix + b"\6"
        assert registry.writes == 0

    def test_the_guid_stands_in_the_payload_or_in_a_header(self, client: RegistryClient) -> None:
        prefixed = plan_write(client, "users", COLUMNS, schema_id_framing=Framing.PREFIX_GUID)
        assert len(prefixed.prefix) == 17
        in_header = plan_write(client, "users", COLUMNS, schema_id_framing=Framing.HEADER_GUID)
        assert in_header.prefix == b""
        assert in_header.record_header == ("__value_schema_id", prefixed.prefix)
        ctx = in_header.context()
        assert in_header.serializer()({"id": 1}, ctx) == b"\2\2\0"
        assert ctx.headers == [in_header.record_header]

    def test_a_plan_is_for_one_topic_and_half(self, client: RegistryClient) -> None:
        plan = plan_write(client, "users", COLUMNS)
        with pytest.raises(UsageError, match="This serializer is bound to the values of"):
            plan.serializer()({"id": 1}, SerdeContext("others"))

    @pytest.mark.parametrize(
        ("format_", "payload"),
        [(Format.AVRO, b"\0\0\0\0\1\x0e"), (Format.JSON, b"7"), (Format.KAFKA, b"\0\0\0\7")],
    )
    def test_a_key_of_one_column_stands_bare_and_needs_a_registry_for_a_schema_alone(
        self, client: RegistryClient, format_: Format, payload: bytes
    ) -> None:
        has_schema = format_ is Format.AVRO
        columns = "ID INT KEY, NAME STRING"
        plan = plan_write(client if has_schema else None, "users", columns, format=format_, role=Role.KEY)
        assert (plan.wrapped, plan.columns) == (False, (Column("ID", INTEGER),))
        assert (plan.schema_id, plan.prefix) == ((1, payload[:5]) if has_schema else (None, b""))
        assert plan.serializer()({"ID": 7}, plan.context()) == payload

    def test_json_sr_is_registered_too(self, client: RegistryClient) -> None:
        plan = plan_write(client, "users", COLUMNS, format=Format.JSON_SR, validate=True)
        assert plan.serializer()({"id": 7}, plan.context()) == plan.prefix + b'{"ID":7,"NAME":null}'

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"format": Format.JSON, "schema_id": 3}, "JSON has no schemas, so schema_id= cannot be used"),
            ({"format": Format.KAFKA, "columns": None}, "KAFKA has neither names nor types: give the columns"),
            ({"schema": OTHER}, "schema= already defines the fields"),
            ({"validate": True}, "validate= is for JSON_SR"),
            ({"format": Format.JSON_SR, "full_name": "a.B"}, "full_name= for AVRO"),
        ],
    )
    def test_what_makes_no_sense_is_said(
        self, client: RegistryClient, options: dict[str, object], message: str
    ) -> None:
        with pytest.raises(UsageError, match=message):
            plan_write(client, "users", **({"columns": COLUMNS} | options))  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="AVRO is written under a schema of a registry"):
            plan_write(None, "users", COLUMNS)

    def test_with_micros_the_columns_schema_holds_every_time_of_a_frame(self, client: RegistryClient) -> None:
        nested = "SEEN TIMESTAMP, T TIME, S STRUCT<L ARRAY<TIMESTAMP>>, D DATE"
        plan = plan_write(client, "users", nested, times="micros", generation=Generation.FROM_0_29)
        assert plan.schema is not None
        assert "millis" not in plan.schema.text
        assert plan.schema.text.count('{"type":"long","logicalType":"timestamp-micros"}') == 2
        seen = datetime.datetime(2024, 5, 6, 7, 8, 9, 123_456, datetime.UTC)
        row = {"SEEN": seen, "T": datetime.time(1, 2, 3, 4), "S": {"L": [seen, None]}, "D": datetime.date(2024, 5, 6)}
        payload = plan.serializer()(row, plan.context())
        assert plan_read(client, "users", nested).deserializer()(payload, plan.context()) == row

    @pytest.mark.parametrize(
        "given",
        [
            {"format": Format.JSON_SR, "columns": COLUMNS},
            {"format": Format.JSON, "columns": COLUMNS},
            {"schema": OTHER},
            {"columns": COLUMNS, "version": 1},
        ],
    )
    def test_micros_are_for_the_columns_own_avro_schema(self, client: RegistryClient, given: dict[str, Any]) -> None:
        with pytest.raises(UsageError, match=r"^times='micros' is only for columns"):
            plan_write(client, "users", times="micros", **given)

    def test_what_newest_reads_is_written_back(self, registry: FixtureRegistry, client: RegistryClient) -> None:
        registry.seed("users-value", NEWEST_TEXT)
        registry.seed("users-key", '"long"')
        seen = datetime.datetime(2024, 5, 6, 7, 8, 9, 123_456, datetime.UTC)
        row = {"id": 7, "Seen": seen, "u": {"int": None, "string": "x"}, "At": 5}
        plan = plan_write(client, "users", schema=NEWEST)
        assert plan.columns == plan_read(client, "users", NEWEST).columns
        payload = plan.serializer()({name.upper(): value for name, value in row.items()}, plan.context())
        assert plan_read(client, "users", NEWEST).deserializer()(payload, plan.context()) == row
        key = plan_write(client, "users", schema=NEWEST, role=Role.KEY)
        assert key.serializer()({"rowkey": 3}, key.context()) == key.prefix + b"\6"
        assert registry.writes == 0

    @pytest.mark.parametrize(
        ("type_", "why"),
        [
            ({"type": "int", "logicalType": "time-millis"}, r"^NEWEST leaves out fields of version 1.* t: "),
            (
                {"type": "array", "items": {"type": "long", "connect.name": "io.debezium.time.MicroTimestamp"}},
                r" t->ARRAY",
            ),
        ],
    )
    def test_what_newest_cannot_write_back_is_refused_when_planned(
        self, registry: FixtureRegistry, client: RegistryClient, type_: object, why: str
    ) -> None:
        fields = [{"name": "id", "type": "long"}, {"name": "t", "type": type_}]
        registry.seed("users-value", json.dumps({"type": "record", "name": "R", "fields": fields}))
        with pytest.raises(ColumnError, match=why):
            plan_write(client, "users", schema=NEWEST)

    @pytest.mark.parametrize("format_", [Format.AVRO, Format.JSON])
    @pytest.mark.parametrize(
        "wrong", [{"case_rule": "lower"}, {"wrap": "no"}, {"times": "numbers"}, {"cut_times": "no"}, {"role": "keys"}]
    )
    def test_an_argument_of_a_wrong_kind_is_refused(
        self, client: RegistryClient, wrong: dict[str, Any], format_: Format
    ) -> None:
        with pytest.raises(UsageError, match=f"^{next(iter(wrong))} is "):
            plan_write(client, "users", COLUMNS, format=format_, **wrong)

    def test_validate_is_true_or_false(self, client: RegistryClient) -> None:
        with pytest.raises(UsageError, match=r"^validate is of the type str; it must be True or False\.$"):
            plan_write(client, "users", COLUMNS, format=Format.JSON_SR, validate="no")  # type: ignore[arg-type]

    def test_a_case_rule_may_be_its_word(self, client: RegistryClient) -> None:
        for format_ in (Format.AVRO, Format.JSON):
            assert plan_write(client, "u", COLUMNS, format=format_, case_rule="exact").case_rule is CaseRule.EXACT  # type: ignore[arg-type]


class TestExplain:
    def test_it_says_what_is_written_under(self, client: RegistryClient) -> None:
        said = plan_write(client, "users", COLUMNS).explain(extended=True)
        assert "  schema id 1, under subject 'users-value', in the framing 'prefix id':" in said
        assert '[{"name":"ID","type":["null","long"],"default":null}' in said
        assert said.endswith("  columns, matched by the case rule 'unique':\n    ID BIGINT\n    NAME STRING")

    def test_it_says_before_the_job_that_a_finer_time_does_not_fit(self, client: RegistryClient) -> None:
        words = "  times       in whole milliseconds: a finer time cannot be written (%scut_times=True cuts it)"
        said = plan_write(client, "users", "SEEN TIMESTAMP").explain().splitlines()
        assert words % "times='micros' keeps it, " in said
        assert words % "" in plan_write(client, "users", version=1).explain().splitlines()
        assert "times" not in plan_write(client, "days", "BORN DATE").explain()

    def test_hundreds_of_columns_are_ten_lines_too(self, client: RegistryClient) -> None:
        columns = ", ".join(f"`c{number}` STRING" for number in range(300))
        plan = plan_write(client, "wide", columns, cut_times=True)
        lines = plan.explain(spark_struct(**{f"C{number}": "string" for number in range(0, 300, 2)})).splitlines()
        assert len(lines) == 10
        assert max(map(len, lines)) <= 120
        left_out = "  not there   c1, c3, c5, c7, c9, c11 and 144 more"
        assert lines[-3:-1] == [left_out, "  engine      jvm, every cast is exact"]
