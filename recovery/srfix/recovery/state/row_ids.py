"""The schema ids in the rows of a store; only counts are kept. In a versioned store each version of a key is a row, in
a list store each entry of a list; a subscription of a foreign-key join has two keys, and no value of a serde.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from srfix.recovery.state.layouts import StoreFormat
from srfix.recovery.state.reading.rows import RowBatch
from srfix.recovery.state.reading.store import StateStore, StoreDamage
from srfix.serde.printable import counted
from srfix.serde.subjects.names import Role
from srfix.serde.wire import SchemaId, is_schema_id
from srfix.serde.wire_peek import BY_GUID, UNFRAMED, PeekedId, SchemaIdPeek, peek_headers

_READ_ANYWAY: Final = 1_000
"""So many rows are read even if the time is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowIds:
    rows: int
    schema_ids: Mapping[Role, Mapping[SchemaId, int]]
    """Per role and id, the number of rows whose key or value carries the id. A key may look like a framed one by chance."""
    guids: Mapping[Role, int] = field(default_factory=dict)
    unframed: Mapping[Role, int] = field(default_factory=dict)
    """Per role, the number of rows that carry neither. Versioned tombstones, and subscriptions, have no value."""
    form: StoreFormat | None = None
    uncertain: str | None = None
    """If the format is not certain, a clause that says which format was assumed, and why; else None."""
    stopped: str | None = None
    is_damaged: bool = False
    """True if damage is the reason: a file that is missing or cut short, a flipped byte, a row of another form."""


def count_row_ids(store: StateStore, *, give_up_at: float | None = None) -> RowIds:
    """Until some time by `time.monotonic`. If an uncertain format does not fit a row, nothing is counted."""
    tally = IdTally(store.format)
    detection = store.detected
    rows = 0
    stopped: str | None = None
    for batch in store.batches():
        if give_up_at is not None and rows >= _READ_ANYWAY and time.monotonic() >= give_up_at:
            stopped = "the time limit (--deadline) was reached"
            break
        tally.add(batch)
        rows += len(batch)
    uncertain = None if detection.is_certain else f"it was read as {detection.format.value}: {detection.why}"
    misfit = next((damage for damage in store.damage if not damage.ends_it), None)
    if uncertain is not None and misfit is not None:
        why = f"{uncertain}; but not every row has that form ({misfit.database}, {misfit.problem})"
        return RowIds(rows=0, schema_ids={role: {} for role in Role}, uncertain=uncertain, stopped=why)
    if store.damage:
        stopped = _in_words(store.damage[0], store.damages)
    return RowIds(
        rows=rows,
        schema_ids={role: tally.ids(role) for role in Role},
        guids={role: counts[BY_GUID] for role, counts in tally.counts.items() if counts[BY_GUID]},
        unframed={role: counts[UNFRAMED] for role, counts in tally.counts.items() if counts[UNFRAMED]},
        form=store.format,
        uncertain=uncertain,
        stopped=stopped,
        is_damaged=bool(store.damage),
    )


def _in_words(damage: StoreDamage, damages: int) -> str:
    more = "" if damages == 1 else f" ({counted(damages - 1, 'more such place')})"
    if damage.ends_it:
        return f"{damage.problem}{more}"
    return f"{damage.database}, {damage.problem}. It is damaged, or Kafka Streams did not write it{more}"


class IdTally:
    """Counts the ids, and the marks of `wire_peek`, in keys and values. No serde wrote the values of subscriptions."""

    def __init__(self, form: StoreFormat) -> None:
        roles = (Role.KEY,) if form is StoreFormat.SUBSCRIPTION else tuple(Role)
        self._peeks = {role: SchemaIdPeek() for role in roles}
        self.counts: dict[Role, Counter[PeekedId]] = {role: Counter() for role in Role}

    def add(self, batch: RowBatch) -> None:
        for role, peek in self._peeks.items():
            payloads = batch.keys if role is Role.KEY else batch.values
            if batch.headers is not None:
                self.counts[role].update(peek_headers(batch.headers, peek(payloads), role))
                continue
            present = [payload for payload in payloads if payload is not None]
            alike = peek.alike(present)
            self.counts[role].update(peek(present) if alike is None else {alike: len(present)})

    def ids(self, role: Role) -> dict[SchemaId, int]:
        return {number: count for number, count in sorted(self.counts[role].items()) if is_schema_id(number)}
