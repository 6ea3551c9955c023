"""SRF013: live rows that are not framed, or whose body does not decode with the writer schema of their id.

Processing may skip them; a restore copies them raw (KAFKA-8037).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from srfix.recovery.bodies import Bodies, Misfit
from srfix.recovery.checks._certainty import is_certain, is_certain_role, make_certain
from srfix.recovery.checks.interface import CheckContext
from srfix.recovery.commands import positional
from srfix.recovery.findings import Finding, IdAtFault, PartitionAtFault, Severity, Source
from srfix.recovery.stores import RoleFacts, StoreFacts
from srfix.serde.subjects import Role

__all__ = ["CODE", "check"]

CODE = "SRF013"


def check(facts: StoreFacts, context: CheckContext) -> Iterator[Finding]:
    """One finding per role with such rows. Keys without an id are compared, not read: nothing is said of them."""
    if facts.source is None or facts.census is None:
        return
    for role in facts.roles.values():
        bodies = facts.bodies.get(role.role)
        misfits = bodies.misfits if bodies is not None else ()
        unframed = tuple(_unframed(facts, role))
        told = [*unframed, *_undecodable(facts, role, bodies)]
        if not told:
            continue
        ignored = bool(misfits) and all(misfit.is_only_too_long for misfit in misfits) and len(told) == 1
        topic = facts.source.topic
        yield Finding(
            code=CODE,
            severity=Severity.SILENT if ignored else Severity.BROKEN,
            application=facts.store.application,
            store=facts.store.name,
            role=role.role,
            subject=role.subject,
            source=Source(topic=topic, subject=facts.store.source_subject(topic, role.role)),
            schema_ids=_at_fault(misfits, is_partial=bodies is None or not bodies.is_whole),
            registered_ids=role.state.schema_ids,
            evidence=facts.evidence,
            explanation=" ".join((*told, _consequence(facts, ignored=ignored))),
            next=_next(facts, role, misfits, context),
            repairable=False,
        )


def _unframed(facts: StoreFacts, role: RoleFacts) -> Iterator[str]:
    if facts.census is None or role.role is Role.KEY:
        return
    places = [
        (partition.partition, partition.values.live_unframed_keys, partition.values.first_unframed_offset)
        for partition in facts.census.partitions
        if partition.values.live_unframed_keys
    ]
    if places:
        total = sum(live or 0 for _partition, live, _first in places)
        where = ", ".join(f"{live} in partition {number} (from offset {first} on)" for number, live, first in places)
        yield (
            f"{total} live key(s) of topic {facts.census.topic} have a value that no schema registry serializer framed: "
            f"{where}."
        )


def _undecodable(facts: StoreFacts, role: RoleFacts, bodies: Bodies | None) -> Iterator[str]:
    if facts.census is None or bodies is None or not bodies.misfits:
        return
    total = sum(misfit.keys for misfit in bodies.misfits)
    whose = "of these keys" if role.role is Role.KEY else "of their values"
    sentence = (
        f"{total} live key(s) of topic {facts.census.topic} were found where the body {whose} does not decode with the "
        f"schema of the id before it: {'; '.join(map(_place, bodies.misfits))}."
    )
    if not bodies.is_whole:
        which = "the newest of each schema id and partition" if bodies.newest_only else "a part of them"
        sentence += (
            f" Only {which} was decoded, {bodies.decoded} of {bodies.live_keys} live key(s): there may be more "
            "(--decode-values decodes all)."
        )
    yield sentence


def _place(misfit: Misfit) -> str:
    places = f"offset {misfit.first_offset}"
    if misfit.keys > 1:
        places = f"offsets {misfit.first_offset} to {misfit.last_offset}"
    reason = misfit.reason.rstrip(".")
    return f"{misfit.keys} in partition {misfit.partition}, schema id {misfit.schema_id}, {places} ({reason})"


def _consequence(facts: StoreFacts, *, ignored: bool) -> str:
    store = facts.store.name
    if ignored:
        return (
            "A decoder that does not look behind the last field, as Java's, reads them all the same: what it makes of "
            f"them may be wrong without any error, and a restore copies them into store {store} as they are (KAFKA-8037)."
        )
    return (
        f"While processing, an exception handler may skip such a record; a restore copies it into store {store} as it is "
        "(KAFKA-8037), and the first read of the row fails."
    )


def _next(facts: StoreFacts, role: RoleFacts, misfits: tuple[Misfit, ...], context: CheckContext) -> str:
    """Advice that rewrites or deletes rows only where bodies were decoded and do not fit, in a role and from a topic of
    which nothing is in doubt; else a look at a row, and a question.
    """
    topic = facts.census.topic if facts.census is not None else ""
    see = f"No registration helps. See the first one with {_look(facts, role, misfits, context)}."
    who = f"Ask the producer of topic {topic} which serializer writes its {role.role.value}s"
    why = "."
    if not misfits:
        why = ": values of another format can be right there, and the store's serde wrong."
    elif not is_certain_role(facts, role):
        why = ": that they are a schema registry's was concluded from their bytes."
    if not is_certain(facts):
        return f"{see} {who}{why} Change nothing in topic {topic} yet. {make_certain(facts, context)}"
    if facts.is_global and not facts.is_told_global:
        why = f", and whether store {facts.store.name} restores from it at all: group {facts.store.application} has no "
        why += "committed offsets there, as that of a global table."
        return f"{see} {who}{why}"
    if not misfits or not is_certain_role(facts, role):
        return f"{see} {who}{why}"
    where = f"to topic {topic}, and let {facts.store.application} commit beyond them."
    again = (
        "the rows anew under keys that decode, and a tombstone for each of these keys"
        if role.role is Role.KEY
        else "the same keys again with valid values (or a tombstone, where the row is not wanted)"
    )
    return f"{see} {who}. Only if they are damaged: write {again}, {where}"


def _look(facts: StoreFacts, role: RoleFacts, misfits: tuple[Misfit, ...], context: CheckContext) -> str:
    """The command that shows the first of these records."""
    census = facts.census
    assert census is not None
    window = facts.keys.window if facts.keys is not None and role.role is Role.KEY else None
    unframed = (
        (p.partition, p.values.first_unframed_offset or 0) for p in census.partitions if p.values.live_unframed_keys
    )
    partition, offset = next(chain(((misfit.partition, misfit.first_offset) for misfit in misfits), unframed))
    return context.given.quoted(
        "decode",
        *("--partition", str(partition), "--from-offset", str(offset), "--max-records", "1"),
        *(("--role", "key") if role.role is Role.KEY else ()),
        *(("--window", window.value) if window is not None else ()),
        *positional(census.topic),
    )


def _at_fault(misfits: tuple[Misfit, ...], *, is_partial: bool) -> tuple[IdAtFault, ...]:
    """The ids before such bodies, with the numbers of these bodies alone."""
    return tuple(
        IdAtFault(
            schema_id=schema_id,
            live_keys=sum(misfit.keys for misfit in misfits if misfit.schema_id == schema_id),
            records=sum(misfit.keys for misfit in misfits if misfit.schema_id == schema_id),
            partitions=tuple(
                PartitionAtFault(
                    partition=misfit.partition,
                    live_keys=misfit.keys,
                    pending_keys=0,
                    first_offset=misfit.first_offset,
                    last_offset=misfit.last_offset,
                )
                for misfit in misfits
                if misfit.schema_id == schema_id
            ),
            is_partial=is_partial,
        )
        for schema_id in sorted({misfit.schema_id for misfit in misfits})
    )
