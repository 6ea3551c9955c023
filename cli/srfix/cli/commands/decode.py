"""`srfix decode`: decodes records as a chosen reader would."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from srfix.cli.command_classes import command
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options import half as halves
from srfix.cli.options.connecting import Connection, connection_options
from srfix.cli.options.options import output_option
from srfix.cli.options.values import POLICIES, ROLES, Choice, choice_of, flag, option
from srfix.cli.output.interface import Block, OutputFormat, Paragraph, table_of, titled_list
from srfix.cli.output.speaking import say_aside, show_json
from srfix.serde.casing import CaseRule
from srfix.serde.columns.times import Times
from srfix.serde.errors import SrfixError, UsageError
from srfix.serde.formats.table import Format
from srfix.serde.interface import SerdeContext, Value
from srfix.serde.json_values import to_json
from srfix.serde.printable import counted
from srfix.serde.windowed import WindowKind

if TYPE_CHECKING:
    from srfix.recovery.facts.decoding import DecodedRecord
    from srfix.serde.resolve.policies import Resolver
    from srfix.serde.specs import NullableRepresentation


@command()
@click.argument("topic", required=False)
@click.option(
    "--payload",
    "payloads",
    multiple=True,
    metavar="TEXT|-",
    help=(
        "Decode these bytes instead of records: hex:…, base64:…, text:…, or without a prefix (text for json and delimited, "
        "otherwise hexadecimal). - reads standard input, one payload on each line. An empty line has no bytes. Repeatable."
    ),
)
@click.option("--partition", type=click.IntRange(min=0), help="Read only this partition.")
@click.option("--from-offset", type=click.IntRange(min=0), help="Begin at this offset instead of the log's start.")
@flag("--last", help="Read the newest records instead of the first ones.")
@click.option(
    "--max-records",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="The largest number of records, in all.",
)
@click.option(
    "--role",
    **choice_of(ROLES, "value"),
    help="Which payloads to decode. The other payloads are shown undecoded.",
)
@click.option(
    "--resolve",
    "policy",
    type=Choice(POLICIES),
    help=(
        "How srfix looks up a schema id: like plain deserializers (by-id), like Connect's AvroConverter and ksqlDB "
        "(one-subject), or with a fall-back (dual-subject). Default: by-id; one-subject with --subject or --store; "
        "dual-subject with --second-subject."
    ),
)
@click.option("--subject", help="The subject to ask. Default: the subject of the topic, or of the store.")
@click.option("--second-subject", help="The subject to fall back to. Default: the subject of the topic.")
@option("--application", metavar="ID", help="With --store: the application of the store.")
@option("--store", metavar="NAME", help="The state store, whether or not its changelog topic exists.")
@click.option(
    "--format",
    "format_",
    type=Choice(Format),
    help="The format. Default: the schema of the id decides; with --schema, avro.",
)
@click.option("--columns", metavar='"NAME TYPE, …"', help="Read into these columns, as ksqlDB declares or prints them.")
@halves.wrapped_option
@halves.case_rule_option
@halves.times_option
@halves.delimiter_option
@halves.nullable_option
@click.option(
    "--schema",
    "given",
    metavar="TEXT|@FILE",
    help=(
        "With --payload: the writer schema. srfix asks no registry. In protobuf, the indexes of the message stand before "
        "its bytes: 00 for the first message of the schema."
    ),
)
@flag(
    "--framed",
    help="With --schema: five bytes stand before each body (the magic byte and the schema id).",
)
@click.option("--window", type=Choice(WindowKind), help="The kind of window around the keys.")
@connection_options
@output_option
def decode(
    topic: str | None,
    payloads: tuple[str, ...],
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
    format_: Format | None,
    columns: str | None,
    wrapped: bool | None,
    case_rule: CaseRule,
    times: Times,
    delimiter: str | None,
    nullable_representation: NullableRepresentation | None,
    given: str | None,
    framed: bool,
    window: WindowKind | None,
    connection: Connection,
    output: OutputFormat,
) -> ExitCode:
    """Decode records of TOPIC with a chosen way to look up schemas, and print them. Reads only; joins no group.

    With --payload, srfix decodes typed or piped bytes instead. Framed bytes need the registry. Bytes in json, kafka or
    delimited format need no registry, and bodies with a writer schema from --schema do not either. Each row is printed as a
    JSON document on one line.

    `--output json` prints one JSON document on each line. Values that JSON cannot express are marked, and nothing is
    rounded: {"$bytes": base64}, {"$decimal": "12.30"}, {"$date": …}, {"$time": …}, {"$timestamp": ISO 8601 in UTC},
    {"$local-timestamp": …}, {"$uuid": …}, {"$double": "NaN"}, {"$object": {…}} around names that begin with $, and {"$raw":
    base64, "text": …} for undecoded bytes. If a record cannot be decoded, its line holds the error, and the exit code is 1.
    """
    from srfix.cli.options.decoding import DecodeOptions, NoRegistry, PolicyChoice
    from srfix.cli.options.typed_bytes import payload_bytes
    from srfix.cli.reports.rows import not_decoded, write_each
    from srfix.cli.session import patience_s
    from srfix.recovery.cluster.records import RecordRange, read_records
    from srfix.recovery.facts.decoding import RecordDecoder, record_document, shown
    from srfix.serde.column_sources.given import given_columns

    if topic is None and not payloads:
        raise UsageError("Name a TOPIC to read its records, or give bytes with --payload.")
    if last and from_offset is not None:
        raise UsageError("Give only one of --last and --from-offset.")
    reading = DecodeOptions(
        roles=ROLES[role],
        format=format_,
        columns=None if columns is None else given_columns(columns),
        wrap=wrapped,
        case_rule=case_rule,
        times=times,
        delimiter=delimiter,
        nullable_representation=nullable_representation,
        window=window,
        schema=None if given is None else halves.schema_text(given, format_ or Format.AVRO),
        references=() if given is None else halves.imported_texts(given),
        is_framed=framed,
    )
    reading.check(of_records=not payloads)
    choice = PolicyChoice(
        policy=policy, subject=subject, second_subject=second_subject, application=application, store=store
    )
    with ExitStack() as stack:
        resolver: Resolver = NoRegistry()
        if reading.asks_a_registry:
            registry = stack.enter_context(connection.registry_client())
            resolver = choice.resolver(registry, reading.roles, has_topic=topic is not None)
        if payloads:
            (half,) = reading.roles
            read_payload = reading.deserializer(resolver, half)
            ctx = SerdeContext(topic or "", half)
            read, failed = _write_payloads(
                payload_bytes(payloads, reading.format), lambda payload: read_payload(payload, ctx)
            )
            say_aside(f"{counted(read, 'payload')} read{not_decoded(failed)}.")
        else:
            assert topic is not None
            kafka = connection.kafka_config()
            wanted = RecordRange(
                topic=topic, partition=partition, from_offset=from_offset, last=last, max_records=max_records
            )
            decoder = RecordDecoder(resolver, roles=reading.roles, make=reading.deserializer)
            records = map(shown, decoder.decode(topic, read_records(kafka, wanted, timeout_s=patience_s(kafka))))
            read, failed = write_each(
                records,
                output,
                document=record_document,
                blocks=lambda all_records: _blocks(topic, all_records),
                failed=lambda record: record.failed,
            )
            say_aside(f"{counted(read, 'record')} read{not_decoded(failed)}.")
    return ExitCode.FINDINGS if failed else ExitCode.OK


def _write_payloads(
    payloads: Iterable[tuple[str, bytes | UsageError | None]], read: Callable[[bytes | None], Value]
) -> tuple[int, int]:
    """Writes a row for each payload, or a line on stderr. Returns the number of payloads, and of those that failed."""
    count = failed = 0
    for place, payload in payloads:
        count += 1
        if isinstance(payload, UsageError):
            failed += 1
            say_aside(f"{place}{payload.message}")
            continue
        try:
            line = json.dumps(to_json(read(payload)), ensure_ascii=False, allow_nan=False)
        except SrfixError as error:
            if error.row_reason is None:
                raise
            failed += 1
            say_aside(f"{place}{type(error).__name__}: {error.message}")
        else:
            show_json(line)
    return count, failed


def _blocks(topic: str, records: list[DecodedRecord]) -> Iterator[Block]:
    from srfix.cli.reports.rows import part_shown, time_of

    if not records:
        yield Paragraph(f"{topic} has no record in the range that you asked for.")
        return
    yield table_of(
        records,
        {
            "partition": lambda record: record.partition,
            "offset": lambda record: record.offset,
            "time": lambda record: time_of(record.timestamp),
            "key": lambda record: part_shown(record.key, _in_text),
            "id": lambda record: (
                ", ".join(str(p.schema_id) for p in (record.key, record.value) if p.schema_id is not None) or "-"
            ),
            "subject": lambda record: (
                ", ".join(dict.fromkeys(p.subject for p in (record.key, record.value) if p.subject)) or "-"
            ),
            "value": lambda record: part_shown(record.value, _in_text),
        },
    )
    errors: dict[str, list[str]] = {}
    for record in records:
        for part in (record.key, record.value):
            if part.error is not None:
                errors.setdefault(part.error.message, []).append(f"{record.partition}/{record.offset}")
    failures = (f"{', '.join(where)}: {message}" for message, where in errors.items())
    yield from titled_list("Not decoded (partition/offset)", failures)


def _in_text(payload: bytes) -> str:
    try:
        return payload.decode("utf-8")
    except UnicodeDecodeError:
        return f"0x{payload.hex()}"
