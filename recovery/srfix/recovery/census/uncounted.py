"""No census, for when there is no time: every partition counts as unread, so nothing is called healthy."""

from __future__ import annotations

from collections.abc import Callable

from srfix.recovery.census.interface import Census, CensusProgress, CensusRequest, PartitionCensus, RoleCensus

NOT_READ = "not read, as was wished (--all-versions)"
"""What stands in `PartitionCensus.stopped_early`."""

_NOTHING = RoleCensus(ids=(), guids=0, unframed=0, nulls=0, first_unframed_offset=None, live_unframed_keys=None)


class NoCensus:
    """A `CensusEngine` that asks the cluster nothing and reads nothing."""

    def count(self, request: CensusRequest, *, on_progress: Callable[[CensusProgress], None] | None = None) -> Census:
        """Every partition with no records, stopped before its first one; offsets are 0 for not known."""
        return Census(
            topic=request.topic,
            isolation=request.isolation,
            partitions=tuple(
                PartitionCensus(
                    partition=partition,
                    start_offset=0,
                    end_offset=0,
                    committed_offset=(request.committed or {}).get(partition),
                    restore_limit=None,
                    records=0,
                    keys=_NOTHING,
                    values=_NOTHING,
                    stopped_early=NOT_READ,
                )
                for partition in request.partitions
            ),
        )
