"""Subject names: the one place that knows how a topic, a role and a subject hang together.

Strategies are picklable callables `(topic, role) -> Subject`:

- `TopicSubject()`               `<topic>-key` / `<topic>-value` (TopicNameStrategy, the default everywhere)
- `FixedSubject(key=…, value=…)` whatever the topic
- `ChangelogSubject(application=…, store=…)` the subject of a store's changelog, existing or not
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import NewType, TypeAlias

from srfix.serde.errors import UsageError

__all__ = [
    "CHANGELOG_SUFFIX",
    "ChangelogSubject",
    "FixedSubject",
    "Role",
    "Subject",
    "SubjectStrategy",
    "Topic",
    "TopicSubject",
    "changelog_topic",
    "role_of",
    "split_subject",
    "subject_for",
]

Subject = NewType("Subject", str)
Topic = NewType("Topic", str)

CHANGELOG_SUFFIX = "-changelog"
"""What Kafka Streams puts behind a store's name (`ProcessorStateManager.storeChangelogTopic`)."""


class Role(Enum):
    """Which half of a record a schema describes."""

    KEY = "key"
    VALUE = "value"


SubjectStrategy: TypeAlias = Callable[[str, Role], Subject]


def role_of(field: str | Role) -> Role:
    """The role that a `confluent_kafka` message field (`"key"`, `"value"`) names.

    :raises UsageError: if it names neither.
    """
    try:
        return Role(field)
    except ValueError:
        raise UsageError(
            f"A serde is called for the field {field!r}; it knows 'key' and 'value' (confluent_kafka's "
            "MessageField)."
        ) from None


def subject_for(topic: str, role: Role) -> Subject:
    """The subject of a topic's keys or values: TopicNameStrategy, and ksqlDB's
    `KsqlConstants.getSRSubject`."""
    return Subject(f"{topic}-{role.value}")


def split_subject(subject: str) -> tuple[Topic, Role] | None:
    """Topic and role of a TopicNameStrategy subject; None if the subject has another form."""
    for role in Role:
        suffix = f"-{role.value}"
        if subject.endswith(suffix) and len(subject) > len(suffix):
            return Topic(subject[: -len(suffix)]), role
    return None


def changelog_topic(application: str, store: str) -> Topic:
    """The changelog topic's name, whether or not the topic exists
    (`ProcessorStateManager.storeChangelogTopic`)."""
    return Topic(f"{application}-{store}{CHANGELOG_SUFFIX}")


@dataclass(frozen=True, slots=True)
class TopicSubject:
    """`<topic>-key` / `<topic>-value`."""

    def __call__(self, topic: str, role: Role) -> Subject:
        return subject_for(topic, role)


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedSubject:
    """The same subject for every topic."""

    value: str | None = None
    """The subject of values; None where values are not expected."""
    key: str | None = None
    """The subject of keys; None where keys are not expected."""

    def __call__(self, topic: str, role: Role) -> Subject:
        subject = self.value if role is Role.VALUE else self.key
        if subject is None:
            raise UsageError(
                f"No fixed subject was given for the {role.value} of topic {topic!r}: pass "
                f"FixedSubject({role.value}=…)."
            )
        return Subject(subject)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangelogSubject:
    """The subject of a Kafka Streams store's changelog: the phantom one where the source topic is reused."""

    application: str
    """The `application.id`."""
    store: str
    """The store's name."""

    def __call__(self, topic: str, role: Role) -> Subject:
        return subject_for(changelog_topic(self.application, self.store), role)
