"""The words of reports that need no cluster and no command."""

from __future__ import annotations

import io
from dataclasses import replace

from srfix.cli.output.interface import OutputFormat, Report
from srfix.cli.output.speaking import write_report
from srfix.cli.reports.plan import plan_report
from srfix.cli.reports.verification import verification_blocks
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery.commands import CommandLine
from srfix.recovery.repair.plan_file import Omission
from srfix.recovery.repair.verify.events import Confirmed
from srfix.serde import RegistryClient, Subject
from tests.recovery.staging import PHANTOM, R, plan_of


def shown(report: Report) -> str:
    stream = io.StringIO()
    write_report(report, OutputFormat.TABLE, stream)
    return stream.getvalue()


def test_a_plan_without_steps_gives_its_reasons_where_it_says_that_they_are() -> None:
    with FixtureRegistry() as registry, RegistryClient(registry.url) as client:
        registry.seed(PHANTOM, R)
        plan = plan_of(client)
    omission = Omission(subject=Subject(PHANTOM), reason="the registry is read-only")
    empty = replace(plan, actions=(), omissions=(omission,), left_out=("The registry is read-only.",))
    text = shown(plan_report(empty, path=None, command_line=CommandLine()))
    assert "The reasons are below." in text
    assert text.index("below") < text.index("- The registry is read-only.")


def test_what_holds_for_one_subject_is_said_in_words() -> None:
    events = (Confirmed(subject=Subject(PHANTOM), what="schema id 1 is registered here"),)
    text = shown(Report(document={}, blocks=tuple(verification_blocks(events, details=False, folds=False))))
    assert text.splitlines()[-1] == f"Every check of subject {PHANTOM} passed."
