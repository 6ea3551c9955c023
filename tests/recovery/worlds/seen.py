"""The facts about a store that can be known from disk, topologies or commits: the evidence, not the truth."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile

from tests.recovery.worlds.families import PRODUCED
from tests.recovery.worlds.schemas import LOST, record_name
from tests.recovery.worlds.staged import StagedWorld
from tests.recovery.worlds.world import (
    GUID,
    METADATA_FROM_3_3,
    UNFRAMED,
    DiskRow,
    Kind,
    SubjectSetup,
    TrueStore,
    World,
)


@dataclass(frozen=True, slots=True)
class OnDisk:
    """The rows of a store that a person gave."""

    rows: tuple[DiskRow, ...]
    is_whole: bool | None
    """True if an id that no row carries is not in the store; None where that is a matter of taste: the directory is not
    locked, but its application runs, perhaps elsewhere; or no row is seen at all, the
    checkpoint lags, as after a kill of some versions, or nothing is restored of a partition that is absent."""
    is_in_use: bool
    """True if the directory is locked: rows that are not flushed are not seen."""


def on_disk(world: World, store: TrueStore) -> OnDisk | None:
    """None if the person gave no database of the store."""
    disk = world.disk.get(f"{store.application}/{store.name}")
    if disk is None or store.application not in world.state_of:
        return None
    is_in_use = store.application in world.in_use
    setup = world.topics.get(store.topic or "")
    group = world.groups.get(store.application)
    numbers = (
        {0} if store.kind is Kind.GLOBAL else set(disk.partitions) if setup is None else set(range(len(setup.logs)))
    )
    absent = numbers - set(disk.partitions)
    is_whole: bool | None = not is_in_use and not absent
    if absent and not is_in_use and not any(_restores(world, store, number) for number in absent):
        is_whole = None
    rows = tuple(row for number in sorted(disk.partitions) for row in disk.partitions[number])
    is_behind = world.layouts.get(store.application) in ("behind", "died")
    # there is no offset with which to compare the rows of such a partition
    if store.kind is not Kind.GLOBAL and setup is not None:
        commits = {} if group is None else group.commits
        limits = [(commits.get((store.topic or "", n), 0), log.end) for n, log in enumerate(setup.logs)]
        # after the end: the topic was created again since
        is_behind = is_behind or not all(0 < limit <= end for limit, end in limits)
    if is_whole and (not rows or is_behind or (group is not None and group.client_ids)):
        is_whole = None
    return OnDisk(rows=rows, is_whole=is_whole, is_in_use=is_in_use)


def _restores(world: World, store: TrueStore, partition: int) -> bool:
    """True if a restore loads anything of a partition, so far as offsets say."""
    group = world.groups.get(store.application)
    log = world.topics[store.topic or ""].logs[partition]
    limit = 0 if group is None else group.commits.get((store.topic or "", partition), 0)
    return any(record.offset < limit for record in log.records)


def row_ids(staged: StagedWorld, seen: OnDisk, role: str) -> set[int]:
    """The ids that the rows carry, lost ones too."""
    names = {row.value if role == "value" else row.key.schema or "" for row in seen.rows}
    return {staged.ids[name] for name in names if name in staged.ids or name in LOST}


def is_told_global(world: World, store: TrueStore) -> bool:
    """True if a topology or a state directory shows a global store."""
    return store.kind is Kind.GLOBAL and store.application in {*world.topology_of, *world.state_of}


def is_known_global(world: World, store: TrueStore) -> bool:
    """True if a topology or a directory shows it, or if the application has committed other topics and not this one."""
    return store.kind is Kind.GLOBAL and (is_told_global(world, store) or _reads_others(world, store))


def looks_global(world: World, store: TrueStore) -> bool:
    """True for a table, or a store without logging, whose application has already read other topics, but not the
    store's own.
    """
    return (store.kind is Kind.TABLE or store.fed_by is not None) and _reads_others(world, store)


def _reads_others(world: World, store: TrueStore) -> bool:
    group = world.groups.get(store.application)
    read = {topic for topic, _partition in group.commits} if group is not None else set()
    return bool(read) and (store.topic or store.fed_by) not in read


def asks_source(world: World, store: TrueStore) -> bool | None:
    """True if Kafka Streams 2.7 or later is said to run, or its commits show it; None if it runs, but nothing shows it."""
    group = world.groups.get(store.application)
    if world.is_upgraded or (group is not None and group.commits and group.metadata == METADATA_FROM_3_3):
        return True
    return None if world.runs_newer(store.application) else False


def is_shown_newer(world: World, store: TrueStore) -> bool:
    """True if that tells, or the store's own schema stands under its source's subject, no record may carry it, and no other
    application may have put it there: one that reads the topic, or commits nothing, as with global tables alone, or of which
    the same schema is left. One that stands first there may be a producer's; and where the phantom subject holds more than the
    source's, an older Streams has written since.
    """
    phantom = world.subjects.get(world.table_subject(store, "value"), SubjectSetup(())).versions
    own = [version.schema for version in phantom]
    held = world.subjects.get(f"{store.topic}-value", SubjectSetup(())).versions
    added = {version.schema for version in held[1:] if not version.deleted} - PRODUCED
    setup = world.topics.get(store.topic or "")
    in_log = {record.value for log in (setup.logs if setup else ()) for record in log.records}
    # Later ones may be a repair's copies; and if a repair has copied all earlier ones, this one may be a copy, too.
    is_added = bool(own) and own[0] in added
    before = (
        {version.schema for version in takewhile(lambda version: version.schema != own[0], held)} if is_added else set()
    )
    is_ksqldbs = record_name(own[0]) == "KsqlDataSourceSchema" if own else False
    is_ksqldbs = is_ksqldbs and not any(record_name(value) == "KsqlDataSourceSchema" for value in in_log if value)
    is_added = is_added and (is_ksqldbs or bool((before & in_log) - {*own}))
    is_added = is_added and {v.schema for v in phantom if not v.deleted} <= {version.schema for version in held}
    handed_over = {*world.topology_of, *world.state_of}
    others = [
        group
        for name, group in world.groups.items()
        if name != store.application and (group.has_signs_of_streams or name in handed_over)
    ]
    is_alone = not any(
        not group.commits or any(topic == store.topic for topic, _partition in group.commits) for group in others
    )
    is_alone = is_alone and not any(
        own and own[0] in {version.schema for version in setup.versions[:1]}
        for name, setup in world.subjects.items()
        if name.endswith("-changelog-value") and not name.startswith(f"{store.application}-")
    )
    is_told = GUID not in in_log and world.lists_groups
    return asks_source(world, store) is True or (is_added and is_alone and is_told)


def may_hold_lost(world: World, store: TrueStore, topic: str) -> bool:
    """True if nobody can tell a store that nothing restores from a table of a topic: its application has committed the topic,
    and what the records said is lost with their schemas, so that no field of the store's speaks for or against it.
    """
    group = world.groups.get(store.application)
    is_read = group is not None and any(name == topic for name, _partition in group.commits)
    is_told = store.is_told_by_its_name or store.application in {*world.topology_of, *world.state_of}
    if store.topic is not None or is_told or not is_read or topic not in world.topics:
        return False
    values = {record.value for log in world.topics[topic].logs for record in log.records} - {None, UNFRAMED, GUID}
    return bool(values) and values <= LOST.keys() and f"{topic}-value" not in world.subjects


def is_untold(world: World, store: TrueStore) -> bool:
    """True if no version is given, and neither of the store's subjects exists: Kafka Streams from 2.7 on leaves the same.

    ksqlDB's serdes ask for them on every version.
    """
    subjects = (world.table_subject(store, role) for role in ("key", "value"))
    is_of_ksqldb = store.application.startswith("_confluent-ksql-")
    return not world.is_upgraded and not is_of_ksqldb and not any(subject in world.subjects for subject in subjects)


def is_named(world: World, store: TrueStore) -> bool:
    """True if a person names the store's source."""
    return not {store.name, f"{store.application}/{store.name}"}.isdisjoint(world.sources)


def lives(world: World, application: str) -> bool:
    """True if a group with offsets and with signs of Kafka Streams goes by that name."""
    group = world.groups.get(application)
    return group is not None and bool(group.commits) and group.has_signs_of_streams
