"""SRF009, orphans: internal subjects of an application that is gone.

A missing group alone proves nothing: committed offsets expire. Some topics exist as long as an application does
(repartition and subscription topics, operators' changelogs): if they are missing too, that says more. Only ksqlDB or a
person knows that it is gone for good.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from srfix.recovery.checks.interface import Check, Repair
from srfix.recovery.findings import Evidence, Finding, Severity, Weight
from srfix.serde.printable import capitalized

if TYPE_CHECKING:
    from srfix.recovery.facts.applications import ApplicationFacts
    from srfix.recovery.facts.reader import CheckContext

CODE: Final = "SRF009"


def find(facts: ApplicationFacts, context: CheckContext) -> Iterator[Finding]:
    """One finding per subject's topic and role, if there is a sign that the application is gone."""
    if facts.lives or not (facts.proof or facts.signs):
        return
    for topicless_subject in facts.subjects:
        yield Finding(
            code=CODE,
            severity=Severity.LITTER,
            application=facts.application,
            store=facts.name_of(topicless_subject),
            role=topicless_subject.role,
            subject=topicless_subject.subject,
            source=None,
            registered_ids=facts.ids_under(topicless_subject),
            evidence=tuple(_evidence(facts)),
            explanation=_explanation(facts, topicless_subject.subject),
            next=_next(facts, context),
            repairable=facts.proof is not None,
        )


def _explanation(facts: ApplicationFacts, subject: str) -> str:
    group = (
        "the cluster lists no group of that name, no such group has committed offsets"
        if facts.is_listed_whole
        else "no group of that name has committed offsets (the cluster does not list its groups)"
    )
    lacking = f"{group}, and no internal topic begins with its name"
    if facts.proof is not None:
        return f"{subject} is left over from application {facts.application}, which is gone: {facts.proof}; {lacking}."
    return (
        f"{subject} seems to be left over from application {facts.application}. {capitalized(lacking)}. "
        f"{''.join(f'{capitalized(sign)}. ' for sign in facts.signs)}This is no proof. An application that was reset "
        "and not started since looks the "
        "same. So does an application with only global tables, because it has no group."
    )


def _next(facts: ApplicationFacts, context: CheckContext) -> str:
    command_line = context.command_line
    if facts.proof is None:
        sure = command_line.quoted("diagnose", "--gone", facts.application)
        return (
            "Do nothing if the subject disturbs nobody: --ignore PATTERN acknowledges it. Delete nothing on this "
            f"evidence. If you know that the application is gone for good, say so: {sure}."
        )
    removal = command_line.plan_and_apply("--gone", facts.application, "--also", CODE)
    return (
        "Do nothing if the subject disturbs nobody: --ignore PATTERN acknowledges it. To soft-delete the subject, "
        f"if no record and no other subject needs its ids: {removal}."
    )


def _evidence(facts: ApplicationFacts) -> Iterator[Evidence]:
    if facts.proof is not None:
        yield Evidence(
            kind="gone",
            topic=None,
            weight=Weight.CONCLUSIVE,
            detail=facts.proof,
            application=facts.application,
        )
    for sign in facts.signs:
        yield Evidence(kind="gone", topic=None, weight=Weight.STRONG, detail=sign, application=facts.application)


CHECK: Final = Check(
    code=CODE,
    title="Orphans: internal subjects of an application that is gone",
    severity="litter",
    meaning="An application or query that is gone left these subjects behind. They count toward limits on schemas, "
    "and make listings long.",
    cause="Somebody removed the application or the query without its subjects. Older ksqlDB versions left them.",
    detection=(
        "All of these must be true:\n- The complete listing of groups has no group of the application.\n- The "
        "application has no committed offsets.\n- The application has no internal topic.\n- There is at least one of "
        "these signs: a subject exists without its topic, although an application that runs or is only stopped always "
        "has that topic (repartition, subscription, an operator's changelog); ksqlDB does not know the query "
        "(--ksqldb); you say that the application is gone (--gone).\nA missing group alone is not enough, because "
        "committed offsets expire."
    ),
    remedy="Do nothing if the subjects disturb nobody: --ignore PATTERN acknowledges them. With proof (--gone, "
    "--ksqldb), a plan with --also SRF009 soft-deletes them. It never deletes the last live version with an id that a "
    "topic may still use.",
    find_of_application=find,
    repair=Repair(
        wants=lambda _finding, _request: iter(()),
        also="subjects that are left over from applications that are proved to be gone; they are soft-deleted",
        only_on_request=True,
    ),
)
