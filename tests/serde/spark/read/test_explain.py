"""What a plan says of itself, to the letter."""

from __future__ import annotations

import json
import re
from typing import Final

import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import ChangelogSubject, DualSubject, RegistryClient, TopicSubject
from srfix.serde.formats.table import Format
from srfix.serde.spark import NEWEST, ReadPlan, plan_read
from srfix.serde.spark.read.jvm.read import UNSEEN
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

INCIDENT: Final = (
    "  policy an id whose schema is registered under 'app-store-changelog-value', otherwise 'users-value' "
    "(DualSubject)",
    "  asked 'app-store-changelog-value' (1 version), 'users-value' (4 versions)",
    "  is version 1 of 'app-store-changelog-value', version 2 of 'users-value'",
    "  accepted under 'app-store-changelog-value'",
    "  ADDRESS STRUCT<CITY STRING, STREET… <- null: no field feeds it",
    "  USERID BIGINT <- userId (int to BIGINT)",
    "  ADDRESS->CITY <- address->city",
    "  not read internal, address->zip",
    "  bad rows AMBIGUOUS_CASE: Column 'USERID' could be fed by several fields of the writer schema that differ only by",
    "  bad rows TYPE_MISMATCH: At NAME, a column of the type STRING cannot read the writer's type array as type",
    "  id 99 UNKNOWN_ID: The registry does not know schema id 99",
)
"""What it says of it; blanks within a line are one."""


def _without_engines(plan: ReadPlan) -> str:
    text, _, engines = plan.explain(extended=True).partition("\n\nEngines\n")
    assert engines
    return text


def _engines(plan: ReadPlan) -> str:
    return plan.explain(extended=True).partition("\n\nEngines\n")[2]


SUMMARY: Final = """\
The values of topic 'users': Avro, case rule unique
  columns     USERID BIGINT, NAME STRING, ADDRESS STRUCT<CITY STRING, STREET STRING>
  policy      an id whose schema is registered under 'app-store-changelog-value', otherwise 'users-value' (DualSubject)
  reads       ids 1, 2, of 'app-store-changelog-value' (1 version), 'users-value' (4 versions)
  bad rows    id 3 (AMBIGUOUS_CASE); id 4 (TYPE_MISMATCH)
  refused     id 99
  null        ADDRESS (id 1)
  engines     jvm and arrow
All of it: explain(extended=True)"""


def incident(registry: FixtureRegistry, client: RegistryClient) -> ReadPlan:
    registry.seed("app-store-changelog-value", KSQLDB)
    for text in (SOURCE, KSQLDB, AMBIGUOUS, LIST):
        registry.seed("users-value", text)
    policy = DualSubject(client, first=PHANTOM, second=TopicSubject())
    return plan_read(client, "users", COLUMNS, policy=policy, ids=[99], missing_columns="null")


class TestSummary:
    def test_the_incident_to_the_letter(self, registry: FixtureRegistry, client: RegistryClient) -> None:
        assert incident(registry, client).explain() == SUMMARY

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
        assert "version 61 of 'users-value'; left out t" in lines[2]
        assert lines[6].startswith("  refused     ids 900, 901, ")
        assert lines[6].endswith(" and 42 more")

    def test_a_column_with_a_default_is_not_null(self, registry: FixtureRegistry, client: RegistryClient) -> None:
        registry.seed("users-value", KSQLDB)
        fields = '{"name":"A","type":"string","default":"x"},{"name":"B","type":["null","int"],"default":null}'
        reader = KSQLDB.replace('"fields":[', f'"fields":[{fields},')
        summary = plan_read(client, "users", reader_schema=reader).explain()
        assert re.findall(r"^  null .*$", summary, re.MULTILINE) == ["  null        B (id 1)"]


class TestSchema:
    def test_it_is_the_struct_type_of_the_rows(self, client: RegistryClient) -> None:
        types = pytest.importorskip("pyspark.sql.types")
        schema = plan_read(client, "users", "id long, `tags` array<string>").schema
        assert schema == types.StructType.fromJson(json.loads(plan_read(client, "users", schema).spark_schema()))
        assert schema.simpleString() == "struct<ID:bigint,tags:array<string>>"


class TestExplain:
    def test_the_incident(self, registry: FixtureRegistry, client: RegistryClient) -> None:
        plan = incident(registry, client)
        said = "\n".join(re.sub(r"(?<=\S) +", " ", line) for line in _without_engines(plan).splitlines())
        assert [line for line in INCIDENT if line not in said] == []

    def test_schemas_that_are_read_alike_are_shown_once(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        registry.seed("users-value", KSQLDB)
        registry.seed("users-value", KSQLDB.replace('"K"', '"L"'))
        first, second = _without_engines(plan_read(client, "users", "USERID BIGINT, NAME STRING")).split("\n\n")[1:]
        assert "<- USERID" in first
        assert second.splitlines()[-1] == "  fields      the same as in schema id 1"


class TestEngines:
    def test_the_jvm_engine_says_what_it_cannot_see(self, registry: FixtureRegistry, client: RegistryClient) -> None:
        registry.seed("users-value", SOURCE)
        registry.seed("users-value", SOURCE.replace('"U"', '"V"'))
        text = _engines(plan_read(client, "users", COLUMNS, missing_columns="null"))
        flat = " ".join(text.split())
        assert "otherwise by Python jvm reads 1 shape of schemas: ids 1 and 2 cannot see: - " in flat
        assert all(f"- {' '.join(sentence.split())}" in flat for sentence in UNSEEN)

    def test_the_arrow_engine_says_what_its_kernel_leaves_to_python(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        for name, type_ in (("A", "double"), ("B", "float"), ("C", "int")):
            record = f'{{"type":"record","name":"{name}","fields":[{{"name":"n","type":"{type_}"}}]}}'
            registry.seed("users-value", record)
        assert _engines(plan_read(client, "users", "N STRING")).splitlines()[1:3] == [
            "              natively if an executor has srfix-kernel, otherwise by Python, and:",
            "              - 1 and 2: N: the text of a floating-point number, because the kernel does not write digits as Java "
            "does",
        ]

    @pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
    def test_of_everyday_records_the_kernel_leaves_nothing(
        self, shape: Shape, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        registry.seed("users-value", shape.schema)
        text = _engines(plan_read(client, "users", shape.upper_columns))
        assert "otherwise by Python\n" in text

    def test_the_jvm_engine_says_why_it_refuses(self, client: RegistryClient) -> None:
        plan = plan_read(client, "users", "ID INT", format=Format.JSON_SR)
        assert "  jvm         refused: The jvm engine reads only Avro, but the" in _engines(plan).splitlines()[1]

    def test_a_type_that_spark_has_not_is_for_none(self, client: RegistryClient) -> None:
        text = _engines(plan_read(client, "users", "SINCE TIME"))
        assert text.startswith("  both        refused: The column SINCE is TIME, but")
