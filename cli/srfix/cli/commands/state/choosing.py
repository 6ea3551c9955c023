"""Which stores of which directory a command of `srfix state` is about, and the bytes of a key that was typed."""

from __future__ import annotations

import base64
import os
import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from srfix.cli.completion import path_completion
from srfix.cli.options import handing_over, option
from srfix.cli.output import say
from srfix.recovery.errors import NotPermittedError
from srfix.recovery.ids_in_words import enumerated
from srfix.recovery.state import ApplicationState, read_state_directory, shut_folders
from srfix.recovery.state.stores import StateStore, open_stores
from srfix.serde.errors import UsageError
from srfix.serde.hints import nearest

_SHUT: Final = f"not permitted, {NotPermittedError.REMEDY}"
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
        """Those of the directory that are meant.

        :raises UsageError: if the directory cannot be read, or none is.
        """
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
        """The parts of stores that are meant, task after task. A store is opened when its rows are read.

        :raises UsageError: if there is no such store or task.
        """
        applications = self.applications(directory)
        named = sorted({name for each in applications for name in each.stores})
        if self.store is not None and self.store not in named:
            near = nearest(self.store[:100], named)
            meant = f" Did you mean {near}?" if near else ""
            shut = "".join(f" {path} was not looked at: {_SHUT}." for each in applications for path in _shut(each))
            raise UsageError(
                f"{directory!r} holds no store {self.store!r}.{meant} There are: {enumerated(named)}.{shut}"
            )
        tasks = sorted({task.name for each in applications for task in each.tasks})
        if self.task is not None and self.task not in tasks:
            raise UsageError(f"{directory!r} holds no task {self.task!r}. There are: {enumerated(tasks)}.")
        for application in applications:
            for store in open_stores(application, self.store, task=self.task, salvages=True):
                yield application, store

    def one_store(self, directory: str) -> list[tuple[ApplicationState, StateStore]]:
        """The parts of the one store that is meant.

        :raises UsageError: if there are several, and none was named.
        """
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
    :raises UsageError: if it lies in one of them.
    """
    for directory in directories:
        if Path(given).resolve().is_relative_to(Path(directory).resolve()):
            raise UsageError(
                f"{given!r} lies in the state directory {directory!r}, which srfix never writes to. Name another place with "
                f"{option}."
            )


_NUMBERS: Final = {"int": ">i", "long": ">q", "double": ">d"}
_TAKES: Final = {
    "hex": "hexadecimal digits, two for each byte",
    "base64": "base64, filled up with = to a multiple of four characters",
    "int": "a whole number of 32 bits",
    "long": "a whole number of 64 bits",
    "double": "a number",
    "text": "text in UTF-8",
}


def key_bytes(text: str) -> bytes:
    """The bytes of a key as it was typed: `hex:…`, `base64:…`, `int:…`, `long:…`, `double:…`, `text:…`; else UTF-8 text.

    :raises UsageError: if what stands behind the colon is no such thing.
    """
    kind, colon, rest = text.partition(":")
    read: dict[str, Callable[[str], bytes]] = {
        "hex": lambda given: bytes.fromhex(given.removeprefix("0x")),
        "base64": lambda given: base64.b64decode(given, validate=True),
        "text": str.encode,
        **{name: _number(name) for name in _NUMBERS},
    }
    if not colon or kind not in read:
        return text.encode("utf-8", "surrogateescape")
    try:
        return read[kind](rest)
    except (ValueError, struct.error):
        raise UsageError(
            f"{text!r} is no key: {kind}: takes {_TAKES[kind]}. A key that begins so itself is written text:{text}."
        ) from None


def _number(kind: str) -> Callable[[str], bytes]:
    read: type[Any] = float if kind == "double" else int
    return lambda given: struct.pack(_NUMBERS[kind], read(given))


def _shut(application: ApplicationState) -> Iterator[str]:
    """The folders of the application that this user may not look into."""
    for problem in application.problems:
        if os.path.isdir(problem.path) and not os.access(problem.path, os.R_OK | os.X_OK):
            yield problem.path


def tell_unseen(
    found: Iterable[tuple[ApplicationState, StateStore]], stores: Iterable[StateStore] | None = None
) -> bool:
    """Says on standard error which rows may be missing though nothing is damaged; True if something could not be looked at.

    :param stores: the parts as they were read, where others read them than those of `found`.

    Rows in the memory of an application that runs are said, and are no failure: the help says that they are not on disk.
    """
    pairs = list(found)
    applications = {each.path: each for each, _store in pairs}
    unseen = False
    for application in applications.values():
        if application.is_in_use:
            say(
                f"{application.path}: a process holds its lock. Rows that it has not flushed are in its memory, and not here: "
                "stop the application, and look again.",
                err=True,
            )
        for line in shut_places(application):
            unseen = True
            say(f"Not looked at: {line}", err=True)
    for line in shut_stores([store for _application, store in pairs] if stores is None else stores):
        unseen = True
        say(f"Not looked at: {line}", err=True)
    return unseen


def shut_places(application: ApplicationState) -> Iterator[str]:
    """A line for each folder of an application that this user may not look into."""
    for path in _shut(application):
        yield f"{path}: {_SHUT}. It may hold rows of the store."


def shut_stores(stores: Iterable[StateStore]) -> Iterator[str]:
    """A line for each part of a store that this user may not read: nothing tells whether that is damaged."""
    for store in stores:
        for damage in store.damage:
            if damage.is_shut:
                yield f"store {store.name} of task {store.task.name}: {damage.problem}"


def tell_damage(stores: Iterable[StateStore]) -> bool:
    """Says on standard error what could not be read, and how to have it whole again; True if there was such."""
    found = can_be_mended = False
    for store in stores:
        for damage in store.damage:
            if damage.is_shut:
                continue  # `tell_unseen` says it
            found = True
            after = f", after {damage.rows_before:,} rows" if damage.rows_before else ""
            say(f"Damaged: store {store.name} of task {store.task.name}{after}: {damage.problem}", err=True)
            can_be_mended = can_be_mended or not store.is_in_use
        if store.damages > len(store.damage):
            say(f"… and {store.damages - len(store.damage):,} more in task {store.task.name}.", err=True)
    if can_be_mended:
        say(
            "To have it whole again: `srfix state rebuild` writes the store from its topic. Or Kafka Streams restores it, once "
            "the task's folder is moved aside: run `srfix diagnose` first, which says whether what is restored can be read.",
            err=True,
        )
    return found


def read_so_far(count: int, store: StateStore) -> str:
    """A number of rows for a person: with damage it is only how many could be read."""
    if store.is_damaged:
        return f"{count:,} (damaged)"
    return (
        f"{count:,} (not permitted)" if store.is_shut and count else "not permitted" if store.is_shut else f"{count:,}"
    )
