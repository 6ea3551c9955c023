"""What to do next, for the application at hand: at the end of diagnose, apply and verify, on the embedded parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.damage import phantom_subject_lacks_writer_id as damage
from srfix.serde.wire import SchemaId, frame_id
from tests.cli.kept_demo import Parts, document

WRITER = '{"type":"record","name":"Order","fields":[{"name":"orderId","type":"long"}]}'
INTERNAL = '{"type":"record","name":"OrderRow","fields":[{"name":"ORDERID","type":["null","long"],"default":null}]}'
GLOBAL = """\
Topologies:
   Sub-topology: 0 for global store (will not generate tasks)
    Source: KSTREAM-SOURCE-0000000000 (topics: [orders])
      --> KTABLE-SOURCE-0000000001
    Processor: KTABLE-SOURCE-0000000001 (stores: [orders-store])
      --> none
      <-- KSTREAM-SOURCE-0000000000

"""


def stage_shop(parts: Parts, *, commit: bool = True) -> None:
    """A second application with the incident, which is no ksqlDB query."""
    parts.broker.create_topic("orders", 1)
    schema_id = SchemaId(parts.registry.seed("orders-value", WRITER))
    parts.registry.seed("shop-orders-store-changelog-value", INTERNAL)
    parts.broker.produce([ProducedRecord(topic="orders", partition=0, key=b"k", value=frame_id(schema_id, b"\x02"))])
    if commit:
        parts.broker.commit("shop", {("orders", 0): 1})


def advice(told: dict[str, Any]) -> dict[str, list[str]]:
    return {each["application"]: each["advice"] for each in told["applications"]}


def test_what_the_evidence_leaves_open_is_decided_by_a_command_that_is_printed(own_parts: Parts) -> None:
    stage_shop(own_parts)
    own_parts.broker.create_topic("orders-2", 1)
    schema_id = SchemaId(own_parts.registry.seed("orders-2-value", WRITER))
    own_parts.broker.produce(
        [ProducedRecord(topic="orders-2", partition=0, key=b"k", value=frame_id(schema_id, b"\x02"))]
    )
    own_parts.broker.commit("shop", {("orders-2", 0): 1})
    diagnosed = own_parts.srfix("diagnose", "--application", "shop")
    assert "For it: " in diagnosed.stdout
    planned = own_parts.srfix("plan", "--application", "shop")
    for topic in ("orders", "orders-2"):
        assert f"srfix plan --application shop --source shop/orders-store={topic}`" in planned.stderr
    decided = own_parts.srfix("plan", "--application", "shop", "--source", "shop/orders-store=orders-2")
    assert decided.returncode == 0


class TestVerify:
    @pytest.fixture
    def plan(self, own_parts: Parts, tmp_path: Path) -> Path:
        assert own_parts.srfix("plan", "-o", "p.json", cwd=tmp_path).returncode == 0
        return tmp_path / "p.json"

    @pytest.mark.parametrize("limit", [("--max-records", "3"), ("--deadline", "0.000001")])
    def test_a_hurried_look_is_never_called_verified(
        self, own_parts: Parts, plan: Path, limit: tuple[str, str]
    ) -> None:
        assert own_parts.srfix("apply", plan, "--yes").returncode == 0
        done = own_parts.srfix("verify", plan, *limit, "--output", "json")
        assert done.returncode == 2, done.stderr
        told = document(done.stdout)
        assert told["verified"] is False
        assert any(f"({limit[0]}) was reached" in each["what"] for each in told["skipped"])
        (line,) = advice(told)[damage.APPLICATION]
        assert line.startswith("Do not rely on the repair yet. Every check that srfix could make has passed")

    def test_of_a_global_table_committed_offsets_play_no_part(self, own_parts: Parts, tmp_path: Path) -> None:
        """Without one a table restores nothing, and no row is looked at; a global table restores all."""
        stage_shop(own_parts, commit=False)
        (tmp_path / "topology.txt").write_text(GLOBAL)
        which = ("--application", "shop", "--store", "orders-store", "--source", "orders-store=orders")
        assert own_parts.srfix("plan", *which, "-o", "p.json", cwd=tmp_path).returncode == 0
        told = ("--topology", tmp_path / "topology.txt")
        assert own_parts.srfix("plan", *which, *told, "-o", "g.json", cwd=tmp_path).returncode == 0
        assert own_parts.srfix("apply", "p.json", "--yes", cwd=tmp_path).returncode == 0

        def rows(plan: str, *options: str | Path) -> list[str]:
            done = own_parts.srfix("verify", plan, *options, "--output", "json", cwd=tmp_path)
            verified, is_global = document(done.stdout), bool(options) or plan == "g.json"
            assert (done.returncode, verified["verified"]) == ((0, True) if is_global else (2, False))
            if not is_global:
                assert "shop has no committed offset there" in verified["skipped"][0]["what"]
                assert "srfix verify again" in " ".join(advice(verified)["shop"])
                return []
            standbys = [line for line in advice(verified)["shop"] if "standbys" in line]
            assert "the global store orders-store" in standbys[0]
            return [each["what"] for each in verified["checks"] if " live row" in each["what"]]

        assert rows("p.json") == []
        assert [what.split()[0] for what in rows("p.json", *told)] == ["1"]
        assert [what.split()[0] for what in rows("g.json")] == ["1"]  # the plan knows it

    def test_a_ksqldb_that_does_not_answer_is_said(self, own_parts: Parts, plan: Path) -> None:
        assert own_parts.srfix("apply", plan, "--yes").returncode == 0
        done = own_parts.srfix("verify", plan, "--ksqldb", "http://127.0.0.1:1")
        assert done.returncode == 0
        assert "ksqlDB (http://127.0.0.1:1): " in done.stderr
