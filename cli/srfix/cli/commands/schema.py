"""`srfix schema`: prints the internal schema of columns, its subjects, and whether a subject would accept it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal

import click

from srfix.cli.command_classes import command
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options.connecting import Connection, connection_options
from srfix.cli.options.half import InternalSchemaChoice, RecordHalf, half_options, schema_options
from srfix.cli.options.options import output_option
from srfix.cli.output import interface as blocks
from srfix.cli.output.speaking import show_json, write_report
from srfix.cli.version import version
from srfix.serde.columns.types import BOOLEAN, Column, Columns
from srfix.serde.errors import ColumnError, UsageError
from srfix.serde.formats.table import Format, format_of, schema_module_of
from srfix.serde.printable import path_words
from srfix.serde.subjects.names import Role

if TYPE_CHECKING:
    from srfix.recovery.inspect.standing import Standing, SubjectAcceptance
    from srfix.serde.connect.columns import Inferred
    from srfix.serde.registry.client import RegistryClient
    from srfix.serde.schemas.models import Json, Schema


@command()
@click.argument("columns_argument", metavar='["NAME TYPE, …"]', required=False)
@half_options
@schema_options
@click.option("--from-subject", metavar="SUBJECT", help="Take the columns from this subject's schema instead.")
@click.option("--version", type=click.IntRange(min=1), help="With --from-subject: this version instead of the latest.")
@click.option("--subject", help="Ask the registry whether this subject would accept the schema. Nothing is written.")
@connection_options
@output_option
def schema(
    half: RecordHalf,
    choice: InternalSchemaChoice,
    from_subject: str | None,
    version: int | None,
    subject: str | None,
    connection: Connection,
    output: blocks.OutputFormat,
) -> ExitCode:
    """Print the schema that ksqlDB makes from columns, ready to register, and the subjects that hold it already.

    Write the columns as in ksqlDB: "ID INT, NAME STRING, TAGS ARRAY<STRING>". By default srfix prints the schema that a
    running query of ksqlDB up to 0.28 registers under a changelog subject. With a registry srfix looks for the schema
    there. Exit code 1 if the subject of --subject would refuse the schema.
    """
    from srfix.recovery.inspect.standing import acceptance_of, standing_of
    from srfix.serde.connect.columns import Inferred

    if (half.columns is None) == (from_subject is None):
        raise UsageError('Give either the columns, such as "ID INT, NAME STRING", or --from-subject SUBJECT.')
    if version is not None and from_subject is None:
        raise UsageError("--version chooses a version of --from-subject; give --from-subject, too.")
    _check_full_name(half, choice)
    inferred = None if half.columns is None else Inferred(half.columns)
    standing: Standing | None = None
    acceptance: SubjectAcceptance | None = None
    if connection.registry.urls or from_subject is not None or subject is not None:
        with connection.registry_client() as registry:
            inferred = inferred or _inferred(registry, str(from_subject), version or "latest", half, choice.full_name)
            wanted = _schema(half, choice, inferred.columns)
            standing = standing_of(registry, wanted)
            acceptance = None if subject is None else acceptance_of(registry, subject, wanted)
    assert inferred is not None
    wanted = _schema(half, choice, inferred.columns)
    if output is blocks.OutputFormat.TABLE and half.columns is not None and standing is None:
        for line in wanted.text.splitlines():  # with nothing else to say, the output can be piped
            show_json(line)
        return ExitCode.OK
    document = _document(half, inferred, wanted, standing, acceptance)
    shown = tuple(_blocks(inferred, wanted.text, standing, acceptance))
    verdict = None
    if acceptance is not None:
        text = f"{acceptance.subject} would {'take' if acceptance.is_accepted else 'refuse'} the schema"
        if acceptance.registered_id is not None:
            text = f"{acceptance.subject} holds the schema already, under id {acceptance.registered_id}"
        tone = blocks.Tone.GOOD if acceptance.is_accepted else blocks.Tone.BAD
        verdict = blocks.Verdict(text=text, tone=tone)
    write_report(blocks.Report(document=document, blocks=shown, verdict=verdict), output)
    return ExitCode.OK if acceptance is None or acceptance.is_accepted else ExitCode.FINDINGS


def _check_full_name(half: RecordHalf, choice: InternalSchemaChoice) -> None:
    if choice.full_name is None:
        return
    try:
        choice.text(replace(half, role=Role.VALUE, wrapped=True), (Column("A", BOOLEAN),))
    except ColumnError as error:
        raise UsageError(
            f"--full-name {choice.full_name!r} is not a valid {half.format.word} name: {error.message}"
        ) from error


def _schema(half: RecordHalf, choice: InternalSchemaChoice, columns: Columns) -> Schema:
    from srfix.serde.schemas.models import Schema

    return Schema(text=choice.text(half, columns), schema_type=str(half.format.schema_type))


def _inferred(
    registry: RegistryClient, subject: str, version: int | Literal["latest"], half: RecordHalf, full_name: str | None
) -> Inferred:
    """The columns of a subject's schema, read by its own type. In Protobuf the full name also chooses the message."""
    from srfix.serde.formats.protobuf import format as protobuf
    from srfix.serde.schemas.references import reference_texts

    registered_schema = registry.version(subject, version).schema
    references = reference_texts(registry, registered_schema, subject=subject)
    format_ = format_of(registered_schema.schema_type)
    infer = schema_module_of(format_).infer_columns
    if full_name is not None and format_ is half.format is Format.PROTOBUF:
        infer = partial(protobuf.infer_columns, full_name=full_name)
    return infer(registered_schema.text, references=references, role=half.role, wrapped=half.wrapped)


def _document(
    half: RecordHalf,
    inferred: Inferred,
    wanted: Schema,
    standing: Standing | None,
    acceptance: SubjectAcceptance | None,
) -> dict[str, Json]:
    from srfix.recovery.inspect.standing import DroppedField, RegisteredVersion, SchemaDocument
    from srfix.serde.columns.text import print_columns

    is_avro = half.format is Format.AVRO
    request: dict[str, object] = {"schema": wanted.text}
    if not is_avro:
        request["schemaType"] = wanted.schema_type
    return SchemaDocument(
        srfix=version("srfix"),
        columns=print_columns(inferred.columns),
        dropped=[DroppedField.of(part) for part in inferred.dropped],
        format=half.format.value,
        role=half.role,
        wrapped=half.wrapped,
        text=wanted.text,
        avro=wanted.text if is_avro else None,
        request=request,
        registered=None if standing is None else [RegisteredVersion.of(holder) for holder in standing.holders],
        registered_is_complete=None if standing is None else standing.is_complete,
        acceptance=acceptance,
    ).to_json()


def _blocks(
    inferred: Inferred, text: str, standing: Standing | None, acceptance: SubjectAcceptance | None
) -> Iterator[blocks.Block]:
    # The schema is shown as a command, so that it can be copied: it stays on one line on any terminal, and Markdown
    # does not escape it.
    from srfix.serde.columns.text import print_columns

    yield blocks.Commands(tuple(text.splitlines()))
    yield blocks.FieldList((("columns", print_columns(inferred.columns)),))
    if inferred.dropped:
        yield blocks.Paragraph("srfix leaves out the fields that no column holds, as ksqlDB does:")
        yield blocks.ItemList(tuple(f"{path_words(part.path)}: {part.reason}" for part in inferred.dropped))
    if standing is not None:
        if standing.holders:
            yield blocks.Table(
                ("subject", "version", "schema id", "state"),
                tuple(
                    (h.subject, str(h.version), str(h.schema_id), "soft-deleted" if h.deleted else "live")
                    for h in standing.holders
                ),
                title="The schema is registered under",
            )
        else:
            where = "no subject" if standing.is_complete else "none of the changelog-like subjects"
            yield blocks.Paragraph(f"The schema is registered under {where} of this registry.")
    if acceptance is not None:
        yield from blocks.titled_list("Why it is refused", acceptance.reasons)
        yield blocks.FieldList((("compatibility", acceptance.level or "none"), ("mode", acceptance.mode or "none")))
