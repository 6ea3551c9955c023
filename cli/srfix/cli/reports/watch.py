"""The events of a watch as lines of a log and as documents (`srfix.watch/1`)."""

from __future__ import annotations

from typing import Final, Literal, assert_never

from msgspec import UNSET, UnsetType

from srfix.recovery.documents import Code, Document, Instant, Part
from srfix.recovery.findings import Diagnosis, Finding, Severity, finding_order
from srfix.recovery.ids_in_words import listed
from srfix.recovery.watch import events
from srfix.serde.printable import counted
from srfix.serde.subjects.names import Role
from srfix.serde.wire import SchemaId

_MOST_IDS = 10


def is_news(event: events.Event) -> bool:
    """False for a short look, which comes every few seconds and is not logged if nothing is new."""
    return not (isinstance(event, events.LookEnded) and event.diagnosis is None)


def in_words(event: events.Event) -> str:
    match event:
        case events.LookEnded(diagnosis=None):
            return "Looked for new versions and ids."
        case events.LookEnded(diagnosis=Diagnosis() as diagnosis):
            return f"A full diagnosis took {event.duration_s:.1f} s: {_summary(diagnosis)}"
        case events.LookFailed():
            return f"A full diagnosis was not possible: {event.why}"
        case events.NewVersions():
            numbers = ", ".join(map(str, event.versions))
            return f"New under {event.subject}: version{'s' if len(event.versions) > 1 else ''} {numbers}."
        case events.NewIds():
            return f"New in the {event.role.value}s of topic {event.topic}: {_ids(event.schema_ids)}."
        case events.Registered():
            again = " An earlier run had begun this registration." if event.was_resumed else ""
            what = f"Registered under {event.subject}: {_ids(event.schema_ids)}.{again}"
            return f"{what} To undo this, use the journal {event.journal}."
        case events.Withheld():
            return f"Missing under {event.subject}: {_ids(event.schema_ids)}. Not registered, because: {event.why}."
        case events.Deferred():
            if not event.schema_ids:
                return f"Missing under {event.subject}, and not registered yet, because: {event.why}."
            return f"Missing under {event.subject}: {_ids(event.schema_ids)}. Not registered yet, because: {event.why}."
        case events.Stopped():
            back = f" Put back: {'; '.join(event.put_back)}." if event.put_back else ""
            return f"A registration under {event.subject} stopped: {event.why}{back}"
        case events.StandsRelaxed():
            what = (
                f"watch has now reset it: {'; '.join(event.put_back)}"
                if event.put_back
                else "start that instance again, or undo its repair with its journal (srfix rollback)"
            )
            looks = f"The compatibility of {event.subject} has been relaxed for {event.looks} looks"
            return (
                f"{looks}, longer than a repair normally takes, probably because an instance was killed during a repair; "
                f"{what}."
            )
        case events.NotExamined():
            return (
                f"The plan says that store {event.store} of application {event.application} restores from "
                f"{event.source_topic}. The full diagnosis did not see this, so nothing is registered under "
                f"{event.subject}."
            )
        case events.OutageBegan():
            return f"No answer from {event.end.value}: {event.why} srfix asks again until it answers."
        case events.OutageEnded():
            end = "Kafka" if event.end is events.End.KAFKA else "The registry"
            return f"{end} answers again, after {event.duration_s:.0f} s."
        case _:
            assert_never(event)  # type: ignore[arg-type]  # a look is one with or without a diagnosis


class WatchedFinding(Part):
    """A finding of a full look."""

    code: Code
    severity: str
    application: str
    store: str
    role: Role
    subject: str
    schema_ids: list[int]


class WatchLine(Document, tag="srfix.watch/1"):
    """One line of `srfix watch --output json`: something that happened."""

    at: Instant
    """ISO 8601, UTC."""
    text: str
    """The line of the log."""
    what: Literal[
        "look",
        "look-failed",
        "new-versions",
        "new-ids",
        "registered",
        "withheld",
        "deferred",
        "stopped",
        "stands-relaxed",
        "not-examined",
        "outage",
        "outage-over",
    ]
    end: events.End | UnsetType = UNSET
    duration_s: float | UnsetType = UNSET
    findings: list[WatchedFinding] | UnsetType = UNSET
    not_looked_at: int | UnsetType = UNSET
    application: str | UnsetType = UNSET
    store: str | UnsetType = UNSET
    subject: str | UnsetType = UNSET
    topic: str | UnsetType = UNSET
    role: Role | UnsetType = UNSET
    versions: list[int] | UnsetType = UNSET
    schema_ids: list[int] | UnsetType = UNSET
    why: str | UnsetType = UNSET
    journal: str | UnsetType | None = UNSET
    """The journal with which `srfix rollback` undoes the registration."""
    put_back: list[str] | UnsetType = UNSET
    """The relaxed compatibility that this instance has reset, in words."""


_WHAT: Final = {
    events.LookEnded: "look",
    events.LookFailed: "look-failed",
    events.NewVersions: "new-versions",
    events.NewIds: "new-ids",
    events.Registered: "registered",
    events.Withheld: "withheld",
    events.Deferred: "deferred",
    events.Stopped: "stopped",
    events.StandsRelaxed: "stands-relaxed",
    events.NotExamined: "not-examined",
    events.OutageBegan: "outage",
    events.OutageEnded: "outage-over",
}


def document(event: events.Event, *, at: str) -> WatchLine:
    return WatchLine.of(event, at=at, text=in_words(event), what=_WHAT[type(event)], **_other_fields(event))


def _other_fields(event: events.Event) -> dict[str, object]:
    match event:
        case events.LookEnded(diagnosis=Diagnosis() as diagnosis):
            findings = sorted(diagnosis.findings, key=finding_order)
            return {
                "duration_s": round(event.duration_s, 3),
                "findings": [_finding(finding) for finding in findings],
                "not_looked_at": len(diagnosis.not_looked_at),
            }
        case events.LookEnded() | events.OutageEnded():
            return {"duration_s": round(event.duration_s, 3)}
        case events.Registered():
            return {"journal": str(event.journal)}
        case events.Stopped():
            return {"journal": None if event.journal is None else str(event.journal), "put_back": UNSET}
        case events.NotExamined():
            return {"topic": event.source_topic}
        case _:
            return {}


def _finding(finding: Finding) -> WatchedFinding:
    ids = [fault.schema_id for fault in finding.schema_ids]
    return WatchedFinding.of(finding, severity=finding.severity.value, schema_ids=ids)


def _summary(diagnosis: Diagnosis) -> str:
    wrong = [finding for finding in diagnosis.findings if finding.severity is not Severity.NOTE]
    named = "; ".join(f"{finding.code} {finding.application}/{finding.store}" for finding in wrong[:_MOST_IDS])
    more = f"; {len(wrong) - _MOST_IDS} more" if len(wrong) > _MOST_IDS else ""
    skipped = f", {counted(len(diagnosis.not_looked_at), 'thing')} not looked at" if diagnosis.not_looked_at else ""
    which = f" ({named}{more})" if named else ""
    return f"{counted(len(wrong), 'finding')}{which}, {counted(len(diagnosis.examined), 'store')} examined{skipped}."


def _ids(ids: tuple[SchemaId, ...]) -> str:
    return f"schema id{'s' if len(ids) > 1 else ''} {listed(ids, most=_MOST_IDS)}"
