"""SRF013: live rows that are not framed, or whose body does not decode with the writer schema of their id.

Processing may skip them; a restore copies them raw (KAFKA-8037).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Final

from srfix.recovery.checks.interface import Advice, Check, keep_the_state
from srfix.recovery.checks.proofs import is_certain, is_certain_role, make_certain
from srfix.recovery.checks.topic_findings import MOST_PLACES, TopicFinding, TopicRequest
from srfix.recovery.commands import positional
from srfix.recovery.findings import Finding, IdAtFault, PartitionAtFault, Severity
from srfix.serde.printable import counted
from srfix.serde.subjects.names import Role

if TYPE_CHECKING:
    from srfix.recovery.census.interface import Census
    from srfix.recovery.commands import CommandLine
    from srfix.recovery.facts.bodies import Bodies, UndecodableRows
    from srfix.recovery.facts.reader import CheckContext
    from srfix.recovery.facts.stores import RoleFacts, StoreFacts
    from srfix.serde.subjects.names import Topic
    from srfix.serde.windowed import WindowKind

CODE = "SRF013"


def check(facts: StoreFacts, context: CheckContext) -> Iterator[Finding]:
    """One finding per role with such rows. Keys without an id give none: Streams compares and never reads them."""
    if facts.source is None or facts.census is None:
        return
    for role in facts.roles.values():
        bodies = facts.bodies.get(role.role)
        undecodable = bodies.undecodable if bodies is not None else ()
        unframed = tuple(_unframed(facts, role))
        sentences = [*unframed, *_undecodable(facts, role, bodies)]
        if not sentences:
            continue
        ignored = bool(undecodable) and all(rows.is_only_too_long for rows in undecodable) and len(sentences) == 1
        yield facts.finding(
            CODE,
            role.role,
            severity=Severity.SILENT if ignored else Severity.BROKEN,
            schema_ids=_at_fault(undecodable, is_partial=bodies is None or not bodies.is_whole),
            explanation=" ".join((*sentences, _consequence(facts, ignored=ignored))),
            next_step=_next(facts, role, undecodable, context),
        )


def _unframed(facts: StoreFacts, role: RoleFacts) -> Iterator[str]:
    if facts.census is None or role.role is Role.KEY:
        return
    places = _unframed_places(facts.census, Role.VALUE)
    if places:
        total, where = sum(live for _partition, live, _first in places), _places_in_words(places)
        yield (
            f"{counted(total, 'live key')} of topic {facts.census.topic} {'has' if total == 1 else 'have'} a value that no "
            f"schema registry serializer framed: {where}."
        )


def _unframed_places(census: Census, role: Role) -> list[tuple[int, int, int]]:
    """Partitions, each with the number of live keys that have such a payload, and the offset of the first one."""
    return [
        (partition.partition, half.live_unframed_keys, half.first_unframed_offset or 0)
        for partition in census.partitions
        if (half := partition.of(role)).live_unframed_keys
    ]


def _places_in_words(places: Iterable[tuple[int, int, int]]) -> str:
    return ", ".join(f"{live} in partition {number} (from offset {first} on)" for number, live, first in places)


def _undecodable(facts: StoreFacts, role: RoleFacts, bodies: Bodies | None) -> Iterator[str]:
    if facts.census is None or bodies is None or not bodies.undecodable:
        return
    total = sum(rows.keys for rows in bodies.undecodable)
    half = role.role.value
    sentence = (
        f"{counted(total, 'live key')} of topic {facts.census.topic} {'has' if total == 1 else 'have'} a {half} whose body "
        f"does not decode with the schema of its id: {'; '.join(map(_place, bodies.undecodable))}."
    )
    if not bodies.is_whole:
        which = "the newest record of each schema id and partition" if bodies.newest_only else "a part of the live keys"
        sentence += (
            f" srfix decoded only {which}, {bodies.decoded} of {counted(bodies.live_keys, 'live key')}, so there "
            "may be more such rows (--decode-values decodes all)."
        )
    yield sentence


def _place(rows: UndecodableRows) -> str:
    places = f"offset {rows.first_offset}"
    if rows.keys > 1:
        places = f"offsets {rows.first_offset} to {rows.last_offset}"
    reason = rows.reason.rstrip(".")
    return f"{rows.keys} in partition {rows.partition}, schema id {rows.schema_id}, {places} ({reason})"


def _consequence(facts: StoreFacts, *, ignored: bool) -> str:
    store = facts.store.name
    if ignored:
        return (
            "A decoder such as Java's ignores bytes after the last field, so it reads these records without an "
            "error. But the values that it reads may be wrong. A restore copies the records unchanged into store "
            f"{store} (KAFKA-8037)."
        )
    return (
        "While the application processes records, an exception handler may skip such a record. But a restore "
        f"copies the record unchanged into store {store} (KAFKA-8037), and the first read of the row fails."
    )


def _next(facts: StoreFacts, role: RoleFacts, undecodable: tuple[UndecodableRows, ...], context: CheckContext) -> str:
    """The advice; to rewrite or delete rows only if srfix decoded the bodies, and role and topic are beyond doubt."""
    topic = facts.census.topic if facts.census is not None else ""
    see = f"No registration helps. Look at the first such record with {_look(facts, role, undecodable, context)}."
    who = f"Ask the producer of topic {topic} which serializer writes its {role.role.value}s"
    why = "."
    if not undecodable:
        why = ": the producer may write another format on purpose, and the store may use the wrong serde."
    elif not is_certain_role(facts, role):
        why = ": only the bytes suggest that a schema registry serializer writes them; srfix has no other evidence."
    if not is_certain(facts):
        return f"{see} {who}{why} Change nothing in topic {topic} yet. {make_certain(facts, context)}"
    if facts.is_global and not facts.is_told_global:
        why = (
            f". Also check whether store {facts.store.name} restores from this topic at all. Its group "
            f"{facts.store.application} has no committed offsets there; this is normal for a global table."
        )
        return f"{see} {who}{why}"
    if not undecodable or not is_certain_role(facts, role):
        return f"{see} {who}{why}"
    then = (
        f"Then let {facts.store.application} process the new records, until its committed offsets are higher than the "
        "offsets of these records."
    )
    again = (
        "the rows again under keys that decode, and a tombstone for each of the damaged keys"
        if role.role is Role.KEY
        else "the same keys again with valid values (or a tombstone, if the row is not wanted)"
    )
    return f"{see} {who}. Only if the records are damaged: write {again}, to topic {topic}. {then}"


def _look(facts: StoreFacts, role: RoleFacts, undecodable: tuple[UndecodableRows, ...], context: CheckContext) -> str:
    census = facts.census
    assert census is not None
    window = facts.keys.window if facts.keys is not None and role.role is Role.KEY else None
    unframed = ((partition, first) for partition, _live, first in _unframed_places(census, Role.VALUE))
    place = next(chain(((rows.partition, rows.first_offset) for rows in undecodable), unframed))
    return _decode(context.command_line, census.topic, role.role, place, window)


def _decode(
    command_line: CommandLine, topic: Topic, role: Role, place: tuple[int, int], window: WindowKind | None = None
) -> str:
    partition, offset = place
    return command_line.quoted(
        "decode",
        *("--partition", str(partition), "--from-offset", str(offset), "--max-records", "1"),
        *(("--role", "key") if role is Role.KEY else ()),
        *(("--window", window.value) if window is not None else ()),
        *positional(topic),
    )


def _at_fault(undecodable: tuple[UndecodableRows, ...], *, is_partial: bool) -> tuple[IdAtFault, ...]:
    return tuple(
        IdAtFault(
            schema_id=schema_id,
            live_keys=sum(rows.keys for rows in undecodable if rows.schema_id == schema_id),
            records=sum(rows.keys for rows in undecodable if rows.schema_id == schema_id),
            partitions=tuple(
                PartitionAtFault(
                    partition=rows.partition,
                    live_keys=rows.keys,
                    pending_keys=0,
                    first_offset=rows.first_offset,
                    last_offset=rows.last_offset,
                )
                for rows in undecodable
                if rows.schema_id == schema_id
            ),
            is_partial=is_partial,
        )
        for schema_id in sorted({rows.schema_id for rows in undecodable})
    )


def find_of_topic(request: TopicRequest) -> Iterator[TopicFinding]:
    """At most one finding of a topic's keys or values: unframed beside framed ones, and bodies that do not decode."""
    topic, answer, bodies = request.topic, request.answer, request.bodies
    sentences, faults, first = [], tuple[IdAtFault, ...](), None
    unframed = _unframed_places(request.answers.census, answer.role)
    if unframed and answer.role is Role.VALUE and answer.framed:
        total = sum(count for _partition, count, _offset in unframed)
        first = unframed[0][0], unframed[0][2]
        names = "names" if total == 1 else "name"
        sentences.append(f"{counted(total, 'value')} of topic {topic} {names} no schema: {_places_in_words(unframed)}.")
    undecodable = () if bodies is None else bodies.undecodable
    if undecodable:
        first = undecodable[0].partition, undecodable[0].first_offset
        details = "; ".join(
            f"partition {rows.partition} offset {rows.first_offset}, schema id {rows.schema_id} ({rows.reason.rstrip('.')})"
            for rows in undecodable[:MOST_PLACES]
        )
        sentences.append(
            f"srfix decoded the newest {answer.role.value} of each schema id and partition. {len(undecodable)} "
            f"of them {'does' if len(undecodable) == 1 else 'do'} not decode with the schema of "
            f"{'its id' if len(undecodable) == 1 else 'their ids'}: {details}."
        )
        ids = {rows.schema_id for rows in undecodable}
        faults = tuple(asked_id.fault for asked_id in answer.ids if asked_id.schema_id in ids)
    if first is None:
        return
    look = _decode(request.command_line, topic, answer.role, first)
    yield request.finding(
        CODE,
        severity=Severity.BROKEN,
        schema_ids=faults,
        explanation=" ".join((*sentences, "The reader fails on them, or skips them.")),
        next_step=(
            f"No registration helps. Look at the first such record with {look}, and ask the topic's producer which "
            "serializer wrote it."
        ),
    )


CHECK: Final = Check(
    code=CODE,
    title="Live records that are not framed, or do not decode",
    severity="broken",
    meaning="Values have no magic byte, or a body that does not fit their schema. While the application processes "
    "records, a deserialization exception handler can skip them. A restore does not look at them: it copies them into "
    "the store, and the first read fails.",
    cause="A producer without a registry serializer. A restore checks nothing (KAFKA-8037, still open).",
    detection="srfix counts live keys with unframed values. It decodes the newest live record of each schema id and "
    "partition with the schema of its id. With --decode-values it decodes all of them.",
    remedy=(
        "No registration helps. Look at such a row (srfix decode), and ask its producer. If the producer writes "
        "another format on purpose, the store uses the wrong serde.\nWrite new values only if both of these are true:\n- The "
        "body does not fit the schema that it names.\n- It is proven that the store restores from this topic.\nThen "
        "write the same keys again with valid values, or with a tombstone if the row is not wanted. Let the "
        "application process the new records, until its committed offsets are higher than the offsets of these records."
    ),
    find=check,
    find_of_topic=find_of_topic,
    advice=Advice(do_not=keep_the_state),
    data="not intact: some rows are not framed, or do not decode",
    partial="At least this many: not every row was decoded",
)
