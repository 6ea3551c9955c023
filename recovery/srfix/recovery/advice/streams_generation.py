"""The version of Kafka Streams, as far as its traces show it: its metadata beside committed offsets, and its files.

| trace | Streams |
|---|---|
| committed offsets with nothing beside them | up to 2.3 (or they were set by a tool) |
| `SubscriptionInfo` of the members of a group that runs | `_SUBSCRIPTIONS`: 2.6.1 to 2.7 are alike |
| base64 with magic byte 1 (`TopicPartitionMetadata`) | 2.4 to 3.2 |
| magic byte 2 | 3.3 and later |
| `kafka-streams-process-metadata` | 2.6.2 and later |
| `.lock` in a task's directory | up to 2.8, or left over from then |
| `<store>.position` | 3.2 to 4.2 |
| column family `offsets` | 4.3 and later |
| options of a store that RocksDB 6 or later wrote | 3.0 and later |
| those of all stores, that RocksDB 5.18.3 or older wrote | up to 2.5 |

A file that is missing on disk says nothing, because a copy can lose files whose names begin with a dot.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from srfix.recovery.facts.reader import StreamsVersion, range_in_words
from srfix.recovery.findings import Weight

if TYPE_CHECKING:
    from srfix.recovery.state.directory import Traces


_MAGIC_AND_TIMESTAMP: Final = 12
"""The 9 bytes that every version writes first, in base64. What follows them may not be metadata at all (see `Commit`)."""

_LATEST: Final = (StreamsVersion(3, 2), None)
_SUBSCRIPTIONS: Final[Mapping[int, tuple[StreamsVersion, StreamsVersion | None]]] = {
    3: (StreamsVersion(2, 0), StreamsVersion(2, 0)),
    4: (StreamsVersion(2, 1), StreamsVersion(2, 3)),
    5: (StreamsVersion(2, 4), StreamsVersion(2, 4)),
    6: (StreamsVersion(2, 5), StreamsVersion(2, 5)),
    7: (StreamsVersion(2, 6), StreamsVersion(2, 6)),
    8: (StreamsVersion(2, 6), StreamsVersion(2, 7)),
    9: (StreamsVersion(2, 8), StreamsVersion(2, 8)),
    10: (StreamsVersion(3, 0), StreamsVersion(3, 1)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationHint:
    """A range of Kafka Streams versions, both ends inclusive."""

    oldest: StreamsVersion | None
    """The oldest that it can be; None if there is no lower bound."""
    newest: StreamsVersion | None
    """The newest that it can be; None if there is no upper bound."""
    detail: str
    weight: Weight = Weight.STRONG
    """Weak ones are shown, and change nothing."""

    def __str__(self) -> str:
        return str(range_in_words(self.oldest, self.newest))


def from_commit_metadata(texts: Iterable[str]) -> GenerationHint | None:
    """The version by the metadata beside a group's committed offsets; None without any offset, or if it is not of Kafka
    Streams. The newest metadata counts, because partitions without a commit since an upgrade keep the old one.
    """
    magics = {_magic(text) for text in texts}
    if 2 in magics:
        detail = "its committed offsets have metadata with magic byte 2"
        return GenerationHint(oldest=StreamsVersion(3, 3), newest=None, detail=detail)
    if 1 in magics:
        detail = "its committed offsets have metadata with magic byte 1"
        return GenerationHint(oldest=StreamsVersion(2, 4), newest=StreamsVersion(3, 2), detail=detail)
    if magics == {0}:
        detail = "its committed offsets have no metadata; the same is true if a tool set the offsets"
        return GenerationHint(oldest=None, newest=StreamsVersion(2, 3), detail=detail, weight=Weight.WEAK)
    return None


def _magic(text: str) -> int | None:
    """0 for no metadata; None for metadata that Kafka Streams does not write."""
    if not text:
        return 0
    try:
        decoded = base64.b64decode(text[:_MAGIC_AND_TIMESTAMP], validate=True)
    except (binascii.Error, ValueError):
        return None
    return decoded[0] if len(decoded) == 9 and decoded[0] in (1, 2) else None


def from_subscriptions(versions: Iterable[int]) -> GenerationHint | None:
    """The version by a group's members (`SubscriptionInfo.latestSupportedVersion`), which an upgrade mixes."""
    in_order = sorted(set(versions))
    if not in_order or in_order[0] < min(_SUBSCRIPTIONS):
        return None
    oldest, newest = _SUBSCRIPTIONS.get(in_order[0], _LATEST)[0], _SUBSCRIPTIONS.get(in_order[-1], _LATEST)[1]
    detail = f"its members join with version {' and '.join(map(str, in_order))} of SubscriptionInfo"
    return GenerationHint(oldest=oldest, newest=newest, detail=detail)


def from_traces(traces: Traces, *, path: str) -> Iterator[GenerationHint]:
    if traces.has_offsets_column_families:
        detail = f"the stores in {path} have the column family offsets"
        yield GenerationHint(oldest=StreamsVersion(4, 3), newest=None, detail=detail)
    if traces.has_position_files:
        detail = f"there are .position files in {path}"
        yield GenerationHint(oldest=StreamsVersion(3, 2), newest=StreamsVersion(4, 2), detail=detail)
    if traces.has_rocksdb_6:
        detail = f"RocksDB 6 or later opened the stores in {path} last"
        yield GenerationHint(oldest=StreamsVersion(3, 0), newest=None, detail=detail)
    if traces.has_rocksdb_5_18_3:
        detail = f"RocksDB 5.18.3 or older opened the stores in {path} last"
        yield GenerationHint(oldest=None, newest=StreamsVersion(2, 5), detail=detail)
    if traces.has_process_metadata:
        detail = f"there is a kafka-streams-process-metadata in {path}"
        yield GenerationHint(oldest=StreamsVersion(2, 6), newest=None, detail=detail)
    if traces.has_task_locks:
        detail = f"the tasks in {path} have .lock files, new or left over"
        yield GenerationHint(oldest=None, newest=StreamsVersion(2, 8), detail=detail)


def decisive_version(hints: Iterable[GenerationHint]) -> StreamsVersion | None:
    """One possible version, if all possible versions agree on whether KAFKA-10179 is fixed; else None."""
    oldest, newest = version_range(hints)
    if oldest is not None and oldest.asks_the_source_subject:
        return oldest
    return newest if newest is not None and not newest.asks_the_source_subject else None


def version_range(hints: Iterable[GenerationHint]) -> tuple[StreamsVersion | None, StreamsVersion | None]:
    """The possible range, by strong hints; lower bounds win, as an upgraded directory keeps files of older versions."""
    strong = [hint for hint in hints if hint.weight is not Weight.WEAK]
    oldest = max((hint.oldest for hint in strong if hint.oldest is not None), default=None)
    newest = min((hint.newest for hint in strong if hint.newest is not None), default=None)
    return oldest, None if newest is not None and oldest is not None and newest < oldest else newest
