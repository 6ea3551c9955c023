"""What bounds Java's Avro: which plans need it, how sessions get it, what is said where it is missing."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import MappingProxyType, ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from srfix.serde.spark.avro_limits import LIMITS, limits_needed, unbounded, with_avro_limits
from srfix.serde.spark.read.jvm.read import jvm_read
from tests.serde.avro_schemas import array, enum, fixed, logical, record
from tests.serde.spark.read.jvm.plans import Json, plan_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ITEMS, STRING, BYTES = LIMITS
ALL = " ".join(f"-D{name}={most}" for name, most in LIMITS.items())
NO_SESSION = cast("SparkSession", None)


class TestWithAvroLimits:
    def test_driver_and_executors_get_bounds_beside_what_they_have(self) -> None:
        config = with_avro_limits({"spark.driver.defaultJavaOptions": "-Xss4m", "a": "b"})
        assert config == {
            "spark.driver.defaultJavaOptions": f"-Xss4m {ALL}",
            "spark.executor.defaultJavaOptions": ALL,
            "a": "b",
        }

    def test_a_bound_that_is_there_stays(self) -> None:
        given = {"spark.executor.defaultJavaOptions": f"-D{ITEMS}=7"}
        options = with_avro_limits(given)["spark.executor.defaultJavaOptions"].split()
        assert sorted(options) == sorted([f"-D{ITEMS}=7", *ALL.split()[1:]])


class TestLimitsNeeded:
    @pytest.mark.parametrize(
        ("columns", "schema", "expected"),
        [
            ("A INT", record(a="int"), ()),
            ("A INT", record(a="int", b="string", c=array("int"), d="bytes"), ()),
            ("A DOUBLE, B BOOLEAN", record(a=["null", "double"], b="boolean"), ()),
            ("A STRING", record(a=enum("X", "Y")), ()),
            ("A DECIMAL(4, 1)", record(a=logical(fixed(2), "decimal", precision=4, scale=1)), ()),
            ("A STRING", record(a=["null", "string"]), (STRING, BYTES)),
            ("A BYTES", record(a="bytes"), (STRING, BYTES)),
            ("A DECIMAL(4, 1)", record(a=logical("bytes", "decimal", precision=4, scale=1)), (STRING, BYTES)),
            ("A ARRAY<INT>", record(a=array("int")), (ITEMS,)),
            ("A STRUCT<B ARRAY<INT>>", record(a=record("In", b=array(["null", "int"]))), (ITEMS,)),
            ("A MAP<STRING, INT>", record(a={"type": "map", "values": "int"}), (ITEMS,)),
            ("A ARRAY<STRING>", record(a=array("string")), (ITEMS, STRING, BYTES)),
        ],
    )
    def test_what_is_wanted_counts_and_nothing_else(
        self, columns: str, schema: Json, expected: tuple[str, ...]
    ) -> None:
        assert limits_needed(jvm_read(plan_of(columns, schema))) == expected


class TestSkipsItems:
    @pytest.mark.parametrize(
        ("columns", "schema", "expected"),
        [
            ("A INT", record(a="int", b="string"), False),
            ("A ARRAY<INT>", record(a=array("int"), b="bytes"), False),
            ("A INT", record(a="int", b=array("int")), True),
            ("A INT", record(a="int", b=["null", {"type": "map", "values": "int"}]), True),
            ("A STRUCT<B INT>", record(a=record("In", b="int", c=array("int"))), True),
            ("A ARRAY<STRUCT<B INT>>", record(a=array(record("In", b="int", c=array("int")))), True),
            ("A STRUCT<B ARRAY<INT>>", record(a=record("In", b=array("int")), c="In"), True),
        ],
    )
    def test_an_array_or_map_that_nothing_wants_is_skipped(self, columns: str, schema: Json, expected: bool) -> None:
        assert [shape.skips_items for shape in jvm_read(plan_of(columns, schema)).shapes] == [expected]


class TestUnbounded:
    @pytest.fixture(autouse=True)
    def answers(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked = SimpleNamespace(
            read_jvm_properties=lambda _spark, _names: self.answer, has_class=lambda *_: self.knows_items
        )
        monkeypatch.setitem(sys.modules, "srfix.serde.spark._pyspark.sessions", cast("ModuleType", asked))

    answer: Mapping[str, int] | str = MappingProxyType({})
    knows_items = True

    def test_a_bound_that_is_not_needed_is_not_missed(self) -> None:
        self.answer = {ITEMS: LIMITS[ITEMS]}
        assert unbounded(NO_SESSION, (ITEMS,)) is None

    def test_one_that_is_missing_is_named_with_the_lines_that_set_it(self) -> None:
        self.answer = {ITEMS: LIMITS[ITEMS], BYTES: LIMITS[BYTES]}
        said = unbounded(NO_SESSION, (STRING, BYTES)) or ""
        assert f"Spark's JVMs run without {STRING}: a record of ten bytes" in said
        assert f"spark.executor.defaultJavaOptions {ALL}" in said

    def test_an_avro_that_knows_no_bound_on_items_has_none_whatever_is_set(self) -> None:
        self.answer, self.knows_items = LIMITS, False
        assert unbounded(NO_SESSION, (STRING, BYTES)) is None
        said = unbounded(NO_SESSION, (ITEMS, STRING)) or ""
        assert said.startswith("Spark's Avro is older than 1.11.3 and has no limit on the")

    def test_a_number_that_bounds_nothing_is_no_bound(self) -> None:
        self.answer = {ITEMS: 10 * LIMITS[ITEMS], STRING: 2**31 - 1}
        assert unbounded(NO_SESSION, (ITEMS,)) is None
        said = unbounded(NO_SESSION, (ITEMS, STRING, BYTES)) or ""
        assert said.startswith(f"Spark's JVMs run without {STRING} (their value is 2147483647),")

    def test_not_known_is_not_bounded(self) -> None:
        self.answer = "java_method is not allowed"
        said = unbounded(NO_SESSION, (ITEMS,)) or ""
        assert said.startswith("srfix cannot check here whether Spark's JVMs limit the lengths that Avro accepts")
