"""What a person hands over besides cluster and registry: state directories, printed topologies, ksqlDB's answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from srfix.recovery.facts.table_sources import TableSource
    from srfix.recovery.ksqldb.models import KsqldbAnswers, QueryDescription
    from srfix.recovery.state.directory import ApplicationState, StoreOnDisk, Unreadable
    from srfix.recovery.topology import Topology


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenTopology:
    topology: Topology
    origin: str
    application: str | None
    """Whose it is; None if nobody said, for the text does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Supplied:
    """All of it, read; what could not be read is in the parts themselves."""

    state: tuple[ApplicationState, ...] = ()
    shut: tuple[Unreadable, ...] = ()
    """The folders beside them that may be applications' too, and that this user may not look into."""
    topologies: tuple[GivenTopology, ...] = ()
    ksqldb: tuple[KsqldbAnswers, ...] = ()

    def with_owners(self) -> Supplied:
        """The same, with each topology of which nobody said whose it is given to the application whose stores on disk are all
        in it; not where that holds for several, or for none.
        """
        on_disk: dict[str, set[str]] = {}
        for store in self.stores_on_disk():
            on_disk.setdefault(store.prefix, set()).add(store.name)

        def owned(topology: GivenTopology) -> GivenTopology:
            if topology.application is not None:
                return topology
            owners = [name for name, stores in on_disk.items() if stores <= set(topology.topology.stores)]
            return replace(topology, application=owners[0]) if len(owners) == 1 else topology

        return replace(self, topologies=tuple(map(owned, self.topologies)))

    @property
    def applications(self) -> tuple[str, ...]:
        of_topologies = {topology.application for topology in self.topologies if topology.application is not None}
        return tuple(sorted(self.applications_by_themselves | of_topologies))

    @property
    def applications_by_themselves(self) -> frozenset[str]:
        """Those that state directories and ksqlDB name; of a topology's a person said whose it is."""
        on_disk = {store.prefix for store in self.stores_on_disk()} | {state.application for state in self.state}
        named = (answers.application_of(query) for answers in self.ksqldb for query in answers.queries)
        return frozenset(on_disk) | frozenset(name for name in named if name)

    def stores_on_disk(self) -> Iterator[StoreOnDisk]:
        """Every store of every state directory; one that lies in several of them comes several times."""
        from srfix.recovery.state.directory import stores_on_disk

        for application in self.state:
            yield from stores_on_disk(application)

    def tables(self, application: str) -> Iterator[tuple[GivenTopology, TableSource]]:
        """The tables of the topologies that are, or may be, those of an application; of ksqlDB's queries too."""
        from srfix.recovery.facts.table_sources import table_sources

        for topology in self.topologies:
            if topology.application in (None, application):
                yield from ((topology, table) for table in table_sources(topology.topology))
        for answers, query in self.queries(application):
            if query.topology is not None:
                topology = GivenTopology(topology=query.topology, origin=answers.origin, application=application)
                yield from ((topology, table) for table in table_sources(query.topology))

    def stores_of_topologies(self, application: str) -> frozenset[str]:
        own = (printed.topology for printed in self.topologies if printed.application == application)
        return frozenset(store for topology in own for store in topology.stores)

    def queries(self, application: str) -> Iterator[tuple[KsqldbAnswers, QueryDescription]]:
        for answers in self.ksqldb:
            yield from ((answers, query) for query in answers.queries_of(application))

    def is_global(self, application: str, store: str) -> bool:
        """True if a state directory or a topology of that application shows the store as a global one."""
        return self.is_told_global(application, store) is True

    def is_told_global(self, application: str, store: str) -> bool | None:
        """The same; None if neither shows the store at all."""
        verdicts = [
            on_disk.is_global
            for on_disk in self.stores_on_disk()
            if (on_disk.prefix, on_disk.name) == (application, store)
        ]
        verdicts += [
            table.is_global
            for topology, table in self.tables(application)
            if table.store == store and topology.application == application
        ]
        return any(verdicts) if verdicts else None
