"""What a plan says of itself, to the letter."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Final

import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.casing import CaseRule
from srfix.serde.formats.table import Format
from srfix.serde.registry.client import RegistryClient
from srfix.serde.resolve.policies import DualSubject, Resolver, UnderOneSubject
from srfix.serde.spark.jvm.read import UNSEEN
from srfix.serde.spark.read.plan import ReadPlan
from srfix.serde.spark.read.planning import NEWEST, plan_read
from srfix.serde.subjects.names import Role
from srfix.serde.subjects.strategies import ChangelogSubject, RecordSubject, TopicSubject
from tests.bench.shapes import SHAPES, Shape

KSQLDB = (
    '{"type":"record","name":"K","fields":[{"name":"USERID","type":["null","long"]},{"name":"NAME","type":"string"}]}'
)
ADDRESS = '{"type":"record","name":"A","fields":[{"name":"city","type":"string"},{"name":"zip","type":"int"}]}'
SOURCE = (
    '{"type":"record","name":"U","fields":[{"name":"userId","type":"int"},{"name":"name","type":"string"},'
    f'{{"name":"address","type":{ADDRESS}}},{{"name":"internal","type":"boolean"}}]}}'
)
AMBIGUOUS = '{"type":"record","name":"U","fields":[{"name":"userId","type":"int"},{"name":"userid","type":"int"}]}'
LIST = '{"type":"record","name":"U","fields":[{"name":"name","type":{"type":"array","items":"int"}}]}'
COLUMNS = "USERID BIGINT, NAME STRING, ADDRESS STRUCT<CITY STRING, STREET STRING>"
PHANTOM = ChangelogSubject(application="app", store="store")

INCIDENT: Final = """\
The values of topic 'users': Avro
  columns     USERID BIGINT, NAME STRING, ADDRESS STRUCT<CITY STRING, STREET STRING>
  case rule   unique: the field of exactly the column's name, else the only one that equals it ignoring case
  policy      an id whose schema 'app-store-changelog-value' holds, or else 'users-value' (DualSubject)
  asked       'app-store-changelog-value' (1 version), 'users-value' (4 versions)

Schema id 1: Avro
  is          version 1 of 'app-store-changelog-value', version 2 of 'users-value'
  accepted    under 'app-store-changelog-value'
  USERID   BIGINT                       <- USERID
  NAME     STRING                       <- NAME
  ADDRESS  STRUCT<CITY STRING, STREET…  <- null: no field feeds it

Schema id 2: Avro
  is          version 1 of 'users-value'
  accepted    under 'users-value'
  note        Schema id 2 is not registered under 'app-store-changelog-value'; 'users-value' has it. Readers that ask
              'app-store-changelog-value' alone fail on it: run `srfix diagnose`.
  USERID           BIGINT                       <- userId (int to BIGINT)
  NAME             STRING                       <- name
  ADDRESS          STRUCT<CITY STRING, STREET…  <- address
  ADDRESS->CITY                                 <- address->city
  ADDRESS->STREET                               <- null: no field feeds it
  not read    internal, address->zip

Schema id 3: Avro
  is          version 3 of 'users-value'
  accepted    under 'users-value'
  note        Schema id 3 is not registered under 'app-store-changelog-value'; 'users-value' has it. Readers that ask
              'app-store-changelog-value' alone fail on it: run `srfix diagnose`.
  bad rows    AMBIGUOUS_CASE: Column 'USERID' could be fed by several fields of the writer schema that differ only by
              case: 'userId', 'userid'. Declare the column with the exact name of the one that is meant (quoted), or use
              the rule 'exact'.

Schema id 4: Avro
  is          version 4 of 'users-value'
  accepted    under 'users-value'
  note        Schema id 4 is not registered under 'app-store-changelog-value'; 'users-value' has it. Readers that ask
              'app-store-changelog-value' alone fail on it: run `srfix diagnose`.
  bad rows    TYPE_MISMATCH: The writer's type array cannot be read as type string, at ->NAME, by a column of the type
              STRING. Declare the column as a type that takes it, or leave it out.
  USERID   BIGINT                       <- null: no field feeds it
  NAME     STRING                       <- name (makes the row bad: The writer's type array cannot be read as type string)
  ADDRESS  STRUCT<CITY STRING, STREET…  <- null: no field feeds it

Not accepted, when the plan was made
  id 99       UNKNOWN_ID: The registry does not know schema id 99, which a value of topic 'users' carries (error code
              40403). Check that it is the registry that the records were written with; if it is, the schema was deleted
              for good, and only its text can bring it back."""

BARE: Final = """\
The keys of topic 'users': Avro
  columns     ID BIGINT; a body is its bare value
  case rule   unique: the field of exactly the column's name, else the only one that equals it ignoring case
  policy      any id that the registry knows (ById)
  asked       'users-key' (1 version)

Schema id 1: Avro
  is          version 1 of 'users-key'
  ID  BIGINT  <- the body (int to BIGINT)"""

ENGINES: Final = """\
  arrow       reads all of it; asks the policy about other ids, refused ones and GUIDs where it meets them
              natively where an executor has srfix-kernel; by Python where it has not
  jvm         reads 1 shape of schemas: ids 1 and 2
              cannot see:
"""


@pytest.fixture
def registry() -> Iterator[FixtureRegistry]:
    with FixtureRegistry() as registry:
        yield registry


@pytest.fixture
def client(registry: FixtureRegistry) -> Iterator[RegistryClient]:
    with RegistryClient(registry.url) as client:
        yield client


def _without_engines(plan: ReadPlan) -> str:
    text, _, engines = plan.explain(extended=True).partition("\n\nEngines\n")
    assert engines
    return text


def _engines(plan: ReadPlan) -> str:
    return plan.explain(extended=True).partition("\n\nEngines\n")[2]


SUMMARY: Final = """\
The values of topic 'users': Avro, case rule unique
  columns     USERID BIGINT, NAME STRING, ADDRESS STRUCT<CITY STRING, STREET STRING>
  policy      an id whose schema 'app-store-changelog-value' holds, or else 'users-value' (DualSubject)
  reads       ids 1, 2, of 'app-store-changelog-value' (1 version), 'users-value' (4 versions)
  bad rows    id 3 (AMBIGUOUS_CASE); id 4 (TYPE_MISMATCH)
  refused     id 99
  null        ADDRESS (id 1)
  engines     jvm and arrow
All of it: explain(extended=True)"""


class TestSummary:
    def test_the_incident_to_the_letter(self, registry: FixtureRegistry, client: RegistryClient) -> None:
        for subject, text in (
            ("app-store-changelog-value", KSQLDB),
            ("users-value", SOURCE),
            ("users-value", KSQLDB),
            ("users-value", AMBIGUOUS),
            ("users-value", LIST),
        ):
            registry.seed(subject, text)
        policy = DualSubject(client, first=PHANTOM, second=TopicSubject())
        assert plan_read(client, "users", COLUMNS, policy=policy, ids=[99], missing_columns="null").explain() == SUMMARY

    def test_it_has_ten_lines_at_most_whatever_there_is_to_say(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        registry.configure("users-value", {"compatibility": "NONE"})
        fields = ",".join(f'{{"name":"a_column_of_number_{n}","type":"string"}}' for n in range(60))
        for name in range(30):
            registry.seed("users-value", f'{{"type":"record","name":"U{name}","fields":[{fields}]}}')
            registry.seed("users-value", LIST.replace('"U"', f'"L{name}"'))
        time = '{"type":"int","logicalType":"time-millis"}'
        registry.seed(
            "users-value",
            f'{{"type":"record","name":"N","fields":[{{"name":"name","type":"string"}},{{"name":"t","type":{time}}},'
            '{"name":"a_column_of_number_0","type":"string"}]}',
        )
        lines = plan_read(client, "users", NEWEST, ids=range(900, 950)).explain().splitlines()
        assert len(lines) == 10
        assert max(map(len, lines)) <= 120
        assert "  newest      version 61 of 'users-value'; left out ->t" in lines[2]
        assert lines[6].startswith("  refused     ids 900, 901, ")
        assert lines[6].endswith(" and 42 more")


class TestSchema:
    def test_it_is_the_struct_type_of_the_rows(self, client: RegistryClient) -> None:
        types = pytest.importorskip("pyspark.sql.types")
        schema = plan_read(client, "users", "id long, `tags` array<string>").schema
        assert schema == types.StructType.fromJson(json.loads(plan_read(client, "users", schema).spark_schema()))
        assert schema.simpleString() == "struct<ID:bigint,tags:array<string>>"


class TestExplain:
    def test_the_incident_to_the_letter(self, registry: FixtureRegistry, client: RegistryClient) -> None:
        registry.seed("app-store-changelog-value", KSQLDB)
        registry.seed("users-value", SOURCE)
        registry.seed("users-value", KSQLDB)
        registry.seed("users-value", AMBIGUOUS)
        registry.seed("users-value", LIST)
        policy = DualSubject(client, first=PHANTOM, second=TopicSubject())
        plan = plan_read(client, "users", COLUMNS, policy=policy, ids=[99], missing_columns="null")
        assert _without_engines(plan) == INCIDENT

    def test_schemas_that_are_read_alike_are_shown_once(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        registry.seed("users-value", KSQLDB)
        registry.seed("users-value", KSQLDB.replace('"K"', '"L"'))
        first, second = _without_engines(plan_read(client, "users", "USERID BIGINT, NAME STRING")).split("\n\n")[1:]
        assert "<- USERID" in first
        assert second.splitlines()[-1] == "  fields      as of schema id 1"

    def test_where_the_newest_columns_are_from_and_what_they_leave_out(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        registry.seed("users-value", '{"type":"record","name":"U","fields":[{"name":"id","type":"long"}]}')
        plan = plan_read(client, "users", NEWEST)
        assert _without_engines(plan).splitlines()[1:3] == [
            "  columns     `id` BIGINT",
            "              of version 1 of 'users-value' (schema id 1)",
        ]

    def test_a_bare_key(self, registry: FixtureRegistry, client: RegistryClient) -> None:
        registry.seed("users-key", '"int"')
        plan = plan_read(client, "users", "ID BIGINT KEY", role=Role.KEY)
        assert _without_engines(plan) == BARE

    @pytest.mark.parametrize(
        ("policy", "words"),
        [
            (None, "any id that the registry knows (ById)"),
            (UnderOneSubject, "an id whose schema 'users-value' holds (UnderOneSubject)"),
            (
                lambda client: UnderOneSubject(client, RecordSubject()),
                "an id whose schema a subject of its record's name holds (UnderOneSubject)",
            ),
        ],
    )
    def test_the_policy(
        self, client: RegistryClient, policy: Callable[[RegistryClient], Resolver] | None, words: str
    ) -> None:
        plan = plan_read(client, "users", "ID INT", policy=None if policy is None else policy(client))
        assert f"\n  policy      {words}\n" in plan.explain(extended=True)

    @pytest.mark.parametrize("rule", CaseRule)
    def test_the_case_rule(self, client: RegistryClient, rule: CaseRule) -> None:
        assert f"\n  case rule   {rule.value}: " in plan_read(client, "users", "ID INT", case_rule=rule).explain(
            extended=True
        )

    def test_a_schema_without_a_serde(self, registry: FixtureRegistry, client: RegistryClient) -> None:
        registry.seed("users-value", 'syntax = "proto3"; message U { int64 id = 1; }', schema_type="PROTOBUF")
        text = _without_engines(plan_read(client, "users", "ID INT"))
        assert "\n\nSchema id 1: PROTOBUF\n" in text
        assert "\n  bad rows    BAD_SCHEMA: The schema is of the type" in text

    def test_no_line_but_those_of_the_table_is_wider_than_the_page(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        registry.seed("users-value", SOURCE)
        columns = ", ".join(f"COLUMN_{number} STRING" for number in range(40))
        lines = (
            plan_read(client, "users", columns, ids=[99], missing_columns="null").explain(extended=True).splitlines()
        )
        assert max(len(line) for line in lines if "<-" not in line) <= 120

    def test_it_is_the_same_text_each_time(self, registry: FixtureRegistry, client: RegistryClient) -> None:
        registry.seed("users-value", SOURCE)
        assert (
            len(
                {
                    plan_read(client, "users", COLUMNS, ids=[9, 7, 8], missing_columns="null").explain(extended=True)
                    for _ in range(3)
                }
            )
            == 1
        )


class TestEngines:
    def test_the_jvm_engine_says_what_it_cannot_see(self, registry: FixtureRegistry, client: RegistryClient) -> None:
        registry.seed("users-value", SOURCE)
        registry.seed("users-value", SOURCE.replace('"U"', '"V"'))
        text = _engines(plan_read(client, "users", COLUMNS, missing_columns="null"))
        assert text.startswith(ENGINES)
        flat = " ".join(text.split())
        assert all(f"- {' '.join(sentence.split())}" in flat for sentence in UNSEEN)

    def test_the_arrow_engine_says_what_its_kernel_leaves_to_python(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        for name, type_ in (("A", "double"), ("B", "float"), ("C", "int")):
            record = f'{{"type":"record","name":"{name}","fields":[{{"name":"n","type":"{type_}"}}]}}'
            registry.seed("users-value", record)
        assert _engines(plan_read(client, "users", "N STRING")).splitlines()[1:3] == [
            "              natively where an executor has srfix-kernel; by Python where it has not, and:",
            "              - 1 and 2: N: a fraction as text, which takes Java's digits",
        ]

    @pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
    def test_of_everyday_records_the_kernel_leaves_nothing(
        self, shape: Shape, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        registry.seed("users-value", shape.schema)
        text = _engines(plan_read(client, "users", shape.upper_columns))
        assert "by Python where it has not\n" in text

    def test_the_jvm_engine_says_why_it_refuses(self, client: RegistryClient) -> None:
        plan = plan_read(client, "users", "ID INT", format=Format.JSON_SR)
        assert "  jvm         refused: The jvm engine reads Avro, and the" in _engines(plan).splitlines()[1]

    def test_without_schemas_nobody_is_asked(self) -> None:
        plan = plan_read(None, "users", "ID INT", format=Format.JSON)
        assert _engines(plan).splitlines()[0] == "  arrow       reads all of it"

    def test_a_type_that_spark_has_not_is_for_none(self, client: RegistryClient) -> None:
        text = _engines(plan_read(client, "users", "SINCE TIME"))
        assert text.startswith("  both        refused: The column ->SINCE is TIME, which")
