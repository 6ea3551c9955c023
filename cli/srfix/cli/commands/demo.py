"""`srfix demo`: the incident as it happened, on the embedded broker and registry, through the same commands."""

from __future__ import annotations

import json
import os
import signal
import tempfile
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import click

from srfix.cli.exit_codes import ExitCode
from srfix.fixtures.broker import EmbeddedBroker
from srfix.fixtures.damage import phantom_subject_lacks_writer_id as damage
from srfix.fixtures.registry import FixtureRegistry
from srfix.recovery.cluster import Cluster
from srfix.serde.deserializer import AvroDeserializer
from srfix.serde.errors import SrfixError, SubjectVersionError
from srfix.serde.interface import SerdeContext
from srfix.serde.registry import RegistryClient
from srfix.serde.resolve import DualSubject, SecondAnswered, UnderOneSubject
from srfix.serde.subjects import ChangelogSubject, TopicSubject

__all__ = ["demo"]


@click.command()
@click.option(
    "--keep",
    is_flag=True,
    help="Leave broker and registry running with the damage in place, until interrupted.",
)
@click.option(
    "--ready-file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="With --keep: write there, as JSON, where everything is, once it is.",
)
def demo(keep: bool, ready_file: Path | None) -> ExitCode:
    """Tell the incident of 16 June 2020 on embedded parts: the damage, the diagnosis, the repair, the way back."""
    with ExitStack() as stack:
        broker = stack.enter_context(EmbeddedBroker(topics=damage.TOPICS))
        registry = stack.enter_context(FixtureRegistry())
        client = stack.enter_context(RegistryClient(registry.url))
        staged = damage.stage(broker, client)
        if keep:
            return _keep(broker, registry, staged, ready_file)
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="srfix-demo-")))
        return _Story(
            broker=broker, registry=registry, client=client, staged=staged, directory=directory
        ).tell()


def _keep(
    broker: EmbeddedBroker, registry: FixtureRegistry, staged: damage.Staged, ready_file: Path | None
) -> ExitCode:
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda _number, _frame: stop.set())
    environment = {"SRFIX_BOOTSTRAP_SERVERS": broker.bootstrap_servers, "SRFIX_REGISTRY": registry.url}
    click.echo("The damage of 16 June 2020 is in place. In another terminal:\n")
    for name, value in environment.items():
        click.echo(f"  export {name}={value}")
    for line in (
        "srfix diagnose",
        "srfix plan -o p.json",
        "srfix apply p.json",
        "srfix verify p.json",
        "srfix diagnose",
        "srfix rollback p.json",
    ):
        click.echo(f"  {line}")
    click.echo("\nCtrl-C here ends it.")
    if ready_file is not None:
        document = {
            "schema": "srfix.demo/1",
            "bootstrap_servers": broker.bootstrap_servers,
            "registry": registry.url,
            "application": staged.application,
            "store": staged.store,
            "source_topic": staged.source_topic,
            "source_subject": staged.source_subject,
            "phantom_subject": staged.phantom_subject,
            "writer_ids": list(staged.writer_ids),
            "internal_id": staged.internal_id,
            "environment": environment,
            "pid": os.getpid(),
        }
        partial = ready_file.with_name(ready_file.name + ".part")
        partial.write_text(json.dumps(document, indent=2) + "\n")
        partial.replace(ready_file)
    stop.wait()
    click.echo("Stopped.")
    return ExitCode.OK


class _Story:
    def __init__(
        self,
        *,
        broker: EmbeddedBroker,
        registry: FixtureRegistry,
        client: RegistryClient,
        staged: damage.Staged,
        directory: Path,
    ) -> None:
        self._broker = broker
        self._registry = registry
        self._client = client
        self._staged = staged
        self._plan = directory / "plan.json"

    def tell(self) -> ExitCode:
        before = self._registry.dump()
        self._heading("1. The table's source topic, and the two schemas")
        self._rows_and_schemas()
        self._heading("2. The node is moved, the store is restored, a row is read")
        self._failing_read()
        self._heading("3. The dual-subject reader would never have failed")
        self._dual_read()
        self._heading("4. What is wrong, and why")
        self._run("diagnose", expected=ExitCode.FINDINGS)
        self._heading("5. What a repair would write")
        self._run("plan", "-o", str(self._plan))
        self._heading("6. The repair")
        self._run("apply", str(self._plan), "--yes")
        self._heading("7. Asked again, as the failing reader asks")
        self._run("verify", str(self._plan))
        self._run("diagnose")
        self._heading("8. The read that failed")
        self._working_read()
        self._heading("9. And back")
        self._run("rollback", str(self._plan), "--yes")
        self._failing_read()
        if self._registry.dump() != before:
            raise AssertionError("After the rollback the registry is not as it was before the repair.")
        click.echo("\nThe registry is as it was before the repair, to the last version.")
        click.echo("To try the commands yourself: srfix demo --keep")
        return ExitCode.OK

    def _heading(self, text: str) -> None:
        click.echo(f"\n{text}\n{'-' * len(text)}")

    def _rows_and_schemas(self) -> None:
        staged = self._staged
        click.echo(
            f"Topic {staged.source_topic}, schema ids {staged.writer_ids[0]} and {staged.writer_ids[1]}:"
        )
        for record in staged.records:
            row = "(tombstone)" if record.row is None else json.dumps(dict(record.row))
            click.echo(f"  partition {record.partition}  {record.key or '(null key)':<12} {row}")
        click.echo(f"\nThe writer's schema, subject {staged.source_subject}:")
        click.echo(f"  {damage.WRITER_SCHEMA_2}")
        click.echo(
            f"\nThe application's own, subject {staged.phantom_subject}, schema id {staged.internal_id}:"
        )
        click.echo(f"  {self._client.schema_by_id(staged.internal_id).schema.text}")
        click.echo(
            f"\nThere is no topic {staged.phantom_subject.removesuffix('-value')}: Kafka Streams up to 2.6.3 reuses "
            f"{staged.source_topic} and hands the store's serde the name of a changelog topic that does not exist (KAFKA-10179)."
        )

    def _failing_read(self) -> None:
        try:
            self._read(AvroDeserializer(self._under_the_phantom_subject()))
        except SubjectVersionError as error:
            click.echo(f"The restored store holds the topic's bytes. Reading user u1:\n  {error}")
        else:
            raise AssertionError("The read that must fail did not.")

    def _working_read(self) -> None:
        row = self._read(AvroDeserializer(self._under_the_phantom_subject(), columns=damage.COLUMNS))
        click.echo(f"User u1, under {self._staged.phantom_subject} alone: {row}")

    def _dual_read(self) -> None:
        told: list[SecondAnswered] = []
        row = self._read(
            AvroDeserializer(
                DualSubject(
                    self._client, first=self._phantom_subject(), second=TopicSubject(), on_second=told.append
                ),
                columns=damage.COLUMNS,
            )
        )
        click.echo(f"User u1, with the fallback: {row}")
        for event in told:
            click.echo(f"  It said: {event.note}")

    def _read(self, deserialize: Callable[..., object]) -> object:
        return deserialize(self._restored_value("u1"), SerdeContext(topic=self._staged.source_topic))

    def _restored_value(self, key: str) -> bytes | None:
        """What a restore puts into the store for a key: the bytes of its last record, as they are in the topic."""
        last = [record for record in self._staged.records if record.key == key][-1]
        log = [record for record in self._staged.records if record.partition == last.partition]
        with Cluster({"bootstrap.servers": self._broker.bootstrap_servers}) as cluster:
            record = cluster.record_at(self._staged.source_topic, last.partition, log.index(last))
        return None if record is None else record.value

    def _phantom_subject(self) -> ChangelogSubject:
        return ChangelogSubject(application=self._staged.application, store=self._staged.store)

    def _under_the_phantom_subject(self) -> UnderOneSubject:
        return UnderOneSubject(self._client, self._phantom_subject())

    def _run(self, *arguments: str, expected: ExitCode = ExitCode.OK) -> None:
        from srfix.cli.main import main

        click.echo(f"$ srfix {' '.join(arguments)}")
        where = ["--bootstrap-servers", self._broker.bootstrap_servers, "--registry", self._registry.url]
        if arguments[0] in {"apply", "rollback", "verify"}:
            where = []  # the plan knows
        code = main([*arguments, *where])
        if code != expected:
            raise SrfixError(f"srfix {arguments[0]} exited with {code} where {int(expected)} was expected.")
