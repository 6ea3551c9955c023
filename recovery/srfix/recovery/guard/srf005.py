"""SRF005: a restore brings keys under ids that the reader does not write, so that look-ups miss them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from srfix.recovery.census.interface import Census
from srfix.recovery.facts.key_asymmetry import KeyAsymmetry
from srfix.recovery.facts.stores import StoreFacts
from srfix.recovery.findings import Severity
from srfix.recovery.guard.judged import JudgedStore
from srfix.recovery.guard.looking import is_live
from srfix.recovery.guard.models import Certainty, Foretold, Moment, weakest
from srfix.recovery.guard.named_ids import named_ids
from srfix.serde.subjects.names import Role

CODE: Final = "SRF005"


def misses_keys(judged: JudgedStore) -> Iterator[Foretold]:
    """What the ids in the topic's keys say beside the one under the phantom key subject, which the reader writes."""
    restores = judged.restores_source_bytes(judged.running)
    facts = None if restores is Certainty.EXCLUDED else judged.facts()
    found = None if facts is None else facts.key_asymmetry
    if facts is None or found is None:
        return
    live = facts.census is not None and _are_live(facts.census, found)
    # Where the serde may be handed the source topic's name, the phantom subject tells what the reader wrote before.
    writes = judged.asks_the_phantom(judged.running) is Certainty.CERTAIN
    yield judged.foretold(
        CODE,
        Role.KEY,
        severity=Severity.SILENT,
        certainty=weakest((restores, Certainty.CERTAIN if live and writes else Certainty.POSSIBLE)),
        moment=Moment.RESTORE,
        subject=judged.store.changelog_subject(Role.KEY),
        schema_ids=found.missed_ids,
        explanation=_explanation(judged, facts, found, live=live),
        first=(
            "Before a restore let the reader write keys under the schema that the producer uses, or write the topic anew with "
            "keys under the reader's: no registration helps.",
        ),
    )


def _are_live(census: Census, found: KeyAsymmetry) -> bool:
    """True if a restore at this moment loads keys that a look-up misses, whichever id the reader writes."""
    if census.is_partial:
        return False
    live = [schema_id for schema_id in found.missed_ids if is_live(census, Role.KEY, schema_id)]
    return len(live) > (found.reader_id is None)


def _explanation(judged: JudgedStore, facts: StoreFacts, found: KeyAsymmetry, *, live: bool) -> str:
    store = judged.store
    writes = (
        "under one id only, and which is not told"
        if found.reader_id is None
        else f"under schema id {found.reader_id}, its own under {store.changelog_subject(Role.KEY)}"
    )
    carried = set() if facts.rows is None else facts.rows.ids(Role.KEY) & set(found.missed_ids)
    of_rows = f" Rows on disk carry {named_ids(tuple(sorted(carried)))} already." if carried else ""
    when = "A restore brings" if live else "Where it loads such keys, a restore brings"
    missed = "some of which such look-ups miss" if found.reader_id is None else "which such look-ups miss"
    return (
        f"The keys of topic {store.topic} carry {named_ids(found.topic_ids)}, and the reader of store {store.name} looks keys "
        f"up {writes}. A store compares keys byte for byte, ids too. {when} rows under {named_ids(found.missed_ids)}, "
        f"{missed} without any error; the next update makes a second row.{of_rows}"
    )
