"""What a store's name says of its topic.

An automatic one holds it: `<topic>-STATE-STORE-0000000000` (`InternalStreamsBuilder.newStoreName` for `table(topic)` and
`globalTable(topic)` without a name). A person's own may begin with it: `users-store`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from srfix.recovery.evidence.rules import AUTOMATIC_NAME, NAMED_AFTER
from srfix.recovery.facts import Survey, SuspectStore
from srfix.recovery.findings import Evidence
from srfix.recovery.internal_topics import automatic_store_source
from srfix.serde.casing import declared_name
from srfix.serde.subjects import Topic

KIND = AUTOMATIC_NAME.kind

_WORD: Final = re.compile(r"[^\W\d_]+")
_LEAST_LETTERS: Final = 3


def gather(store: SuspectStore, survey: Survey) -> Iterator[Evidence]:
    """Yields a piece for the topic in an automatic name, which need not exist any more, or for each topic that the name
    begins with.
    """
    automatic = automatic_store_source(store.name)
    if automatic is not None:
        if automatic in survey.topics():
            yield _automatic(store, automatic)
        return
    yield from _named_after(store, survey.topics())


def gone_source(store: SuspectStore, survey: Survey, gone: Iterable[Topic]) -> Iterator[Evidence]:
    """The same of topics that do not exist any more.

    :param gone: those that left a subject; an automatic name tells of others too.
    """
    automatic = automatic_store_source(store.name)
    if automatic is None:
        yield from _named_after(store, gone)
    elif automatic not in survey.topics():
        yield _automatic(store, automatic)


def _named_after(store: SuspectStore, topics: Iterable[Topic]) -> Iterator[Evidence]:
    every = tuple(topics)
    whole = [topic for topic in every if _begins_with(store.name, topic)]
    alike = whole or [topic for topic in every if _first_word(topic) == _first_word(store.name) != ""]
    for topic in alike:
        yield NAMED_AFTER.of_topic(topic, f"the store's name, {store.name}, begins as the topic's does")


def _begins_with(store: str, topic: Topic) -> bool:
    name, start = declared_name(store), declared_name(topic)
    return name == start or (name.startswith(start) and not name[len(start)].isalnum())


def _first_word(name: str) -> str:
    """What stands before the first character that is no letter; empty if that is too short to mean anything."""
    word = _WORD.match(declared_name(name))
    return word[0] if word is not None and len(word[0]) >= _LEAST_LETTERS else ""


def _automatic(store: SuspectStore, topic: Topic) -> Evidence:
    return AUTOMATIC_NAME.of_topic(
        topic, f"Kafka Streams names the store of an unnamed table after its topic: {store.name}"
    )
