"""SRF011: ids in the topic that the registry does not know at all. Registration repairs nothing here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from srfix.recovery.checks.interface import Advice, Check, keep_the_state
from srfix.recovery.checks.proofs import at_fault, in_words
from srfix.recovery.checks.topic_findings import MOST_PLACES, TopicFinding, TopicRequest
from srfix.recovery.findings import Finding, Severity
from srfix.recovery.ids_in_words import listed
from srfix.serde.printable import capitalized, foreign
from srfix.serde.subjects.names import Role, Subject, split_context

if TYPE_CHECKING:
    from srfix.recovery.facts.reader import CheckContext
    from srfix.recovery.facts.stores import RoleFacts, StoreFacts
    from srfix.serde.wire import SchemaId

CODE = "SRF011"


def check(facts: StoreFacts, context: CheckContext) -> Iterator[Finding]:
    if facts.source is None or facts.census is None:
        return
    for role in facts.roles.values():
        unknown = tuple(i for i in facts.census.restorable_ids(role.role) if not role.memberships[i].is_known)
        if not unknown:
            continue
        faults = at_fault(facts.census, role.role, unknown)
        subject = facts.store.source_subject(facts.source.topic, role.role)
        yield facts.finding(
            CODE,
            role.role,
            severity=Severity.BROKEN,
            subject=subject,
            schema_ids=faults,
            registered_ids=context.state_of(subject).schema_ids,
            explanation=(
                f"Records of topic {facts.source.topic} carry schema ids that this registry does not know: "
                f"{in_words(faults)}. No reader can decode these records, whatever subject it asks. Perhaps this is "
                "not the registry that the producer used, or the schemas were hard-deleted. `srfix explain SRF011` "
                "lists more causes."
            )
            + known_elsewhere(unknown, role.subject, context)
            + _doubt(facts, role),
            next_step=(
                "Check --registry against the producer's configuration. If the schemas were hard-deleted, restore "
                "them with their old ids, from a backup of the _schemas topic or from the producer's build. srfix "
                "cannot register a schema that it cannot read."
            ),
        )


def known_elsewhere(unknown: Iterable[SchemaId], subject: Subject, context: CheckContext) -> str:
    """What other contexts of the registry know of ids, in words; empty if nothing, or if srfix may not ask."""
    from srfix.recovery.facts.survey import known_schema
    from srfix.serde.errors import RegistryError

    ids_unknown = tuple(unknown)
    own = context.registry.context_of(subject)
    try:
        other_contexts = sorted({split_context(name)[0] for name in context.registry.subjects(deleted=True)} - {own})
    except RegistryError:
        return ""
    ids_by_context = {
        other: known
        for other in other_contexts
        if (known := [i for i in ids_unknown if known_schema(context.registry, i, other) is not None])
    }
    if not ids_by_context:
        return ""
    ids_in_words = "; ".join(f"{foreign(other)}: {', '.join(map(str, ids))}" for other, ids in ids_by_context.items())
    return (
        f" Other contexts of this registry know ids with these numbers ({ids_in_words}). If the producers and the "
        "application use such a context, this finding is wrong. Then add the context to --registry, as in their address: "
        "/contexts/NAME."
    )


def _doubt(facts: StoreFacts, role: RoleFacts) -> str:
    if role.role is not Role.KEY or facts.keys is None or facts.keys.is_certain:
        return ""
    return (
        " There is a key subject, but srfix saw no proof in the keys that a schema registry serializer wrote them. "
        f"If the keys are in another format, nothing is wrong with them, and {role.subject} is left over."
    )


def find_of_topic(request: TopicRequest) -> Iterator[TopicFinding]:
    """At most one finding of a topic's keys or values: ids and GUIDs that the registry does not know."""
    from srfix.recovery.facts.topics import Trouble

    answer = request.answer
    unknown = [asked_id for asked_id in answer.ids if asked_id.trouble is Trouble.UNKNOWN_ID]
    guids = answer.unknown_guids
    if not unknown and not guids:
        return
    met = [asked_id for asked_id in unknown if asked_id.standing.is_met]
    reported_ids = met or unknown
    parts = [request.in_words([asked_id.fault for asked_id in reported_ids])] if reported_ids else []
    if guids:
        parts.append(f"the GUID{'s' if len(guids) > 1 else ''} {listed(guids, most=MOST_PLACES)}")
    yield request.finding(
        CODE,
        severity=Severity.BROKEN if met or guids else Severity.NOTE,
        schema_ids=tuple(asked_id.fault for asked_id in reported_ids),
        explanation=(
            f"{capitalized(answer.role.value)}s of topic {request.topic} carry {' and '.join(parts)}, which the "
            "registry does not know (40403). No reader can decode these records, whatever subject it asks."
        ),
        next_step=(
            "Check that --registry is the registry that the producers use. A mirrored topic has the ids of its "
            "source's registry. If the registry is right, bring the schemas back under their old ids. srfix cannot "
            "register a schema that it cannot read."
        ),
    )


CHECK: Final = Check(
    code=CODE,
    title="Schema ids in the topic that the registry does not know at all",
    severity="broken",
    meaning="Records name a schema that the registry does not have (40403 for the id itself). No reader can decode "
    "them, whatever subject it asks. A registration under another subject does not help, because there is no schema "
    "to register.",
    cause="Somebody hard-deleted the last subject that held the id. Or the registry was newly set up, or restored "
    "from an older backup. Or the records were mirrored from a cluster with another registry.",
    detection="srfix fetches each id in the records from the registry.",
    remedy="Find the schema (a backup of the _schemas topic, the producer's code, another registry) and register it "
    "under its old id in IMPORT mode. First check that --registry is the registry that the producers use.",
    find=check,
    find_of_topic=find_of_topic,
    advice=Advice(do_not=keep_the_state),
    data="no reader can decode these rows until the registry has their schemas again",
)
