"""A topic that this user may not see may be the one: then what is seen of the evidence points to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from srfix.recovery.commands import Given
from srfix.recovery.evidence import schema_similarity
from srfix.recovery.evidence.rules import ALL_FIELDS
from srfix.recovery.facts.survey import Survey
from srfix.recovery.findings import Evidence, Skipped

if TYPE_CHECKING:
    from srfix.recovery.evidence.hypotheses import Verdict


def unseen_source(verdict: Verdict, survey: Survey, given: Given) -> Skipped | None:
    """Why a store cannot be judged by the topics that this user sees; None if it can.

    So it is where no topic that is seen has a schema like that of the store, and one has whose topic is hidden. What is
    proven needs no comparison.
    """
    store = verdict.store
    seen = [hypothesis for hypothesis in verdict.ranked if not hypothesis.is_gone]
    if any(hypothesis.is_proven or any(_fits(piece) for piece in hypothesis.pieces) for hypothesis in seen):
        return None
    hidden = survey.cluster.hidden_topics(schema_similarity.unlisted_topics(survey, store.context))
    similar = [piece for piece in schema_similarity.compare(store, survey, hidden) if _fits(piece)]
    if not similar:
        return None
    acls = ", ".join(f"Describe and Read on topic {piece.topic!r}" for piece in similar)
    return store.skipped(
        f"it may restore from {' or '.join(piece.topic or '' for piece in similar)}, which this user may not see: "
        f"{similar[0].detail}. The ACL to ask for is {acls}; or say which topic it restores from: "
        + given.quoted("diagnose", "--source", f"{store.application}/{store.name}=TOPIC")
    )


def _fits(piece: Evidence) -> bool:
    return (piece.kind, piece.weight) == (ALL_FIELDS.kind, ALL_FIELDS.weight)
