"""Topic, role and, where it is needed, record name → subject."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from string import Formatter
from typing import ClassVar, Final, Protocol, TypeAlias, runtime_checkable

from srfix.serde.errors import NoSubjectError, UsageError
from srfix.serde.subjects.names import Role, Subject, SubjectStrategy, changelog_topic, same_subject, subject_for


@runtime_checkable
class RecordSubjectStrategy(Protocol):
    """A strategy that may need the record's name. It is called when the schema is known."""

    @property
    def needs_record(self) -> bool:
        """True if it needs the name: it is then called with three arguments."""

    def __call__(self, topic: str, role: Role, record: str | None = None) -> Subject:
        """The subject; `record` comes from `srfix.serde.formats.table.record_name`; None for a schema without a
        name."""


def needs_record(strategy: SubjectStrategy) -> bool:
    """True if `subject_of` must call the strategy when the schema is known."""
    return isinstance(strategy, RecordSubjectStrategy) and strategy.needs_record


def subject_of(strategy: SubjectStrategy, topic: str, role: Role, record: Callable[[], str | None]) -> Subject:
    """The subject from any strategy. The record's name is computed only for strategies that need it."""
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

    The name is an Avro record's full name or a JSON Schema's title. Any other schema is refused, as in Confluent's
    strategy.
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
    """The subject of values; None if there are no values."""
    key: str | None = None
    """The subject of keys; None if there are no keys."""

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
    """The subject of a Kafka Streams store's changelog; if the source topic is reused, the phantom subject."""

    application: str
    """The `application.id`."""
    store: str
    """The store's name."""

    def __call__(self, topic: str, role: Role) -> Subject:
        return subject_for(changelog_topic(self.application, self.store), role)


@dataclass(frozen=True, slots=True)
class TemplateSubject:
    """A text with the placeholders `{topic}`, `{role}` (`key`, `value`) and `{record}` (the record's full name).

    `{topic}-{role}` is `TopicSubject`, `{record}` is `RecordSubject`, and `:.staging:{topic}-{role}` is `TopicSubject`
    in a context. Double the braces that belong to the subject itself.

    :raises UsageError: if a placeholder is unknown or has a format, or a single brace occurs.
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
"""Topic → subject, as a table or as a function; a function returns None if it has no subject."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MappedSubject:
    """Topic → subject, from a table or a function, for values and for keys.

    A topic without an entry is refused unless there is a fallback, so that no schema is registered under an unintended
    subject. Picklable with tables, and with picklable functions.
    """

    value: SubjectTable | None = None
    """The subjects of values; None if there are no values."""
    key: SubjectTable | None = None
    """The subjects of keys; None if there are no keys."""
    fallback: SubjectStrategy | None = None
    """The strategy for other topics and halves; None to refuse them."""

    def __post_init__(self) -> None:
        for name in ("value", "key"):
            table = getattr(self, name)
            if isinstance(table, Mapping):  # a copy, so that nobody can change a strategy in use
                object.__setattr__(self, name, dict(table))

    @property
    def needs_record(self) -> bool:
        """True if the fallback needs the name."""
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
    """Wraps a strategy, and refuses its subject if that is the topic's own.

    Use it for a serializer of internal schemas that is called with the names of other applications' topics. Then the
    schema is never registered under `<topic>-value`, where the registry would compare the other application's next
    schema with it.
    """

    strategy: SubjectStrategy
    """The strategy."""

    @property
    def needs_record(self) -> bool:
        """True if the strategy needs the name."""
        return needs_record(self.strategy)

    def __call__(self, topic: str, role: Role, record: str | None = None) -> Subject:
        subject = subject_of(self.strategy, topic, role, lambda: record)
        if same_subject(subject, subject_for(topic, role)):
            raise UsageError(
                f"{subject!r} is the subject of topic {topic!r} itself, and other applications may also write "
                f"{role.value}s of this topic. Map the topic to another subject (MappedSubject, TemplateSubject, "
                "ChangelogSubject). If you want to register the schema there nevertheless, leave out ApartFromTopicSubject."
            )
        return subject


_PLACEHOLDERS: Final = ("topic", "role", "record")


def _placeholders(template: str) -> Iterator[tuple[str, bool]]:
    """The placeholders, and for each one whether it is plain."""
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
"""`Changelog(application_id, store)`: a short name for `ChangelogSubject`."""
