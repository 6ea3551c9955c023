"""Read plans: whose versions are asked for, what is accepted, what the columns are, and what is wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

from srfix.fixtures.registry.http.intercept import Answer, Fault
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.columns.text import parse_columns, print_columns
from srfix.serde.errors import (
    AmbiguousFieldError,
    ColumnError,
    DualSubjectError,
    IncompatibleTypeError,
    NoSubjectError,
    Reason,
    ResolveError,
    SchemaError,
    SubjectVersionError,
    UsageError,
)
from srfix.serde.formats.avro import AvroType
from srfix.serde.formats.table import Format
from srfix.serde.interface import SerdeContext
from srfix.serde.projection.tree import Projection
from srfix.serde.projection.walk import project
from srfix.serde.registry.client import RegistryClient
from srfix.serde.resolve.policies import DualSubject, UnderOneSubject
from srfix.serde.resolve.resolved import SecondAnswered
from srfix.serde.schemas.errors import RegistryAnswerError
from srfix.serde.schemas.models import Schema, SchemaReference
from srfix.serde.serializer import AvroSerializer
from srfix.serde.spark.read.jvm.read import jvm_read
from srfix.serde.spark.read.plan import NEWEST, ReadPlan, plan_read
from srfix.serde.specs import ReadSpec
from srfix.serde.subjects.names import Role
from srfix.serde.subjects.strategies import (
    ChangelogSubject,
    FixedSubject,
    RecordSubject,
    TemplateSubject,
    TopicRecordSubject,
    TopicSubject,
)
from srfix.serde.wire import SchemaId
from tests.serde.fakes import spark_struct

LOWER = '{"type":"record","name":"U","fields":[{"name":"userId","type":"int"},{"name":"name","type":"string"}]}'
UPPER = '{"type":"record","name":"K","fields":[{"name":"USERID","type":"long"},{"name":"NAME","type":"string"}]}'
TWICE = '{"type":"record","name":"U","fields":[{"name":"userId","type":"int"},{"name":"userid","type":"int"}]}'
LIST = '{"type":"record","name":"U","fields":[{"name":"USERID","type":{"type":"array","items":"long"}}]}'
MILLIS = '{"type":"record","name":"U","fields":[{"name":"T","type":{"type":"long","logicalType":"timestamp-millis"}}]}'
COLUMNS = "USERID BIGINT, NAME STRING"
PHANTOM = ChangelogSubject(application="app", store="store")
PHANTOM_VALUE = "app-store-changelog-value"


def _dual(client: RegistryClient) -> DualSubject:
    return DualSubject(client, first=PHANTOM, second=TopicSubject())


def _ids(plan: ReadPlan) -> list[int]:
    return [planned.schema_id for planned in plan.schemas]


class TestWhatIsAskedFor:
    @pytest.mark.parametrize("strategy", [RecordSubject(), TopicRecordSubject(), TemplateSubject("x-{record}")])
    def test_a_strategy_of_records_names_has_none_before_the_schema_is_known(
        self, client: RegistryClient, strategy: RecordSubject | TopicRecordSubject | TemplateSubject
    ) -> None:
        assert UnderOneSubject(client, strategy).subjects(topic="users", role=Role.VALUE) == ()
        dual = DualSubject(client, first=strategy, second=TopicSubject())
        assert dual.subjects(topic="users", role=Role.VALUE) == ("users-value",)

    def test_live_and_soft_deleted_versions_of_the_topics_own_subject(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        registry.seed("users-value", LOWER, deleted=True)
        registry.seed("users-value", UPPER)
        plan = plan_read(client, "users", COLUMNS)
        assert _ids(plan) == [1, 2]
        assert [(found.subject, found.version) for found in plan.listed] == [("users-value", 1), ("users-value", 2)]

    def test_first_and_second_of_a_dual_subject_and_what_is_named_besides(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        for subject, text in ((PHANTOM_VALUE, UPPER), ("users-value", LOWER), ("other", TWICE), ("elsewhere", LIST)):
            registry.seed(subject, text)
        plan = plan_read(client, "users", COLUMNS, policy=_dual(client), subjects=["other", "nothing"], ids=[4, 1, 77])
        assert plan.subjects == (PHANTOM_VALUE, "users-value", "other", "nothing")
        assert _ids(plan) == [1, 2]
        assert [(refused.schema_id, refused.reason, type(refused.error)) for refused in plan.refusals] == [
            (3, Reason.NOT_UNDER_SUBJECT, DualSubjectError),
            (4, Reason.NOT_UNDER_SUBJECT, DualSubjectError),
            (77, Reason.UNKNOWN_ID, ResolveError),
        ]

    def test_a_strategy_of_records_names_lists_the_topics_own_subject(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        for subject, text in (("users-value", LOWER), ("users-value", '"string"'), ("U", LOWER), ("K", UPPER)):
            registry.seed(subject, text)
        plan = plan_read(client, "users", COLUMNS, policy=UnderOneSubject(client, RecordSubject()), subjects=["K"])
        assert [(planned.schema_id, planned.resolved.subject) for planned in plan.schemas] == [(1, "U"), (3, "K")]
        (nameless,) = plan.refusals
        assert (nameless.schema_id, nameless.reason) == (2, Reason.NOT_UNDER_SUBJECT)
        assert isinstance(nameless.error, NoSubjectError)

    def test_subjects_of_keys_are_the_keys(self, registry: FixtureRegistry, client: RegistryClient) -> None:
        registry.seed("users-key", '"long"')
        registry.seed("users-value", LOWER)
        plan = plan_read(client, "users", "ID BIGINT KEY, NAME STRING", role=Role.KEY)
        assert (_ids(plan), plan.wrapped, print_columns(plan.columns)) == ([1], False, "ID BIGINT")

    def test_a_subject_in_a_context_gives_its_own_ids(self, registry: FixtureRegistry, client: RegistryClient) -> None:
        registry.seed("users-value", UPPER)
        registry.seed(":.ctx:users-value", LOWER)
        registry.seed(f":.ctx:{PHANTOM_VALUE}", LIST)
        policy = UnderOneSubject(client, TemplateSubject(":.ctx:{topic}-{role}"))
        (planned,) = plan_read(client, "users", COLUMNS, policy=policy).schemas
        assert (planned.schema_id, planned.resolved.schema.text) == (1, LOWER)
        by_id = plan_read(client, "users", COLUMNS, subjects=[":.ctx:users-value"], ids=[1])
        assert [planned.resolved.schema.text for planned in by_id.schemas] == [LOWER]
        assert by_id.subjects == (":.ctx:users-value",)
        with pytest.raises(UsageError, match="The subjects are in several registry contexts"):
            plan_read(client, "users", COLUMNS, subjects=[":.ctx:users-value", "users-value"])

    def test_what_a_schema_refers_to_is_asked_for_once(self, registry: FixtureRegistry, client: RegistryClient) -> None:
        registry.seed("address", '{"type":"record","name":"A","fields":[{"name":"city","type":"string"}]}')
        reference = (SchemaReference(name="A", subject="address", version=1),)
        for name in ("a", "b"):
            text = f'{{"type":"record","name":"U","fields":[{{"name":"{name}","type":"A"}}]}}'
            registry.seed("users-value", text, references=reference)
        registry.forget_requests()
        plan = plan_read(client, "users", "A STRUCT<CITY STRING>, B STRUCT<CITY STRING>")
        assert [feed.field for feed in plan.schemas[0].feeds] == ["a", "a->city", None]
        asked = [request.path.partition("?")[0] for request in registry.requests]
        assert asked.count("/subjects/address/versions/1") == 1

    def test_nothing_is_fetched_twice(self, registry: FixtureRegistry, client: RegistryClient) -> None:
        registry.seed(PHANTOM_VALUE, UPPER)
        registry.seed("users-value", LOWER)
        registry.seed("users-value", UPPER)
        registry.forget_requests()
        plan_read(client, "users", NEWEST, policy=_dual(client))
        asked = sorted((request.method, request.path.partition("?")[0]) for request in registry.requests)
        assert asked == [
            ("GET", f"/subjects/{PHANTOM_VALUE}/versions"),
            ("GET", f"/subjects/{PHANTOM_VALUE}/versions/1"),
            ("GET", "/subjects/users-value/versions"),
            ("GET", "/subjects/users-value/versions/1"),
            ("GET", "/subjects/users-value/versions/latest"),
            ("POST", f"/subjects/{PHANTOM_VALUE}"),
            ("POST", f"/subjects/{PHANTOM_VALUE}"),
            ("POST", "/subjects/users-value"),
        ]

    def test_a_text_with_blanks_is_asked_for_by_id_as_readers_do(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        registry.seed("users-value", LOWER)
        found = {"subject": "users-value", "version": 1, "id": 1, "schema": LOWER.replace(",", ", ")}
        spaced = Answer(status=200, body=json.dumps(found))
        with registry.intercept(Fault(action=spaced, path="/subjects/users-value/versions/1")):
            (planned,) = plan_read(client, "users", COLUMNS, policy=UnderOneSubject(client)).schemas
        assert planned.resolved.schema.text == LOWER

    def test_planning_writes_nothing_and_tells_no_hook(self, registry: FixtureRegistry, client: RegistryClient) -> None:
        registry.seed("users-value", LOWER)
        told: list[SecondAnswered] = []
        policy = DualSubject(client, first=PHANTOM, second=TopicSubject(), on_second=told.append, register_missing=True)
        plan = plan_read(client, "users", COLUMNS, policy=policy)
        assert (_ids(plan), registry.writes, told, policy.refusals) == ([1], 0, [], ())

    def test_a_version_that_is_gone_since_it_was_listed_is_no_error(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        registry.seed("users-value", LOWER)
        registry.seed("users-value", UPPER)
        gone = Answer(status=404, body='{"error_code": 40402, "message": "Version 1 not found."}')
        with registry.intercept(Fault(action=gone, path="/subjects/users-value/versions/1")):
            assert _ids(plan_read(client, "users", COLUMNS)) == [2]

    @pytest.mark.parametrize("path", ["/subjects/users-value/versions", "/subjects/users-value/versions/1"])
    def test_an_outage_is_raised(self, registry: FixtureRegistry, client: RegistryClient, path: str) -> None:
        registry.seed("users-value", LOWER)
        broken = Answer(status=500, body='{"error_code": 50001, "message": "store"}')
        with registry.intercept(Fault(action=broken, path=path)), pytest.raises(RegistryAnswerError):
            plan_read(client, "users", COLUMNS)

    @pytest.mark.parametrize("format_", [Format.AVRO, Format.JSON])
    @pytest.mark.parametrize(
        "wrong",
        [
            {"case_rule": "lower"},
            {"wrap": "no"},
            {"strict": "no"},
            {"times": "numbers"},
            {"role": "keys"},
            {"subjects": "s"},
        ],
    )
    def test_an_argument_of_a_wrong_kind_is_refused(
        self, client: RegistryClient, wrong: dict[str, Any], format_: Format
    ) -> None:
        with pytest.raises(UsageError, match=f"^{next(iter(wrong))} is "):
            plan_read(client, "users", COLUMNS, format=format_, **wrong)


class TestProjections:
    def test_a_schema_is_projected_once_whatever_is_made_of_it(
        self, registry: FixtureRegistry, client: RegistryClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made: list[AvroType] = []

        def counted(writer: AvroType, spec: ReadSpec) -> Projection[AvroType]:
            made.append(writer)
            return project(writer, spec)

        monkeypatch.setattr("srfix.serde.formats.avro.read.decoder.project", counted)
        for name in ("projectedOnce", "PROJECTEDONCE"):
            fields = [{"name": name, "type": "int"}]
            registry.seed("users-value", json.dumps({"type": "record", "name": "U", "fields": fields}))
        plan = plan_read(client, "users", "PROJECTEDONCE BIGINT")
        plan.explain(extended=True)
        plan.deserializer()
        assert jvm_read(plan).schema_ids == (1, 2)
        # Beside them, the format's empty schema is, for what the format cannot hold.
        assert len([writer for writer in made if writer.node.fields]) == 2


@pytest.mark.core
class TestTheIncident:
    """The writers' schema is registered under the source's subject only; the reader asks the phantom one."""

    @pytest.fixture
    def payload(self, registry: FixtureRegistry, client: RegistryClient) -> bytes:
        registry.seed(PHANTOM_VALUE, UPPER)
        payload = AvroSerializer.for_schema(client, LOWER)({"userId": 7, "name": "Ada"}, SerdeContext("users"))
        assert payload is not None
        return payload

    def test_the_failing_readers_policy_refuses_the_id(self, client: RegistryClient, payload: bytes) -> None:
        plan = plan_read(client, "users", COLUMNS, policy=UnderOneSubject(client, PHANTOM), subjects=["users-value"])
        assert _ids(plan) == [1]
        (refused,) = plan.refusals
        assert (refused.schema_id, refused.reason) == (2, Reason.NOT_UNDER_SUBJECT)
        assert isinstance(refused.error, SubjectVersionError)
        with pytest.raises(SubjectVersionError):
            plan.deserializer()(payload, SerdeContext("users"))

    def test_the_dual_subject_accepts_it_and_says_what_the_first_lacks(
        self, client: RegistryClient, payload: bytes
    ) -> None:
        plan = plan_read(client, "users", COLUMNS, policy=_dual(client))
        first, second = plan.schemas
        assert (first.resolved.subject, first.second) == (PHANTOM_VALUE, None)
        assert second.resolved.subject == "users-value"
        assert second.second is not None
        assert second.second.first_error.error_code == 40403
        assert plan.deserializer()(payload, SerdeContext("users")) == {"USERID": 7, "NAME": "Ada"}


class TestColumns:
    def test_of_a_struct_type_stay_as_they_are_named(self, client: RegistryClient) -> None:
        struct = spark_struct(userId="long")
        for given in (struct, json.dumps(struct)):
            assert print_columns(plan_read(client, "users", given).columns) == "`userId` BIGINT"

    @pytest.mark.parametrize("format_", [Format.AVRO, Format.JSON_SR, None])
    def test_that_the_format_cannot_hold_are_refused_even_without_schemas(
        self, client: RegistryClient, format_: Format | None
    ) -> None:
        with pytest.raises(ColumnError, match="only supports MAPs with STRING keys"):
            plan_read(client, "users", "M MAP<INT, INT>", format=format_)


class TestNewest:
    def test_is_the_sources_highest_live_version_in_the_writers_letters(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        registry.seed(PHANTOM_VALUE, UPPER)
        registry.seed("users-value", TWICE)
        registry.seed("users-value", LOWER)
        registry.seed("users-value", LIST, deleted=True)
        plan = plan_read(client, "users", NEWEST, policy=_dual(client))
        assert print_columns(plan.columns) == "`userId` INTEGER, `name` STRING"
        assert plan.newest is not None
        assert (plan.newest.subject, plan.newest.version, plan.newest.schema_id) == ("users-value", 2, 3)

    @pytest.mark.parametrize("role", Role)
    def test_of_a_bare_value_is_one_column(self, registry: FixtureRegistry, client: RegistryClient, role: Role) -> None:
        registry.seed(f"users-{role.value}", '"long"')
        plan = plan_read(client, "users", NEWEST, role=role)
        name = "ROWKEY" if role is Role.KEY else "ROWVAL"
        assert (print_columns(plan.columns), plan.wrapped) == (f"{name} BIGINT", False)
        assert plan.deserializer()(bytes.fromhex("00000000010e"), SerdeContext("users", role)) == {name: 7}

    def test_of_a_json_schema_is_its_properties(self, registry: FixtureRegistry, client: RegistryClient) -> None:
        text = '{"type":"object","properties":{"userId":{"type":"integer"},"tags":{"type":"array","items":{"type":"string"}}}}'
        registry.seed("users-value", text, schema_type="JSON")
        for format_ in (Format.JSON_SR, None):
            plan = plan_read(client, "users", NEWEST, format=format_)
            assert sorted(print_columns(plan.columns).split(", ")) == ["`tags` ARRAY<STRING>", "`userId` BIGINT"]
            assert plan.deserializer()(b'\0\0\0\0\1{"userId":7}', SerdeContext("users")) == {"userId": 7, "tags": None}

    def test_of_nothing_is_refused(self, registry: FixtureRegistry, client: RegistryClient) -> None:
        registry.seed(PHANTOM_VALUE, UPPER)
        registry.seed("users-value", UPPER, deleted=True)
        with pytest.raises(UsageError, match="'users-value' and 'extra' have no live version"):
            plan_read(client, "users", NEWEST, policy=_dual(client), subjects=["extra"])

    def test_of_another_format_is_refused_with_its_place(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        registry.seed("users-value", '{"type":"object"}', schema_type="JSON")
        with pytest.raises(SchemaError, match="The newest schema, version 1 of 'users-value'"):
            plan_read(client, "users", NEWEST)


class TestProblems:
    """One bad old version does not keep a topic from being read."""

    @pytest.fixture
    def plan(self, registry: FixtureRegistry, client: RegistryClient) -> ReadPlan:
        for text in (LOWER, TWICE, LIST):
            registry.seed("users-value", text)
        registry.seed("users-value", '{"type":"object"}', schema_type="JSON")
        registry.seed("users-value", 'syntax = "proto3"; message U { int64 id = 1; }', schema_type="PROTOBUF")
        return plan_read(client, "users", COLUMNS)

    def test_are_kept_with_the_schema_that_has_them(self, plan: ReadPlan) -> None:
        problems = [type(None), AmbiguousFieldError, IncompatibleTypeError, SchemaError, SchemaError]
        assert [type(planned.problem) for planned in plan.schemas] == problems
        assert [planned.format for planned in plan.schemas] == [*[Format.AVRO] * 3, Format.JSON_SR, Format.PROTOBUF]

    def test_are_what_the_deserializer_raises(self, plan: ReadPlan) -> None:
        read = plan.deserializer()
        for planned in plan.schemas[1:]:
            assert planned.problem is not None
            with pytest.raises(type(planned.problem)):
                read(b"\0" + planned.schema_id.to_bytes(4, "big") + b"\0", SerdeContext("users"))


class TestDeserializer:
    def test_asks_nothing_for_what_the_plan_holds_and_the_policy_for_the_rest(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        registry.seed("users-value", LOWER)
        plan = plan_read(client, "users", COLUMNS)
        write = AvroSerializer.for_schema(client, UPPER, subjects=FixedSubject(value="users-value-2"))
        born = write({"USERID": 8, "NAME": "Bob"}, SerdeContext("users"))
        registry.forget_requests()
        read, users = plan.deserializer(), SerdeContext("users")
        assert read(bytes.fromhex("00000000010e0641646100")[:-1], users) == {"USERID": 7, "NAME": "Ada"}
        assert registry.requests == ()
        assert read(born, users) == read(born, users) == {"USERID": 8, "NAME": "Bob"}
        assert len(registry.requests) == 1


class TestWithoutSchemas:
    def test_json_needs_no_registry(self) -> None:
        plan = plan_read(None, "users", COLUMNS, format=Format.JSON)
        assert (plan.policy, plan.schemas, plan.subjects) == (None, (), ())
        assert plan.deserializer()(b'{"userId": 7}', SerdeContext("users")) == {"USERID": 7, "NAME": None}

    @pytest.mark.parametrize("format_", [Format.JSON, Format.KAFKA, Format.DELIMITED])
    def test_have_no_newest_one(self, format_: Format) -> None:
        with pytest.raises(UsageError, match=f"The format {format_.value} has no schemas"):
            plan_read(None, "users", NEWEST, format=format_)

    @pytest.mark.parametrize("format_", [Format.AVRO, Format.JSON_SR, None])
    def test_others_need_a_registry(self, format_: Format | None) -> None:
        with pytest.raises(UsageError, match=r"^Avro and JSON_SR need a schema registry\."):
            plan_read(None, "users", COLUMNS, format=format_)


class TestRefreshed:
    def test_asks_only_for_what_is_new(self, registry: FixtureRegistry, client: RegistryClient) -> None:
        registry.seed("users-value", LOWER)
        plan = plan_read(client, "users", NEWEST)
        registry.seed("users-value", UPPER)
        registry.forget_requests()
        fresh = plan.refreshed(client)
        assert _ids(fresh) == [1, 2]
        assert fresh.schemas[0] is plan.schemas[0]
        assert (fresh.columns, fresh.newest) == (plan.columns, plan.newest)
        assert [request.path for request in registry.requests] == [
            "/subjects/users-value/versions?deleted=true",
            "/subjects/users-value/versions/2?deleted=true",
        ]
        assert fresh.refreshed(client) == fresh

    def test_asks_again_for_what_was_refused(self, registry: FixtureRegistry, client: RegistryClient) -> None:
        registry.seed("users-value", LOWER)
        plan = plan_read(client, "users", COLUMNS, policy=UnderOneSubject(client, PHANTOM), ids=[1])
        assert [refused.schema_id for refused in plan.refusals] == [1]
        client.register(PHANTOM_VALUE, Schema(text=LOWER))
        fresh = plan.refreshed(client)
        assert (_ids(fresh), fresh.refusals) == ([SchemaId(1)], ())

    def test_a_version_in_other_units_is_refused_as_by_a_new_plan(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        registry.seed("users-value", MILLIS)
        plan = plan_read(client, "users", "T TIMESTAMP", times="integers")
        registry.seed("users-value", MILLIS.replace("millis", "micros"))
        with pytest.raises(ColumnError, match="numbers with different units"):
            plan.refreshed(client)


def test_a_plan_is_printed_in_a_line(registry: FixtureRegistry, client: RegistryClient) -> None:
    registry.seed("users-value", LOWER)
    plan = plan_read(client, "users", parse_columns(COLUMNS), ids=[9])
    assert str(plan) == repr(plan) == "ReadPlan(values of 'users', avro, 2 columns, 1 schemas, 1 refused)"
