"""What to do next, for the application at hand: at the end of diagnose, apply and verify, on the embedded parts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.damage import phantom_subject_lacks_writer_id as damage
from srfix.fixtures.registry.http.intercept import Answer, Fault
from srfix.serde.wire import SchemaId, frame_id
from tests.cli.kept_demo import Parts

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


def document(text: str) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(text)
    return parsed


def ksqldb_text(folder: Path, version: str, *, state: str = "ERROR") -> Path:
    """What a person saved of ksqlDB: its version, and the query of the incident."""
    path = folder / f"ksqldb-{version}.json"
    info = {"KsqlServerInfo": {"version": version, "ksqlServiceId": "default_", "serverStatus": "RUNNING"}}
    query = {"id": "CSAS_J_0", "queryString": "CREATE STREAM J …", "state": state}
    path.write_text(json.dumps(info) + json.dumps(query))
    return path


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


class TestDiagnose:
    def test_each_application_with_findings_has_its_own_part(self, own_parts: Parts) -> None:
        stage_shop(own_parts)
        told = advice(document(own_parts.srfix("diagnose", "--output", "json").stdout))
        assert list(told) == [damage.APPLICATION, "shop"]
        assert any("no TERMINATE of query CSAS_J_0" in line for line in told[damage.APPLICATION])
        assert not any("TERMINATE" in line for line in told["shop"])
        assert any(
            "do not upgrade shop to Kafka Streams 2.7 or later with its state kept" in line for line in told["shop"]
        )
        words = " ".join(own_parts.srfix("diagnose", "--details").stdout.split())
        assert f"What to do: {damage.APPLICATION} 1. Before: stop clean-up jobs" in words
        assert "What to do: shop 1. Before: stop clean-up jobs and deployments of shop" in words

    def test_an_application_says_what_was_seen_of_it(self, parts: Parts, tmp_path: Path) -> None:
        text = ksqldb_text(tmp_path, "0.29.0")
        told = document(parts.srfix("diagnose", "--ksqldb-text", text, "--output", "json").stdout)
        (of_it,) = told["applications"]
        assert ("reader", "dual", "conclusive") in {(o["kind"], o["says"], o["weight"]) for o in of_it["observations"]}
        assert of_it["advice"][0] == (
            "Nothing to repair and nothing to restart: a dual reader does not need the phantom subject's versions."
        )

    def test_what_is_known_changes_the_sentences(self, parts: Parts, tmp_path: Path) -> None:
        def lines(*options: str | Path) -> list[str]:
            told = document(parts.srfix("diagnose", *options, "--output", "json").stdout)
            return advice(told)[damage.APPLICATION]

        unknown, known = lines(), lines("--ksqldb-text", ksqldb_text(tmp_path, "0.10.1"))
        assert any("Which version runs is not known; --ksqldb URL tells." in line for line in unknown)
        assert any("ksqlDB 0.10.1 never retries a query, so restart the ksqlDB server." in line for line in known)
        assert any("query CSAS_J_0 (ERROR)" in line for line in known)
        assert any(
            "Do not wipe the state: on Kafka Streams 2.6 that is what" in line
            for line in lines("--streams-version", "2.6.3")
        )

    def test_where_nothing_was_found_there_is_nothing_to_do(self, parts: Parts) -> None:
        done = parts.srfix("diagnose", "--deadline", "0.000001", "--output", "json")
        assert document(done.stdout)["applications"] == []
        assert "What to do" not in parts.srfix("diagnose", "--details", "--deadline", "0.000001").stdout


class TestApply:
    def test_it_ends_with_what_was_known_when_the_repair_was_planned(self, own_parts: Parts, tmp_path: Path) -> None:
        text = ksqldb_text(tmp_path, "0.10.1")
        stage_shop(own_parts)
        planned = own_parts.srfix("plan", "-o", "p.json", "--ksqldb-text", text, cwd=tmp_path)
        assert planned.returncode == 0, planned.stderr
        applied = own_parts.srfix("apply", "p.json", "--yes", "--output", "json", cwd=tmp_path)
        assert applied.returncode == 0, applied.stderr
        following = document(applied.stdout)["next"]
        of_query = [line for line in following if line.startswith(f"{damage.APPLICATION}: ")]
        of_shop = [line for line in following if line.startswith("shop: ")]
        assert len(of_query) + len(of_shop) == len(following)
        assert any("ksqlDB 0.10.1 never retries a query" in line for line in of_query)
        assert any("whether shop runs is not known" in line for line in of_shop)
        assert not any("Before:" in line or "Repair:" in line for line in following)

    def test_one_that_stopped_on_its_way_forbids_the_restart(self, own_parts: Parts, tmp_path: Path) -> None:
        assert own_parts.srfix("plan", "-o", "p.json", cwd=tmp_path).returncode == 0
        body = json.dumps({"error_code": 50001, "message": "Error in the backend data store"})
        refused = Fault(method="POST", path="/versions$", action=Answer(status=500, body=body))
        with own_parts.registry.intercept(refused):
            done = own_parts.srfix("apply", "p.json", "--yes", "--output", "json", cwd=tmp_path)
        assert done.returncode == 3, done.stderr
        (only,) = document(done.stdout)["next"]
        assert only.startswith("Until the repair is done: restart nothing that is down")

        told = document(own_parts.srfix("diagnose", "--output", "json").stdout)
        (broken,) = told["findings"]
        (note,) = broken["notes"]
        assert (broken["subject"], note["code"]) == (own_parts.staged.phantom_subject, "SRF012")
        assert "may have been interrupted: its own compatibility is NONE" in note["explanation"]
        assert "srfix apply and that plan, or undo it with srfix rollback and that journal" in note["next"]

        assert own_parts.srfix("apply", "p.json", "--yes", cwd=tmp_path).returncode == 0
        left = document(own_parts.srfix("diagnose", "--output", "json").stdout)["findings"]
        assert [finding["code"] for finding in left] == ["SRF003"]


class TestVerify:
    @pytest.fixture
    def plan(self, own_parts: Parts, tmp_path: Path) -> Path:
        assert own_parts.srfix("plan", "-o", "p.json", cwd=tmp_path).returncode == 0
        return tmp_path / "p.json"

    def test_a_confirmed_repair_says_what_is_left_to_do(self, own_parts: Parts, plan: Path, tmp_path: Path) -> None:
        assert own_parts.srfix("apply", plan, "--yes").returncode == 0
        text = ksqldb_text(tmp_path, "0.29.0", state="RUNNING")
        done = own_parts.srfix("verify", plan, "--ksqldb-text", text, "--output", "json")
        assert done.returncode == 0, done.stderr
        lines = advice(document(done.stdout))[damage.APPLICATION]
        assert [line.split(":")[0] for line in lines] == ["After", "After", "To prevent the next one"]
        assert "query CSAS_J_0 (RUNNING)" in lines[0]  # as ksqlDB says it now, not when it was planned
        assert "ksqlDB 0.29.0 retries it without anybody's help" in lines[0]
        assert f"What to do: {damage.APPLICATION}" in own_parts.srfix("verify", plan, "--details").stdout
        in_short = own_parts.srfix("verify", plan, "--ksqldb-text", text).stdout
        assert (
            "- What is up reads at once, without a restart; ksqlDB 0.29.0 retries a failed query by itself" in in_short
        )
        assert "- Run srfix diagnose after every new schema of topic users.\n" in in_short

    def test_a_problem_says_what_to_do_instead(self, own_parts: Parts, plan: Path) -> None:
        done = own_parts.srfix("verify", plan, "--output", "json")
        assert done.returncode == 1, done.stderr
        lines = advice(document(done.stdout))[damage.APPLICATION]
        assert any(line.startswith("Do not restart what is down yet") for line in lines)
        assert any("no TERMINATE of query CSAS_J_0" in line for line in lines)
        assert not any(line.startswith("After") for line in lines)

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
        assert line.startswith("Do not rely on it yet: what was looked at holds, and the rest may not.")

    def test_a_limit_that_is_not_reached_changes_nothing(self, own_parts: Parts, plan: Path) -> None:
        assert own_parts.srfix("apply", plan, "--yes").returncode == 0
        usual = own_parts.srfix("verify", plan)
        done = own_parts.srfix("verify", plan, "--max-records", "1000")
        assert (done.returncode, done.stdout) == (0, usual.stdout)

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
