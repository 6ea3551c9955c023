"""Evidence from the printed topology: the store is the table, or the global table, of a topic."""

from __future__ import annotations

from collections.abc import Iterator

from srfix.recovery.facts.stores import SuspectStore
from srfix.recovery.facts.supplied import table_sources
from srfix.recovery.facts.survey import Survey
from srfix.recovery.findings import Evidence, Weight

KIND = "topology"


def gather(store: SuspectStore, survey: Survey) -> Iterator[Evidence]:
    """Yields a piece per topology with the store as a table; at most strong while nobody names the application."""
    for topology in survey.supplied.topologies:
        if topology.application not in (None, store.application):
            continue
        for table in table_sources(topology.topology):
            if table.store != store.name or table.topic not in survey.topics():
                continue
            weight, whose = table.weight, ""
            if topology.application is None:
                weight = Weight.STRONG if weight is Weight.CONCLUSIVE else weight
                whose = "; --application would say whose topology it is"
            yield Evidence(
                kind=KIND, topic=table.topic, weight=weight, detail=f"{topology.origin}: {table.detail}{whose}"
            )
