"""The incident's real parts, what befalls the application on them, and srfix as its user runs it."""

from __future__ import annotations

import io
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeAlias
from uuid import uuid4

import fastavro
import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient
from google.protobuf.message_factory import GetMessageClass

from parts.streams.application import StreamsApplication
from parts.streams.model import JavaCause, ProjectedColumn, Row, SerdeKind, StreamsError, StreamsSetup
from srfix.fixtures.broker.kraft import KraftBroker
from srfix.serde.formats.protobuf.descriptors import compiled
from srfix.serde.schemas.models import Json
from srfix.serde.subjects.names import Role, Subject, changelog_topic, subject_for
from srfix.serde.subjects.strategies import ChangelogSubject
from srfix.serde.wire import frame_id
from tests.stack.command import run_srfix

SECONDS: Final = 30.0
"""How long the broker may take for what concerns topics."""
PARTITIONS: Final = 3
WRITER_SCHEMA: Final = {
    "type": "record",
    "name": "User",
    "namespace": "com.example.users",
    "fields": [
        {"name": "userId", "type": "long"},
        {"name": "fullName", "type": "string"},
        {"name": "homeCountry", "type": ["null", "string"], "default": None},
    ],
}
PROTO: Final = """syntax = "proto3";
package com.example.users;

message User {
  int64 userId = 1;
  string fullName = 2;
  optional string homeCountry = 3;
}
"""
"""The same in Protobuf."""
COLUMNS: Final = (
    ProjectedColumn(name="USERID", field="userId", type="INT64"),
    ProjectedColumn(name="FULLNAME", field="fullName"),
)
NEXT_COLUMNS: Final = (*COLUMNS, ProjectedColumn(name="HOMECOUNTRY", field="homeCountry"))

ANN: Final[dict[str, object]] = {"userId": 1, "fullName": "Ann", "homeCountry": "NL"}
ANN_ROW: Final[Row] = {"USERID": 1, "FULLNAME": "Ann"}
BOB: Final[dict[str, object]] = {"userId": 2, "fullName": "Bob", "homeCountry": None}
BOB_ROW: Final[Row] = {"USERID": 2, "FULLNAME": "Bob"}

STREAMS_EXCEPTION: Final = "org.apache.kafka.streams.errors.StreamsException"
DATA_EXCEPTION: Final = "org.apache.kafka.connect.errors.DataException"
SERIALIZATION_EXCEPTION: Final = "org.apache.kafka.common.errors.SerializationException"
REST_CLIENT_EXCEPTION: Final = "io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException"

BOTH: Final = pytest.mark.parametrize(
    "scene",
    [
        pytest.param(SerdeKind.CONNECT_PROJECTED, id="avro", marks=pytest.mark.smoke),
        pytest.param(SerdeKind.PROTOBUF_PROJECTED, id="protobuf"),
    ],
    indirect=True,
)
"""A test of scenes in Avro and in Protobuf."""

Keep: TypeAlias = Literal["auto", "live", "soft-deleted"]
Undo: TypeAlias = Callable[[], None]


class Registry(Protocol):
    """A registry that a test may look into."""

    @property
    def url(self) -> str:
        """Where clients find it."""

    @property
    def writes(self) -> int:
        """The requests that would change something, since `forget_requests`."""

    def forget_requests(self) -> None:
        """Counts `writes` from here on."""

    def seed(self, subject: str, schema_text: str, *, schema_type: str = "AVRO") -> int:
        """Registers a schema whatever the level of compatibility; returns the id."""

    def dump(self) -> Mapping[str, Json]:
        """All that it holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The real parts, and the application that the incident befalls."""

    broker: KraftBroker
    registry: Registry
    setup: StreamsSetup
    writer_id: int
    missing: str
    """What the registry says of a schema that the phantom subject lacks."""

    @property
    def is_protobuf(self) -> bool:
        """Whether the rows are Protobuf's, not Avro's."""
        return self.setup.serde is SerdeKind.PROTOBUF_PROJECTED

    @property
    def source_subject(self) -> Subject:
        """Where the producers' schemas stand."""
        return subject_for(self.setup.users, Role.VALUE)

    @property
    def changelog(self) -> str:
        """The topic that Streams hands to the serde, and that does not exist."""
        return changelog_topic(self.setup.application, self.setup.store)

    @property
    def phantom(self) -> Subject:
        strategy = ChangelogSubject(application=self.setup.application, store=self.setup.store)
        return strategy(self.setup.users, Role.VALUE)

    def start(
        self,
        columns: tuple[ProjectedColumn, ...] = COLUMNS,
        *,
        key_columns: tuple[ProjectedColumn, ...] = (),
        setup: StreamsSetup | None = None,
    ) -> StreamsApplication:
        """Starts the application, or a changed one."""
        return StreamsApplication(setup or self.setup, columns=columns, key_columns=key_columns)

    @contextmanager
    def running(self, columns: tuple[ProjectedColumn, ...] = COLUMNS, **changed: Any) -> Iterator[StreamsApplication]:
        """The same, once it runs."""
        with self.start(columns, **changed) as application:
            application.wait_for_state("RUNNING")
            yield application

    def produce(
        self,
        *users: tuple[str | bytes, dict[str, object] | None],
        schema: Mapping[str, object] | str | None = None,
        schema_id: int | None = None,
    ) -> None:
        """Writes users under the writer schema, or another one with its id; None is a tombstone, bytes are a key as it
        is.
        """
        if schema is None:
            schema = PROTO if self.is_protobuf else WRITER_SCHEMA
        producer = Producer({"bootstrap.servers": self.broker.bootstrap_servers, "partitioner": "murmur2_random"})
        for key, user in users:
            value = None if user is None else framed(schema, schema_id or self.writer_id, user)
            producer.produce(self.setup.users, key=key, value=value)
        assert producer.flush(30) == 0


def framed(schema: Mapping[str, object] | str, schema_id: int, row: Mapping[str, object]) -> bytes:
    """A row as a producer's Avro serializer writes it; under the text of a Protobuf schema, as its Protobuf serializer."""
    if isinstance(schema, str):
        made: Any = GetMessageClass(compiled(schema).message())
        return frame_id(schema_id, b"\0" + made(**row).SerializeToString())
    body = io.BytesIO()
    fastavro.schemaless_writer(body, fastavro.parse_schema(dict(schema)), row)
    return frame_id(schema_id, body.getvalue())


def new_scene(
    broker: KraftBroker,
    registry: Registry,
    folder: Path,
    *,
    serde: SerdeKind = SerdeKind.CONNECT_PROJECTED,
    missing: str,
) -> Scene:
    """Topics and an application of this scene's own on that broker, and the producers' schema in the registry.

    `missing` is what the registry says of a schema that a subject, `{subject}`, lacks.
    """
    name = uuid4().hex[:8]
    setup = StreamsSetup(
        application=f"enricher-{name}",
        bootstrap_servers=broker.bootstrap_servers,
        registry=registry.url,
        state_directory=folder / "state",
        users=f"users-{name}",
        logins=f"logins-{name}",
        enriched=f"enriched-{name}",
        serde=serde,
    )
    for topic, partitions in ((setup.users, PARTITIONS), (setup.logins, PARTITIONS), (setup.enriched, 1)):
        broker.create_topic(topic, partitions)
    avro = json.dumps(WRITER_SCHEMA, separators=(",", ":"))
    text, schema_type = (PROTO, "PROTOBUF") if serde is SerdeKind.PROTOBUF_PROJECTED else (avro, "AVRO")
    writer_id = registry.seed(subject_for(setup.users, Role.VALUE), text, schema_type=schema_type)
    phantom = ChangelogSubject(application=setup.application, store=setup.store)(setup.users, Role.VALUE)
    missing = missing.format(subject=phantom)
    return Scene(broker=broker, registry=registry, setup=setup, writer_id=writer_id, missing=missing)


def srfix(scene: Scene, *arguments: str, code: int = 0) -> str:
    """Runs the installed command, and answers its standard output."""
    environment = os.environ | {
        "SRFIX_BOOTSTRAP_SERVERS": scene.broker.bootstrap_servers,
        "SRFIX_REGISTRY": scene.registry.url,
    }
    ran = run_srfix(*arguments, env=environment)
    assert ran.returncode == code, f"srfix {arguments} exited with {ran.returncode}: {ran.stdout}{ran.stderr}"
    return ran.stdout


def diagnose(scene: Scene, *arguments: str, code: int) -> tuple[dict[str, Any], ...]:
    """What `srfix diagnose` finds."""
    return tuple(json.loads(srfix(scene, "diagnose", "--output", "json", *arguments, code=code))["findings"])


def make_plan(scene: Scene, *arguments: str) -> Path:
    """The file that `srfix plan` writes."""
    plan = scene.setup.state_directory.with_name(f"plan-{uuid4().hex}.json")
    srfix(scene, "plan", "-o", str(plan), *arguments)
    return plan


def repair(scene: Scene, *, keep: Keep, live_keys: int, code: str = "SRF001") -> Undo:
    """Finds the damage, plans its repair, carries it out and verifies it; returns what rolls it back."""
    scene.registry.forget_requests()
    (finding,) = [found for found in diagnose(scene, code=1) if found["severity"] != "note"]
    assert (finding["code"], finding["severity"]) == (code, "broken"), finding
    assert (finding["application"], finding["store"]) == (scene.setup.application, scene.setup.store)
    assert finding["subject"] == scene.phantom
    assert finding["source"] == {"topic": scene.setup.users, "subject": scene.source_subject}
    assert [fault["id"] for fault in finding["schema_ids"]] == [scene.writer_id]
    assert finding["schema_ids"][0]["live_keys"] == live_keys
    plan = make_plan(scene, "--keep", keep)
    assert scene.registry.writes == 0
    srfix(scene, "apply", str(plan), "--yes")
    writes = scene.registry.writes
    verified = json.loads(srfix(scene, "verify", str(plan), "--output", "json"))
    assert verified["subjects"][0]["rows_read"], verified
    assert verified["skipped"] == []
    srfix(scene, "diagnose")
    assert scene.registry.writes == writes
    return lambda: void(srfix(scene, "rollback", str(plan), "--yes"))


def void(_answer: object) -> None:
    """Drops an answer."""


def read_failure(scene: Scene) -> tuple[JavaCause, ...]:
    """What the reader of a foreign row dies of: the message of the incident."""
    word, what = ("Protobuf", "Protobuf schema") if scene.is_protobuf else ("Avro", "Avro value schema version")
    return (
        JavaCause(
            class_name=DATA_EXCEPTION,
            message=f"Failed to deserialize data for topic {scene.changelog} to {word}: ",
        ),
        JavaCause(
            class_name=SERIALIZATION_EXCEPTION,
            message=f"Error retrieving {what} for id {scene.writer_id}",
        ),
        JavaCause(class_name=REST_CLIENT_EXCEPTION, message=f"{scene.missing}; error code: 40403"),
    )


def assert_query_fails(scene: Scene, application: StreamsApplication, key: str | Row = "ann") -> None:
    with pytest.raises(StreamsError) as caught:
        application.query(key)
    assert caught.value.causes == read_failure(scene)
    assert application.state == "RUNNING"


def assert_join_kills(
    scene: Scene,
    application: StreamsApplication,
    key: str | bytes = "ann",
    *,
    login_value: Callable[[str], bytes] = str.encode,
) -> None:
    with pytest.raises(StreamsError) as caught:
        application.join(key, login_value=login_value)
    outermost, *rest = caught.value.causes
    assert outermost.class_name == STREAMS_EXCEPTION
    assert "MeteredKeyValueStore.get" in outermost.message
    assert tuple(rest) == read_failure(scene)
    application.wait_for_state("ERROR")


@contextmanager
def without_what_is_made(broker: KraftBroker) -> Iterator[None]:
    """Deletes the topics that are made inside, and waits until nobody lists them any more.

    The next test's registry gives the same ids to other schemas, so that a topic that is left would be a rival there.
    """
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    before = _topics(admin)
    yield
    made = sorted(_topics(admin) - before)
    for topic, deleted in (admin.delete_topics(made) if made else {}).items():
        with suppress(KafkaException):  # deleted by the application meanwhile
            deleted.result(timeout=SECONDS)
        deadline = time.monotonic() + SECONDS
        while topic in _topics(admin) and time.monotonic() < deadline:
            time.sleep(0.1)


def _topics(admin: AdminClient) -> set[str]:
    return {name for name in admin.list_topics(timeout=SECONDS).topics if not name.startswith("__")}
