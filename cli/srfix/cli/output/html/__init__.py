"""A report as a page for people: one file, which needs no network and no script."""

from srfix.cli.output.html.page import render
