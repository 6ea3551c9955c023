"""`srfix state ls`: lists applications, tasks and stores on disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from srfix.cli.command_classes import command, path_completion
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options.connecting import config_option
from srfix.cli.options.options import output_option, quiet_option
from srfix.cli.output.interface import TONES, Block, FieldList, Heading, OutputFormat, Report, Table, Tone, Verdict
from srfix.cli.output.speaking import conclude
from srfix.cli.version import version
from srfix.recovery.clock import now
from srfix.serde.printable import counted

if TYPE_CHECKING:
    from srfix.recovery.state.checkpoints import CheckpointEntry
    from srfix.recovery.state.directory import ApplicationState, StoreDirectory, Task
    from srfix.recovery.stores.listing import StoreForm


_USE = {True: "yes", False: "no", None: "not known"}


@command()
@click.argument("directory", metavar="DIR", **path_completion("DIR"))
@config_option
@quiet_option
@output_option
def ls(directory: str, quiet: bool, output: OutputFormat) -> ExitCode:
    """List the applications, tasks and stores in DIR, a state.dir or the folder of one application. Writes nothing.

    For each application: the Kafka Streams versions that leave such a folder, and whether a process has the folder open. For
    each task: the offsets that its stores have reached. For each store: the form of its rows, with a question mark if only
    the store's name or some of its rows show the form. Exit code 1 if a store cannot be opened; otherwise 2 if srfix could
    not look at everything.
    """
    from srfix.recovery.documents import PlaceNotLookedAt
    from srfix.recovery.state.directory_reader import read_state_directory, shut_folders
    from srfix.recovery.stores.listing import StateLs, forms_of, listed_application, unreadable_stores

    applications = read_state_directory(Path(directory))
    forms = {path: form for application in applications for path, form in forms_of(application).items()}
    shut = shut_folders(Path(directory))
    document = StateLs(
        srfix=version("srfix"),
        generated_at=now(),
        directory=directory,
        applications=[listed_application(application, forms) for application in applications],
        not_looked_at=[PlaceNotLookedAt.of(folder) for folder in shut],
    )
    problems = [*shut, *(problem for application in applications for problem in application.problems)]
    unread = [(each, line, form) for each in applications for line, form in unreadable_stores(each, forms)]
    damaged = [(application, form) for application, _line, form in unread if not _is_unseen(application, form)]
    is_shut = any(form.is_shut for _application, _line, form in unread)
    code = ExitCode.FINDINGS if damaged else ExitCode.REFUSED if problems or is_shut else ExitCode.OK
    stores = sum(len(task.stores) for application in applications for task in application.tasks)
    tasks = sum(len(application.tasks) for application in applications)
    whole = f"{counted(len(applications), 'application')}, {counted(tasks, 'task')}, {counted(stores, 'store')}"
    verdict = Verdict(text=whole, tone=Tone.PLAIN if code is ExitCode.OK else TONES[code])
    report = Report(document=document.to_json(), blocks=tuple(_blocks(applications, forms)), verdict=verdict)
    lines = (
        *(f"Not looked at: {problem.path}: {problem.reason}" for problem in problems),
        *(f"{'Not looked at' if _is_unseen(each, form) else 'Damaged'}: {line}" for each, line, form in unread),
        f"{whole}.",
    )
    return conclude(report, output, quiet=quiet, code=code, lines=lines)


def _is_unseen(application: ApplicationState, form: StoreForm) -> bool:
    """True if a store that cannot be opened may still be undamaged: a running application creates and deletes files."""
    return form.is_shut or bool(application.is_in_use)


def _blocks(applications: Iterable[ApplicationState], forms: Mapping[str, StoreForm]) -> Iterator[Block]:
    from srfix.recovery.state.directory import is_task_in_use
    from srfix.recovery.stores.listing import generation_of

    for application in applications:
        generation = generation_of(application)
        yield Heading(application.application)
        yield FieldList(
            (
                ("folder", application.path),
                ("Kafka Streams", f"{generation.streams} ({generation.because})"),
                ("in use", _USE[application.is_in_use]),
            )
        )
        rows = [_row(task, store, forms[store.path]) for task in application.tasks for store in task.stores]
        if rows:
            yield Table(("task", "store", "kind", "form", "databases", "offsets"), tuple(rows))
        with_checkpoint = [task for task in application.tasks if task.checkpoint is not None]
        if with_checkpoint:
            rows = [
                (task.name, entry.topic, *_offset(entry), _USE[is_task_in_use(application, task)])
                for task in with_checkpoint
                for entry in (task.checkpoint.entries if task.checkpoint is not None else ())
            ]
            yield Table(("task", "topic", "partition", "offset", "in use"), tuple(rows), title="Checkpoints")


def _row(task: Task, store: StoreDirectory, form: StoreForm) -> tuple[str, ...]:
    offsets = "in the checkpoint" if task.checkpoint is not None else "none"
    if store.offsets is not None:
        positions = ", ".join(f"{entry.topic} {' '.join(_offset(entry))}" for entry in store.offsets.entries) or "none"
        offsets = f"{positions} (not closed)" if store.offsets.is_open else positions
    rows = "not known" if form.form is None else form.form.value + ("" if form.is_certain else "?")
    if form.problem is not None:
        rows = "not permitted" if form.is_shut else "cannot be opened"
    databases = "-" if form.is_shut else str(len(store.existing_databases()))
    return task.name, store.name, store.kind.value, rows, databases, offsets


def _offset(entry: CheckpointEntry) -> tuple[str, str]:
    return str(entry.partition), "unknown" if entry.offset is None else str(entry.offset)
