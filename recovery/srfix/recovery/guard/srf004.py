"""SRF004: kept rows carry ids that stand under the phantom subject only, and 2.7 and later ask the source's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from srfix.recovery.facts.survey import ask_membership
from srfix.recovery.findings import Severity
from srfix.recovery.guard.judged import JudgedStore
from srfix.recovery.guard.models import Certainty, Foretold, Moment, weakest
from srfix.recovery.guard.named_ids import named_ids
from srfix.recovery.guard.own_schemas import has_nothing_of_its_own
from srfix.recovery.guard.steps import plan_of_source
from srfix.serde.subjects.names import Role
from srfix.serde.wire import SchemaId

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
    on_disk = _on_disk(judged, role)
    if on_disk == ():
        return
    lacking = on_disk or own
    carried = (
        f"{named_ids(lacking)}, which {subject} lacks"
        if lacking
        else "ids of the application's own schema, which stand there only"
    )
    yield judged.foretold(
        CODE,
        role,
        severity=Severity.BREAKS_ON_UPGRADE,
        # Without a look at its rows: one that was restored, and not written since, carries the producers' ids.
        certainty=weakest(
            (crosses, judged.looks_versions_up, Certainty.CERTAIN if on_disk else Certainty.POSSIBLE),
        ),
        moment=Moment.UPGRADE,
        subject=subject,
        schema_ids=lacking,
        explanation=f"Rows that were written before the upgrade carry ids under {store.changelog_subject(role)}: {carried}. "
        f"{_seen(on_disk)}Kafka Streams {judged.assumed.to} asks {subject} for them, so that rows in a state directory that is "
        "kept cannot be read.",
        first=tuple(plan_of_source(judged, also=CODE)),
    )


def _on_disk(judged: JudgedStore, role: Role) -> tuple[SchemaId, ...] | None:
    """The ids that rows on disk carry and the source topic's subject lacks; None where rows may be there that were not seen,
    and none of those that were is lacking.
    """
    facts, registry = judged.facts(), judged.sight.registry
    if facts is None or facts.rows is None or registry is None:
        return None
    subject = judged.store.source_subject(role)
    asked = (ask_membership(registry, subject, schema_id) for schema_id in sorted(facts.rows.ids(role)))
    lacking = tuple(membership.schema_id for membership in asked if membership.is_missing)
    is_whole = facts.rows.is_whole and not facts.rows.guids.get(role) and bool(facts.rows.ids(role))
    return lacking if lacking or is_whole else None


def _seen(on_disk: tuple[SchemaId, ...] | None) -> str:
    return "Rows on disk carry them. " if on_disk else ""
