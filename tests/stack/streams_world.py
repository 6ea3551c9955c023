"""A Kafka Streams application's surroundings: topics of its own on a broker, a registry, users in Avro."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import fastavro
from confluent_kafka import Producer

from parts.streams.application import StreamsApplication
from parts.streams.model import ProjectedColumn, Row, SerdeCall, SerdeKind, StreamsSetup, TopologyKind
from srfix.fixtures.broker.kraft import KraftBroker
from srfix.fixtures.registry.http.server import FixtureRegistry
from srfix.serde.subjects.names import Role, Subject, Topic, changelog_topic, subject_for
from srfix.serde.subjects.strategies import ChangelogSubject
from srfix.serde.wire import frame_id
from tests.stack.command import run_srfix
from tests.stack.scene import without_what_is_made

USER_SCHEMA: Final = json.dumps(
    {
        "type": "record",
        "name": "User",
        "namespace": "com.example.users",
        "fields": [
            {"name": "userId", "type": "long"},
            {"name": "fullName", "type": "string"},
            {"name": "homeCountry", "type": "string"},
        ],
    }
)
KEY_SCHEMA: Final = json.dumps({"type": "record", "name": "UserKey", "fields": [{"name": "login", "type": "string"}]})
COLUMNS: Final = (
    ProjectedColumn(name="USERID", field="userId", type="INT64"),
    ProjectedColumn(name="FULLNAME", field="fullName"),
    ProjectedColumn(name="HOMECOUNTRY", field="homeCountry"),
)
KEY_COLUMNS: Final = (ProjectedColumn(name="LOGIN", field="login"),)

ANN: Final[dict[str, object]] = {"userId": 1, "fullName": "Ann", "homeCountry": "NL"}
ANN_ROW: Final[Row] = {"USERID": 1, "FULLNAME": "Ann", "HOMECOUNTRY": "NL"}


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """One application, its topics and its registry."""

    broker: KraftBroker
    registry: FixtureRegistry
    setup: StreamsSetup
    writer_id: int
    key_writer_id: int

    @property
    def changelog(self) -> Topic:
        """The topic that Streams names the store's changelog by, whether or not it exists."""
        return changelog_topic(self.setup.application, self.setup.store)

    @property
    def phantom(self) -> Subject:
        """The subject of that topic's values."""
        return ChangelogSubject(application=self.setup.application, store=self.setup.store)(
            self.setup.users, Role.VALUE
        )

    @property
    def source(self) -> Subject:
        """The subject of the source topic's values."""
        return subject_for(self.setup.users, Role.VALUE)

    def ids(self, subject: str) -> set[int]:
        """The schema ids of a subject's live versions; none if there is no such subject."""
        subjects: Any = self.registry.dump()["subjects"]
        return {version["id"] for version in subjects.get(subject, ()) if not version["deleted"]}

    def start(self, setup: StreamsSetup | None = None) -> StreamsApplication:
        return StreamsApplication(setup or self.setup, columns=COLUMNS, key_columns=KEY_COLUMNS)

    @contextmanager
    def running(self, setup: StreamsSetup | None = None) -> Iterator[StreamsApplication]:
        with self.start(setup) as application:
            application.wait_for_state("RUNNING")
            yield application

    def produce(self, *users: tuple[str | bytes, dict[str, object] | None], timestamp_ms: int = 0) -> None:
        """Writes users under the writer's schema; None is a tombstone, a timestamp of 0 is now."""
        producer = Producer({"bootstrap.servers": self.broker.bootstrap_servers, "partitioner": "murmur2_random"})
        for key, user in users:
            value = None if user is None else frame_id(self.writer_id, _avro(USER_SCHEMA, user))
            producer.produce(self.setup.users, key=key, value=value, timestamp=timestamp_ms)
        assert producer.flush(30) == 0

    def diagnose(self, *arguments: str) -> list[tuple[str, str, str]]:
        """Code, severity and subject of each of what `srfix diagnose` finds."""
        return [(found["code"], found["severity"], found["subject"]) for found in self.findings(*arguments)]

    def findings(self, *arguments: str) -> list[dict[str, Any]]:
        """What `srfix diagnose` finds, as its document says it."""
        found: list[dict[str, Any]] = self.document(*arguments)["findings"]
        return found

    def skipped(self, *arguments: str) -> list[dict[str, Any]]:
        """What `srfix diagnose` did not look at, and what may hide a finding so."""
        skipped: list[dict[str, Any]] = self.document(*arguments)["skipped"]
        return [each for each in skipped if each["could_hide_a_finding"]]

    def document(self, *arguments: str) -> dict[str, Any]:
        """What `srfix diagnose` says: 2 is that it found nothing, and did not look at all."""
        environment = os.environ | {
            "SRFIX_BOOTSTRAP_SERVERS": self.broker.bootstrap_servers,
            "SRFIX_REGISTRY": self.registry.url,
        }
        ran = run_srfix("diagnose", "--output", "json", *arguments, env=environment)
        assert ran.returncode in (0, 1, 2), ran.stderr
        assert ran.stdout, ran.stderr
        document: dict[str, Any] = json.loads(ran.stdout)
        return document

    def key(self, login: str) -> bytes:
        """A key as a producer of Avro keys writes it."""
        return frame_id(self.key_writer_id, _avro(KEY_SCHEMA, {"login": login}))


@contextmanager
def new_world(
    broker: KraftBroker,
    folder: Path,
    *,
    version: str = "2.6.3",
    topology: TopologyKind = TopologyKind.TABLE_JOIN,
    serde: SerdeKind = SerdeKind.CONNECT_PROJECTED,
    key_serde: SerdeKind = SerdeKind.TEXT,
    foreign_key: str = "",
    config: Mapping[str, str] | None = None,
    compatibility: str = "BACKWARD",
    partitions: int = 1,
) -> Iterator[World]:
    """A world whose names no other has, and whose topics go with it."""
    mark = uuid4().hex[:8]
    users, logins, enriched = (f"{name}-{mark}" for name in ("users", "logins", "enriched"))
    with without_what_is_made(broker), FixtureRegistry(compatibility=compatibility) as registry:
        broker.create_topic(users, partitions=partitions, config={"cleanup.policy": "compact"})
        for topic in (logins, enriched):
            broker.create_topic(topic, partitions=partitions)
        # Texts have no schema, and no subject then, which would say that somebody writes the topic with one.
        values = subject_for(users, Role.VALUE) if serde is not SerdeKind.TEXT else Subject("unused")
        writer_id = registry.seed(values, USER_SCHEMA)
        key_writer_id = registry.seed(subject_for(users, Role.KEY), KEY_SCHEMA)
        registry.seed(subject_for(logins, Role.KEY), KEY_SCHEMA)
        setup = StreamsSetup(
            application=f"enricher-{mark}",
            bootstrap_servers=broker.bootstrap_servers,
            registry=registry.url,
            state_directory=folder / "state",
            users=users,
            logins=logins,
            enriched=enriched,
            version=version,
            topology=topology,
            serde=serde,
            key_serde=key_serde,
            foreign_key=foreign_key,
            config=config or {},
        )
        yield World(broker=broker, registry=registry, setup=setup, writer_id=writer_id, key_writer_id=key_writer_id)


def serialize(topic: str) -> SerdeCall:
    return SerdeCall(operation="serialize", topic=topic)


def deserialize(topic: str) -> SerdeCall:
    return SerdeCall(operation="deserialize", topic=topic)


def _avro(schema: str, record: dict[str, object]) -> bytes:
    body = io.BytesIO()
    fastavro.schemaless_writer(body, fastavro.parse_schema(json.loads(schema)), record)
    return body.getvalue()
