"""Which ids of a store's topic, or of its rows, the phantom subject lacks; whether anything shows that readers ask that
subject; and the sentences of SRF001 and of findings that use the same sentences.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from srfix.recovery.checks.proofs import at_fault, carried, in_words, prove_absent, read_in_words, rows_in_words
from srfix.recovery.checks.srf005 import stands_beside
from srfix.recovery.findings import Finding, IdAtFault, Severity
from srfix.recovery.ids_in_words import listed, named_ids
from srfix.recovery.internal_topics import ksqldb_query
from srfix.serde.printable import capitalized
from srfix.serde.subjects.names import DEFAULT_CONTEXT

if TYPE_CHECKING:
    from srfix.recovery.facts.reader import CheckContext
    from srfix.recovery.facts.stores import RoleFacts, StoreFacts
    from srfix.recovery.facts.subject_state import SubjectState
    from srfix.serde.subjects.names import Subject
    from srfix.serde.wire import SchemaId

_POINTS_TO_STORES: Final = frozenset({"state-directory", "topology"})
"""Kinds of evidence that name stores of every version of Kafka Streams alike, whether or not they left a subject."""
_MOST_IDS: Final = 10
_TELLS_OF_RESTORES: Final = frozenset({"explicit", "ksqldb", "state-directory"})
"""Kinds of evidence that say from which topic a store restores, not only from which topic it is built."""


def missing_ids(facts: StoreFacts, role: RoleFacts) -> tuple[SchemaId, ...]:
    """The restorable ids whose schema the registry knows, but not under the phantom subject; ascending."""
    if facts.census is None:
        return ()
    return tuple(i for i in facts.census.restorable_ids(role.role) if role.memberships[i].is_missing)


def missing_on_disk(facts: StoreFacts, role: RoleFacts, context: CheckContext) -> tuple[SchemaId, ...]:
    """Ids of rows on disk that no record carries, known to the registry, not to the phantom subject; ascending."""
    if context.asks_the_source_subject or not (role.state.versions or missing_ids(facts, role)):
        return ()
    return tuple(sorted(i for i, membership in role.row_memberships.items() if membership.is_missing))


def is_of_global_store(facts: StoreFacts, context: CheckContext) -> bool:
    """True if missing ids of a store are those of a global store (`srf006`); False if a Streams with the fix runs."""
    is_global = facts.is_told_global if facts.source is None else facts.is_global
    return is_global and not context.asks_the_source_subject


def is_untold(facts: StoreFacts, context: CheckContext) -> bool:
    """True if nothing shows whether the store's serdes ask the phantom subjects at all: from 2.7 on nobody does, and a
    healthy store looks just the same. ksqlDB's serdes ask them on every version."""
    kinds = {piece.kind for piece in facts.evidence if not piece.against}
    return (
        context.streams_version is None
        and not any(role.state.versions for role in facts.roles.values())
        and not (facts.rows is None and facts.rows_not_read is None and kinds.isdisjoint(_POINTS_TO_STORES))
        and "explicit" not in kinds
        and ksqldb_query(facts.store.application) is None
    )


def findings_of(code: str, facts: StoreFacts, context: CheckContext) -> Iterator[Finding]:
    """One finding per role with missing ids, under this code; none if rows prove them absent (SRF002), or if `is_untold`."""
    if is_untold(facts, context):
        return  # reported as not looked at: Kafka Streams with the fix asks no such subject
    for role in facts.roles.values():
        missing, on_disk = missing_ids(facts, role), missing_on_disk(facts, role, context)
        if facts.census is None or not (missing or on_disk):
            continue
        if not on_disk and prove_absent(facts, role, missing):
            continue
        if context.asks_the_source_subject and not role.state.versions:
            continue  # nobody asks that subject, and nobody ever did
        faults = at_fault(facts.census, role.role, (*missing, *on_disk))
        yield facts.finding(
            code,
            role.role,
            severity=context.lookup_severity(role.subject),
            schema_ids=faults if facts.source is not None else (),
            explanation=explain_missing(facts, role, faults, context),
            next_step=_next_step(code, facts, role, context),
            repairable=facts.source is not None,
        )


def _next_step(code: str, facts: StoreFacts, role: RoleFacts, context: CheckContext) -> str:
    if facts.source is None:
        return f"Say which topic the table is built on (candidates: {', '.join(candidates(facts))})."
    if context.lookup_severity(role.subject) is Severity.NOTE:
        return nothing_to_do(context, *facts.store.options, "--also", code)
    repair = context.command_line.plan_and_apply(*facts.store.options)
    return f"Do not wipe the state directory and do not restart yet. Run {repair}."


def explain_missing(facts: StoreFacts, role: RoleFacts, faults: tuple[IdAtFault, ...], context: CheckContext) -> str:
    store = facts.store
    if facts.source is None:
        topics = candidates(facts)
        its = f"Store {store.name} of application {store.application}"
        if len(topics) == 1:
            return (
                f"{its} seems to restore from topic {topics[0]}, but the evidence is weak. That topic holds schema ids "
                f"that are not registered under {role.subject}."
            )
        return (
            f"{its} restores from one of {', '.join(topics)}, and the evidence does not say from which. At least one of "
            f"them holds schema ids that are not registered under {role.subject}."
        )
    restored = tuple(fault for fault in faults if fault.schema_id in role.memberships)
    on_disk = [fault.schema_id for fault in faults if fault.schema_id not in role.memberships]
    sentences = [what_it_restores(facts, restored)] if restored else []
    if on_disk and facts.rows is not None:
        sentences.append(
            f"Rows of the store on disk carry {rows_in_words(facts.rows, role.role, on_disk)}. No record of topic "
            f"{facts.source.topic} carries such an id any more. So no restore brings these rows back, and "
            "reads of these rows fail now."
        )
    sentences.append(what_the_subject_lacks(role, faults))
    if restored:
        sentences.append(_what_happens(facts, role, restored, context))
    return " ".join(sentences) + stands_beside(facts)


def what_it_restores(facts: StoreFacts, faults: tuple[IdAtFault, ...]) -> str:
    store, topic = facts.store, facts.source.topic if facts.source is not None else None
    return (
        f"Store {store.name} of application {store.application} has no changelog topic of its own: it restores the "
        f"records of topic {topic}, byte for byte. These records carry {in_words(faults)}."
    )


def what_the_subject_lacks(role: RoleFacts, faults: tuple[IdAtFault, ...]) -> str:
    lacks = [fault.schema_id for fault in faults]
    codes = ", ".join(str(code) for code in sorted({role.membership(schema_id).error_code or 0 for schema_id in lacks}))
    if not role.state.versions:
        return f"The subject that the store's reader asks, {role.subject}, does not exist ({codes})."
    return (
        f"The subject that the store's reader asks, {role.subject}, holds {_held(role.state)}, but not "
        f"{listed(lacks, most=_MOST_IDS)} ({codes})."
    )


def _held(state: SubjectState) -> str:
    """`schema id 3`, `schema ids 3 and 5 (5 soft-deleted)`, …"""
    ids = state.schema_ids
    live = {version.schema_id for version in state.live}
    deleted = [schema_id for schema_id in ids if schema_id not in live]
    words = named_ids(ids)
    if not deleted:
        return words
    return f"{words} ({f'{listed(deleted, most=_MOST_IDS)} soft-deleted' if live else 'soft-deleted'})"


def _unless_without_logging(facts: StoreFacts) -> str:
    """What evidence from the cluster cannot show; empty if a state directory or a person says that it restores."""
    source = facts.source
    if source is None or any(e.kind in _TELLS_OF_RESTORES and e.topic == source.topic for e in facts.evidence):
        return ""
    return (
        " srfix does not know whether logging is off for this store; nothing is restored into a store without logging "
        "(SRF007). --state-dir may show whether it is off."
    )


def _what_happens(facts: StoreFacts, role: RoleFacts, faults: tuple[IdAtFault, ...], context: CheckContext) -> str:
    if context.lookup_severity(role.subject) is Severity.NOTE:
        return why_nothing_fails(role.subject, context)
    sentence = f"{_condition(role, context)}after a restore {failing_read(role, faults, context)}."
    unless = (
        " Kafka Streams 2.7 or later never asks this subject, which would explain why the subject does not exist. "
        "If such a version runs, say so with --streams-version."
        if context.streams_version is None and not role.state.versions
        else ""
    )
    when = _seen_on_disk(facts, role, faults)
    if facts.is_global:
        at_start = (
            "A global table restores the topic's records also at its very first start, so this happens without any "
            "wipe."
        )
        when = f"{when or at_start} {_why_global(facts)}"
    elif not when:
        when = (
            "srfix cannot see from cluster and registry whether a restore has already happened. If not, the next "
            "restore causes this failure."
        )
    return f"{capitalized(sentence)} {when}{unless}{_unless_without_logging(facts)}"


def why_nothing_fails(subject: Subject, context: CheckContext) -> str:
    why = (
        f"a {context.reader.value} reader can read the rows without the versions under this subject"
        if context.does_without(subject)
        else "this Kafka Streams asks the source's subject"
    )
    return f"Nothing fails, because {why}."


def nothing_to_do(context: CheckContext, *options: str) -> str:
    command = context.command_line.quoted("plan", *options, "-o", "plan.json")
    return f"Nothing to do as long as this reader stays. To register the ids nevertheless: {command}."


def _condition(role: RoleFacts, context: CheckContext) -> str:
    """The condition under which a read fails, as the beginning of a sentence; empty without a condition."""
    named = context.registry.context_of(role.subject)
    if context.fails_by_id(role.subject):
        return (
            f"even a plain reader asks for the id under this subject. In context {named} the registry returns a "
            "schema only if the request names a subject that holds its id. So "
        )
    return (
        ""
        if context.is_connect or named != DEFAULT_CONTEXT
        else "if the reader looks up the version under the subject, "
    )


def failing_read(role: RoleFacts, faults: tuple[IdAtFault, ...], context: CheckContext) -> str:
    named = context.registry.context_of(role.subject)
    after = (
        "rows with these ids cannot be read"
        if any(fault.live_keys for fault in faults)
        else "rows with these ids could not be read"
    )
    # In a named context every one of Confluent's deserializers fails before it looks a version up.
    version = "" if named != DEFAULT_CONTEXT else "version "
    message = f'"Error retrieving Avro {role.role.value} schema {version}for id {faults[0].schema_id}"'
    return f"{after}: {message}"


def _seen_on_disk(facts: StoreFacts, role: RoleFacts, faults: tuple[IdAtFault, ...]) -> str:
    """Whether rows on disk show a restore, in sentences; empty if srfix read no rows."""
    rows = facts.rows
    if rows is None:
        return ""
    ids_on_disk = carried(facts, role, [fault.schema_id for fault in faults])
    if ids_on_disk:
        return f"A restore has happened: rows on disk carry {rows_in_words(rows, role.role, ids_on_disk)}."
    if facts.is_global or not rows.rows:
        return ""
    left = f" ({rows.not_read[0]})" if rows.not_read else ""
    return (
        f"srfix read rows on disk ({read_in_words(rows)}), and none of them carries such an id. This does not prove "
        f"that no restore has happened, because there may be other rows{left}. The next restore causes this failure."
    )


def _why_global(facts: StoreFacts) -> str:
    store = f"{facts.store.name} is a global store"
    if facts.is_told_global:
        return f"A state directory or a topology says that {store}."
    return (
        f"srfix concludes that {store}: the group has committed offsets, but none for topic "
        f"{facts.source.topic if facts.source is not None else ''}. To be sure, give --state-dir or --topology."
    )


def candidates(facts: StoreFacts) -> list[str]:
    return sorted({piece.topic for piece in facts.evidence if piece.topic is not None and not piece.against})
