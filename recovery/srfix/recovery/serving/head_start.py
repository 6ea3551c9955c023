"""Takes the rows of a state directory as the beginning of served partitions; the log goes on from its checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from srfix.recovery.errors import StateDirectoryError
from srfix.recovery.facts.rows_on_disk import Place
from srfix.recovery.serving.partition import RestoredRow, ServedPartition
from srfix.recovery.state.checkpoints import OffsetMeaning
from srfix.recovery.state.directory_reader import read_state_directory
from srfix.recovery.state.layouts import StoreFormat
from srfix.recovery.state.reading.store import StateStore, open_store
from srfix.recovery.stores.differences import changelog_key

HeadStart = Callable[[ServedPartition], None]
_WITHOUT = (StoreFormat.VERSIONED, StoreFormat.LIST_VALUE, StoreFormat.SUBSCRIPTION)
"""Their rows are not the records of a log."""


def head_start_from(folders: Iterable[Path]) -> HeadStart:
    """Gives each new partition the rows that one of the state directories has of it, if its checkpoint says up to which
    offset. Why it has none is in the notes of the partition.

    :raises StateDirectoryError: if a directory cannot be read.
    """
    states = [state for folder in folders for state in read_state_directory(folder)]

    def start(part: ServedPartition) -> None:
        served = part.served
        directories = [
            (state, task, directory)
            for state in states
            for task in state.tasks
            for directory in task.stores
            if (state.application, directory.name, task.partition) == (served.application, served.name, part.number)
        ]
        if not directories and served.application:
            places = ", ".join(state.path for state in states)
            whose = f"the store {served.name} of the application {served.application}"
            part.notes.append(
                f"partition {part.number} begins without a state directory: {places} has none of it for {whose}"
            )
        for state, task, directory in directories:
            place = Place(state=state, task=task, store=directory)
            reached = place.reached(served.topic, part.number, OffsetMeaning.LAST_RECORD)
            store = open_store(state, task, directory)
            why = None
            if reached is None:
                why = f"it has no offset of {served.topic}"
            elif store.format in _WITHOUT or store.format is not served.store.kind.format:
                why = f"it is of the kind {store.format.value}"
            elif served.forgets_deletes_since(Path(directory.path).stat().st_mtime_ns // 1_000_000):
                why = "it is so old that the topic may have forgotten deletes (delete.retention.ms)"
            if reached is None or why is not None:
                part.notes.append(f"partition {part.number} begins without {directory.path}: {why}")
                continue
            try:
                # The last record is read once more, which changes nothing.
                part.start_with(_records(store), max(reached - 1, 0))
            except StateDirectoryError as error:
                if part.is_abandoned:
                    raise
                part.start_anew(error.message)
            return

    return start


def _records(store: StateStore) -> Iterator[RestoredRow]:
    for row in store.rows():
        yield changelog_key(store, row), row.value, row.timestamp_ms, row.headers
    if store.damage:
        raise StateDirectoryError(store.damage[0].problem)
