"""The names of topics, roles, subjects and registry contexts, without any strategy."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NewType, TypeAlias

from srfix.serde.errors import UsageError

Subject = NewType("Subject", str)
Topic = NewType("Topic", str)

CHANGELOG_SUFFIX = "-changelog"
"""The suffix that Kafka Streams adds to a store's name (`ProcessorStateManager.storeChangelogTopic`)."""
DEFAULT_CONTEXT = "."
"""The context of a subject without a context."""
EVERY_CONTEXT = "*"
"""The context that means all contexts in a search's prefix."""


class Role(Enum):
    """The half of a record that a schema describes."""

    KEY = "key"
    VALUE = "value"


SubjectStrategy: TypeAlias = Callable[[str, Role], Subject]


def role_of(field: str | Role) -> Role:
    """The role that a `confluent_kafka` message field (`"key"`, `"value"`) names."""
    try:
        return Role(field)
    except ValueError:
        raise UsageError(
            f"A serde was called for the field {field!r}, but it knows only 'key' and 'value' (confluent_kafka's "
            "MessageField)."
        ) from None


def subject_for(topic: str, role: Role) -> Subject:
    """The subject of a topic's keys or values: TopicNameStrategy, and ksqlDB's `KsqlConstants.getSRSubject`."""
    return Subject(f"{topic}-{role.value}")


def split_subject(subject: str) -> tuple[Topic, Role] | None:
    """Topic and role of a TopicNameStrategy subject; None if the subject has another form."""
    for role in Role:
        suffix = f"-{role.value}"
        if subject.endswith(suffix) and len(subject) > len(suffix):
            return Topic(subject[: -len(suffix)]), role
    return None


def changelog_topic(application: str, store: str) -> Topic:
    """The changelog topic's name, whether or not the topic exists (`ProcessorStateManager.storeChangelogTopic`)."""
    return Topic(f"{application}-{store}{CHANGELOG_SUFFIX}")


def split_context(subject: str) -> tuple[str, str]:
    """Context and name of a subject: `:.ctx:a` is `(".ctx", "a")`, `a` is `(".", "a")`.

    A colon alone makes no context: `:a` is a name. `:.ctx` without a second colon is the context and no name.
    """
    if subject.startswith(f":{DEFAULT_CONTEXT}"):
        context, _, name = subject[1:].partition(":")
        return context, name
    if subject.startswith(f":{EVERY_CONTEXT}:"):
        return EVERY_CONTEXT, subject.removeprefix(f":{EVERY_CONTEXT}:")
    return DEFAULT_CONTEXT, subject


def join_context(context: str, name: str) -> Subject:
    """The subject with this name in this context; the inverse of `split_context`."""
    if ":" in context or not (context.startswith(DEFAULT_CONTEXT) or context == EVERY_CONTEXT):
        raise UsageError(
            f"{context!r} is not a registry context: a context begins with a dot and has no colon, such as .staging."
        )
    if context == DEFAULT_CONTEXT and split_context(name) == (DEFAULT_CONTEXT, name):
        return Subject(name)
    return Subject(f":{context}:{name}")


def context_alone(subject: str | None) -> Subject | None:
    """The text that names only a subject's context, `:.ctx:`; None for the default context, which needs no name.

    A request for a schema by its id may name only this. If it names a whole subject of a named context, a registry
    answers 40403 unless that subject holds the id. If it names a subject without a context, the registry first looks at
    subjects with the same name in other contexts (seen on Confluent 7.9.9 and 8.3.1).
    """
    context, _ = split_context(subject or "")
    return None if context == DEFAULT_CONTEXT else join_context(context, "")


def within_context_of(parent: str, subject: str) -> Subject:
    """The subject that a schema under `parent` means by `subject` (`QualifiedSubject.qualifySubjectWithParent`)."""
    context, name = split_context(subject)
    return join_context(split_context(parent)[0] if context == DEFAULT_CONTEXT else context, name)


def same_subject(one: str, other: str) -> bool:
    """True if both names mean the same subject: `a` and `:.:a` do, `a` and `:.ctx:a` do not."""
    return split_context(one) == split_context(other)


def has_prefix(subject: str, prefix: str) -> bool:
    """Whether `subjectPrefix` finds the subject: without a context only in the default one, with `:*:` in all."""
    context, name = split_context(subject)
    wanted, beginning = split_context(prefix)
    return wanted in (EVERY_CONTEXT, context) and name.startswith(beginning)
