"""Hypothesis strategies for worlds, from the truth outwards: applications, the topics that they read, and the traces
that this left.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Final

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from srfix.fixtures.broker.client import STREAMS_METADATA
from tests.recovery.worlds.drawing import often, one, some
from tests.recovery.worlds.families import FAMILIES, KEYS
from tests.recovery.worlds.relatives import with_relatives
from tests.recovery.worlds.schemas import field_names, projection_of, record_name
from tests.recovery.worlds.world import (
    CUT,
    GARBAGE,
    GUID,
    UNFRAMED,
    WHOLE,
    Group,
    Key,
    KeyFormat,
    Kind,
    Log,
    Record,
    SubjectSetup,
    TopicSetup,
    TrueStore,
    Version,
    World,
    group_of_streams,
)

_APPLICATIONS: Final = (
    "shop",
    "shop-eu",
    "shop-eu-web",
    "my-app",
    "my-app-users",
    "orders-enricher",
    "_confluent-ksql-default_query_CTAS_T_5",
)
_TRANSIENT: Final = "_confluent-ksql-default_transient_transient_USERS_4711_1592300000000"
_PLAIN: Final = ("shop", "shop-eu", "my-app", "my-app-users", "orders", "inventory", "users", "console-7")
_KEY_ROW: Final = "KeyRow(ID long?)"
_NOISE: Final = (
    "shop-by-name-repartition-value",
    "shop-changelog-value",
    "elsewhere-value",
    "User",
    "old-app-t-changelog-value",
)
_LEVELS: Final = (None, None, None, "NONE", "FULL", "FORWARD", "BACKWARD_TRANSITIVE")


@dataclass
class _Topic:
    name: str
    versions: tuple[str, ...]
    """The schemas of its values that were ever used."""
    strategy: str
    """`topic`, `record` or `topic-record`."""
    key_format: KeyFormat
    key_schemas: tuple[str, ...]
    window: int
    is_json: bool
    is_deleted: bool
    policy: str | None
    setup: TopicSetup | None = None


@dataclass
class _Draft:
    topics: dict[str, _Topic] = field(default_factory=dict)
    own: dict[str, TopicSetup] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    subjects: dict[str, SubjectSetup] = field(default_factory=dict)
    truth: list[TrueStore] = field(default_factory=list)


@st.composite
def worlds(draw: DrawFn) -> World:
    draft = _Draft()
    for name in some(draw, tuple(FAMILIES), 1, 4):
        draft.topics[name] = _topic(draw, name)
    for application in some(draw, _APPLICATIONS, 1, 2):
        _application(draw, draft, application)
    if often(draw, 8):
        _transient_query(draw, draft)
    for name in some(draw, [name for name in _PLAIN if name not in {t.application for t in draft.truth}], 0, 2):
        if name not in draft.groups:
            group = _plain_group(draw, draft)
            if group.commits or group.client_ids:
                draft.groups[name] = group
    for topic in draft.topics.values():
        _subjects_of_producers(draw, draft, topic)
    for subject in some(draw, _NOISE, 0, 1):
        draft.subjects.setdefault(subject, SubjectSetup((Version(one(draw, FAMILIES["users"])),)))
    topics = {t.name: t.setup for t in draft.topics.values() if t.setup is not None and not t.is_deleted}
    world = World(
        topics={**topics, **draft.own},
        groups=draft.groups,
        subjects=draft.subjects,
        truth=tuple(draft.truth),
        lists_groups=not often(draw, 40),
    )
    world = _with_what_is_said(draw, _in_the_registry(draw, world))
    return with_relatives(Random(f"{draw(st.integers(0, 2**32 - 1))}{world!r}"), world)


def _topic(draw: DrawFn, name: str) -> _Topic:
    key_format = one(draw, (KeyFormat.STRING, KeyFormat.STRING, KeyFormat.BIGINT, KeyFormat.UUID, KeyFormat.AVRO))
    family = FAMILIES[name]
    topic = _Topic(
        name=name,
        versions=family[: one(draw, range(1, len(family) + 1))],
        strategy=one(draw, ("topic",) * 8 + ("record", "topic-record")),
        key_format=key_format,
        key_schemas=KEYS[: one(draw, (1, 1, 1, 2))] if key_format is KeyFormat.AVRO else (),
        window=one(draw, (0,) * 6 + (8, 16)),
        is_json=often(draw, 6),
        is_deleted=often(draw, 8),
        policy=one(draw, ("compact",) * 6 + ("delete", "delete", "compact,delete", "kept", None)),
    )
    if topic.strategy != "topic" or topic.is_json:
        topic.is_deleted = False  # no trace with its name would be left, so nobody could know of it
    logs = tuple(_log(draw, topic) for _ in range(draw(st.integers(1, 2))))
    topic.setup = TopicSetup(logs, topic.policy)
    return topic


def _log(draw: DrawFn, topic: _Topic) -> Log:
    start = one(draw, (0, 0, 0, 3))
    odd = one(draw, (None,) * 6 + (UNFRAMED, GUID, "Lost1", "Lost2")) if often(draw, 20) else None
    bodies = (WHOLE, WHOLE, CUT, GARBAGE) if often(draw, 10) else (WHOLE,)
    offset = start
    records = []
    for _ in range(draw(st.integers(0, 5))):
        offset += one(draw, (0, 0, 0, 0, 2))
        key = Key(
            number=draw(st.integers(0, 5)),
            format=topic.key_format,
            schema=one(draw, topic.key_schemas) if topic.key_schemas else None,
            window=topic.window,
            body=CUT if topic.key_schemas and len(bodies) > 1 and often(draw, 10) else WHOLE,
        )
        value = UNFRAMED if topic.is_json else one(draw, (*topic.versions, *topic.versions, *topic.versions, None, odd))
        body = one(draw, bodies) if value is not None and "(" in value else WHOLE
        records.append(Record(offset, None if often(draw, 5) else key, value, body))
        offset += 1
    return Log(start, offset + one(draw, (0, 0, 0, 1)), tuple(records))


def _application(draw: DrawFn, draft: _Draft, application: str) -> None:
    state = one(draw, ("live", "live", "empty", "empty", "expired"))
    metadata = one(draw, ("", STREAMS_METADATA, STREAMS_METADATA))
    reader = one(draw, ("connect",) * 4 + ("plain",))
    is_ksql = application.startswith("_confluent-ksql-")
    free = list(draft.topics)
    committed: list[str] = []
    kinds: tuple[Kind, ...] = (Kind.TABLE,) * 5 + (
        Kind.GLOBAL,
        Kind.GLOBAL,
        Kind.AGGREGATE,
        Kind.JOIN_WINDOW,
        Kind.UNLOGGED,
    )
    if is_ksql:  # it has no global tables
        kinds = tuple(kind for kind in kinds if kind is not Kind.GLOBAL)
    for _ in range(draw(st.integers(1, 2))):
        kind = one(draw, kinds)
        if not free:
            break
        topic = draft.topics[one(draw, free)]
        free.remove(topic.name)  # a topic is a source once per application
        store = _store(draw, application, kind, topic, reader, is_ksql=is_ksql)
        if any(store.changelog == other.changelog for other in draft.truth):
            continue
        draft.truth.append(store)
        if kind is not Kind.GLOBAL:
            committed.append(topic.name)
        _left_behind(draw, draft, store, topic)
    committed += some(draw, free, 0, 2) if free else []
    if often(draw, 15):
        draft.own[f"{application}-by-name-repartition"] = TopicSetup((Log(0, 0, ()),), "delete")
    if state != "expired":
        is_live = state == "live" and not any(draft.topics[name].is_deleted for name in committed)
        commits = _commits(draw, draft, committed)
        if not commits and not is_live:
            return  # the coordinator forgets such a group
        draft.groups[application] = group_of_streams(application, commits, metadata, is_live=is_live)


def _store(draw: DrawFn, application: str, kind: Kind, topic: _Topic, reader: str, *, is_ksql: bool) -> TrueStore:
    names: tuple[str, ...]
    if kind is Kind.TABLE:
        names = ("KsqlTopic-Reduce", "KafkaTopic_Right-Reduce")
        if not is_ksql:
            names = (f"{topic.name}-store", f"{topic.name}-STATE-STORE-0000000001", "t", "eu-t", "users")
    elif kind is Kind.GLOBAL:
        names = (f"{topic.name}-global", f"{topic.name}-STATE-STORE-0000000000", "g")
    elif kind is Kind.AGGREGATE:
        names = ("KSTREAM-AGGREGATE-STATE-STORE-0000000003", "KSTREAM-REDUCE-STATE-STORE-0000000005", "counts")
        names = ("Aggregate-Aggregate-Materialize",) if is_ksql else names
    elif kind is Kind.JOIN_WINDOW:
        names = ("KSTREAM-JOINTHIS-0000000004-store", "visits-this-join-store")
    else:
        names = (f"{topic.name}-store", "t", "cache", "counts", "KSTREAM-AGGREGATE-STATE-STORE-0000000003")
        names = ("cache",) if is_ksql else names
    name = one(draw, names)
    restores = kind in (Kind.TABLE, Kind.GLOBAL)
    is_fed = kind is Kind.UNLOGGED and not is_ksql and (name in names[:2] or (name == "cache" and often(draw, 50)))
    return TrueStore(
        application=application,
        name=name,
        kind=kind,
        topic=topic.name if restores else None,
        fed_by=topic.name if is_fed else None,
        reader=reader,
        key_format=topic.key_format if restores else KeyFormat.STRING,
        window=topic.window if restores else 0,
    )


def _left_behind(draw: DrawFn, draft: _Draft, store: TrueStore, topic: _Topic) -> None:
    """The subjects that a store's serdes registered, and its changelog where it has one."""
    if store.kind in (Kind.AGGREGATE, Kind.JOIN_WINDOW) and often(draw, 40):
        draft.own[store.changelog] = TopicSetup((Log(0, 0, ()),))  # else `kafka-streams-application-reset` took it
    if often(draw, 7):
        return  # it died before its first put
    if not topic.is_json:
        draft.subjects[f"{store.changelog}-value"] = SubjectSetup(
            versions=_versions(draw, _rows(draw, store, topic)),
            level=one(draw, _LEVELS),
            mode="READONLY" if often(draw, 4) else None,
            normalize=often(draw, 3),
        )
    if store.key_format is KeyFormat.AVRO and topic.key_schemas:
        own = (_KEY_ROW,) if often(draw, 50) else topic.key_schemas
        draft.subjects[f"{store.changelog}-key"] = SubjectSetup(
            versions=_versions(draw, own),
            level=one(draw, _LEVELS),
            mode="READONLY" if often(draw, 4) else None,
        )


def _rows(draw: DrawFn, store: TrueStore, topic: _Topic) -> list[str]:
    """The schemas that the serde wrote: the writer's own, or a projection of them, or two of an application that
    evolved.
    """
    is_counted = store.kind is Kind.UNLOGGED and store.fed_by is None
    if is_counted or store.name in ("counts", "Aggregate-Aggregate-Materialize"):
        return [f"Counts({field_names(topic.versions)[0]} long, hits long)"]
    if "AGGREGATE" in store.name:
        return [one(draw, (f"Counts({field_names(topic.versions)[0]} long, hits long)", "Sum(amount long)"))]
    style = one(draw, ("ksql", "ksql", "class", "same"))
    if style == "same":
        return list(topic.versions)  # GenericAvroSerde keeps the writer's schema
    every = field_names(topic.versions)
    wanted = every if often(draw, 40) else some(draw, every, 1, len(every))
    rows = [projection_of(topic.versions, sorted(wanted, key=every.index), style)]
    if often(draw, 15) and len(wanted) < len(every):
        rows.append(projection_of(topic.versions, every, style))
    # A class is its application's own: Avro reads no record of one name into a class of another.
    rows = [re.sub(r"^Row\(", f"{re.sub('[^a-z]', '', store.application)}Row(", row) for row in rows]
    if often(draw, 10):
        rows += topic.versions  # repaired by hand, or by luck
    return rows


def _versions(draw: DrawFn, lines: Sequence[str]) -> tuple[Version, ...]:
    return tuple(Version(line, deleted=often(draw, 6)) for line in dict.fromkeys(lines))


def _commits(draw: DrawFn, draft: _Draft, topics: Sequence[str]) -> dict[tuple[str, int], int]:
    commits = {}
    for name in dict.fromkeys(topics):
        topic = draft.topics[name]
        for partition, log in enumerate(topic.setup.logs if topic.setup and not topic.is_deleted else ()):
            if often(draw, 95):
                behind = 0 if often(draw, 70) else draw(st.integers(0, log.end))
                commits[name, partition] = log.end - behind + (3 if often(draw, 2) else 0)
    return commits


def _transient_query(draw: DrawFn, draft: _Draft) -> None:
    """A query that somebody typed: gone, or still running; its subjects stay (ksql#6817)."""
    topic = draft.topics[one(draw, tuple(draft.topics))]
    store = TrueStore(_TRANSIENT, "KafkaTopic_Right-Reduce", Kind.TRANSIENT, reader="connect")
    draft.truth.append(store)
    row = projection_of(topic.versions, field_names(topic.versions), "ksql")
    draft.subjects[f"{store.changelog}-value"] = SubjectSetup((Version(row),))
    if often(draw, 50):
        draft.groups[_TRANSIENT] = group_of_streams(_TRANSIENT, _commits(draw, draft, [topic.name]), is_live=True)


def _plain_group(draw: DrawFn, draft: _Draft) -> Group:
    is_live = often(draw, 50)
    return Group(
        commits=_commits(draw, draft, some(draw, tuple(draft.topics), 0, 2)),
        client_ids=("rdkafka",) if is_live else (),
        assignor="range" if is_live else "",
    )


def _subjects_of_producers(draw: DrawFn, draft: _Draft, topic: _Topic) -> None:
    versions = topic.versions
    if not topic.is_json:
        for line in versions:
            record = record_name(line)
            names = {"topic": f"{topic.name}-value", "record": record, "topic-record": f"{topic.name}-{record}"}
            subject = names[topic.strategy]
            held = draft.subjects.get(subject, SubjectSetup(()))
            if line not in {version.schema for version in held.versions}:
                added = Version(line, deleted=often(draw, 5))
                draft.subjects[subject] = replace(held, versions=(*held.versions, added))
    if topic.key_schemas:
        draft.subjects[f"{topic.name}-key"] = SubjectSetup(_versions(draw, topic.key_schemas))


def _in_the_registry(draw: DrawFn, world: World) -> World:
    if often(draw, 8):
        world = replace(world, context="eu", by_context_url=draw(st.booleans()))
    elif often(draw, 6):
        world = replace(world, mirror="dr")
    return replace(world, normalize=often(draw, 5))


def _with_what_is_said(draw: DrawFn, world: World) -> World:
    restored = [s for s in world.truth if s.topic in world.topics and f"{s.changelog}-value" in world.subjects]
    if restored and often(draw, 10):
        store = one(draw, restored)
        world = replace(world, sources={f"{store.application}/{store.name}": store.topic or ""})
    applications = tuple(sorted({store.application for store in world.truth}))
    if applications and often(draw, 15):
        world = replace(world, topology_of=(one(draw, applications),))
    if applications and often(draw, 20):
        world = replace(world, state_of=(one(draw, applications),))
    if applications and often(draw, 12):
        world = replace(world, application=one(draw, applications))
    return replace(world, decode_values=often(draw, 40), says_reader=often(draw, 10), is_upgraded=often(draw, 8))
