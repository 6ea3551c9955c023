"""The story of `srfix demo`, step by step. It runs the real commands."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from srfix.cli.exit_codes import ExitCode
from srfix.cli.output.interface import Block, FieldList, ItemList, OutputFormat, Paragraph, Report, Table
from srfix.cli.output.speaking import say, write_report
from srfix.fixtures.broker.client import ClientBroker
from srfix.fixtures.damage import phantom_subject_lacks_writer_id as damage
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.recovery.cluster.cluster import Cluster
from srfix.recovery.commands import srfix_command
from srfix.serde.deserializer import AvroDeserializer
from srfix.serde.errors import SubjectVersionError
from srfix.serde.interface import SerdeContext
from srfix.serde.registry.client import RegistryClient
from srfix.serde.resolve.policies import DualSubject, UnderOneSubject
from srfix.serde.resolve.resolved import SecondAnswered
from srfix.serde.subjects.names import changelog_topic
from srfix.serde.subjects.strategies import ChangelogSubject, TopicSubject

_KEY = "u1"
"""The user whose row the story reads. The row was written twice, the second time under the newer schema."""


@dataclass(slots=True, kw_only=True)
class Story:
    """The incident on a broker and a registry that hold the damage, with a repair and its undo; told only once."""

    broker: ClientBroker
    registry: FixtureRegistry
    client: RegistryClient
    staged: damage.Staged
    directory: Path
    srfix: Callable[[Sequence[str]], int]
    """Runs a command line, and gives its exit code."""
    steps: int = 0

    def tell(self) -> ExitCode:
        """Tells the story on standard output. The commands write to their usual streams."""
        before = self.registry.dump()
        plan = str(self.directory / "plan.json")
        self._step("A table's source topic, and the two schemas")
        self._rows_and_schemas()
        self._step("The node moves, the store is restored, and a row is read")
        self._failing_read()
        self._step("What is wrong, and why")
        self._run("diagnose", expected=ExitCode.FINDINGS)
        self._step("What a repair would write")
        self._run("plan", "-o", plan)
        self._step("A reader with the dual-subject fallback can read at any time, without any repair")
        self._dual_read()
        self._step("The repair")
        self._run("apply", plan, "--yes")
        self._step("srfix asks again, as the failing reader asks")
        self._run("verify", plan)
        self._run("diagnose")
        self._step("The read that failed")
        policy = UnderOneSubject(self.client, self._phantom_subject())
        row = self._read(AvroDeserializer(policy, columns=damage.COLUMNS))
        _say(Paragraph(f"User {_KEY}, under {self.staged.phantom_subject} alone:"), ItemList((json.dumps(row),)))
        self._step("And back")
        self._run("rollback", plan, "--yes")
        self._failing_read()
        if self.registry.dump() != before:
            raise AssertionError("After the rollback, the registry is not as it was before the repair.")
        say()
        _say(
            Paragraph("The registry is as it was before the repair, to the last version."),
            Paragraph("To try the commands yourself: `srfix demo --keep`"),
        )
        return ExitCode.OK

    def _step(self, title: str) -> None:
        self.steps += 1
        heading = f"{self.steps}. {title}"
        say(f"\n{heading}\n{'=' * len(heading)}\n")

    def _rows_and_schemas(self) -> None:
        staged = self.staged
        phantom_topic = changelog_topic(staged.application, staged.store)
        _say(
            Paragraph(f"Topic {staged.source_topic}, as its producers wrote it:"),
            Table(("at", "key", "id", *_FIELDS), tuple(_log_rows(staged))),
            Paragraph(
                "`at` is partition:offset, `id` the schema id in the record. A dash means no value; a row of "
                "dashes is a tombstone."
            ),
            Paragraph(f"The writer's schema (id {staged.writer_ids[1]}), subject {staged.source_subject}:"),
            ItemList((damage.WRITER_SCHEMA_2,)),
            Paragraph(f"The application's own schema (id {staged.internal_id}), subject {staged.phantom_subject}:"),
            ItemList((self.client.schema_by_id(staged.internal_id).schema.text,)),
            Paragraph(
                f"There is no topic {phantom_topic}. Kafka Streams up to 2.6.3 uses {staged.source_topic} instead, "
                "but gives the store's serde the name of the changelog topic that does not exist (KAFKA-10179). So "
                "the application's schema is registered under the phantom subject, and the writer's schemas are "
                "not."
            ),
        )

    def _failing_read(self) -> None:
        try:
            self._read(AvroDeserializer(UnderOneSubject(self.client, self._phantom_subject())))
        except SubjectVersionError as error:
            _say(
                Paragraph(f"The restored store holds the topic's bytes. Reading user {_KEY}:"),
                ItemList((error.message,)),
            )
        else:
            raise AssertionError("The demo expects this read to fail, but it did not fail.")

    def _dual_read(self) -> None:
        second_answers: list[SecondAnswered] = []
        policy = DualSubject(
            self.client, first=self._phantom_subject(), second=TopicSubject(), on_second=second_answers.append
        )
        row = self._read(AvroDeserializer(policy, columns=damage.COLUMNS))
        _say(
            Paragraph(f"User {_KEY}, read before the repair:"),
            ItemList((json.dumps(row),)),
            FieldList(tuple(("message", event.note) for event in second_answers)),
        )

    def _read(self, deserialize: Callable[..., object]) -> object:
        """Reads the bytes that a restore puts into the store: those of the key's last record in the topic."""
        last = [record for record in self.staged.records if record.key == _KEY][-1]
        log = [record for record in self.staged.records if record.partition == last.partition]
        with Cluster({"bootstrap.servers": self.broker.bootstrap_servers}) as cluster:
            record = cluster.record_at(self.staged.source_topic, last.partition, log.index(last))
        value = None if record is None else record.value
        return deserialize(value, SerdeContext(topic=self.staged.source_topic))

    def _phantom_subject(self) -> ChangelogSubject:
        return ChangelogSubject(application=self.staged.application, store=self.staged.store)

    def _run(self, *arguments: str, expected: ExitCode = ExitCode.OK) -> None:
        say(f"$ {srfix_command(*arguments)}")
        where = ["--bootstrap-servers", self.broker.bootstrap_servers, "--registry", self.registry.url]
        if arguments[0] in {"apply", "rollback", "verify"}:
            where = []  # the plan names the registry
        code = self.srfix([*arguments, *where])
        if code == ExitCode.INTERRUPTED:
            raise click.Abort
        if code == ExitCode.PIPE_CLOSED:
            raise BrokenPipeError(errno.EPIPE, "the reader has closed the pipe")
        if code != expected:
            raise AssertionError(f"srfix {arguments[0]} exited with {code}, not with {int(expected)}.")
        say()


_FIELDS = ("userId", "fullName", "emailAddress", "loyaltyTier")


def _log_rows(staged: damage.Staged) -> list[tuple[str, ...]]:
    """The topic's records as cells that fit 80 columns."""
    rows = []
    offsets: dict[int, int] = {}
    for record in staged.records:
        offset = offsets.get(record.partition, 0)
        offsets[record.partition] = offset + 1
        row = record.row or {}
        schema_id = "-" if record.row is None else str(staged.writer_ids[record.version - 1])
        cells = ("-" if row.get(name) is None else str(row[name]) for name in _FIELDS)
        rows.append((f"{record.partition}:{offset}", record.key or "null", schema_id, *cells))
    return rows


def _say(*blocks: Block) -> None:
    write_report(Report(document={}, blocks=blocks), OutputFormat.TABLE)
