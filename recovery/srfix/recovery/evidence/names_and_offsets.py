"""Evidence from a store's name, and from the offsets of its application's group.

An automatic name contains the topic: `<topic>-STATE-STORE-0000000000` (`InternalStreamsBuilder.newStoreName` for
`table(topic)` and `globalTable(topic)` without a name). A name that a person chose may begin with the topic:
`users-store`. A table's topic is one on which the group has committed offsets, a global table's is not.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from srfix.recovery.evidence.rules import (
    ANOTHER_COMMITTED,
    AUTOMATIC_NAME,
    COMMITTED,
    NAMED_AFTER,
    NO_GLOBAL,
    NOT_COMMITTED,
)
from srfix.recovery.facts.stores import SuspectStore
from srfix.recovery.facts.survey import Survey
from srfix.recovery.findings import Evidence
from srfix.recovery.internal_topics import automatic_store_source, parse
from srfix.serde.casing import declared_name
from srfix.serde.errors import AccessDeniedError
from srfix.serde.printable import counted
from srfix.serde.subjects.names import Topic

NAME: Final = AUTOMATIC_NAME.kind

_WORD: Final = re.compile(r"[^\W\d_]+")
_LEAST_LETTERS: Final = 3


def by_name(store: SuspectStore, survey: Survey) -> Iterator[Evidence]:
    """Yields a piece for the topic in an automatic name, else for each topic that the name begins with."""
    automatic = automatic_store_source(store.name)
    if automatic is not None:
        if automatic in survey.topics():
            yield _automatic(store, automatic)
        return
    yield from _named_after(store, survey.once(("names of topics",), lambda: _names(survey.topics())))


def by_name_of_gone(store: SuspectStore, survey: Survey, gone: tuple[Topic, ...]) -> Iterator[Evidence]:
    """The same for topics that no longer exist: with a subject in the store's context, or in an automatic name."""
    automatic = automatic_store_source(store.name)
    if automatic is None:
        yield from _named_after(store, survey.once(("names of those gone", store.context), lambda: _names(gone)))
    elif automatic not in survey.topics():
        yield _automatic(store, automatic)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Names:
    whole: Mapping[str, Collection[Topic]]
    """By their names, in the form in which names are compared."""
    first_words: Mapping[str, Collection[Topic]]


def _names(topics: Iterable[Topic]) -> _Names:
    whole: defaultdict[str, list[Topic]] = defaultdict(list)
    first_words: defaultdict[str, list[Topic]] = defaultdict(list)
    for topic in topics:
        whole[declared_name(topic)].append(topic)
        first_words[_first_word(topic)].append(topic)
    return _Names(whole=whole, first_words=first_words)


def _named_after(store: SuspectStore, topics: _Names) -> Iterator[Evidence]:
    name, word = declared_name(store.name), _first_word(store.name)
    ends = (end for end in range(1, len(name) + 1) if not name[end : end + 1].isalnum())
    whole = [topic for end in ends for topic in topics.whole.get(name[:end], ())]
    for topic in sorted(whole or (topics.first_words.get(word, ()) if word else ())):
        yield NAMED_AFTER.of_topic(
            topic, f"the names of the store ({store.name}) and of the topic begin with the same words"
        )


def _first_word(name: str) -> str:
    """The letters before the first other character; empty if they are too few to mean anything."""
    word = _WORD.match(declared_name(name))
    return word[0] if word is not None and len(word[0]) >= _LEAST_LETTERS else ""


def _automatic(store: SuspectStore, topic: Topic) -> Evidence:
    return AUTOMATIC_NAME.of_topic(
        topic, f"Kafka Streams names the store of an unnamed table after its topic: {store.name}"
    )


def read_topics(store: SuspectStore, survey: Survey) -> Counter[Topic]:
    """The topics that the group reads, but its own internal ones, with their partitions; empty if not allowed."""
    return survey.once(("read topics", store.application), lambda: _read_topics(store.application, survey))


def _read_topics(application: str, survey: Survey) -> Counter[Topic]:
    try:
        commits = survey.commits(application)
    except AccessDeniedError:
        return Counter()
    return Counter(topic for topic, _partition in commits if parse(topic, application=application) is None)


def by_offsets(store: SuspectStore, survey: Survey) -> Iterator[Evidence]:
    """Yields a piece per topic that the group reads; against it for a global store, whose topic no group reads."""
    read = read_topics(store, survey)
    is_global = survey.supplied.is_global(store.application, store.name)
    others = "" if len(read) == 1 else f", and also on {counted(len(read) - 1, 'other topic')}"
    for topic, count in sorted(read.items()):
        partitions = counted(survey.topics()[topic], "partition")
        where = f"group {store.application} has committed offsets in {count} of the topic's {partitions}"
        detail = f"{where}{others}" if not is_global else f"{where}, and {store.name} is a global store"
        yield (NO_GLOBAL if is_global else COMMITTED).of_topic(topic, detail, application=store.application)


def against_by_offsets(
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
