"""Plans of days, times and instants, and what NEWEST makes of a schema."""

from __future__ import annotations

import datetime
import json
from typing import Final

import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde import CaseRule, ColumnError, RegistryClient, SerdeContext, print_columns
from srfix.serde.formats.table import Format
from srfix.serde.spark import NEWEST, plan_read
from tests.serde.avro_schemas import DATE, MICROS, MILLIS, TIME_MILLIS, array, decimal, entries, logical, map_of, record
from tests.serde.spark.read.jvm.plans import Json


def _seed(registry: FixtureRegistry, **fields: Json) -> int:
    return registry.seed("users-value", json.dumps(record(**fields)))


DEBEZIUM: Final = "io.debezium.time"
LOCAL: Final = logical("long", "local-timestamp-micros")


class TestNumbersOfDifferentUnits:
    """A column that takes numbers as they are, and versions whose numbers are not the same."""

    @pytest.mark.parametrize(
        ("column", "types", "path"),
        [
            ("A BIGINT", (MILLIS, MICROS), "A"),
            ("A STRING", (logical("long", "time-micros"), MICROS), "A"),
            ("A INT", (DATE, TIME_MILLIS), "A"),
            ("A ARRAY<BIGINT>", (array(logical("long", "timestamp-nanos")), array(MICROS)), "A->ARRAY"),
        ],
    )
    def test_are_refused(
        self, registry: FixtureRegistry, client: RegistryClient, column: str, types: tuple[Json, Json], path: str
    ) -> None:
        registry.configure("users-value", {"compatibility": "NONE"})
        for type_ in types:
            _seed(registry, A=type_)
        with pytest.raises(ColumnError, match=rf"The column {path} would hold numbers with"):
            plan_read(client, "users", column)
        plan_read(client, "users", column, case_rule=CaseRule.KSQLDB)

    def test_nor_where_they_are_the_same_by_another_name_or_say_nothing(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        registry.configure("users-value", {"compatibility": "NONE"})
        types: list[Json] = [MICROS, "long", {"type": "long", "connect.name": f"{DEBEZIUM}.MicroTimestamp"}]
        for type_ in types:
            _seed(registry, A=type_)
        plan_read(client, "users", "A BIGINT")
        _seed(registry, A=MILLIS)
        plan_read(client, "users", "A TIMESTAMP")


class TestTimes:
    """Numbers that are no such day, time or instant."""

    @pytest.mark.parametrize(
        ("column", "type_", "path"),
        [
            ("A TIMESTAMP", LOCAL, "A"),
            ("A TIMESTAMP", ["null", DATE], "A"),
            ("A TIMESTAMP", logical("long", "time-micros"), "A"),
            ("A DATE", TIME_MILLIS, "A"),
            ("A ARRAY<TIMESTAMP>", array(LOCAL), "A->ARRAY"),
            ("A MAP<STRING, TIMESTAMP>", map_of(LOCAL), "A->MAP_VAL"),
            ("A STRUCT<X TIMESTAMP>", record("S", X=LOCAL), "A->X"),
        ],
    )
    def test_a_column_that_no_version_fills_is_refused(
        self, registry: FixtureRegistry, client: RegistryClient, column: str, type_: Json, path: str
    ) -> None:
        _seed(registry, A=type_)
        with pytest.raises(ColumnError, match=rf"The column {path} cannot be read .* Declare the column") as caught:
            plan_read(client, "users", column)
        assert "use the case rule 'ksqldb'" in caught.value.message
        plan = plan_read(client, "users", column, case_rule=CaseRule.KSQLDB)
        assert all(feed.refusal is None for feed in plan.schemas[0].feeds)

    @pytest.mark.parametrize("rule", [CaseRule.KSQLDB, CaseRule.KSQLDB_2020])
    @pytest.mark.parametrize("type_", [LOCAL, "long", MICROS])
    def test_under_ksqldbs_rules_nothing_feeds_a_local_time(
        self, registry: FixtureRegistry, client: RegistryClient, rule: CaseRule, type_: Json
    ) -> None:
        _seed(registry, A=type_)
        with pytest.raises(ColumnError, match="cannot be read as TIMESTAMP_NTZ, at A: its") as said:
            plan_read(client, "users", "A timestamp_ntz", case_rule=rule)
        assert "use the case rule" not in said.value.message  # none of them feeds it

    @pytest.mark.parametrize(
        ("column", "bad", "good"),
        [("A TIMESTAMP", LOCAL, MICROS), ("A ARRAY<TIMESTAMP>", array(LOCAL), array(MILLIS))],
    )
    def test_where_another_version_fills_it_the_rows_of_the_one_are_bad(
        self, registry: FixtureRegistry, client: RegistryClient, column: str, bad: Json, good: Json
    ) -> None:
        _seed(registry, A=bad)
        _seed(registry, A=good)
        plan = plan_read(client, "users", column)
        assert any(feed.other_time is not None for feed in plan.schemas[0].feeds)
        assert all(feed.refusal is None for feed in plan.schemas[1].feeds)

    def test_of_a_json_schema_too(self, registry: FixtureRegistry, client: RegistryClient) -> None:
        for name, per_second in (("MicroTimestamp", 10**6), ("Timestamp", 10**3), ("NanoTimestamp", 10**9)):
            type_ = {"type": "integer", "title": f"{DEBEZIUM}.{name}", "connect.type": "int64"}
            text = json.dumps({"type": "object", "properties": {"A": type_}})
            schema_id = registry.seed("users-value", text, schema_type="JSON")
            plan = plan_read(client, "users", "A TIMESTAMP", format=Format.JSON_SR)
            payload = b"\0\0\0\0" + bytes([schema_id]) + b'{"A":%d}' % (1_704_153_600 * per_second)
            at = datetime.datetime(2024, 1, 2, tzinfo=datetime.UTC)
            assert plan.deserializer()(payload, SerdeContext("users")) == {"A": at}
            with pytest.raises(ColumnError, match="it is an instant"):
                plan_read(client, "users", "A TIME", format=Format.JSON_SR)


class TestNewestOfSpark:
    """What no column of Spark's holds is left out and named, and the rest is read."""

    def test_leaves_out_the_innermost_field_and_reads_the_rest(
        self, registry: FixtureRegistry, client: RegistryClient
    ) -> None:
        time, wide = TIME_MILLIS, decimal(39, 2)
        parts = {"s": record("S", x=time, y="int"), "only": record("O", x=time), "l": array(time)}
        parts |= {"m": entries("int", "string"), "r": record("N", v="int", next=["null", "N"])}
        _seed(registry, a="int", t=time, n="null", d=wide, **parts, u=["null"], z="string")
        plan = plan_read(client, "users", NEWEST)
        columns = "`a` INTEGER, `s` STRUCT<`y` INTEGER>, `r` STRUCT<`v` INTEGER>, `z` STRING"
        assert print_columns(plan.columns) == columns
        assert plan.newest is not None
        reasons = {dropped.path: dropped.reason for dropped in plan.newest.dropped}
        assert set(reasons) == {"->t", "->n", "->d", "->s->x", "->only", "->only->x", "->l", "->m", "->u", "->r->next"}
        assert reasons["->t"].startswith("Spark has no type TIME.")
        assert reasons["->d"].startswith("Spark's decimals have at most 38 digits, but this one has 39.")
        assert plan.spark_schema()
        explained = plan.explain(extended=True)
        assert all(f"left out {path.removeprefix('->')}: " in explained for path in reasons)

    @pytest.mark.parametrize(
        ("type_", "column"),
        [
            (MILLIS, "TIMESTAMP"),
            (MICROS, "TIMESTAMP"),
            (logical("long", "timestamp-nanos"), "BIGINT"),
            (LOCAL, "TIMESTAMP_NTZ"),
            (logical("long", "local-timestamp-nanos"), "BIGINT"),
            (logical("long", "time-micros"), "BIGINT"),
            ({"type": "long", "connect.name": f"{DEBEZIUM}.MicroTimestamp"}, "TIMESTAMP"),
            ({"type": "int", "connect.name": f"{DEBEZIUM}.Date"}, "DATE"),
            (["null", MICROS], "TIMESTAMP"),
            (record("S", X=MICROS), "STRUCT<X TIMESTAMP>"),
        ],
    )
    def test_takes_instants_for_what_they_are(
        self, registry: FixtureRegistry, client: RegistryClient, type_: Json, column: str
    ) -> None:
        _seed(registry, A=type_)
        plan = plan_read(client, "users", NEWEST)
        assert print_columns(plan.columns) == f"A {column}"
        assert all(feed.refusal is None for feed in plan.schemas[0].feeds)
