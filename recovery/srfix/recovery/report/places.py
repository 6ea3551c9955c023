"""The ids at fault in one line, with the number of their keys and their partitions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from srfix.recovery.findings import IdAtFault
from srfix.recovery.ids_in_words import enumerated
from srfix.serde.printable import counted

_LINE: Final = 66
_MOST_IDS: Final = 8
_MOST_RANGES: Final = 5


def ids_in_short(faults: Sequence[IdAtFault]) -> str:
    """`1 (4 live keys), 2 (3 live keys, 1 not yet committed); partitions 0-2`, or the ids with their sums."""
    least = "at least " if any(fault.is_partial for fault in faults) else ""
    partitions = {place.partition for fault in faults for place in fault.partitions}
    noun = "partition" if len(partitions) == 1 else "partitions"
    where = f"; {noun} {ranges(partitions)}" if partitions else ""
    listed_ids = ", ".join(
        f"{fault.schema_id} ({least}{keys})" if (keys := _keys([fault])) else str(fault.schema_id) for fault in faults
    )
    text = f"{listed_ids}{where}"
    if len(text) <= _LINE:
        return text
    ids = enumerated((fault.schema_id for fault in faults), most=_MOST_IDS)
    return f"{ids}: {least}{keys}{where}" if (keys := _keys(faults)) else f"{ids}{where}"


def keys_in_short(fault: IdAtFault) -> str:
    """How many keys carry an id, in the cell of a table: `4`, `3 (+1 uncommitted)`; `-` if they were not counted."""
    least = "at least " if fault.is_partial else ""
    pending = sum(place.pending_keys for place in fault.partitions)
    if fault.live_keys is None:
        return "-" if not fault.partitions else counted(fault.records, "record")
    return f"{least}{fault.live_keys:,}{f' (+{pending:,} uncommitted)' if pending else ''}"


def ranges(partitions: Iterable[int]) -> str:
    """`0-2, 5`; for many ranges, the number of partitions, the first and the last one."""
    numbers = sorted(set(partitions))
    gaps = [(before, after) for before, after in pairwise(numbers) if after != before + 1]
    starts = [*numbers[:1], *(after for _before, after in gaps)]
    ends = [*(before for before, _after in gaps), *numbers[-1:]]
    if len(starts) > _MOST_RANGES:
        return f"{len(numbers):,} of {numbers[0]} to {numbers[-1]}"
    return ", ".join(str(start) if start == end else f"{start}-{end}" for start, end in zip(starts, ends, strict=True))


def _keys(faults: Sequence[IdAtFault]) -> str:
    """Keys that a restore loads, and that the next commit adds; empty for ids on disk, or only under a subject."""
    live_keys = [fault.live_keys for fault in faults if fault.live_keys is not None]
    pending = sum(place.pending_keys for fault in faults for place in fault.partitions)
    parts = []
    if live_keys and (sum(live_keys) or not pending):
        parts.append("no live key" if not sum(live_keys) else counted(sum(live_keys), "live key"))
    if not live_keys and any(fault.partitions for fault in faults):
        parts.append(f"{counted(sum(fault.records for fault in faults), 'record')}, no committed offset")
    if live_keys and pending:
        parts.append(f"{pending:,} not yet committed")
    return ", ".join(parts)
