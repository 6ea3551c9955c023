"""SRF004, the upgrade's mirror image of the incident: ids in kept state are registered under the phantom subject only.

Kafka Streams 2.6.3 and earlier wrote rows under ids of the phantom subject; 2.7.0 and later ask the source topic's
subject for them (KAFKA-10179, pull request 8902). Seen on real Kafka Streams: a store written by 2.6.3 and kept cannot
be read by 2.7.0.
"""

from __future__ import annotations

from collections.abc import Iterator

from srfix.recovery.checks._certainty import is_certain, make_certain
from srfix.recovery.checks.interface import CheckContext, Reader
from srfix.recovery.findings import Finding, IdAtFault, Severity, Source
from srfix.recovery.ids_in_words import listed
from srfix.recovery.stores import RoleFacts, StoreFacts
from srfix.recovery.subject_state import read_subject_state
from srfix.recovery.survey import ask_membership
from srfix.serde.subjects import DEFAULT_CONTEXT, Subject
from srfix.serde.wire import SchemaId

__all__ = ["CODE", "check"]

CODE = "SRF004"


def check(facts: StoreFacts, context: CheckContext) -> Iterator[Finding]:
    """One finding per role, where Kafka Streams 2.7 or later runs, or is said to.

    Rows of the state directory are not read: what the phantom subject holds and the source's does not is what a row that
    2.6.3 or earlier has processed carries.
    """
    version = context.streams_version
    if facts.source is None or version is None or not version.asks_the_source_subject:
        return
    for role in facts.roles.values():
        subject = facts.store.source_subject(facts.source.topic, role.role)
        absent = tuple(
            schema_id
            for schema_id in role.state.schema_ids
            if ask_membership(context.registry, subject, schema_id).is_missing
        )
        if not absent:
            continue
        yield Finding(
            code=CODE,
            severity=_severity(subject, context),
            application=facts.store.application,
            store=facts.store.name,
            role=role.role,
            subject=subject,
            source=Source(topic=facts.source.topic, subject=subject),
            schema_ids=tuple(_at_fault(schema_id) for schema_id in absent),
            registered_ids=read_subject_state(context.registry, subject).schema_ids,
            evidence=facts.evidence,
            explanation=_explanation(facts, role, subject, absent, context),
            next=_next(facts, subject, context),
            repairable=True,
        )


def _at_fault(schema_id: SchemaId) -> IdAtFault:
    """It is in the state, not in the topic: no record and no partition is known."""
    return IdAtFault(schema_id=schema_id, live_keys=None, records=0, partitions=())


def _severity(subject: Subject, context: CheckContext) -> Severity:
    return Severity.NOTE if context.does_without(subject) else Severity.BREAKS_ON_UPGRADE


def _explanation(
    facts: StoreFacts, role: RoleFacts, subject: Subject, absent: tuple[SchemaId, ...], context: CheckContext
) -> str:
    store = facts.store
    ids = f"schema id{'s' if len(absent) > 1 else ''} {listed(absent)}"
    first = (
        f"Under {role.subject}, the phantom subject of store {store.name} of application {store.application}, stands {ids}, "
        f"and not under {subject}, which Kafka Streams 2.7 and later ask (40403). Rows that 2.6.3 or earlier has processed "
        "carry such an id."
    )
    if context.reader is Reader.PLAIN and context.does_without(subject):
        return f"{first} A plain reader does not need that version, so nothing fails because of it."
    if context.reader is Reader.DUAL:
        return f"{first} A dual-subject reader finds it under the phantom subject, so nothing fails because of it."
    named = context.registry.context_of(subject)
    condition = (
        ""
        if context.reader is Reader.CONNECT or named != DEFAULT_CONTEXT
        else "and the reader looks versions up under the subject, "
    )
    version = "version " if named == DEFAULT_CONTEXT else ""
    return (
        f"{first} Where the state directory was kept over the upgrade, {condition}each read of such a row fails: "
        f'"Error retrieving Avro {role.role.value} schema {version}for id {absent[0]}". Rows that were restored since are not '
        "concerned. Whether the state was kept cannot be told from cluster and registry alone."
    )


def _next(facts: StoreFacts, subject: Subject, context: CheckContext) -> str:
    store, version = facts.store, context.streams_version
    said: tuple[str, ...] = ()
    if version is not None and not context.given.has("--streams-version"):
        said = ("--streams-version", f"{version.major}.{version.minor}")
    of_it = ("--application", store.application, "--store", store.name)
    plan = context.given.quoted("plan", *of_it, *said, "--also", CODE, "-o", "plan.json")
    if _severity(subject, context) is Severity.NOTE:
        return f"Nothing to do while this reader stays. To have the ids registered all the same: {plan}."
    register = f"{plan}, read its price, then {context.given.quoted('apply', 'plan.json')}"
    if not is_certain(facts):
        return f"Keep the state directory and register the ids: {register}. {make_certain(facts, context)}"
    return (
        "Either keep the state directory and register the ids: "
        f"{register}. Or, where 2.7 or later runs on every instance and diagnose finds no SRF017, wipe it and let it restore."
    )
