"""Writes a report in the format that was asked for."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TextIO, cast

import click

from srfix.cli.output.interface import OutputFormat, Renderer, Report


def write_report(report: Report, output: OutputFormat, stream: TextIO | None = None) -> None:
    """Writes to `stream`, or to standard output. Only the format's own module is imported.

    When it returns the report is out: a summary on standard error follows it where both go to one file.
    """
    renderer = cast(Renderer, import_module(f"srfix.cli.output.{output.value}"))
    stream = sys.stdout if stream is None else stream
    renderer.render(report, stream)
    stream.flush()
    if output is OutputFormat.HTML and stream.isatty():
        click.echo(
            "This page is for a browser: run it again with `> report.html` at its end, and open that file.", err=True
        )
