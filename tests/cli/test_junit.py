"""`--output junit`: what CI shows of a run is what its exit code says."""

from __future__ import annotations

import io
from pathlib import Path
from xml.etree import ElementTree

import pytest

from srfix.cli.output.interface import Report
from srfix.cli.output.junit import render
from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.fixtures.registry.http.server import FixtureRegistry
from tests.cli.damaged_stores import world_of
from tests.cli.kept_demo import srfix


def run(*arguments: str, code: int) -> dict[str, dict[str, str]]:
    """Per outcome the tests, `class: name`, with what they say."""
    done = srfix(*arguments, "--output", "junit")
    assert done.returncode == code, done.stderr
    suite = ElementTree.fromstring(done.stdout)
    found: dict[str, dict[str, str]] = {}
    for case in suite:
        (part, *_) = [*case, case]
        said = part.get("message") or part.text or ""
        found.setdefault("passed" if part is case else part.tag, {})[f"{case.get('classname')}: {case.get('name')}"] = (
            said
        )
    counts = {"tests": len(suite), "failures": len(found.get("failure", {})), "errors": len(found.get("error", {}))}
    assert {name: int(suite.get(name, "")) for name in counts} == counts
    return found


@pytest.fixture
def world() -> object:
    with world_of("shop", bad=[b"{}"]) as parts:
        yield parts


def test_a_finding_fails_unless_it_is_known_and_what_was_not_seen_is_an_error(
    world: tuple[EmbeddedBroker, FixtureRegistry], tmp_path: Path
) -> None:
    broker, registry = world
    where = ("--bootstrap-servers", broker.bootstrap_servers, "--registry", registry.url)
    broken = "shop.users-store: SRF001 shop-users-store-changelog-value"
    found = run("diagnose", *where, code=1)
    assert "restores the records of topic users" in found["failure"][broken]
    baseline = str(tmp_path / "known.json")
    known = run("diagnose", *where, "--write-baseline", baseline, code=2)
    assert broken in known["system-out"]
    assert "failure" not in known
    assert found["error"] == known["error"] != {}
    assert all(name.startswith("not looked at: ") for name in found["error"])
    assert run("check", "bad", *where, code=1)["failure"]


def test_what_hides_nothing_is_skipped_and_quiet_writes_it_too() -> None:
    with EmbeddedBroker(topics={}) as broker, FixtureRegistry() as registry:
        where = ("--bootstrap-servers", broker.bootstrap_servers, "--registry", registry.url)
        (told,) = run("diagnose", *where, "--quiet", code=0).values()
        assert list(told) == ["not looked at: the list of consumer groups"]


def test_nothing_is_one_test_that_passes() -> None:
    written = io.StringIO()
    render(Report(document={"findings": [], "skipped": []}, blocks=()), written)
    (case,) = ElementTree.fromstring(written.getvalue())
    assert (case.get("name"), len(case)) == ("srfix found nothing wrong in what it looked at", 0)
