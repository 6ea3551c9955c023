"""From evidence to a source: one conclusive topic wins; otherwise a single best; otherwise a person decides."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from srfix.recovery.findings import Evidence, Weight
from srfix.serde.subjects import Topic

__all__ = ["candidates", "choose"]


def candidates(evidence: Iterable[Evidence]) -> tuple[Topic, ...]:
    """The topics that the evidence points to, best first, then by name."""
    scores = _scores(evidence)
    return tuple(sorted(scores, key=lambda topic: (*(-count for count in scores[topic]), topic)))


def choose(evidence: Iterable[Evidence]) -> Topic | None:
    """The source topic; None if the evidence does not decide.

    Conclusive evidence for exactly one topic decides. For several, nobody but a person can. Without any, the topic
    with the most strong evidence wins if no other has as much; weak evidence alone decides only where it points to
    one topic.
    """
    scores = _scores(evidence)
    conclusive = [topic for topic, (count, _strong, _weak) in scores.items() if count]
    if conclusive:
        return conclusive[0] if len(conclusive) == 1 else None
    if len(scores) == 1:
        return next(iter(scores))
    best = max((strong for _conclusive, strong, _weak in scores.values()), default=0)
    winners = [topic for topic, (_conclusive, strong, _weak) in scores.items() if strong == best]
    return winners[0] if best and len(winners) == 1 else None


def _scores(evidence: Iterable[Evidence]) -> dict[Topic, tuple[int, int, int]]:
    kinds: dict[Topic, dict[Weight, set[str]]] = defaultdict(lambda: defaultdict(set))
    for piece in evidence:
        kinds[piece.topic][piece.weight].add(piece.kind)
    return {
        topic: (len(of[Weight.CONCLUSIVE]), len(of[Weight.STRONG]), len(of[Weight.WEAK])) for topic, of in kinds.items()
    }
