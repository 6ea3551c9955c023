"""Evidence from the state directory: the store's own offsets, or a topic that is left over in its task's checkpoint."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from srfix.recovery.evidence.rules import LEFT_ELSEWHERE
from srfix.recovery.facts.stores import SuspectStore
from srfix.recovery.facts.survey import Survey
from srfix.recovery.findings import Evidence, Weight
from srfix.serde.subjects.names import Topic

KIND = LEFT_ELSEWHERE.kind


def gather(store: SuspectStore, survey: Survey) -> Iterator[Evidence]:
    """Yields a piece per topic that the cluster has; a missing checkpoint says nothing, and proves nothing."""
    for on_disk in survey.supplied.stores_on_disk():
        if (on_disk.prefix, on_disk.name) != (store.application, store.name):
            continue
        for source in on_disk.sources:
            if source.topic in survey.topics():
                yield Evidence(kind=KIND, topic=source.topic, weight=source.weight, detail=source.detail)


def against(store: SuspectStore, topics: Collection[Topic], survey: Survey) -> Iterator[Evidence]:
    """Yields a piece for each topic that the checkpoint of the store's task does not name, if it leaves others."""
    pieces = tuple(gather(store, survey))
    left = sorted({str(piece.topic) for piece in pieces})
    if not left or any(piece.weight is not Weight.WEAK for piece in pieces):
        return  # a proof decides without this evidence
    for topic in sorted(topics):
        if topic not in left:
            yield LEFT_ELSEWHERE.of_topic(
                topic, f"the checkpoint of the store's task leaves it {', '.join(left)}, and not this topic"
            )
