"""SRF008: subjects of a foreign-key join's pseudo-topics that have outlived the join.

A foreign-key join hands its serdes the names `<registration topic>-pk`, `-fk` and `-vh`
(`KTableImpl.decoratePseudoTopic`, KAFKA-9390), which are never topics. While the registration topic exists, such
subjects are normal, and srfix reports no finding.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from srfix.recovery.checks.interface import Check
from srfix.recovery.findings import Finding, Severity

if TYPE_CHECKING:
    from srfix.recovery.facts.applications import ApplicationFacts
    from srfix.recovery.facts.reader import CheckContext

CODE: Final = "SRF008"


def find(facts: ApplicationFacts, _context: CheckContext) -> Iterator[Finding]:
    """One note per pseudo-topic and role of an application that is alive."""
    if not facts.lives:
        return
    for topicless_subject in facts.subjects:
        if topicless_subject.registration is None or topicless_subject.owners_allowed[0] != facts.application:
            continue  # no pseudo-topic; or it may belong to a lost application whose name has the same beginning
        yield Finding(
            code=CODE,
            severity=Severity.NOTE,
            application=facts.application,
            store=facts.name_of(topicless_subject),
            role=topicless_subject.role,
            subject=topicless_subject.subject,
            source=None,
            registered_ids=facts.ids_under(topicless_subject),
            explanation=(
                f"A foreign-key join of application {facts.application} registered {topicless_subject.subject}. A topic "
                f"{topicless_subject.topic} never exists, by design. But the join's registration topic "
                f"{topicless_subject.registration} does not exist either: the application no longer has this join, or "
                "was reset. No store needs this subject for a restore."
            ),
            next="Nothing to do: leave the subject as long as the application lives.",
            repairable=False,
        )


CHECK: Final = Check(
    code=CODE,
    title="Subjects of a foreign-key join that the application no longer has",
    severity="note",
    meaning=(
        "The subject's name is the name of a subscription registration topic with the ending -pk-key, -fk-key or "
        "-vh-value. A topic of such a name never exists: Kafka Streams only hands the name to serdes. Here the "
        "registration topic is gone, too."
    ),
    cause="A foreign-key join (Kafka Streams 2.4 and later) with registry serdes was taken out of the topology, or "
    "its application was reset. As long as the join exists, these subjects are normal, and srfix "
    "reports no finding.",
    detection="srfix recognises such a subject by its name. The full topic listing lacks the registration topic, and the "
    "group exists.",
    remedy="Do nothing. Leave the subjects while the application lives, because it may get the join again.",
    find_of_application=find,
)
