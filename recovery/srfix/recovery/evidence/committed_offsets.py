"""The topics on which the application's group has committed offsets. A table's topic is one of these, a global table's
is not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from srfix.recovery.evidence.rules import ANOTHER_COMMITTED, COMMITTED, NO_GLOBAL, NOT_COMMITTED
from srfix.recovery.facts.stores import SuspectStore
from srfix.recovery.facts.survey import Survey
from srfix.recovery.findings import Evidence
from srfix.recovery.ids_in_words import counted
from srfix.recovery.internal_topics import parse
from srfix.serde.errors import AccessDeniedError
from srfix.serde.subjects.names import Topic

KIND = COMMITTED.kind


def read_topics(store: SuspectStore, survey: Survey) -> Counter[Topic]:
    """The topics that the application's group reads, without its own internal ones, each with the number of its
    partitions. Empty if this user may not ask; a global store is examined nevertheless.
    """
    return survey.once(("read topics", store.application), lambda: _read_topics(store.application, survey))


def _read_topics(application: str, survey: Survey) -> Counter[Topic]:
    try:
        commits = survey.commits(application)
    except AccessDeniedError:
        return Counter()
    return Counter(topic for topic, _partition in commits if parse(topic, application=application) is None)


def gather(store: SuspectStore, survey: Survey) -> Iterator[Evidence]:
    """Yields a piece per topic that the group reads. For a global store, it speaks against the topic: each topic is a
    source only once per application (`InternalTopologyBuilder.validateTopicNotAlreadyRegistered`), and a global store's
    topic is read without a group.
    """
    read = read_topics(store, survey)
    is_global = survey.supplied.is_global(store.application, store.name)
    others = "" if len(read) == 1 else f", and also on {counted(len(read) - 1, 'other topic')}"
    for topic, count in sorted(read.items()):
        where = f"group {store.application} has committed offsets in {count} of the topic's {survey.topics()[topic]} partitions"
        detail = f"{where}{others}" if not is_global else f"{where}, and {store.name} is a global store"
        yield (NO_GLOBAL if is_global else COMMITTED).of_topic(topic, detail, application=store.application)


def against(
    store: SuspectStore, topics: Collection[Topic], survey: Survey, outdone: Mapping[Topic, Topic]
) -> Iterator[Evidence]:
    """Yields a piece per topic that the group does not read, while it reads others; `outdone` has fitting ones."""
    read = read_topics(store, survey)
    if not read or survey.supplied.is_global(store.application, store.name):
        return
    for topic in sorted(topics):
        if topic not in read and topic in survey.topics():
            other = outdone.get(topic)
            elsewhere = counted(len(read), "other topic") if other is None else f"{other}, which fits as well,"
            yield (NOT_COMMITTED if other is None else ANOTHER_COMMITTED).of_topic(
                topic,
                f"group {store.application} has committed offsets on {elsewhere} and none here: the store restores "
                "from this topic only if it belongs to a global table",
                application=store.application,
            )
