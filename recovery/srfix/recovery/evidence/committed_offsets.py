"""Where the application's group has committed offsets. A table's topic is one of these, a global table's is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from srfix.recovery.evidence.rules import COMMITTED, NOT_COMMITTED
from srfix.recovery.facts import Survey, SuspectStore
from srfix.recovery.findings import Evidence
from srfix.recovery.ids_in_words import counted
from srfix.recovery.internal_topics import parse
from srfix.serde.errors import AccessDeniedError
from srfix.serde.subjects import Topic

KIND = COMMITTED.kind


def read_topics(store: SuspectStore, survey: Survey) -> Counter[Topic]:
    """The topics that the application's group reads, its own internal ones left out, with their numbers of partitions.

    None of them where this user may not ask: a global store is examined all the same.
    """
    return survey.once(("read topics", store.application), lambda: _read_topics(store.application, survey))


def _read_topics(application: str, survey: Survey) -> Counter[Topic]:
    try:
        commits = survey.commits(application)
    except AccessDeniedError:
        return Counter()
    return Counter(topic for topic, _partition in commits if parse(topic, application=application) is None)


def gather(store: SuspectStore, survey: Survey) -> Iterator[Evidence]:
    """Yields a piece per topic that the group reads."""
    read = read_topics(store, survey)
    others = "" if len(read) == 1 else f", as on {counted(len(read) - 1, 'other topic')}"
    for topic, count in sorted(read.items()):
        yield COMMITTED.of_topic(
            topic,
            f"group {store.application} has committed offsets in {count} of its {survey.topics()[topic]} partitions{others}",
            application=store.application,
        )


def against(store: SuspectStore, topics: Collection[Topic], survey: Survey) -> Iterator[Evidence]:
    """Yields a piece for each of some topics that exist, where the group reads others and not that one."""
    read = read_topics(store, survey)
    if not read:
        return
    for topic in sorted(topics):
        if topic not in read and topic in survey.topics():
            yield NOT_COMMITTED.of_topic(
                topic,
                f"group {store.application} has committed offsets on {counted(len(read), 'other topic')}, none there: it "
                "restores from that one only if it is a global table's",
                application=store.application,
            )
