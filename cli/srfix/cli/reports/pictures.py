"""The pictures of a report: the ids that a topic carries, and the ids that the reader's subject holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from srfix.cli.output.interface import CarriedId, Picture
from srfix.recovery.facts.stores import StoreFacts
from srfix.recovery.findings import Finding, IdAtFault, Severity
from srfix.recovery.repair.plan_file import Plan
from srfix.recovery.report.places import ranges
from srfix.serde.printable import counted
from srfix.serde.subjects.names import Subject, split_context, subject_for


def picture_of(finding: Finding, facts: Iterable[StoreFacts]) -> Iterator[Picture]:
    """The picture of a finding about ids, with the topic's ids as far as counted; none if no reader asks the subject."""
    if finding.severity in (Severity.NOTE, Severity.LITTER) or not finding.schema_ids:
        return
    at_fault = {int(fault.schema_id): fault for fault in finding.schema_ids}
    in_topic = {number for number, fault in at_fault.items() if fault.records}
    for store_facts in facts:
        is_its = (store_facts.store.application, store_facts.store.name) == (finding.application, finding.store)
        if is_its and finding.source is not None and store_facts.census is not None:
            in_topic |= set(map(int, store_facts.census.restorable_ids(finding.role)))
    registered_ids = {int(schema_id) for schema_id in finding.registered_ids}
    yield Picture(
        topic=None if finding.source is None else finding.source.topic,
        application=finding.application,
        store=finding.store,
        subject=finding.subject,
        is_phantom=finding.source is not None and finding.subject != finding.source.subject,
        carried=tuple(
            CarriedId(schema_id=number, where=_where(at_fault[number]) if number in at_fault else "")
            for number in sorted(in_topic)
        ),
        kept=tuple(sorted(at_fault.keys() - in_topic)),
        held=tuple(sorted(registered_ids)),
        lacking=tuple(sorted(at_fault.keys() - registered_ids)),
    )


def picture_before(plan: Plan, subject: Subject) -> Iterator[Picture]:
    """The state of a subject before a plan writes to it; one picture for each store that needs the subject."""
    state = plan.expects.get(subject)
    registered_ids = {int(version.schema_id) for version in state.versions} if state is not None else set()
    for planned in plan.findings:
        if planned.subject == subject and planned.application is not None and planned.store is not None:
            of_topic = split_context(subject)[1] == subject_for(planned.source_topic, planned.role)
            ids = tuple(sorted(map(int, planned.schema_ids)))
            yield Picture(
                topic=planned.source_topic,
                application=planned.application,
                store=planned.store,
                subject=subject,
                is_phantom=not of_topic,
                # The schemas that are registered under the topic's own subject belong to rows on disk; no record
                # carries their ids (SRF004).
                carried=() if of_topic else tuple(CarriedId(schema_id=number, where="") for number in ids),
                kept=ids if of_topic else (),
                held=tuple(sorted(registered_ids)),
                lacking=tuple(sorted({int(number) for number in planned.planned_ids} - registered_ids)),
            )


def _where(fault: IdAtFault) -> str:
    least = "at least " if fault.is_partial else ""
    pending = sum(place.pending_keys for place in fault.partitions)
    if fault.live_keys is None:
        keys = [f"{least}{counted(fault.records, 'record')}"]
    else:
        keys = [
            f"{least}{counted(fault.live_keys, 'live key')}",
            *([f"{pending:,} not yet committed"] if pending else []),
        ]
    named = "partition" if len(fault.partitions) == 1 else "partitions"
    places = [f"{named} {ranges(place.partition for place in fault.partitions)}"] if fault.partitions else []
    return ", ".join([*keys, *places])
