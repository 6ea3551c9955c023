"""Findings besides the clean case, through the installed command: SRF013, SRF017, SRF018, 40401, several applications."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from srfix.fixtures.broker.client import ProducedRecord
from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.subjects.names import Role, Subject, changelog_topic, subject_for
from srfix.serde.wire import frame_id
from tests.cli.damaged_stores import INTERNAL, WRITER
from tests.cli.kept_demo import srfix

STORE = "users-store"
ROW = b"\x02\x06Ada"
"""userId 1, name Ada."""


@dataclass(frozen=True)
class Estate:
    """Parts of its own for each test."""

    broker: EmbeddedBroker
    registry: FixtureRegistry

    def srfix(self, *arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        parts = {"SRFIX_BOOTSTRAP_SERVERS": self.broker.bootstrap_servers, "SRFIX_REGISTRY": self.registry.url}
        return srfix(*arguments, env=parts | environment)

    def diagnosis(self, *options: str | Path, code: int, **environment: str) -> dict[str, Any]:
        """The document; nothing was written for it."""
        self.registry.forget_requests()
        done = self.srfix("diagnose", *options, "--output", "json", **environment)
        assert done.returncode == code, done.stdout + done.stderr
        assert self.registry.writes == 0
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    def topic(self, name: str, *values: bytes) -> None:
        """A topic of one partition with these values, each of a key of its own."""
        self.broker.create_topic(name, 1)
        self.broker.produce(
            ProducedRecord(topic=name, partition=0, key=f"k{number}".encode(), value=value)
            for number, value in enumerate(values)
        )

    def reads(self, application: str, topic: str, offset: int) -> Subject:
        """The application committed that far; answers the phantom subject of its store."""
        self.broker.commit(application, {(topic, 0): offset})
        return subject_for(changelog_topic(application, STORE), Role.VALUE)


@pytest.fixture
def estate() -> Iterator[Estate]:
    with EmbeddedBroker() as broker, FixtureRegistry() as registry:
        yield Estate(broker=broker, registry=registry)


def codes(document: dict[str, Any]) -> list[str]:
    return [finding["code"] for finding in document["findings"]]


def of_code(document: dict[str, Any], code: str) -> dict[str, Any]:
    [finding] = [finding for finding in document["findings"] if finding["code"] == code]
    return dict(finding)


class TestAPhantomSubjectThatIsMissingAltogether:
    """A restore before any put: nothing in the registry points to the store (40401)."""

    def test_it_is_found_when_named_repaired_and_taken_back(self, estate: Estate, tmp_path: Path) -> None:
        estate.registry.seed("users-value", WRITER)
        estate.topic("users", frame_id(1, ROW))
        phantom = estate.reads("shop", "users", 1)
        store = ("--application", "shop", "--store", STORE)
        assert estate.diagnosis(code=0)["findings"] == []
        undecided = of_code(estate.diagnosis(*store, code=1), "SRF001")
        assert (undecided["source"], undecided["repairable"]) == (None, False)
        assert f"Store {STORE} of application shop seems to restore from topic users" in undecided["explanation"]
        assert f" --source shop/{STORE}=users`" in undecided["next"]
        named = (*store, "--source", f"shop/{STORE}=users")
        finding = of_code(estate.diagnosis(*named, code=1), "SRF001")
        assert (finding["subject"], finding["registered_ids"]) == (phantom, [])
        assert f"{phantom}, does not exist (40401)" in finding["explanation"]
        before = estate.registry.dump()
        plan = tmp_path / "plan.json"
        assert estate.srfix("plan", *named, "-o", plan).returncode == 0
        assert estate.srfix("apply", plan, "--yes").returncode == 0
        assert estate.srfix("verify", plan).returncode == 0
        assert codes(estate.diagnosis(*named, code=0)) == ["SRF003"]
        assert estate.srfix("rollback", f"{plan}.journal.jsonl", "--yes").returncode == 0
        assert estate.registry.dump() == before


class TestSeveralApplicationsOnOneTopic:
    APPLICATIONS = ("billing", "search", "shop")

    def test_one_plan_repairs_them_all_and_one_rollback_takes_it_back(self, estate: Estate, tmp_path: Path) -> None:
        estate.registry.seed("users-value", WRITER)
        estate.topic("users", frame_id(1, ROW), frame_id(1, ROW))
        phantoms = [estate.reads(application, "users", 2) for application in self.APPLICATIONS]
        for phantom in phantoms:
            estate.registry.seed(phantom, INTERNAL)
        refused = estate.srfix("diagnose", "--source", f"{STORE}=users")
        sources = [f"--source {application}/{STORE}=users" for application in self.APPLICATIONS]
        assert (refused.returncode, refused.stdout) == (2, "")
        assert f"Say which: {', '.join(sources)}." in refused.stderr
        named = shlex.split(" ".join(sources))
        found = estate.diagnosis(*named, code=1)["findings"]
        broken = [finding for finding in found if finding["code"] == "SRF001"]
        assert [(finding["application"], finding["subject"]) for finding in broken] == list(
            zip(self.APPLICATIONS, phantoms, strict=True)
        )
        before = estate.registry.dump()
        plan = tmp_path / "plan.json"
        assert estate.srfix("plan", *named, "-o", plan).returncode == 0
        assert [finding["subject"] for finding in json.loads(plan.read_text())["findings"]] == phantoms
        assert estate.srfix("verify", plan).returncode == 1
        assert estate.srfix("apply", plan, "--yes").returncode == 0
        verified = estate.srfix("verify", plan)
        assert (verified.returncode, [p for p in phantoms if p not in verified.stdout]) == (0, [])
        assert codes(estate.diagnosis(*named, code=0)) == ["SRF003"] * 3
        assert estate.srfix("rollback", f"{plan}.journal.jsonl", "--yes").returncode == 0
        assert estate.registry.dump() == before


class TestDiagnoseAndPlanAgree:
    @pytest.fixture
    def broken(self, estate: Estate) -> Estate:
        """The incident: the source's schema is missing under the phantom subject, the application's under the source's."""
        estate.registry.seed("users-value", WRITER)
        estate.topic("users", frame_id(1, ROW))
        estate.registry.seed(estate.reads("shop", "users", 1), INTERNAL)
        return estate

    def plan(self, estate: Estate, *options: str, code: int) -> subprocess.CompletedProcess[str]:
        done = estate.srfix("plan", "--detailed-exitcode", *options)
        assert done.returncode == code, done.stdout + done.stderr
        return done

    @pytest.mark.parametrize("width", [(), ("--only-live",), ("--all-versions",)], ids=str)
    def test_a_note_is_0_in_both_and_the_plan_says_why_and_what_plans_it(
        self, broken: Estate, width: tuple[str, ...], tmp_path: Path
    ) -> None:
        plain = ("--reader", "plain")
        note = of_code(broken.diagnosis(*plain, code=0), "SRF001")
        done = self.plan(broken, *plain, *width, "-o", "never.json", code=2 if "--all-versions" in width else 0)
        assert done.stdout.startswith("Nothing must be repaired.\n\nNot asked for\n\n- Store shop/users-store lacks ")
        assert "never.json was not written: there is nothing to carry out." in done.stderr
        command = note["next"].partition("all the same: `")[2].partition("`")[0]
        assert command.startswith("srfix plan --reader plain ")
        assert shlex.split(command)[-4:] == ["--also", "SRF001", "-o", "plan.json"]
        assert " --also SRF001 -o plan.json`." in done.stdout
        plan = tmp_path / "plan.json"
        asked = broken.srfix(*shlex.split(command)[1:-1], plan)
        assert asked.returncode == 0, asked.stderr
        assert [a["kind"] for a in json.loads(plan.read_text())["actions"]].count("register") == 1

    def test_the_mirror_of_an_upgrade_is_planned_only_when_asked_for(self, broken: Estate, tmp_path: Path) -> None:
        newer = ("--streams-version", "2.7")
        finding = of_code(broken.diagnosis(*newer, code=1), "SRF004")
        refused = self.plan(broken, *newer, code=2)
        assert f"Not in the plan: SRF004 shop/users-store. {finding['next']}" in refused.stderr
        command = finding["next"].partition("register the ids: `")[2].partition("`")[0]
        assert command.endswith(" --also SRF004 -o plan.json")
        assert "--streams-version 2.7" in command
        plan = tmp_path / "plan.json"
        asked = broken.srfix(*shlex.split(command)[1:-1], plan)
        assert asked.returncode == 0, asked.stderr
        assert {action["subject"] for action in json.loads(plan.read_text())["actions"]} == {"users-value"}
