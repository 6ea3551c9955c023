"""SRF010, pollution: a live version of the source's subject that is an internal schema, and that no record carries.

A put into a global store, or into a store that reuses its source topic, registers the reader's schema as a side effect.
Up to 2.6 it does so under the phantom subject, from Kafka Streams 2.7.0 on under the source's (seen on 2.7.0).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from srfix.recovery.checks.interface import Check
from srfix.recovery.findings import Finding, IdAtFault, Severity
from srfix.recovery.ids_in_words import named_ids
from srfix.serde.errors import SchemaError
from srfix.serde.printable import counted

if TYPE_CHECKING:
    from srfix.recovery.facts.reader import CheckContext
    from srfix.recovery.facts.stores import Membership, RoleFacts, StoreFacts
    from srfix.recovery.facts.subject_state import SubjectState
    from srfix.serde.wire import SchemaId

CODE = "SRF010"


def check(facts: StoreFacts, context: CheckContext) -> Iterator[Finding]:
    """One finding per role with such versions. None if some record was not counted, or does not carry its id itself."""
    if facts.source is None:
        return
    for role in facts.roles.values():
        internal = internal_versions(facts, role, context)
        if not internal:
            continue
        subject = facts.store.source_subject(facts.source.topic, role.role)
        is_sure = not any(may_be_producers(facts, role, i, context) for i in internal)
        yield facts.finding(
            CODE,
            role.role,
            severity=Severity.LITTER,
            subject=subject,
            schema_ids=tuple(IdAtFault(schema_id=schema_id) for schema_id in sorted(internal)),
            registered_ids=context.state_of(subject).schema_ids,
            explanation=_explanation(facts, subject, facts.source.topic, internal, is_sure=is_sure),
            next_step=_next(facts, internal),
        )


def may_be_producers(facts: StoreFacts, role: RoleFacts, schema_id: SchemaId, context: CheckContext) -> bool:
    """True if a producer may have registered it, too: where ksqlDB reads what ksqlDB wrote, their schemas are alike."""
    if facts.source is None or schema_id not in role.state.schema_ids:
        return True
    subject = facts.store.source_subject(facts.source.topic, role.role)
    carried = _ids_with_schema(role, () if facts.census is None else facts.census.ids(role.role))
    return _extends_a_record(role, carried, context.membership(subject, schema_id))


def internal_versions(facts: StoreFacts, role: RoleFacts, context: CheckContext) -> Mapping[SchemaId, str]:
    """The live ids under the source's subject that no record carries, with the reasons why they are internal; none if
    some record was not counted, or does not carry its id itself."""
    census = facts.census
    if facts.source is None or census is None or census.is_partial:
        return {}
    if any(partition.of(role.role).guids for partition in census.partitions):
        return {}
    carried = census.ids(role.role)
    subject = facts.store.source_subject(facts.source.topic, role.role)
    on_disk = frozenset() if facts.rows is None else facts.rows.ids(role.role)
    source_memberships = {
        i: context.membership(subject, i) for i in sorted({*role.state.schema_ids, *on_disk}.difference(carried))
    }
    if not any(m.is_known and m.error_code is None and m.answered_subject is None for m in source_memberships.values()):
        return {}
    source = context.state_of(subject)
    live = {version.schema_id for version in source.live}
    reasons = {i: _why_internal(facts, role, source, carried, m) for i, m in source_memberships.items() if i in live}
    return {i: why for i, why in reasons.items() if why is not None}


def _why_internal(
    facts: StoreFacts, role: RoleFacts, source: SubjectState, carried: Collection[SchemaId], membership: Membership
) -> str | None:
    from srfix.recovery.facts.stores import MARKS_OF_CONNECT, is_first_of_its_own, marks_in

    schema_id = membership.schema_id
    carried = _ids_with_schema(role, carried)
    # The producers' schemas come first, because a store puts nothing before it has read one of their records.
    is_first = source.versions[0].schema_id == schema_id
    before = {
        version.schema_id for version in takewhile(lambda version: version.schema_id != schema_id, source.versions)
    }
    are_there = any(i in source.schema_ids for i in carried)
    is_producers = before.isdisjoint(carried) if are_there else is_first and not carried
    if facts.rows is not None and not is_producers:
        rows = facts.rows.schema_ids.get(role.role, {}).get(schema_id, 0)
        if rows:
            return f"{counted(rows, 'row')} of the store {'carries' if rows == 1 else 'carry'} it on disk"
    if schema_id not in role.state.schema_ids:
        return None
    # After a repair the phantom subject begins with the source's own versions. Where ksqlDB reads records that ksqlDB
    # wrote, the store's own schema may be the producers' next one.
    is_own = not is_first and not _extends_a_record(role, carried, membership)
    if is_own and is_first_of_its_own(role.state, source, carried, schema_id):
        return f"it is the first version under {role.subject}, before any copy of the source's schemas"
    of_producers = [m.schema.text for i, m in role.memberships.items() if i in carried and m.schema is not None]
    if of_producers and membership.schema is not None and not is_producers:
        theirs = frozenset().union(*map(marks_in, of_producers))
        marks = (marks_in(membership.schema.text) & MARKS_OF_CONNECT) - theirs
        if marks:
            named = ", ".join(sorted(marks))
            return f"{role.subject} holds it, too, and the schema has a mark of Connect's converter or ksqlDB: {named}"
    return None


def _ids_with_schema(role: RoleFacts, carried: Collection[SchemaId]) -> Collection[SchemaId]:
    return [i for i in carried if i in role.memberships and role.memberships[i].is_known]


def _extends_a_record(role: RoleFacts, carried: Collection[SchemaId], own: Membership) -> bool:
    """True if the schema has the same name as a record's schema, and all fields of that schema."""
    name, fields = _record(own)
    records = (_record(role.memberships[i]) for i in carried)
    return any(name is not None and name == of_record and theirs <= fields for of_record, theirs in records)


def _record(membership: Membership) -> tuple[str | None, frozenset[str]]:
    from srfix.serde.formats.table import field_names, record_name

    if membership.schema is None or membership.schema.schema_type != "AVRO":
        return None, frozenset()
    try:
        return record_name(membership.schema), frozenset(field_names(membership.schema))
    except SchemaError:  # it refers to others
        return None, frozenset()


def _explanation(
    facts: StoreFacts, subject: str, topic: str, internal: Mapping[SchemaId, str], *, is_sure: bool
) -> str:
    reasons = "; ".join(f"schema id {schema_id}: {why}" for schema_id, why in internal.items())
    which = "this version" if len(internal) == 1 else "these versions"
    return (
        f"{subject} holds {'a version' if len(internal) == 1 else 'versions'} that no record of topic {topic} "
        f"carries. {'The evidence says that the' if is_sure else 'The'} serde of {facts.store.in_words}"
        f"{', and not a producer, registered' if is_sure else ' writes with'} {which} ({reasons}). "
        "When a producer registers its next schema, the registry checks that schema against such a version, too. "
        "Readers that take the latest version may get it."
    ) + (
        ""
        if is_sure
        else (
            " But perhaps a producer has registered the version and has not written with it yet, or all records with it "
            "are gone. srfix cannot tell these cases apart."
        )
    )


def _next(facts: StoreFacts, internal: Mapping[SchemaId, str]) -> str:
    first = (
        "first let the global table's application write the producers' schema. Otherwise the next put "
        "registers the version again"
        if facts.is_global
        else (
            "first give the store a filled changelog of its own and stop the reuse of the topic. Otherwise the next "
            "put registers the version again"
        )
    )
    return (
        f"Keep {named_ids(sorted(internal))} as long as a store may hold rows with such an id, because these rows cannot "
        f"be read without the schema. To remove it later, {first}. srfix plans no deletion here."
    )


CHECK: Final = Check(
    code=CODE,
    title="Pollution: the source subject holds an internal schema that no record uses",
    severity="litter",
    meaning=(
        "The source subject has a version that no producer registered: a store's serde did. The version counts when "
        "the registry checks the producers' next schema."
    ),
    cause=(
        "Kafka Streams 2.7.0 and later with a reused source topic or a global table. With these versions a write to "
        "the store registers the store's schema under the source's subject, no longer under the phantom subject."
    ),
    detection=(
        "The source subject has a live version that no record in the whole log carries. In addition, at least one of "
        "these is true:\n- Rows of the store on disk carry the id of this version.\n- The same schema is the first "
        "version of the phantom subject, older than any copy of the source's schemas there.\n- The phantom subject "
        "holds the same schema, and the schema has marks of Connect's converter or of ksqlDB that the records' own "
        "schemas do not have."
    ),
    remedy="Keep the version while a store may hold its id. Before you remove the version, stop the reuse of the "
    "source topic (topology.optimization).",
    find=check,
)
