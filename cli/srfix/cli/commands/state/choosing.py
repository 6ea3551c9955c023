"""The stores that a command of `srfix state` reads, what it could not read of them, and the exit code that follows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from srfix.cli.command_classes import path_completion
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options.values import handing_over, option
from srfix.cli.output.speaking import say_aside
from srfix.recovery.errors import NotPermittedError
from srfix.recovery.ids_in_words import enumerated
from srfix.serde.errors import UsageError
from srfix.serde.hints import nearest
from srfix.serde.printable import counted

if TYPE_CHECKING:
    from srfix.recovery.state.directory import ApplicationState
    from srfix.recovery.state.reading.store import StateStore


SHUT: Final = NotPermittedError.REMEDY


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRead:
    lines: tuple[str, ...]
    is_damaged: bool
    is_unseen: bool
    """True if srfix could not look at something. Rows in the memory of a running application do not count: they are
    reported, and the help says that they are not on disk."""

    def code(self, *, is_wrong: bool = False) -> ExitCode:
        if is_wrong or self.is_damaged:
            return ExitCode.FINDINGS
        return ExitCode.REFUSED if self.is_unseen else ExitCode.OK

    def say(self) -> None:
        say_aside(*self.lines)


def not_read(
    owned_stores: Iterable[tuple[ApplicationState, StateStore]],
    stores: Iterable[StateStore] | None = None,
    *,
    applications: Iterable[ApplicationState] = (),
) -> NotRead:
    """What a command could not read of its stores (`stores`: if others than `owned_stores` read) and applications."""
    pairs = list(owned_stores)
    parts = [store for _application, store in pairs] if stores is None else list(stores)
    all_applications = {
        application.path: application
        for application in (*applications, *(application for application, _store in pairs))
    }.values()
    damaged = list(damage_lines(parts))
    shut = [line for application in all_applications for line in shut_places(application)]
    shut += shut_stores(parts)
    in_use = (
        f"{application.path}: a process holds the lock. Rows that the process has not flushed are only in its memory. Stop "
        "the application, and look again."
        for application in all_applications
        if application.is_in_use
    )
    lines = (*damaged, *in_use, *not_closed(pairs), *(f"Not looked at: {line}" for line in shut))
    return NotRead(lines=lines, is_damaged=bool(damaged), is_unseen=bool(shut))


def not_closed(owned_stores: Iterable[tuple[ApplicationState, StateStore]]) -> Iterator[str]:
    """A line for each application whose tasks have no offset of the store, so that rows in memory may have been lost."""
    tasks: dict[str, dict[str, None]] = {}
    for application, store in owned_stores:
        if application.is_in_use or store.task.is_global or store.is_shut or not store.directory.databases():
            continue
        offsets = store.directory.offsets
        if offsets is None and application.traces.has_offsets_column_families:
            continue  # the store cannot be opened, and there it keeps its offsets
        if offsets.is_open if offsets is not None else not _is_in_checkpoint(application, store):
            tasks.setdefault(application.path, {})[store.task.name] = None
    for path, names in tasks.items():
        yield (
            f"{path}: no checkpoint, or one without the store's offset, in {'task' if len(names) == 1 else 'tasks'} "
            f"{enumerated(names)}. Either the task was not closed (it was killed, or it runs with exactly-once), or its "
            "stores have no logging, or their topics have no records, or the application no longer has them. Rows that were "
            "only in memory are missing here."
        )


def _is_in_checkpoint(application: ApplicationState, store: StateStore) -> bool:
    """False if there is no checkpoint, or if no offset in it can be the store's: for a topic of which nothing was flushed
    yet, Kafka Streams 2.6.3 and later write -4, and 2.5 writes nothing (`ProcessorStateManager.checkpoint`)."""
    from srfix.recovery.state.directory import topic_of

    checkpoint = store.task.checkpoint
    if checkpoint is None:
        return False
    topic, candidates = topic_of(application, store.directory, store.task)
    topics = candidates if topic is None else (topic,)
    return any(entry.offset is not None for entry in checkpoint.entries if entry.topic in topics)


def shut_folders_of(application: ApplicationState) -> Iterator[str]:
    for problem in application.problems:
        if os.path.isdir(problem.path) and not os.access(problem.path, os.R_OK | os.X_OK):
            yield problem.path


def shut_places(application: ApplicationState) -> Iterator[str]:
    for path in shut_folders_of(application):
        yield f"{path}: {SHUT}. This folder may hold rows of the store."


def shut_stores(stores: Iterable[StateStore]) -> Iterator[str]:
    """A line for each part of a store that this user may not read: srfix cannot tell whether that part is damaged."""
    for store in stores:
        for damage in store.damage:
            if damage.is_shut:
                yield f"store {store.name} of task {store.task.name}: {damage.problem}"


def read_so_far(count: int, store: StateStore) -> str:
    """A number of rows, as text. If the store is damaged, the text says that srfix could read only that many."""
    if store.is_damaged:
        return f"{count:,} (damaged)"
    if store.is_shut:
        return f"{count:,} (not permitted)" if count else "not permitted"
    return f"{count:,}"


def damage_lines(stores: Iterable[StateStore]) -> Iterator[str]:
    can_be_mended = False
    for store in stores:
        for damage in store.damage:
            if damage.is_shut:
                continue
            after = f", after {counted(damage.rows_before, 'row')}" if damage.rows_before else ""
            yield f"Damaged: store {store.name} of task {store.task.name}{after}: {damage.problem}"
            can_be_mended = can_be_mended or not store.is_in_use
        if store.damages > len(store.damage):
            yield f"… and {store.damages - len(store.damage):,} more in task {store.task.name}."
    if can_be_mended:
        yield (
            "To repair the store: `srfix state rebuild` writes the store from its topic. Or move the task's folder "
            "away, and Kafka Streams restores the store. First run `srfix diagnose`, which says whether the "
            "restored rows can be read."
        )


directory_argument = click.argument("directory", metavar="DIR", **path_completion("DIR"))


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreChoice:
    """The user's choice of stores: by application, task (`0_3`) and name; None means all."""

    application: str | None
    store: str | None
    task: str | None

    def applications(self, directory: str) -> tuple[ApplicationState, ...]:
        from srfix.recovery.state.directory_reader import read_state_directory, shut_folders

        states = read_state_directory(Path(directory))
        wanted = tuple(state for state in states if self.application in (None, state.application))
        if not wanted:
            names = [state.application for state in states]
            shut = "".join(f" {folder.path}: {folder.reason}." for folder in shut_folders(Path(directory)))
            raise UsageError(
                f"{directory!r} has no application {self.application!r}. It has {enumerated(names)}: give one of "
                f"them, or leave out --application.{shut}"
            )
        return wanted

    def stores(self, directory: str) -> Iterator[tuple[ApplicationState, StateStore]]:
        """The chosen parts of stores, task after task. A store is opened only when its rows are read."""
        from srfix.recovery.state.reading.store import open_stores

        applications = self.applications(directory)
        named = sorted({name for application in applications for name in application.stores})
        if self.store is not None and self.store not in named:
            near = nearest(self.store[:100], named)
            meant = f" Did you mean {near}?" if near else ""
            shut = "".join(
                f" {path} was not looked at: {SHUT}."
                for application in applications
                for path in shut_folders_of(application)
            )
            raise UsageError(
                f"{directory!r} holds no store {self.store!r}.{meant} There are: {enumerated(named) or 'none'}.{shut}"
            )
        tasks = sorted({task.name for application in applications for task in application.tasks})
        if self.task is not None and self.task not in tasks:
            raise UsageError(f"{directory!r} holds no task {self.task!r}. There are: {enumerated(tasks)}.")
        for application in applications:
            for store in open_stores(application, self.store, task=self.task, salvages=True):
                yield application, store

    def one_store(self, directory: str) -> list[tuple[ApplicationState, StateStore]]:
        pairs = list(self.stores(directory))
        names = sorted({store.name for _application, store in pairs})
        owners = sorted({application.application for application, _store in pairs})
        if len(names) != 1:
            raise UsageError(f"Name the store with --store: there are {enumerated(names) or 'none'}.")
        if len(owners) != 1:
            raise UsageError(
                f"Several applications have a store {names[0]}: name one of {enumerated(owners)} with --application."
            )
        return pairs


choice_options = handing_over(
    "choice",
    StoreChoice,
    option("--application", metavar="ID", help="Only the stores of this application."),
    option("--store", metavar="NAME", help="The state store."),
    click.option("--task", metavar="N_P", help="Only this task, such as 0_3; global means the global stores."),
)


def refuse_within(place: str, *directories: str) -> None:
    """Refuses an --out in a state directory that srfix reads, or in one of its folders."""
    for directory in directories:
        if Path(place).resolve().is_relative_to(Path(directory).resolve()):
            raise UsageError(
                f"{place!r} is in the state directory {directory!r}, which srfix never writes to. Name another "
                "place with --out."
            )
