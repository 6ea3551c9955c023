"""Case 1: the incident on Kafka Streams 2.6.3 with Confluent's converters, its repair, and the repair's undo."""

from __future__ import annotations

from typing import Final

import pytest

from parts.streams.application import lose_state
from parts.streams.model import Row, SerdeCall
from tests.stack.scene import BOB, BOTH, Scene, assert_join_kills, assert_query_fails, read_failure, repair

pytestmark = [pytest.mark.stack, pytest.mark.smoke]

ANN: Final[dict[str, object]] = {"userId": 1, "fullName": "Ann Two", "homeCountry": "NL"}
ANN_ROW: Final[Row] = {"USERID": 1, "FULLNAME": "Ann Two"}
CEM: Final[dict[str, object]] = {"userId": 3, "fullName": "Cem", "homeCountry": "TR"}


@BOTH
def test_a_store_that_cannot_be_read_after_its_state_was_lost_is_repaired(scene: Scene) -> None:
    scene.produce(("ann", ANN | {"fullName": "Ann One"}), ("bob", BOB), ("cem", CEM), ("ann", ANN), ("cem", None))

    # It processes, commits, and closes. What it stores, it stores under a schema of its own.
    with scene.running() as application:
        application.wait_for_commit(scene.setup.users)
        assert application.query("ann") == ANN_ROW
        assert application.query("cem") is None
        assert application.join("ann") == ANN_ROW
        application.wait_for_commit(scene.setup.logins)
        assert set(application.serde_calls) == {
            SerdeCall(operation="deserialize", topic=scene.setup.users),
            SerdeCall(operation="serialize", topic=scene.changelog),
            SerdeCall(operation="deserialize", topic=scene.changelog),
        }
    before = scene.registry.dump()
    lose_state(scene.setup)

    # The restore puts the writer's bytes into the store. A query fails and the application stays up; the join kills
    # the thread, and every restart meets the same login.
    with scene.running() as application:
        assert application.serde_calls == ()
        assert_query_fails(scene, application)
        assert_join_kills(scene, application)
    with scene.start() as application:
        assert application.wait_for_failure()[1:] == read_failure(scene)

    # Repaired, the next start works off the login that killed the others.
    undo = repair(scene, keep="auto", live_keys=2)  # ann and bob; not cem
    with scene.running() as application:
        application.wait_for_commit(scene.setup.logins)
        assert application.query("ann") == ANN_ROW
        assert application.join("ann") == ANN_ROW
        application.wait_for_commit(scene.setup.logins)

    # The undo leaves no trace in the registry, and brings the failure back.
    undo()
    assert scene.registry.dump() == before
    lose_state(scene.setup)
    with scene.running() as application:
        assert_query_fails(scene, application)
        # An application that runs reads at once, …
        undo = repair(scene, keep="auto", live_keys=2)
        assert application.query("ann") == ANN_ROW
        assert application.join("ann") == ANN_ROW
        application.wait_for_commit(scene.setup.logins)

    # … after a restart too, …
    with scene.running() as application:
        assert application.query("ann") == ANN_ROW

    # … and when it loses its state once more; it goes on writing, too.
    lose_state(scene.setup)
    with scene.running() as application:
        assert application.join("ann") == ANN_ROW
        scene.produce(("ann", ANN | {"fullName": "Ann Three"}))
        application.wait_for_row("ann", ANN_ROW | {"FULLNAME": "Ann Three"})

    # Undone again, the registry is as before but for what the application wrote itself, which it had written before.
    undo()
    assert scene.registry.dump() == before
    assert scene.changelog not in scene.broker.topics
