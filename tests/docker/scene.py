"""The incident's parts as a user has them: brokers and a registry somewhere else, an application, the command."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from parts.streams.application import StreamsApplication
from parts.streams.model import JavaCause, StreamsError, StreamsSetup
from srfix.serde import ChangelogSubject, RegistryClient, Role, Schema, Subject
from srfix.serde.subjects.names import changelog_topic, subject_for
from tests.cli.kept_demo import dump_over_http, srfix
from tests.stack.scene import COLUMNS, DATA_EXCEPTION, REST_CLIENT_EXCEPTION, SERIALIZATION_EXCEPTION, framed

PARTITIONS: Final = 3
_FIELDS: Final = ({"name": "userId", "type": "long"}, {"name": "fullName", "type": "string"})
_COUNTRY: Final = {"name": "homeCountry", "type": ["null", "string"], "default": None}
WRITER_SCHEMAS: Final = tuple(
    json.dumps({"type": "record", "name": "User", "namespace": "com.example.users", "fields": fields})
    for fields in (_FIELDS, (*_FIELDS, _COUNTRY))
)
"""The producers' schema, and the next version of it."""

User = Mapping[str, object]


class Scene:
    """Topics, and an application on them. Whatever it does to the registry stays under subjects of its own."""

    def __init__(self, *, name: str, bootstrap_servers: str, registry: RegistryClient, state_directory: Path) -> None:
        self.registry = registry
        self.setup = StreamsSetup(
            application=f"enricher-{name}",
            bootstrap_servers=bootstrap_servers,
            registry=registry.url,
            state_directory=state_directory,
            users=f"users-{name}",
            logins=f"logins-{name}",
            enriched=f"enriched-{name}",
        )
        self.plan = state_directory.with_name("plan.json")
        self._create_topics()
        self.writer_ids = tuple(registry.register(self.source_subject, Schema(text=text)) for text in WRITER_SCHEMAS)

    @property
    def source_subject(self) -> Subject:
        """Where the producers' schemas stand."""
        return subject_for(self.setup.users, Role.VALUE)

    @property
    def phantom(self) -> Subject:
        strategy = ChangelogSubject(application=self.setup.application, store=self.setup.store)
        return strategy(self.setup.users, Role.VALUE)

    def start(self) -> StreamsApplication:
        return StreamsApplication(self.setup, columns=COLUMNS)

    def produce(self, version: int, users: Mapping[str, User | None]) -> None:
        """Writes users under the producers' first or second schema; None is a tombstone."""
        schema, schema_id = json.loads(WRITER_SCHEMAS[version - 1]), self.writer_ids[version - 1]
        producer = Producer({"bootstrap.servers": self.setup.bootstrap_servers, "partitioner": "murmur2_random"})
        for key, user in users.items():
            value = None if user is None else framed(schema, schema_id, user)
            producer.produce(self.setup.users, key=key, value=value)
        assert producer.flush(30) == 0

    def srfix(self, *arguments: str, code: int = 0) -> tuple[str, str]:
        """Runs the installed command for this application; its two outputs."""
        environment = {
            "SRFIX_BOOTSTRAP_SERVERS": self.setup.bootstrap_servers,
            "SRFIX_REGISTRY": self.setup.registry,
        }
        done = srfix(*arguments, env=environment, timeout_s=120)
        assert done.returncode == code, f"srfix {arguments} exited with {done.returncode}: {done.stdout}{done.stderr}"
        return done.stdout, done.stderr

    def diagnose(self, *, code: int = 0) -> list[dict[str, Any]]:
        """What `srfix diagnose` finds that is more than a note."""
        out, _ = self.srfix("diagnose", "--application", self.setup.application, "--output", "json", code=code)
        return [finding for finding in json.loads(out)["findings"] if finding["severity"] != "note"]

    def make_plan(self) -> None:
        """Makes a plan of the repair, in a new file."""
        self.plan = self.plan.with_name(f"plan-{uuid4().hex[:8]}.json")
        self.srfix("plan", "--application", self.setup.application, "-o", str(self.plan))

    def dump(self) -> dict[str, Any]:
        """All that the registry answers about itself."""
        return dump_over_http(self.setup.registry)

    def failure(self, version: int) -> tuple[JavaCause, ...]:
        """The message of the incident, for a row under the producers' first or second schema."""
        changelog = changelog_topic(self.setup.application, self.setup.store)
        writer_id = self.writer_ids[version - 1]
        return (
            JavaCause(class_name=DATA_EXCEPTION, message=f"Failed to deserialize data for topic {changelog} to Avro: "),
            JavaCause(
                class_name=SERIALIZATION_EXCEPTION,
                message=f"Error retrieving Avro value schema version for id {writer_id}",
            ),
            JavaCause(class_name=REST_CLIENT_EXCEPTION, message="Schema not found; error code: 40403"),
        )

    def assert_unreadable(self, application: StreamsApplication, key: str, version: int) -> None:
        """A query fails as in the incident, and the application stays up."""
        with pytest.raises(StreamsError) as caught:
            application.query(key)
        assert caught.value.causes == self.failure(version)
        assert application.state == "RUNNING"

    def _create_topics(self) -> None:
        wanted = {self.setup.users: PARTITIONS, self.setup.logins: PARTITIONS, self.setup.enriched: 1}
        admin = AdminClient({"bootstrap.servers": self.setup.bootstrap_servers})
        created = admin.create_topics(
            [
                NewTopic(name, num_partitions=count, replication_factor=1, config={"retention.ms": "-1"})
                for name, count in wanted.items()
            ]
        )
        for future in created.values():
            future.result(timeout=30)
