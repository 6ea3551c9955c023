"""Other parts of a world besides the incident: the relatives of the catalogue, and things that only look like them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Final

from tests.recovery.worlds.drawing import often, one, some
from tests.recovery.worlds.families import FAMILIES, PRODUCED
from tests.recovery.worlds.redpanda import in_redpanda
from tests.recovery.worlds.rows import rows_of
from tests.recovery.worlds.schemas import field_names, projection_of
from tests.recovery.worlds.world import (
    METADATA_FROM_3_3,
    Group,
    Join,
    Key,
    Kind,
    Log,
    Record,
    SubjectSetup,
    TopicSetup,
    Version,
    World,
    group_of_streams,
)

_COUNTS: Final = "Counts(page string, hits long)"
_KEY: Final = "Key(id long)"
_EMPTY: Final = TopicSetup((Log(0, 0, ()),))
_DELETE: Final = TopicSetup((Log(0, 0, ()),), "delete")

_SIGNS: Final = (
    "KSTREAM-AGGREGATE-STATE-STORE-0000000003-changelog-value",
    "KTABLE-REDUCE-STATE-STORE-0000000007-changelog-value",
    "by-key-repartition-value",
    "lookup-subscription-registration-topic-pk-key",
)
"""Subjects that also have a topic as long as the application is alive, or only stopped."""
_NO_SIGNS: Final = ("plans-store-changelog-value", "plans-store-changelog-key", "t-changelog-value")
"""Subjects that a table of a source topic leaves, too."""
_GONE: Final = ("retired", "oldbilling", "shop-old")


def with_relatives(dice: Random, world: World) -> World:
    """A world with some of these added."""
    world = _with_own_processors(dice, world)
    for application in sorted({s.application for s in world.truth if not s.application.startswith("_confluent-ksql-")}):
        if often(dice, 25):
            world = _renewed(dice, world, application)
    if often(dice, 18):
        world = _with_pollution(dice, world)
    world = _with_changelogs(dice, world)
    if often(dice, 14):
        world = _with_join(dice, world)
    if often(dice, 14):
        world = _with_gone(dice, world)
    for make in (
        some(dice, (_connect, _forced_changelog, _named_topology, _healthy_join), 0, 2) if often(dice, 14) else ()
    ):
        world = make(world)
    if often(dice, 12):
        world = _with_refused_writes(dice, world)
    if world.is_upgraded and often(dice, 30):
        world = replace(world, is_reprocessing=True)
    if not world.context and not world.mirror and not world.normalize and often(dice, 15):
        world = in_redpanda(dice, world)
    if often(dice, 18):
        world = _with_derived(dice, world)
    if often(dice, 60 if _told_by_disk(world) else 12):
        world = _with_state(dice, world)
    return _with_disk(dice, world) if world.state_of and often(dice, 85) else world


def _with_own_processors(dice: Random, world: World) -> World:
    stores = tuple(
        replace(store, has_own_processor=True) if store.kind is Kind.GLOBAL and often(dice, 35) else store
        for store in world.truth
    )
    return replace(world, truth=stores)


def _renewed(dice: Random, world: World, application: str) -> World:
    """An application that was wiped and upgraded to 2.7 or later: it registers its schemas under the source's subjects;
    or a new application, which never used other subjects.
    """
    subjects, is_new = dict(world.subjects), often(dice, 25)
    for store in (store for store in world.truth if store.application == application and store.topic in world.topics):
        for role in ("key", "value"):
            own = subjects.get(world.table_subject(store, role), SubjectSetup(())).versions
            source = f"{store.topic}-{role}"
            held = subjects.get(source, SubjectSetup(()))
            known = {version.schema for version in held.versions}
            added = tuple(Version(v.schema) for v in own if v.schema not in known and not v.deleted)
            if added:
                subjects[source] = replace(held, versions=(*held.versions, *added))
            if is_new:
                subjects.pop(world.table_subject(store, role), None)
    groups, group = dict(world.groups), world.groups.get(application)
    if group is not None and often(dice, 70):
        groups[application] = replace(group, metadata=METADATA_FROM_3_3)
    return replace(world, subjects=subjects, groups=groups, renewed=(*world.renewed, application))


def _with_pollution(dice: Random, world: World) -> World:
    """Kafka Streams from 2.7 on registered what it stores under `<source>-value` (facts: "Source-subject pollution")."""
    stores = [
        s
        for s in world.truth
        if s.topic in world.topics and f"{s.topic}-value" in world.subjects and s.application not in world.renewed
    ]
    if not stores:
        return world
    store = one(dice, stores)
    subject = f"{store.topic}-value"
    held = world.subjects[subject]
    phantom = world.subjects.get(f"{store.changelog}-value")
    lines = [version.schema for version in held.versions if version.schema in PRODUCED]
    if not lines:
        return world
    row = projection_of(lines, field_names(lines), "ksql")
    internal = phantom.versions[0].schema if phantom is not None and often(dice, 70) else row
    if internal in {version.schema for version in held.versions}:
        return world
    versions = (*held.versions, Version(internal, deleted=often(dice, 25)))
    world = replace(world, subjects={**world.subjects, subject: replace(held, versions=versions)})
    if often(dice, 20) and store.topic is not None:  # and somebody writes with it
        setup = world.topics[store.topic]
        log = setup.logs[0]
        model = next((record.key for record in log.records if record.key is not None), None)
        key = model or Key(0, store.key_format, _KEY if store.key_format.value == "avro" else None, store.window)
        used = replace(log, end=log.end + 1, records=(*log.records, Record(log.end, key, internal)))
        topics = {**world.topics, store.topic: replace(setup, logs=(used, *setup.logs[1:]))}
        world = replace(world, topics=topics)
    return world


def _with_changelogs(dice: Random, world: World) -> World:
    """Records in the changelogs that exist; some with an id that the registry lost."""
    topics: dict[str, TopicSetup] = dict(world.topics)
    for store in world.truth:
        subject = world.subjects.get(f"{store.changelog}-value")
        if store.changelog in topics and subject is not None and often(dice, 60):
            schema = "LostRow" if often(dice, 25) else subject.versions[-1].schema
            records = tuple(
                Record(at, Key(at), schema if at == 1 else subject.versions[-1].schema)
                for at in range(one(dice, (1, 2, 3)))
            )
            topics[store.changelog] = TopicSetup((Log(0, len(records), records),))
    return replace(world, topics=topics)


def _with_join(dice: Random, world: World) -> World:
    """A foreign-key join of an application, which the application still has or has lost."""
    applications = sorted({s.application for s in world.truth if s.kind is not Kind.TRANSIENT})
    if not applications:
        return world
    application = one(dice, applications)
    name = one(
        dice, ("KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000006-topic", "lookup-subscription-registration-topic")
    )
    group = world.groups.get(application)
    is_seen = group is not None and group.commits and group.has_signs_of_streams
    join = Join(application, f"{application}-{name}", is_living=not is_seen or often(dice, 50))
    return _joined(world, join)


def _joined(world: World, join: Join) -> World:
    topics: dict[str, TopicSetup] = {}
    if join.is_living:
        response = join.registration.replace("REGISTRATION", "RESPONSE").replace("registration", "response")
        store = f"{join.application}-KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE-0000000009-changelog"
        topics = {join.registration: _DELETE, response: _DELETE, store: _EMPTY}
    key, value = SubjectSetup((Version(_KEY),)), SubjectSetup((Version(_COUNTS),))
    subjects = {subject: value if subject.endswith("-value") else key for subject in join.subjects}
    by_design = join.subjects if join.is_living else ()
    return replace(
        world,
        topics={**world.topics, **topics},
        subjects={**world.subjects, **subjects},
        joins=(*world.joins, join),
        by_design=(*world.by_design, *by_design),
    )


def _with_gone(dice: Random, world: World) -> World:
    """An application that is gone for good."""
    name = one(dice, _GONE)
    left = [*(some(dice, _SIGNS, 1, 2) if often(dice, 60) else ()), *some(dice, _NO_SIGNS, 0, 2)] or [_NO_SIGNS[0]]
    subjects = {f"{name}-{end}": SubjectSetup((Version(_KEY if end.endswith("-key") else _COUNTS),)) for end in left}
    world = replace(world, subjects={**world.subjects, **subjects}, gone={name: tuple(subjects)})
    return replace(world, says_gone=(name,)) if often(dice, 30) else world


def _connect(world: World) -> World:
    """A Connect cluster with a sink."""
    topics = {f"connect-{name}": _EMPTY for name in ("configs", "offsets", "status")}
    commits = {(topic, 0): setup.logs[0].end for topic, setup in list(world.topics.items())[:1]}
    sink = Group(commits=commits, client_ids=("connector-consumer-jdbc-sink-0",), assignor="range")
    return replace(world, topics={**world.topics, **topics}, groups={**world.groups, "connect-jdbc-sink": sink})


def _forced_changelog(world: World) -> World:
    """A table of ksqlDB from 0.11 on: an identity `mapValues` gives it a changelog of its own."""
    return _surrounded(world, "_confluent-ksql-default_query_CTAS_FORCED_9", "KsqlTopic-Reduce")


def _named_topology(world: World) -> World:
    """Two named topologies of one application: `<application>-<topology>-<store>-changelog`."""
    world = _surrounded(world, "runtime", "by_user-KSTREAM-AGGREGATE-STATE-STORE-0000000002")
    return _surrounded(world, "runtime", "by_page-visits")


def _surrounded(world: World, application: str, store: str) -> World:
    changelog = f"{application}-{store}-changelog"
    records = tuple(Record(at, Key(at), _COUNTS) for at in range(3))
    subject = f"{changelog}-value"
    return replace(
        world,
        topics={**world.topics, changelog: TopicSetup((Log(0, 3, records),))},
        subjects={**world.subjects, subject: SubjectSetup((Version(_COUNTS),))},
        groups={**world.groups, application: _running(world, application)},
        by_design=(*world.by_design, subject),
    )


def _healthy_join(world: World) -> World:
    """A foreign-key join on 4.x: its pseudo-topics are there by design."""
    world = replace(world, groups={**world.groups, "joiner": _running(world, "joiner")})
    return _joined(world, Join("joiner", "joiner-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000006-topic"))


def _running(world: World, application: str) -> Group:
    read: Mapping[tuple[str, int], int] = {
        (topic, number): log.end
        for topic, setup in sorted(world.topics.items())[:1]
        for number, log in enumerate(setup.logs)
    }
    return group_of_streams(application, read, is_live=True)


def _with_refused_writes(dice: Random, world: World) -> World:
    """READONLY, of all of it or of a subject that nothing was ever put under; or serializers that register nothing."""
    stores = [s for s in world.truth if s.topic in world.topics and s.application not in world.renewed]
    if stores and often(dice, 70):  # before the first put, and told by its topology
        store = one(dice, stores)
        absent = f"{store.topic if world.is_upgraded else store.changelog}-value"
        subjects = {subject: held for subject, held in world.subjects.items() if subject != absent}
        schemas = {version.schema for held in subjects.values() for version in held.versions}
        if absent in world.subjects and any(v.schema not in schemas for v in world.subjects[absent].versions):
            subjects = dict(world.subjects)  # without it the registry would have lost ids that records carry
        told = tuple(sorted({*world.topology_of, store.application}))
        world = replace(world, subjects=subjects, topology_of=told)
        if often(dice, 40):
            return replace(world, modes={absent: "READONLY"})
    return replace(world, registers=False) if often(dice, 60) else replace(world, modes={"": "READONLY"})


def _with_derived(dice: Random, world: World) -> World:
    """`CREATE STREAM x AS SELECT`: a topic with the columns of another one, in the writer's record or in ksqlDB's."""
    written = {
        name: [line for v in world.subjects[f"{name}-value"].versions if (line := v.schema.lstrip("!")) in PRODUCED]
        for name in sorted(world.topics)
        if name in FAMILIES and f"{name}-value" in world.subjects
    }
    of = [name for name, lines in written.items() if lines]
    if not of:
        return world
    origin = one(dice, of)
    name = one(dice, (f"{origin.upper()}_COPY", f"{origin}-by-id", "X"))
    held = written[origin]
    lines = held if often(dice, 50) else [_copied(held, one(dice, ("ksql", "class")))]
    records = tuple(Record(at, Key(at), one(dice, lines)) for at in range(dice.randrange(4)))
    query = f"_confluent-ksql-default_query_CSAS_{name}_7"
    read = {(origin, number): log.end for number, log in enumerate(world.topics[origin].logs)}
    return replace(
        world,
        topics={**world.topics, name: TopicSetup((Log(0, len(records), records),), "delete")},
        subjects={**world.subjects, f"{name}-value": SubjectSetup(tuple(map(Version, lines)))},
        groups={**world.groups, query: group_of_streams(query, read, is_live=True)},
    )


def _copied(held: list[str], style: str) -> str:
    """An application that derives a topic has its own class, because Avro reads no record into a class of another name."""
    return projection_of(held, field_names(held), style).replace("Row(", "Copy(", 1)


def _told_by_disk(world: World) -> list[str]:
    """Applications whose rows on disk show facts that nothing else shows: they log nothing, or write other keys."""
    keys = {subject.removesuffix("-key") for subject, held in world.subjects.items() if len(held.versions) > 1}
    return sorted(
        {s.application for s in world.truth if s.fed_by or (s.topic in keys and world.runs_newer(s.application))}
    )


def _with_state(dice: Random, world: World) -> World:
    """The state directory of an application whose stores are worth a look."""
    restored = sorted({store.application for store in world.truth if store.topic in world.topics})
    applications = _told_by_disk(world) or restored
    if not applications:
        return world
    application = one(dice, applications)
    if any(store.has_own_processor for store in world.truth) and often(dice, 60):
        world = replace(world, topology_of=tuple(sorted({*world.topology_of, application})))
    return replace(world, state_of=(application,))


def _with_disk(dice: Random, world: World) -> World:
    layouts = {each: one(dice, ("2.5", "2.6.3", "2.6.3", "behind", "died")) for each in world.state_of}
    world = replace(world, layouts=layouts)
    disk = {
        f"{store.application}/{store.name}": rows
        for store in world.truth
        if store.application in world.state_of and often(dice, 85) and (rows := rows_of(dice, world, store)) is not None
    }
    in_use = world.state_of if often(dice, 8) else ()
    return replace(world, disk=disk, in_use=in_use)
