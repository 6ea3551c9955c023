"""A topic that this user may not see may be the one: then what is seen of the evidence points to another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from srfix.recovery.evidence import schema_similarity
from srfix.recovery.findings import Evidence, Skipped, Weight
from srfix.recovery.internal_topics import recognise
from srfix.recovery.stores import SuspectStore
from srfix.recovery.survey import Survey
from srfix.serde.subjects import Role, Topic, split_subject

__all__ = ["unseen_source"]


def unseen_source(store: SuspectStore, survey: Survey, pieces: Iterable[Evidence]) -> Skipped | None:
    """Why a store cannot be judged by the topics that this user sees; None if it can.

    So it is where no topic that is seen has a schema like that of the store, and one has whose topic is hidden. Evidence
    that is conclusive needs no comparison.

    :raises ClusterError: if no broker answers in time.
    """
    pieces = tuple(pieces)
    if any(piece.weight is Weight.CONCLUSIVE or piece.kind == schema_similarity.KIND for piece in pieces):
        return None
    hidden = survey.cluster.hidden_topics(_unlisted(survey))
    similar = [piece for piece in schema_similarity.compare(store, survey, hidden) if piece.weight is Weight.STRONG]
    if not similar:
        return None
    acls = ", ".join(f"Describe and Read on topic {piece.topic!r}" for piece in similar)
    return Skipped(
        what=f"store {store.name} of application {store.application}",
        reason=f"it may restore from {' or '.join(piece.topic for piece in similar)}, which this user may not see: "
        f"{similar[0].detail}. The ACL to ask for is {acls}; or say which topic it restores from, with "
        f"--source {store.name}=TOPIC",
        could_hide=True,
        subjects=store.subjects,
    )


def _unlisted(survey: Survey) -> Iterator[Topic]:
    """Topics that have a subject, are no application's own, and are not listed: gone, of another cluster, or hidden."""
    topics = survey.topics()
    for subject in survey.subjects():
        split = split_subject(subject)
        if split is not None and split[1] is Role.VALUE and split[0] not in topics and recognise(split[0]) is None:
            yield split[0]
