"""`srfix subjects`: lists the internal-looking subjects of a registry, with their kinds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from srfix.cli.command_classes import command
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options.connecting import Connection, connection_options
from srfix.cli.options.given import given_options
from srfix.cli.options.options import output_option
from srfix.cli.options.values import option
from srfix.cli.output.interface import Block, Commands, Heading, OutputFormat, Paragraph, Report, Table, Tone, Verdict
from srfix.cli.output.speaking import say_aside, say_total, write_report
from srfix.cli.version import version
from srfix.recovery.clock import now
from srfix.recovery.commands import CommandLine
from srfix.recovery.ids_in_words import enumerated
from srfix.serde.printable import counted

if TYPE_CHECKING:
    from srfix.recovery.inspect.internal_subjects import InternalSubjects, ListedSubject


@command()
@option("--application", metavar="ID", help="List only the subjects of this application.")
@connection_options
@output_option
def subjects(application: str | None, connection: Connection, output: OutputFormat) -> ExitCode:
    """List the subjects that look internal to Kafka Streams or ksqlDB, live and soft-deleted, with their kind.

    If a changelog subject has no topic, a restored store may be unreadable (KAFKA-10179). `srfix diagnose` says whether the
    store's schema ids are missing under such a subject. Reads only, with full listings. If something could not be listed,
    standard error says so; if that could hide an application that is gone, the exit code is 2.
    """
    from srfix.cli.session import open_cluster
    from srfix.recovery.inspect.internal_subjects import SubjectsDocument, list_internal_subjects

    command_line = given_options()
    with open_cluster(connection) as (cluster, _engine), connection.registry_client() as registry:
        listing = list_internal_subjects(cluster, registry, application=application, command_line=command_line)
    document = SubjectsDocument.of(listing, srfix=version("srfix"), generated_at=now())
    looks = f"{len(listing.subjects)} of {counted(listing.looked_at, 'subject')} look internal"
    verdict = Verdict(text=looks, tone=Tone.UNSURE if listing.skipped else Tone.PLAIN)
    blocks = tuple(_blocks(listing, command_line, application))
    write_report(Report(document=document.to_json(), blocks=blocks, verdict=verdict), output)
    say_aside(*(f"Not looked at: {skipped.what}: {skipped.reason}" for skipped in listing.skipped))
    say_total(f"{looks}.", output)
    return ExitCode.REFUSED if any(skipped.could_hide for skipped in listing.skipped) else ExitCode.OK


def _blocks(listing: InternalSubjects, command_line: CommandLine, application: str | None) -> Iterator[Block]:
    from srfix.cli.reports.diagnosis_words import secrets_to_add
    from srfix.recovery.inspect.internal_subjects import SubjectClass

    if not listing.subjects and application is not None:
        yield Paragraph(
            f"No subject looks internal to the application {application!r}. Letter case counts. Without "
            "--application srfix lists all internal subjects."
        )
        return
    if not listing.subjects:
        yield Paragraph("No subject looks internal to Kafka Streams or ksqlDB.")
        return
    counts = Counter(subject.kind for subject in listing.subjects)
    for kind in SubjectClass:
        if counts[kind]:
            yield Table(
                ("subject", "state", "ids", "application", "store"),
                tuple(_row(subject) for subject in listing.subjects if subject.kind is kind),
                title=f"{kind.value.capitalize()} ({counts[kind]})",
            )
    commands = tuple(dict.fromkeys(subject.next for subject in listing.subjects if subject.next is not None))
    if commands:
        yield Heading("Next", level=2)
        yield Commands(commands)
        yield from secrets_to_add(command_line, "diagnose")


def _row(internal_subject: ListedSubject) -> tuple[str, ...]:
    naming = "" if internal_subject.role is not None else ", by record name"
    return (
        internal_subject.subject,
        f"{'live' if internal_subject.is_live else 'soft-deleted'}{naming}",
        "-" if internal_subject.schema_ids is None else enumerated(internal_subject.schema_ids) or "none",
        internal_subject.application or "not known",
        internal_subject.store or "-",
    )
