"""What Prometheus is told: hostile names, bounded numbers of series, and that dashboard and alerts name nothing else."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.request import Request, urlopen

import httpx
import pytest
import yaml
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from srfix.cli.commands.watch import ALERTS, DASHBOARD, kept_text
from srfix.cli.metrics.serving import serving
from srfix.cli.metrics.standing import Families, Standing
from srfix.recovery.findings import Diagnosis, Finding, IdAtFault, Severity, Skipped
from srfix.recovery.serving.api import Api
from srfix.recovery.serving.guarding import Credentials
from srfix.recovery.serving.page import page_routes
from srfix.recovery.watch.events import (
    Deferred,
    End,
    LookEnded,
    OutageBegan,
    OutageEnded,
    Registered,
    StandsRelaxed,
    Stopped,
    Withheld,
)
from srfix.serde.subjects.names import Role, Subject
from srfix.serde.wire import SchemaId
from tests.cli.kept_demo import Parts
from tests.recovery.serving.members import node_of

HOSTILE = 'a"b\\c\nd{e="f"} 1\n# TYPE evil counter\x00\u202e'
FINDING = Finding(
    code="SRF001",
    severity=Severity.BROKEN,
    application="shop",
    store="users",
    role=Role.VALUE,
    subject=Subject("shop-users-changelog-value"),
    source=None,
    schema_ids=(IdAtFault(schema_id=SchemaId(5), live_keys=1, records=1, partitions=()),),
    registered_ids=(),
    evidence=(),
    explanation="",
    next="",
    repairable=True,
)


def diagnosis(*findings: Finding) -> Diagnosis:
    skipped = (Skipped(what="it", reason="so", could_hide=True),)
    return Diagnosis(findings=findings, skipped=skipped, examined=("shop/users",))


def told(standing: Standing, *, is_watch: bool = True) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
    registry = CollectorRegistry()
    registry.register(Families(standing, is_watch=is_watch))
    families = text_string_to_metric_families(generate_latest(registry).decode())
    samples: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}
    for family in families:
        for sample in family.samples:
            samples.setdefault(sample.name, {})[tuple(sorted(sample.labels.items()))] = sample.value
    return samples


def everything() -> Standing:
    """A standing in which every family has a sample."""
    standing = Standing(clock=lambda: 1.0, monotonic=lambda: 1.0)
    subject = FINDING.subject
    for event in (
        LookEnded(diagnosis=diagnosis(FINDING), duration_s=2.0),
        Registered(subject=subject, schema_ids=(SchemaId(7),), journal=Path("j")),
        OutageBegan(end=End.KAFKA, why="."),
        OutageEnded(end=End.KAFKA, duration_s=1.0),
        StandsRelaxed(subject=subject, looks=3),
    ):
        standing.take(event)
    return standing


class TestFamilies:
    def test_a_hostile_name_stays_one_label(self) -> None:
        standing = Standing()
        standing.take(LookEnded(diagnosis=diagnosis(replace(FINDING, application=HOSTILE)), duration_s=1.0))
        (labels,) = told(standing)["srfix_findings"]
        assert dict(labels)["application"] == HOSTILE
        assert "evil" not in told(standing)

    def test_more_stores_than_anybody_has_are_one_series_more(self) -> None:
        standing = Standing()
        findings = [replace(FINDING, store=f"s{number}") for number in range(1500)]
        standing.take(LookEnded(diagnosis=diagnosis(*findings), duration_s=1.0))
        found = told(standing)["srfix_findings"]
        assert (len(found), sum(found.values())) == (1001, 1500)

    def test_before_the_first_look_nothing_is_said_of_findings_nor_of_an_end_that_was_not_asked(self) -> None:
        standing = Standing()
        samples = told(standing)
        looked = {"srfix_findings", "srfix_ids_missing", "srfix_last_look_timestamp_seconds", "srfix_up"}
        assert not samples.keys() & looked
        standing.take(OutageBegan(end=End.REGISTRY, why="."))
        assert told(standing)["srfix_up"] == {(("end", "registry"),): 0}

    def test_ids_that_are_withheld_are_missing_until_they_are_registered(self) -> None:
        standing = Standing()
        standing.take(LookEnded(diagnosis=diagnosis(), duration_s=1.0))
        standing.take(Withheld(subject=FINDING.subject, schema_ids=(SchemaId(8), SchemaId(9)), why="so"))
        standing.take(Deferred(subject=FINDING.subject, schema_ids=(SchemaId(8),), why="so"))
        assert told(standing)["srfix_ids_missing"] == {(): 1}
        standing.take(Stopped(subject=FINDING.subject, why="so", put_back=(), journal=None))
        standing.take(Registered(subject=FINDING.subject, schema_ids=(SchemaId(8),), journal=Path("j")))
        assert told(standing)["srfix_ids_missing"] == {(): 0}

    def test_registrations_and_outages_are_counted(self) -> None:
        samples = told(everything())
        registered = (("outcome", "registered"), ("subject", FINDING.subject))
        assert samples["srfix_registrations_total"][registered] == 1
        assert samples["srfix_outages_total"][(("end", "kafka"),)] == 1


class TestHealth:
    @pytest.mark.parametrize("accept", ["application/openmetrics-text;version=a.b", "," * 60_000, "*/*"])
    def test_whatever_is_accepted_metrics_are_answered(self, accept: str, capfd: pytest.CaptureFixture[str]) -> None:
        with serving(everything(), "127.0.0.1", 0) as (host, port):
            request = Request(f"http://{host}:{port}/metrics", headers={"Accept": accept})
            with urlopen(request, timeout=10) as answer:
                assert b"srfix_" in answer.read()
        assert capfd.readouterr().err == ""

    def test_it_is_healthy_while_looks_end(self) -> None:
        at = [0.0]
        standing = Standing(interval_s=10.0, monotonic=lambda: at[0])
        assert standing.health()[1]["reason"] == "watch has not completed a look yet"
        standing.take(LookEnded(diagnosis=None, duration_s=1.0))
        assert standing.health() == (
            True,
            {"status": "ok", "reason": None, "last_look_age_s": 0.0, "ends": {"kafka": True, "registry": True}},
        )
        at[0] = 31.0
        assert standing.health()[1]["reason"] == "the last look ended more than 3 intervals ago"
        standing.goes_on()
        assert standing.health()[0]

    def test_an_end_that_is_away_makes_it_unhealthy_without_what_was_said_of_it(self) -> None:
        standing = Standing()
        standing.take(OutageBegan(end=End.REGISTRY, why="http://user:secret@host"))
        is_healthy, document = standing.health()
        assert not is_healthy
        assert document["reason"] == "no answer from: registry"
        assert "secret" not in json.dumps(document)


METRIC = re.compile(r"\bsrfix_[a-z_]+\b")


def served() -> dict[str, set[str]]:
    """The metrics of `srfix serve`, and their labels."""
    with TemporaryDirectory() as folder:
        node = node_of(Path(folder), values=[b"v"])
        api = Api(node, httpx.AsyncClient(), Credentials())
        api.add_routes(page_routes(api, {}, "0.1.0"))
        http = TestClient(api.app)
        assert http.get("/stores/users/keys/k").status_code == 200
        text = http.get("/metrics").text
        node.close()
    families = text_string_to_metric_families(text)
    return {sample.name: set(sample.labels) for family in families for sample in family.samples}


class TestKept:
    def test_every_metric_of_the_dashboard_is_told(self) -> None:
        assert set(METRIC.findall(kept_text(DASHBOARD))) <= told(everything()).keys() | served().keys()

    def test_every_metric_of_the_alerts_is_told(self) -> None:
        rules = [rule for group in yaml.safe_load(kept_text(ALERTS))["groups"] for rule in group["rules"]]
        names = {name for rule in rules for name in METRIC.findall(rule["expr"])}
        assert names <= told(everything()).keys()
        assert {rule.keys() >= {"alert", "expr", "for", "labels", "annotations"} for rule in rules} == {True}

    def test_the_labels_that_alerts_and_dashboard_speak_of_are_told(self) -> None:
        known = {name for samples in told(everything()).values() for labels in samples for name, _value in labels}
        known |= set().union(*served().values())
        spoken = set(re.findall(r"\$labels\.(\w+)", kept_text(ALERTS)))
        spoken |= set(re.findall(r"\{\{(\w+)\}\}", kept_text(DASHBOARD)))
        assert spoken <= known

    def test_the_dashboard_has_what_grafana_needs(self) -> None:
        board: Any = json.loads(kept_text(DASHBOARD))
        assert board["uid"]
        assert board["schemaVersion"] >= 36
        variables = {variable["name"]: variable for variable in board["templating"]["list"]}
        assert (variables["datasource"]["type"], variables["datasource"]["query"]) == ("datasource", "prometheus")
        for panel in board["panels"]:
            assert panel["datasource"]["uid"] == "${datasource}"
            assert panel["targets"]
            assert all(target["expr"] and target["refId"] for target in panel["targets"])
            assert panel["gridPos"].keys() == {"x", "y", "w", "h"}
            assert panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24
        assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])

    @pytest.mark.parametrize(("option", "name"), [("--print-dashboard", DASHBOARD), ("--print-alerts", ALERTS)])
    def test_the_command_prints_them(self, parts: Parts, option: str, name: str) -> None:
        done = parts.srfix("watch", option)
        assert (done.returncode, done.stdout) == (0, kept_text(name))


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    """Where the metrics go; nothing else may be left beside it."""
    path = tmp_path / "srfix.prom"
    yield path
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


class TestTextfile:
    def test_findings_are_written_and_the_exit_code_is_kept(self, parts: Parts, file: Path) -> None:
        assert parts.srfix("diagnose", "--metrics", file).returncode == 1
        text = file.read_text()
        assert re.search(r'^srfix_findings\{[^}]*code="SRF001"[^}]*\} 1\.0$', text, re.MULTILINE)
        assert "\nsrfix_ids_missing 2.0\n" in text
        assert 'srfix_up{end="registry"} 1.0' in text
        assert "srfix_registrations" not in text

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("options", "end"),
        [
            (("--registry", "http://127.0.0.1:9"), "registry"),
            (("--bootstrap-servers", "127.0.0.1:9", "-X", "socket.timeout.ms=1000"), "kafka"),
        ],
    )
    def test_where_it_could_not_look_it_says_so_and_nothing_of_findings(
        self, parts: Parts, file: Path, options: tuple[str, ...], end: str
    ) -> None:
        assert parts.srfix("diagnose", "--metrics", file, *options).returncode == 2
        text = file.read_text()
        assert f'srfix_up{{end="{end}"}} 0.0' in text
        assert "srfix_findings" not in text
        assert "srfix_ids_missing" not in text

    def test_where_it_cannot_be_written_is_said(self, parts: Parts, tmp_path: Path) -> None:
        done = parts.srfix("diagnose", "--metrics", tmp_path / "missing" / "srfix.prom")
        assert done.returncode == 2
        assert "The metrics cannot be written to" in done.stderr
