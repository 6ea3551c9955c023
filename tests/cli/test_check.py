"""`srfix check`, and the plan, repair and verification of what it finds, through the installed command."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.fixtures.damage import (
    latest_version_does_not_resolve_old_records,
    latest_version_is_soft_deleted,
    mirrored_topic_under_a_renamed_subject,
    producers_name_subjects_by_the_record,
)
from srfix.fixtures.damage._topics import StagedTopic
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.registry.client import RegistryClient
from tests.cli.kept_demo import srfix
from tests.telling import slow_but

MIRRORED = mirrored_topic_under_a_renamed_subject
BY_RECORD = producers_name_subjects_by_the_record


@dataclass(frozen=True, kw_only=True)
class Parts:
    """A damage on parts of its own."""

    broker: EmbeddedBroker
    registry: FixtureRegistry
    staged: StagedTopic

    def srfix(self, *arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        env = {"SRFIX_BOOTSTRAP_SERVERS": self.broker.bootstrap_servers, "SRFIX_REGISTRY": self.registry.url}
        return srfix(*arguments, env=env, cwd=cwd)

    def check(self, *options: str, code: int) -> dict[str, Any]:
        """The document; the command writes nothing."""
        before = self.registry.dump()
        done = self.srfix("check", self.staged.topic, *options, "--output", "json")
        assert done.returncode == code, done.stdout + done.stderr
        assert self.registry.dump() == before
        document: dict[str, Any] = json.loads(done.stdout)
        assert document["schema"] == "srfix.check/1"
        return document


@contextmanager
def staged(damage: ModuleType, *, is_healthy: bool = False) -> Iterator[Parts]:
    with (
        EmbeddedBroker(topics=damage.TOPICS) as broker,
        FixtureRegistry() as registry,
        RegistryClient(registry.url) as client,
    ):
        topic = damage.stage(broker, client, is_healthy=is_healthy)
        registry.forget_requests()
        yield Parts(broker=broker, registry=registry, staged=topic)


@pytest.fixture(scope="module")
def mirrored() -> Iterator[Parts]:
    with staged(MIRRORED) as parts:
        yield parts


def found(document: Mapping[str, Any]) -> list[tuple[str, str, str, list[int]]]:
    return [
        (each["code"], each["role"], each["subject"], [fault["id"] for fault in each["schema_ids"]])
        for each in document["findings"]
    ]


DAMAGES = (
    (MIRRORED, "connect", ["SRF020", "SRF020"]),
    (BY_RECORD, "ksqldb", ["SRF020"]),
    (latest_version_is_soft_deleted, "latest", ["SRF020"]),
    (latest_version_does_not_resolve_old_records, "latest", ["SRF020"]),
)


@pytest.mark.parametrize(("damage", "reader", "codes"), DAMAGES, ids=lambda part: getattr(part, "__name__", None))
class TestEachDamage:
    def test_it_is_found_under_its_code_alone_and_its_healthy_twin_gives_none(
        self, damage: ModuleType, reader: str, codes: list[str]
    ) -> None:
        with staged(damage) as parts:
            document = parts.check("--reader", reader, code=1)
            assert [each["code"] for each in document["findings"]] == codes
            assert not document["healthy"]
        with staged(damage, is_healthy=True) as parts:
            document = parts.check("--reader", reader, code=0)
            assert document["findings"] == []
            assert document["healthy"]


class TestTheReader:
    def test_a_mirrored_topic_lacks_both_subjects_and_the_holders_are_named(self, mirrored: Parts) -> None:
        first, second = mirrored.staged.ids
        document = mirrored.check("--reader", "connect", code=1)
        assert found(document) == [
            ("SRF020", "key", "source.users-key", [mirrored.staged.key_id]),
            ("SRF020", "value", "source.users-value", [first, second]),
        ]
        assert {(h["id"], h["subject"]) for h in document["findings"][1]["holders"]} == {
            (first, "users-value"),
            (second, "users-value"),
        }
        explanation = document["findings"][1]["explanation"]
        assert "carry schema id 1 (1 record: 1 in partition 0); schema id 2 (1 record: 1 in partition 1)" in explanation
        assert "The subject that the reader asks, source.users-value, does not exist (40401)" in explanation
        assert "Schema ids 1 and 2 stand under users-value: the topic looks mirrored" in explanation
        assert document["findings"][1]["application"] is None
        assert document["findings"][1]["store"] is None


class TestWhatCannotBeAsked:
    @pytest.mark.parametrize(
        ("command", "says"),
        [
            (
                ("check", "source.users", "--subject", "a-value", "--strategy", "record"),
                "--subject names one subject, and --strategy",
            ),
            (("check", "source.users", "--with-metadata", "a=b"), "--with-metadata is for --reader latest"),
            (("check", "source.users", "--subject", ""), "--subject and --group take a name"),
            (("check", "source.users", "--subject", ":.eu:"), "--subject names no subject"),
            (("check", "source.users", "--reader", "conect"), "connect"),
            (("plan", "--subject", "a-value"), "--subject say how a topic is read: name it with --topic."),
            (("plan", "--reader", "latest"), "--reader latest reads topics: name one with --topic."),
            (("plan", "--topic", "source.users", "--application", "a"), "--application say which stores are meant"),
            (("plan", "--topic", "source.users", "--gone", "a"), "--gone say which stores are meant"),
            (("plan", "--topic", "source.users", "--all-versions"), "--all-versions plans without a census"),
            (("plan", "--topic", "source.users", "--version-limit", "3"), "--version-limit says that it takes 3"),
        ],
    )
    def test_options_that_contradict_each_other_are_refused(
        self, mirrored: Parts, command: tuple[str, ...], says: str
    ) -> None:
        done = mirrored.srfix(*command)
        assert done.returncode == 2
        assert says in done.stderr

    @pytest.mark.parametrize("isolation", slow_but(["auto", "read_uncommitted", "read_committed"], "read_committed"))
    @pytest.mark.parametrize("of_what", [(), ("--topic", "source.users")])
    def test_a_plan_of_stores_or_of_a_topic_says_how_it_is_read(
        self, mirrored: Parts, of_what: tuple[str, ...], isolation: str
    ) -> None:
        done = mirrored.srfix("plan", *of_what, "--isolation", isolation)
        assert done.returncode in {0, 2}, done.stderr
        assert "Warning" not in done.stderr
        assert "Usage" not in done.stderr


class TestTheReport:
    def test_markdown_has_the_same(self, mirrored: Parts) -> None:
        done = mirrored.srfix("check", "source.users", "--details", "--output", "markdown")
        assert done.returncode == 1
        assert done.stdout.startswith("## `source.users`: its reader may not be able to read all of it\n")
        assert "| fails if it asks by subject: not under the subject |" in done.stdout
        assert "| partition | start | end | records |" in done.stdout


class TestTheRepair:
    @pytest.mark.parametrize(
        ("damage", "options"),
        slow_but(
            [
                (MIRRORED, ("--reader", "connect")),
                (MIRRORED, ("--subject", "copy-value", "--role", "value")),
                (BY_RECORD, ("--strategy", "topic-record", "--reader", "ksqldb")),
            ],
            (MIRRORED, ("--reader", "connect")),
            in_parts=True,
        ),
        ids=["mirrored", "named subject", "strategy"],
    )
    def test_plan_apply_verify_and_rollback_do_it(
        self, damage: ModuleType, options: tuple[str, ...], tmp_path: Path
    ) -> None:
        with staged(damage) as parts:
            topic = parts.staged.topic
            untouched = parts.registry.dump()
            planned = parts.srfix("plan", "--topic", topic, *options, "-o", "plan.json", cwd=tmp_path)
            assert planned.returncode == 0, planned.stderr
            assert parts.registry.dump() == untouched
            plan = json.loads((tmp_path / "plan.json").read_text())
            assert {(each["code"], each["application"], each["store"]) for each in plan["findings"]} == {
                ("SRF020", None, None)
            }
            assert parts.srfix("verify", "plan.json", cwd=tmp_path).returncode == 1

            applied = parts.srfix("apply", "plan.json", "--yes", cwd=tmp_path)
            assert applied.returncode == 0, applied.stderr
            parts.check(*options, code=0)
            for what in ("plan.json", "plan.json.journal.jsonl"):
                verified = parts.srfix("verify", what, cwd=tmp_path)
                assert verified.returncode == 0, verified.stdout + verified.stderr
            assert verified.stdout.startswith("Verified: ")

            undone = parts.srfix("rollback", "plan.json.journal.jsonl", "--yes", cwd=tmp_path)
            assert undone.returncode == 0, undone.stderr
            assert parts.registry.dump() == untouched

    def test_the_command_that_a_finding_prints_makes_the_plan(self, tmp_path: Path) -> None:
        with staged(MIRRORED) as parts:
            (finding,) = parts.check("--reader", "connect", "--role", "value", code=1)["findings"]
            command = finding["next"].split("`")[1]
            assert command == "srfix plan --reader connect --role value --topic source.users -o plan.json"
            assert parts.srfix(*command.split()[1:], cwd=tmp_path).returncode == 0

    def test_the_price_says_whose_subject_it_is(self, mirrored: Parts) -> None:
        done = mirrored.srfix("plan", "--topic", "source.users", "--output", "json")
        assert "The subject is that of topic source.users itself" in " ".join(json.loads(done.stdout)["price"])

    def test_no_plan_makes_a_latest_version(self, tmp_path: Path) -> None:
        with staged(latest_version_is_soft_deleted) as parts:
            done = parts.srfix("plan", "--topic", "users", "--reader", "latest", "-o", "plan.json", cwd=tmp_path)
            assert done.returncode == 2
            assert "Not in the plan: SRF020 users. " in done.stderr
            assert "srfix registers no live version for this" in done.stderr
            assert not (tmp_path / "plan.json").exists()

    def test_a_note_is_planned_on_request_alone(self, mirrored: Parts) -> None:
        asked = ("plan", "--topic", "source.users", "--reader", "plain", "--output", "json")
        passed = json.loads(mirrored.srfix(*asked).stdout)
        assert passed["actions"] == []
        assert len(passed["passed_over"]) == 2
        assert json.loads(mirrored.srfix(*asked, "--also", "SRF020").stdout)["actions"] != []

    def test_the_plan_as_commands_names_the_subject(self, mirrored: Parts) -> None:
        done = mirrored.srfix("plan", "--topic", "source.users", "--as-shell")
        assert done.returncode == 0
        assert "/subjects/source.users-value/versions" in done.stdout


def test_values_without_a_schema_are_no_clean_bill_of_health() -> None:
    def write(broker: EmbeddedBroker, *values: bytes) -> None:
        broker.produce(ProducedRecord(topic="t", partition=0, key=b"k", value=value) for value in values)

    with EmbeddedBroker(topics={"t": 1}) as broker, FixtureRegistry() as registry:
        run: Callable[..., subprocess.CompletedProcess[str]] = Parts(
            broker=broker,
            registry=registry,
            staged=None,  # type: ignore[arg-type]
        ).srfix
        empty = run("check", "t")
        assert empty.returncode == 2
        assert "it holds no record, so that there is nothing to read" in " ".join(empty.stdout.split())
        write(broker, b'{"a":1}')
        done = run("check", "t")
        assert done.returncode == 2
        assert "none of them names a schema" in done.stdout
