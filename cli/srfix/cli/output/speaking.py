"""The only way to the terminal: a command's report, what it says beside that, and what it asks.

Whatever others wrote into it is made printable here, once for all lines; `srfix.serde.printable` says how.
"""

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
"""Columns of the narrowest terminal: of what is no longer than that no line is folded, and rich is not needed."""


def write_report(report: Report, output: OutputFormat, stream: TextIO | None = None) -> None:
    """Writes to `stream`, or to standard output. Only the format's own module is imported.

    When it returns the report is out: a summary on standard error follows it where both go to one file. A page that went to a
    terminal is followed by a line on how to get it into a browser.
    """
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
    """What went wrong, behind the command's name, on standard error."""
    say(f"{ERROR} {text}", err=True)


def say(text: str = "", *, err: bool = False, as_it_is: bool = False) -> None:
    """A line for a person: printable, of bounded length.

    On standard error at a terminal it is folded between words, and the commands in it stand on lines of their own; a
    trace is shown `as_it_is`.
    """
    if err and not as_it_is and sys.stderr.isatty() and any(len(line) > _NARROW for line in text.split("\n")):
        write_report(Report(document={}, blocks=(Paragraph(text),)), OutputFormat.TABLE, sys.stderr)
    else:
        shown = message(text)
        if err and shown.startswith(ERROR) and is_coloured(sys.stderr):
            shown = f"{click.style(ERROR, fg='red', bold=True)}{shown.removeprefix(ERROR)}"
        click.echo(shown, err=err)


def say_total(text: str, output: OutputFormat) -> None:
    """The last line, on standard error: what the report comes to. A terminal has that in the report's first line."""
    if output is not OutputFormat.TABLE or not (sys.stdout.isatty() and sys.stderr.isatty()):
        say(text, err=True)


def say_on_the_way(text: str) -> None:
    """A line of progress on standard error; if that is closed, the command goes on."""
    with suppress(BrokenPipeError):
        say(text, err=True)


def show(text: str, *, end: str = "\n") -> None:
    """Data on standard output that is not JSON: printable, and whole."""
    click.echo(f"{printable(text)}{end}", nl=False)


def show_json(text: str) -> None:
    r"""A JSON text on a line of standard output: the same value, what is not printable as `\uXXXX`."""
    click.echo(printable_json(text))


def conclude(
    report: Report, output: OutputFormat, *, quiet: bool, code: ExitCode, lines: Iterable[str] = ()
) -> ExitCode:
    """Writes the report of a command that has `--quiet`, says the lines on standard error, and gives the exit code.

    With --quiet nothing is said where nothing is wrong; who asked for JSON reads it with a program, which always gets its
    document. The last line is what the report comes to: if that has no verdict, it stands first, too.
    """
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
        for line in lines:
            say(line, err=True)
        if total is not None:
            say_total(total, output)
    return code


def confirm(
    command: str, blocks: Iterable[Block], question: str, *, otherwise: str = "Read the plan, then pass --yes."
) -> bool:
    """Shows what would be written, and asks, on standard error, before the first write; False if the answer is no, or none.

    :param otherwise: what to do where nobody can answer, a sentence.
    """
    if not sys.stdin.isatty():
        raise UsageError(f"{command} asks before it writes, but there is no terminal to answer at. {otherwise}")
    write_report(Report(document={}, blocks=tuple(blocks)), OutputFormat.TABLE, sys.stderr)
    try:
        is_confirmed = click.confirm(message(question), err=True)
    except click.Abort:
        click.echo(err=True)  # the line of the question has not been ended by an answer
        is_confirmed = False
    if not is_confirmed:
        say("Nothing was written.", err=True)
    return is_confirmed


class PrintableFormatter(logging.Formatter):
    """For the log records of libraries, which may quote what they read."""

    def format(self, record: logging.LogRecord) -> str:
        """The record, printable and of bounded length."""
        return message(super().format(record))
