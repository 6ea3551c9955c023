"""What notebooks show: everything that came from elsewhere is text there, never markup."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any, cast

import pytest

from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery import Diagnosis, Examination, Plan, Severity
from srfix.recovery.actions.actions import Register
from srfix.recovery.findings import IdAtFault, PartitionAtFault, Skipped, Source
from srfix.recovery.repair.plan_file import Omission, PlannedFinding
from srfix.serde import Role, Schema, Subject, Topic
from srfix.serde.html import escaped
from srfix.serde.spark import plan_read, plan_write
from srfix.serde.wire import SchemaId
from tests.recovery.facts.test_key_role import census, count
from tests.recovery.staging import FINDING

EVIL = "<script>alert(1)</script>\"'&<img src=x onerror=y>\x1b[31m\u202e"
TAGS = {"h4", "p", "table", "thead", "tbody", "tr", "th", "td", "ol", "li", "pre"}

EVIL_FINDING = replace(
    FINDING,
    application=EVIL,
    store=EVIL,
    subject=Subject(EVIL),
    source=Source(topic=Topic(EVIL), subject=Subject(EVIL)),
    schema_ids=(
        IdAtFault(
            schema_id=SchemaId(7),
            live_keys=3,
            records=4,
            partitions=(PartitionAtFault(partition=5, live_keys=3, pending_keys=0, first_offset=1, last_offset=9),),
        ),
    ),
    explanation=EVIL,
    next=EVIL,
)
DIAGNOSIS = Diagnosis(
    findings=(EVIL_FINDING,), skipped=(Skipped(what=EVIL, reason=EVIL, could_hide=True),), examined=("a/b",)
)
PLAN = Plan(
    registry=EVIL,
    bootstrap_servers=None,
    created_at="2024-01-01T00:00:00Z",
    srfix="0",
    findings=(
        PlannedFinding(
            code="SRF001",
            application=EVIL,
            store=EVIL,
            role=Role.VALUE,
            subject=Subject(EVIL),
            source_topic=Topic(EVIL),
            schema_ids=(SchemaId(7),),
        ),
    ),
    expects={},
    actions=(
        Register(step=1, subject=Subject(EVIL), schema_id=SchemaId(7), schema=Schema(text='"string"'), holders=()),
    ),
    price=(),
    omissions=(Omission(subject=Subject(EVIL), reason=EVIL),),
    playbook=(),
)
COUNTED = census(replace(count(7, 4), live_keys=None))
CENSUS = replace(COUNTED, topic=Topic(EVIL), partitions=(replace(COUNTED.partitions[0], restore_limit=None),))


class Seen(HTMLParser):
    """The tags of a page, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert attrs == []
        self.tags.append(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize(
    "value",
    [EVIL_FINDING, DIAGNOSIS, Examination(diagnosis=DIAGNOSIS, facts=()), PLAN, CENSUS],
    ids=lambda value: type(value).__name__,
)
def test_names_that_mean_harm_are_text(value: Any) -> None:
    page = Seen()
    page.feed(value._repr_html_())
    page.close()
    assert set(page.tags) <= TAGS
    assert page.open == []
    assert "<script>alert(1)</script>" in page.text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e]", page.text)


def test_they_say_what_counts() -> None:
    assert "broken" in EVIL_FINDING._repr_html_()
    assert (
        "<p>1 finding, worst first.</p>" in Diagnosis(findings=(EVIL_FINDING,), skipped=(), examined=())._repr_html_()
    )
    assert "<td>not restored</td>" in CENSUS._repr_html_()
    assert PLAN.digest in PLAN._repr_html_()
    assert "Nothing was found." in Diagnosis(findings=(), skipped=(), examined=())._repr_html_()
    unseen = Diagnosis(findings=(), skipped=DIAGNOSIS.skipped, examined=())
    assert "it skipped a check that could have found something" in unseen._repr_html_()
    assert escaped(None) == ""


def test_sparks_plans_are_shown_as_they_explain_themselves() -> None:
    with FixtureRegistry() as server:
        written = plan_write(server.url, "<b>", "ID BIGINT", subjects=cast("Any", lambda *_: "s"))
        read = plan_read(server.url, "<b>", "ID BIGINT", subjects=("s",))
        for plan in (written, read):
            page = plan._repr_html_()
            assert page.startswith("<pre>")
            assert "<b>" not in page
            assert "&lt;b&gt;" in page


def test_a_note_on_a_repair_stands_with_its_finding() -> None:
    note = replace(EVIL_FINDING, code="SRF012", severity=Severity.NOTE, explanation="the registry would refuse it")
    found = replace(EVIL_FINDING, notes=(note,))
    assert "About the repair (SRF012): the registry would refuse it" in found._repr_html_()
    assert "<td>SRF012</td>" in replace(DIAGNOSIS, findings=(found,))._repr_html_()
