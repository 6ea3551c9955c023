"""The schema ids in the rows of a store; only counts are kept. In a versioned store each version of a key is a row, in
a list store each entry of a list; a subscription of a foreign-key join has two keys, and no value of a serde.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from srfix.recovery.ids_in_words import counted
from srfix.recovery.state.formats.values import Headers
from srfix.recovery.state.layouts import StoreFormat
from srfix.recovery.state.reading.rows import RowBatch
from srfix.recovery.state.reading.store import StateStore, StoreDamage
from srfix.serde.subjects.names import Role
from srfix.serde.wire import SchemaId, is_schema_id
from srfix.serde.wire_peek import BY_GUID, NO_PAYLOAD, PeekedId, SchemaIdPeek, peek_headers

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
    tally = _Tally(store.format)
    detection = store.detected
    stopped: str | None = None
    for batch in store.batches():
        if give_up_at is not None and tally.rows >= _READ_ANYWAY and time.monotonic() >= give_up_at:
            stopped = "the time limit (--deadline) was reached"
            break
        tally.add(batch)
    uncertain = None if detection.is_certain else f"it was read as {detection.format.value}: {detection.why}"
    misfit = next((damage for damage in store.damage if not damage.ends_it), None)
    if uncertain is not None and misfit is not None:
        why = f"{uncertain}; but not every row has that form ({misfit.database}, {misfit.problem})"
        return RowIds(rows=0, schema_ids={role: {} for role in Role}, uncertain=uncertain, stopped=why)
    if store.damage:
        stopped = _in_words(store.damage[0], store.damages)
    return tally.row_ids(stopped, uncertain=uncertain, is_damaged=bool(store.damage))


def _in_words(damage: StoreDamage, damages: int) -> str:
    more = "" if damages == 1 else f" ({counted(damages - 1, 'more such place')})"
    if damage.ends_it:
        return f"{damage.problem}{more}"
    return f"{damage.database}, {damage.problem}. It is damaged, or Kafka Streams did not write it{more}"


class _Tally:
    def __init__(self, form: StoreFormat) -> None:
        self._form = form
        self.rows = 0
        self._peeks = {role: SchemaIdPeek() for role in Role}
        self._counts: dict[Role, Counter[PeekedId]] = {role: Counter() for role in Role}

    def add(self, batch: RowBatch) -> None:
        self.rows += len(batch)
        self._count(Role.KEY, batch.keys, batch.headers)
        if self._form is StoreFormat.SUBSCRIPTION:
            self._counts[Role.VALUE][NO_PAYLOAD] += len(batch)
        else:
            self._count(Role.VALUE, batch.values, batch.headers)

    def _count(self, role: Role, payloads: Sequence[bytes | None], headers: Sequence[Headers] | None) -> None:
        peeked = self._peeks[role](payloads)
        if headers is not None:
            peeked = peek_headers(headers, peeked, role)
        self._counts[role].update(peeked)

    def row_ids(self, stopped: str | None, *, uncertain: str | None, is_damaged: bool) -> RowIds:
        ids = {
            role: {schema_id: counts[schema_id] for schema_id in sorted(counts) if is_schema_id(schema_id)}
            for role, counts in self._counts.items()
        }
        guids = {role: counts[BY_GUID] for role, counts in self._counts.items() if counts[BY_GUID]}
        unframed = {
            role: rest
            for role, counts in self._counts.items()
            if (rest := self.rows - sum(ids[role].values()) - counts[BY_GUID] - counts[NO_PAYLOAD])
        }
        return RowIds(
            rows=self.rows,
            schema_ids=ids,
            guids=guids,
            unframed=unframed,
            form=self._form,
            uncertain=uncertain,
            stopped=stopped,
            is_damaged=is_damaged,
        )
