"""What `srfix state rebuild` and `srfix state migrate` have in common: their options, and what they show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, cast

import click

from srfix.cli.choice import Choice
from srfix.cli.commands.shared import BY_ID, ONE_SUBJECT
from srfix.cli.options import option
from srfix.cli.output import Block, FieldList, Heading, ItemList, OutputFormat, Report, Table, say, write_report
from srfix.recovery.clock import now
from srfix.recovery.ids_in_words import counted
from srfix.recovery.rebuild import OnError, Reserialiser
from srfix.recovery.registry import ReadableRegistry
from srfix.recovery.state.writing import WrittenKind
from srfix.serde.errors import UsageError
from srfix.serde.registry import Json
from srfix.serde.resolve import ById, Resolver, UnderOneSubject
from srfix.serde.subjects import FixedSubject, Subject

SCHEMA: Final = "srfix.state-written/1"
_HEAD: Final = ("task", "store", "rows", "rewritten", "kept raw", "late")

kind_option = click.option(
    "--kind",
    type=Choice([kind.value for kind in WrittenKind]),
    help="What the store is: a table of the DSL is timestamped-kv from Kafka Streams 2.3 on.",
)
"""Adds `--kind`."""
release_option = option(
    "--streams-version",
    envvar="STREAMS_VERSION",
    metavar="VERSION",
    required=True,
    help="The Kafka Streams that is to open the directory, such as 2.6.3.",
)
"""Adds `--streams-version`; the command gets `streams_version: str`."""
output_dir_option = click.option(
    "--output-dir",
    required=True,
    metavar="DIR",
    help="The new state.dir: the application's folder is made in it, and must not be there.",
)
"""Adds `--output-dir`."""
subject_option = click.option(
    "--subject",
    metavar="SUBJECT",
    help="Write each value under the schema that this subject holds, the one that the application's reader asks. Nothing is "
    "registered.",
)
"""Adds `--subject`."""
version_option = click.option(
    "--schema-version", type=click.IntRange(min=1), help="With --subject: which version of it. Default: the latest."
)
"""Adds `--schema-version`."""
resolve_option = click.option(
    "--resolve",
    type=Choice([BY_ID, ONE_SUBJECT]),
    default=BY_ID,
    show_default=True,
    help="How the schema of a value's own id is looked up: by the id alone, or only if --read-subject holds it.",
)
"""Adds `--resolve`."""
read_subject_option = click.option(
    "--read-subject",
    metavar="SUBJECT",
    help="With --resolve one-subject: the subject that must hold what a value carries.",
)
"""Adds `--read-subject`."""
on_error_option = click.option(
    "--on-error",
    type=Choice([each.value for each in OnError]),
    default=OnError.FAIL.value,
    show_default=True,
    help="What becomes of a value that cannot be written anew: no directory is completed, or its bytes stay as they are.",
)
"""Adds `--on-error`."""


def reserialiser(
    registry: ReadableRegistry, subject: str, schema_version: int | None, resolve: str, read_subject: str | None
) -> Reserialiser:
    """What writes values anew under a subject.

    :raises UsageError: if the options do not go together.
    :raises RegistryError: if the registry does not answer, or has no such subject.
    """
    if (resolve == ONE_SUBJECT) != (read_subject is not None):
        raise UsageError("--resolve one-subject and --read-subject go together: give both or none.")
    resolver: Resolver = (
        ById(registry, context=registry.context_of(subject))
        if read_subject is None
        else UnderOneSubject(registry, FixedSubject(value=read_subject))
    )
    return Reserialiser(registry, Subject(subject), version=schema_version or "latest", resolver=resolver)


def refuse_without_subject(subject: str | None, given: Mapping[str, object]) -> None:
    """:raises UsageError: if options are given that only --subject makes sense of."""
    for name, value in given.items():
        if subject is None and value is not None:
            raise UsageError(f"{name} belongs to --subject: say under which subject values are to be written.")


def show_written(command: str, target: Path, streams: str, found: Json, output: OutputFormat) -> None:
    """Writes the report of a directory that is whole."""
    report = cast("dict[str, Any]", found)
    document: dict[str, Json] = {
        "schema": SCHEMA,
        "srfix": version("srfix"),
        "generated_at": now(),
        "command": command,
        "directory": str(target),
        "streams_version": streams,
        "stores": report["stores"],
        "ranges": report.get("ranges"),
        "unreadable_rows": report["unreadable_rows"],
        "unreadable": report["unreadable"],
        "notes": report["notes"],
    }
    write_report(Report(document=document, blocks=tuple(_blocks(target, streams, report))), output)
    stores = counted(len(report["stores"]), "store")
    say(f"{target} is whole: {stores}. Put it where the application's state.dir has it, and start.", err=True)


def _blocks(target: Path, streams: str, report: Mapping[str, Any]) -> Iterator[Block]:
    yield Heading(target.name)
    yield FieldList((("folder", str(target)), ("Kafka Streams", streams)))
    rows = [
        (each["task"], each["store"], *(f"{each[name]:,}" for name in ("rows", "rewritten", "kept_raw", "late")))
        for each in report["stores"]
    ]
    if rows:
        yield Table(_HEAD, tuple(rows))
    ranges = report.get("ranges")
    if ranges:
        shown = [(f"{each['partition']}", f"{each['start_offset']:,}", f"{each['end_offset']:,}") for each in ranges]
        yield Table(("partition", "from offset", "up to (exclusive)"), tuple(shown), title="Read")
    words = [
        f"task {each['task']}, store {each['store']}, key {each['key']}: {each['problem']}"
        for each in report["unreadable"]
    ]
    more = report["unreadable_rows"] - len(words)
    words += [f"and {more:,} more"] if more > 0 else []
    if words:
        yield Heading("Kept as they were")
        yield ItemList(tuple(words))
    if report["notes"]:
        yield Heading("Notes")
        yield ItemList(tuple(report["notes"]))
