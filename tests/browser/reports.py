"""The pages that a browser opens: of the demo's incident, of many stores, of nothing, of what was not looked at, of hostile
names.
"""

from __future__ import annotations

import io
from pathlib import Path

from srfix.cli.output.interface import OutputFormat, Report, Tone, Verdict
from srfix.cli.output.speaking import write_report
from srfix.fixtures.broker.embedded import EmbeddedBroker
from srfix.fixtures.registry.http.server import FixtureRegistry
from tests.cli.eight_stores import STORES, eight_stores
from tests.cli.every_block import HOSTILE, blocks_of
from tests.cli.kept_demo import srfix, staged_parts
from tests.hostile.worlds import INTERNAL, USER, user, world

HOSTILE_APPLICATIONS = ("<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a\u202egnp\x1b[2J", "x" * 300)

INCIDENT = (
    "diagnose",
    "diagnose in detail",
    "plan",
    "plan in detail",
    "verify before",
    "verify",
    "verify in detail",
    "scan",
    "scan in detail",
)
WORLDS = ("three findings", "eight stores", "eight plans", "forty-eight partitions")
OTHERS = ("nothing found", "nothing there", "not looked at", "scan in part", "subjects", "doctor", "explain")
NAMES = ("hostile diagnosis", "hostile plan", "hostile subjects", "hostile blocks")
REPORTS = (*INCIDENT, *WORLDS, *OTHERS, *NAMES)


def all_reports(folder: Path) -> dict[str, str]:
    """Each page by its name, as the command writes it."""
    found = {**_incident(folder / "plan.json"), **_many(), **_nothing(), **_hostile()}
    assert found.keys() == set(REPORTS)
    return found


def _incident(plan: Path) -> dict[str, str]:
    with staged_parts() as parts:
        where = parts.environment
        topic, application = parts.staged.source_topic, parts.staged.application
        return {
            "diagnose": _page("diagnose", env=where, code=1),
            "diagnose in detail": _page("diagnose", "--details", env=where, code=1),
            "plan": _page("plan", "-o", str(plan), env=where),
            "plan in detail": _page("plan", "--details", env=where),
            "not looked at": _page("diagnose", "--max-records", "1", env=where, code=None),
            "scan in part": _page("scan", topic, "--max-records", "1", env=where, code=2),
            "verify before": _page("verify", str(plan), env=where, code=1),
            "subjects": _page("subjects", "--application", application, env=where, code=2),
            "doctor": _page("doctor", env=where, code=None),
            "explain": _page("explain", "SRF001", env=where),
            "scan": _page("scan", topic, "--application", application, env=where),
            "scan in detail": _page("scan", topic, "--details", env=where),
            **_repaired(plan, where),
        }


def _repaired(plan: Path, where: dict[str, str]) -> dict[str, str]:
    assert srfix("apply", "--yes", plan, env=where).returncode == 0
    return {
        "verify": _page("verify", str(plan), env=where),
        "verify in detail": _page("verify", "--details", str(plan), env=where),
        "nothing found": _page("diagnose", env=where),
    }


def _many() -> dict[str, str]:
    with eight_stores() as there:
        where = there.environment
        but_three = [word for phantom in there.phantoms[: STORES - 3] for word in ("--ignore", phantom)]
        return {
            "three findings": _page("diagnose", *but_three, env=where, code=1),
            "eight stores": _page("diagnose", env=where, code=1),
            "eight plans": _page("plan", env=where),
            "forty-eight partitions": _page("scan", "users-0", env=where),
        }


def _nothing() -> dict[str, str]:
    with EmbeddedBroker(topics={"t": 1}) as broker, FixtureRegistry() as registry:
        where = {"SRFIX_BOOTSTRAP_SERVERS": broker.bootstrap_servers, "SRFIX_REGISTRY": registry.url}
        return {"nothing there": _page("diagnose", env=where, code=None)}


def _hostile() -> dict[str, str]:
    with world(any_subject=True) as there:
        there.topic("users", [user(1), user(1, 8)])
        there.registry.seed("users-value", USER)
        for name in HOSTILE_APPLICATIONS:
            there.registry.seed(f"{name}-s-x-changelog-value", INTERNAL)
        source = ("--source", "s-x=users")
        where = there.env
        return {
            "hostile diagnosis": _page("diagnose", *source, env=where, code=None),
            "hostile plan": _page("plan", *source, env=where, code=None),
            "hostile subjects": _page("subjects", env=where, code=None),
            "hostile blocks": _blocks(" ".join(HOSTILE) + "n" * 400),
        }


def _blocks(text: str) -> str:
    stream = io.StringIO()
    verdict = Verdict(text=text, tone=Tone.UNSURE, more=text)
    report = Report(
        document={"schema": "srfix.test/1"}, blocks=blocks_of(text), verdict=verdict, where=(("cluster", text),)
    )
    write_report(report, OutputFormat.HTML, stream)
    return stream.getvalue()


def _page(*arguments: str, env: dict[str, str], code: int | None = 0) -> str:
    done = srfix(*arguments, "--output", "html", env=env)
    assert code is None or done.returncode == code, (arguments, done.returncode, done.stderr)
    assert done.stdout.startswith("<!DOCTYPE html>\n"), (arguments, done.returncode, done.stderr)
    return done.stdout
