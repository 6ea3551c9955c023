"""Which subjects want a repair, and which schemas they lack; which repairs need not be."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from srfix.recovery.checks.interface import CheckContext
from srfix.recovery.commands import Given
from srfix.recovery.diagnosis import Examination
from srfix.recovery.findings import Finding, Severity
from srfix.recovery.hints import gather_hints, with_hints
from srfix.recovery.stores import Membership, RoleFacts, StoreFacts, SuspectStore
from srfix.recovery.subject_state import read_subject_state
from srfix.recovery.survey import Survey
from srfix.serde.registry.errors import SubjectNotFoundError
from srfix.serde.subjects import Role, Subject
from srfix.serde.wire import SchemaId

__all__ = ["ON_REQUEST", "PassedOver", "Want", "Width", "wanted"]

ON_REQUEST: Final = ("SRF001", "SRF004")
"""The codes whose repair may be asked for beyond what must be repaired: SRF001 where it is a note or masked (SRF003), and
SRF004, whose repair writes to the source's own subject.
"""


class Width(Enum):
    """Which ids are registered."""

    ONLY_LIVE = "only-live"
    """Those that are at fault now."""
    WIDE = "wide"
    """Every id still in the log of the source topic, and every undeleted version of the source subject."""
    ALL_VERSIONS = "all-versions"
    """Every version of the source subject, soft-deleted ones too, whatever the log holds: without a census."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedOver:
    """A repair that need not be, and that nobody asked for."""

    code: str
    """The finding that it would repair."""
    subject: Subject
    """The subject that it would write to."""
    why: str
    """Why it is not planned, and what plans it, in a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Want:
    """One subject that lacks schemas."""

    code: str
    """The finding that it repairs."""
    facts: StoreFacts
    """The store."""
    role: RoleFacts
    """The subject that lacks them, and what stands there: the phantom, or with SRF004 the source's own."""
    at_fault: tuple[SchemaId, ...]
    """The ids that a reader fails on; none where no census tells, or nothing fails yet."""
    missing: tuple[Membership, ...]
    """What it lacks."""
    known_under: Subject
    """The other one of the two subjects, which ought to hold them."""
    mirrors: tuple[Subject, ...] = ()
    """Copies of the subject in other contexts that lack them too, and that the repair leaves alone."""


def wanted(
    examination: Examination, survey: Survey, width: Width, also: Collection[str], said: CheckContext
) -> Iterator[Want | PassedOver]:
    """What must be repaired, and those of `ON_REQUEST` that were asked for (`also`); what was not is passed over.

    :param said: what the person said of reader and version: without a census no finding tells whether anything must be
        repaired.
    :raises RegistryError: if the registry does not answer.
    """
    if width is Width.ALL_VERSIONS:
        for facts in examination.facts:
            context = with_hints(
                said, gather_hints(facts.store, survey, None if facts.source is None else facts.source.topic)
            )
            for role in _roles_without_census(facts, survey):
                want = _of_phantom(facts, role, (), survey, width)
                if context.lookup_severity(role.subject) is not Severity.NOTE or "SRF001" in also:
                    yield want
                elif want.missing:
                    yield _not_needed(facts.store, role.subject, said.given)
    by_role = {
        (facts.store.application, facts.store.name, role.subject): facts
        for facts in examination.facts
        for role in facts.roles.values()
    }
    for finding in examination.diagnosis.findings:
        ids = tuple(fault.schema_id for fault in finding.schema_ids)
        known = by_role.get((finding.application, finding.store, finding.subject))
        match finding.code:
            case "SRF001" if finding.repairable and known is not None and width is not Width.ALL_VERSIONS:
                if finding.severity is not Severity.NOTE or "SRF001" in also:
                    want = _of_phantom(known, known.roles[finding.role], ids, survey, width)
                    yield replace(want, mirrors=finding.mirrors)
                else:
                    yield _not_needed(known.store, finding.subject, said.given)
            case "SRF003" if "SRF001" in also and known is not None and width is Width.WIDE:
                want = _of_phantom(known, known.roles[finding.role], (), survey, width)
                yield replace(want, mirrors=finding.mirrors)
            case "SRF004" if finding.repairable and "SRF004" in also:
                yield from (_of_source(facts, finding, ids, survey) for facts in _facts_of(examination, finding))
            case "SRF004" if finding.repairable:
                yield _of_producers(finding, said.given)
            case _:
                pass


def _not_needed(store: SuspectStore, subject: Subject, given: Given) -> PassedOver:
    of_it = ("--application", store.application, "--store", store.name)
    command = given.quoted("plan", *of_it, "--also", "SRF001", "-o", "plan.json")
    return PassedOver(
        code="SRF001",
        subject=subject,
        why=f"Store {store} lacks schema ids under {subject}, which is a note (SRF001): as things stand its reader does not "
        f"ask for them there, so that nothing fails. To have them registered all the same: {command}.",
    )


def _of_producers(finding: Finding, given: Given) -> PassedOver:
    of_it = ("--application", finding.application, "--store", finding.store)
    command = given.quoted("plan", *of_it, "--also", finding.code, "-o", "plan.json")
    return PassedOver(
        code=finding.code,
        subject=finding.subject,
        why=f"Rows of store {finding.store} of application {finding.application} that were kept over an upgrade need schema "
        f"ids under {finding.subject} ({finding.code}). That subject is its producers' own, so nothing is written there "
        f"unless it is asked for: {command}.",
    )


def _facts_of(examination: Examination, finding: Finding) -> Iterator[StoreFacts]:
    for facts in examination.facts:
        store, source = facts.store, facts.source
        if source is None or (store.application, store.name) != (finding.application, finding.store):
            continue
        if store.source_subject(source.topic, finding.role) == finding.subject:
            yield facts


def _of_phantom(
    facts: StoreFacts, role: RoleFacts, at_fault: tuple[SchemaId, ...], survey: Survey, width: Width
) -> Want:
    own = facts.store.source_subject(facts.source.topic, role.role) if facts.source is not None else role.subject
    missing = tuple(_missing(facts, role, at_fault, survey, width))
    return Want(code="SRF001", facts=facts, role=role, at_fault=at_fault, missing=missing, known_under=own)


def _of_source(facts: StoreFacts, finding: Finding, ids: tuple[SchemaId, ...], survey: Survey) -> Want:
    """SRF004: what the phantom subject holds goes under the source's own."""
    memberships = {schema_id: survey.membership(finding.subject, schema_id) for schema_id in ids}
    return Want(
        code="SRF004",
        facts=facts,
        role=RoleFacts(
            role=finding.role,
            subject=finding.subject,
            state=read_subject_state(survey.registry, finding.subject),
            memberships=memberships,
        ),
        at_fault=ids,
        missing=tuple(membership for membership in memberships.values() if membership.is_missing),
        mirrors=finding.mirrors,
        known_under=facts.store.subject(finding.role),
    )


def _roles_without_census(facts: StoreFacts, survey: Survey) -> Iterator[RoleFacts]:
    """The values always; the keys only where a key schema was registered: else their serde asks no registry."""
    for role in Role:
        known = facts.roles.get(role)
        if known is not None:
            yield known
        elif role is Role.VALUE:
            subject = facts.store.subject(role)
            state = read_subject_state(survey.registry, subject)
            yield RoleFacts(role=role, subject=subject, state=state, memberships={})


def _missing(
    facts: StoreFacts, role: RoleFacts, at_fault: Sequence[SchemaId], survey: Survey, width: Width
) -> Iterator[Membership]:
    if width is Width.ONLY_LIVE:
        yield from (role.memberships[schema_id] for schema_id in at_fault)
        return
    ids = set(role.memberships)
    if facts.source is not None:
        subject = facts.store.source_subject(facts.source.topic, role.role)
        every = width is Width.ALL_VERSIONS
        try:
            numbers: Sequence[int] = survey.registry.versions(subject, deleted=every)
        except SubjectNotFoundError:
            numbers = ()
        ids.update(survey.registry.version(subject, number, deleted=every).schema_id for number in numbers)
    for schema_id in sorted(ids):
        membership = survey.membership(role.subject, schema_id)
        if membership.is_missing:
            yield membership
