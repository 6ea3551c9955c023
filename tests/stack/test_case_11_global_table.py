"""Case 11: a global table beside a stream on Kafka Streams 2.6.3. The group commits the stream's topic only, and srfix
chooses the global table's all the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin import AdminClient

from parts.streams.application import lose_state
from parts.streams.model import SerdeKind, StreamsError, TopologyKind
from srfix.serde.subjects.names import Role, subject_for
from tests.stack.scene import ANN, ANN_ROW, BOB, BOB_ROW, Scene, assert_join_kills, assert_query_fails, framed, repair

pytestmark = pytest.mark.stack

STORE: Final = "users-global"
LOGIN_SCHEMA: Final[dict[str, Any]] = {
    "type": "record",
    "name": "Login",
    "namespace": "com.example.logins",
    "fields": [{"name": "loginId", "type": "string"}, {"name": "userId", "type": "long", "default": 0}],
}
"""Has one of the two columns of the table's rows."""


@pytest.mark.smoke
def test_the_topic_that_no_group_commits_is_found_as_its_source_and_repaired(scene: Scene) -> None:
    scene = replace(
        scene,
        setup=replace(scene.setup, store=STORE, topology=TopologyKind.GLOBAL_TABLE, login_serde=SerdeKind.CONNECT),
    )
    logins = scene.setup.logins
    login_id = scene.registry.seed(subject_for(logins, Role.VALUE), json.dumps(LOGIN_SCHEMA))
    login_value = login_written(login_id)
    scene.produce(("bob", BOB))

    # A global table restores what it finds when it starts, even for the first time. What it meets while it runs, it stores
    # under a schema of its own, under the subject of a changelog, as any table does.
    with scene.running() as application:
        with pytest.raises(StreamsError, match=f"Error retrieving Avro value schema version for id {scene.writer_id}"):
            application.query("bob")
        scene.produce(("ann", ANN))
        application.wait_for_row("ann", ANN_ROW)
        assert application.join("ann", login_value=login_value) == ANN_ROW
        application.wait_for_commit(logins)
    assert committed_topics(scene) == {logins}
    lose_state(scene.setup)

    with scene.running() as application:
        assert application.count() == 2
        assert application.serde_calls == ()
        assert_query_fails(scene, application)
        assert_join_kills(scene, application, login_value=login_value)

    # It restores every record, whatever the group has committed.
    repair(scene, keep="auto", live_keys=2, code="SRF006")
    with scene.running() as application:
        application.wait_for_commit(logins)
        assert dict(application.rows()) == {"ann": ANN_ROW, "bob": BOB_ROW}
        assert application.join("ann", login_value=login_value) == ANN_ROW


def committed_topics(scene: Scene) -> set[str]:
    """The topics of which the application has committed offsets."""
    group = scene.setup.application
    admin = AdminClient({"bootstrap.servers": scene.broker.bootstrap_servers})
    answers = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])
    return {entry.topic for entry in answers[group].result(30).topic_partitions or () if entry.offset >= 0}


def login_written(schema_id: int) -> Callable[[str], bytes]:
    """From the id that a login is known by to its value."""
    return lambda login: framed(LOGIN_SCHEMA, schema_id, {"loginId": login, "userId": 1})
