"""A topic as a test writes it, and a look at it as its reader would look."""

from __future__ import annotations

from typing import Any

from srfix.recovery.census.interface import CensusEngine
from srfix.recovery.checks.topic_findings import TopicFinding
from srfix.recovery.facts.survey import Survey
from srfix.recovery.facts.topics import Strategy, TopicQuestion, TopicRead, TopicReader
from srfix.recovery.topic_check.examine import TopicCheck, check_topic
from srfix.serde.subjects.names import Role, Subject, Topic
from tests.recovery.world import World

TOPIC = Topic("source.users")
SUBJECT = Subject("source.users-value")
HOLDER = Subject("users-value")

USER = '{"type":"record","name":"User","namespace":"shop","fields":[{"name":"id","type":"long"}]}'
USER_2 = (
    '{"type":"record","name":"User","namespace":"shop","fields":[{"name":"id","type":"long"},'
    '{"name":"tier","type":["null","string"],"default":null}]}'
)
KEY = '{"type":"record","name":"UserKey","namespace":"shop","fields":[{"name":"id","type":"long"}]}'


def question(
    *,
    topic: str = TOPIC,
    reader: TopicReader = TopicReader.CONNECT,
    strategy: Strategy = Strategy.TOPIC,
    subject: str | None = None,
    group: str | None = None,
    roles: tuple[Role, ...] = (Role.KEY, Role.VALUE),
    **read: Any,
) -> TopicQuestion:
    return TopicQuestion(
        topic=Topic(topic),
        roles=roles,
        subject=None if subject is None else Subject(subject),
        read=TopicRead(reader=reader, strategy=strategy, group=group, **read),
    )


def look(
    world: World,
    *,
    survey: Survey | None = None,
    engine: CensusEngine | None = None,
    deadline_s: float | None = None,
    max_records: int | None = None,
    **how: Any,
) -> TopicCheck:
    return check_topic(
        question(**how),
        survey or world.survey(),
        engine or world.engine,
        deadline_s=deadline_s,
        max_records=max_records,
    )


def only(found: TopicCheck) -> TopicFinding:
    (finding,) = found.findings
    return finding
