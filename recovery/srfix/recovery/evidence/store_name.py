"""An automatic store name holds its source topic: `<topic>-STATE-STORE-0000000000`.

Source: `InternalStreamsBuilder.newStoreName` for `table(topic)` and `globalTable(topic)` without a name.
"""

from __future__ import annotations

from collections.abc import Iterator

from srfix.recovery.findings import Evidence, Weight
from srfix.recovery.internal_topics import automatic_store_source
from srfix.recovery.stores import SuspectStore
from srfix.recovery.survey import Survey

__all__ = ["KIND", "gather"]

KIND = "store-name"


def gather(store: SuspectStore, survey: Survey) -> Iterator[Evidence]:
    """Yields one piece where the name is automatic and the topic in it exists."""
    topic = automatic_store_source(store.name)
    if topic is not None and topic in survey.topics():
        yield Evidence(
            kind=KIND,
            topic=topic,
            weight=Weight.STRONG,
            detail=f"Kafka Streams names the store of an unnamed table after its topic: {store.name}",
        )
