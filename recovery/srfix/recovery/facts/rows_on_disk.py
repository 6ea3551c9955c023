"""The rows of one store in the given state directories, and (`StoreRows.is_whole`) whether all of it is on disk."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from srfix.recovery.census.interface import Census
from srfix.recovery.facts.stores import StoreRows, SuspectStore
from srfix.recovery.state.checkpoints import OffsetMeaning
from srfix.serde.printable import counted
from srfix.serde.subjects.names import Role, Topic
from srfix.serde.wire import SchemaId

if TYPE_CHECKING:
    from srfix.recovery.state.directory import ApplicationState, StoreDirectory, Task
    from srfix.recovery.state.row_ids import RowIds


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    state: ApplicationState
    task: Task
    store: StoreDirectory

    def reached(self, topic: Topic, partition: int, meaning: OffsetMeaning) -> int | None:
        """The offset before which all rows of a partition are on disk; None if the directory or `meaning` does not show it."""
        kept = self.task.checkpoint or self.store.offsets
        entries = () if kept is None else kept.entries
        here = (entry for entry in entries if (entry.topic, entry.partition) == (topic, partition))
        return next((entry.restore_start(self._meaning(meaning)) for entry in here), None)

    def _meaning(self, meaning: OffsetMeaning) -> OffsetMeaning:
        if self.task.is_global:
            return OffsetMeaning.POSITION
        traces = self.state.traces
        since_2_6 = traces.has_process_metadata or traces.has_position_files or traces.has_offsets_column_families
        return OffsetMeaning.LAST_RECORD if since_2_6 else meaning


RowCounter: TypeAlias = "Callable[[Place], RowIds]"
"""Counts the ids in the store of one task, and remembers the result."""
StoreIds: TypeAlias = Mapping[Role, frozenset[SchemaId]]


def count_rows(place: Place, *, give_up_at: float | None = None) -> RowIds:
    from srfix.recovery.state.reading.store import open_store
    from srfix.recovery.state.row_ids import count_row_ids

    return count_row_ids(open_store(place.state, place.task, place.store), give_up_at=give_up_at)


def places_of(states: tuple[ApplicationState, ...], store: SuspectStore) -> tuple[Place, ...]:
    return tuple(
        Place(state=state, task=task, store=directory)
        for state in states
        for task in state.tasks
        if state.prefix(task) == store.application
        for directory in task.stores
        if directory.name == store.name
    )


def ids_by_changelog(states: tuple[ApplicationState, ...], changelog: Topic, count: RowCounter) -> StoreIds:
    """The ids in a changelog's rows on disk; not of uncertain kinds, nor of subscriptions, whose keys are others'."""
    from srfix.recovery.state.directory import StoreKind
    from srfix.recovery.state.layouts import StoreFormat

    by_role: dict[Role, set[SchemaId]] = {role: set() for role in Role}
    for state in states:
        for task in state.tasks:
            for store in task.stores:
                if task.is_global or store.kind is StoreKind.OTHER or state.changelog(task, store.name) != changelog:
                    continue
                counted_ids = count(Place(state=state, task=task, store=store))
                if counted_ids.uncertain is None and counted_ids.form is not StoreFormat.SUBSCRIPTION:
                    for role, ids in counted_ids.schema_ids.items():
                        by_role[role].update(ids)
    return {role: frozenset(ids) for role, ids in by_role.items()}


def read_rows(
    places: tuple[Place, ...], census: Census, count: RowCounter, *, meaning: OffsetMeaning = OffsetMeaning.UNKNOWN
) -> StoreRows:
    gathered = _Gathered(census=census, meaning=meaning, is_global=any(place.task.is_global for place in places))
    for place in places:
        gathered.add(place, count)
    return gathered.rows()


@dataclass(slots=True, kw_only=True)
class _Gathered:
    census: Census
    meaning: OffsetMeaning
    is_global: bool
    counted: int = 0
    ids: dict[Role, Counter[SchemaId]] = field(default_factory=lambda: {role: Counter() for role in Role})
    found_in: dict[Role, dict[SchemaId, set[int]]] = field(default_factory=lambda: {role: {} for role in Role})
    guids: Counter[Role] = field(default_factory=Counter)
    unframed: Counter[Role] = field(default_factory=Counter)
    reached: dict[int, int | None] = field(default_factory=dict)
    """For each partition that was read to its end, the offset before which all of its rows are on disk."""
    not_read: dict[str, None] = field(default_factory=dict)
    is_kept_back: bool = False
    could_hide: bool = False

    def add(self, place: Place, count: RowCounter) -> None:
        from srfix.recovery.state.directory import StoreKind, is_task_locked
        from srfix.recovery.state.layouts import StoreFormat

        where = f"task {place.task.name} in {place.state.path}"
        path = Path(place.store.path)
        if place.store.kind is StoreKind.OTHER:
            self._keep_back(f"{where}: the store has a format of its own, which srfix does not read")
            return
        may_look = os.access(path, os.R_OK | os.X_OK)  # otherwise the attempt to read it reports the missing right
        if may_look and not place.store.existing_databases():
            self._keep_back(f"{where}: there is no database in {path.name}")
            return
        is_locked = place.state.is_in_use or is_task_locked(place.task)
        if is_locked:
            self._keep_back(
                f"{where}: a process holds its lock. Rows that the application has not flushed yet are only in its "
                "memory, so there may be more rows"
            )
        elif place.state.is_in_use is None:
            self._keep_back(f"{where}: on this system srfix cannot see whether a process holds its lock")
        row_ids = count(place)
        if row_ids.form is StoreFormat.SUBSCRIPTION:
            self._keep_back(
                f"{where}: the store holds the subscriptions of a foreign-key join, whose keys belong to other "
                "subjects, and whose values no serde wrote"
            )
            return
        if row_ids.uncertain is not None and row_ids.rows:
            rows = counted(row_ids.rows, "row")
            self._keep_back(
                f"{where}: the ids in its {rows} prove nothing, because the kind of the store is not certain; "
                f"{row_ids.uncertain}"
            )
            return
        self._count(row_ids, place.task.partition)
        if row_ids.stopped is not None:
            self.could_hide = self.could_hide or row_ids.is_damaged
            rows = f"{counted(row_ids.rows, 'row')} {'was' if row_ids.rows == 1 else 'were'} read"
            self._keep_back(f"{where}: only {rows}: {row_ids.stopped}")
        else:
            for partition in self._partitions(place):
                here = place.reached(self.census.topic, partition, self.meaning)
                before = self.reached.get(partition)
                self.reached[partition] = here if before is None else before if here is None else max(before, here)

    def _partitions(self, place: Place) -> Iterator[int]:
        """The partitions whose rows a task's store holds; for a global store, all partitions of the topic."""
        if place.task.partition is not None:
            yield place.task.partition
        else:
            yield from (partition.partition for partition in self.census.partitions)

    def _keep_back(self, why: str) -> None:
        self.is_kept_back = True
        self.not_read[why] = None

    def _count(self, row_ids: RowIds, partition: int | None) -> None:
        self.counted += row_ids.rows
        self.guids.update(row_ids.guids)
        self.unframed.update(row_ids.unframed)
        for role, ids in row_ids.schema_ids.items():
            self.ids[role].update(ids)
            for schema_id in ids:
                places = self.found_in[role].setdefault(schema_id, set())
                if partition is not None:
                    places.add(partition)

    def rows(self) -> StoreRows:
        lags = tuple(self._lags())
        whole = not (self.is_kept_back or lags)
        return StoreRows(
            rows=self.counted,
            schema_ids={role: dict(sorted(ids.items())) for role, ids in self.ids.items()},
            found_in={
                role: {schema_id: tuple(sorted(partitions)) for schema_id, partitions in sorted(by_id.items())}
                for role, by_id in self.found_in.items()
            },
            guids=dict(self.guids),
            unframed=dict(self.unframed),
            partitions=() if self.is_global else tuple(sorted(self.reached)),
            not_read=(*self.not_read, *lags),
            could_hide=self.could_hide,
            is_whole=whole,
        )

    def _lags(self) -> Iterator[str]:
        """The partitions of which rows may be missing, although srfix read all rows that are on disk."""
        for partition in self.census.partitions:
            number = partition.partition
            which = f"partition {number} of topic {self.census.topic}"
            limit = partition.end_offset if self.is_global else partition.committed_offset
            if partition.end_offset == 0:
                continue  # it never had a record, so there is no row
            if number not in self.reached:
                if not self.is_kept_back:
                    yield f"{which}: none of the given state directories holds it"
                continue
            here = self.reached[number]
            if here is None:
                yield f"{which}: nothing on disk says up to which offset its rows go (no checkpoint, or one without its offset)"
            elif limit is None:
                yield f"{which}: the group has no committed offset with which to compare the rows"
            elif here < limit:
                whose = "the topic goes" if self.is_global else "the group has committed"
                yield (
                    f"{which}: its rows on disk go up to offset {here} (exclusive), and {whose} up to {limit}: the directory "
                    "is an older copy, or belongs to a running application"
                )


def of_registry_roles(rows: StoreRows, roles: Mapping[Role, bool]) -> StoreRows:
    """The rows with only the ids of roles whose serde asks a schema registry; in other roles, ids appear by chance."""
    return replace(
        rows,
        schema_ids={role: ids for role, ids in rows.schema_ids.items() if roles.get(role)},
        found_in={role: partitions for role, partitions in rows.found_in.items() if roles.get(role)},
        guids={role: count for role, count in rows.guids.items() if roles.get(role)},
    )
