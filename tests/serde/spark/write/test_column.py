"""What `to_registry(columns, plan)` needs of a plan."""

from __future__ import annotations

from typing import Any

import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.casing import CaseRule
from srfix.serde.errors import EngineRefusedError, UsageError
from srfix.serde.formats.table import Format
from srfix.serde.registry.client import RegistryClient
from srfix.serde.spark.write.column import column_write
from srfix.serde.spark.write.plan import plan_write
from srfix.serde.spark.writing import to_registry
from srfix.serde.wire import Framing
from tests.serde.fakes import MemoryRegistry

EMULATE = "8.2"
SCHEMA = '{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":["null","string"]}]}'


class TestColumnWrite:
    @pytest.mark.parametrize(
        ("options", "is_exact"),
        [
            ({"columns": "A INT, B STRING"}, False),
            ({"columns": "A INT, B STRING", "case_rule": CaseRule.EXACT}, True),
            ({"columns": "A INT, B ARRAY<STRUCT<X INT, `x` INT>>"}, True),
            ({"schema": SCHEMA}, True),
        ],
    )
    def test_the_row_has_the_plan_s_columns(self, options: dict[str, Any], is_exact: bool) -> None:
        made = column_write(plan_write(MemoryRegistry(), "t", **options))
        names = [field["name"] for field in made.struct["fields"]]  # type: ignore[attr-defined]
        assert names == (["a", "b"] if "schema" in options else ["A", "B"])
        assert made.is_exact is is_exact
        assert made.row.is_null == "`srfix_row` IS NULL"

    @pytest.mark.parametrize(
        ("options", "why"),
        [
            ({"columns": "A INT", "format": Format.JSON}, "bodies are JSON"),
            (
                {"columns": "A INT", "schema_id_framing": Framing.HEADER_GUID},
                "the GUID belongs to the record's headers",
            ),
            ({"columns": "A TIME"}, "A is TIME, but Spark has no such type"),
            ({"columns": "`a` INT", "version": 1}, "written by Connect's rules"),
        ],
    )
    def test_what_only_the_arrow_engine_writes_is_refused_with_the_way_out(
        self, registry: FixtureRegistry, client: RegistryClient, options: dict[str, Any], why: str
    ) -> None:
        registry.seed("t-value", '{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}')
        plan = plan_write(client, "t" if "version" in options else "other", **options)
        with pytest.raises(EngineRefusedError, match=why) as caught:
            to_registry(["A"], plan)
        assert caught.value.message.endswith("Transform the frame instead: df.transform(to_registry(plan)).")


def test_a_column_has_no_options_and_a_plan_is_needed() -> None:
    plan = plan_write(MemoryRegistry(), "t", "A INT")
    with pytest.raises(UsageError, match="an expression without options"):
        to_registry(["A"], plan, engine="arrow")  # type: ignore[call-overload]
    with pytest.raises(UsageError, match="given no plan from plan_write"):
        to_registry("A")  # type: ignore[call-overload]
