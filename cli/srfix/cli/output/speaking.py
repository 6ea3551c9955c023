"""The only module that writes to the terminal: a command's report, its other lines, and its questions. It makes all foreign
text printable, in one place for all lines; `srfix.serde.printable` says how."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from typing import Final, TextIO, cast

import click

from srfix.cli.exit_codes import ExitCode
from srfix.cli.output.interface import ERROR, TONES, Block, OutputFormat, Paragraph, Renderer, Report, Tone, Verdict
from srfix.serde.errors import UsageError
from srfix.serde.printable import message, printable, printable_json

_FOR_A_BROWSER: Final = (
    "This output is for a browser. Run the command again with > report.html at its end, and open that file."
)
_NARROW: Final = 60
"""Columns of the narrowest terminal. A text that is not longer needs no folding, and so does not need rich."""


def write_report(report: Report, output: OutputFormat, stream: TextIO | None = None) -> None:
    """Writes to `stream`, or to standard output, and returns when it is written: a summary on stderr comes after it."""
    renderer = cast(Renderer, import_module(f"srfix.cli.output.{output.value}"))
    stream = sys.stdout if stream is None else stream
    renderer.render(report, stream)
    stream.flush()
    if output is OutputFormat.HTML and stream.isatty():
        write_report(Report(document={}, blocks=(Paragraph(_FOR_A_BROWSER),)), OutputFormat.TABLE, sys.stderr)


def is_coloured(stream: TextIO) -> bool:
    """True for a terminal that shows colours, unless NO_COLOR asks for none (no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") not in ("dumb", "unknown")


def say_error(text: str) -> None:
    say_aside(f"{ERROR} {text}")


def say(text: str = "", *, err: bool = False, as_it_is: bool = False) -> None:
    """Prints a line for a person, printable and of bounded length; a trace is shown `as_it_is`, not folded."""
    if err and not as_it_is and sys.stderr.isatty() and any(len(line) > _NARROW for line in text.split("\n")):
        write_report(Report(document={}, blocks=(Paragraph(text),)), OutputFormat.TABLE, sys.stderr)
    else:
        shown = message(text)
        if err and shown.startswith(ERROR) and is_coloured(sys.stderr):
            shown = f"{click.style(ERROR, fg='red', bold=True)}{shown.removeprefix(ERROR)}"
        click.echo(shown, err=err)


def say_aside(*lines: str) -> None:
    """Prints lines for a person on standard error."""
    for line in lines:
        say(line, err=True)


def say_total(text: str, output: OutputFormat) -> None:
    """Prints the result as the last line on standard error. On a terminal, the report's first line already says it."""
    if output is not OutputFormat.TABLE or not (sys.stdout.isatty() and sys.stderr.isatty()):
        say_aside(text)


def say_on_the_way(text: str) -> None:
    """Prints a line of progress on standard error. If standard error is closed, the command goes on."""
    with suppress(BrokenPipeError):
        say_aside(text)


def show(text: str, *, end: str = "\n") -> None:
    """Writes data that is not JSON to standard output: printable, and complete."""
    click.echo(f"{printable(text)}{end}", nl=False)


def show_json(text: str) -> None:
    r"""Writes a JSON text as a line of standard output: the same value, with unprintable characters as `\uXXXX`."""
    click.echo(printable_json(text))


def conclude(
    report: Report, output: OutputFormat, *, quiet: bool, code: ExitCode, lines: Iterable[str] = ()
) -> ExitCode:
    """Writes the report, says the lines, gives the exit code; --quiet prints only JSON and JUnit, unless something is wrong."""
    lines = [*lines]
    if report.headline is None and lines:
        tone = Tone.PLAIN if code is ExitCode.OK else TONES.get(code, Tone.BAD)
        report = replace(report, verdict=Verdict(text=lines[-1].removesuffix("."), tone=tone))
        *lines, total = lines
    else:
        total = None
    is_silent = quiet and code is ExitCode.OK
    if not is_silent or output.is_for_programs:
        write_report(report, output)
    if not is_silent:
        say_aside(*lines)
        if total is not None:
            say_total(total, output)
    return code


def confirm(
    command: str, blocks: Iterable[Block], question: str, *, otherwise: str = "Read the plan, then pass --yes."
) -> bool:
    """Shows the planned writes and asks; False without a yes. `otherwise` says what to do if nobody can answer."""
    if not sys.stdin.isatty():
        raise UsageError(f"{command} asks before it writes, but there is no terminal to answer at. {otherwise}")
    write_report(Report(document={}, blocks=tuple(blocks)), OutputFormat.TABLE, sys.stderr)
    try:
        is_confirmed = click.confirm(message(question), err=True)
    except click.Abort:
        click.echo(err=True)  # there was no answer that ended the question's line
        is_confirmed = False
    if not is_confirmed:
        say_aside("Nothing was written.")
    return is_confirmed


class PrintableFormatter(logging.Formatter):
    """Formats the log records of libraries, which may quote foreign data."""

    def format(self, record: logging.LogRecord) -> str:
        return message(super().format(record))
