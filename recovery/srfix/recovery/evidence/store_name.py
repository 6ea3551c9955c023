"""Evidence from a store's name about its topic. An automatic name contains the topic: `<topic>-STATE-STORE-0000000000`
(`InternalStreamsBuilder.newStoreName` for `table(topic)` and
`globalTable(topic)` without a name). A name that a person chose may begin with the topic: `users-store`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from srfix.recovery.evidence.rules import AUTOMATIC_NAME, NAMED_AFTER
from srfix.recovery.facts.stores import SuspectStore
from srfix.recovery.facts.survey import Survey
from srfix.recovery.findings import Evidence
from srfix.recovery.internal_topics import automatic_store_source
from srfix.serde.casing import declared_name
from srfix.serde.subjects.names import Topic

KIND = AUTOMATIC_NAME.kind

_WORD: Final = re.compile(r"[^\W\d_]+")
_LEAST_LETTERS: Final = 3


def gather(store: SuspectStore, survey: Survey) -> Iterator[Evidence]:
    """Yields a piece for the topic in an automatic name, else for each topic that the name begins with."""
    automatic = automatic_store_source(store.name)
    if automatic is not None:
        if automatic in survey.topics():
            yield _automatic(store, automatic)
        return
    yield from _named_after(store, survey.once(("names of topics",), lambda: _names(survey.topics())))


def gone_source(store: SuspectStore, survey: Survey, gone: tuple[Topic, ...]) -> Iterator[Evidence]:
    """The same for topics that no longer exist: with a subject in the store's context, or in an automatic name."""
    automatic = automatic_store_source(store.name)
    if automatic is None:
        yield from _named_after(store, survey.once(("names of those gone", store.context), lambda: _names(gone)))
    elif automatic not in survey.topics():
        yield _automatic(store, automatic)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Names:
    """Topics by the parts of their names that a store's name may contain."""

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
