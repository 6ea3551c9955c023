"""Which subjects need a repair, and which schemas they lack; and which repairs are not needed."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from enum import Enum
from typing import TYPE_CHECKING, Final

from srfix.recovery.checks.interface import PassedOver, RepairRequest, Want, Width
from srfix.recovery.checks.table import BY_CODE, CHECKS
from srfix.serde.subjects.names import Role

if TYPE_CHECKING:
    from srfix.recovery.diagnosis.examination import Examination
    from srfix.recovery.facts.reader import CheckContext
    from srfix.recovery.facts.stores import RoleFacts, StoreFacts
    from srfix.recovery.facts.survey import Survey


class Keep(Enum):
    """Whether a registered version stays live."""

    AUTO = "auto"
    """Live if it does not make the registry refuse a possible next schema of the owner; else soft-deleted."""
    LIVE = "live"
    """Live: it becomes the subject's latest, and the application's next schema is checked against it."""
    SOFT_DELETED = "soft-deleted"
    """Soft-deleted at once: the failing reader still finds it, compatibility checks ignore it."""


ON_REQUEST: Final = {check.code: check.repair.also for check in CHECKS if check.repair and check.repair.also}
"""The codes whose unneeded repair a person may ask for, and what that repair is."""
ONLY_ON_REQUEST: Final = frozenset(check.code for check in CHECKS if check.repair and check.repair.only_on_request)


def wanted(
    examination: Examination, survey: Survey, width: Width, also: Collection[str], context: CheckContext
) -> Iterator[Want | PassedOver]:
    """The needed repairs, and those that `also` asks for. Without a census, the person's words on the reader decide."""
    request = RepairRequest(
        stores=examination.facts, survey=survey, width=width, also=frozenset(also), command_line=context.command_line
    )
    if width is Width.ALL_VERSIONS:
        for facts in examination.facts:
            yield from _without_census(facts, context, request)
    for finding in examination.diagnosis.findings:
        repair = BY_CODE[finding.code].repair
        if repair is not None:
            yield from repair.wants(finding, request)


def _without_census(
    facts: StoreFacts, stated_context: CheckContext, request: RepairRequest
) -> Iterator[Want | PassedOver]:
    from srfix.recovery.advice.hints import gather_hints, with_hints

    topic = None if facts.source is None else facts.source.topic
    context = with_hints(stated_context, gather_hints(facts.store, request.survey, topic))
    for role in _roles_without_census(facts, request.survey):
        for check in CHECKS:
            if check.repair is not None and check.repair.without_census is not None:
                yield from check.repair.without_census(facts, role, context, request)


def _roles_without_census(facts: StoreFacts, survey: Survey) -> Iterator[RoleFacts]:
    """Always the values; the keys only if a key schema was registered, because else their serde asks no registry."""
    from srfix.recovery.facts.stores import RoleFacts
    from srfix.recovery.facts.subject_state import read_subject_state

    for role in Role:
        role_facts = facts.roles.get(role)
        if role_facts is not None:
            yield role_facts
        elif role is Role.VALUE:
            subject = facts.store.subject(role)
            state = read_subject_state(survey.registry, subject)
            yield RoleFacts(role=role, subject=subject, state=state, memberships={})
