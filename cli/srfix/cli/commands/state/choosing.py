"""Which stores of which directory a command of `srfix state` is about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from srfix.cli.commands.state.not_read import SHUT, shut_folders_of
from srfix.cli.completion import path_completion
from srfix.cli.options.groups import handing_over, option
from srfix.recovery.ids_in_words import enumerated
from srfix.serde.errors import UsageError
from srfix.serde.hints import nearest

if TYPE_CHECKING:
    from srfix.recovery.state.directory import ApplicationState
    from srfix.recovery.state.reading.store import StateStore


directory_argument = click.argument("directory", metavar="DIR", **path_completion("DIR"))
"""Adds DIR; the command gets `directory: str`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreChoice:
    """Which stores are meant."""

    application: str | None
    """The application.id; None for all."""
    store: str | None
    """The store; None for all."""
    task: str | None
    """The task, `0_3`; None for all."""

    def applications(self, directory: str) -> tuple[ApplicationState, ...]:
        """Those of the directory that are meant."""
        from srfix.recovery.state.directory_reader import read_state_directory, shut_folders

        found = read_state_directory(Path(directory))
        wanted = tuple(each for each in found if self.application in (None, each.application))
        if not wanted:
            names = [each.application for each in found]
            shut = "".join(f" {each.path}: {each.reason}." for each in shut_folders(Path(directory)))
            raise UsageError(
                f"{directory!r} holds no application {self.application!r}, but {enumerated(names)}. Give one of them, or leave "
                f"out --application.{shut}"
            )
        return wanted

    def stores(self, directory: str) -> Iterator[tuple[ApplicationState, StateStore]]:
        """The parts of stores that are meant, task after task. A store is opened when its rows are read."""
        from srfix.recovery.state.reading.store import open_stores

        applications = self.applications(directory)
        named = sorted({name for each in applications for name in each.stores})
        if self.store is not None and self.store not in named:
            near = nearest(self.store[:100], named)
            meant = f" Did you mean {near}?" if near else ""
            shut = "".join(
                f" {path} was not looked at: {SHUT}." for each in applications for path in shut_folders_of(each)
            )
            raise UsageError(
                f"{directory!r} holds no store {self.store!r}.{meant} There are: {enumerated(named) or 'none'}.{shut}"
            )
        tasks = sorted({task.name for each in applications for task in each.tasks})
        if self.task is not None and self.task not in tasks:
            raise UsageError(f"{directory!r} holds no task {self.task!r}. There are: {enumerated(tasks)}.")
        for application in applications:
            for store in open_stores(application, self.store, task=self.task, salvages=True):
                yield application, store

    def one_store(self, directory: str) -> list[tuple[ApplicationState, StateStore]]:
        """The parts of the one store that is meant."""
        found = list(self.stores(directory))
        names = sorted({store.name for _application, store in found})
        owners = sorted({application.application for application, _store in found})
        if len(names) != 1:
            raise UsageError(f"Name the store with --store: there are {enumerated(names) or 'none'}.")
        if len(owners) != 1:
            raise UsageError(
                f"Several applications have a store {names[0]}: name one of {enumerated(owners)} with --application."
            )
        return found


choice_options = handing_over(
    "choice",
    StoreChoice,
    option("--application", envvar="APPLICATION", metavar="ID", help="Only this application's."),
    option("--store", envvar="STORE", metavar="NAME", help="The state store."),
    click.option("--task", metavar="N_P", help="Only this task, such as 0_3; global for the global stores."),
)
"""Adds `--application`, `--store`, `--task`; the command gets `choice: StoreChoice`."""


def refuse_within(given: str, option: str, *directories: str) -> None:
    """Nothing is written to a directory that is read, nor into one of its folders.

    :param given: where a command is to write; `option` said so.
    :param directories: those that it reads.
    """
    for directory in directories:
        if Path(given).resolve().is_relative_to(Path(directory).resolve()):
            raise UsageError(
                f"{given!r} lies in the state directory {directory!r}, which srfix never writes to. Name another place with "
                f"{option}."
            )
