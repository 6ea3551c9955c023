"""What guard is told, what it sees, and what it foretells: frozen values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from srfix.recovery.commands import Given
from srfix.recovery.facts.reader import Reader, StreamsVersion
from srfix.recovery.findings import Severity, Skipped, Weight
from srfix.recovery.guard.optimization import Optimization
from srfix.serde.schemas.models import Schema
from srfix.serde.subjects.names import (
    DEFAULT_CONTEXT,
    Role,
    Subject,
    Topic,
    changelog_topic,
    join_context,
    subject_for,
)
from srfix.serde.wire import SchemaId


class Certainty(Enum):
    """How certain a forecast is, the most certain first."""

    CERTAIN = "certain"
    """It follows from what was given and seen."""
    POSSIBLE = "possible"
    """What was seen speaks for it; what decides it (the reader, what the application writes) is not known here."""
    UNTOLD = "cannot be told from here"
    """A version or a setting decides whether it happens at all, and nobody said which it is."""
    EXCLUDED = "excluded"
    """It will not happen."""


_ORDER = tuple(Certainty)


def weakest(certainties: Iterable[Certainty]) -> Certainty:
    """The least certain of several things that must all hold."""
    return max(certainties, key=_ORDER.index, default=Certainty.CERTAIN)


class StoreKind(Enum):
    """What a store is in the printed topology."""

    TABLE = "table"
    """Made straight from one topic, which may serve as its changelog."""
    GLOBAL = "global"
    """A global store: it never has a changelog topic."""
    OTHER = "other"
    """Any other: with a changelog of its own, or with none."""


class Wiring(Enum):
    """Where a store restores from."""

    REUSED = "reuses the source topic"
    GLOBAL = "global store"
    OWN = "own changelog"
    NONE = "no logging"


class Moment(Enum):
    """What brings about what is foretold."""

    RESTORE = "restore"
    """The next restore: a lost state directory, a rebalance, a standby that takes over."""
    UPGRADE = "upgrade"
    """The change to the version of `--to`."""
    PUT = "put"
    """The next record that the application stores."""
    SCHEMA = "schema"
    """The schema that is about to be registered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedStore:
    """A store of which something is foretold."""

    application: str
    """The prefix of its internal topics: the application.id, with a named topology's name behind it."""
    name: str
    kind: StoreKind
    topic: Topic | None = None
    """The topic that it is made of; None for an operator's store."""
    weight: Weight = Weight.CONCLUSIVE
    """How certain it is that it is what `kind` says, and made of `topic`."""
    origin: str
    """The topology's file, ksqlDB's URL, or that it was found on the cluster."""
    context: str = DEFAULT_CONTEXT
    """The registry context of its subjects."""
    is_ksqldb: bool = False
    """True if it is that of a ksqlDB query: such a table is always built with optimisation."""
    falls_back: bool | None = None
    """For ksqlDB, whether its serde asks a second subject (ksql#5823); None where the server's version is not known."""
    has_left_a_phantom: bool = False
    """True if it was found on the cluster, by a subject of its changelog's name and no such topic."""
    may_have_own_processor: bool = False
    """True for a global store whose processor a person named: one that may transform what it stores."""

    @property
    def changelog(self) -> Topic:
        """The changelog topic by its name, whether or not it exists."""
        return changelog_topic(self.application, self.name)

    def changelog_subject(self, role: Role) -> Subject:
        """The subject that is named after the changelog: the phantom, where that is no topic."""
        return join_context(self.context, subject_for(self.changelog, role))

    def source_subject(self, role: Role) -> Subject:
        """The subject of the topic that it is made of.

        :raises ValueError: if it is made of none.
        """
        if self.topic is None:
            raise ValueError(f"store {self.name} is made of no topic")
        return join_context(self.context, subject_for(self.topic, role))

    def __str__(self) -> str:
        return f"{self.application}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PseudoTopic:
    """A name of a foreign-key join that its serdes are handed, and that is never a topic."""

    application: str
    topic: Topic
    """The name."""
    role: Role
    """Which serde is handed it."""
    origin: str
    """The topology's file, or ksqlDB's URL."""

    @property
    def subject(self) -> Subject:
        """The subject that follows."""
        return subject_for(self.topic, self.role)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumed:
    """What a person said, and nobody checked."""

    running: StreamsVersion | None = None
    """The Kafka Streams that runs, or will; None if nobody said."""
    to: StreamsVersion | None = None
    """The one that it will be changed to; None if no change is asked about."""
    optimization: Optimization = field(default_factory=Optimization)
    """`topology.optimization`, as far as it is known."""
    reader: Reader = Reader.UNKNOWN
    is_of_one_store: bool = False
    """True if `reader` was said of one store, by its name: of a whole application it may hold for most stores only."""
    no_auto_register: bool = False
    """True if the application's serializers register no schemas."""
    given: Given = field(default_factory=Given)
    """What was given on the command line, for the commands that are printed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSchema:
    """A schema that is about to be registered."""

    subject: Subject
    """Where it will be registered."""
    schema: Schema
    origin: str
    """The file, for the words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectForecast:
    """Whether a subject without a topic comes about, with the first record that is put in the store."""

    subject: Subject
    role: Role
    application: str
    store: str | None
    """None for a foreign-key join's pseudo-topic."""
    why: str
    """What the subject is, in a few words."""
    version: StreamsVersion | None
    """The Kafka Streams for which this is said; None where no version was given."""
    certainty: Certainty
    exists: bool | None = None
    """Whether the registry has it already; None if no registry was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreForecast:
    """What a store does under one version of Kafka Streams."""

    store: GuardedStore
    version: StreamsVersion | None
    """None where no version was given."""
    wirings: tuple[Wiring, ...]
    """Where it restores from; several where nobody said what decides it."""
    handed: tuple[Topic, ...]
    """The topics that its serdes may be handed."""
    loads: tuple[str, ...]
    """What a restore puts in it, by wiring."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Foretold:
    """One thing that will, or may, go wrong, or that is worth knowing before it happens."""

    code: str | None
    """As in the catalogue; None where that has no code for it."""
    severity: Severity
    certainty: Certainty
    moment: Moment
    application: str
    """Empty where it concerns a subject and no application."""
    store: str
    """Empty likewise."""
    role: Role
    subject: Subject
    """The subject that will be asked, or that refuses."""
    topic: Topic | None
    """The topic that the store is made of."""
    schema_ids: tuple[SchemaId, ...] = ()
    """The ids at fault, as far as they are known, ascending."""
    explanation: str
    first: tuple[str, ...] = ()
    """What to do first, in sentences, in order."""

    @property
    def is_serious(self) -> bool:
        """True if it is more than a note."""
        return self.severity is not Severity.NOTE

    @property
    def fails(self) -> bool:
        """True if it is a reason to stop: serious, and certain or possible."""
        return self.is_serious and self.certainty in (Certainty.CERTAIN, Certainty.POSSIBLE)

    @property
    def is_open(self) -> bool:
        """True if it is serious and cannot be told."""
        return self.is_serious and self.certainty is Certainty.UNTOLD


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """All that is foretold."""

    assumed: Assumed
    stores: tuple[StoreForecast, ...]
    subjects: tuple[SubjectForecast, ...]
    foretold: tuple[Foretold, ...]
    """Worst first, the most certain first within."""
    skipped: tuple[Skipped, ...]
    unasked: tuple[Skipped, ...] = ()
    """What was not looked at because nobody handed it over or named where it is. No part of the outcome."""
    ignored: tuple[Foretold, ...] = ()
    """What a person has acknowledged (`--ignore`); no part of the outcome."""
    schema: NewSchema | None = None
    """The schema that was asked about."""
    has_cluster: bool = False
    """True if a cluster was looked at."""
    has_registry: bool = False
    """True if a registry was asked."""
    has_rows: bool = False
    """True if rows of a store were read on disk."""

    @property
    def fails(self) -> bool:
        """True if something serious is certain or possible."""
        return any(each.fails for each in self.foretold)

    @property
    def is_open(self) -> bool:
        """True if nothing of the kind is, but something serious cannot be told, or was not looked at."""
        unseen = any(each.could_hide for each in self.skipped)
        return not self.fails and (unseen or any(each.is_open for each in self.foretold))
