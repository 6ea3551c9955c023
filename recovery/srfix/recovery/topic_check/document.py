"""The `srfix.check/1` document: what a look at a topic found, as JSON."""

from __future__ import annotations

from srfix.recovery.findings import IdAtFault
from srfix.recovery.topic_check.answers import AskedId, RoleAnswer, TopicCheck, TopicFinding
from srfix.serde.schemas.models import Json


def check_document(found: TopicCheck, *, srfix_version: str, generated_at: str, registry: str) -> dict[str, Json]:
    """The document; `generated_at` in ISO 8601, UTC; `registry` its URLs without secrets."""
    read, positions = found.question.read, found.positions
    return {
        "schema": "srfix.check/1",
        "srfix": srfix_version,
        "generated_at": generated_at,
        "registry": registry,
        "topic": found.question.topic,
        "reader": read.reader.value,
        "strategy": read.strategy.value,
        "subject": found.question.subject,
        "with_metadata": dict(sorted(read.with_metadata.items())),
        "group": read.group,
        "isolation": read.isolation.value,
        "cleanup_policy": found.cleanup_policy,
        "live": found.lives.value,
        "partial": found.census.is_partial,
        "partitions": [
            {
                "partition": partition.partition,
                "start_offset": partition.start_offset,
                "end_offset": partition.end_offset,
                "records": partition.records,
                "committed_offset": None if positions is None else positions.committed.get(partition.partition),
                "pending": None if positions is None else positions.left(partition),
                "stopped_early": partition.stopped_early,
            }
            for partition in found.census.partitions
        ],
        "roles": {answer.role.value: _role(answer) for answer in found.roles},
        "findings": [_finding(finding) for finding in found.findings],
        "skipped": [
            {"what": s.what, "reason": s.reason, "could_hide_a_finding": s.could_hide}
            for s in sorted(found.skipped, key=lambda s: (s.what, s.reason, s.could_hide))
        ],
        "healthy": not found.has_findings and not found.is_inconclusive,
    }


def _role(answer: RoleAnswer) -> Json:
    return {
        "looked_at": answer.is_looked_at,
        "records": answer.records,
        "nulls": answer.nulls,
        "unframed": answer.records - answer.framed,
        "unknown_guids": [str(guid) for guid in sorted(answer.unknown_guids)],
        "ids": [_id(asked) for asked in answer.ids],
    }


def _id(asked: AskedId) -> Json:
    return {
        **_fault(asked.fault),
        "guids": [str(guid) for guid in asked.guids],
        "subject": asked.subject,
        "standing": asked.standing.value,
        "readable": asked.reads,
        "trouble": None if asked.trouble is None else asked.trouble.value,
        "why": asked.untold if asked.why is None else asked.why,
        "registered": asked.membership.is_known and asked.subject is not None and asked.membership.error_code is None,
        "error_code": asked.membership.error_code,
    }


def _fault(fault: IdAtFault) -> dict[str, Json]:
    return {
        "id": int(fault.schema_id),
        "live": fault.live_keys,
        "records": fault.records,
        "partial": fault.is_partial,
        "partitions": [
            {
                "partition": place.partition,
                "live": place.live_keys,
                "first_offset": place.first_offset,
                "last_offset": place.last_offset,
            }
            for place in sorted(fault.partitions, key=lambda place: place.partition)
        ],
    }


def _finding(finding: TopicFinding) -> Json:
    """With the keys of a diagnosis's findings: no store is concerned, so that application and store are null."""
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "application": None,
        "store": None,
        "topic": finding.topic,
        "role": finding.role.value,
        "subject": finding.subject,
        "schema_ids": [_fault(fault) for fault in sorted(finding.schema_ids, key=lambda fault: fault.schema_id)],
        "registered_ids": [int(schema_id) for schema_id in sorted(finding.registered_ids)],
        "holders": [
            {
                "id": int(holder.schema_id),
                "subject": holder.subject,
                "version": holder.version,
                "deleted": holder.deleted,
            }
            for holder in sorted(finding.holders, key=lambda holder: (holder.schema_id, holder.subject, holder.version))
        ],
        "explanation": finding.explanation,
        "next": finding.next,
        "repairable": finding.repairable,
    }
