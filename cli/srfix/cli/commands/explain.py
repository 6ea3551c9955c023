"""`srfix explain`: what a finding code means, or what a pasted stack trace shows."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, BinaryIO, Final

import click

from srfix.cli.command_classes import command, word_completion
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options.options import output_option
from srfix.cli.output import interface as blocks
from srfix.cli.output.speaking import say_aside, write_report
from srfix.cli.version import version
from srfix.recovery.checks.interface import Check
from srfix.recovery.explain.catalogue import CATALOGUE, Catalogue, ExplainedCode, entry, near_codes
from srfix.serde.errors import UsageError
from srfix.serde.files import is_there, open_file
from srfix.serde.schemas.models import Json

if TYPE_CHECKING:
    from srfix.recovery.explain.stack_trace import StackTraceReading

_LONGEST_INPUT: Final = 32 * 2**20
"""srfix keeps this number of bytes from the end of a file or of standard input."""
_CHUNK: Final = 2**20
_WHERE: Final = {"SRFIX_BOOTSTRAP_SERVERS": "HOST:9092", "SRFIX_REGISTRY": "http://REGISTRY:8081"}
_USER: Final = "basic.auth.user.info=USER:env:REGISTRY_PASSWORD"


@command(epilog="Give a trace as a file, or as `-` for standard input, or give the message itself in quotes.")
@click.argument(
    "what",
    metavar="[CODE | FILE | -]",
    required=False,
    shell_complete=word_completion((entry.code for entry in CATALOGUE), else_file=True),
)
@output_option
def explain(what: str | None, output: blocks.OutputFormat) -> ExitCode:
    """Explain a finding code (SRF001) or a pasted stack trace, and say what to do next.

    Without an argument srfix lists all codes.
    """
    from srfix.recovery.explain.stack_trace import Explanation, read

    if what is None:
        rows = tuple((known.code, known.severity, known.checked_since, known.title) for known in CATALOGUE)
        table = blocks.Table(("code", "severity", "checked since", "what"), rows)
        hint = blocks.Paragraph("Run srfix explain with one of these codes.")
        write_report(blocks.Report(document=_catalogue(CATALOGUE), blocks=(table, hint)), output)
        return ExitCode.OK
    code_entry = entry(what)
    if code_entry is not None:
        write_report(_code_report(code_entry), output)
        return ExitCode.OK
    text = _text_of(what)
    if not text.strip():
        raise UsageError("The text is empty. Paste the stack trace, down to the last “Caused by”.")
    reading = read(text)
    document = Explanation.of(reading, srfix=version("srfix"), set_first=_to_set_first())
    report = blocks.Report(document=document.to_json(), blocks=tuple(_reading_blocks(reading)))
    write_report(report, output)
    return ExitCode.OK if reading.is_recognised else ExitCode.REFUSED


def _text_of(what: str) -> str:
    if what == "-":
        stdin = sys.stdin.buffer
        if stdin.isatty():
            say_aside("Paste the stack trace, then press Ctrl-D on a line of its own.")
        return _decode(_tail(stdin))
    try:
        with open_file(what) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _LONGEST_INPUT))
            return _decode(_tail(file))
    except IsADirectoryError:
        pass
    except OSError as error:
        # Otherwise the text is a message: it may be longer than any path, or have characters that no path has.
        if is_there(what):
            raise UsageError(
                f"The file {what!r} cannot be read: {error.strerror}. Check the path and its permissions."
            ) from error
    near = near_codes(what)
    if not near and any(character.isspace() for character in what):
        return what
    meant = f"Did you mean {' or '.join(near)}? " if near else ""
    raise UsageError(
        f"{what!r} is neither a finding code ({CATALOGUE[0].code} to {CATALOGUE[-1].code}) nor a file. {meant}"
        "Run `srfix explain` for the list of codes, or `srfix explain -` and paste a stack trace."
    )


def _tail(stream: BinaryIO) -> bytes:
    tail = bytearray()
    while chunk := stream.read(_CHUNK):
        tail += chunk
        if len(tail) > _LONGEST_INPUT + _CHUNK:
            del tail[:-_LONGEST_INPUT]
    return bytes(tail[-_LONGEST_INPUT:])


def _decode(content: bytes) -> str:
    is_utf_16 = content.startswith((b"\xff\xfe", b"\xfe\xff"))  # PowerShell's `>` writes UTF-16
    return content.decode("utf-16" if is_utf_16 else "utf-8", errors="replace")


def _catalogue(codes: Iterable[Check]) -> dict[str, Json]:
    return Catalogue(srfix=version("srfix"), codes=[ExplainedCode.of(entry) for entry in codes]).to_json()


def _code_report(entry: Check) -> blocks.Report:
    parts = {
        "What it means": entry.meaning,
        "How it comes about": entry.cause,
        "How srfix recognises it": entry.detection,
        "What to do": entry.remedy,
    }
    return blocks.Report(
        document=_catalogue((entry,)),
        blocks=(
            blocks.Heading(f"{entry.code}: {entry.title}"),
            blocks.FieldList((("severity", entry.severity), ("checked", f"since srfix {entry.checked_since}"))),
            *(block for part in parts.items() for block in _section(*part)),
        ),
    )


def _section(heading: str, text: str) -> Iterator[blocks.Block]:
    """A text of the catalogue: each line is a paragraph; lines that begin with a dash are a list."""
    yield blocks.Heading(heading, level=2)
    for is_list, lines in groupby(text.splitlines(), lambda line: line.startswith("- ")):
        if is_list:
            yield blocks.ItemList(tuple(line.removeprefix("- ") for line in lines))
        else:
            yield from map(blocks.Paragraph, lines)


_UNTIL_THEN: Final = (
    "Do not wipe a state directory, and do not TERMINATE or DROP a query, until srfix diagnose has said what is wrong."
)


def _reading_blocks(reading: StackTraceReading) -> list[blocks.Block]:
    title = reading.title if reading.finding is None else f"{reading.finding}: {reading.title}"
    shown: list[blocks.Block] = [blocks.Heading(title), blocks.Paragraph(reading.explanation)]
    if reading.finding is not None:
        shown.insert(1, blocks.Paragraph(_UNTIL_THEN, is_warning=True))
    facts = {
        "schema id": reading.schema_id,
        "other ids": ", ".join(map(str, reading.other_schema_ids)),
        "role": reading.role and reading.role.value,
        "subject": reading.subject,
        "topic": reading.topic,
        "error code": reading.error_code,
        "application": reading.application,
        "store": reading.store,
        "possible applications": ", ".join(reading.possible_applications),
        "Kafka Streams": " or ".join(reading.streams_versions),
    }
    pairs = tuple((name, str(value)) for name, value in facts.items() if value not in {None, ""})
    if pairs:
        shown.append(blocks.FieldList(pairs))
    shown += blocks.titled_list("What this rests on", reading.clues)
    if reading.is_cut:
        shown.append(blocks.Paragraph("The text was very long; srfix read only its end."))
    shown += [blocks.Heading("Next", level=2), blocks.Commands((*_to_set_first(), reading.next_command))]
    if _to_set_first() or any(word in reading.next_command.split() for word in ("TOPIC", _USER)):
        shown.append(
            blocks.Paragraph("Replace the words in capitals with your own values, which your text does not contain.")
        )
    if reading.finding is not None:
        shown.append(blocks.Commands((f"srfix explain {reading.finding}",)))
    return shown


def _to_set_first() -> tuple[str, ...]:
    """The variables for cluster and registry that the next commands need; none if the environment already has them."""
    if os.environ.get("SRFIX_CONFIG") or all(os.environ.get(name) for name in _WHERE):
        return ()
    missing = [f"{name}={value}" for name, value in _WHERE.items() if not os.environ.get(name)]
    return (f"export {' '.join(missing)}",)
