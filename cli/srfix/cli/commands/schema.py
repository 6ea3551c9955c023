"""`srfix schema`: the internal schema of columns, where it stands, and who would take it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import version as version_of
from typing import Literal

import click

from srfix.cli.connection import Connection
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options import connection_options, output_option
from srfix.cli.output.interface import Block, Commands, Fields, Heading, Items, OutputFormat, Paragraph, Report, Table
from srfix.cli.output.rendering import write_report
from srfix.recovery.standing import Acceptance, Standing, acceptance_of, standing_of
from srfix.serde.columns import (
    BOOLEAN,
    Column,
    Inferred,
    infer_avro,
    parse_columns,
    print_columns,
)
from srfix.serde.errors import ColumnError, UsageError
from srfix.serde.formats import avro
from srfix.serde.registry import RegistryClient, schema_references
from srfix.serde.registry.models import Json, Schema

__all__ = ["schema"]


@click.command()
@click.argument("columns", metavar='["NAME TYPE, …"]', required=False)
@click.option(
    "--full-name", default=avro.KSQLDB_FULL_NAME, show_default=True, help="The record's name with its namespace."
)
@click.option("--from-subject", metavar="SUBJECT", help="Take the columns from this subject's schema instead.")
@click.option("--version", type=click.IntRange(min=1), help="With --from-subject: this version, not the latest.")
@click.option("--subject", help="Ask the registry whether this subject would take the schema; nothing is written.")
@connection_options
@output_option
def schema(
    columns: str | None,
    full_name: str,
    from_subject: str | None,
    version: int | None,
    subject: str | None,
    connection: Connection,
    output: OutputFormat,
) -> ExitCode:
    """Print the internal schema of columns, ready to register, and say where it stands already.

    The columns are ksqlDB's: "ID INT, NAME STRING, TAGS ARRAY<STRING>". It is the schema that ksqlDB registers under a
    changelog subject (up to 0.28). With a registry it is looked for there; exit code 1 if --subject would refuse it.
    """
    if (columns is None) == (from_subject is None):
        raise UsageError('Give either the columns, such as "ID INT, NAME STRING", or --from-subject SUBJECT.')
    if version is not None and from_subject is None:
        raise UsageError("--version chooses a version of --from-subject; give that too.")
    _check_full_name(full_name)
    inferred = None if columns is None else Inferred(parse_columns(columns))
    standing: Standing | None = None
    acceptance: Acceptance | None = None
    if connection.registry.urls or from_subject is not None or subject is not None:
        with connection.registry_client() as registry:
            inferred = inferred or _columns_of(registry, str(from_subject), version or "latest")
            wanted = Schema(text=avro.internal_schema(inferred.columns, full_name=full_name))
            standing = standing_of(registry, wanted)
            acceptance = None if subject is None else acceptance_of(registry, subject, wanted)
    assert inferred is not None
    text = avro.internal_schema(inferred.columns, full_name=full_name)
    document = _document(inferred, text, standing, acceptance)
    write_report(Report(document=document, blocks=tuple(_blocks(inferred, text, standing, acceptance))), output)
    return ExitCode.OK if acceptance is None or acceptance.is_accepted else ExitCode.FINDINGS


def _check_full_name(full_name: str) -> None:
    try:
        avro.internal_schema((Column("A", BOOLEAN),), full_name=full_name)
    except ColumnError as error:
        raise UsageError(f"--full-name {full_name!r} is no Avro name: {error.message}") from error


def _columns_of(registry: RegistryClient, subject: str, version: int | Literal["latest"]) -> Inferred:
    found = registry.version(subject, version).schema
    avro.check_schema(found)
    return infer_avro(
        found.text, references=tuple(each.schema.text for each in schema_references(registry, found, subject=subject))
    )


def _document(
    inferred: Inferred, text: str, standing: Standing | None, acceptance: Acceptance | None
) -> dict[str, Json]:
    accepted: Json = None
    if acceptance is not None:
        accepted = {
            "subject": acceptance.subject,
            "accepted": acceptance.is_accepted,
            "registered_id": None if acceptance.registered_id is None else int(acceptance.registered_id),
            "compatibility": acceptance.level,
            "mode": acceptance.mode,
            "reasons": list(acceptance.reasons),
        }
    registered: Json = None
    if standing is not None:
        registered = [
            {"subject": h.subject, "version": h.version, "id": int(h.schema_id), "deleted": h.deleted}
            for h in standing.holders
        ]
    return {
        "schema": "srfix.schema/1",
        "srfix": version_of("srfix"),
        "columns": print_columns(inferred.columns),
        "dropped": [{"path": part.path, "reason": part.reason} for part in inferred.dropped],
        "avro": text,
        "request": {"schema": text},
        "registered": registered,
        "registered_is_complete": None if standing is None else standing.is_complete,
        "acceptance": accepted,
    }


def _blocks(inferred: Inferred, text: str, standing: Standing | None, acceptance: Acceptance | None) -> Iterator[Block]:
    # As a command: whole on one line on any terminal, and unescaped in Markdown, so that it can be copied.
    yield Commands((text,))
    yield Fields((("columns", print_columns(inferred.columns)),))
    if inferred.dropped:
        yield Paragraph("Fields that no column holds are left out, as ksqlDB leaves them out:")
        yield Items(tuple(f"{part.path}: {part.reason}" for part in inferred.dropped))
    if standing is not None:
        if standing.holders:
            yield Table(
                ("subject", "version", "schema id", "state"),
                tuple(
                    (h.subject, str(h.version), str(h.schema_id), "soft-deleted" if h.deleted else "live")
                    for h in standing.holders
                ),
                title="It is registered under",
            )
        else:
            where = "no subject" if standing.is_complete else "none of the changelog-like subjects"
            yield Paragraph(f"It is registered under {where} of this registry.")
    if acceptance is not None:
        yield Heading(f"Would {acceptance.subject} take it?", level=2)
        if acceptance.registered_id is not None:
            yield Paragraph(f"It holds it already, under id {acceptance.registered_id}.")
        elif acceptance.is_accepted:
            yield Paragraph("Yes.")
        else:
            yield Paragraph("No:")
            yield Items(acceptance.reasons)
        yield Fields((("compatibility", acceptance.level), ("mode", acceptance.mode or "none")))
