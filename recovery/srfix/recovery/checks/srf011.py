"""SRF011: ids in the topic that the registry does not know at all. Registration repairs nothing here."""

from __future__ import annotations

from collections.abc import Iterator

from srfix.recovery.checks._counting import at_fault, in_words, restorable_ids
from srfix.recovery.checks.interface import CheckContext
from srfix.recovery.findings import Finding, Severity, Source
from srfix.recovery.stores import RoleFacts, StoreFacts
from srfix.serde.subjects import Role

__all__ = ["CODE", "check"]

CODE = "SRF011"


def check(facts: StoreFacts, context: CheckContext) -> Iterator[Finding]:
    """One finding per role with unknown ids."""
    if facts.source is None or facts.census is None:
        return
    for role in facts.roles.values():
        unknown = tuple(
            schema_id
            for schema_id in restorable_ids(facts.census, role.role)
            if not role.memberships[schema_id].is_known
        )
        if not unknown:
            continue
        faults = at_fault(facts.census, role.role, unknown)
        source_subject = facts.store.source_subject(facts.source.topic, role.role)
        yield Finding(
            code=CODE,
            severity=Severity.BROKEN,
            application=facts.store.application,
            store=facts.store.name,
            role=role.role,
            subject=source_subject,
            source=Source(topic=facts.source.topic, subject=source_subject),
            schema_ids=faults,
            registered_ids=role.state.schema_ids,
            evidence=facts.evidence,
            explanation=f"Records of topic {facts.source.topic} carry schema ids that this registry does not know: "
            f"{in_words(faults)}. No reader can read them, whatever the subject. Either this is not the registry that their "
            "producer used, or the schemas were hard-deleted." + _doubt(facts, role),
            next="Check --registry against the producer's configuration. If the schemas were hard-deleted, restore them from "
            "a backup of the _schemas topic or of the producer's build with their old ids; srfix cannot register what it "
            "cannot read.",
            repairable=False,
        )


def _doubt(facts: StoreFacts, role: RoleFacts) -> str:
    """What the keys that were read leave open; empty for values, and where nothing does."""
    if role.role is not Role.KEY or facts.keys is None or facts.keys.is_certain:
        return ""
    return (
        f" A key subject stands, but the keys that were read do not show that a schema registry serializer wrote them: if "
        f"they are of another format, nothing is wrong with them, and {role.subject} is left over."
    )
