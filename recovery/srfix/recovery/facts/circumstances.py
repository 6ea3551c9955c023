"""What is known of one application around a repair: what reads, which versions run, whether anything runs.

It is gathered when a plan is made, and stands in the plan, so that what is said after the repair is of this application.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from srfix.recovery.cluster.answers import GroupState
from srfix.recovery.facts.reader import WITH_FIX, Reader, StreamsVersion, range_in_words
from srfix.serde.schemas.models import Json
from srfix.serde.subjects.names import DEFAULT_CONTEXT, Topic


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownStore:
    """A store of the application."""

    name: str
    topic: Topic | None
    """The topic that it restores from; None while undecided."""
    is_global: bool = False
    """True if it is known as a global table's: committed offsets play no part, and there are no standbys."""
    context: str = DEFAULT_CONTEXT
    """The registry context in which its serdes look up, named by the subjects or by the registry's URL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What is known of an application; None is "not known" throughout."""

    application: str
    stores: tuple[KnownStore, ...] = ()
    """Its stores that are spoken of, by name."""
    reader: Reader = Reader.UNKNOWN
    """What reads them, if it is the same everywhere."""
    oldest: StreamsVersion | None = None
    """The oldest Kafka Streams that it can run on."""
    newest: StreamsVersion | None = None
    """The newest one."""
    state: str | None = None
    """Its group's state, as Kafka names it."""
    members: int | None = None
    problem: str | None = None
    """Why group and members are not known."""
    query: str | None = None
    """The id of the ksqlDB query that it is; None if it is none."""
    query_state: str | None = None
    """The query's state as ksqlDB says it: `RUNNING`, `ERROR`, …"""
    ksqldb_version: str | None = None
    """Which ksqlDB runs the query, as the server says it: `0.10.1`, or Confluent Platform's `6.0.1`."""

    @property
    def streams(self) -> str | None:
        """The Kafka Streams versions that are possible, in words; None if nothing is known."""
        return range_in_words(self.oldest, self.newest)

    def is_before(self, version: StreamsVersion) -> bool | None:
        """True if every possible Kafka Streams is older than `version`, False if none is, None if it is not known."""
        if self.newest is not None and self.newest < version:
            return True
        return False if self.oldest is not None and self.oldest >= version else None

    @property
    def needs_no_version(self) -> bool:
        """True if what reads the stores needs no version under the phantom subject: a plain reader does not in the default
        context (see `CheckContext.does_without`), a dual-subject one nowhere."""
        if self.reader is Reader.PLAIN:
            return all(store.context == DEFAULT_CONTEXT for store in self.stores)
        return self.reader is Reader.DUAL

    @property
    def why_nothing_fails(self) -> str:
        """Why a version that is missing under a phantom subject makes nothing fail, in a clause."""
        if self.needs_no_version:
            return f"a {self.reader.value} reader does not need the phantom subject's versions"
        if self.is_before(WITH_FIX) is False:
            return f"Kafka Streams {self.streams} asks the source's own subject"
        return "what reads these stores does not need the phantom subject's versions"

    def with_group(self, found: GroupState) -> Circumstances:
        """The same with what the cluster says of the group now."""
        return replace(self, state=found.state, members=found.members, problem=found.problem)

    def of_stores(self, names: Collection[str]) -> Circumstances:
        """The same with these stores alone."""
        return replace(self, stores=tuple(store for store in self.stores if store.name in names))


def concerned(applications: Iterable[Circumstances], stores: Iterable[tuple[str, str]]) -> tuple[Circumstances, ...]:
    """The applications that some of these (application, store) pairs belong to, each with these stores alone."""
    names: dict[str, set[str]] = {}
    for application, store in stores:
        names.setdefault(application, set()).add(store)
    return tuple(
        circumstances.of_stores(names[circumstances.application])
        for circumstances in applications
        if circumstances.application in names
    )


def circumstances_document(known: Circumstances) -> dict[str, Json]:
    """The circumstances as they stand in a plan."""
    return {
        "application": known.application,
        "stores": [
            {"store": store.name, "topic": store.topic, "global": store.is_global, "context": store.context}
            for store in known.stores
        ],
        "reader": known.reader.value,
        "streams": {"oldest": _text(known.oldest), "newest": _text(known.newest)},
        "group": {"state": known.state, "members": known.members, "problem": known.problem},
        "ksqldb": {"query": known.query, "query_state": known.query_state, "version": known.ksqldb_version},
    }


def circumstances_from(document: Json) -> Circumstances:
    """Reads what `circumstances_document` wrote.

    :raises ValueError: if it is something else.
    """
    match document:
        case {
            "application": str(application),
            "stores": list(stores),
            "reader": str(reader),
            "streams": {"oldest": (None | str()) as oldest, "newest": (None | str()) as newest},
            "group": {
                "state": (None | str()) as state,
                "members": (None | int()) as members,
                "problem": (None | str()) as problem,
            },
            "ksqldb": {
                "query": (None | str()) as query,
                "query_state": (None | str()) as query_state,
                "version": (None | str()) as ksqldb_version,
            },
        }:
            return Circumstances(
                application=application,
                stores=tuple(_store(store) for store in stores),
                reader=Reader(reader),
                oldest=_version(oldest),
                newest=_version(newest),
                state=state,
                members=members,
                problem=problem,
                query=query,
                query_state=query_state,
                ksqldb_version=ksqldb_version,
            )
    raise ValueError("what is known of an application has another form")


def _store(document: Json) -> KnownStore:
    match document:
        case {"store": str(name), "topic": (None | str()) as topic, "global": bool(is_global), **rest}:
            return KnownStore(
                name=name,
                topic=None if topic is None else Topic(topic),
                is_global=is_global,
                context=str(rest.get("context", DEFAULT_CONTEXT)),  # plans of srfix before it was written down
            )
    raise ValueError("a store has another form")


def _text(version: StreamsVersion | None) -> str | None:
    return None if version is None else str(version)


def _version(text: str | None) -> StreamsVersion | None:
    if text is None:
        return None
    major, _, minor = text.partition(".")
    return StreamsVersion(int(major), int(minor))
