"""Whose store is it, and which topic does it restore from: hypotheses, weighed for and against.

A hypothesis is (application, store, source topic). Every way to take the name of a changelog apart is one beside the
others, and so is every topic that anything points to, one that is gone too. One wins only with a margin; else the store is
undecided. What counts, and how much, is the table of `evidence.rules`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from srfix.recovery.evidence import explicit, rules
from srfix.recovery.facts.stores import Suspect, SuspectStore
from srfix.recovery.findings import Considered, Evidence, Weight
from srfix.serde.subjects.names import Topic


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """One way in which a store may have come about."""

    store: SuspectStore
    """Whose it is, and what it is called."""
    topic: Topic | None
    """The topic that it restores from; None if nothing points to any."""
    is_gone: bool = False
    """True if there is no such topic any more."""
    pieces: tuple[Evidence, ...]

    @property
    def points(self) -> int:
        """What speaks for it, less what speaks against it; each kind counts once either way."""
        best: dict[tuple[str, bool], int] = {}
        for piece in self.pieces:
            key = (rules.COUNTED_ONCE.get(piece.kind, piece.kind), piece.against)
            best[key] = max(best.get(key, 0), rules.POINTS[piece.weight])
        return sum(-points if against else points for (_kind, against), points in best.items())

    @property
    def is_named(self) -> bool:
        """True if a person named the topic."""
        return self.topic is not None and any(piece.kind == explicit.KIND for piece in self.pieces)

    @property
    def is_proven(self) -> bool:
        """True if something conclusive names the topic."""
        return any(piece.is_conclusive and not piece.against and piece.topic is not None for piece in self.pieces)

    @property
    def is_out(self) -> bool:
        """True if something conclusive speaks against it, and nothing conclusive for its topic."""
        return not self.is_proven and any(
            piece.is_conclusive and piece.against and piece.topic is not None for piece in self.pieces
        )

    @property
    def is_believable(self) -> bool:
        """True if something more than weak speaks for its topic."""
        return any(
            not piece.against and piece.topic is not None and piece.weight is not Weight.WEAK for piece in self.pieces
        )

    @property
    def is_alike(self) -> bool:
        """True if something more than weak speaks for its topic, or its keys are like the store's."""
        return self.is_believable or any(
            piece.kind == rules.KEY_FIELDS.kind and not piece.against for piece in self.pieces
        )

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
    """What the evidence says of a changelog that does not exist."""

    suspect: Suspect
    """The changelog, and all splits of its name."""
    applications: Mapping[str, tuple[Evidence, ...]]
    """Per application of a split what speaks for and against it."""
    established: tuple[SuspectStore, ...]
    """The splits whose application is one beyond doubt, likeliest first; none if there is no such application."""
    unproven: tuple[str, ...]
    """Groups whose name is that of a split's application, and of which nothing says whether they are one."""
    ranked: tuple[Hypothesis, ...]
    """The hypotheses that nothing rules out, likeliest first."""
    ruled_out: tuple[Hypothesis, ...]
    """The hypotheses that something conclusive rules out although something speaks for their topic."""
    doubts: tuple[Hypothesis, ...]
    """The same topics for applications that left no sign but may have existed; none of them is ever chosen."""
    chosen: Hypothesis | None
    """The one that wins with a margin; None if none does."""
    is_comparable: bool
    """True if the store left a schema whose fields could be compared with those of topics."""
    not_compared: int = 0
    """Topics that nobody committed and that have no subject, of which no values were read: there are too many."""
    taken: Topic | None = None
    """The topic that would have been chosen, were not another store of the application proven to restore from it."""

    @property
    def store(self) -> SuspectStore:
        """The likeliest store, with the other applications that its name allows."""
        chosen = self.chosen.store if self.chosen is not None else self.ranked[0].store if self.ranked else None
        store = chosen or (self.established or self.suspect.splits)[0]
        other_stores = tuple(
            established.application for established in self.established if established.application != store.application
        )
        return replace(store, other_applications=other_stores)

    @property
    def open(self) -> tuple[Hypothesis, ...]:
        """The hypotheses that are left where none wins: none of them is much less likely than the best."""
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
        """Where the one that wins is the only fitting topic that the group has committed: those that are as likely, if the
        store is a global table's.
        """
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
        """The other ways to take the name apart."""
        mine = self.store.application
        return tuple(split for split in self.suspect.splits if split.application != mine)

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """What speaks for and against the topics of the likeliest split for which anything speaks, and its application."""
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
    """The hypothesis that wins; None if none does.

    :param ranked: those that nothing rules out, likeliest first.
    :param doubts: those of applications that left no sign, which are never chosen.
    """
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
    """More where the word that the store is named after may be one of the other application's name, which is longer; and where
    no group reads the best one and the other topic cannot be compared, for it may have the same fields.
    """
    if other.topic != best.topic:
        is_read = any(piece.kind == rules.COMMITTED.kind and not piece.against for piece in best.pieces)
        return rules.MARGIN + (not is_read and any(map(rules.NOT_COMPARED.says, other.pieces)))
    is_longer = len(other.store.application) > len(best.store.application)
    is_named_after = any(piece.kind == rules.NAMED_AFTER.kind and piece.weight is Weight.WEAK for piece in best.pieces)
    return rules.MARGIN_OF_APPLICATIONS + (is_longer and is_named_after)


def _margin_of_doubt(best: Hypothesis, doubt: Hypothesis) -> int:
    """More where the doubt's application left topics, and where nothing but a person's word speaks for the best's."""
    left = any(not piece.against and piece.kind == rules.LEFT_TOPICS.kind for piece in doubt.pieces)
    has_sign = any(
        piece.topic is None and not piece.against and piece.kind != rules.GIVEN.kind for piece in best.pieces
    )
    return rules.MARGIN_OF_DOUBTS + left + (not has_sign)


def order(hypothesis: Hypothesis) -> tuple[bool, bool, int, str, str, str]:
    """The order in which hypotheses stand: what a person named, what is proven, then by points."""
    return (
        not hypothesis.is_named,
        not hypothesis.is_proven,
        -hypothesis.points,
        hypothesis.topic or "",
        hypothesis.store.application,
        hypothesis.store.name,
    )
