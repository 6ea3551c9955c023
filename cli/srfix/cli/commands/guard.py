"""`srfix guard`: predicts what a restore, an upgrade or a new schema will break."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from srfix.cli.command_classes import command
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options.connecting import Connection, connection_options
from srfix.cli.options.evidence import EvidenceOptions, evidence_options
from srfix.cli.options.gate import Gate, gate_options
from srfix.cli.options.given import given_options
from srfix.cli.options.options import Hurry, Selection, findings_output_option, hurry_options, selection_options
from srfix.cli.options.values import file_text, option
from srfix.cli.output.interface import OutputFormat, Report
from srfix.cli.version import version
from srfix.recovery.clock import now
from srfix.serde.errors import UsageError
from srfix.serde.subjects.names import Subject

if TYPE_CHECKING:
    from srfix.recovery.facts.reader import StreamsVersion
    from srfix.recovery.guard.models import NewSchema


@command()
@option(
    "--to",
    metavar="VERSION",
    help="The Kafka Streams version to change to, such as 3.9. guard predicts what the change breaks.",
)
@option(
    "--optimization",
    metavar="none|all|LIST",
    help=(
        "The topology.optimization that the application passes both to KafkaStreams and to "
        "builder.build(properties). Default: unknown; guard then reports both cases."
    ),
)
@option(
    "--subject",
    metavar="SUBJECT",
    help="The subject under which the schema of --schema will be registered.",
)
@option(
    "--schema",
    "schema_file",
    metavar="FILE",
    help=(
        "A schema that will be registered: an Avro schema (.avsc), a JSON Schema, Protobuf (.proto), or the document that a "
        "registry takes, with references."
    ),
)
@selection_options
@evidence_options
@connection_options
@hurry_options
@gate_options
@findings_output_option
def guard(
    to: str | None,
    optimization: str | None,
    subject: str | None,
    schema_file: str | None,
    selection: Selection,
    evidence: EvidenceOptions,
    connection: Connection,
    hurry: Hurry,
    gate: Gate,
    output: OutputFormat,
) -> ExitCode:
    """Predict what will break, and say what to register first. Writes nothing.

    Give a printed topology (--topology with --application) or ksqlDB. guard then says which phantom subjects (subjects
    without a topic) the stores will create, which stores the next restore will break, and which stores an upgrade to
    the version of --to will break. With --subject and --schema, guard says what the new schema will break. A topology
    or ksqlDB is enough. With --bootstrap-servers and --registry guard also takes into account the topics and subjects
    that exist there.

    Exit code 1 if something will or may break, 0 if nothing will break, 2 if guard cannot decide.
    """
    from srfix.cli.reports.forecast import forecast_blocks, forecast_summary, forecast_verdict
    from srfix.cli.reports.judging import judge, of_store
    from srfix.cli.session import open_cluster
    from srfix.recovery.diagnosis.forecast import foretell, look_through
    from srfix.recovery.facts.reader import Reader
    from srfix.recovery.forecasts import Certainty
    from srfix.recovery.guard.document import forecast_document
    from srfix.recovery.guard.models import Assumed, parse_optimization

    # guard's --subject is the subject under which a new schema will be registered; plan's --subject is the subject that
    # the reader of --topic asks.
    command_line = given_options().without("--subject")
    running = _version(selection.streams_version, "--streams-version")
    assumed = Assumed(
        running=running,
        to=_version(to, "--to"),
        optimization=parse_optimization(optimization),
        reader=Reader.of_name(selection.reader, running),
        is_of_one_store=selection.store is not None,
        no_auto_register=selection.no_auto_register,
        command_line=command_line,
    )
    new = _new_schema(subject, schema_file)
    if evidence.topology and selection.application is None:
        raise UsageError(
            "--topology needs --application ID, too. The printed text does not contain the application.id, and the "
            "names of changelogs and subjects begin with it."
        )
    if not (evidence.topology or evidence.ksqldb or evidence.ksqldb_text or new):
        raise UsageError(
            "There is nothing to predict: give --topology FILE and --application ID, --ksqldb URL, or "
            "--subject and --schema."
        )
    if assumed.to is not None and new is not None and running is None:
        raise UsageError("--to with --schema needs --streams-version, too.")
    supplied = evidence.read(application=selection.application)
    with ExitStack() as stack:
        cluster = engine = registry = None
        if connection.kafka.get("bootstrap.servers"):
            cluster, engine = stack.enter_context(open_cluster(connection))
        if connection.registry.urls:
            registry = stack.enter_context(connection.registry_client())
        sight = look_through(
            cluster,
            registry,
            engine,
            supplied=supplied,
            sources=dict(selection.sources),
            isolation=selection.isolation,
            gone=frozenset(selection.gone),
            deadline_s=hurry.deadline_s,
            max_records=hurry.max_records,
        )
        forecast = foretell(
            supplied,
            assumed,
            sight,
            schema=new,
            store=selection.store,
            application=selection.application,
            ignore=selection.ignore,
        )
    document = forecast_document(forecast, srfix_version=version("srfix"), generated_at=now())
    acknowledged = {of_store(finding)[0] for finding in forecast.ignored}
    applications = {store_forecast.store.application for store_forecast in forecast.stores}
    judged = judge(
        (
            of_store(finding)
            for finding in forecast.foretold
            if finding.certainty in (Certainty.CERTAIN, Certainty.POSSIBLE)
        ),
        gate,
        beside=map(of_store, forecast.foretold),
        untold=(of_store(finding) for finding in forecast.foretold if finding.is_open),
        is_asked=lambda finding_key: (
            forecast.schema is None
            and not finding_key.topic
            and finding_key not in acknowledged
            and finding_key.application in applications
            and selection.store in (None, finding_key.store)
        ),
        is_partial=any(skipped.could_hide for skipped in forecast.skipped),
    )
    report = Report(document=document, blocks=tuple(forecast_blocks(forecast)), verdict=forecast_verdict(forecast))
    return judged.conclude(report, output, lines=[forecast_summary(forecast)])


def _version(text: str | None, option: str) -> StreamsVersion | None:
    from srfix.recovery.facts.reader import StreamsVersion

    if text is None:
        return None
    try:
        return StreamsVersion.parse(text)
    except UsageError:
        raise UsageError(f"{option} {text}: expected a Kafka Streams version, such as 2.6.3 or 3.9.") from None


def _new_schema(subject: str | None, path: str | None) -> NewSchema | None:
    from srfix.recovery.guard.models import NewSchema, parse_schema, topic_of

    if subject is None and path is None:
        return None
    if subject is None or path is None:
        lacks = "--subject SUBJECT" if subject is None else "--schema FILE"
        raise UsageError(f"--subject and --schema go together: add {lacks}.")
    topic_of(Subject(subject))
    text = file_text(path, option="--schema")
    return NewSchema(subject=Subject(subject), schema=parse_schema(text, origin=path), origin=path)
