"""What a watch tells, as lines of a log and as documents (`srfix.watch/1`)."""

from __future__ import annotations

from typing import assert_never

from srfix.recovery.findings import Diagnosis, Severity, finding_order
from srfix.recovery.ids_in_words import counted, listed
from srfix.recovery.watch.events import (
    Deferred,
    Event,
    LookEnded,
    LookFailed,
    NewIds,
    NewVersions,
    NotExamined,
    OutageBegan,
    OutageEnded,
    Registered,
    StandsRelaxed,
    Stopped,
    Withheld,
)
from srfix.serde.schemas.models import Json
from srfix.serde.wire import SchemaId

_MOST_IDS = 10


def is_news(event: Event) -> bool:
    """False of a short look: it comes every few seconds, and says nothing where nothing is new."""
    return not (isinstance(event, LookEnded) and event.diagnosis is None)


def in_words(event: Event) -> str:
    """One event in a line."""
    match event:
        case LookEnded(diagnosis=None):
            return "Looked for what is new."
        case LookEnded(diagnosis=Diagnosis() as diagnosis):
            return f"A full look of {event.duration_s:.1f} s: {_summary(diagnosis)}"
        case LookFailed():
            return f"A full look was not possible: {event.why}"
        case NewVersions():
            numbers = ", ".join(map(str, event.versions))
            return f"New under {event.subject}: version{'s' if len(event.versions) > 1 else ''} {numbers}."
        case NewIds():
            return f"New in the {event.role.value}s of topic {event.topic}: {_ids(event.schema_ids)}."
        case Registered():
            again = ", as an earlier run had begun" if event.was_resumed else ""
            what = f"Registered under {event.subject}: {_ids(event.schema_ids)}{again}."
            return f"{what} To undo it: the journal {event.journal}."
        case Withheld():
            return f"Missing under {event.subject}, and not registered: {_ids(event.schema_ids)}: {event.why}."
        case Deferred():
            what = f": {_ids(event.schema_ids)}" if event.schema_ids else ""
            return f"Missing under {event.subject}, and not registered yet{what}: {event.why}."
        case Stopped():
            back = f" Put back: {'; '.join(event.put_back)}." if event.put_back else ""
            return f"A registration under {event.subject} stopped: {event.why}{back}"
        case StandsRelaxed():
            what = (
                f"put back, as an instance that was killed has left it: {'; '.join(event.put_back)}"
                if event.put_back
                else "start the instance again that was killed, or put it back by its journal (srfix rollback)"
            )
            looks = f"The compatibility of {event.subject} has been relaxed for {event.looks} looks"
            return f"{looks}, and no repair takes so long: {what}."
        case NotExamined():
            return (
                f"The plan speaks of store {event.store} of application {event.application}, which restores from "
                f"{event.source_topic}, and the full look did not see that: nothing is registered under {event.subject}."
            )
        case OutageBegan():
            return f"No answer from {event.end.value}: {event.why} Asked again until it answers."
        case OutageEnded():
            return f"An answer from {event.end.value} again, after {event.duration_s:.0f} s."
        case _:
            assert_never(event)  # type: ignore[arg-type]  # a look is one with or without a diagnosis


def document(event: Event, *, at: str) -> dict[str, Json]:
    """One event as a document; `at` in ISO 8601, UTC."""
    base: dict[str, Json] = {"schema": "srfix.watch/1", "at": at, "text": in_words(event)}
    match event:
        case LookEnded():
            return {**base, "what": "look", "duration_s": round(event.duration_s, 3), **_found(event.diagnosis)}
        case LookFailed():
            return {**base, "what": "look-failed", "why": event.why}
        case NewVersions():
            return {**base, "what": "new-versions", "subject": event.subject, "versions": list[Json](event.versions)}
        case NewIds():
            ids: Json = [int(schema_id) for schema_id in event.schema_ids]
            return {**base, "what": "new-ids", "topic": event.topic, "role": event.role.value, "schema_ids": ids}
        case Registered():
            ids = [int(schema_id) for schema_id in event.schema_ids]
            journal = str(event.journal)
            return {**base, "what": "registered", "subject": event.subject, "schema_ids": ids, "journal": journal}
        case Withheld() | Deferred():
            what = "withheld" if isinstance(event, Withheld) else "deferred"
            ids = [int(schema_id) for schema_id in event.schema_ids]
            return {**base, "what": what, "subject": event.subject, "schema_ids": ids, "why": event.why}
        case Stopped():
            kept = None if event.journal is None else str(event.journal)
            return {**base, "what": "stopped", "subject": event.subject, "why": event.why, "journal": kept}
        case StandsRelaxed():
            put_back: Json = list[Json](event.put_back)
            return {**base, "what": "stands-relaxed", "subject": event.subject, "put_back": put_back}
        case NotExamined():
            return {
                **base,
                "what": "not-examined",
                "application": event.application,
                "store": event.store,
                "subject": event.subject,
                "topic": event.source_topic,
            }
        case OutageBegan():
            return {**base, "what": "outage", "end": event.end.value, "why": event.why}
        case OutageEnded():
            return {**base, "what": "outage-over", "end": event.end.value, "duration_s": round(event.duration_s, 3)}
        case _:
            assert_never(event)


def _found(diagnosis: Diagnosis | None) -> dict[str, Json]:
    if diagnosis is None:
        return {}
    return {
        "findings": [
            {
                "code": found.code,
                "severity": found.severity.value,
                "application": found.application,
                "store": found.store,
                "role": found.role.value,
                "subject": found.subject,
                "schema_ids": [int(fault.schema_id) for fault in found.schema_ids],
            }
            for found in sorted(diagnosis.findings, key=finding_order)
        ],
        "not_looked_at": len(diagnosis.not_looked_at),
    }


def _summary(diagnosis: Diagnosis) -> str:
    wrong = [found for found in diagnosis.findings if found.severity is not Severity.NOTE]
    named = "; ".join(f"{found.code} {found.application}/{found.store}" for found in wrong[:_MOST_IDS])
    more = f"; {len(wrong) - _MOST_IDS} more" if len(wrong) > _MOST_IDS else ""
    skipped = f", {counted(len(diagnosis.not_looked_at), 'thing')} not looked at" if diagnosis.not_looked_at else ""
    which = f" ({named}{more})" if named else ""
    return f"{counted(len(wrong), 'finding')}{which}, {counted(len(diagnosis.examined), 'store')} examined{skipped}."


def _ids(ids: tuple[SchemaId, ...]) -> str:
    return f"schema id{'s' if len(ids) > 1 else ''} {listed(ids, most=_MOST_IDS)}"
