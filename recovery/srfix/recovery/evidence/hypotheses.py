"""Hypotheses (application, store, source topic) about a changelog, with the evidence for and against each. A hypothesis
wins only with a margin; else the store is undecided. `evidence.rules` says what counts, and how much.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from srfix.recovery.evidence import rules
from srfix.recovery.facts.stores import Suspect, SuspectStore
from srfix.recovery.findings import Considered, Evidence, Weight
from srfix.serde.subjects.names import Topic


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    store: SuspectStore
    topic: Topic | None
    """The topic that it restores from; None if no evidence points to a topic."""
    is_gone: bool = False
    pieces: tuple[Evidence, ...]

    @property
    def points(self) -> int:
        """The points for it, minus the points against it; each kind counts once for and once against."""
        best: dict[tuple[str, bool], int] = {}
        for piece in self.pieces:
            key = (rules.COUNTED_ONCE.get(piece.kind, piece.kind), piece.against)
            best[key] = max(best.get(key, 0), rules.POINTS[piece.weight])
        return sum(-points if against else points for (_kind, against), points in best.items())

    @property
    def is_named(self) -> bool:
        return self.topic is not None and any(piece.kind == rules.EXPLICIT.kind for piece in self.pieces)

    @property
    def is_proven(self) -> bool:
        """True if conclusive evidence names the topic."""
        return any(piece.is_conclusive for piece in self._for_topic)

    @property
    def is_out(self) -> bool:
        """True if conclusive evidence speaks against it, and none for its topic."""
        against = (piece for piece in self.pieces if piece.against and piece.topic is not None)
        return not self.is_proven and any(piece.is_conclusive for piece in against)

    @property
    def is_believable(self) -> bool:
        """True if evidence stronger than weak speaks for its topic."""
        return any(piece.weight is not Weight.WEAK for piece in self._for_topic)

    @property
    def is_alike(self) -> bool:
        """True if evidence stronger than weak speaks for its topic, or if the topic's keys are like the store's."""
        return self.is_believable or any(map(rules.KEY_FIELDS.says, self.pieces))

    @property
    def _for_topic(self) -> tuple[Evidence, ...]:
        return tuple(piece for piece in self.pieces if not piece.against and piece.topic is not None)

    def considered(self) -> Considered:
        return Considered(
            application=self.store.application,
            store=self.store.name,
            topic=self.topic,
            is_gone=self.is_gone,
            evidence=self.pieces,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    suspect: Suspect
    applications: Mapping[str, tuple[Evidence, ...]]
    established: tuple[SuspectStore, ...]
    """The splits whose application certainly exists, likeliest first; empty if there is no such application."""
    unproven: tuple[str, ...]
    """Groups that have the name of a split's application, while nothing shows whether they are applications."""
    ranked: tuple[Hypothesis, ...]
    """The hypotheses that nothing rules out, likeliest first."""
    ruled_out: tuple[Hypothesis, ...]
    """The hypotheses that conclusive evidence rules out, although other evidence speaks for their topic."""
    doubts: tuple[Hypothesis, ...]
    """The same topics for applications that left no sign but may have existed; none of them is ever chosen."""
    chosen: Hypothesis | None
    is_comparable: bool
    """True if the store left a schema whose fields could be compared with those of topics."""
    not_compared: int = 0
    """How many topics without commits and without a subject were not read, because there are too many."""
    taken: Topic | None = None
    """The topic that would have won, but from which another store of the application is proven to restore."""

    @property
    def store(self) -> SuspectStore:
        chosen = self.chosen.store if self.chosen is not None else self.ranked[0].store if self.ranked else None
        store = chosen or (self.established or self.suspect.splits)[0]
        other_stores = tuple(
            established.application for established in self.established if established.application != store.application
        )
        return replace(store, other_applications=other_stores)

    @property
    def open(self) -> tuple[Hypothesis, ...]:
        """The hypotheses that are left if none wins: none of them is much less likely than the best."""
        if not self.ranked:
            return ()
        least = self.ranked[0].points - rules.MARGIN
        proven = [hypothesis for hypothesis in self.ranked if hypothesis.is_proven]
        if len(proven) > 1:
            return tuple(proven)
        return tuple(
            sorted((hypothesis for hypothesis in (*self.ranked, *self.doubts) if hypothesis.points > least), key=order)
        )

    @property
    def global_rivals(self) -> tuple[Hypothesis, ...]:
        """The hypotheses that are as likely as the winner if it is a global table, whose topic nobody commits."""
        chosen = self.chosen
        if chosen is None or chosen.is_named or chosen.is_proven:
            return ()
        spared = rules.POINTS[rules.ANOTHER_COMMITTED.weight] - rules.POINTS[rules.NOT_COMMITTED.weight]
        least = chosen.points - rules.MARGIN - spared
        return tuple(
            hypothesis
            for hypothesis in self.ranked
            if hypothesis.points > least and any(map(rules.ANOTHER_COMMITTED.says, hypothesis.pieces))
        )

    @property
    def other_splits(self) -> tuple[SuspectStore, ...]:
        mine = self.store.application
        return tuple(split for split in self.suspect.splits if split.application != mine)

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The evidence about the likeliest split: on its application, and on each topic with some evidence for it."""
        store = self.store
        pieces = (
            piece
            for hypothesis in (*self.ranked, *self.ruled_out)
            if hypothesis.store.application == store.application
            and any(not piece.against and piece.topic is not None for piece in hypothesis.pieces)
            for piece in hypothesis.pieces
        )
        return tuple(dict.fromkeys((*pieces, *self.applications[store.application])))


def choose(ranked: Sequence[Hypothesis], doubts: Iterable[Hypothesis]) -> Hypothesis | None:
    """The hypothesis that wins, of those that nothing rules out, likeliest first; None if none does. Never a doubt."""
    named = [hypothesis for hypothesis in ranked if hypothesis.is_named]
    if named:
        return named[0]
    proven = [hypothesis for hypothesis in ranked if hypothesis.is_proven]
    if proven:
        return (
            proven[0] if len({(hypothesis.store.application, hypothesis.topic) for hypothesis in proven}) == 1 else None
        )
    if not ranked or not ranked[0].is_believable:
        return None
    best = ranked[0]
    for other in ranked[1:]:
        if best.points < other.points + _margin(best, other):
            return None
    if any(best.points < other.points + _margin_of_doubt(best, other) for other in doubts):
        return None
    return best


def _margin(best: Hypothesis, other: Hypothesis) -> int:
    """Larger if the word that names the store may be another application's, or if no group reads the topic."""
    if other.topic != best.topic:
        is_read = any(piece.kind == rules.COMMITTED.kind and not piece.against for piece in best.pieces)
        return rules.MARGIN + (not is_read and any(map(rules.NOT_COMPARED.says, other.pieces)))
    is_longer = len(other.store.application) > len(best.store.application)
    is_named_after = any(piece.kind == rules.NAMED_AFTER.kind and piece.weight is Weight.WEAK for piece in best.pieces)
    return rules.MARGIN_OF_APPLICATIONS + (is_longer and is_named_after)


def _margin_of_doubt(best: Hypothesis, doubt: Hypothesis) -> int:
    """The margin over a doubt; larger if it left topics, and if only a person's word is for the best application."""
    left = any(not piece.against and piece.kind == rules.LEFT_TOPICS.kind for piece in doubt.pieces)
    has_sign = any(
        piece.topic is None and not piece.against and piece.kind != rules.GIVEN.kind for piece in best.pieces
    )
    return rules.MARGIN_OF_DOUBTS + left + (not has_sign)


def order(hypothesis: Hypothesis) -> tuple[bool, bool, int, str, str, str]:
    return (
        not hypothesis.is_named,
        not hypothesis.is_proven,
        -hypothesis.points,
        hypothesis.topic or "",
        hypothesis.store.application,
        hypothesis.store.name,
    )
