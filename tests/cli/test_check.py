"""`srfix check`, and the plan, repair and verification of what it finds, through the installed command."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from parts.damage import (
    latest_version_is_soft_deleted,
    mirrored_topic_under_a_renamed_subject,
    producers_name_subjects_by_the_record,
)
from parts.damage._topics import StagedTopic
from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.embedded import EmbeddedBroker
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
        assert (document["schema"], document["healthy"]) == ("srfix.check/1", code == 0)
        return document


@contextmanager
def staged(damage: ModuleType) -> Iterator[Parts]:
    with (
        EmbeddedBroker(topics=damage.TOPICS) as broker,
        FixtureRegistry() as registry,
        RegistryClient(registry.url) as client,
    ):
        topic = damage.stage(broker, client)
        registry.forget_requests()
        yield Parts(broker=broker, registry=registry, staged=topic)


@pytest.fixture(scope="module")
def mirrored() -> Iterator[Parts]:
    with staged(MIRRORED) as parts:
        yield parts


class TestWhatCannotBeAsked:
    @pytest.mark.parametrize(
        ("command", "says"),
        [
            (
                ("check", "source.users", "--subject", "a-value", "--strategy", "record"),
                "--subject names one subject, but --strategy",
            ),
            (("check", "source.users", "--with-metadata", "a=b"), "--with-metadata is for --reader latest"),
            (("check", "source.users", "--subject", ""), "--subject and --group need a name"),
            (("check", "source.users", "--subject", ":.eu:"), "--subject does not contain a subject's name"),
            (("check", "source.users", "--reader", "conect"), "connect"),
            (
                ("plan", "--subject", "a-value"),
                "are only for the repair of a topic: --subject. Name the topic with --topic.",
            ),
            (
                ("plan", "--reader", "latest"),
                "--reader latest is only for the repair of a topic: name the topic with --topic.",
            ),
            (("plan", "--topic", "source.users", "--application", "a"), "These options choose stores: --application."),
            (("plan", "--topic", "source.users", "--gone", "a"), "These options choose stores: --gone."),
            (("plan", "--topic", "source.users", "--all-versions"), "--all-versions counts no ids"),
            (("plan", "--topic", "source.users", "--version-limit", "3"), "--version-limit allows 3 versions"),
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
    def test_its_document_names_subjects_ids_and_holders(self, mirrored: Parts) -> None:
        keys, values = mirrored.check("--reader", "connect", code=1)["findings"]
        assert (keys["code"], keys["role"], keys["subject"]) == ("SRF020", "key", "source.users-key")
        assert (values["role"], values["application"], values["store"]) == ("value", None, None)
        ids = list(mirrored.staged.ids)
        assert [fault["id"] for fault in values["schema_ids"]] == ids
        assert {(holder["id"], holder["subject"]) for holder in values["holders"]} == {
            (id_, "users-value") for id_ in ids
        }

    def test_it_fails_on_what_it_is_to_fail_on_and_is_quiet_if_nothing_is(self, mirrored: Parts) -> None:
        for more, code in (((), 0), (("--fail-on", "note"), 1)):
            done = mirrored.srfix("check", "source.users", "--reader", "plain", "--quiet", *more)
            assert (done.returncode, bool(done.stdout + done.stderr)) == (code, bool(code)), done.stderr

    def test_what_its_baseline_knows_fails_no_more(self, mirrored: Parts, tmp_path: Path) -> None:
        asked = ("check", "source.users", "--reader", "connect")
        written = mirrored.srfix(*asked, "--write-baseline", "known.json", cwd=tmp_path)
        assert (written.returncode, "2 known findings" in written.stderr) == (0, True), written.stderr
        values = mirrored.srfix(*asked, "--role", "value", "--baseline", "known.json", cwd=tmp_path)
        assert (values.returncode, "SRF020 source.users-value." in values.stdout) == (0, True), values.stdout
        elsewhere = mirrored.srfix(*asked, "--subject", "copy-value", "--baseline", "known.json", cwd=tmp_path)
        assert elsewhere.returncode == 1
        told = json.loads(mirrored.srfix(*asked, "--baseline", "known.json", "--output", "json", cwd=tmp_path).stdout)
        entry = {"code": "SRF020", "topic": "source.users", "subject": "source.users-value", "role": "value"}
        assert entry in told["baseline"]["known"]
        assert told["healthy"] is False

    def test_markdown_has_the_same(self, mirrored: Parts) -> None:
        done = mirrored.srfix("check", "source.users", "--details", "--output", "markdown")
        assert done.returncode == 1
        assert done.stdout.startswith("## `source.users`: the topic's reader may not be able to read all records\n")
        assert "| fails if it asks under the subject: not under the subject |" in done.stdout
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
            assert "Restart what has failed, such as the task of a Connect sink." in applied.stdout
            parts.check(*options, code=0)
            for what in ("plan.json", "plan.json.journal.jsonl"):
                verified = parts.srfix("verify", what, cwd=tmp_path)
                assert verified.returncode == 0, verified.stdout + verified.stderr
            assert verified.stdout.startswith("Verified: ")

            undone = parts.srfix("rollback", "plan.json.journal.jsonl", "--yes", cwd=tmp_path)
            assert undone.returncode == 0, undone.stderr
            assert parts.registry.dump() == untouched

    def test_the_price_says_whose_subject_it_is(self, mirrored: Parts) -> None:
        done = mirrored.srfix("plan", "--topic", "source.users", "--output", "json")
        assert "The subject belongs to topic source.users itself" in " ".join(json.loads(done.stdout)["price"])

    def test_no_plan_makes_a_latest_version(self, tmp_path: Path) -> None:
        with staged(latest_version_is_soft_deleted) as parts:
            done = parts.srfix("plan", "--topic", "users", "--reader", "latest", "-o", "plan.json", cwd=tmp_path)
            assert done.returncode == 2
            assert "Not in the plan: SRF020 users. " in done.stderr
            assert "srfix registers no live version for this" in done.stderr
            assert not (tmp_path / "plan.json").exists()


def test_values_without_a_schema_are_no_clean_bill_of_health() -> None:
    with EmbeddedBroker(topics={"t": 1}) as broker, FixtureRegistry() as registry:
        broker.produce([ProducedRecord(topic="t", partition=0, key=b"k", value=b'{"a":1}')])
        env = {"SRFIX_BOOTSTRAP_SERVERS": broker.bootstrap_servers, "SRFIX_REGISTRY": registry.url}
        done = srfix("check", "t", env=env)
    assert done.returncode == 2
    assert "none of them names a schema" in done.stdout
