"""SRF001, the incident (KAFKA-10179): ids that a restore puts in the store are not registered under the phantom subject."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from srfix.recovery.checks._counting import at_fault, in_words, restorable_ids
from srfix.recovery.checks.interface import CheckContext, Reader
from srfix.recovery.checks.srf005 import stands_beside
from srfix.recovery.findings import Finding, IdAtFault, Severity, Source
from srfix.recovery.ids_in_words import listed
from srfix.recovery.stores import RoleFacts, StoreFacts
from srfix.recovery.subject_state import SubjectState
from srfix.serde.subjects import DEFAULT_CONTEXT
from srfix.serde.wire import SchemaId

__all__ = ["CODE", "check", "missing_ids"]

CODE = "SRF001"

_MOST_IDS: Final = 10
"""Ids of a subject that are named; the rest is counted."""


_TELLS_OF_RESTORES = frozenset({"explicit", "ksqldb", "state-directory"})
"""Kinds of evidence that say from where a store restores, not only what it is made of."""


def missing_ids(facts: StoreFacts, role: RoleFacts) -> tuple[SchemaId, ...]:
    """The restorable ids whose schema the registry knows, but not under the phantom subject; ascending."""
    if facts.census is None:
        return ()
    return tuple(
        schema_id for schema_id in restorable_ids(facts.census, role.role) if role.memberships[schema_id].is_missing
    )


def check(facts: StoreFacts, context: CheckContext) -> Iterator[Finding]:
    """One finding per role with missing ids."""
    for role in facts.roles.values():
        missing = missing_ids(facts, role)
        if not missing or facts.census is None:
            continue
        faults = at_fault(facts.census, role.role, missing)
        source = facts.source
        yield Finding(
            code=CODE,
            severity=context.lookup_severity(role.subject),
            application=facts.store.application,
            store=facts.store.name,
            role=role.role,
            subject=role.subject,
            source=None
            if source is None
            else Source(topic=source.topic, subject=facts.store.source_subject(source.topic, role.role)),
            schema_ids=faults if source is not None else (),
            registered_ids=role.state.schema_ids,
            evidence=facts.evidence,
            explanation=_explanation(facts, role, faults, context),
            next=_next(facts, role, context),
            repairable=source is not None,
        )


def _explanation(facts: StoreFacts, role: RoleFacts, faults: tuple[IdAtFault, ...], context: CheckContext) -> str:
    store = facts.store
    if facts.source is None:
        candidates = _candidates(facts)
        its = f"Store {store.name} of application {store.application}"
        if len(candidates) == 1:
            return (
                f"{its} seems to restore from topic {candidates[0]}, but the evidence is weak. That topic holds schema ids "
                f"that are not registered under {role.subject}."
            )
        return (
            f"{its} restores from one of {', '.join(candidates)}, and the evidence does not say from which. At least one of "
            f"them holds schema ids that are not registered under {role.subject}."
        )
    sentences = [
        f"Store {store.name} of application {store.application} has no changelog topic of its own: it restores the "
        "bytes of "
        f"topic {facts.source.topic} as they are. They carry {in_words(faults)}.",
        _what_the_subject_lacks(role, faults),
        _what_happens(facts, role, faults, context),
    ]
    return " ".join(sentences) + stands_beside(facts)


def _what_the_subject_lacks(role: RoleFacts, faults: tuple[IdAtFault, ...]) -> str:
    lacks = [fault.schema_id for fault in faults]
    codes = ", ".join(
        str(code) for code in sorted({role.memberships[schema_id].error_code or 0 for schema_id in lacks})
    )
    if not role.state.versions:
        return f"The subject that the store's reader asks, {role.subject}, does not exist ({codes})."
    return (
        f"The subject that the store's reader asks, {role.subject}, holds {_held(role.state)}, but not {_some(lacks)} "
        f"({codes})."
    )


def _held(state: SubjectState) -> str:
    """`schema id 3`, `schema ids 3 and 5 (5 soft-deleted)`, …"""
    ids = state.schema_ids
    live = {version.schema_id for version in state.live}
    deleted = [schema_id for schema_id in ids if schema_id not in live]
    words = f"{'schema id' if len(ids) == 1 else 'schema ids'} {_some(ids)}"
    if not deleted:
        return words
    return f"{words} ({'soft-deleted' if not live else f'{_some(deleted)} soft-deleted'})"


def _some(ids: Sequence[SchemaId]) -> str:
    return listed(ids, most=_MOST_IDS)


def _unless_without_logging(facts: StoreFacts) -> str:
    """What evidence of the cluster cannot tell apart; a state directory or a person has said that it restores."""
    source = facts.source
    if source is None or any(e.kind in _TELLS_OF_RESTORES and e.topic == source.topic for e in facts.evidence):
        return ""
    return (
        " A store whose logging is disabled looks the same from here, and nothing is restored into that one "
        "(`srfix explain SRF007`): --state-dir may tell."
    )


def _what_happens(facts: StoreFacts, role: RoleFacts, faults: tuple[IdAtFault, ...], context: CheckContext) -> str:
    if context.lookup_severity(role.subject) is Severity.NOTE:
        why = (
            f"a {context.reader.value} reader does not need that version"
            if context.does_without(role.subject)
            else "this Kafka Streams asks the source's subject"
        )
        return f"As {why}, nothing fails because of it."
    named = context.registry.context_of(role.subject)
    fails_by_id = context.fails_by_id(role.subject)
    condition = (
        f"a plain reader asks for the id under the subject too, and in context {named} the registry gives the schema of an id "
        "to no subject that does not hold it: "
        if fails_by_id
        else ""
        if context.reader is Reader.CONNECT or named != DEFAULT_CONTEXT
        else "if the reader looks the version up under the subject, "
    )
    after = "those rows cannot be read" if any(fault.live_keys for fault in faults) else "its rows could not be read"
    # In a named context every one of Confluent's deserializers fails before it looks a version up.
    version = "" if named != DEFAULT_CONTEXT else "version "
    message = f'"Error retrieving Avro {role.role.value} schema {version}for id {faults[0].schema_id}"'
    sentence = f"{condition}after a restore {after}: {message}."
    unless = (
        " If Kafka Streams 2.7 or later runs, that subject is never asked, which would explain that it does not exist: say "
        "so with --streams-version."
        if context.streams_version is None and not role.state.versions
        else ""
    )
    if facts.is_global:
        when = (
            "A global table restores the records that stand in the topic at its very first start too, so that no wipe is "
            "needed for this."
        )
    else:
        when = "Whether a restore has happened yet cannot be told from cluster and registry alone; the next brings it about."
    return f"{sentence[0].upper()}{sentence[1:]} {when}{unless}{_unless_without_logging(facts)}"


def _next(facts: StoreFacts, role: RoleFacts, context: CheckContext) -> str:
    store = facts.store
    if facts.source is None:
        return f"Say which topic the table is built on (candidates: {', '.join(_candidates(facts))})."
    of_it = ("--application", store.application, "--store", store.name)
    if context.lookup_severity(role.subject) is Severity.NOTE:
        command = context.given.quoted("plan", *of_it, "--also", CODE, "-o", "plan.json")
        return f"Nothing to do while this reader stays. To have the ids registered all the same: {command}."
    plan = context.given.quoted("plan", *of_it, "-o", "plan.json")
    apply = context.given.quoted("apply", "plan.json")
    return f"Do not wipe the state directory and do not restart yet. Run {plan}, read it, then {apply}."


def _candidates(facts: StoreFacts) -> list[str]:
    return sorted({piece.topic for piece in facts.evidence if piece.topic is not None and not piece.against})
