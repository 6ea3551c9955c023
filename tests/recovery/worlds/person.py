"""What a careful person would say of a phantom subject, from what the cluster and the registry show and nothing else.

It is conservative: if two answers are possible, it gives none. It is the measure for the worlds that srfix leaves
undecided.
"""

from __future__ import annotations

import re

from tests.recovery.worlds.schemas import fields
from tests.recovery.worlds.seen import is_told_global
from tests.recovery.worlds.world import UNFRAMED, TrueStore, World

_INTERNAL = ("-changelog", "-repartition")
_OF_A_JOIN = re.compile(r"-subscription-(registration|response)-([0-9]{10}-)?topic$", re.IGNORECASE)


def decides(world: World, store: TrueStore) -> tuple[str, str, str] | None:
    """Application, store and topic that a person would name for the phantom subject of a store; None if in doubt."""
    subject = world.subjects.get(f"{store.changelog}-value")
    if store.changelog in world.topics or subject is None or store.is_told_by_its_name:
        return None
    split = _split(world, store.changelog)
    if split is None:
        return None
    application, name = split
    rows = [fields(version.schema) for version in subject.versions]
    topic = _topic(world, application, name, rows[-1])
    if "-STATE-STORE-" in name and not name.startswith(f"{topic}-STATE-STORE-"):
        return None
    return None if topic is None or not all(row <= _shape(world, topic) for row in rows) else (application, name, topic)


def only_application(world: World, store: TrueStore) -> str | None:
    """The application that a person would name, for any source; None if in doubt."""
    split = _split(world, store.changelog) if f"{store.changelog}-value" in world.subjects else None
    return None if split is None else split[0]


def _split(world: World, changelog: str) -> tuple[str, str] | None:
    """The only split into application and store whose application has signs of Kafka Streams."""
    base = changelog.removesuffix("-changelog")
    prefixes = [base[:at] for at, letter in enumerate(base) if letter == "-" and 0 < at < len(base) - 1]
    running = [p for p in prefixes if _is_application(world, p) and _may_be_a_store(world, base[len(p) + 1 :])]
    return (running[0], base[len(running[0]) + 1 :]) if len(running) == 1 else None


def _may_be_a_store(world: World, name: str) -> bool:
    """False for an unnamed table's store that names a topic which does not exist (`<topic>-STATE-STORE-<10 digits>`)."""
    topic, mark, _ = name.partition("-STATE-STORE-")
    return not mark or topic in world.topics or topic in _gone(world)


def _is_application(world: World, name: str) -> bool:
    group = world.groups.get(name)
    own = any(topic.startswith(f"{name}-") and topic.endswith(_INTERNAL) for topic in world.topics)
    return group is not None and (group.has_signs_of_streams or own)


def _topic(world: World, application: str, name: str, row: frozenset[str]) -> str | None:
    """The only topic that has all the fields of the row and that the application commits. `CREATE STREAM x AS SELECT`
    makes other such topics every day, but only a global table would read them, and nobody reads a topic that is gone.
    Only a global table would read an uncommitted topic that nobody can compare, and every cluster has such topics. If
    there is a sign of a global table, or if no such topic is committed: the only topic that has all the fields. It
    belongs to a global table if no committed topic has even one of them.
    """
    shapes = {
        topic: _shape(world, topic)
        for topic in world.topics
        if not topic.endswith(_INTERNAL) and not _OF_A_JOIN.search(topic)
    }
    committed = {topic for topic, _ in world.groups[application].commits}
    unknown = [topic for topic, shape in shapes.items() if not shape and not _is_unframed(world, topic)]
    if not committed.isdisjoint(unknown):
        return None  # it may be that
    gone = [topic for topic in _gone(world) if row <= _shape(world, topic)]
    whole = [topic for topic, shape in shapes.items() if row <= shape]
    read = [topic for topic in whole if topic in committed]
    if len(read) == 1 and not _may_be_global(world, application, name, read[0], [*whole, *unknown]):
        return read[0]
    if len(whole) != 1 or read or gone or unknown:
        return None
    if committed and name.startswith(whole[0]) and not any(row & shapes.get(topic, frozenset()) for topic in committed):
        return whole[0]
    return None


def _may_be_global(world: World, application: str, name: str, read: str, whole: list[str]) -> bool:
    """True if another topic than the one that is read may be a global table's: the store is named after it, a topology
    or a directory shows a global store, or another store of the application uses the topic that is read.
    """
    others = [topic for topic in whole if topic != read]
    if not others:
        return False
    beside = [
        fields(held.versions[-1].schema)
        for subject, held in world.subjects.items()
        if subject.startswith(f"{application}-")
        and subject.endswith("-changelog-value")
        and subject != f"{application}-{name}-changelog-value"
        and subject.removesuffix("-value") not in world.topics
    ]
    is_named = any(name.startswith(topic) for topic in others) and not name.startswith(read)
    is_shown = any(is_told_global(world, store) for store in world.truth if store.application == application)
    return is_named or is_shown or any(row and row <= _shape(world, read) for row in beside)


def _gone(world: World) -> list[str]:
    """Topics that are gone, by the subjects that they left."""
    named = {
        s.removesuffix("-value") for s in world.subjects if s.endswith("-value") and not s.endswith("-changelog-value")
    }
    return sorted(named - set(world.topics))


def _shape(world: World, topic: str) -> frozenset[str]:
    """All fields of all versions under a topic's own subject, in capitals; if it has no subject, the fields of its
    records' ids.
    """
    subject = world.subjects.get(f"{topic}-value")
    lines = {version.schema for version in subject.versions} if subject else _values(world, topic)
    return frozenset().union(*(fields(line) for line in lines if "(" in line))


def _values(world: World, topic: str) -> set[str]:
    logs = world.topics[topic].logs if topic in world.topics else ()
    return {record.value for log in logs for record in log.records if record.value is not None}


def _is_unframed(world: World, topic: str) -> bool:
    return _values(world, topic) == {UNFRAMED}
