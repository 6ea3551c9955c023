"""A diagnosis and a plan agree: what is a note to the one is passed over by the other, and both say what plans it."""

from __future__ import annotations

import json
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from tests.cli.damaged_stores import INTERNAL, PHANTOM
from tests.cli.kept_demo import srfix


@dataclass(frozen=True)
class Broken:
    """The incident: the source's schema is missing under the phantom subject, the application's under the source's."""

    where: dict[str, str]

    def diagnosis(self, *options: str, code: int) -> dict[str, Any]:
        done = srfix("diagnose", *options, "--output", "json", env=self.where)
        assert done.returncode == code, done.stdout + done.stderr
        document: dict[str, Any] = json.loads(done.stdout)
        return document

    def plan(self, *options: str, code: int) -> subprocess.CompletedProcess[str]:
        done = srfix("plan", "--detailed-exitcode", *options, env=self.where)
        assert done.returncode == code, done.stdout + done.stderr
        return done


@pytest.fixture
def broken(where: dict[str, str], schemas: FixtureRegistry) -> Broken:
    schemas.seed(PHANTOM, INTERNAL)
    return Broken(where)


def of_code(document: dict[str, Any], code: str) -> dict[str, Any]:
    [finding] = [finding for finding in document["findings"] if finding["code"] == code]
    return dict(finding)


@pytest.mark.parametrize("width", [(), ("--only-live",), ("--all-versions",)], ids=str)
def test_a_note_is_0_in_both_and_the_plan_says_why_and_what_plans_it(
    broken: Broken, width: tuple[str, ...], tmp_path: Path
) -> None:
    plain = ("--reader", "plain")
    note = of_code(broken.diagnosis(*plain, code=0), "SRF001")
    done = broken.plan(*plain, *width, "-o", "never.json", code=2 if "--all-versions" in width else 0)
    lacks = "- shop-users-store-changelog-value lacks schema ids of store shop/users-store."
    assert done.stdout.startswith(f"No repair is necessary.\n\nNot asked for\n\n{lacks}")
    assert "never.json was not written: there is nothing to carry out." in done.stderr
    command = note["next"].partition("nevertheless: `")[2].partition("`")[0]
    assert command.startswith("srfix plan --reader plain ")
    assert shlex.split(command)[-4:] == ["--also", "SRF001", "-o", "plan.json"]
    assert " --also SRF001 -o plan.json`." in done.stdout
    plan = tmp_path / "plan.json"
    asked = srfix(*shlex.split(command)[1:-1], plan, env=broken.where)
    assert asked.returncode == 0, asked.stderr
    assert [a["kind"] for a in json.loads(plan.read_text())["actions"]].count("register") == 1


def test_the_mirror_of_an_upgrade_is_planned_only_when_asked_for(broken: Broken, tmp_path: Path) -> None:
    newer = ("--streams-version", "2.7")
    finding = of_code(broken.diagnosis(*newer, code=1), "SRF004")
    refused = broken.plan(*newer, code=2)
    assert f"Not in the plan: SRF004 shop/users-store. {finding['next']}" in refused.stderr
    command = finding["next"].partition("register the ids: `")[2].partition("`")[0]
    assert command.endswith(" --also SRF004 -o plan.json")
    assert "--streams-version 2.7" in command
    plan = tmp_path / "plan.json"
    asked = srfix(*shlex.split(command)[1:-1], plan, env=broken.where)
    assert asked.returncode == 0, asked.stderr
    assert {action["subject"] for action in json.loads(plan.read_text())["actions"]} == {"users-value"}


def test_an_empty_plan_beside_a_skipped_check_does_not_say_that_nothing_is_missing(where: dict[str, str]) -> None:
    done = srfix("plan", "--application", "shop", env=where)
    assert (done.returncode, done.stdout) == (2, "Nothing to plan: srfix saw no missing registration.\n")
    assert done.stderr.startswith("Not looked at: the stores of application shop: no store was examined")


def test_many_stores_of_nobody_do_not_fill_the_screen(where: dict[str, str], schemas: FixtureRegistry) -> None:
    for number in range(15):
        schemas.seed(f"dead{number}-store-changelog-value", INTERNAL)
    done = srfix("diagnose", env=where)
    assert done.returncode == 2
    assert (done.stdout.count("Not looked at: the subjects of dead"), "for 5 other reasons" in done.stdout) == (
        10,
        True,
    )
    assert srfix("diagnose", "--details", env=where).stdout.count("the subjects of dead") == 15
