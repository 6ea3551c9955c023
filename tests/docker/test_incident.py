"""The incident and its repair, Kafka and the registry in containers and Kafka Streams 2.6.3 on the host."""

from __future__ import annotations

import pytest

from parts.streams.application import lose_state
from parts.streams.model import StreamsError
from tests.docker.scene import Scene

pytestmark = pytest.mark.docker

ANN = {"USERID": 1, "FULLNAME": "Ann Two"}
BOB = {"USERID": 2, "FULLNAME": "Bob"}


def test_a_store_that_cannot_be_read_after_its_state_was_lost_is_repaired(scene: Scene) -> None:
    scene.produce(
        1, {"ann": {"userId": 1, "fullName": "Ann One"}, "bob": {"userId": 2, "fullName": "Bob"}, "cem": None}
    )
    scene.produce(2, {"ann": {"userId": 1, "fullName": "Ann Two", "homeCountry": "NL"}})

    # It processes and commits; then it loses its state, and restores it.
    with scene.start() as application:
        application.wait_for_state("RUNNING")
        application.wait_for_commit(scene.setup.users)
        assert (application.query("ann"), application.query("bob")) == (ANN, BOB)
        assert application.join("ann") == ANN
        application.wait_for_commit(scene.setup.logins)
    before = scene.dump()
    lose_state(scene.setup)

    with scene.start() as application:
        application.wait_for_state("RUNNING")
        scene.assert_unreadable(application, "ann", 2)
        scene.assert_unreadable(application, "bob", 1)
        (finding,) = scene.diagnose(code=1)
        assert (finding["code"], finding["severity"]) == ("SRF001", "broken")
        assert finding["subject"] == scene.phantom
        assert finding["source"] == {"topic": scene.setup.users, "subject": scene.source_subject}
        assert {fault["id"]: fault["live_keys"] for fault in finding["schema_ids"]} == {
            scene.writer_ids[0]: 1,
            scene.writer_ids[1]: 1,
        }
        scene.make_plan()
        assert scene.dump() == before
        # The running application reads at once.
        scene.srfix("apply", str(scene.plan), "--yes")
        scene.srfix("verify", str(scene.plan))
        assert scene.diagnose() == []
        assert (application.query("ann"), application.query("bob")) == (ANN, BOB)
        assert application.join("ann") == ANN
        application.wait_for_commit(scene.setup.logins)

    # The undo brings the failure back: a query fails, the join kills the thread, and so does every start.
    scene.srfix("rollback", f"{scene.plan}.journal.jsonl", "--yes")
    assert scene.dump() == before
    with scene.start() as application:
        application.wait_for_state("RUNNING")
        scene.assert_unreadable(application, "bob", 1)
        with pytest.raises(StreamsError) as caught:
            application.join("bob")
        outermost, *rest = caught.value.causes
        assert outermost.class_name == "org.apache.kafka.streams.errors.StreamsException"
        assert tuple(rest) == scene.failure(1)
    with scene.start() as application:
        assert application.wait_for_failure()[1:] == scene.failure(1)

    # Repaired again, the next start works off the login that killed it.
    scene.make_plan()
    scene.srfix("apply", str(scene.plan), "--yes")
    with scene.start() as application:
        application.wait_for_state("RUNNING")
        application.wait_for_commit(scene.setup.logins)
        assert (application.query("ann"), application.query("bob")) == (ANN, BOB)
