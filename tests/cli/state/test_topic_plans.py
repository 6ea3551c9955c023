"""`srfix state seed-changelog` and `plan-expiry`, `apply` and `rollback` of what they plan, on the embedded broker.

That knows no groups and no configurations, and creates no topics for clients: what they would be is put in here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from srfix.cli.main import main
from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.recovery.cluster.answers import GroupState, TopicConfigs
from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.topic_plan.hand import KafkaHand
from srfix.serde.subjects.names import Topic
from tests.documents import check, validator

OLD = 1_600_000_000_000
YOUNG = 4_000_000_000_000
CHANGELOG = "shop-users-store-changelog"


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(topics={"users": 2}) as running:
        running.produce(
            [
                ProducedRecord(topic="users", partition=0, key=b"ann", value=b"1", timestamp_ms=OLD),
                ProducedRecord(
                    topic="users", partition=0, key=b"ann", value=b"2", timestamp_ms=OLD + 1, headers=(("h", None),)
                ),
                ProducedRecord(topic="users", partition=1, key=b"bob", value=b"3", timestamp_ms=YOUNG),
            ]
        )
        running.commit("shop", {("users", 0): 2, ("users", 1): 1})
        yield running


@pytest.fixture(autouse=True)
def real_answers(broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a real cluster says, and does."""

    def group_state(_self: Cluster, group: str, *, timeout_s: float = 5.0) -> GroupState:
        return GroupState(group=group, state="Empty", members=0, problem=None)

    def topic_configs(_self: Cluster, topic: str, *, timeout_s: float = 5.0) -> TopicConfigs:
        values = {"cleanup.policy": "compact", "message.timestamp.type": "CreateTime"}
        return TopicConfigs(topic=Topic(topic), values=values, problem=None)

    def create_topic(_self: KafkaHand, topic: str, partitions: int, **_more: object) -> None:
        broker.create_topic(topic, partitions)

    monkeypatch.setattr(Cluster, "group_state", group_state)
    monkeypatch.setattr(Cluster, "topic_configs", topic_configs)
    monkeypatch.setattr(KafkaHand, "create_topic", create_topic)
    monkeypatch.setenv("SRFIX_BOOTSTRAP_SERVERS", broker.bootstrap_servers)


def live(broker: EmbeddedBroker, topic: str) -> dict[bytes | None, tuple[Any, ...]]:
    found: dict[bytes | None, tuple[Any, ...]] = {}
    with Cluster({"bootstrap.servers": broker.bootstrap_servers}) as cluster:
        for partition, log in cluster.watermarks(topic, range(2)).items():
            for record in cluster.read(topic, partition, *log):
                found[record.key] = (record.value, record.timestamp, record.headers)
    return {key: content for key, content in found.items() if content[0] is not None}


ROWS = {b"ann": (b"2", OLD + 1, (("h", None),)), b"bob": (b"3", YOUNG, ())}
SEED = ("state", "seed-changelog", "--application", "shop", "--store", "users-store", "--source", "users", "-o")
EXPIRY = ("state", "plan-expiry", "--application", "shop", "--topic", "users", "--older-than", "30d", "-o")


def check_files(folder: Path) -> None:
    """The plan and its journal are as their published schemas say."""
    check(json.loads((folder / "p.json").read_text()))
    for line in (folder / "p.json.journal.jsonl").read_text().splitlines():
        assert not list(validator("topic-journal").iter_errors(json.loads(line))), line


class TestSeedChangelog:
    def test_is_planned_applied_and_applied_again(
        self, broker: EmbeddedBroker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        plan = str(tmp_path / "p.json")
        assert main([*SEED, plan]) == 0
        shown = capsys.readouterr()
        assert f"create the topic {CHANGELOG} with 2 partitions" in shown.out
        assert f"srfix apply {plan}" in shown.out.replace("\n", "")
        assert shown.err == f"Plan written to {plan}.\n"
        assert CHANGELOG not in broker.topics
        assert main(["apply", plan, "--yes", "--output", "json"]) == 0
        document = json.loads(capsys.readouterr().out)
        check_files(tmp_path)
        check(document)
        assert (document["schema"], document["is_finished"]) == ("srfix.topic-applied/1", True)
        assert [step["written"] for step in document["steps"]] == [1, 1, 1]
        assert live(broker, CHANGELOG) == ROWS
        assert main(["apply", plan, "--yes"]) == 0
        said = capsys.readouterr().out
        assert "This plan was already applied; this run wrote nothing" in said
        assert "“Carry out the plan” is done" in said

    def test_a_source_of_another_store_is_refused(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert (
            main([*(word.replace("users", "other=users") if word == "users" else word for word in SEED), "p.json"]) == 2
        )
        assert "--source is for the store 'other', but --store names 'users-store'." in capsys.readouterr().err

    def test_a_changed_world_is_2_and_a_stop_on_the_way_is_3(
        self,
        broker: EmbeddedBroker,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        plan = str(tmp_path / "p.json")
        assert main([*SEED, plan]) == 0
        broker.create_topic(CHANGELOG, 2)
        assert main(["apply", plan, "--yes"]) == 2
        assert (
            f"the topic {CHANGELOG} exists now; when the plan was made it did not. srfix wrote nothing after"
            in capsys.readouterr().err
        )
        Path(plan).unlink()
        assert main([*SEED, plan]) == 0
        with monkeypatch.context() as patched:
            patched.setattr(KafkaHand, "append", lambda _self, _topic, records: len(list(records)))  # keeps nothing
            assert main(["apply", plan, "--yes"]) == 3
        assert "srfix wrote 1 row, but shop-users-store-changelog[0] holds only 0 of 1" in capsys.readouterr().err
        assert main(["apply", plan, "--yes"]) == 0
        assert live(broker, CHANGELOG) == ROWS
        assert main(["rollback", plan, "--yes"]) == 0
        assert live(broker, CHANGELOG) == {}


class TestPlanExpiry:
    def test_is_planned_applied_and_rolled_back(
        self, broker: EmbeddedBroker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        plan = str(tmp_path / "p.json")
        assert main([*EXPIRY, plan]) == 0
        shown = capsys.readouterr()
        assert "Plan: delete 1 key of users" in shown.out
        assert "'ann' of 2020-09-13T12:26:40+00:00, partition 0, offset 1" in shown.out
        assert shown.err == f"Plan written to {plan}, and its 1 record to {plan}.records.jsonl.\n"
        assert main(["apply", plan, "--yes"]) == 0
        assert live(broker, "users") == {b"bob": ROWS[b"bob"]}
        capsys.readouterr()
        assert main(["rollback", f"{plan}.journal.jsonl", "--yes", "--output", "json"]) == 0
        document = json.loads(capsys.readouterr().out)
        check(document)
        check_files(tmp_path)
        assert document["steps"][0]["written"] == 1
        assert live(broker, "users") == ROWS

    def test_nothing_old_is_no_plan(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        plan = tmp_path / "p.json"
        assert main(["30000w" if word == "30d" else word for word in (*EXPIRY, str(plan))]) == 2
        assert "seconds goes back before 1970" in capsys.readouterr().err
        assert main(["2500w" if word == "30d" else word for word in (*EXPIRY, str(plan))]) == 0
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("age", ["30", "d", "-3d", "0d", "P30D"])
    def test_an_age_has_a_number_and_a_unit(self, age: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main([age if word == "30d" else word for word in (*EXPIRY, "p.json")]) == 2
        assert "is not a duration" in capsys.readouterr().err


class TestOtherCommands:
    @pytest.fixture
    def plan(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
        plan = str(tmp_path / "p.json")
        assert main([*EXPIRY, plan]) == 0
        capsys.readouterr()
        return plan

    def test_apply_asks_and_nobody_can_answer(self, plan: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["apply", plan]) == 2
        assert "srfix apply asks before it writes, but there is no terminal to answer at." in capsys.readouterr().err

    def test_verify_reads_the_topic_again(
        self, plan: str, broker: EmbeddedBroker, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["verify", plan]) == 1
        shown = capsys.readouterr()
        assert "users does not hold the planned records" in shown.out
        assert "0 of 1 key deleted; 1 still with the row that the plan deletes" in " ".join(shown.out.split())
        assert main(["apply", plan, "--yes"]) == 0
        capsys.readouterr()
        for path in (plan, f"{plan}.journal.jsonl"):
            assert main(["verify", path, "--output", "json"]) == 0
            document = json.loads(capsys.readouterr().out)
            check(document)
            assert [(each["outcome"], each["stands"]) for each in document["checks"]] == [("holds", 1)]
        assert main(["verify", plan, "--quiet"]) == 0
        assert capsys.readouterr() == ("", "")
        Path(f"{plan}.records.jsonl").unlink()
        assert main(["verify", plan]) == 2
        assert "srfix does not know which keys the plan deletes" in " ".join(capsys.readouterr().out.split())

    def test_verify_refuses_what_it_would_not_look_at(self, plan: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["verify", plan, "--only", "SRF001"]) == 2
        assert "--only: these options are only for plans of srfix plan." in capsys.readouterr().err
        assert main(["verify", plan, "--expect-digest", "sha256:" + "0" * 64]) == 2
        assert "is not the one that was reviewed" in capsys.readouterr().err

    def test_a_plan_is_not_written_over_another(
        self, plan: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        before = {path: path.read_bytes() for path in tmp_path.iterdir()}
        for command in (SEED, EXPIRY):
            assert main([*command, plan]) == 2
            assert f"{plan} exists already" in capsys.readouterr().err
        Path(plan).rename(tmp_path / "moved.json")
        assert main([*EXPIRY, plan]) == 2
        assert f"{plan}.records.jsonl exists already" in capsys.readouterr().err
        (tmp_path / "moved.json").rename(plan)
        assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before

    def test_a_plan_is_not_written_over_a_journal(self, plan: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["apply", plan, "--yes"]) == 0
        assert main([*EXPIRY, f"{plan}.journal.jsonl"]) == 2
        assert "is the journal of another plan" in capsys.readouterr().err
