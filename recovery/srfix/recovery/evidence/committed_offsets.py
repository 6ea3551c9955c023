"""Where the application's group has committed offsets: a store restores only from a topic that the application reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from srfix.recovery.findings import Evidence, Weight
from srfix.recovery.internal_topics import parse
from srfix.recovery.stores import SuspectStore
from srfix.recovery.survey import Survey
from srfix.serde.errors import AccessDeniedError

__all__ = ["KIND", "gather"]

KIND = "committed-offsets"


def gather(store: SuspectStore, survey: Survey) -> Iterator[Evidence]:
    """Yields a piece per topic that the group reads: strong if there is one, weak if there are several."""
    try:
        commits = survey.commits(store.application)
    except AccessDeniedError:  # a global store is examined all the same
        return
    partitions = Counter(topic for topic, _partition in commits if parse(topic, application=store.application) is None)
    weight = Weight.STRONG if len(partitions) == 1 else Weight.WEAK
    others = "" if len(partitions) == 1 else f", as on {len(partitions) - 1} other topic(s)"
    for topic, count in sorted(partitions.items()):
        yield Evidence(
            kind=KIND,
            topic=topic,
            weight=weight,
            detail=f"group {store.application} has committed offsets in {count} of its {survey.topics()[topic]} "
            f"partitions{others}",
        )
