"""Worlds written by hand: the faults that issue 12 reports, and the cases in its other lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tests.recovery.worlds.world import (
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

USER: Final = "User(userId long, name string)"
USER_2: Final = "User(userId long, name string, tier string?)"
USER_ROW: Final = "KsqlDataSourceSchema(USERID long?, NAME string?)"
LOGIN: Final = "Login(loginId long, userId long)"
CLICK: Final = "Click(page string, at long)"
KEY: Final = "Key(id long)"


def topic(
    *values: str | None,
    key_format: KeyFormat = KeyFormat.STRING,
    key: str | None = None,
    policy: str | None = "compact",
) -> TopicSetup:
    """One partition with a row for each value, each under a key of its own."""
    records = tuple(Record(at, Key(at % 6, key_format, key), value) for at, value in enumerate(values))
    return TopicSetup((Log(0, len(records), records),), policy)


def subject(*schemas: str, level: str | None = None, mode: str | None = None) -> SubjectSetup:
    return SubjectSetup(tuple(Version(schema) for schema in schemas), level=level, mode=mode)


def streams_group(application: str, commits: Mapping[str, int], *, is_live: bool = False) -> Group:
    """The commits of Kafka Streams 2.4 or later; for each topic the offset in its one partition."""
    return group_of_streams(application, {(name, 0): offset for name, offset in commits.items()}, is_live=is_live)


def plain_group(commits: Mapping[str, int]) -> Group:
    """The commits of a consumer that is not Kafka Streams."""
    return Group(
        commits={(name, 0): offset for name, offset in commits.items()}, client_ids=("rdkafka",), assignor="range"
    )


def incident(
    application: str = "my-app",
    store: str = "users-store",
    *,
    rows: Sequence[str | None] = (USER, USER, USER),
    users: TopicSetup | None = None,
    phantom: SubjectSetup | None = None,
    has_source_subject: bool = True,
    kind: Kind = Kind.TABLE,
    keys: tuple[KeyFormat, int] = (KeyFormat.STRING, 0),
    topics: Mapping[str, TopicSetup] | None = None,
    groups: Mapping[str, Group] | None = None,
    subjects: Mapping[str, SubjectSetup] | None = None,
) -> World:
    """The incident with its surroundings: a table of `users` whose phantom subject holds only the application's own
    schema.
    """
    truth = TrueStore(application, store, kind, "users", key_format=keys[0], window=keys[1])
    users = users or topic(*rows)
    return World(
        topics={"users": users, **(topics or {})},
        groups=groups
        if groups is not None
        else {application: streams_group(application, {"users": users.logs[0].end})},
        subjects={
            **({"users-value": subject(USER)} if has_source_subject else {}),
            f"{truth.changelog}-value": phantom or subject(USER_ROW),
            **(subjects or {}),
        },
        truth=(truth,),
    )
