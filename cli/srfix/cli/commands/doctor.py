"""`srfix doctor`: shows versions, connections, and what this user may read. Writes and creates nothing."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from srfix.cli.command_classes import command
from srfix.cli.exit_codes import ExitCode
from srfix.cli.options.connecting import Connection, connection_options
from srfix.cli.options.options import output_option
from srfix.cli.options.values import option
from srfix.cli.output import interface as blocks
from srfix.cli.output.speaking import say_total, write_report
from srfix.cli.version import version
from srfix.recovery.clock import now
from srfix.serde.native import engine_in_words

if TYPE_CHECKING:
    from srfix.recovery.inspect.checkup import ConnectionCheck


_PATIENCE_S = 5.0
"""The time limit for one request: `doctor` should be quick."""


@command()
@option(
    "--application",
    metavar="ID",
    help="Check whether this user may read this group's committed offsets.",
)
@connection_options
@output_option
def doctor(application: str | None, connection: Connection, output: blocks.OutputFormat) -> ExitCode:
    """Check versions, connections and their speed, and what this user may read.

    srfix doctor writes and creates nothing. Exit code 2 if `srfix diagnose` needs something that is missing.
    """
    from srfix.recovery.inspect.checkup import AnsweredCheck, Doctor

    versions = _versions()
    checks = [*_kafka(connection, application), *_registry(connection)]
    missing = [check for check in checks if check.is_missing]
    document = Doctor(
        srfix=version("srfix"),
        generated_at=now(),
        versions=dict(versions),
        checks=[AnsweredCheck.of(check) for check in checks],
        healthy=not missing,
    )
    says = "diagnose has what it needs"
    if missing:
        says = f"diagnose cannot work yet: {'; '.join(check.what for check in missing)}"
    verdict = blocks.Verdict(text=says, tone=blocks.Tone.BAD if missing else blocks.Tone.GOOD)
    write_report(
        blocks.Report(document=document.to_json(), blocks=tuple(_blocks(versions, checks)), verdict=verdict), output
    )
    say_total(f"{says}.", output)
    return ExitCode.REFUSED if missing else ExitCode.OK


def _versions() -> tuple[tuple[str, str], ...]:
    import confluent_kafka

    return (
        ("srfix", version("srfix")),
        ("Python", platform.python_version()),
        ("confluent-kafka", version("confluent-kafka")),
        ("librdkafka", confluent_kafka.libversion()[0]),
        ("fastavro", version("fastavro")),
        *_spark(),
        ("serde engine", engine_in_words()),
        ("platform", f"{platform.system()} {platform.machine()}"),
    )


def _spark() -> Iterator[tuple[str, str]]:
    from importlib.metadata import PackageNotFoundError, version

    from srfix.serde.spark.releases import abilities_in_words

    for distribution in ("pyspark", "pyspark-client", "pyspark-connect"):
        try:
            installed_version = version(distribution)
        except PackageNotFoundError:
            continue
        yield distribution, f"{installed_version} ({abilities_in_words(installed_version)})"
        return


def _kafka(connection: Connection, application: str | None) -> Iterator[ConnectionCheck]:
    from srfix.cli.session import patience_s
    from srfix.recovery.cluster.cluster import Cluster
    from srfix.recovery.inspect.checkup import Outcome, check_cluster, check_servers, not_asked

    if not connection.kafka.get("bootstrap.servers"):
        yield not_asked("kafka", "reach a Kafka cluster", "none was named", "Give --bootstrap-servers HOST:9092.")
        return
    kafka = connection.kafka_config()
    timeout_s = min(patience_s(kafka), _PATIENCE_S)
    servers = list(check_servers(kafka, timeout_s=timeout_s))
    yield from servers
    if not any(server.outcome is Outcome.OK for server in servers):
        yield not_asked("kafka", "list the topics", "no bootstrap server answers")
        return
    with Cluster(kafka, timeout_s=timeout_s) as cluster:
        yield from check_cluster(cluster, application=application)


def _registry(connection: Connection) -> Iterator[ConnectionCheck]:
    from srfix.recovery.inspect.checkup import Outcome, check_registry, check_registry_urls, not_asked
    from srfix.serde.registry.probe import probe

    if not connection.registry.urls:
        yield not_asked("registry", "reach a schema registry", "none was named", "Give --registry http://HOST:8081.")
        return
    settings = connection.registry
    impatient = replace(
        settings,
        connect_timeout_s=min(settings.connect_timeout_s, _PATIENCE_S),
        read_timeout_s=min(settings.read_timeout_s, _PATIENCE_S),
        max_retries=0,
    )
    with replace(connection, registry=impatient).registry_client() as client:
        urls = list(check_registry_urls(probe(client, timeout_s=_PATIENCE_S)))
        yield from urls
        if all(url.outcome is Outcome.FAILED for url in urls):
            yield not_asked("registry", "list the subjects", "no registry URL answers")
            return
        yield from check_registry(client)


def _blocks(versions: tuple[tuple[str, str], ...], checks: list[ConnectionCheck]) -> Iterator[blocks.Block]:
    from srfix.recovery.inspect.checkup import Outcome

    yield blocks.FieldList(versions)
    for part, title in (("kafka", "Kafka"), ("registry", "Schema registry")):
        yield blocks.table_of(
            (check for check in checks if check.part == part),
            {
                "what": lambda check: check.what,
                "result": lambda check: check.outcome.value,
                "time": lambda check: None if check.elapsed_s is None else f"{1000 * check.elapsed_s:.0f} ms",
                # The long message of a failed check stands below, once.
                "detail": lambda check: check.detail if check.outcome is not Outcome.FAILED else "see below",
            },
            title=title,
        )
    failed = tuple(f"{check.what}: {check.detail}" for check in checks if check.outcome is Outcome.FAILED)
    yield from blocks.titled_list("What failed", failed)
    advice = tuple(f"{check.what}: {check.advice}" for check in checks if check.advice is not None)
    yield from blocks.titled_list("What to do", advice)
    if not failed and not advice:
        yield blocks.Paragraph("All checks passed.")
