"""What a forecast did not look at, for nobody named where it is: said, and no part of the outcome."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from srfix.recovery.findings import Skipped
from srfix.recovery.guard.judged import JudgedStore
from srfix.recovery.guard.looking import Sight
from srfix.recovery.guard.models import Certainty


def unasked(judged: Sequence[JudgedStore], sight: Sight) -> Iterator[Skipped]:
    """What would tell more of the stores that may restore a source topic."""
    of_topics = [one for one in judged if one.restores_source_bytes(one.running) is not Certainty.EXCLUDED]
    if not of_topics:
        return
    if sight.cluster is None:
        yield _not("the records of source topics", "no cluster was named (--bootstrap-servers)", "SRF005", "SRF018")
    if sight.registry is None:
        yield _not("the registry", "none was named (--registry)", "SRF005", "SRF015")
    without_rows = [one for one in of_topics if (facts := one.facts()) is None or facts.rows is None]
    if without_rows:
        named = ", ".join(sorted({str(one.store) for one in without_rows}))
        has_state = sight.survey is not None and bool(sight.survey.supplied.state)
        why = (
            "no state directory that was handed over holds the stores, or they cannot be read here"
            if has_state
            else "they are read from --state-dir, with both --bootstrap-servers and --registry"
        )
        yield _not(f"rows of {named} on disk", why, "SRF004", "SRF019")


def _not(what: str, why: str, *codes: str) -> Skipped:
    return Skipped(what=what, reason=f"{why}; {' and '.join(codes)} are not told from it", could_hide=False)
