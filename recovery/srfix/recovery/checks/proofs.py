"""What census, rows on disk and evidence prove of a store: the ids at fault, absent ids, its source; also in words."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from srfix.recovery.findings import IdAtFault, PartitionAtFault, is_conclusive
from srfix.recovery.ids_in_words import MOST_NAMED, listed
from srfix.serde.printable import counted
from srfix.serde.subjects.names import Role, split_context

if TYPE_CHECKING:
    from srfix.recovery.census.interface import Census
    from srfix.recovery.facts.reader import CheckContext
    from srfix.recovery.facts.stores import RoleFacts, StoreFacts, StoreRows
    from srfix.serde.subjects.names import Subject
    from srfix.serde.wire import SchemaId


def answered_through(asked: Subject, answered: Subject) -> str:
    """Why a look-up under one subject was answered from another, and what ends this."""
    context, name = split_context(answered)
    if name == split_context(asked)[1]:
        return f"answered from another context ({answered}); this ends when the versions in {context} are deleted"
    return f"answered through an alias of {answered}; this ends when the alias is removed from the configuration"


def at_fault(census: Census, role: Role, ids: Iterable[SchemaId]) -> tuple[IdAtFault, ...]:
    faults = []
    for schema_id in sorted(ids):
        counts = [
            (partition.partition, count)
            for partition in census.partitions
            for count in partition.of(role).ids
            if count.schema_id == schema_id
        ]
        live_keys = [count.live_keys for _partition, count in counts if count.live_keys is not None]
        faults.append(
            IdAtFault(
                schema_id=schema_id,
                live_keys=sum(live_keys) if live_keys else None,
                records=sum(count.records for _partition, count in counts),
                partitions=tuple(
                    PartitionAtFault(
                        partition=partition,
                        live_keys=count.live_keys,
                        pending_keys=count.pending_keys,
                        first_offset=count.first_offset,
                        last_offset=count.last_offset,
                    )
                    for partition, count in counts
                ),
                is_partial=census.is_partial,
            )
        )
    return tuple(faults)


def in_words(faults: Iterable[IdAtFault]) -> str:
    """`schema id 1 (3 live keys: 2 in partition 0, 1 in partition 2)`, joined; with what a partial census leaves open."""
    listed_faults = tuple(faults)
    words = joined([f"schema id {fault.schema_id} ({keys_in_words(fault)})" for fault in listed_faults])
    if any(fault.is_partial for fault in listed_faults):
        words += (
            "; srfix did not read the topic to its end, so these are the keys of the records that it read. Later "
            "records may add keys, or replace some of these"
        )
    return words


def joined(ids: Sequence[str], *, most: int = MOST_NAMED) -> str:
    """Ids with what is said of each; those beyond a number are only counted."""
    more = [f"{len(ids) - most:,} more schema ids"] if len(ids) > most else []
    return "; ".join([*ids[:most], *more])


def keys_in_words(fault: IdAtFault) -> str:
    """The live keys of one id, partition by partition; "at least", if the topic was not read to its end."""
    least = "at least " if fault.is_partial else ""
    pending = sum(partition.pending_keys for partition in fault.partitions)
    uncommitted = f"{least}{_keys(pending)} not yet committed" if pending else ""
    if fault.live_keys is None:
        return (
            "a restore loads nothing yet, because the group has no committed offset there; "
            f"{least}{_records(fault.records)} in the log"
        )
    if not fault.live_keys:
        return uncommitted or ("no live key so far" if fault.is_partial else "no live key")
    places = ", ".join(
        f"{partition.live_keys} in partition {partition.partition}"
        for partition in fault.partitions
        if partition.live_keys
    )
    return f"{least}{_keys(fault.live_keys, 'live ')}: {places}" + (f"; {uncommitted}" if uncommitted else "")


def _keys(count: int, kind: str = "") -> str:
    return f"1 {kind}key" if count == 1 else f"{count} {kind}keys"


def _records(count: int) -> str:
    return "1 record" if count == 1 else f"{count} records"


def prove_absent(facts: StoreFacts, role: RoleFacts, ids: Collection[SchemaId]) -> bool:
    """True if every row was read, and none has such an id; never for a global store: its first start restores."""
    rows = facts.rows
    return (
        rows is not None
        and bool(rows.ids(role.role))  # else the rows have a format in which srfix sees no ids
        and facts.source is not None
        and not facts.is_global
        and rows.is_whole
        and not rows.guids.get(role.role)  # srfix does not know the ids of such rows
        and rows.ids(role.role).isdisjoint(ids)
    )


def carried(facts: StoreFacts, role: RoleFacts, ids: Collection[SchemaId]) -> tuple[SchemaId, ...]:
    return () if facts.rows is None else tuple(sorted(facts.rows.ids(role.role).intersection(ids)))


def rows_in_words(rows: StoreRows, role: Role, ids: Collection[SchemaId]) -> str:
    """`schema id 1 (2 rows, in the store of partition 0); schema id 2 (1 row, …)`."""
    return joined([f"schema id {schema_id} ({_rows_of(rows, role, schema_id)})" for schema_id in sorted(ids)])


def _rows_of(rows: StoreRows, role: Role, schema_id: SchemaId) -> str:
    number = counted(rows.schema_ids.get(role, {}).get(schema_id, 0), "row")
    places = rows.found_in.get(role, {}).get(schema_id, ())
    if not places:
        return number
    return f"{number}, in the store of {'partition' if len(places) == 1 else 'partitions'} {listed(places)}"


def read_in_words(rows: StoreRows) -> str:
    number = counted(rows.rows, "row")
    if not rows.partitions:
        return number
    return f"{number}, of {'partition' if len(rows.partitions) == 1 else 'partitions'} {listed(rows.partitions)}"


def is_certain(facts: StoreFacts) -> bool:
    """True if a conclusive piece of evidence names the source: a topology, a state directory, ksqlDB, or the person."""
    return facts.source is not None and is_conclusive(facts.evidence, facts.source.topic)


def is_certain_role(facts: StoreFacts, role: RoleFacts) -> bool:
    """True if the store's serde of this role certainly asks a registry: it has a phantom subject, and the keys fit."""
    if not role.state.versions:
        return False
    return role.role is Role.VALUE or (facts.keys is not None and facts.keys.is_certain)


def make_certain(facts: StoreFacts, context: CheckContext) -> str:
    store = facts.store
    topic = facts.source.topic if facts.source is not None else "TOPIC"
    again = context.command_line.quoted(
        "diagnose",
        *store.options,
        *("--source", f"{store.application}/{store.name}={topic}"),
    )
    return (
        f"No evidence proves that store {store.name} restores from topic {topic}. If the store had no logging, srfix would "
        "see the same (SRF007). Find the store's topic in Topology.describe(), with EXPLAIN in ksqlDB, or in the code. If the "
        f"store does restore from topic {topic}, run {again}."
    )
