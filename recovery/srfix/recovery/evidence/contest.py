"""One topic and several stores: a table's topic belongs to one store, so what speaks for all of them speaks for none.

A checkpoint names topics, not stores, and a store without a changelog topic need not restore from anywhere (logging
disabled). Where a state directory shows several such stores in one task, the topic is that of the one that has the most to
say for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from enum import Enum

from srfix.recovery.findings import Evidence, Weight
from srfix.recovery.stores import SuspectStore
from srfix.recovery.survey import Survey
from srfix.serde.subjects import Topic

__all__ = ["Contest", "contest"]


class Contest(Enum):
    """How a store stands among those that may restore from the same topic."""

    WON = "won"
    """It has no rival, or more to say for itself than each of them."""
    OPEN = "open"
    """A rival has as much to say for itself."""
    LOST = "lost"
    """A rival has the topic for certain."""


def contest(
    store: SuspectStore,
    topic: Topic,
    pieces: Iterable[Evidence],
    survey: Survey,
    gather: Callable[[SuspectStore], tuple[Evidence, ...]],
) -> Contest:
    """Whether the topic that the evidence chose is rather another store's, as far as a state directory shows others.

    :param pieces: all that speaks for the store.
    :param gather: all that speaks for another one.
    """
    own = _said_for(topic, pieces)
    if own[0]:
        return Contest.WON
    outcome = Contest.WON
    for name in _rivals(store, topic, survey):
        others = gather(replace(store, name=name))
        if any(piece.weight is Weight.CONCLUSIVE and piece.topic != topic for piece in others):
            continue
        rival = _said_for(topic, others)
        if rival[0]:
            return Contest.LOST
        if rival >= own:
            outcome = Contest.OPEN
    return outcome


def _said_for(topic: Topic, pieces: Iterable[Evidence]) -> tuple[int, int]:
    """How many kinds of evidence are conclusive and strong; what speaks for an application speaks for all of its stores."""
    kinds = {(piece.weight, piece.kind) for piece in pieces if piece.topic == topic}
    weights = [weight for weight, _kind in kinds]
    return weights.count(Weight.CONCLUSIVE), weights.count(Weight.STRONG)


def _rivals(store: SuspectStore, topic: Topic, survey: Survey) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(
            rival
            for found in survey.supplied.stores_on_disk()
            if (found.prefix, found.name) == (store.application, store.name)
            for source in found.sources
            if source.topic == topic
            for rival in source.rivals
        )
    )
