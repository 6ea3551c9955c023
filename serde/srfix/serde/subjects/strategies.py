"""Topic, role and, where it is needed, record name → subject.

See `srfix.serde.subjects`, which exports all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from string import Formatter
from typing import ClassVar, Final, Protocol, TypeAlias, runtime_checkable

from srfix.serde.errors import NoSubjectError, UsageError
from srfix.serde.subjects.names import Role, Subject, SubjectStrategy, changelog_topic, same_subject, subject_for


@runtime_checkable
class RecordSubjectStrategy(Protocol):
    """A strategy that may need the record's name: it is asked when the schema is known."""

    @property
    def needs_record(self) -> bool:
        """True if it does: it is called with three arguments then."""

    def __call__(self, topic: str, role: Role, record: str | None = None) -> Subject:
        """The subject; `record` as `srfix.serde.formats.table.record_name` gives it, None for a schema without one."""


def needs_record(strategy: SubjectStrategy) -> bool:
    """True if the strategy is to be asked by `subject_of`, when the schema is known."""
    return isinstance(strategy, RecordSubjectStrategy) and strategy.needs_record


def subject_of(strategy: SubjectStrategy, topic: str, role: Role, record: Callable[[], str | None]) -> Subject:
    """The subject by any strategy. The record's name is asked for only by those that need it."""
    if isinstance(strategy, RecordSubjectStrategy) and strategy.needs_record:
        return strategy(topic, role, record())
    return strategy(topic, role)


@dataclass(frozen=True, slots=True)
class TopicSubject:
    """`<topic>-key` / `<topic>-value` (TopicNameStrategy)."""

    def __call__(self, topic: str, role: Role) -> Subject:
        return subject_for(topic, role)


@dataclass(frozen=True, slots=True)
class RecordSubject:
    """The record's full name, whatever the topic and the role (RecordNameStrategy).

    The name is an Avro record's full name or a JSON Schema's title. Anything else is refused, as there.
    """

    needs_record: ClassVar[bool] = True

    def __call__(self, topic: str, role: Role, record: str | None = None) -> Subject:
        return Subject(_named(record, topic, role, "RecordSubject"))


@dataclass(frozen=True, slots=True)
class TopicRecordSubject:
    """`<topic>-<the record's full name>` (TopicRecordNameStrategy); names as for `RecordSubject`."""

    needs_record: ClassVar[bool] = True

    def __call__(self, topic: str, role: Role, record: str | None = None) -> Subject:
        return Subject(f"{topic}-{_named(record, topic, role, 'TopicRecordSubject')}")


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


@dataclass(frozen=True, slots=True)
class ChangelogSubject:
    """The subject of a Kafka Streams store's changelog: the phantom one where the source topic is reused."""

    application: str
    """The `application.id`."""
    store: str
    """The store's name."""

    def __call__(self, topic: str, role: Role) -> Subject:
        return subject_for(changelog_topic(self.application, self.store), role)


@dataclass(frozen=True, slots=True)
class TemplateSubject:
    """A text with `{topic}`, `{role}` (`key`, `value`) and `{record}` (the record's full name) in it.

    `{topic}-{role}` is `TopicSubject`, `{record}` is `RecordSubject`, `:.staging:{topic}-{role}` the same in a context.
    Braces of the subject itself are doubled.

    :raises UsageError: if a placeholder is another one, has a format, or a brace stands alone.
    """

    template: str
    """The text."""

    def __post_init__(self) -> None:
        if not self.template:
            raise UsageError("A subject template is empty. Give one, such as TemplateSubject('{topic}-{role}').")
        for name, plain in _placeholders(self.template):
            if name not in _PLACEHOLDERS or not plain:
                raise UsageError(
                    f"The subject template {self.template!r} has the placeholder {{{name}}}"
                    f"{'' if plain else ' with a format or conversion'}; there are {{topic}}, {{role}} and {{record}}. "
                    "Double the braces that belong to the subject itself."
                )

    @property
    def needs_record(self) -> bool:
        """True if `{record}` is in the text."""
        return any(name == "record" for name, _ in _placeholders(self.template))

    def __call__(self, topic: str, role: Role, record: str | None = None) -> Subject:
        name = _named(record, topic, role, f"TemplateSubject({self.template!r})") if self.needs_record else ""
        return Subject(self.template.format(topic=topic, role=role.value, record=name))


SubjectTable: TypeAlias = "Mapping[str, str] | Callable[[str], str | None]"
"""Topic → subject, as a table or as a function; a function says None where it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MappedSubject:
    """Topic → subject by a table or a function, for values and for keys.

    A topic that they do not have is refused unless there is a fallback: so no schema lands under an unintended
    subject. Picklable with tables, and with functions that are.
    """

    value: SubjectTable | None = None
    """The subjects of values; None where values are not expected."""
    key: SubjectTable | None = None
    """The subjects of keys; None where keys are not expected."""
    fallback: SubjectStrategy | None = None
    """What is asked about the other topics and halves; None to refuse them."""

    def __post_init__(self) -> None:
        for name in ("value", "key"):
            table = getattr(self, name)
            if isinstance(table, Mapping):  # a copy: nobody changes a strategy that is in use
                object.__setattr__(self, name, dict(table))

    @property
    def needs_record(self) -> bool:
        """True if the fallback does."""
        return self.fallback is not None and needs_record(self.fallback)

    def __call__(self, topic: str, role: Role, record: str | None = None) -> Subject:
        table = self.value if role is Role.VALUE else self.key
        subject = None if table is None else table.get(topic) if isinstance(table, Mapping) else table(topic)
        if subject is not None:
            return Subject(subject)
        if self.fallback is None:
            raise UsageError(
                f"No subject is mapped for the {role.value} of topic {topic!r}. Add the topic to "
                f"MappedSubject({role.value}=…), or pass a fallback such as TopicSubject()."
            )
        return subject_of(self.fallback, topic, role, lambda: record)

    def __hash__(self) -> int:
        return hash((type(self), self.fallback))


@dataclass(frozen=True, slots=True)
class ApartFromTopicSubject:
    """Another strategy, and a refusal where that gives the topic's own subject.

    For a serializer of internal schemas, which is called with the names of topics that others write: the schema never
    lands under `<topic>-value`, to become the version that their next one is compared with.
    """

    strategy: SubjectStrategy
    """The strategy."""

    @property
    def needs_record(self) -> bool:
        """True if the strategy does."""
        return needs_record(self.strategy)

    def __call__(self, topic: str, role: Role, record: str | None = None) -> Subject:
        subject = subject_of(self.strategy, topic, role, lambda: record)
        if same_subject(subject, subject_for(topic, role)):
            raise UsageError(
                f"{subject!r} is the subject of topic {topic!r} itself, and others write its {role.value}s, too. Map "
                "the topic to another subject (MappedSubject, TemplateSubject, ChangelogSubject). If the schema is "
                "meant for their subject, drop ApartFromTopicSubject."
            )
        return subject


_PLACEHOLDERS: Final = ("topic", "role", "record")


def _placeholders(template: str) -> Iterator[tuple[str, bool]]:
    """The placeholders, each with whether it stands plain."""
    try:
        parts = list(Formatter().parse(template))
    except ValueError as error:
        raise UsageError(
            f"The subject template {template!r} cannot be read ({error}). Double the braces that belong to the subject "
            "itself."
        ) from None
    for _, name, format_, conversion in parts:
        if name is not None:
            yield name, not format_ and conversion is None


def _named(record: str | None, topic: str, role: Role, strategy: str) -> str:
    if not record:
        raise NoSubjectError(
            f"{strategy} builds the subject from a record's name, but the {role.value} of topic {topic!r} has no "
            "record name: only an Avro record and a JSON Schema with a title have one. Name the schema's record, or "
            "use another strategy, such as TopicSubject()."
        )
    return record


Changelog: Final = ChangelogSubject
"""`Changelog(application_id, store)`: `ChangelogSubject` for short."""
