"""A report with findings as JUnit's XML, which CI servers show as tests: one for each finding, and for what was not looked at.

| in the document | test |
|---|---|
| a finding, or a prediction | failed; but passed if it is a note, known from a baseline, or below `--fail-on` |
| a thing that was not looked at and may hide a finding | an error |
| another thing that was not looked at | skipped |
| nothing of these | one passed test |

Jenkins reads this form (`junit-10.xsd` of its xUnit plugin).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TextIO
from xml.etree import ElementTree

import click

from srfix.cli.output.interface import Report
from srfix.recovery.severity import Severity
from srfix.serde.printable import printable

_NOTHING: Final = "srfix found nothing wrong in what it looked at"


def render(report: Report, stream: TextIO) -> None:
    ctx = click.get_current_context(silent=True)
    command = "srfix" if ctx is None else ctx.command_path
    fail_on = None if ctx is None else ctx.params.get("fail_on")
    threshold = Severity(fail_on.replace("-", " ")) if isinstance(fail_on, str) else Severity.LITTER
    cases = list(_cases(report.document, command, threshold))
    suite = ElementTree.Element("testsuite", name=command, tests=str(len(cases)))
    for kind in ("failure", "error", "skipped"):
        name = {"failure": "failures", "error": "errors"}.get(kind, kind)
        suite.set(name, str(sum(case.find(kind) is not None for case in cases)))
    suite.extend(cases)
    ElementTree.indent(suite)
    stream.write('<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n")


def _cases(document: Mapping[str, Any], command: str, threshold: Severity) -> Iterator[ElementTree.Element]:
    findings = [*document.get("findings", ()), *document.get("foretold", ())]
    known = list((document.get("baseline") or {}).get("known", ()))
    for finding in findings:
        place = [str(finding[name]) for name in ("application", "store") if finding.get(name)] or [
            str(finding.get("topic"))
        ]
        case = _case(".".join(place), f"{finding['code']} {finding['subject']}")
        is_known = any(baseline_finding.items() <= finding.items() for baseline_finding in known)
        failed = not is_known and Severity(finding["severity"]).is_at_least(threshold)
        part = ElementTree.SubElement(case, "failure" if failed else "system-out")
        if failed:
            part.set("type", finding["severity"])
            part.set("message", printable(finding["explanation"]))
        then = finding.get("first", [finding.get("next")])
        part.text = printable("\n".join(filter(None, (finding["explanation"], *then))))
        yield case
    for gap in document.get("skipped", ()):
        case = _case("not looked at", gap["what"])
        part = ElementTree.SubElement(case, "error" if gap["could_hide_a_finding"] else "skipped")
        part.set("message", printable(gap["reason"]))
        yield case
    if not findings and not document.get("skipped"):
        yield _case(command, _NOTHING)


def _case(class_name: str, name: str) -> ElementTree.Element:
    return ElementTree.Element("testcase", classname=printable(class_name), name=printable(name))
