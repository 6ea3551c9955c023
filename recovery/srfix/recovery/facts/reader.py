"""The reader of a store and its version of Kafka Streams, as far as the person said; a check's questions to the
registry; and what a plan keeps of an application for the advice after its repair.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final

import msgspec

from srfix.recovery.cluster.answers import GroupState
from srfix.recovery.commands import CommandLine
from srfix.recovery.documents import Part
from srfix.recovery.facts.refusals import RegistrationRefusal, foreseen_refusals
from srfix.recovery.facts.stores import Membership, RoleFacts
from srfix.recovery.facts.subject_state import SubjectState, read_subject_state
from srfix.recovery.facts.survey import ask_membership
from srfix.recovery.findings import Severity
from srfix.recovery.registry import ReadableRegistry
from srfix.serde.errors import UsageError
from srfix.serde.subjects.names import DEFAULT_CONTEXT, Subject, Topic
from srfix.serde.wire import SchemaId


class Reader(Enum):
    """The reader of the store."""

    CONNECT = "connect"
    """Looks the version up under the subject: Connect's AvroConverter, ksqlDB."""
    PLAIN = "plain"
    """Reads by id, with no look-up of the version: KafkaAvroDeserializer, SpecificAvroSerde. Such readers
    name their subject when they ask for the id, which matters in a named context."""
    DUAL = "dual"
    """Reads with the dual-subject fallback: srfix, ksqlDB's StaticTopicSerde."""
    UNKNOWN = "unknown"
    """Nobody named the reader."""

    @classmethod
    def of_name(cls, name: str, version: StreamsVersion | None) -> Reader:
        """The reader that a person means by a name; for ksqlDB, the version of its Kafka Streams decides. Up to
        ksqlDB 0.10.1 (Kafka Streams 2.5), the reader looks versions up only under the changelog's subject. ksqlDB 0.10.2
        tries a second name, but that is the changelog's name again. The reader of 0.11 (2.7) and later asks the
        source's subject, too (ksql pull 5823). Without a version, only `--ksqldb` can show which reader it is.
        """
        if name != "ksqldb":
            return cls(name)
        if version is None:
            return cls.UNKNOWN
        return cls.DUAL if version.asks_the_source_subject else cls.CONNECT


@dataclass(frozen=True, slots=True, order=True)
class StreamsVersion:
    """A Kafka Streams version, as far as it matters here."""

    major: int
    minor: int
    patch: int | None = field(default=None, compare=False)
    """None if nobody said. It does not change srfix's answers, and is shown as the person gave it."""

    @classmethod
    def parse(cls, text: str) -> StreamsVersion:
        """Reads `2.6` or `2.6.3`.

        :raises UsageError: if the text is no version.
        """
        parts = text.split(".")
        if len(parts) < 2 or not all(part.isdecimal() for part in parts[:2]):
            raise UsageError(f"--streams-version {text}: expected the Kafka Streams version, such as 2.6.3 or 2.7.")
        patch = int(parts[2]) if len(parts) > 2 and parts[2].isdecimal() else None
        return cls(int(parts[0]), int(parts[1]), patch)

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}{'' if self.patch is None else f'.{self.patch}'}"

    @property
    def asks_the_source_subject(self) -> bool:
        """True for the version with the fix of KAFKA-10179, and for later versions."""
        return self >= WITH_FIX

    @property
    def restores_through_processors(self) -> bool:
        """True if a restore of `addGlobalStore` runs its processor (KAFKA-7663, KIP-1024)."""
        return self >= StreamsVersion(3, 8)


def range_in_words(oldest: StreamsVersion | None, newest: StreamsVersion | None) -> str | None:
    """`2.4 to 3.2`, `3.3 or later`, `up to 2.3`; None without a bound."""
    if oldest == newest:
        return None if oldest is None else str(oldest)
    if oldest is not None and newest is not None:
        return f"{oldest} to {newest}"
    return f"up to {newest}" if oldest is None else f"{oldest} or later"


WITH_FIX: Final = StreamsVersion(2, 7)
"""The first Kafka Streams with the fix of KAFKA-10179 (pull request 8902): it asks the source's own subject."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckContext:
    """What the person said of the reader and of Kafka Streams, together with the registry."""

    registry: ReadableRegistry
    """The registry, for questions that only some checks ask."""
    reader: Reader = Reader.UNKNOWN
    streams_version: StreamsVersion | None = None
    """The version of Kafka Streams that runs; None if nobody said."""
    no_auto_register: bool = False
    """True if the person said that the application's serializers register no schemas (auto.register.schemas=false)."""
    command_line: CommandLine = field(default_factory=CommandLine)
    """The options that the person gave on the command line, for the commands that findings print."""
    memberships: dict[tuple[Subject, SchemaId], Membership] = field(default_factory=dict, repr=False, compare=False)
    """Remembered answers of `membership`, because several checks ask the same."""

    @property
    def is_connect(self) -> bool:
        """True if the reader is known to look versions up under the subject."""
        return self.reader is Reader.CONNECT

    @property
    def is_dual(self) -> bool:
        """True if the reader is known to fall back to a second subject."""
        return self.reader is Reader.DUAL

    @property
    def asks_the_source_subject(self) -> bool:
        """True if the Kafka Streams that runs is known, and asks the source's own subject."""
        return self.streams_version is not None and self.streams_version.asks_the_source_subject

    def does_without(self, subject: Subject) -> bool:
        """True if this reader needs no version under the subject that it asks. A plain deserializer needs none in the
        default context. In a named context the registry returns the schema of an id only if the request names a subject
        that holds the id, and Confluent's deserializers name their own subject in this request
        (`getSchemaBySubjectAndId`; seen on 7.9.9 and 8.3.1).
        """
        if self.reader is Reader.PLAIN:
            return self.registry.context_of(subject) == DEFAULT_CONTEXT
        return self.reader is Reader.DUAL

    def fails_by_id(self, subject: Subject) -> bool:
        """True if the reader is a plain deserializer, and it fails on the id under this subject."""
        return self.reader is Reader.PLAIN and not self.does_without(subject)

    def lookup_severity(self, subject: Subject) -> Severity:
        """How bad it is for this reader if a phantom subject lacks a version."""
        if self.does_without(subject):
            return Severity.NOTE
        return Severity.NOTE if self.asks_the_source_subject else Severity.BROKEN

    def membership(self, subject: Subject, schema_id: SchemaId) -> Membership:
        """Whether the schema behind an id is registered under a subject, asked as the failing reader asks."""
        if (subject, schema_id) not in self.memberships:
            self.memberships[subject, schema_id] = ask_membership(self.registry, subject, schema_id)
        return self.memberships[subject, schema_id]

    def state_of(self, subject: Subject) -> SubjectState:
        return read_subject_state(self.registry, subject)

    def refusals(self, role: RoleFacts, registrations: Iterable[Membership]) -> tuple[RegistrationRefusal, ...]:
        """The registrations under the phantom subject that the registry would refuse now."""
        return foreseen_refusals(self.registry, role, registrations)


class KnownStore(msgspec.Struct, frozen=True, kw_only=True):
    """A store of the application."""

    name: str = msgspec.field(name="store")
    topic: Topic | None
    """The topic that it restores from; None while undecided."""
    is_global: bool = msgspec.field(name="global", default=False)
    """True if it is known to belong to a global table: committed offsets do not matter, and there are no standbys."""
    context: str = DEFAULT_CONTEXT
    """The registry context in which its serdes look up schemas, named by the subjects or by the registry's URL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What is known of an application; None always means "not known"."""

    application: str
    stores: tuple[KnownStore, ...] = ()
    """Its stores that the plan or the findings name, by name."""
    reader: Reader = Reader.UNKNOWN
    oldest: StreamsVersion | None = None
    newest: StreamsVersion | None = None
    state: str | None = None
    members: int | None = None
    problem: str | None = None
    query: str | None = None
    query_state: str | None = None
    ksqldb_version: str | None = None
    """The version of the ksqlDB that runs the query, as the server says it: `0.10.1`, or Confluent Platform's `6.0.1`."""

    @property
    def streams(self) -> str | None:
        return range_in_words(self.oldest, self.newest)

    def is_before(self, version: StreamsVersion) -> bool | None:
        """True if every possible Kafka Streams is older than `version`, False if none is, None if that is not known."""
        if self.newest is not None and self.newest < version:
            return True
        return False if self.oldest is not None and self.oldest >= version else None

    @property
    def needs_no_version(self) -> bool:
        """True if no reader needs a version under the phantom subject (see `CheckContext.does_without`)."""
        if self.reader is Reader.PLAIN:
            return all(store.context == DEFAULT_CONTEXT for store in self.stores)
        return self.reader is Reader.DUAL

    @property
    def why_nothing_fails(self) -> str:
        if self.needs_no_version:
            return f"a {self.reader.value} reader does not need the phantom subject's versions"
        if self.is_before(WITH_FIX) is False:
            return f"Kafka Streams {self.streams} asks the source's own subject"
        return "the reader of these stores does not need the phantom subject's versions"

    def with_group(self, group: GroupState) -> Circumstances:
        return replace(self, state=group.state, members=group.members, problem=group.problem)

    def of_stores(self, names: Collection[str]) -> Circumstances:
        return replace(self, stores=tuple(store for store in self.stores if store.name in names))


def concerned(applications: Iterable[Circumstances], stores: Iterable[tuple[str, str]]) -> tuple[Circumstances, ...]:
    """The applications that some of these (application, store) pairs belong to, each with only these stores."""
    names: dict[str, set[str]] = {}
    for application, store in stores:
        names.setdefault(application, set()).add(store)
    return tuple(
        circumstances.of_stores(names[circumstances.application])
        for circumstances in applications
        if circumstances.application in names
    )


class StreamsRange(Part):
    """The Kafka Streams versions that are possible."""

    oldest: str | None
    newest: str | None


class GroupCircumstances(Part):
    """The application's consumer group."""

    state: str | None
    members: int | None
    problem: str | None


class KsqldbCircumstances(Part):
    """The ksqlDB query that the application is."""

    query: str | None
    query_state: str | None
    ksqldb_version: str | None = msgspec.field(name="version")


class KnownApplication(Part):
    """What is known of an application."""

    application: str
    stores: list[KnownStore]
    reader: Reader
    streams: StreamsRange
    group: GroupCircumstances
    ksqldb: KsqldbCircumstances


def known_application(circumstances: Circumstances) -> KnownApplication:
    return KnownApplication.of(
        circumstances,
        streams=StreamsRange(oldest=_text(circumstances.oldest), newest=_text(circumstances.newest)),
        group=GroupCircumstances.of(circumstances),
        ksqldb=KsqldbCircumstances.of(circumstances),
    )


def circumstances_of(document: KnownApplication) -> Circumstances:
    return Circumstances(
        application=document.application,
        stores=tuple(document.stores),
        reader=document.reader,
        oldest=_version(document.streams.oldest),
        newest=_version(document.streams.newest),
        **msgspec.structs.asdict(document.group),
        **msgspec.structs.asdict(document.ksqldb),
    )


def _text(version: StreamsVersion | None) -> str | None:
    return None if version is None else str(version)


def _version(text: str | None) -> StreamsVersion | None:
    if text is None:
        return None
    try:
        return StreamsVersion.parse(text)
    except UsageError:
        raise ValueError(f"{text!r} is not a version of Kafka Streams") from None
