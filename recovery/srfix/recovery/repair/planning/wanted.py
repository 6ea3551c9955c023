"""Which subjects want a repair, and which schemas they lack; which repairs need not be."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from enum import Enum
from typing import TYPE_CHECKING, Final

from srfix.recovery.checks.interface import PassedOver, RepairRequest, Want, Width
from srfix.recovery.checks.table import BY_CODE, CHECKS
from srfix.serde.subjects.names import Role

if TYPE_CHECKING:
    from srfix.recovery.diagnosis.diagnose import Examination
    from srfix.recovery.facts.reader import CheckContext
    from srfix.recovery.facts.stores import RoleFacts, StoreFacts
    from srfix.recovery.facts.survey import Survey


class Keep(Enum):
    """Whether a registered version stays live."""

    AUTO = "auto"
    """Live where no schema that may follow the owner's own is refused for its sake, soft-deleted otherwise."""
    LIVE = "live"
    """Live: it becomes the subject's latest, and the application's next schema is checked against it."""
    SOFT_DELETED = "soft-deleted"
    """Soft-deleted at once: the failing reader still finds it, compatibility does not see it."""


ON_REQUEST: Final = {check.code: check.repair.also for check in CHECKS if check.repair and check.repair.also}
"""The codes whose repair may be asked for beyond what must be repaired, and what that asks for."""
ONLY_ON_REQUEST: Final = frozenset(check.code for check in CHECKS if check.repair and check.repair.only_on_request)
"""The codes whose repair is never planned unless it was asked for."""


def wanted(
    examination: Examination, survey: Survey, width: Width, also: Collection[str], context: CheckContext
) -> Iterator[Want | PassedOver]:
    """What must be repaired, and those of `ON_REQUEST` that were asked for (`also`); what was not is passed over. What the
    person said of reader and version counts where without a census no finding tells whether anything must be repaired.
    """
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
    """The values always; the keys only where a key schema was registered: else their serde asks no registry."""
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
