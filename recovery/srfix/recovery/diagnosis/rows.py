"""What is learned of a store from its rows on disk, where a state directory that was handed over holds it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from srfix.recovery.census.interface import Census
from srfix.recovery.errors import LibraryMissingError
from srfix.recovery.facts.reader import StreamsVersion
from srfix.serde.subjects.names import Topic

if TYPE_CHECKING:
    from srfix.recovery.facts.rows_on_disk import RowCounter
    from srfix.recovery.facts.store_rows import ProcessedRows, StoreRows
    from srfix.recovery.facts.stores import SuspectStore
    from srfix.recovery.facts.survey import Survey


_LAST_RECORD_SINCE: Final = StreamsVersion(2, 6)
"""The first Kafka Streams whose checkpoints hold the offset of the last record; before, it was that of the next one."""


def learn_rows(
    survey: Survey, suspect: SuspectStore, census: Census, count: RowCounter, streams: StreamsVersion | None
) -> tuple[StoreRows | None, str | None]:
    """What the rows on disk carry; None if no state directory holds the store, or, with the reason, they were not read."""
    from srfix.recovery.facts.rows_on_disk import places_of, read_rows
    from srfix.recovery.state.checkpoints import OffsetMeaning

    places = places_of(survey.supplied.state, suspect)
    if not places:
        return None, None
    meaning = OffsetMeaning.UNKNOWN
    if streams is not None:
        meaning = OffsetMeaning.LAST_RECORD if streams >= _LAST_RECORD_SINCE else OffsetMeaning.POSITION
    try:
        return read_rows(places, census, count, meaning=meaning), None
    except LibraryMissingError as error:
        return None, error.message


def learn_processed(
    survey: Survey, suspect: SuspectStore, census: Census, deadline_s: float | None, streams: StreamsVersion | None
) -> ProcessedRows | None:
    """The rows of a global store against its topic; None where a restore runs the processor, or where there is neither a row
    on disk nor a processor that a person has named.
    """
    from srfix.recovery.facts.processed_rows import compare_rows
    from srfix.recovery.facts.rows_on_disk import places_of

    if streams is not None and streams.restores_through_processors:
        return None
    processor = _processor(survey, suspect, census.topic)
    places = places_of(survey.supplied.state, suspect)
    if processor.processor is None and not any(place.task.is_global for place in places):
        return None
    try:
        return compare_rows(
            survey.cluster,
            survey.registry,
            census,
            places,
            context=suspect.context,
            found=processor,
            deadline_s=deadline_s,
        )
    except LibraryMissingError as error:
        return replace(processor, not_compared=error.message)


def _processor(survey: Survey, suspect: SuspectStore, topic: Topic) -> ProcessedRows:
    """The processor of the user's own that a topology shows, or none: its name is no evidence against one."""
    from srfix.recovery.facts.store_rows import ProcessedRows
    from srfix.recovery.facts.table_sources import own_processor

    for topology in survey.supplied.topologies:
        own = (
            own_processor(topology.topology, suspect.name)
            if topology.application in (None, suspect.application)
            else None
        )
        if own is not None and own.topic == topic:
            return ProcessedRows(processor=own.name, origin=topology.origin)
    return ProcessedRows()
