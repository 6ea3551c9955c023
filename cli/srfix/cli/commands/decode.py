"""`srfix decode`: records as a chosen reader reads them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from typing import Final

import click

from srfix.cli.commands._session import patience_s
from srfix.cli.connection import Connection
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options import connection_options, output_option
from srfix.cli.output.interface import Block, Heading, Items, OutputFormat, Paragraph, Report, Table
from srfix.cli.output.rendering import write_report
from srfix.recovery.decoding import DecodedPart, DecodedRecord, RecordDecoder, iso_time, record_document
from srfix.recovery.records import RecordRange, read_records
from srfix.serde.columns import parse_columns
from srfix.serde.errors import UsageError
from srfix.serde.json_values import to_json
from srfix.serde.registry import RegistryClient
from srfix.serde.resolve import ById, DualSubject, Resolver, SecondAnswered, UnderOneSubject
from srfix.serde.subjects import (
    ChangelogSubject,
    FixedSubject,
    Role,
    SubjectStrategy,
    TopicSubject,
    split_subject,
    subject_for,
)

__all__ = ["decode"]

_ROLES: Final = {"key": (Role.KEY,), "value": (Role.VALUE,), "both": (Role.KEY, Role.VALUE)}
_BY_ID, _ONE, _DUAL = "by-id", "one-subject", "dual-subject"


@click.command()
@click.argument("topic")
@click.option("--partition", type=click.IntRange(min=0), help="Only this partition.")
@click.option("--from-offset", type=click.IntRange(min=0), help="Begin at this offset instead of the log's start.")
@click.option("--last", is_flag=True, help="The newest records instead of the first ones.")
@click.option(
    "--max-records", type=click.IntRange(min=1), default=20, show_default=True, help="How many at most, in all."
)
@click.option(
    "--role",
    type=click.Choice(list(_ROLES)),
    default="value",
    show_default=True,
    help="Which payloads to decode; the others are shown as they are.",
)
@click.option(
    "--resolve",
    "policy",
    type=click.Choice([_BY_ID, _ONE, _DUAL]),
    help="How a schema id is looked up: as plain deserializers (by-id), as Connect's AvroConverter and ksqlDB "
    "(one-subject), or with a fall-back (dual-subject). Default: by-id, or what the subjects that are named ask for.",
)
@click.option("--subject", help="The subject to ask; default: that of the topic, or of the store.")
@click.option("--second-subject", help="The subject to fall back to; default: that of the topic.")
@click.option(
    "--application", envvar="SRFIX_APPLICATION", show_envvar=True, metavar="ID", help="With --store: its subject."
)
@click.option(
    "--store", envvar="SRFIX_STORE", show_envvar=True, metavar="NAME", help="The state store, phantom or not."
)
@click.option("--columns", metavar='"NAME TYPE, …"', help="Read values into these columns, as ksqlDB declares them.")
@connection_options
@output_option
def decode(
    topic: str,
    partition: int | None,
    from_offset: int | None,
    last: bool,
    max_records: int,
    role: str,
    policy: str | None,
    subject: str | None,
    second_subject: str | None,
    application: str | None,
    store: str | None,
    columns: str | None,
    connection: Connection,
    output: OutputFormat,
) -> ExitCode:
    """Read records of TOPIC through a chosen resolve policy, and print them. Reads only; joins no group.

    `--output json` prints a JSON document a line. What JSON has no word for is marked and nothing is rounded:
    {"$bytes": base64}, {"$decimal": "12.30"}, {"$date": …}, {"$time": …}, {"$timestamp": ISO 8601 in UTC},
    {"$local-timestamp": …}, {"$uuid": …}, {"$double": "NaN"}, {"$object": {…}} around names that begin with $, and
    {"$raw": base64, "text": …} for what was not decoded. A record that cannot be decoded is a line with its error;
    then the exit code is 1.
    """
    if last and from_offset is not None:
        raise UsageError("--last and --from-offset exclude each other: give one of them.")
    roles = _ROLES[role]
    if columns is not None and Role.VALUE not in roles:
        raise UsageError("--columns are those of values, and --role key leaves the values as they are.")
    kafka = connection.kafka_config()
    wanted = RecordRange(topic=topic, partition=partition, from_offset=from_offset, last=last, max_records=max_records)
    strategy = _asked_first(subject, application, store, roles)
    second = None if second_subject is None else _named(second_subject, roles, option="--second-subject")
    with connection.registry_client() as registry:
        resolver = _resolver(registry, policy, strategy, second)
        decoder = RecordDecoder(resolver, roles=roles, columns=None if columns is None else parse_columns(columns))
        records = decoder.decode(topic, read_records(kafka, wanted, timeout_s=patience_s(kafka)))
        read, failed = _write(topic, records, output)
    click.echo(f"{read} record(s) read, {failed} of them not decoded.", err=True)
    return ExitCode.FINDINGS if failed else ExitCode.OK


def _asked_first(
    subject: str | None, application: str | None, store: str | None, roles: tuple[Role, ...]
) -> SubjectStrategy | None:
    """The subject that is named, or that of the store; None if neither is."""
    if subject is not None:
        return _named(subject, roles, option="--subject")
    if store is None:
        return None
    if application is None:
        raise UsageError("--store needs --application: the changelog subject is named after both.")
    return ChangelogSubject(application=application, store=store)


def _named(subject: str, roles: tuple[Role, ...], *, option: str) -> SubjectStrategy:
    split = split_subject(subject)
    if len(roles) == 1:
        return FixedSubject(**{roles[0].value: subject})
    if split is None:
        raise UsageError(
            f"{option} {subject} names no role, so it cannot be asked for keys and values both; give --role key or "
            "--role value."
        )
    return FixedSubject(key=subject_for(split[0], Role.KEY), value=subject_for(split[0], Role.VALUE))


def _resolver(
    registry: RegistryClient, policy: str | None, first: SubjectStrategy | None, second: SubjectStrategy | None
) -> Resolver:
    if policy is None:
        policy = _DUAL if second is not None else _BY_ID if first is None else _ONE
    if second is not None and policy != _DUAL:
        raise UsageError(f"--second-subject is asked by --resolve {_DUAL} only.")
    if policy == _BY_ID:
        return ById(registry)
    if policy == _ONE:
        return UnderOneSubject(registry, first or TopicSubject())
    if first is None:
        raise UsageError(f"--resolve {_DUAL} needs the first subject: --subject, or --application and --store.")
    return DualSubject(registry, first=first, second=second or TopicSubject(), on_second=_say_second_answered)


def _say_second_answered(answered: SecondAnswered) -> None:
    click.echo(answered.note, err=True)


def _write(topic: str, records: Iterable[DecodedRecord], output: OutputFormat) -> tuple[int, int]:
    """Writes the records; how many there were, and how many failed."""
    if output is OutputFormat.JSON:
        read = failed = 0
        for record in records:
            # A line at a time: what was read before an outage is not lost.
            sys.stdout.write(json.dumps(record_document(record), allow_nan=False) + "\n")
            read, failed = read + 1, failed + record.failed
        sys.stdout.flush()
        return read, failed
    kept = list(records)
    write_report(Report(document={}, blocks=tuple(_blocks(topic, kept))), output)
    return len(kept), sum(record.failed for record in kept)


def _blocks(topic: str, records: list[DecodedRecord]) -> Iterator[Block]:
    if not records:
        yield Paragraph(f"No record of {topic} lies there.")
        return
    yield Table(
        ("partition", "offset", "time", "key", "id", "subject", "value"),
        tuple(
            (
                str(record.partition),
                str(record.offset),
                "-" if record.timestamp is None else iso_time(record.timestamp) or str(record.timestamp),
                _shown(record.key),
                ", ".join(str(p.schema_id) for p in (record.key, record.value) if p.schema_id is not None) or "-",
                ", ".join(dict.fromkeys(p.subject for p in (record.key, record.value) if p.subject)) or "-",
                _shown(record.value),
            )
            for record in records
        ),
    )
    errors: dict[str, list[str]] = {}
    for record in records:
        for part in (record.key, record.value):
            if part.error is not None:
                errors.setdefault(part.error.message, []).append(f"{record.partition}/{record.offset}")
    if errors:
        yield Heading("Not decoded (partition/offset)", level=2)
        yield Items(tuple(f"{', '.join(where)}: {message}" for message, where in errors.items()))


def _shown(part: DecodedPart) -> str:
    if part.error is not None:
        return f"({type(part.error).__name__})"
    if part.is_decoded:
        return "null" if part.payload is None else json.dumps(to_json(part.value), ensure_ascii=False)
    if part.payload is None:
        return "null"
    try:
        return part.payload.decode("utf-8")
    except UnicodeDecodeError:
        return f"0x{part.payload.hex()}"
