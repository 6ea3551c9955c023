"""Hypothesis strategies for worlds: anything goes, and the incident is likely."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from tests.recovery.worlds.schemas import KEYS, LOST, TEXTS
from tests.recovery.worlds.world import (
    CUT,
    GARBAGE,
    GUID,
    LONG,
    UNFRAMED,
    WHOLE,
    Folder,
    Key,
    Log,
    Record,
    SubjectSetup,
    Table,
    Version,
    World,
)

__all__ = ["broken_worlds", "worlds"]

_APPLICATIONS: Final = ("shop", "shop-eu", "shop-eu-web", "ledger")
_STORES: Final = ("t", "eu-t", "web-t", "users-STATE-STORE-0000000001", "orders-STATE-STORE-0000000007")
_FAMILY: Final = {
    "users": ("User1", "User2", "User3"),
    "orders": ("Order1", "Order2"),
    "items": ("User1", "Order1", "Text"),
}
_INTERNAL: Final = ("UserRow", "UserRow2", "OrderRow", "MixedRow", "StrangeRow")
_VALUES: Final = tuple(name for name in TEXTS if name not in KEYS)
_NOISE: Final = (
    "shop-by-name-repartition-value",
    "shop-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000006-topic-pk-key",
    "shop-t-changelog-com.example.User",
    "shop-changelog-value",
    "elsewhere-value",
)
_POLICIES: Final = ("delete", "delete", "compact", "compact,delete", "kept", None)
_LEVELS: Final = (None, None, "NONE", "FULL", "FORWARD", "BACKWARD_TRANSITIVE", "BACKWARD_TRANSITIVE")


def _often(draw: DrawFn, percent: int) -> bool:
    return draw(st.integers(1, 100)) <= percent


@st.composite
def _log(draw: DrawFn, family: tuple[str, ...]) -> Log:
    start = draw(st.sampled_from((0, 0, 0, 3)))
    key_schemas = draw(st.sampled_from(((None,), (None,), KEYS[:1], KEYS, (None, *KEYS, "Lost1"))))
    odd = draw(st.sampled_from((None, UNFRAMED, UNFRAMED, GUID, *LOST, "UserRow", "OrderRow")))
    bodies = (WHOLE, WHOLE, CUT, LONG, GARBAGE) if _often(draw, 40) else (WHOLE,)
    key_bodies = (WHOLE, WHOLE, CUT, LONG) if _often(draw, 40) else (WHOLE,)
    offset = start
    records = []
    for _ in range(draw(st.integers(0, 7))):
        offset += draw(st.sampled_from((0, 0, 0, 0, 2)))
        key_schema = draw(st.sampled_from(key_schemas))
        key_body = WHOLE if key_schema is None else draw(st.sampled_from(key_bodies))
        key = Key(draw(st.sampled_from("abc")), key_schema, key_body)
        value = draw(st.sampled_from((*family, *family, None, odd)))
        body = WHOLE if value in (None, UNFRAMED, GUID, *LOST) else draw(st.sampled_from(bodies))
        records.append(Record(offset, None if draw(st.integers(0, 9)) == 0 else key, value, body))
        offset += 1
    return Log(start, offset + draw(st.sampled_from((0, 0, 0, 1))), tuple(records))


@st.composite
def _topics(draw: DrawFn, changelogs: list[str]) -> dict[str, tuple[Log, ...]]:
    names = draw(st.lists(st.sampled_from(tuple(_FAMILY)), min_size=1, max_size=3, unique=True))
    if _often(draw, 15):
        names.append("shop-by-name-repartition")
    return {
        name: tuple(draw(_log(_FAMILY.get(name, _INTERNAL))) for _ in range(draw(st.integers(1, 2))))
        for name in (*names, *changelogs)
    }


def _versions(draw: DrawFn, likely: tuple[str, ...], *, whole: bool = False) -> tuple[Version, ...]:
    """Some of the likely schemas in any order; `whole`, all of them: then nothing that is in a topic is missing."""
    if whole:
        names = draw(st.permutations(likely))
    else:
        names = draw(st.lists(st.sampled_from(likely), min_size=1, max_size=3, unique=True))
    return tuple(Version(name, draw(st.integers(0, 4)) == 0) for name in names)


def _subject(draw: DrawFn, likely: tuple[str, ...], *, whole: bool = False) -> SubjectSetup:
    return SubjectSetup(
        versions=_versions(draw, likely, whole=whole),
        level=draw(st.sampled_from(_LEVELS)),
        mode="READONLY" if draw(st.integers(0, 24)) == 0 else None,
    )


def _commits(draw: DrawFn, topics: dict[str, tuple[Log, ...]]) -> dict[tuple[str, int], int]:
    read = draw(st.lists(st.sampled_from(sorted(topics)), min_size=0, max_size=2, unique=True))
    commits = {}
    for topic in read:
        for partition, log in enumerate(topics[topic]):
            if _often(draw, 85):
                at_end = _often(draw, 40)
                commits[topic, partition] = log.end if at_end else draw(st.integers(0, log.end + 3))
    return commits


@st.composite
def worlds(draw: DrawFn) -> World:
    """Any world."""
    applications = draw(st.lists(st.sampled_from(_APPLICATIONS), min_size=1, max_size=3, unique=True))
    stores = [
        (application, store)
        for application in applications
        for store in draw(st.lists(st.sampled_from(_STORES), min_size=int(_often(draw, 85)), max_size=2, unique=True))
    ]
    topics = draw(_topics([f"{app}-{store}-changelog" for app, store in stores if _often(draw, 12)]))
    groups = {application: _commits(draw, topics) for application in applications if _often(draw, 85)}
    subjects: dict[str, SubjectSetup] = {}
    for topic in topics:
        family = _FAMILY.get(topic, _INTERNAL)
        if _often(draw, 85):
            subjects[f"{topic}-value"] = _subject(draw, (*family, "UserRow") if _often(draw, 20) else family)
        if _often(draw, 30):
            subjects[f"{topic}-key"] = _subject(draw, KEYS)
    for application, store in stores:
        if _often(draw, 85):
            likely = draw(st.sampled_from((_INTERNAL, _VALUES, _FAMILY["users"], _FAMILY["orders"])))
            subjects[f"{application}-{store}-changelog-value"] = _subject(draw, likely, whole=_often(draw, 40))
        if _often(draw, 30):
            subjects[f"{application}-{store}-changelog-key"] = _subject(draw, KEYS)
    for subject in draw(st.lists(st.sampled_from(_NOISE), max_size=1)):
        subjects[subject] = SubjectSetup(_versions(draw, _VALUES))
    # Every group with a commit that may be read is listed, for both take the same permission: or none is.
    listed = tuple(sorted(groups)) if _often(draw, 50) else None
    world = World(topics=topics, groups=groups, listed=listed, subjects=subjects)
    return _with_what_is_said(draw, _contradicted(draw, world, stores), applications, [store for _, store in stores])


def _contradicted(draw: DrawFn, world: World, stores: list[tuple[str, str]]) -> World:
    """Now and then the application's own topology names one topic where its commits are on another one alone."""
    if not stores or len(world.topics) < 2 or not _often(draw, 20):
        return world
    application, store = draw(st.sampled_from(stores))
    said, read = draw(st.permutations(sorted(world.topics)))[:2]
    commits = {(read, partition): log.end for partition, log in enumerate(world.topics[read])}
    listed = None if world.listed is None else tuple(sorted({*world.listed, application}))
    table = Table(application=application, store=store, topic=said, is_global=False)
    return replace(world, groups={**world.groups, application: commits}, listed=listed, tables=(table,))


def _with_what_is_said(draw: DrawFn, world: World, applications: list[str], stores: list[str]) -> World:
    topics = sorted(world.topics)
    if stores and _often(draw, 15):
        named = {draw(st.sampled_from(stores)): draw(st.sampled_from((*topics, "nowhere")))}
        world = replace(world, sources=named)
    if _often(draw, 30):
        table = (
            world.tables[0]
            if world.tables
            else Table(
                application=draw(st.sampled_from((*applications, None))),
                store=draw(st.sampled_from((*stores, "u"))),
                topic=draw(st.sampled_from((*topics, "nowhere"))),
                is_global=_often(draw, 30),
            )
        )
        other = replace(table, topic=draw(st.sampled_from(topics)))
        world = replace(world, tables=(table, other) if _often(draw, 40) else (table,))
    if stores and _often(draw, 30):
        checkpointed = draw(st.lists(st.sampled_from((*topics, "nowhere")), max_size=2, unique=True))
        folder = Folder(
            application=draw(st.sampled_from(applications)),
            stores=tuple(draw(st.lists(st.sampled_from((*stores, "u")), min_size=1, max_size=2, unique=True))),
            topics=None if _often(draw, 15) else tuple(checkpointed),
        )
        world = replace(world, folders=(folder,))
    if _often(draw, 25):
        policies = {topic: draw(st.sampled_from(_POLICIES)) for topic in topics}
        world = replace(world, policies=policies)
    world = replace(world, decode_values=_often(draw, 40))
    if _often(draw, 25):
        world = replace(world, application=draw(st.sampled_from((*applications, "nobody"))))
    if _often(draw, 15):
        world = replace(world, store=draw(st.sampled_from((*stores, "u"))))
    if _often(draw, 15):
        world = replace(world, reader=draw(st.sampled_from(("connect", "plain", "dual"))))
    if _often(draw, 15):
        world = replace(world, streams=draw(st.sampled_from(("2.6.3", "2.7"))))
    return world


@st.composite
def broken_worlds(draw: DrawFn) -> World:
    """One store whose source holds ids that its phantom subject may lack, the source beyond doubt; nothing unreadable."""
    family: tuple[str, ...] = draw(st.sampled_from((("User1", "User2", "User3"), ("Order1", "Order2"))))
    key_schema = draw(st.sampled_from((None, *KEYS)))
    logs = []
    for _ in range(draw(st.integers(1, 2))):
        rows = draw(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from((*family, None))), max_size=6))
        records = tuple(Record(at, Key(name, key_schema), value) for at, (name, value) in enumerate(rows))
        logs.append(Log(0, len(records), records))
    subjects = {"source-value": SubjectSetup(tuple(Version(name, draw(st.booleans())) for name in family))}
    if key_schema is not None:
        subjects["source-key"] = SubjectSetup((Version(key_schema),))
        if draw(st.booleans()):
            subjects["shop-t-changelog-key"] = _subject(draw, KEYS)
    if draw(st.integers(0, 4)):
        subjects["shop-t-changelog-value"] = _subject(draw, (*_INTERNAL, *family))
    return World(
        topics={"source": tuple(logs)},
        groups={"shop": {("source", p): draw(st.integers(0, log.end)) for p, log in enumerate(logs)}},
        listed=None,
        subjects=subjects,
        application="shop",
        store="t",
    )
