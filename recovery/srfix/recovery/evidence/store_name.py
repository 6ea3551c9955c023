"""What a store's name says of its topic.

An automatic one holds it: `<topic>-STATE-STORE-0000000000` (`InternalStreamsBuilder.newStoreName` for `table(topic)` and
`globalTable(topic)` without a name). A person's own may begin with it: `users-store`.
"""

from __future__ import annotations

from collections.abc import Iterator

from srfix.recovery.evidence.rules import AUTOMATIC_NAME, NAMED_AFTER
from srfix.recovery.findings import Evidence
from srfix.recovery.internal_topics import automatic_store_source
from srfix.recovery.stores import SuspectStore
from srfix.recovery.survey import Survey
from srfix.serde.casing import declared_name
from srfix.serde.subjects import Topic

__all__ = ["KIND", "gather", "gone_source"]

KIND = AUTOMATIC_NAME.kind


def gather(store: SuspectStore, survey: Survey) -> Iterator[Evidence]:
    """Yields a piece for the topic in an automatic name, which need not exist any more, or for each topic that the name
    begins with.
    """
    automatic = automatic_store_source(store.name)
    if automatic is not None:
        if automatic in survey.topics():
            yield _automatic(store, automatic)
        return
    name = declared_name(store.name)
    for topic in survey.topics():
        start = declared_name(topic)
        if name == start or (name.startswith(start) and not name[len(start)].isalnum()):
            yield NAMED_AFTER.of_topic(topic, f"the store's name, {store.name}, begins with it")


def gone_source(store: SuspectStore, survey: Survey) -> Iterator[Evidence]:
    """Yields a piece where the name is automatic and the topic in it does not exist any more."""
    automatic = automatic_store_source(store.name)
    if automatic is not None and automatic not in survey.topics():
        yield _automatic(store, automatic)


def _automatic(store: SuspectStore, topic: Topic) -> Evidence:
    return AUTOMATIC_NAME.of_topic(
        topic, f"Kafka Streams names the store of an unnamed table after its topic: {store.name}"
    )
