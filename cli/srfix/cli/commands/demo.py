"""`srfix demo`: the incident as it happened, on embedded parts, through the same commands."""

from __future__ import annotations

import json
import os
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from srfix.cli.command_classes import command
from srfix.cli.exit_codes import ExitCode
from srfix.cli.main import main
from srfix.cli.options.values import file_option, flag
from srfix.cli.output.speaking import say, say_aside
from srfix.recovery.commands import shell_words
from srfix.recovery.documents import Document, Id
from srfix.serde.errors import UsageError
from srfix.serde.files import write_whole

if TYPE_CHECKING:
    from srfix.fixtures.broker.embedded import EmbeddedBroker
    from srfix.fixtures.broker.kraft import KraftBroker
    from srfix.fixtures.damage import phantom_subject_lacks_writer_id as damage
    from srfix.fixtures.registry.http.server import FixtureRegistry


class DemoDocument(Document, tag="srfix.demo/1"):
    """The --ready-file of `srfix demo --keep`: the addresses of its broker and registry."""

    bootstrap_servers: str
    registry: str
    application: str
    store: str
    source_topic: str
    source_subject: str
    phantom_subject: str
    writer_ids: list[Id]
    internal_id: Id
    environment: dict[str, str]
    pid: int


@command()
@flag(
    "--keep",
    help="Leave the broker and the registry running, with the damage, until you interrupt srfix.",
)
@flag(
    "--real",
    help=(
        "With --keep: use a real Apache Kafka instead of the embedded broker, so that Spark's own source can read "
        "it (needs Java 17, and Maven once)."
    ),
)
@file_option("--ready-file", help="With --keep: when all is running, write the addresses to this file, as JSON.")
def demo(keep: bool, real: bool, ready_file: Path | None) -> ExitCode:
    """Show the incident of 16 June 2020 on an embedded Kafka and registry: damage, diagnosis, repair and rollback."""
    from srfix.cli.reports.story import Story
    from srfix.fixtures.broker.embedded import EmbeddedBroker
    from srfix.fixtures.damage import phantom_subject_lacks_writer_id as damage
    from srfix.fixtures.registry.http.server import FixtureRegistry
    from srfix.serde.registry.client import RegistryClient

    if ready_file is not None and not keep:
        raise UsageError(
            "--ready-file works only with --keep, because the file gets the addresses of the broker and the registry "
            "that --keep leaves running. Give --keep, too."
        )
    if real and not keep:
        raise UsageError(
            "--real works only with --keep, which leaves the real Kafka running for you. Give --keep, too."
        )
    with ExitStack() as stack:
        stopped = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM) if keep else ():
            signal.signal(number, lambda _number, _frame: stopped.set())
        broker: EmbeddedBroker | KraftBroker = _real_kafka() if real else EmbeddedBroker(topics=damage.TOPICS)
        stack.enter_context(broker)
        registry = stack.enter_context(FixtureRegistry())
        client = stack.enter_context(RegistryClient(registry.url))
        staged = damage.stage(broker, client)
        if keep:
            return _keep(broker, registry, staged, ready_file, stopped, is_real=real)
        stack.enter_context(_without_settings())
        try:
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="srfix-demo-")))
        except OSError as error:
            raise UsageError(
                f"The demonstration needs a directory for temporary files ({error.strerror}). Set TMPDIR to a directory "
                "that can be written to."
            ) from error
        story = Story(broker=broker, registry=registry, client=client, staged=staged, directory=directory, srfix=main)
        return story.tell()


def _real_kafka() -> KraftBroker:
    from srfix.fixtures.broker.kraft import JARS, KraftBroker
    from srfix.fixtures.damage import phantom_subject_lacks_writer_id as damage
    from srfix.fixtures.fetching import FetchError, fetch

    say_aside("Starting a real Apache Kafka. The first time, srfix downloads its jars (about 45 MB).")
    try:
        fetch(JARS, say=say_aside)
        return KraftBroker(topics=damage.TOPICS)
    except FetchError as error:
        raise UsageError(f"{error.message} In a checkout `make jars` gets all that is needed.") from error


@contextmanager
def _without_settings() -> Iterator[None]:
    """Takes `SRFIX_…` out of the environment: the story's commands must use only the demo's broker and registry."""
    hidden = {name: value for name, value in os.environ.items() if name.startswith("SRFIX_")}
    for name in hidden:
        del os.environ[name]
    try:
        yield
    finally:
        os.environ.update(hidden)


def _keep(
    broker: EmbeddedBroker | KraftBroker,
    registry: FixtureRegistry,
    staged: damage.Staged,
    ready_file: Path | None,
    stopped: threading.Event,
    *,
    is_real: bool,
) -> ExitCode:
    environment = {"SRFIX_BOOTSTRAP_SERVERS": broker.bootstrap_servers, "SRFIX_REGISTRY": registry.url}
    say("The damage of 16 June 2020 is in place. In another terminal:\n")
    for name, value in environment.items():
        say(f"  export {name}={shell_words(value)}")
    say()
    for typed, what in (
        ("diagnose", "what is wrong (exit code 1: there is a finding)"),
        ("plan -o p.json", "what a repair would write"),
        ("apply p.json", "the repair; it asks first"),
        ("verify p.json", "ask again as the failing reader does"),
        ("diagnose", "nothing is wrong any more"),
        ("rollback p.json", "back to the damage"),
    ):
        say(f"  {f'srfix {typed}':<24}# {what}")
    if is_real:
        say(
            f"\nThe real Kafka is on {broker.bootstrap_servers}; the registry is {registry.url}. On Spark (srfix[spark]):\n"
        )
        for line in spark_lines(broker.bootstrap_servers, registry.url):
            say(f"  {line}")
    say("\nCtrl-C here ends the demo.")
    if ready_file is not None:
        document = DemoDocument.of(
            staged,
            bootstrap_servers=broker.bootstrap_servers,
            registry=registry.url,
            environment=environment,
            pid=os.getpid(),
        )
        try:  # complete as soon as it exists, because a waiting process reads it at once
            write_whole(ready_file, (json.dumps(document.to_json(), indent=2) + "\n").encode())
        except OSError as error:
            raise UsageError(f"The ready file {ready_file} cannot be written ({error.strerror}).") from error
    stopped.wait()
    say("Stopped.")
    return ExitCode.OK


def spark_lines(bootstrap_servers: str, registry: str) -> tuple[str, ...]:
    """Python code to paste: it reads the source topic with Spark's own Kafka source, as rows and as raw bytes."""
    from srfix.fixtures.damage import phantom_subject_lacks_writer_id as damage

    return (
        "from srfix.serde import RegistryClient",
        "from srfix.serde.spark import plan_read, read_topic, start_session",
        'spark = start_session("incident")',
        f'plan = plan_read(RegistryClient("{registry}"), "{damage.SOURCE_TOPIC}", "USERID BIGINT, FULLNAME STRING")',
        f'users = read_topic(spark, plan, bootstrap_servers="{bootstrap_servers}", on_error="quarantine")',
        'users.select("partition", "offset", "value.*").show()',
        f'raw = spark.read.format("kafka").option("kafka.bootstrap.servers", "{bootstrap_servers}")',
        f'raw.option("subscribe", "{damage.SOURCE_TOPIC}").load().select("offset", "value").show()',
    )
