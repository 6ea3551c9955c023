"""SRF020 before it happens: what a reader with `use.latest.version` cannot read once a schema is a subject's latest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from srfix.recovery.facts.survey import schema_behind
from srfix.recovery.findings import Severity, Skipped
from srfix.recovery.guard.judged import JudgedStore
from srfix.recovery.guard.looking import Sight
from srfix.recovery.guard.models import Certainty, Foretold, Moment, NewSchema
from srfix.recovery.guard.named_ids import named_ids
from srfix.recovery.topic_check.judging import unreadable
from srfix.serde.schemas.errors import SchemaNotFoundError
from srfix.serde.schemas.models import Schema
from srfix.serde.subjects.names import Role, Subject, Topic
from srfix.serde.wire import SchemaId

CODE: Final = "SRF020"


def latest_cannot_read(
    new: NewSchema, topic: Topic, role: Role, stores: Iterable[JudgedStore], held: Iterable[SchemaId], sight: Sight
) -> Iterator[Foretold]:
    """A note: nobody says whether there is such a reader.

    :param held: the ids under the subject, which records may carry.
    """
    ids = set(held)
    for judged in stores:
        known = judged.known(role)
        ids.update(() if known is None else known.ids)
    found = in_words(new.schema, new.subject, sorted(ids), sight)
    if found is None:
        return
    bad, words = found
    yield Foretold(
        code=CODE,
        severity=Severity.NOTE,
        certainty=Certainty.POSSIBLE,
        moment=Moment.SCHEMA,
        application="",
        store="",
        role=role,
        subject=new.subject,
        topic=topic,
        schema_ids=bad,
        explanation=f"Once {new.origin} is the latest version of {new.subject}, {words}",
    )


def in_words(
    latest: Schema, subject: Subject, ids: Iterable[SchemaId], sight: Sight
) -> tuple[tuple[SchemaId, ...], str] | None:
    """Which ids a reader that takes this latest version does not read, and that in a clause; None if it reads them all, or
    nothing here compares them.
    """
    if sight.registry is None:
        return None
    reasons: dict[SchemaId, str] = {}
    for schema_id in ids:
        try:
            writer = schema_behind(sight.registry, schema_id, sight.context_of(subject))
        except SchemaNotFoundError:
            continue
        found, untold = unreadable(latest, writer)
        if found:
            reasons[schema_id] = found[0].rstrip(".")
        elif untold is not None:
            sight.skip(_not_compared(subject, schema_id, untold))
    if not reasons:
        return None
    bad = tuple(sorted(reasons))
    return bad, (
        f"a reader with use.latest.version reads every record by it, and not those of {named_ids(bad)} ({reasons[bad[0]]}). "
        "Nobody said whether there is one."
    )


def _not_compared(subject: Subject, schema_id: SchemaId, why: str) -> Skipped:
    return Skipped(
        what=f"whether a reader with use.latest.version of {subject} reads the records of schema id {schema_id} ({CODE})",
        reason=why,
        could_hide=False,  # a note at most
        subjects=(subject,),
    )
