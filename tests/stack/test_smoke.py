"""The incident on real parts: Apache Kafka, Kafka Streams 2.6.3, Connect's AvroConverter; then its repair by srfix."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias
from uuid import uuid4

import fastavro
import pytest
from confluent_kafka import Producer

from srfix.fixtures.broker.kraft import KraftBroker
from srfix.fixtures.registry import FixtureRegistry
from srfix.fixtures.streams import (
    JavaCause,
    ProjectedColumn,
    SerdeCall,
    StreamsApplication,
    StreamsError,
    StreamsSetup,
    lose_state,
)
from srfix.serde.subjects import ChangelogSubject, Role, Subject, changelog_topic, subject_for
from srfix.serde.wire import frame_id

pytestmark = pytest.mark.stack

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
COLUMNS: Final = (
    ProjectedColumn(name="USERID", field="userId", type="INT64"),
    ProjectedColumn(name="FULLNAME", field="fullName"),
)
NEXT_COLUMNS: Final = (*COLUMNS, ProjectedColumn(name="HOMECOUNTRY", field="homeCountry"))

STREAMS_EXCEPTION: Final = "org.apache.kafka.streams.errors.StreamsException"
DATA_EXCEPTION: Final = "org.apache.kafka.connect.errors.DataException"
SERIALIZATION_EXCEPTION: Final = "org.apache.kafka.common.errors.SerializationException"
REST_CLIENT_EXCEPTION: Final = "io.confluent.kafka.schemaregistry.client.rest.exceptions.RestClientException"

Keep: TypeAlias = Literal["auto", "live", "soft-deleted"]
Undo: TypeAlias = Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The real parts, and the application that the incident befalls."""

    broker: KraftBroker
    registry: FixtureRegistry
    setup: StreamsSetup
    writer_id: int

    @property
    def changelog(self) -> str:
        """The topic that Streams hands to the serde, and that does not exist."""
        return changelog_topic(self.setup.application, self.setup.store)

    @property
    def phantom(self) -> Subject:
        """The subject at fault."""
        strategy = ChangelogSubject(application=self.setup.application, store=self.setup.store)
        return strategy(self.setup.users, Role.VALUE)

    def start(self, columns: tuple[ProjectedColumn, ...] = COLUMNS) -> StreamsApplication:
        return StreamsApplication(self.setup, columns=columns)

    def produce(self, *users: tuple[str, dict[str, object] | None]) -> None:
        """Writes users under the writer schema; None is a tombstone."""
        schema = fastavro.parse_schema(WRITER_SCHEMA)
        producer = Producer({"bootstrap.servers": self.broker.bootstrap_servers, "partitioner": "murmur2_random"})
        for key, user in users:
            body = io.BytesIO()
            if user is not None:
                fastavro.schemaless_writer(body, schema, user)
            value = None if user is None else frame_id(self.writer_id, body.getvalue())
            producer.produce(self.setup.users, key=key, value=value)
        assert producer.flush(30) == 0


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    application = f"enricher-{uuid4().hex[:8]}"
    topics = {"users": PARTITIONS, "logins": PARTITIONS, "enriched": 1}
    with KraftBroker(topics=topics) as broker, FixtureRegistry() as registry:
        yield Scene(
            broker=broker,
            registry=registry,
            setup=StreamsSetup(
                application=application,
                bootstrap_servers=broker.bootstrap_servers,
                registry=registry.url,
                state_directory=tmp_path / "state",
            ),
            writer_id=registry.seed(subject_for("users", Role.VALUE), json.dumps(WRITER_SCHEMA)),
        )


def srfix(scene: Scene, *arguments: str, code: int = 0) -> str:
    """Runs the installed command, and answers its standard output."""
    environment = os.environ | {
        "SRFIX_BOOTSTRAP_SERVERS": scene.broker.bootstrap_servers,
        "SRFIX_REGISTRY": scene.registry.url,
    }
    command = Path(sys.executable).with_name("srfix")
    ran = subprocess.run(
        [command, *arguments], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == code, f"srfix {arguments} exited with {ran.returncode}: {ran.stdout}{ran.stderr}"
    return ran.stdout


def repair(scene: Scene, *, keep: Keep, live_keys: int) -> Undo:
    """Finds the damage, plans its repair, carries it out and verifies it; returns what rolls it back."""
    plan = scene.setup.state_directory.with_name(f"plan-{uuid4().hex}.json")
    scene.registry.forget_requests()
    diagnosis = json.loads(srfix(scene, "diagnose", "--output", "json", code=1))
    (finding,) = [found for found in diagnosis["findings"] if found["severity"] != "note"]
    assert (finding["code"], finding["severity"]) == ("SRF001", "broken")
    assert (finding["application"], finding["store"]) == (scene.setup.application, scene.setup.store)
    assert finding["subject"] == scene.phantom
    assert finding["source"] == {"topic": scene.setup.users, "subject": subject_for("users", Role.VALUE)}
    assert [fault["id"] for fault in finding["schema_ids"]] == [scene.writer_id]
    assert finding["schema_ids"][0]["live_keys"] == live_keys
    srfix(scene, "plan", "-o", str(plan), "--keep", keep)
    assert scene.registry.writes == 0
    srfix(scene, "apply", str(plan), "--yes")
    writes = scene.registry.writes
    srfix(scene, "verify", str(plan))
    srfix(scene, "diagnose")
    assert scene.registry.writes == writes
    return lambda: void(srfix(scene, "rollback", str(plan), "--yes"))


def void(_answer: object) -> None:
    """Drops an answer."""


def read_failure(scene: Scene) -> tuple[JavaCause, ...]:
    """What the reader of a foreign row dies of: the message of the incident."""
    return (
        JavaCause(
            class_name=DATA_EXCEPTION,
            message=f"Failed to deserialize data for topic {scene.changelog} to Avro: ",
        ),
        JavaCause(
            class_name=SERIALIZATION_EXCEPTION,
            message=f"Error retrieving Avro value schema version for id {scene.writer_id}",
        ),
        JavaCause(class_name=REST_CLIENT_EXCEPTION, message="Schema not found; error code: 40403"),
    )


def assert_query_fails(scene: Scene, application: StreamsApplication) -> None:
    with pytest.raises(StreamsError) as caught:
        application.query("ann")
    assert caught.value.causes == read_failure(scene)
    assert application.state == "RUNNING"


def assert_join_kills(scene: Scene, application: StreamsApplication) -> None:
    with pytest.raises(StreamsError) as caught:
        application.join("ann")
    outermost, *rest = caught.value.causes
    assert outermost.class_name == STREAMS_EXCEPTION
    assert "MeteredKeyValueStore.get" in outermost.message
    assert tuple(rest) == read_failure(scene)
    application.wait_for_state("ERROR")


def test_a_store_that_cannot_be_read_after_its_state_was_lost_is_repaired(scene: Scene) -> None:
    ann: dict[str, object] = {"userId": 1, "fullName": "Ann Two", "homeCountry": "NL"}
    ann_row = {"USERID": 1, "FULLNAME": "Ann Two"}
    scene.produce(
        ("ann", ann | {"fullName": "Ann One"}),
        ("bob", {"userId": 2, "fullName": "Bob One", "homeCountry": None}),
        ("cem", {"userId": 3, "fullName": "Cem", "homeCountry": "TR"}),
        ("dora", {"userId": 4, "fullName": "Dora", "homeCountry": "IT"}),
        ("ann", ann),
        ("bob", {"userId": 2, "fullName": "Bob Two", "homeCountry": None}),
        ("cem", None),
    )

    # It processes, commits, and closes. What it stores, it stores under a schema of its own.
    with scene.start() as application:
        application.wait_for_state("RUNNING")
        application.wait_for_commit("users")
        assert application.query("ann") == ann_row
        assert application.query("cem") is None
        assert application.join("ann") == ann_row
        application.wait_for_commit("logins")
        assert set(application.serde_calls) == {
            SerdeCall(operation="deserialize", topic="users"),
            SerdeCall(operation="serialize", topic=scene.changelog),
            SerdeCall(operation="deserialize", topic=scene.changelog),
        }
    before = scene.registry.dump()
    lose_state(scene.setup)

    # The restore puts the writer's bytes into the store. A query fails, and the application stays up.
    with scene.start() as application:
        application.wait_for_state("RUNNING")
        assert application.serde_calls == ()
        assert_query_fails(scene, application)
        # With the writer's schema left live the running application reads at once …
        undo = repair(scene, keep="live", live_keys=3)  # ann, bob, dora; not cem
        assert application.query("ann") == ann_row
        assert application.join("ann") == ann_row
        application.wait_for_commit("logins")

    # … but its next internal schema is refused.
    scene.produce(("eve", {"userId": 5, "fullName": "Eve", "homeCountry": "FR"}))
    with scene.start(NEXT_COLUMNS) as application:
        refusal = application.wait_for_failure()
        assert refusal[-1].class_name == REST_CLIENT_EXCEPTION
        assert refusal[-1].message.endswith("error code: 409")
        assert scene.phantom in refusal[-1].message

    # The undo leaves no trace in the registry and brings the failure back: the join kills the thread.
    undo()
    assert scene.registry.dump() == before
    lose_state(scene.setup)
    with scene.start() as application:
        application.wait_for_state("RUNNING")
        application.wait_for_commit("users")
        assert_query_fails(scene, application)
        assert_join_kills(scene, application)
    with scene.start() as application:
        assert application.wait_for_failure()[1:] == read_failure(scene)

    # By itself srfix soft-deletes the writer's schema. The restarted application works off the login that
    # killed it, …
    undo = repair(scene, keep="auto", live_keys=4)  # and eve
    with scene.start() as application:
        application.wait_for_state("RUNNING")
        application.wait_for_commit("logins")
        assert application.query("ann") == ann_row
        assert application.join("ann") == ann_row
        application.wait_for_commit("logins")

    # … also when it loses its state once more, …
    lose_state(scene.setup)
    with scene.start() as application:
        application.wait_for_state("RUNNING")
        assert application.query("ann") == ann_row
        assert application.join("ann") == ann_row
        application.wait_for_commit("logins")

    # … and its next internal schema is accepted.
    scene.produce(("fay", {"userId": 6, "fullName": "Fay", "homeCountry": "GB"}))
    with scene.start(NEXT_COLUMNS) as application:
        application.wait_for_state("RUNNING")
        application.wait_for_commit("users")
        assert application.query("fay") == {"USERID": 6, "FULLNAME": "Fay", "HOMECOUNTRY": "GB"}
        assert application.query("ann") == ann_row | {"HOMECOUNTRY": "NL"}

    undo()
    lose_state(scene.setup)
    with scene.start() as application:
        application.wait_for_state("RUNNING")
        assert_query_fails(scene, application)

    assert scene.changelog not in scene.broker.topics
