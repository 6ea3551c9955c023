"""What is known of one application around a repair: its reader, its versions, and whether it runs. It is gathered when
a plan is made, and kept in the plan, so that the advice after the repair fits this application.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from msgspec import Struct, field

from srfix.recovery.cluster.answers import GroupState
from srfix.recovery.documents import Part
from srfix.recovery.facts.reader import WITH_FIX, Reader, StreamsVersion, range_in_words
from srfix.serde.errors import UsageError
from srfix.serde.subjects.names import DEFAULT_CONTEXT, Topic


class KnownStore(Struct, frozen=True, kw_only=True):
    """A store of the application."""

    name: str = field(name="store")
    topic: Topic | None
    """The topic that it restores from; None while undecided."""
    is_global: bool = field(name="global", default=False)
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
    ksqldb_version: str | None = field(name="version")


class KnownApplication(Part):
    """What is known of an application."""

    application: str
    stores: list[KnownStore]
    reader: Reader
    streams: StreamsRange
    group: GroupCircumstances
    ksqldb: KsqldbCircumstances


def known_application(circumstances: Circumstances) -> KnownApplication:
    return KnownApplication(
        application=circumstances.application,
        stores=list(circumstances.stores),
        reader=circumstances.reader,
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
        state=document.group.state,
        members=document.group.members,
        problem=document.group.problem,
        query=document.ksqldb.query,
        query_state=document.ksqldb.query_state,
        ksqldb_version=document.ksqldb.ksqldb_version,
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
