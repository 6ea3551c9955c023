"""SRF004: kept rows carry ids that stand under the phantom subject only, and 2.7 and later ask the source's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from srfix.recovery.findings import Severity
from srfix.recovery.guard.judged import JudgedStore
from srfix.recovery.guard.models import Certainty, Foretold, Moment, weakest
from srfix.recovery.guard.named_ids import named_ids
from srfix.recovery.guard.own_schemas import has_nothing_of_its_own
from srfix.recovery.guard.steps import plan_of_source
from srfix.serde.subjects import Role

CODE: Final = "SRF004"


def source_lacks(judged: JudgedStore, role: Role, crosses: Certainty) -> Iterator[Foretold]:
    """What rows of the old version carry.

    :param crosses: whether the change is one from the phantom subject to the source topic's own.
    """
    store, known = judged.store, judged.known(role)
    subject = store.source_subject(role)
    if judged.does_without(subject) or has_nothing_of_its_own(known, role):
        return
    own = () if known is None else known.own
    carried = (
        f"{named_ids(own)}, which {subject} lacks"
        if own
        else "ids of the application's own schema, which stand there only"
    )
    yield Foretold(
        code=CODE,
        severity=Severity.BREAKS_ON_UPGRADE,
        # No row of the store was looked at: one that was restored, and not written since, carries the producers' ids.
        certainty=weakest((crosses, judged.looks_versions_up, Certainty.POSSIBLE)),
        moment=Moment.UPGRADE,
        application=store.application,
        store=store.name,
        role=role,
        subject=subject,
        topic=store.topic,
        schema_ids=own,
        explanation=f"Rows that were written before the upgrade carry ids under {store.changelog_subject(role)}: {carried}. "
        f"Kafka Streams {judged.assumed.to} asks {subject} for them, so that rows in a state directory that is kept cannot be "
        "read.",
        first=tuple(plan_of_source(judged, also=CODE)),
    )
