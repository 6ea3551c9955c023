"""What the state directory says: the store's own offsets, or a topic left over in its task's checkpoint."""

from __future__ import annotations

from collections.abc import Iterator

from srfix.recovery.findings import Evidence
from srfix.recovery.stores import SuspectStore
from srfix.recovery.survey import Survey

__all__ = ["KIND", "gather"]

KIND = "state-directory"


def gather(store: SuspectStore, survey: Survey) -> Iterator[Evidence]:
    """Yields a piece per topic that the store may restore from and the cluster has.

    Conclusive where the store names it itself, or nothing else is left in the checkpoint; weak otherwise. A missing
    checkpoint says nothing, and proves nothing.
    """
    for found in survey.supplied.stores_on_disk():
        if (found.prefix, found.name) != (store.application, store.name):
            continue
        for source in found.sources:
            if source.topic in survey.topics():
                yield Evidence(kind=KIND, topic=source.topic, weight=source.weight, detail=source.detail)
