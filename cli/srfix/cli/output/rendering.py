"""Writes a report in the format that was asked for."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Final, TextIO, cast

from srfix.cli.output.interface import OutputFormat, Paragraph, Renderer, Report

_FOR_A_BROWSER: Final = "This page is for a browser: run it again with > report.html at its end, and open that file."


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
