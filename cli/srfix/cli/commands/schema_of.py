"""`srfix schema-of`: the JSON Schema of a document that srfix writes."""

from __future__ import annotations

import click

from srfix.cli.command_classes import command, word_completion
from srfix.cli.documents import DOCUMENTS, document_named, schema_text
from srfix.cli.exit_codes import ExitCode
from srfix.cli.output.interface import OutputFormat, Paragraph, Report, Table
from srfix.cli.output.speaking import show, write_report
from srfix.serde.errors import UsageError
from srfix.serde.hints import nearest


@command(epilog="Do not confuse this with srfix schema, which is about the columns of a table.")
@click.argument("words", metavar="[NAME]", nargs=-1, shell_complete=word_completion(entry.name for entry in DOCUMENTS))
def schema_of(words: tuple[str, ...]) -> ExitCode:
    """Print the JSON Schema of a document: diagnosis, plan, verification, census, …

    You may also give a command's name. Without a name srfix lists all documents.
    """
    if not words:
        rows = tuple((entry.name, entry.written_by) for entry in DOCUMENTS)
        blocks = (Table(("document", "written by"), rows), Paragraph("Run srfix schema-of with one of these names."))
        write_report(Report(document={}, blocks=blocks), OutputFormat.TABLE)
        return ExitCode.OK
    name = " ".join(words)
    document = document_named(name)
    if document is None:
        names = [entry.name for entry in DOCUMENTS]
        near = nearest(name, names)
        meant = f" Did you mean {near}?" if near is not None else ""
        raise UsageError(f"There is no document {name!r}.{meant} srfix writes: {', '.join(names)}.")
    show(schema_text(document), end="")
    return ExitCode.OK
