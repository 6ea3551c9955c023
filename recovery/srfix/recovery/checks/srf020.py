"""SRF020: live ids of a topic that the named reader cannot resolve under the subject that it asks. `srfix check` finds it.

It is about a topic and its reader, not about a store: a diagnosis of stores never finds it, `srfix.recovery.topic_check` does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from srfix.recovery.checks.interface import CatalogueEntry, Check, Repair

if TYPE_CHECKING:
    from srfix.recovery.facts.reader import CheckContext
    from srfix.recovery.facts.stores import StoreFacts
    from srfix.recovery.findings import Finding

CODE = "SRF020"


def check(_facts: StoreFacts, _context: CheckContext) -> Iterator[Finding]:
    """Nothing, of any store."""
    return iter(())


CHECK: Final = Check(
    entry=CatalogueEntry(
        code=CODE,
        title="Live records of a topic cannot be read: their reader asks a subject that does not hold their ids",
        severity="broken",
        meaning="Records name schemas that the registry knows, and the subject that its reader asks does not hold them: "
        "“Error retrieving Avro value schema version for id …” (40401 without that subject, 40403 without that schema). A "
        "Connect sink's task fails, a ksqlDB source skips the record or stops. A reader with use.latest.version fails besides "
        "where the subject has no live version, or where the latest one does not resolve what was written.",
        cause="A topic that was mirrored under another name with its records' bytes as they are (MirrorMaker 2), while the "
        "schemas stand under the original's subject; producers that name subjects by the record (RecordNameStrategy, "
        "TopicRecordNameStrategy) and a reader that does not; subjects that were cleaned up, or not copied with the topic; "
        "a soft-deleted repair where the reader takes the latest version.",
        detection="srfix check, with --subject, --strategy, --group and --reader as the reader has them: a census of the "
        "topic's keys and values, GUIDs too, and for each id the questions of that reader. Of a compacted topic the latest "
        "record of each key counts, else every record; with --group what it has not read yet.",
        remedy="Let the reader ask the subject that holds the ids, or register them under the one that it asks: srfix plan, "
        "with --topic and the same options, then srfix apply and srfix verify. Nothing registers the version that a reader "
        "with use.latest.version takes: it becomes everybody's latest, which only the subject's owner can decide.",
        checked_since="0.1.0",
    ),
    find=check,
    repair=Repair(
        wants=lambda _finding, _request: iter(()), also="with --topic, ids that its reader does without or has read"
    ),
)
