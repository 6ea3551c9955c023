"""The incident on real parts: Apache Kafka, Kafka Streams 2.6.3, Connect's AvroConverter; then its repair by srfix."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from srfix.fixtures.broker.kraft import KraftBroker
from srfix.fixtures.registry import FixtureRegistry
from srfix.fixtures.streams import SerdeCall, lose_state
from tests.stack.scene import (
    NEXT_COLUMNS,
    REST_CLIENT_EXCEPTION,
    Scene,
    assert_join_kills,
    assert_query_fails,
    new_scene,
    read_failure,
    repair,
)

pytestmark = pytest.mark.stack


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with KraftBroker() as broker, FixtureRegistry() as registry:
        yield new_scene(broker, registry, tmp_path)


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
        application.wait_for_commit(scene.setup.users)
        assert application.query("ann") == ann_row
        assert application.query("cem") is None
        assert application.join("ann") == ann_row
        application.wait_for_commit(scene.setup.logins)
        assert set(application.serde_calls) == {
            SerdeCall(operation="deserialize", topic=scene.setup.users),
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
        application.wait_for_commit(scene.setup.logins)

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
        application.wait_for_commit(scene.setup.users)
        assert_query_fails(scene, application)
        assert_join_kills(scene, application)
    with scene.start() as application:
        assert application.wait_for_failure()[1:] == read_failure(scene)

    # By itself srfix soft-deletes the writer's schema. The restarted application works off the login that
    # killed it, …
    undo = repair(scene, keep="auto", live_keys=4)  # and eve
    with scene.start() as application:
        application.wait_for_state("RUNNING")
        application.wait_for_commit(scene.setup.logins)
        assert application.query("ann") == ann_row
        assert application.join("ann") == ann_row
        application.wait_for_commit(scene.setup.logins)

    # … also when it loses its state once more, …
    lose_state(scene.setup)
    with scene.start() as application:
        application.wait_for_state("RUNNING")
        assert application.query("ann") == ann_row
        assert application.join("ann") == ann_row
        application.wait_for_commit(scene.setup.logins)

    # … and its next internal schema is accepted.
    scene.produce(("fay", {"userId": 6, "fullName": "Fay", "homeCountry": "GB"}))
    with scene.start(NEXT_COLUMNS) as application:
        application.wait_for_state("RUNNING")
        application.wait_for_commit(scene.setup.users)
        assert application.query("fay") == {"USERID": 6, "FULLNAME": "Fay", "HOMECOUNTRY": "GB"}
        assert application.query("ann") == ann_row | {"HOMECOUNTRY": "NL"}

    undo()
    lose_state(scene.setup)
    with scene.start() as application:
        application.wait_for_state("RUNNING")
        assert_query_fails(scene, application)

    assert scene.changelog not in scene.broker.topics
