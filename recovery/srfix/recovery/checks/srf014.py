"""SRF014: an application's own rows, on disk or in a changelog topic, carry ids that the registry has lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from srfix.recovery.checks.interface import Advice, Check, keep_the_state
from srfix.recovery.checks.proofs import at_fault, in_words, is_certain, make_certain, rows_in_words
from srfix.recovery.checks.srf011 import known_elsewhere
from srfix.recovery.findings import Finding, IdAtFault, Severity
from srfix.serde.subjects.names import Role

if TYPE_CHECKING:
    from srfix.recovery.facts.applications import ChangelogFacts, LostIds
    from srfix.recovery.facts.reader import CheckContext
    from srfix.recovery.facts.stores import RoleFacts, StoreFacts
    from srfix.serde.wire import SchemaId

CODE = "SRF014"


def check(facts: StoreFacts, context: CheckContext) -> Iterator[Finding]:
    """One finding per role whose rows on disk carry ids unknown to the registry, except a restore's (SRF011)."""
    if facts.source is None or facts.census is None or facts.rows is None:
        return
    for role in facts.roles.values():
        if role.role is Role.KEY and not (facts.keys is not None and facts.keys.is_certain):
            continue
        ids = sorted(facts.rows.ids(role.role).difference(facts.census.restorable_ids(role.role)))
        lost = tuple(i for i in ids if not context.membership(role.subject, i).is_known)
        if lost:
            yield _of_store(facts, role, lost, context)


def _of_store(facts: StoreFacts, role: RoleFacts, lost: tuple[SchemaId, ...], context: CheckContext) -> Finding:
    topic = facts.source.topic if facts.source is not None else None
    words = "" if facts.rows is None else rows_in_words(facts.rows, role.role, lost)
    return facts.finding(
        CODE,
        role.role,
        severity=Severity.BROKEN,
        # The ids are in the store, not in the topic: no record and no partition has them.
        schema_ids=tuple(IdAtFault(schema_id=i) for i in lost),
        explanation=(
            f"Rows of {facts.store.in_words} on disk carry schema ids that this registry does not know: {words}. "
            f"A restore loads no record with these ids from topic {topic}, so the application probably wrote "
            "them itself. No reader can read these rows, whatever subject it asks. A registration under another "
            "subject does not help, because there is no schema to register. Perhaps this is not the registry that "
            "the application uses, or the schemas were hard-deleted. `srfix explain SRF014` lists the causes."
        )
        + known_elsewhere(lost, role.subject, context),
        next_step=(
            "Check --registry against the application's configuration. If the schemas were hard-deleted, bring "
            "each schema back under its old id, in mode IMPORT, from a backup of the _schemas topic or from the "
            f"application's code. Then the rows can be read again. {_rebuild(facts, context)}"
        ),
    )


def _rebuild(facts: StoreFacts, context: CheckContext) -> str:
    topic = facts.source.topic if facts.source is not None else None
    if not is_certain(facts):
        return f"Until then wipe nothing. {make_certain(facts, context)}"
    values = None if facts.source_configs is None else facts.source_configs.values
    policy = None if values is None else values.get("cleanup.policy")
    if policy != "compact":  # only compact, alone, keeps the latest record of each key for good
        known = (
            "srfix does not know the topic's cleanup.policy"
            if policy is None
            else f"The topic has cleanup.policy={policy}"
        )
        return (
            f"Wipe nothing: a restore cannot bring back a row if topic {topic} no longer holds its record. {known}, so "
            "retention may have deleted records."
        )
    return (
        f"Or rebuild the store from topic {topic}. A restore copies the topic's bytes, so wipe the state only after you "
        "have repaired the other findings of this store."
    )


def lost_in_changelog(facts: ChangelogFacts, context: CheckContext) -> Iterator[Finding]:
    """One finding per role: records of a changelog topic that a restore loads carry ids that the registry does not know."""
    for lost in facts.lost:
        faults = at_fault(facts.census, lost.role, lost.schema_ids)
        rest = context.command_line.quoted("scan", facts.topic)
        yield facts.finding(
            CODE,
            lost,
            faults,
            explanation=(
                f"Store {facts.store} of application {facts.application} restores from changelog topic "
                f"{facts.topic}. Records of this topic carry schema ids that this registry does not know: "
                f"{in_words(faults)}. The application itself wrote these ids. No reader can read these rows, "
                "whatever subject it asks. A registration under another subject does not help, because there is no "
                "schema to register. Perhaps this is not the registry that the application uses, or the schemas "
                f"were hard-deleted.{_doubt(lost)}"
            ),
            next_step=(
                f"Check --registry against the application's configuration; {rest} shows what the topic holds. If "
                "the schemas were hard-deleted, bring each schema back under its old id, in mode IMPORT, from a "
                "backup of the _schemas topic or from the application's code. Or rebuild the store from the "
                "application's inputs: stop the application, and run Kafka's application reset tool. It deletes "
                "the changelogs and resets the inputs."
            ),
        )


def _doubt(lost: LostIds) -> str:
    if lost.has_subject:
        return ""
    return (
        f" There is no subject {lost.subject}. Only the bytes suggest that a schema registry serializer wrote "
        "these values; srfix has no other evidence. If the values are in another format, nothing is wrong with them."
    )


CHECK: Final = Check(
    code=CODE,
    title="Schema ids in a store or a real changelog that the registry has lost",
    severity="broken",
    meaning="The same as SRF011, but in the application's own data: rows that the application wrote cannot be read.",
    cause="Probably somebody hard-deleted an internal subject while its rows were still there, or the registry was "
    "newly set up.",
    detection=(
        "srfix fetches the ids in the rows of the stores on disk (--state-dir) from the registry. If records of the "
        "source topic carry such an id, too, the finding is SRF011.\nsrfix also looks at changelog topics that exist: "
        "at the first and the newest records of each partition, in at most 50 topics, and at the rows of their stores "
        "on disk. It reads all records of a changelog if you give --changelogs, or if a row on disk carries a lost "
        "id. It looks at a changelog only if one of these is true:\n- The changelog has a subject.\n- The values of "
        "the changelog are framed beyond doubt.\nsrfix lists the changelogs that it did not read."
    ),
    remedy="Bring the schema back under its old id. Or rebuild the store from its inputs. srfix cannot register a "
    "schema that it cannot read.",
    find=check,
    find_of_changelog=lost_in_changelog,
    advice=Advice(do_not=keep_the_state),
    data="no reader can decode these rows until the registry has their schemas again",
)
