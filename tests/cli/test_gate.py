"""`--quiet`, `--fail-on` and `--baseline`, for jobs that nobody watches, through the installed command."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from srfix.cli.options.gate import Gate
from srfix.cli.options.options import Selection
from srfix.cli.output.interface import Paragraph
from srfix.cli.reports.judging import judge_diagnosis
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery.findings import Diagnosis, Finding, Severity, Skipped
from srfix.serde.subjects.names import Role, Subject
from tests.cli.damaged_stores import INTERNAL, PHANTOM
from tests.cli.kept_demo import Parts, srfix

OTHER = "shop-clients-store-changelog-value"
ORPHAN = "dead-store-changelog-value"
ENTRY = {"code": "SRF001", "application": "shop", "store": "users-store", "role": "value", "severity": "broken"}


SELECTION = Selection(application=None, store=None, sources={}, reader="unknown", streams_version=None)


def finding(severity: Severity) -> Finding:
    return Finding(
        code="SRF001",
        severity=severity,
        application="shop",
        store="users-store",
        role=Role.VALUE,
        subject=Subject(PHANTOM),
        source=None,
        explanation="It is broken.",
        next="Repair it.",
        repairable=True,
    )


def baseline(path: Path, *entries: Mapping[str, object]) -> Path:
    path.write_text(json.dumps({"schema": "srfix.baseline/1", "findings": list(entries)}))
    return path


class TestQuiet:
    def test_nothing_wrong_is_nothing_said(self, where: dict[str, str]) -> None:
        done = srfix("diagnose", "--quiet", env=where)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

    def test_nor_what_was_given_in_vain(self, where: dict[str, str], schemas: FixtureRegistry, tmp_path: Path) -> None:
        properties = tmp_path / "client.properties"
        properties.write_text(f"bootstrap.servers={where['SRFIX_BOOTSTRAP_SERVERS']}\nmy.own=x\nkey.deserializer=a.B\n")
        vain = ("--ignore", "nothing-*", "--source", "gone-store=users", "--kafka-config", str(properties))
        done = srfix("diagnose", "--quiet", *vain, env=where)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert "gone-store" in srfix("diagnose", *vain, env=where).stderr
        schemas.seed(PHANTOM, INTERNAL)
        done = srfix("diagnose", "--quiet", *vain, env=where)
        assert done.returncode == 1
        assert "--source for the store 'gone-store' was not used" in done.stderr
        assert "--ignore nothing-*: no finding and no skipped check" in done.stderr

    def test_json_is_always_a_document(self, where: dict[str, str]) -> None:
        done = srfix("diagnose", "-q", "--output", "json", env=where)
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads(done.stdout)["summary"]["healthy"] is True

    def test_what_was_not_looked_at_is_said_and_stays_2(self, where: dict[str, str], schemas: FixtureRegistry) -> None:
        schemas.seed(ORPHAN, INTERNAL)
        done = srfix("diagnose", "--quiet", env=where)
        assert done.returncode == 2
        assert "some checks could not run" in done.stdout

    @pytest.mark.slow
    def test_verify_says_nothing_of_a_repair_that_holds(self, own_parts: Parts, tmp_path: Path) -> None:
        plan = tmp_path / "p.json"
        assert own_parts.srfix("plan", "-o", plan).returncode == 0
        broken = own_parts.srfix("verify", plan, "--quiet")
        assert (broken.returncode, "Not repaired" in broken.stdout) == (1, True)
        assert own_parts.srfix("apply", plan, "--yes").returncode == 0
        done = own_parts.srfix("verify", plan, "--quiet")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        document = json.loads(own_parts.srfix("verify", plan, "--quiet", "--output", "json").stdout)
        assert document["verified"] is True


class TestFailOn:
    def test_what_is_less_bad_is_shown_and_does_not_fail(self, where: dict[str, str], schemas: FixtureRegistry) -> None:
        schemas.seed(PHANTOM, INTERNAL)
        lesser = srfix("diagnose", "--reader", "plain", env=where)  # SRF001 is a note then, SRF004's like may stand
        assert lesser.returncode == 0
        noted = srfix("diagnose", "--reader", "plain", "--fail-on", "note", env=where)
        assert noted.returncode == 1
        assert srfix("diagnose", "--fail-on", "broken", env=where).returncode == 1

    @pytest.mark.parametrize("severity", list(Severity))
    @pytest.mark.parametrize("fail_on", list(Severity))
    @pytest.mark.parametrize("is_whole", [True, False])
    def test_every_severity_beside_every_other(self, severity: Severity, fail_on: Severity, is_whole: bool) -> None:
        hidden = Skipped(what="a topic", reason="it may not be read", could_hide=True)
        diagnosis = Diagnosis(
            findings=(finding(severity),), skipped=() if is_whole else (hidden,), examined=("shop/users-store",)
        )
        judged = judge_diagnosis(diagnosis, Gate(fail_on=fail_on), SELECTION)
        fails = list(Severity).index(severity) <= list(Severity).index(fail_on)
        assert judged.code == (1 if fails else 0 if is_whole else 2)
        said = "".join(block.text for block in judged.blocks if isinstance(block, Paragraph))
        assert said == (
            ""
            if fails or severity is Severity.NOTE
            else f"These findings are below --fail-on ({fail_on.value}), so they do not cause exit code 1: "
            f"SRF001 shop/users-store, {severity.value}."
        )


class TestBaseline:
    def test_what_is_written_is_known(self, where: dict[str, str], schemas: FixtureRegistry, tmp_path: Path) -> None:
        schemas.seed(PHANTOM, INTERNAL)
        file = tmp_path / "known.json"
        done = srfix("diagnose", "--write-baseline", file, env=where)
        assert done.returncode == 0, done.stdout + done.stderr
        assert f"Baseline written to {file}: 1 known finding.\n" in done.stderr
        assert json.loads(file.read_text()) == {"schema": "srfix.baseline/1", "findings": [ENTRY]}
        written = file.read_bytes()
        assert srfix("diagnose", "--write-baseline", file, env=where).returncode == 0
        assert file.read_bytes() == written
        again = srfix("diagnose", "--baseline", file, env=where)
        assert again.returncode == 0
        assert (
            "The baseline lists these findings, so they do not cause exit code 1: SRF001 shop/users-store."
            in again.stdout
        )
        quiet = srfix("diagnose", "--baseline", file, "--quiet", env=where)
        assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")

    def test_the_document_calls_nothing_healthy_that_is_known(
        self, where: dict[str, str], schemas: FixtureRegistry, tmp_path: Path
    ) -> None:
        schemas.seed(PHANTOM, INTERNAL)
        file = baseline(tmp_path / "known.json", ENTRY | {"since": 2020}, ENTRY | {"store": "gone"})
        told: dict[str, Any] = json.loads(srfix("diagnose", "--baseline", file, "--output", "json", env=where).stdout)
        entry = {name: value for name, value in ENTRY.items() if name != "severity"}
        assert told["baseline"] == {"file": str(file), "known": [entry], "gone": [entry | {"store": "gone"}]}
        assert told["summary"]["healthy"] is False

    def test_a_note_that_it_knows_as_a_finding_is_not_gone(self, tmp_path: Path) -> None:
        refused = replace(finding(Severity.NOTE), code="SRF012")
        noted = replace(finding(Severity.BROKEN), notes=(refused,))
        diagnosis = Diagnosis(findings=(noted,), skipped=(), examined=("shop/users-store",))
        file = baseline(tmp_path / "known.json", ENTRY, ENTRY | {"code": "SRF012"})
        judged = judge_diagnosis(diagnosis, Gate(baseline=str(file)), SELECTION)
        assert (judged.code, judged.lines) == (0, ())

    def test_what_is_new_fails(self, where: dict[str, str], schemas: FixtureRegistry, tmp_path: Path) -> None:
        schemas.seed(PHANTOM, INTERNAL)
        schemas.seed(OTHER, INTERNAL)
        file = baseline(tmp_path / "known.json", ENTRY)
        assert srfix("diagnose", "--baseline", file, env=where).returncode == 1
        other = baseline(tmp_path / "other.json", ENTRY | {"role": "key"}, ENTRY | {"code": "SRF011"})
        done = srfix("diagnose", "--baseline", other, env=where)
        assert done.returncode == 1

    def test_what_is_worse_than_written_down_fails(
        self, where: dict[str, str], schemas: FixtureRegistry, tmp_path: Path
    ) -> None:
        schemas.seed(PHANTOM, INTERNAL)
        file = baseline(tmp_path / "known.json", ENTRY | {"severity": "litter"})
        done = srfix("diagnose", "--baseline", file, env=where)
        assert done.returncode == 1
        assert "--baseline: SRF001 shop/users-store is worse" in done.stderr

    def test_what_no_longer_occurs_is_said_even_when_quiet(self, where: dict[str, str], tmp_path: Path) -> None:
        file = baseline(tmp_path / "known.json", ENTRY)
        done = srfix("diagnose", "--baseline", file, "--quiet", env=where)
        assert (done.returncode, done.stdout) == (0, "")
        assert done.stderr.startswith("--baseline: SRF001 shop/users-store no longer occurs. Remove it from ")
        assert done.stderr.count("\n") == 1

    def test_nothing_is_said_of_what_was_not_asked_for_or_is_acknowledged(
        self, where: dict[str, str], schemas: FixtureRegistry, tmp_path: Path
    ) -> None:
        schemas.seed(PHANTOM, INTERNAL)
        file = baseline(tmp_path / "known.json", ENTRY, ENTRY | {"application": "billing"})
        done = srfix("diagnose", "--baseline", file, "--application", "shop", env=where)
        assert (done.returncode, "--baseline" in done.stderr) == (0, False)
        only = baseline(tmp_path / "only.json", ENTRY)
        ignored = srfix("diagnose", "--baseline", only, "--ignore", "shop-*", env=where)
        assert (ignored.returncode, "no longer occurs" in ignored.stderr) == (0, False)

    def test_what_was_not_looked_at_stays_2_and_takes_nothing_back(
        self, where: dict[str, str], schemas: FixtureRegistry, tmp_path: Path
    ) -> None:
        schemas.seed(ORPHAN, INTERNAL)
        file = baseline(tmp_path / "known.json", ENTRY)
        done = srfix("diagnose", "--baseline", file, "--quiet", env=where)
        assert done.returncode == 2
        assert "SRF001 shop/users-store was not found, but srfix could not look at everything.\n" in done.stderr
        assert srfix("diagnose", "--write-baseline", file, env=where).returncode == 2

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (None, "cannot be read: No such file or directory. Write one with --write-baseline FILE."),
            ("{", "is not JSON"),
            ("[]", "is not a baseline of srfix. Write one with"),
            ('{"schema": "srfix.diagnosis/1", "findings": []}', "is a srfix.diagnosis/1, and --baseline takes"),
            ('{"schema": "srfix.baseline/1", "findings": 5}', "has no list of findings"),
            ('{"schema": "srfix.baseline/1", "findings": [{"code": "SRF001"}]}', "has an invalid entry"),
            (
                json.dumps({"schema": "srfix.baseline/1", "findings": [ENTRY | {"severity": "bad"}]}),
                "has an invalid entry",
            ),
        ],
    )
    def test_what_is_no_baseline_is_refused(
        self, where: dict[str, str], tmp_path: Path, content: str | None, said: str
    ) -> None:
        file = tmp_path / "known.json"
        if content is not None:
            file.write_text(content)
        done = srfix("diagnose", "--baseline", file, env=where)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr

    def test_standard_output_is_none(self, where: dict[str, str], tmp_path: Path) -> None:
        done = srfix("diagnose", "--write-baseline", "-", env=where, cwd=tmp_path)
        assert (done.returncode, done.stdout, list(tmp_path.iterdir())) == (2, "", [])
        assert "--write-baseline needs a file" in done.stderr

    def test_one_to_write_and_one_to_read_are_not_both_taken(
        self, where: dict[str, str], schemas: FixtureRegistry, tmp_path: Path
    ) -> None:
        schemas.seed(PHANTOM, INTERNAL)
        known = baseline(tmp_path / "known.json")
        new = tmp_path / "new.json"
        both = srfix("diagnose", "--baseline", known, "--write-baseline", new, env=where)
        assert (both.returncode, both.stdout, new.exists()) == (2, "", False)
        assert "--write-baseline writes all findings" in both.stderr
        assert srfix("diagnose", "--write-baseline", new, env=where | {"SRFIX_BASELINE": str(known)}).returncode == 0
        assert json.loads(new.read_text())["findings"] == [ENTRY]
