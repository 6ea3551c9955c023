"""`srfix subjects`: the internal-looking subjects of a registry, classified."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from srfix.cli.command_classes import command
from srfix.cli.connection import Connection
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options.connecting import connection_options
from srfix.cli.options.given import given_options
from srfix.cli.options.groups import option
from srfix.cli.options.options import output_option
from srfix.cli.output.interface import Block, Commands, Heading, OutputFormat, Paragraph, Report, Table, Tone, Verdict
from srfix.cli.output.speaking import say, say_total, write_report
from srfix.cli.version import version
from srfix.recovery.clock import now
from srfix.recovery.commands import CommandLine
from srfix.recovery.ids_in_words import counted, enumerated

if TYPE_CHECKING:
    from srfix.recovery.inspect.internal_subjects import InternalSubject, InternalSubjects


@command()
@option("--application", envvar="APPLICATION", metavar="ID", help="Only this application's.")
@connection_options
@output_option
def subjects(application: str | None, connection: Connection, output: OutputFormat) -> ExitCode:
    """List the subjects that look internal to Kafka Streams or ksqlDB, live and soft-deleted, with their kind.

    The incident can happen if a changelog subject has no topic; `srfix diagnose` says whether it happened. Reads only, with
    full listings. If something could not be listed, standard error says so.
    """
    from srfix.cli.session import open_cluster
    from srfix.recovery.inspect.internal_subjects import SubjectsDocument, list_internal_subjects

    given = given_options()
    with open_cluster(connection) as (cluster, _engine), connection.registry_client() as registry:
        found = list_internal_subjects(cluster, registry, application=application, command_line=given)
    document = SubjectsDocument.of(found, srfix=version("srfix"), generated_at=now())
    looks = f"{len(found.subjects)} of {counted(found.looked_at, 'subject')} look internal"
    verdict = Verdict(text=looks, tone=Tone.UNSURE if found.skipped else Tone.PLAIN)
    write_report(
        Report(document=document.to_json(), blocks=tuple(_blocks(found, given, application)), verdict=verdict), output
    )
    for skipped in found.skipped:
        say(f"Not looked at: {skipped.what}: {skipped.reason}", err=True)
    say_total(f"{looks}.", output)
    return ExitCode.OK


def _blocks(found: InternalSubjects, given: CommandLine, application: str | None) -> Iterator[Block]:
    from srfix.cli.reports.diagnosis_words import secrets_to_add
    from srfix.recovery.inspect.internal_subjects import SubjectClass

    if not found.subjects and application is not None:
        yield Paragraph(
            f"No subject looks internal to the application {application!r}. Names are compared as they stand, letter case "
            "too; without --application all are listed."
        )
        return
    if not found.subjects:
        yield Paragraph("No subject looks internal to Kafka Streams or ksqlDB.")
        return
    counts = Counter(subject.kind for subject in found.subjects)
    for kind in SubjectClass:
        if counts[kind]:
            yield Table(
                ("subject", "state", "ids", "application", "store"),
                tuple(_row(subject) for subject in found.subjects if subject.kind is kind),
                title=f"{kind.value.capitalize()} ({counts[kind]})",
            )
    commands = tuple(dict.fromkeys(subject.next for subject in found.subjects if subject.next is not None))
    if commands:
        yield Heading("Next", level=2)
        yield Commands(commands)
        yield from secrets_to_add(given, "diagnose")


def _row(found: InternalSubject) -> tuple[str, ...]:
    naming = "" if found.role is not None else ", by record name"
    return (
        found.subject,
        f"{'live' if found.is_live else 'soft-deleted'}{naming}",
        "-" if found.schema_ids is None else enumerated(found.schema_ids) or "none",
        found.application or "not known",
        found.store or "-",
    )
