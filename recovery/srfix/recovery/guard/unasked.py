"""What a forecast did not look at, for nobody named where it is: said, and no part of the outcome."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from srfix.recovery.findings import Skipped
from srfix.recovery.guard.judged import JudgedStore
from srfix.recovery.guard.looking import Sight
from srfix.recovery.guard.models import Certainty
from srfix.recovery.guard.srf004 import CODE as KEPT_ROWS
from srfix.recovery.guard.srf005 import CODE as MISSED_KEYS
from srfix.recovery.guard.srf015 import CODE as REFUSED_PUT
from srfix.recovery.guard.srf018 import CODE as RETENTION
from srfix.recovery.guard.srf019 import CODE as UNTRANSFORMED
from srfix.recovery.guard.srf020 import CODE as LATEST_CANNOT_READ


def unasked(judged: Sequence[JudgedStore], sight: Sight) -> Iterator[Skipped]:
    """What would tell more of the stores that may restore a source topic."""
    of_topics = [one for one in judged if one.restores_source_bytes(one.running) is not Certainty.EXCLUDED]
    if not of_topics:
        return
    why = f"nothing that is read here shows whether there are any; {LATEST_CANNOT_READ} is a note at most"
    yield Skipped(what="readers with use.latest.version", reason=why, could_hide=False)
    if sight.cluster is None:
        yield _not("the records of source topics", "no cluster was named (--bootstrap-servers)", MISSED_KEYS, RETENTION)
    if sight.registry is None:
        yield _not("the registry", "none was named (--registry)", MISSED_KEYS, REFUSED_PUT)
    without_rows = [one for one in of_topics if (facts := one.facts()) is None or facts.rows is None]
    if without_rows:
        named = ", ".join(sorted({str(one.store) for one in without_rows}))
        has_state = sight.survey is not None and bool(sight.survey.supplied.state)
        why = (
            "no state directory that was handed over holds the stores, or they cannot be read here"
            if has_state
            else "they are read from --state-dir, with both --bootstrap-servers and --registry"
        )
        yield _not(f"rows of {named} on disk", why, KEPT_ROWS, UNTRANSFORMED)


def _not(what: str, why: str, *codes: str) -> Skipped:
    return Skipped(what=what, reason=f"{why}; {' and '.join(codes)} are not told from it", could_hide=False)
