"""What notebooks show of findings, plans and censuses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from srfix.recovery.ids_in_words import counted
from srfix.serde.html import heading, pairs, paragraph, table
from srfix.serde.subjects.names import Role

if TYPE_CHECKING:
    from srfix.recovery.census.interface import Census
    from srfix.recovery.findings import Diagnosis, Finding
    from srfix.recovery.repair.plan_file import Plan


def finding_html(finding: Finding) -> str:
    """One finding."""
    return "".join(
        (
            heading(f"{finding.code}: {finding.severity.value}"),
            pairs(
                (
                    ("application", finding.application),
                    ("store", finding.store),
                    (f"subject ({finding.role.value}s)", finding.subject),
                    ("source", "not decided" if finding.source is None else finding.source.topic),
                    ("repairable", "yes" if finding.repairable else "no"),
                )
            ),
            paragraph(finding.explanation),
            table(
                ("schema id", "live keys", "records", "partitions"),
                (
                    (
                        f"{fault.schema_id}",
                        "not restored" if fault.live_keys is None else fault.live_keys,
                        f"{fault.records}{' or more' if fault.is_partial else ''}",
                        ", ".join(str(place.partition) for place in fault.partitions),
                    )
                    for fault in finding.schema_ids
                ),
            ),
            paragraph(finding.next),
            *(paragraph(f"On its repair ({note.code}): {note.explanation} {note.next}") for note in finding.notes),
        )
    )


def diagnosis_html(diagnosis: Diagnosis) -> str:
    """All findings as a table, and what was not looked at."""
    if diagnosis.is_inconclusive:
        verdict = "Nothing was found, but something that could hide a finding was not looked at."
    elif diagnosis.findings:
        verdict = f"{counted(len(diagnosis.findings), 'finding')}, worst first."
    else:
        verdict = "Nothing was found."
    return "".join(
        (
            heading("Diagnosis"),
            paragraph(verdict),
            table(
                ("code", "severity", "application", "store", "subject", "source", "repairable", "on its repair"),
                (
                    (
                        found.code,
                        found.severity.value,
                        found.application,
                        found.store,
                        found.subject,
                        "not decided" if found.source is None else found.source.topic,
                        "yes" if found.repairable else "no",
                        ", ".join(note.code for note in found.notes),
                    )
                    for found in diagnosis.findings
                ),
            ),
            table(
                ("not looked at", "why", "could hide a finding"),
                ((left.what, left.reason, "yes" if left.could_hide else "no") for left in diagnosis.not_looked_at),
            ),
        )
    )


def plan_html(plan: Plan, steps: Iterable[tuple[str, str]]) -> str:
    """A plan.

    :param steps: the subject of each action, and the action in words.
    """
    return "".join(
        (
            heading("Plan of a repair"),
            pairs((("registry", plan.registry), ("made", plan.created_at), ("digest", plan.digest))),
            table(
                ("code", "application", "store", "subject", "source", "schema ids"),
                (
                    (
                        found.code,
                        found.application or "",
                        found.store or "",
                        found.subject,
                        found.source_topic,
                        ", ".join(map(str, found.schema_ids)),
                    )
                    for found in plan.findings
                ),
            ),
            table(
                ("step", "subject", "what is written"), ((number, *step) for number, step in enumerate(steps, start=1))
            )
            or paragraph("It writes nothing."),
            table(("left missing under", "why"), ((left.subject, left.reason) for left in plan.omissions)),
        )
    )


def census_html(census: Census) -> str:
    """A topic's schema ids, by half and partition."""
    note = " Read in part: there may be more." if census.is_partial else ""
    return "".join(
        (
            heading(f"Census of {census.topic}"),
            paragraph(f"{sum(part.records for part in census.partitions)} records, {census.isolation.value}.{note}"),
            table(
                (
                    "half",
                    "partition",
                    "schema id",
                    "records",
                    "live keys",
                    "pending keys",
                    "first offset",
                    "last offset",
                ),
                (
                    (
                        role.value,
                        part.partition,
                        count.schema_id,
                        count.records,
                        "not restored" if count.live_keys is None else count.live_keys,
                        count.pending_keys,
                        count.first_offset,
                        count.last_offset,
                    )
                    for role in Role
                    for part in census.partitions
                    for count in part.of(role).ids
                ),
            ),
        )
    )
